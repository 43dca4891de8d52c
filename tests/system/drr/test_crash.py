# SPDX-License-Identifier: BSD-2-Clause
"""A child that is killed gives its slots back, and takes no other child's requests with it."""

import os
import signal
import time

import pytest

import http1
from gateway import fresh, shares_over, three_classes
from lab.load import Load
from promise import Promise

RECOVERY_S = 1.5    # httpd looks once a second for children that have died, and who waits looks ten times a second
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
            with Promise(RECOVERY_S) as promise:
                os.kill(doomed, signal.SIGKILL)
                promise.kept(lambda: g.backend.count(gate) == g.window, "the whole window in use again")
            g.backend.open(gate)
            for c in waiting:
                assert c.receive().status == 200
            taken.released = True       # nobody is left to be answered
        for c in doing + waiting:
            c.close()
        assert g.settled()["lost_children"] == 1


@pytest.mark.parametrize("mpm", ["event", "worker", "prefork"])
def test_slots_of_a_killed_child_when_nobody_waits(new_gateway, mpm):
    """Nobody else is there to look: whoever comes next finds the slots of the dead, and the log names it."""
    with new_gateway(mpm=mpm, window=1) as g, g.connect() as doing:
        doomed = g.child_of(doing)
        with g.window_taken(doing) as taken:
            with Promise(RECOVERY_S) as promise:
                os.kill(doomed, signal.SIGKILL)
                promise.kept(lambda: doomed not in g.children(), "the parent has noticed")
            with g.connect() as next_one:
                assert len(next_one.ask("GET", "/b/size/30", headers=PEOPLE).body) == 30
            taken.released = True
        assert g.settled()["lost_children"] == 1
        assert any(f"child {doomed} ended with 1 requests" in line for line in g.error_log())


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
            with Promise(RECOVERY_S) as promise:
                os.kill(doomed, signal.SIGKILL)
                promise.kept(lambda: (g.status_if_served() or {}).get("queued") == 2, "three places free")
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
            with Promise(RECOVERY_S) as promise:
                os.kill(doomed, signal.SIGKILL)
                promise.kept(lambda: len(waiting.receive().body) == 30, "the slot of the dead child")
            taken.released = True
        g.settled()


def test_kills_under_load(new_gateway, kills):
    """Children that hold slots are killed again and again under load.  Each time the origin soon sees the whole window again; no
    request of another child is lost; and the shares stand right after.  Those of bytes: what a dead child kept of the server its classes have had."""
    clients = 12
    with new_gateway(window=8, more="QosCharge bytes\n") as g, Load(g.address, three_classes(clients, "/o/size/4096"), seconds=3600, interval=0.5) as load:
        lost = 0
        for _ in range(kills):
            http1.until(lambda: len(g.workers()) >= 2 and serving(g) >= g.window, 15, "two children and the window in use")
            # A new child is idle: connections are kept, and stay with the child that has them.
            doomed = max(g.workers(), key=g.connections_of)
            lost += g.connections_of(doomed)
            with Promise(RECOVERY_S) as promise:
                os.kill(doomed, signal.SIGKILL)
                promise.kept(lambda: doomed not in g.children(), "the parent has noticed")
                # What the dead child had asked for is at the origin for one service time more; then only the living count.
                promise.kept(lambda: time.monotonic() - promise.began > g.origin.delay_s, "one service time")
                promise.kept(lambda: serving(g) >= g.window, "the whole window in use again")
        parts = shares_over(load, 800)
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
