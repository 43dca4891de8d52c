# SPDX-License-Identifier: BSD-2-Clause
"""
The matrix: what stands in other people's networks, times IPv4 and IPv6, times what can happen to a pair.

    ROWS, FAMILIES, FAULTS          their names; a cell is one of each
    every(), some()                 set-ups with the faults that they have in a long run, and in a short one
    failed(lab, row, family, faults)    runs cells of one set-up one after the other; {name of a cell: what was wrong}, of those that failed

In each cell eight clients fetch streams all the time, over a link of 100 Mbit/s that is a router between the two ends.  What is asked of it:

- Streams come whole, byte by byte (streams.py).
- No connection stands still for longer than it must.  What it must: while the link is cut, and until the timer runs out that runs when the cut is over.  TCP's timers double, and each is as long as all before it
  together, so that is twice the last one (streams.over, lossy); and one more that TCP has measured across the cut (Streams.end).  Where only a daemon is struck the link carries on, and what counts is one timer of either end.  Beyond that a second at most.  A new connection has
  timers of its own for its SYN, of 1 s, 2 s and so on: it comes about after twice the time of the cut, and a second for the first timer, and one more.
- `at_work` is true within TRUTH of the fault's end at both ends, and trains go.  While the fault lasts it is false at both ends TRUTH after its beginning; a daemon that is dead or stopped says nothing.  With a
  device on the link that follows TCP trains must not go: when the trials are over both ends say so, and after the fault again.
"""
import contextlib
import os
import signal
import time

from .lab import LabError, wait_for
from .pair_paths import (FOUR, SIX, Middle, drops_what_is_invalid, forward_drop, helpers_of, masquerade_the_clients, masquerade_to_the_servers, on_both, route_by_policy, splits_tcp,
                   streams)

TRUTH = 2.0
FOLLOWS = "follows TCP"
RATE = "100mbit"
MORE = 0.3          # seconds that a fault lasts when it is known


# ---- rows: what is made before the daemons begin; settings of both --------------------------------------------------------------

@contextlib.contextmanager
def nothing(_):
    yield {}


def filters(*roles):
    @contextlib.contextmanager
    def make(m):
        for role in roles:
            forward_drop(getattr(m.pair, role).host, "in0" if role == "parent" else "out0", "link0")
        yield {}
    return make


@contextlib.contextmanager
def translated_servers(m):
    yield masquerade_to_the_servers(m.pair)


@contextlib.contextmanager
def translated_clients(m):
    yield masquerade_the_clients(m.pair)


@contextlib.contextmanager
def stateful(m):
    drops_what_is_invalid(m.middle)
    yield {}


@contextlib.contextmanager
def splitting(m):
    with splits_tcp(m.middle, m.streams):
        yield {}


@contextlib.contextmanager
def policy(m):
    yield route_by_policy(m.pair)


def take_away(host):
    """What a program that thinks all is its own takes away that the daemon made, as systemd-networkd does: filters and what they hang on, addresses, routes and rules."""
    for words in (("tc", "qdisc", "del", "dev", "link0", "clsact"), ("ip", "addr", "flush", "dev", "fgpktcache0"), ("ip", "route", "flush", "dev", "fgpktcache0"),
                  ("ip", "-6", "route", "flush", "dev", "fgpktcache0"), ("ip", "rule", "del", "iif", "fgpktcache0"), ("ip", "-6", "rule", "del", "iif", "fgpktcache0")):
        with contextlib.suppress(LabError):         # it is not there
            host.run(*words)


ROWS = {
    "nothing": nothing, "filter-parent": filters("parent"), "filter-child": filters("child"), "filter-both": filters("parent", "child"), "nat-parent": translated_servers,
    "nat-child": translated_clients, "stateful": stateful, "splits-tcp": splitting, "policy-routing": policy, "removal": nothing,
}
FOLLOWED = ("stateful", "splits-tcp")
FAMILIES = {"ipv4": FOUR, "ipv6": SIX}


# ---- faults ----------------------------------------------------------------------------------------------------------------------

@contextlib.contextmanager
def killed(side):
    side.kill()
    try:
        yield
    finally:
        side.start()


@contextlib.contextmanager
def stopped(pids):
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


@contextlib.contextmanager
def no_way(middle, *devices):
    """What comes from there gets no further, and not to that router itself."""
    for d in devices:
        on_both(middle.host, "-t", "raw", "-I", "PREROUTING", "-i", d, "-j", "DROP")
    try:
        yield
    finally:
        for d in devices:
            on_both(middle.host, "-t", "raw", "-D", "PREROUTING", "-i", d, "-j", "DROP")


def kills(m):
    return [(side.role, killed(side)) for side in m.sides]


def stops(m):
    return [(side.role, stopped([side.pid()])) for side in m.sides]


def stops_all(m):
    return [(side.role, stopped([side.pid(), *helpers_of(side)])) for side in m.sides]


def cuts_one_way(m):
    return [("to the child", no_way(m.middle, "near0")), ("to the parent", no_way(m.middle, "far0"))]


def cuts(m):
    return [("both ways", no_way(m.middle, "near0", "far0"))]


# Name: (what happens, one after the other; whether it is the link that is struck)
FAULTS = {"kill": (kills, False), "stop": (stops, False), "stop-all": (stops_all, False), "cut-one-way": (cuts_one_way, True), "cut": (cuts, True)}


# ---- cells -----------------------------------------------------------------------------------------------------------------------

class Made:
    """A set-up, as the faults see it."""

    def __init__(self, pair, streams_, middle, row, family):
        self.pair, self.streams, self.middle, self.row, self.family = pair, streams_, middle, row, family
        self.sides = (pair.parent, pair.child)
        self.followed = row in FOLLOWED

    def trains(self):
        return self.said(self.pair.child)["counters"]["hits"]

    def idle(self):
        """Neither end says that it is at work; who is stopped says nothing."""
        return not any(side.at_work(0.2) for side in self.sides)

    def at_work(self):
        return all(side.at_work(0.5) for side in self.sides)

    def at_rest(self):
        """What both say where trains must not go, when the trials are over."""
        return all(FOLLOWS in self.said(side)["why"] for side in self.sides)

    @staticmethod
    def said(side):
        """A daemon that has no time to say all of it has said nothing."""
        try:
            return side.stats()
        except (OSError, ValueError):
            return {"why": "", "counters": {"hits": 0}}

    def well(self, since):
        """What is to be so within TRUTH of `since`, and what follows from it."""
        left = max(0.1, since + TRUTH - time.monotonic())
        if self.followed:
            wait_for(self.at_rest, 60, "both ends telling of the device on the link")
            return
        wait_for(self.at_work, left, "both ends at work")
        hits = self.trains()
        wait_for(lambda: self.trains() > hits, 5, "trains")

    def cell(self, fault):
        """Raises an AssertionError or a LabError."""
        strikes, link = FAULTS[fault]
        fetch = self.streams.begin(1_000_000, addresses=(FAMILIES[self.family],))
        longest = 0.0
        try:
            self.well(time.monotonic() + 10)
            for what, strike in strikes(self):
                began = time.monotonic()
                with strike:
                    struck = time.monotonic()
                    if self.row == "removal":
                        take_away(self.pair.near), take_away(self.pair.far)
                    wait_for(self.idle, max(0.1, struck + TRUTH - time.monotonic()), f"{what}: no end at work")
                    over = time.monotonic() + MORE
                    wait_for(lambda: time.monotonic() >= over or fetch.poll() is not None, 5, "some time more")       # pylint: disable=cell-var-from-loop
                    assert fetch.poll() is None, f"{what}: streams ended: {fetch.communicate()[0]}"
                now = time.monotonic()
                longest = max(longest, now - began)
                if self.row == "removal":
                    take_away(self.pair.near), take_away(self.pair.far)
                try:
                    self.well(now)
                except LabError as e:
                    raise LabError(f"{what}, afterwards: {e}; {[self.said(side) for side in self.sides]}") from None
            fetch.terminate()       # those that have begun go on to their end
            self.streams.end(fetch, 60, cut=longest if link else 0)
        finally:
            if fetch.returncode is None:
                fetch.kill()
                fetch.communicate()


def every():
    """(row, family, faults) of each set-up."""
    return [(row, family, list(FAULTS)) for row in ROWS for family in FAMILIES]


def some():
    """One fault and the next along the rows, and of every other one the other family: each row, family and fault at least once."""
    faults, families = list(FAULTS), list(FAMILIES)
    return [(row, families[(i + i // len(faults)) % 2], [faults[i % len(faults)]]) for i, row in enumerate(ROWS)]


def failed(lab, row, family, faults=FAULTS):
    """{cell: what was wrong}"""
    pair, s = streams(lab)
    if family == "ipv6":
        for side, here, there in ((pair.parent, 1, 2), (pair.child, 2, 1)):
            side.settings.update(local=f"[fd08:2::{here}]:4754", peer=f"[fd08:2::{there}]:4754")
    wrong = {}
    try:
        with s, Middle(pair) as middle:
            middle.host.bucket("far0", RATE, "40kb", limit=300_000)
            m = Made(pair, s, middle, row, family)
            with ROWS[row](m) as settings:
                pair.both(**(settings or {}))
                for fault in faults:
                    try:
                        m.cell(fault)
                    except (AssertionError, LabError, OSError, ValueError) as e:
                        wrong[f"{row}-{family}-{fault}"] = str(e)
                        for side in m.sides:            # the next one is another cell
                            if side.process.poll() is not None:
                                side.start()
    finally:
        pair.stop()
    return wrong
