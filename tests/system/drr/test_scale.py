# SPDX-License-Identifier: BSD-2-Clause
"""Crowds: ten thousand that wait at once, and clients too slow to take their answers."""

import statistics

import http1
import pytest
from gateway import SlowReaders, more_lines, shares, three_classes
from lab import lab
from lab.load import Load, errors

pytestmark = pytest.mark.alone     # thousands of connections are a load of their own, and a machine that is busy is slow to make them
WAITING = 10_000


def test_ten_thousand_wait(new_gateway):
    """2 children x 25 threads: 10,000 requests wait at once, nobody is refused, every one is served in the end."""
    crowd = [{"name": "crowd", "clients": WAITING, "requests": 1, "url": "/static/2k.txt"}]
    # All of one class, which may have the half of the places that is not kept for the classes.
    with new_gateway(children=2, threads=25, async_factor=800, queue=2 * WAITING, wait=600, timeout=900) as g:
        with g.window_taken() as taken, Load(g.address, crowd, seconds=600, timeout=600, ramp=5) as run:
            http1.until(lambda: g.status()["queued"] == WAITING, 120, lambda: f"{WAITING} waiting; {g.status()['queued']} are")
            assert len(g.workers()) == 2
            http1.until(lambda: g.status()["held"] == WAITING, 5, "nobody keeps a thread")
            taken.release()
            http1.until(lambda: not run.running(), 120, "all served")
            final = run.result()
        assert final["total"]["requests"] == WAITING
        assert final["total"]["status"] == {"200": WAITING}
        assert errors(final) == 0 and final["total"]["stale"] == 0
        g.settled()


def test_window_finds_itself(new_gateway, parts):
    """QosWindow auto before a backend of 16 workers: the window grows to keep them busy, and the shares stand.

    30 clients a class of 6 : 3 : 1 allow a window of 50 (30 / 0.6) before people have nobody left to wait.
    """
    with lab.Origin(parts.lab, workers=16, delay_ms=20) as origin, new_gateway(window="auto", origin=origin, threads=64) as g:
        with Load(g.address, three_classes(30, "/o/size/4096"), seconds=3600, interval=0.5) as run:
            http1.until(lambda: origin.stat()["serving"] >= 15, 20, lambda: f"15 workers busy; {origin.stat()['serving']} are")
            assert g.status()["gate"] == "auto"
            seen = more_lines(run, 10)
            run.stop()
            assert errors(run.result()) == 0
        for name, goal in (("people", 60), ("search", 30), ("crawlers", 10)):
            assert abs(shares(seen)[name] - goal) <= 3, shares(seen)
        # 16 workers of 20 ms can do 800 a second; the rest is for a busy machine.
        assert statistics.median(line["total"]["requests_per_s"] for line in seen) >= 0.8 * 16 / 0.02
        g.settled()


def test_slow_readers_hold_nobody_up(new_gateway):
    """Eight clients that read a 50 MB page at 1 KB/s, window 8: the others are served at >= 0.95 of their pace without them.

    The pace is set by the window and the origin's service time, not by this machine's speed; stretches with and without alternate.
    """
    rounds = 3
    paces = {"without": [], "with": []}
    with new_gateway(window=8) as g:
        for i in range(2 * rounds):
            kind = "with" if i % 2 else "without"
            with SlowReaders(g, 8 if i % 2 else 0, "/static/50m.bin", headers={"X-Class": "secure"}):
                with Load(g.address, three_classes(12, "/o/size/4096"), seconds=3, warmup=1) as run:
                    final = run.result()
            assert errors(final) == 0
            paces[kind].append(final["total"]["requests_per_s"])
            g.settled()
    # What the machine does besides takes from a pace and adds nothing to it.
    assert max(paces["with"]) >= 0.95 * max(paces["without"]), paces
