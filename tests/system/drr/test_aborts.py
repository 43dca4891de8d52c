# SPDX-License-Identifier: BSD-2-Clause
"""Clients that hang up in every state of a request, one crowd after another: in the end no slot, no place and no thread is missing."""

import collections
import contextlib
import random
import threading

import pytest

import http1
import http2
from background import GatedServer
from test_park import UPGRADE, Endless, site

EXEMPT = 3
PARKING = "QosPark time=1 size=100000"
PEOPLE = {"Cookie": "session=1"}
TINY = {"User-Agent": "tiny-queue"}
BODY = {"Content-Length": "20000"}
BEGUN = b"GET /o/size/10 HTTP/1.1\r\nHost: localhost\r\nCoo"


def ask(method, target, headers=None, **words):
    return http1.request_bytes(method, target, headers=headers, **words)


# What is sent, and for how many bytes of an answer the client waits before it goes; -1: some while, by chance.  That the client of an answer has gone httpd
# sees when it writes to him: who leaves a stream of which nothing comes is missed by nobody, with the module or without.
STATES = {
    "connected": (b"", 0),
    "half a header": (BEGUN, 0),
    "a whole request": (ask("GET", "/o/size/2000?delay=5", PEOPLE), 0),
    "waiting or at the backend": (ask("GET", "/o/size/2000?delay=30"), -1),
    "an answer begun": (ask("GET", "/o/size/300000", PEOPLE), 1000),
    "an answer whole": (ask("GET", "/o/size/2000", PEOPLE), 2000),
    "a body begun": (ask("POST", "/o/size/100", {**PEOPLE, **BODY}) + b"x" * 5000, 0),
    "a body begun, at length": (ask("POST", "/o/size/100", {**BODY}) + b"x" * 5000, -1),
    "two requests": (2 * ask("GET", "/o/size/3000?delay=1", PEOPLE), 100),
    "refused or waiting": (ask("GET", "/o/size/2000?delay=20", TINY), -1),
    "answered or refused": (ask("GET", "/o/size/2000?delay=5", TINY), 12),
    "exempt": (ask("GET", "/b/takes/5?size=100"), -1),
    "parked by size": (ask("GET", "/b/size/1000000", PEOPLE), 250_000),
    "a tunnel": (ask("GET", "/e/socket", {**PEOPLE, **UPGRADE}), 12),
    "a tunnel asked for": (ask("GET", "/e/socket", {**PEOPLE, **UPGRADE}), 0),
    "chunks begun": (ask("GET", "/o/size/200000?chunked", PEOPLE), 1000),
    "a tunnel to elsewhere": (b"CONNECT localhost:1 HTTP/1.1\r\nHost: localhost:1\r\n\r\n", 0),
    "a backend that is not there": (ask("GET", "/dead/x", PEOPLE), -1),
    "no such request": (b"GET / HTTP/9.9\r\n\x00\r\n\r\n", 0),
}
STREAMS = ("streams reset", "streams abandoned")


class Aborts:
    """Clients in threads, each with a few connections at a time in a state by chance."""

    def __init__(self, g, states, wanted, seed=1):
        self.g, self.states, self.wanted, self.seed = g, states, wanted, seed
        self.done, self.lock = collections.Counter(), threading.Lock()

    def count(self, state, n):
        with self.lock:
            self.done[state] += n
            return self.done.total() < self.wanted

    def run(self, threads):
        all_of_them = [threading.Thread(target=self.client, args=(random.Random(f"{self.seed} {i}"),)) for i in range(threads)]
        for t in all_of_them:
            t.start()
        for t in all_of_them:
            t.join()

    def client(self, draw):
        more = True
        while more:
            state = draw.choice(self.states)
            n = draw.randint(1, 8)
            with contextlib.suppress(OSError, http1.Cut, AssertionError):
                if state in STREAMS:
                    self.streams(draw, state, n)
                else:
                    self.plain(draw, n, *STATES[state])
            more = self.count(state, n)

    def plain(self, draw, n, text, first):
        with contextlib.ExitStack() as stack:
            visits = [stack.enter_context(self.g.connect(deadline=10)) for _ in range(n)]
            for c in visits:
                if text:
                    c.send(text)
            if first < 0:
                # Some while it waits, some while it is served, some when the answer is there.
                threading.Event().wait(draw.random() * 0.05)
            for c in visits:
                if first > 0:
                    c.exactly(first)
                if draw.random() < 0.8:
                    c.reset()

    def streams(self, draw, state, n):
        with http2.Connection(self.g.port) as c:
            numbers = [c.send("GET", "/o/size/20000?delay=20", headers={"cookie": "session=1"}, push=False) for _ in range(n)]
            numbers.append(c.send("POST", "/o/size/20", body=b"", push=False))
            c.push()
            c.receive(draw.random() * 0.05)
            if state == "streams reset":
                c.reset(*numbers)
                c.receive(0.05)


@pytest.mark.parametrize("mpm", ["event", "worker", "prefork"])
def test_nothing_is_missing_after_aborts(new_gateway, aborts, mpm):
    with GatedServer(("127.0.0.1", 0), Endless) as endless:
        more = site(endless, PARKING) + f"QosExempt path /b/takes/\nQosExempt limit={EXEMPT}\n"
        with new_gateway(mpm=mpm, window=6, http2=mpm != "prefork", more=more) as g:
            states = [*STATES, *(STREAMS if mpm != "prefork" else ())]
            crowd = Aborts(g, states, aborts)
            crowd.run(12)
            assert set(crowd.done) == set(states), "each state was there"
            s = g.until(lambda s: s["queued"] == s["outstanding"] == s["parked"] == s["held"] == s["blocked"] == 0, "nothing is left", 60)
            assert s["released"] == s["done"] + s["aborted"] and s["submitted"] == s["released"] + s["cancelled"], s
            assert s["aborted"] and s["refused"] and s["parked_size"] and s["exempt"] and s["exempt_beyond"], s
            # Every slot and every place of what is exempt can be had.
            with g.window_taken() as taken:
                assert taken.count == g.window
                taken.release()
            beyond = g.status()["exempt_beyond"]
            with contextlib.ExitStack() as stack:
                visits = [stack.enter_context(g.connect()) for _ in range(EXEMPT)]
                for c in visits:
                    c.send("GET", "/b/takes/500?size=10")
                assert [c.receive().status for c in visits] == [200] * EXEMPT
            assert g.status()["exempt_beyond"] == beyond
            g.settled()
            g.assert_no_crash()
