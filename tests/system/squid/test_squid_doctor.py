# SPDX-License-Identifier: BSD-2-Clause
"""fairgate doctor looks at a Squid."""
import subprocess

import pytest

from squid_proxy import classes, scheduled

from lab import squid
from lab.lab import program
from test_doctor import FAILURE, OK, WARNING, said


def doctor(proxy):
    done = subprocess.run([program("doctor/fairgate"), "doctor", "squid", "--seconds", "1", "--squid", f"{proxy.binary} -n {proxy.service} -f {proxy.path('squid.conf')}",
                           "--manager", f"http://127.0.0.1:{proxy.port}/squid-internal-mgr"], capture_output=True, text=True, timeout=60, check=False,
                          env=proxy.environment())
    assert done.stderr == "", done.stderr
    return done.returncode, done.stdout.splitlines()


def test_a_squid_that_is_well(proxy_with):
    status, lines = doctor(proxy_with("fqrs on\nfqrs_link rate=2Mbit\n" + classes()))
    assert status == OK and said(lines, "ok", "its configuration is right") and said(lines, "ok", "scheduled") and said(lines, "ok", "the link carries 2 Mbit/s"), lines


@pytest.mark.parametrize("config, how, what", (
    ("fqrs off\n", FAILURE, "nothing is scheduled: off"), (scheduled(), WARNING, "nobody knows what the link carries")))
def test_one_that_is_not(proxy_with, config, how, what):
    status, lines = doctor(proxy_with(config))
    assert status == how and said(lines, {FAILURE: "FAIL", WARNING: "WARN"}[how], what), lines


def test_a_squid_without_fqrs(proxy_with):
    proxy = proxy_with("fqrs off\n")
    done = subprocess.run([program("doctor/fairgate"), "doctor", "squid", "--squid", f"{squid.debian()}/sbin/squid -f {proxy.path('squid.conf')}"], capture_output=True, text=True,
                          timeout=60, check=False)
    assert done.returncode == FAILURE and said(done.stdout.splitlines(), "FAIL", "has no fqrs"), done.stdout
