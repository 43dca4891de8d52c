# SPDX-License-Identifier: BSD-2-Clause
"""Simulations of squid-fqrs are of what ships: the numbers in tests/sim/sim_squid.h are those of its sources."""
import pathlib
import re

TOP = pathlib.Path(__file__).resolve().parents[2]
SOURCES = ("Config.cc", "Flow.cc", "Scheduler.cc", "Scheduler.h", "Ticket.h")
OURS = re.compile(r"^#define SQUID_\w+ +(\S.*?) +/\* (\w+) \*/$", re.M)


def test_simulations_are_of_what_ships():
    ours = OURS.findall((TOP / "tests/sim/sim_squid.h").read_text())
    text = "\n".join((TOP / "squid-fqrs/fqrs" / name).read_text() for name in SOURCES)
    assert len(ours) > 15
    for value, name in ours:
        theirs = re.findall(rf"^ *static const \w+ {name} = (.+?);", text, re.M)
        assert theirs == [value.strip("()")], (name, value, theirs)
