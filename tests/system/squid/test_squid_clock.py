# SPDX-License-Identifier: BSD-2-Clause
"""The wall clock is set while requests wait and responses are on their way: they keep flowing."""

import os
import struct
import subprocess
import time

import pytest
from lab.lab import ROOT
from squid_proxy import SLACK, fresh, scheduled

HOUR = 3600
# Squid's own timeouts follow the wall clock: a step of a day forwards would end what it takes to be a day old.
PATIENT = "".join(f"{name} 30 days\n" for name in (
    "forward_timeout", "connect_timeout", "read_timeout", "write_timeout", "request_timeout", "client_lifetime", "client_idle_pconn_timeout",
    "server_idle_pconn_timeout", "request_start_timeout"))


class Clock:
    """A Squid's wall clock, that a test sets; see clock_step.c."""

    def __init__(self, lab):
        base = os.path.join(lab.dir, fresh("clock"))
        source = os.path.join(ROOT, "tests", "lab", "clock_step.c")
        subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", base + ".so", source], check=True)
        self.file = open(base, "w+b")
        os.ftruncate(self.file.fileno(), 4096)
        os.chmod(base, 0o644)
        self.environment = {"LD_PRELOAD": base + ".so", "FAIRGATE_CLOCK": base}

    def set(self, seconds):
        """So many seconds from the true time, from now on."""
        os.pwrite(self.file.fileno(), struct.pack("q", seconds), 0)


@pytest.fixture
def clock(world):
    c = Clock(world.lab)
    yield c
    c.file.close()


def shown(p):
    """Squid's own idea of the time: its distance from ours in seconds."""
    line, = [line for line in p.page("info").splitlines() if line.startswith("Current Time:")]
    text = line.split(":", 1)[1].strip()
    return time.mktime(time.strptime(text + " UTC", "%a, %d %b %Y %H:%M:%S %Z UTC")) - time.mktime(time.gmtime())


@pytest.mark.parametrize("config", [scheduled(1, gold="weight=4", silver="weight=1"),
                                    scheduled("bytes", gold="weight=4", silver="weight=1") + "fqrs_link rate=20Mbit\n",
                                    scheduled("wrc", gold="weight=4", silver="weight=1") + "fqrs_link rate=20Mbit\n"], ids=["window", "bytes", "wrc"])
def test_steps_of_an_hour(new_proxy, clock, config):
    """Forwards, backwards and both at once, ten steps under load: nobody waits for more than a second, no slot leaks."""
    p = new_proxy(config + PATIENT, env=clock.environment).start()
    crowd = [{"name": name, "clients": 20, "url": "/size/2000", "header": f"X-Class: {name}"} for name in ("gold", "silver")]
    with p.load(crowd, seconds=3600, timeout=20) as run:
        p.until(lambda s: s["done"] > 100, "requests under way")
        at = 0
        for step in (1, -1, -1, 1, 2, -4, 2, 0, 24, -24):
            at += step * HOUR
            clock.set(at)
            began = time.monotonic()
            with p.connect(deadline=5) as c:
                for _ in range(3):
                    assert p.ask("/size/100", cls="gold", connection=c).status == 200
            assert time.monotonic() - began < 1 + SLACK
            assert abs(shown(p) - at) < 60
            done = p.status()["done"]
            p.until(lambda s, done=done: s["done"] > done + 50, "more responses", 2 + SLACK)
        run.stop()
        result = run.result()
    assert not any(result["total"]["errors"].values()), result["total"]
    assert set(result["total"]["status"]) == {"200"}
    assert max(c["gap_s"] for c in result["classes"].values()) < 1 + SLACK, result["classes"]
    p.settled()


@pytest.mark.parametrize("step", [HOUR, -HOUR])
def test_a_step_while_all_wait(new_proxy, clock, step):
    """Nothing comes that could wake Squid but its own timer: who is parked is parked in time, who waits too long is refused in time, not before."""
    p = new_proxy(scheduled(1, gold="weight=4", hasty="weight=1 wait=2") + PATIENT, env=clock.environment).start()
    gates = [fresh("clock") for _ in range(3)]
    began = time.monotonic()
    hanging = [p.send(f"/gate/{gate}", cls="gold") for gate in gates]
    clock.set(step)
    p.until(lambda s: s["parked"] >= 2 and s["queued"] == 0, "parked, one after the other", 3 + SLACK)
    assert time.monotonic() - began >= 1
    with p.taken():
        began = time.monotonic()
        late = p.send("/size/10", cls="hasty")
        clock.set(0)
        assert late.receive().status == 503
        assert 2 <= time.monotonic() - began < 3 + SLACK
        late.close()
    for gate in gates:
        p.origin.open(gate)
    for c in hanging:
        assert c.receive().status == 200
        c.close()
    p.settled()
