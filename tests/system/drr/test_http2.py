# SPDX-License-Identifier: BSD-2-Clause
"""Streams of HTTP/2: they wait in mod_http2's workers, and what waits there must neither be refused nor keep others out."""

import collections
import contextlib
import statistics
import struct
import threading
import time

import pytest

import http1
import http2
from crowd import Streams

PEOPLE = {"cookie": "session=1"}
CRAWLERS = {"user-agent": "GPTBot/1.2"}
PAGE = "/o/size/2000?delay=50"


def at_once(g, connections, streams, headers=None):
    """The statuses of so many streams on each of so many connections."""
    found = [None] * connections

    def visit(i):
        with http2.Connection(g.port) as c:
            for _ in range(streams):
                c.send("GET", PAGE, headers=headers, push=False)
            c.push()
            found[i] = c.statuses()
    threads = [threading.Thread(target=visit, args=(i,)) for i in range(connections)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return collections.Counter(status for each in found for status in each)


@pytest.mark.parametrize("connections", (1, 6))
def test_no_stream_is_refused_while_the_queue_has_room(h2_gateway, connections):
    """100 streams a connection, of the lightest class: the bound on blocked threads answered most of them 503 on an idle server."""
    before = h2_gateway.settled()
    assert at_once(h2_gateway, connections, 100) == {200: connections * 100}
    after = h2_gateway.settled()
    assert after["refused"] == before["refused"] and after["refused_by"] == before["refused_by"]
    h2_gateway.assert_each_once(before, connections * 100)


@pytest.mark.parametrize("mpm", ("event", "worker"))
def test_people_keep_their_share_beside_a_crowd_of_streams(new_gateway, mpm):
    """Six connections of a crawler with 100 streams each fill mod_http2's usual workers; people's one connection then had a seventh of the starts.

    Equal pages, so that bytes are answers: 6 of 7 are people's.  A round is seven answers; both ends of 210 are off by a round each.
    """
    with new_gateway(mpm=mpm, http2=True, window=2, children=1) as g, Streams(g.port, 6, 100, PAGE, CRAWLERS) as crawlers:
        g.until(lambda s: s["by_class"]["crawlers"]["queued"] > 30, "the crowd waits")
        with Streams(g.port, 1, 20, PAGE, PEOPLE) as people:
            # Until the scheduler knows the sizes, and has evened out what it took them for before.
            g.until(lambda s: s["by_class"]["people"]["queued"] >= 8 and s["by_class"]["people"]["released"] >= 240
                    and all(abs(s["by_class"][name]["balance"]) < 8 * 2000 for name in ("people", "crawlers")), "people wait", 60)
            before = g.status()["by_class"]
            after = g.until(lambda s: s["released"] >= 210 + sum(c["released"] for c in before.values()), "210 more", 60)["by_class"]
            moved = {name: after[name]["released"] - before[name]["released"] for name in ("people", "crawlers")}
            assert abs(moved["people"] - 6 / 7 * sum(moved.values())) <= 14, moved
        assert set(people.done) == {200} and set(crawlers.done) == {200}


class Clogged(Streams):
    """The same, once it has been let have so many, for large answers of which the client takes 1,000 bytes."""

    def run(self):
        while not self.over.is_set():
            # httpd may close a connection that has nothing to do while many others have.
            with contextlib.suppress(AssertionError, OSError), http2.Connection(self.port) as c:
                self.visit(c)

    def visit(self, c):
        for _ in range(5):
            c.statuses([c.send("GET", "/static/2k.txt", headers=self.headers) for _ in range(self.streams)])
        c.out += c.frame(http2.SETTINGS, 0, 0, struct.pack(">HI", 4, 1000))
        c.streams.clear()
        while not self.over.is_set() and not c.closed:
            for number in [n for n, s in c.streams.items() if s.over]:
                c.streams.pop(number)
            for _ in range(min(3, self.streams - len(c.streams))):
                c.send("GET", self.target, headers=self.headers, push=False)
            c.push()
            c.receive(0.05)
            time.sleep(0.02)


@pytest.mark.alone
def test_answers_that_nobody_takes_leave_the_queue_its_places(new_gateway):
    """1,300 answers of one crawler stand parked, as many as mod_http2 has workers for.  They had taken all tickets: with an empty queue people
    were answered 503."""
    with new_gateway(http2=True, children=2, threads=10, window=64, queue=50, more="H2MaxWorkers 700\n") as g:
        with Clogged(g.port, 16, 100, "/o/size/400000", CRAWLERS):
            # Before, 50 + 2 x 20 + 1,024 tickets were all.
            g.until(lambda s: s["parked"] >= 1250 or s["refused_by"]["queue-full"], "parked", 60)
            for _ in range(20):
                assert http1.get(g.port, "/b/size/10", headers=PEOPLE).status == 200
            assert g.status()["refused_by"]["queue-full"] == 0


def test_streams_that_were_reset_leave(h2_gateway):
    """Each frees its place in the queue and its thread within 0.1 s, not when its turn comes; so does what a closed connection leaves."""
    g, took = h2_gateway, []
    before = g.settled()
    with g.window_taken() as taken:
        for _ in range(5):
            # Six at a time is what mod_http2 lets a new connection have; one whose streams were reset gets less.
            with http2.Connection(g.port) as c:
                ids = [c.send("GET", "/b/size/10") for _ in range(6)]
                g.until_queued(6)
                began = time.monotonic()
                c.reset(*ids)
                g.until_queued(0)
                took.append(time.monotonic() - began)
        # The middle one: what a busy machine adds now and then is not the gateway's.  0.05 s is for the frames and the status page.
        assert statistics.median(took) < 0.1 + 0.05, took
        with http2.Connection(g.port) as c:
            c.send("GET", "/b/size/10")
            g.until_queued(1)
        g.until_queued(0)
        taken.release()
    after = g.settled()
    assert after["gone"] - before["gone"] == 31
    assert after["submitted"] - before["submitted"] == 31 + taken.count


def test_too_few_workers_of_http2_are_told(new_gateway):
    with new_gateway(http2=True, children=1, more="H2MaxWorkers 50\n") as g:
        said = [line for line in g.error_log() if "H2MaxWorkers 50 lets" in line]
        assert said and "set H2MaxWorkers 2500 (ThreadsPerChild x H2MaxSessionStreams), or H2MaxSessionStreams 2" in said[0]
    with new_gateway(http2=True, children=1, more="H2MaxWorkers 50\nH2MaxSessionStreams 2\n") as g:
        assert not [line for line in g.error_log() if "H2MaxWorkers" in line]


def test_connections_with_waiting_streams_leave_threads_to_others(new_gateway):
    """Each keeps a thread of the MPM.  Crawlers' had them all, and people's connections were not even read.

    Of the 19 threads beside the window ten are anybody's, of which one class leaves half, and of nine a class has its part by weight, but one at least.
    """
    with new_gateway(http2=True, children=1, threads=20, spare=0) as g, contextlib.ExitStack() as stack, g.window_taken() as taken:
        crawlers = [stack.enter_context(http2.Connection(g.port)) for _ in range(6)]
        for n, c in enumerate(crawlers, 1):
            for _ in range(3):
                c.send("GET", "/b/size/10", headers=CRAWLERS)
            g.until_queued(3 * n)
        crowd = [stack.enter_context(http2.Connection(g.port)) for _ in range(15)]
        for c in crowd:
            c.send("GET", "/b/size/10?crowd", headers=CRAWLERS)
            assert c.statuses() == [503]
        http1.until(lambda: [c.ping() for c in crowd] and len([line for line in g.access_log() if "?crowd" in line]) == 15, every=0.1)
        assert {line["reason"] for line in g.logged("crowd", 15)} == {"no-thread"}
        people = [stack.enter_context(http2.Connection(g.port)) for _ in range(3)]
        for c in people:
            c.send("GET", "/b/size/10", headers=PEOPLE)
        g.until_queued(18 + 3)
        taken.release()
        assert [c.statuses() for c in people] == [[200]] * 3
        assert [c.statuses() for c in crawlers] == [[200] * 3] * 6
        g.settled()
        # Nobody waits: all threads are anybody's again.
        assert at_once(g, 6, 5, CRAWLERS) == {200: 30}
