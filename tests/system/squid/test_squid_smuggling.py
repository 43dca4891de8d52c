# SPDX-License-Identifier: BSD-2-Clause
"""Ten thousand smuggled and malformed requests: with the scheduler on, with it off, and without our patch (Debian's own binary), Squid gives the same
answers and sends on the same requests, byte by byte.

Three Squids stand in network namespaces of their own, so that all have the same address and port, with a client and an origin beside each.
"""

import os
import signal
import subprocess

import pytest
from lab import squid
from lab.lab import LabError, wait_for
from lab.raw import Side, compare
from lab.raw_cases import KINDS, cases
from squid_proxy import CRASH
from squid_world import which

BATCH = 130
CONFIG = "err_page_stylesheet /dev/null\nserver_persistent_connections off\nhosts_file {hosts}\npipeline_prefetch 0\n"
ON = "fqrs on\nfqrs_window 40\nfqrs_class gold weight=4\nacl gold req_header Cookie session\nfqrs_access gold allow gold\n"


def side(lab, name, prefix, config):
    def make():
        made = squid.Squid(lab, prefix, config, name=f"squid-{name}", pages=which())
        made.config = config.format(hosts=made.write("hosts", "127.0.0.1 echo.test\n"))
        return made
    return Side(name, make)


@pytest.fixture(scope="module")
def setups(world):
    """Stock, off, on."""
    try:
        stock = squid.debian()
    except (LabError, OSError) as why:
        if os.environ.get("CI"):
            raise
        pytest.skip(f"no Squid of Debian: {why}")
    versions = [subprocess.run([f"{p}/sbin/squid", "-v"], capture_output=True, text=True, check=True).stdout.splitlines()[0] for p in (which(), stock)]
    if versions[0] != versions[1]:
        assert "CI" not in os.environ, versions
        pytest.skip(f"two versions: {versions}")
    made = [side(world.lab, "stock", stock, CONFIG), side(world.lab, "off", which(), CONFIG), side(world.lab, "on", which(), CONFIG + ON)]
    for s in made:
        s.log = s.server.path("cache.log")
    with made[0], made[1], made[2]:
        yield made
        for setup in made:
            setup.server.process.send_signal(signal.SIGINT)      # all at once: each takes its time to end
    for setup in made:
        with open(setup.log, errors="replace") as f:
            bad = [line for line in f if CRASH.search(line)]
        assert not bad, "".join(bad[:20])


@pytest.mark.parametrize("kind", KINDS)
def test_answers_are_the_same(setups, world, request, kind):
    count = 8000 if request.config.getoption("--long") else 800
    made = cases(kind, count)
    for at in range(0, count, BATCH):
        compare(setups, made[at:at + BATCH], slower=world.patience)


def test_nothing_is_left_of_them(setups):
    """They were scheduled, and each has given back what it had."""
    def idle():
        s = setups[2].server.json()
        return s if s["queued"] == s["outstanding"] == s["parked"] == 0 else None
    s = wait_for(idle, 20, "idle")
    assert sum(c["submitted"] for c in s["classes"]) > 0
    for c in s["classes"]:
        assert c["submitted"] == c["done"] + c["aborted"] + c["cancelled"], c


def test_there_are_ten_thousand():
    assert 800 * len(KINDS) > 10000
    assert len({request for kind in KINDS for request in cases(kind, 800)}) > 9000
    assert cases("chunks", 50) == cases("chunks", 50) != cases("chunks", 50, seed=2)
