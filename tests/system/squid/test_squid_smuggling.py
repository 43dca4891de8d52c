# SPDX-License-Identifier: BSD-2-Clause
"""Ten thousand smuggled and malformed requests: with the scheduler on, with it off, and without our patch (Debian's own binary), Squid gives the same
answers and sends on the same requests, byte by byte.

Three Squids stand in network namespaces of their own, so that all have the same address and port, with a client and an origin beside each.
"""

import os
import pickle
import random
import signal
import subprocess

import pytest
from lab import squid
from lab.lab import LabError, wait_for
from lab.net import Host
from squid_cases import KINDS, cases
from squid_proxy import CRASH
from squid_world import which

BATCH = 130
PATIENCE = (0.04, 0.15, 0.4, 1, 2, 4)          # seconds; what differs is asked again, of all three, with more
CONFIG = "err_page_stylesheet /dev/null\nserver_persistent_connections off\nhosts_file {hosts}\npipeline_prefetch 0\n"
ON = "fqrs on\nfqrs_window 40\nfqrs_class gold weight=4\nacl gold req_header Cookie session\nfqrs_access gold allow gold\n"


class Setup:
    """A namespace with a Squid and a driver in it."""

    def __init__(self, lab, name, prefix, config):
        self.host = Host(f"fg{os.getpid()}-{random.randrange(1 << 16):04x}-{name}", "127.0.0.1")
        self.squid = squid.Squid(lab, prefix, config, name=f"squid-{name}", pages=which()).on(self.host)
        self.driver = None

    def __enter__(self):
        self.host.add()
        self.squid.config = self.squid.config.format(hosts=self.squid.write("hosts", "127.0.0.1 echo.test\n"))
        self.squid.start()
        program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "squid_driver.py")
        self.driver = subprocess.Popen([*self.host.prefix, "/usr/bin/python3", "-B", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.hear() == "ready"
        return self

    def __exit__(self, *_):
        if self.driver:
            self.driver.stdin.close()
            self.driver.wait(10)
            self.driver.stdout.close()
        self.squid.stop()
        self.host.remove()

    def ask(self, requests, patience):
        pickle.dump((requests, patience), self.driver.stdin)
        self.driver.stdin.flush()

    def hear(self):
        return pickle.load(self.driver.stdout)


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
    made = [Setup(world.lab, "stock", stock, CONFIG), Setup(world.lab, "off", which(), CONFIG), Setup(world.lab, "on", which(), CONFIG + ON)]
    for s in made:
        s.log = s.squid.path("cache.log")
    with made[0], made[1], made[2]:
        yield made
        for setup in made:
            setup.squid.process.send_signal(signal.SIGINT)      # all at once: each takes its time to end
    for setup in made:
        with open(setup.log, errors="replace") as f:
            bad = [line for line in f if CRASH.search(line)]
        assert not bad, "".join(bad[:20])


def same(setups, requests, patience):
    """Asks all three at the same time: (positions of the requests whose answers differ, whether what the origins have received differs)."""
    for s in setups:
        s.ask(requests, patience)
    heard = [s.hear() for s in setups]
    different = [i for i, answers in enumerate(zip(*(h["answers"] for h in heard))) if any(a != answers[0] for a in answers)]
    return different, any(h["origin"] != heard[0]["origin"] for h in heard), heard


def shown(heard, i):
    return "\n".join(f"{name}, {h['answers'][i][1]}: {h['answers'][i][0][:1500]!r}" for name, h in zip(("stock", "off", "on"), heard))


def compare(setups, requests):
    """Each answer has a date, and a busy machine may be slow: what differs is asked again, all of a batch if the origins differ."""
    for patience in PATIENCE:
        different, origins, heard = same(setups, requests, patience * setups[0].squid_patience)
        if not different and not origins:
            return
        if not origins:
            requests = [requests[i] for i in different]
        elif patience >= 0.4 and len(requests) > 8:     # find the one that is to blame
            half = len(requests) // 2
            compare(setups, requests[:half])
            compare(setups, requests[half:])
            return
    if different:
        pytest.fail(f"{len(different)} of {len(requests)} answers differ, the first to\n{requests[different[0]]!r}:\n{shown(heard, different[0])}")
    received = [[r[:1000] for r in h["origin"]] for h in heard]
    pytest.fail(f"the origins received different things after\n{requests!r}:\n{received}")


@pytest.mark.parametrize("kind", KINDS)
def test_answers_are_the_same(setups, world, request, kind):
    count = 8000 if request.config.getoption("--long") else 800
    setups[0].squid_patience = world.patience
    made = cases(kind, count)
    for at in range(0, count, BATCH):
        compare(setups, made[at:at + BATCH])


def test_nothing_is_left_of_them(setups):
    """They were scheduled, and each has given back what it had."""
    def idle():
        s = setups[2].squid.json()
        return s if s["queued"] == s["outstanding"] == s["parked"] == 0 else None
    s = wait_for(idle, 20, "idle")
    assert sum(c["submitted"] for c in s["classes"]) > 0
    for c in s["classes"]:
        assert c["submitted"] == c["done"] + c["aborted"] + c["cancelled"], c


def test_there_are_ten_thousand():
    assert 800 * len(KINDS) > 10000
    assert len({request for kind in KINDS for request in cases(kind, 800)}) > 9000
    assert cases("chunks", 50) == cases("chunks", 50) != cases("chunks", 50, seed=2)
