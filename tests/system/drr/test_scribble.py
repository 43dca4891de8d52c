# SPDX-License-Identifier: BSD-2-Clause
"""A child writes over the memory that all children share.  The parent, which is root, does not look there: it lives, its memory is untouched, and
fresh memory takes over within 1.5 s; what waited ends, nothing hangs, and shares hold again."""

import contextlib
import itertools
import time

import pytest

import http1
from gateway import Gateway, fresh, shares_over, three_classes
from lab.httpd import sanitizer_environment
from lab.lab import program
from lab.load import Load
from promise import Promise

TAKEN_OVER_S = 1.5
PEOPLE = {"Cookie": "session=1"}
RENEWED, LEFT = "fresh memory takes its place", "the memory that children share is damaged"


class Victim(Gateway):
    """The gateway with the lab's intruder in its children."""

    def __init__(self, parts, **kwargs):
        super().__init__(parts, **kwargs)
        self.load["scribble"] = program("tests/lab/.libs/mod_scribble.so")

    def whole_config(self):
        return super().whole_config() + "<Location /scribble>\n    SetHandler lab-scribble\n    QosEngine Off\n</Location>\n"

    def scribble(self, words, connection=None):
        """In whichever child gets it, or in that of the connection; which may die of it."""
        with connection or self.connect() as c:
            with contextlib.suppress(OSError, http1.Cut):
                assert c.ask("GET", f"/scribble?{words}").status == 200

    def said(self, words):
        return sum(words in line for line in self.error_log())

    def canary(self):
        """Where it is; the same in the parent and its children."""
        with self.connect() as c:
            return tuple(int(word) for word in c.ask("GET", "/scribble?what=canary").body.split())

    def canary_lives(self, where):
        address, size = where
        with open(f"/proc/{self.pid}/mem", "rb") as memory:
            memory.seek(address)
            return memory.read(size) == b"\xc5" * size

    def fresh_status(self):
        """Of a child of the new generation."""
        try:
            with self.connect() as c:
                response = c.ask("GET", "/qos-status?json")
        except (OSError, http1.Cut):
            return None
        return response if response.status == 200 and b"people" in response.body else None


@pytest.fixture
def new_victim(parts):
    made = []

    def make(mpm, **kwargs):
        many = mpm == "prefork"
        kwargs = {"children": 24 if many else 2, "spare": 30 if many else 4, "window": 2, "wait": 30, **kwargs}
        made.append(Victim(parts, mpm=mpm, **kwargs))
        return made[-1]
    yield make
    for g in made:
        g.stop()


class Waiting:
    """Requests that wait while others hold all slots, on connections that are closed in the end."""

    def __init__(self, gateway, n):
        self.gateway, self.gate = gateway, fresh("held")
        self.running = [gateway.connect() for _ in range(gateway.window)]
        self.waiting = [gateway.connect() for _ in range(n)]
        self.children = {gateway.child_of(c) for c in self.waiting} if gateway.mpm != "prefork" else set()

    def __enter__(self):
        for c in self.running:
            c.send("GET", f"/b/gate/{self.gate}", headers=PEOPLE)
        self.gateway.until_outstanding(self.gateway.window)
        for c in self.waiting:
            c.send("GET", "/b/size/30", headers=PEOPLE)
        self.gateway.until_queued(len(self.waiting))
        return self

    def __exit__(self, *_):
        self.gateway.backend.open(self.gate)
        for c in self.running + self.waiting:
            c.close()

    def end(self):
        """Each is answered, or its child died; none hangs.  How many were answered."""
        answered = 0
        for c in self.waiting:
            with contextlib.suppress(ConnectionError, http1.Cut):
                assert c.receive().status in (200, 503)
                answered += 1
        return answered


def taken_over(g, promise, pid, canary, at_once=True):
    """The parent is the one that it was, and fresh memory is in force.  How soon the MPM starts children that use it is its own affair, as at
    any graceful restart: worker takes its time while threads of old children are blocked."""
    promise.kept(lambda: g.said(RENEWED) == 1 and g.generations() == 2, "fresh memory")
    http1.until(g.fresh_status, 15, "a status of the new generation")
    if g.mpm == "event" and at_once:
        promise.kept(g.fresh_status, "a status of the new generation")
    assert g.alive() and g.pid == pid
    assert g.canary_lives(canary)
    assert g.said(LEFT) >= 1


def shares_hold(g):
    clients = 6
    with Load(g.address, three_classes(clients, "/o/size/4096"), seconds=3600, interval=0.5) as load:
        # Who has no child yet does not wait in the queue.
        http1.until(lambda: (g.status_if_served() or {}).get("queued", 0) >= 3 * clients - 2 * g.window, 30, "all classes in the queue")
        parts = shares_over(load, 800)
        load.stop()
    for name, goal in (("people", 60), ("search", 30), ("crawlers", 10)):
        assert abs(parts[name] - goal) <= 4, parts


@pytest.mark.parametrize("seed,die", itertools.chain(enumerate((0, 1, 0, 1), 1)))
@pytest.mark.parametrize("mpm", ["event", "worker", "prefork"])
def test_scribbled_all_over(new_victim, mpm, seed, die):
    """Random words all over the segment, from a child that lives on or dies."""
    with new_victim(mpm, window=4) as g:
        pid, canary, old = g.pid, g.canary(), set(g.workers())
        with Waiting(g, 6) as w, Promise(TAKEN_OVER_S) as promise:
            g.scribble(f"what=all&seed={seed}" + ("&die=1" if die else ""))
            taken_over(g, promise, pid, canary)
            answered = w.end()
            assert answered == 6 or die
        if seed == 1:
            # Who is still connected to a child of before is not scheduled; and prefork makes new ones by and by, so that of one class's clients some would have none.
            many = min(len(old), 20)
            http1.until(lambda: not old & (new := set(g.workers())) and len(new) >= many, 30, "the children of before have ended, and there are as many new ones")
            shares_hold(g)
        g.settled()
        g.assert_no_crash()


@pytest.mark.parametrize("mpm", ["event", "worker", "prefork"])
def test_scribbled_over_the_engine(new_victim, mpm):
    """All but what tells at first sight: a child may die of it, a rebuild must not be made from it, and no third one finds it."""
    with new_victim(mpm) as g:
        pid, canary = g.pid, g.canary()
        # A child that dies keeps the lock until it is dead: where a sanitizer writes about it first, not before the others give up waiting.
        with Waiting(g, 3) as w, Promise(TAKEN_OVER_S + (2 if sanitizer_environment() else 0)) as promise:
            g.scribble("what=engine&seed=7")
            taken_over(g, promise, pid, canary)
            w.end()
        g.settled()
        assert g.said("exit signal") <= 2


def test_a_stock_that_can_not_be(new_victim):
    """The attack that was reported: the number of free descriptors becomes 0x30000000, and the child ends, with one of them."""
    with new_victim("event", window=1) as g:
        pid, canary = g.pid, g.canary()
        with Waiting(g, 8) as w, Promise(TAKEN_OVER_S) as promise:
            g.until(lambda s: s["held"] == 8, "all held without a thread")
            g.scribble("what=stock&die=1", next(c for c in iter(g.connect, None) if g.child_of(c) in w.children))
            promise.kept(lambda: not g.alive() or g.said(RENEWED), "fresh memory, or no parent")
            taken_over(g, promise, pid, canary, at_once=False)      # httpd looks once a second for children that have died
            w.end()
        g.settled()
        g.assert_no_crash()


@pytest.mark.parametrize("mpm", ["event", "prefork"])
def test_a_lock_that_is_kept(new_victim, mpm):
    """The lock is held by a child that lives, for ever."""
    with new_victim(mpm) as g:
        pid, canary = g.pid, g.canary()
        with Waiting(g, 3) as w, Promise(TAKEN_OVER_S) as promise:
            g.scribble("what=lock")
            taken_over(g, promise, pid, canary, at_once=False)      # 0.7 s go by before anybody thinks ill of it
            assert w.end() == 3
        g.settled()
        g.assert_no_crash()


def test_scribbled_again_and_again(new_victim):
    """Who does it again does not keep the server restarting: requests pass unscheduled until a pause is over."""
    with new_victim("event") as g:
        pid, canary = g.pid, g.canary()
        g.scribble("what=all&seed=1")
        http1.get(g.port, "/b/size/10", headers=PEOPLE)
        http1.until(g.fresh_status, 15, "a status of the new generation")
        before = g.generations()
        g.scribble("what=all&seed=2")
        end = time.monotonic() + 5
        while time.monotonic() < end:
            assert http1.get(g.port, "/b/size/10", headers=PEOPLE).status == 200
        assert g.generations() == before
        assert g.said(RENEWED) == 1
        http1.until(lambda: g.said(RENEWED) == 2, 60, "fresh memory when the pause was over")
        http1.until(g.fresh_status, 15, "a status of the third")
        assert g.pid == pid and g.alive() and g.canary_lives(canary)
        g.settled()
        g.assert_no_crash()


def test_a_child_without_a_row_tells_the_status(new_victim):
    """No row was left for it in the shared memory: its own requests pass unscheduled, but it knows how the others fare."""
    with new_victim("event") as g:
        gate, busy = fresh("busy"), [c for _, (c,) in g.connections_by_child(1)][:2]
        for c in busy:      # or these children end at the restart, and leave their rows
            c.send("GET", f"/b/gate/{gate}", headers=PEOPLE)
        g.until_outstanding(2)
        g.scribble(f"what=children&n={2 + 4 + 16}")
        g.graceful()
        http1.until(lambda: g.said("more children than were planned for") >= 1, 15, "a child without a row")
        assert set(g.status()["by_class"]) >= {"people", "crawlers"}
        assert http1.get(g.port, "/b/size/10", headers=PEOPLE).status == 200
        g.backend.open(gate)
        for c in busy:
            assert c.receive().status == 200
            c.close()
        g.assert_no_crash()


def test_switched_off_when_damage_is_found(new_victim):
    """The restart finds that nothing is scheduled any more: there is no memory to replace, and no reason for a restart after it."""
    with new_victim("event") as g:
        pid = g.pid
        g.scheduling["engine"] = "Off"
        g.config = g.whole_config()
        g.configure()
        g.scribble("what=all&seed=1")
        with contextlib.suppress(OSError, http1.Cut):
            http1.get(g.port, "/b/size/10", headers=PEOPLE)
        http1.until(lambda: g.generations() >= 2, 15, "the restart")
        time.sleep(3)
        assert g.generations() == 2
        assert g.alive() and g.pid == pid
        assert http1.get(g.port, "/b/size/10", headers=PEOPLE).status == 200
        # Children of before are no reason either, and what they left is not taken for sound when it is used again.
        g.scheduling["engine"] = "On"
        g.graceful(g.whole_config())
        http1.until(g.fresh_status, 15, "a status of the third")
        assert g.said(LEFT) >= 1 and g.generations() == 3
        g.assert_no_crash()
