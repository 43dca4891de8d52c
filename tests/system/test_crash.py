# SPDX-License-Identifier: BSD-2-Clause
"""A child that is killed gives its slots back, and takes no other child's requests with it."""

import os
import signal
import time

import pytest

import http1
from gateway import fresh, more_lines, shares, three_classes
from lab.load import Load

RECOVERY_S = 4      # httpd looks once a second for children that have died; bench/drr measures it, and this leaves room for a busy machine
PEOPLE = {"Cookie": "session=1"}


@pytest.mark.parametrize("mpm", ["event", "worker"])
def test_slots_of_a_killed_child(new_gateway, mpm):
    """All slots are held by one child, the queue by another.  Kill the first: the other's requests must fill the whole window."""
    with new_gateway(mpm=mpm, window=4) as g:
        held = g.connections_by_child(g.window)
        (doomed, doing), (_, waiting) = held[0], held[1]
        gate = fresh("survivor")
        with g.window_taken(*doing) as taken:
            for c in waiting:
                c.send("GET", f"/b/gate/{gate}", headers=PEOPLE)
            g.until_queued(g.window)
            assert g.backend.count(gate) == 0
            os.kill(doomed, signal.SIGKILL)
            http1.until(lambda: g.backend.count(gate) == g.window, RECOVERY_S, "the whole window in use again")
            g.backend.open(gate)
            for c in waiting:
                assert c.receive().status == 200
            taken.released = True       # nobody is left to be answered
        for c in doing + waiting:
            c.close()
        assert g.settled()["lost_children"] == 1


@pytest.mark.parametrize("mpm", ["event", "worker"])
def test_waiters_of_a_killed_child(new_gateway, mpm):
    """What waited in the killed child is out of the queue: nobody gets a slot for it."""
    with new_gateway(mpm=mpm, window=1) as g:
        held = g.connections_by_child(3)
        (doomed, theirs), (_, others) = held[0], held[1]
        with g.window_taken(others[0]) as taken:
            for c in theirs:
                c.send("GET", "/b/size/10", headers=PEOPLE)
            g.until_queued(3)
            for c in others[1:]:
                c.send("GET", "/b/size/20", headers=PEOPLE)
            g.until_queued(5)
            os.kill(doomed, signal.SIGKILL)
            g.until(lambda s: s["queued"] == 2, "three places free", RECOVERY_S)
            taken.release()
            for c in others[1:]:
                assert len(c.receive().body) == 20
        for c in theirs + others:
            c.close()
        g.settled()


def test_killed_child_of_prefork(new_gateway):
    """In prefork a child has one request: the slot of a killed one goes to who waits."""
    with new_gateway(mpm="prefork", window=1) as g, g.connect() as doing, g.connect() as waiting:
        doomed = g.child_of(doing)
        with g.window_taken(doing) as taken:
            waiting.send("GET", "/b/size/30", headers=PEOPLE)
            g.until_queued(1)
            began = time.monotonic()
            os.kill(doomed, signal.SIGKILL)
            assert len(waiting.receive().body) == 30
            assert time.monotonic() - began <= RECOVERY_S
            taken.released = True
        g.settled()


def test_kills_under_load(new_gateway, kills):
    """Children that hold slots are killed again and again under load.  Each time the origin soon sees the whole window again; no
    request of another child is lost; and the shares stand right after."""
    clients = 12
    with new_gateway(window=8) as g, Load(g.address, three_classes(clients, "/o/size/4096"), seconds=3600, interval=0.5) as load:
        lost = 0
        for _ in range(kills):
            http1.until(lambda: len(g.workers()) >= 2 and serving(g) >= g.window, 15, "two children and the window in use")
            # A new child is idle: connections are kept, and stay with the child that has them.
            doomed = max(g.workers(), key=g.connections_of)
            lost += g.connections_of(doomed)
            began = time.monotonic()
            os.kill(doomed, signal.SIGKILL)
            http1.until(lambda: doomed not in g.children(), RECOVERY_S, "the parent has noticed")
            # What the dead child had asked for is at the origin for one service time more; then only the living count.
            http1.until(lambda: time.monotonic() - began > g.origin.delay_s, RECOVERY_S, "one service time")
            http1.until(lambda: serving(g) >= g.window, began + RECOVERY_S - time.monotonic(), "the whole window in use again")
        parts = shares(more_lines(load, 8))
        load.stop()
        total = load.result()["total"]
        assert total["errors"]["timeout"] == 0
        assert set(total["status"]) == {"200"}
        broken = sum(total["errors"].values()) + total["stale"]
        assert broken <= lost, f"{broken} requests failed, but the killed children had {lost} connections"
        for name, goal in (("people", 60), ("search", 30), ("crawlers", 10)):
            assert abs(parts[name] - goal) <= 2, parts
        assert g.settled()["lost_children"] == kills


def serving(gateway):
    return gateway.origin.stat()["serving"]
