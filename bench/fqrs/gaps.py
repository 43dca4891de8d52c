# SPDX-License-Identifier: BSD-2-Clause
"""
gaps.py - how long a class that always has requests waiting gets nothing at all: 2 Mbit/s, pages of 27 clients a class, and in each class three endless downloads of 20 MB, one of them through a
tunnel.

    longest_gap_s               the longest of all classes
    rival_PEER_longest_gap_s    of stock Squid, delay pools and HTB at the ISP
"""
from setting import CELLS
from trial import FQRS, PEERS


def measure(bench):
    found = bench.run([(c, CELLS["large"]) for c in (FQRS, *PEERS)], *((20, 8) if bench.quick else (300, 60)))
    for c in (FQRS, *PEERS):
        bench.figure("longest_gap_s" if c is FQRS else f"rival_{c.name}_longest_gap_s", found[c.name, "large"]["gap"], "s", "<= 5" if c is FQRS else None)
    bench.data["large"] = [found[k] for k in found]


FAMILIES = ((measure, ["longest_gap_s"]),)
