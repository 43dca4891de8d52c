# SPDX-License-Identifier: BSD-2-Clause
"""Crowds: ten thousand requests wait while a thousand responses are on their way."""

import contextlib
import time

import http1
import pytest
from lab import lab
from squid_proxy import SLACK, scheduled

pytestmark = pytest.mark.alone     # thousands of connections are a load of their own, and a machine that is busy is slow to make them
WAITING, OUTSTANDING = 10_000, 1_000
CROWD = WAITING + OUTSTANDING + 50          # the system may lose a connection of so many at once


@contextlib.contextmanager
def crowded(new_proxy, world, size, most=OUTSTANDING):
    """(Squid, origin, the clients' Load, Squid's counters before) when so many wait and are outstanding.

    On a busy machine a response may stand still for so long that its slot goes to somebody else: up to `most` are outstanding then.
    """
    crowd = [{"name": "crowd", "clients": CROWD, "requests": 1, "url": f"/size/{size}?trickle=400", "header": "X-Class: crowd"}]
    with lab.Origin(world.lab) as origin, new_proxy(scheduled(OUTSTANDING, crowd="weight=1", quick="weight=100"), log="%Ss") as p:
        origin.authority = origin.address
        assert p.ask("/size/10", cls="quick").status == 200
        before = p.settled()
        before["memory"] = p.memory()
        with p.load(crowd, origin=origin, seconds=600, timeout=600, ramp=2) as run:
            p.until(lambda s: s["queued"] + s["outstanding"] + s["parked"] >= WAITING + OUTSTANDING and OUTSTANDING <= s["outstanding"] <= most,
                    f"{WAITING} waiting", 60)
            yield p, origin, run, before


def test_ten_thousand_wait_and_are_served(new_proxy, world):
    """Nobody is refused, the status page answers at once, another class's request passes them all, and then everybody is served once.

    Memory: one that waits has a client connection with its buffers, a request, a store entry and a place with the scheduler; without the scheduler
    Squid takes about as much for each.  Time: without it Squid would serve so many in ten seconds.
    """
    with crowded(new_proxy, world, 100_000) as (p, origin, run, before):
        assert origin.stat()["current"] == OUTSTANDING
        each = (p.memory() - before["memory"]) / CROWD
        assert each < 60_000 * world.patience, f"{each} bytes each"
        began = time.monotonic()
        p.status()
        p.page("fqrs")
        assert time.monotonic() - began < (1 + SLACK) * world.patience
        quick = p.send("/size/10", cls="quick")
        p.until(lambda s: s["by_class"]["quick"]["queued"] == 1, "one more")
        began = time.monotonic()
        origin.open()
        assert quick.receive().status == 200
        quick.close()
        assert time.monotonic() - began < 5 * world.patience
        http1.until(lambda: not run.running(), 60 * world.patience, "all served")
        result = run.result()
        served = result["total"]["status"]["200"]
        assert result["total"]["status"] == {"200": served} and served >= WAITING + OUTSTANDING
        assert not [kind for kind, n in result["total"]["errors"].items() if n and kind not in ("connect", "reset")], result["total"]
        assert p.moved(before) == {"submitted": served + 1, "released": served + 1, "done": served + 1}


def test_ten_thousand_leave(new_proxy, world):
    """All clients at once: within seconds nothing of them is left, and the origin had no more requests than were outstanding."""
    with crowded(new_proxy, world, 2_000_000, 2 * OUTSTANDING) as (p, origin, run, before):
        run.stop()
        run.result()
        began = time.monotonic()
        moved = p.moved(before)
        assert time.monotonic() - began < 10 * world.patience
        assert moved["submitted"] == moved["cancelled"] + moved["released"] and moved["released"] == moved["aborted"]
        assert WAITING + OUTSTANDING <= moved["submitted"] <= CROWD
        # A slot that a client leaves goes to one who has not left yet.
        assert moved["cancelled"] >= WAITING - 2 * OUTSTANDING
        assert p.ask("/size/10", cls="quick").status == 200
