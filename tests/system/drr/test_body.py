# SPDX-License-Identifier: BSD-2-Clause
"""Bodies of requests: who sends one slowly, or never, holds no slot meanwhile; and takes one no sooner than its turn comes when the body is whole."""

import contextlib
import threading
import time

import pytest

import http1
import http2
from gateway import fresh, running
from lab.lab import program

WINDOW = 8
PEOPLE = {"Cookie": "session=1"}
CRAWLERS = {"User-Agent": "GPTBot/1.2"}
LENGTH = 100_000
"""
How long people may wait behind slow bodies: 0.2 s until a body counts as slow, 0.1 s until somebody looks, and as long again for those that came in the place of the
first.  The rest is for a busy machine.  Before, it was as long as the bodies took: minutes.
"""
BOUND = 2 * 0.3 + 2


@pytest.fixture(scope="module", params=("event", "worker", "prefork"))
def wide(parts, request):
    """Eight slots, each MPM.  Below /w/ the backend gets bodies that are whole."""
    more = f"ProxyPass /w/ http://127.0.0.1:{parts.backend.port}/ retry=0\n<Location /w/>\n    QosBody whole\n</Location>\n"
    yield from running(parts, mpm=request.param, window=WINDOW, more=more)


def head_of(target, body):
    length = {"Transfer-Encoding": "chunked"} if body == "chunked" else {"Content-Length": str(LENGTH)}
    expect = {"Expect": "100-continue"} if body == "expected" else {}
    return http1.request_bytes("POST", target, headers={**CRAWLERS, **length, **expect})


class SlowSenders:
    """Clients that post a body of which 60 bytes come each 0.1 s, or nothing.  A context manager."""

    def __init__(self, g, n, target="/b/echo", body="trickled"):
        self.connections, self.body = [g.connect() for _ in range(n)], body
        self.over = threading.Event()
        for c in self.connections:
            c.send(head_of(target, body))
        self.thread = threading.Thread(target=self.trickle, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def trickle(self):
        piece = b"3c\r\n" + b"x" * 60 + b"\r\n" if self.body == "chunked" else b"x" * 60
        while self.body != "silent" and not self.over.wait(0.1):
            for c in self.connections:
                with contextlib.suppress(OSError):
                    c.socket.sendall(piece)

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()
        for c in self.connections:
            c.reset()


def seconds_of_a_visit(g):
    began = time.monotonic()
    assert http1.get(g.port, "/b/size/10", headers=PEOPLE, deadline=40).status == 200
    return time.monotonic() - began


@pytest.mark.parametrize("target", ("/b/echo", "/w/echo", "/cgi/page", "/static/2k.txt"))
@pytest.mark.parametrize("body", ("trickled", "chunked", "silent", "expected"))
def test_slow_bodies_hold_no_slots(wide, body, target):
    """Eight slow POSTs of the lightest class had all slots, and people were answered 503 after QosWait.  The file's handler only wants the body gone."""
    with SlowSenders(wide, WINDOW, target, body):
        wide.until(lambda s: s["outstanding"] + s["parked"] >= WINDOW, "all bodies awaited")
        waits, parked = [seconds_of_a_visit(wide) for _ in range(5)], wide.status()["parked"]
        assert max(waits) < BOUND and parked > 0, waits
        # No byte that trickles in brings a slot back.
        time.sleep(0.3)
        assert wide.status()["parked"] >= parked
    wide.settled()


@pytest.mark.parametrize("body", (None, b"x"))
def test_silent_streams_hold_no_slots(h2_gateway, body):
    """The same by streams of one HTTP/2 connection whose DATA does not come, or stops."""
    with http2.Connection(h2_gateway.port) as c:
        # mod_http2 lets a new connection have six streams at a time.
        for number in [c.send("POST", "/b/echo", body=b"", headers={"user-agent": "GPTBot/1.2"}) for _ in range(6)]:
            if body:
                c.data(number, body)
        with SlowSenders(h2_gateway, 2, body="silent"):
            h2_gateway.until(lambda s: s["outstanding"] + s["parked"] >= WINDOW, "all bodies awaited")
            waits = [seconds_of_a_visit(h2_gateway) for _ in range(5)]
            assert max(waits) < BOUND, waits
    h2_gateway.settled()


@pytest.mark.parametrize("body", ("silent", "chunked"))
def test_bodies_that_are_awaited_are_not_at_the_backend(new_gateway, body):
    """A backend with few workers: it gets no request before the body is whole.  A chunked body is taken in whole only where proxy-sendcl says so."""
    begin = b"x" * (LENGTH // 2)    # more than mod_proxy takes in in any case
    with new_gateway(window=2, more="QosBody whole\nSetEnv proxy-sendcl 1\n") as g:
        seen = g.backend.seen
        with SlowSenders(g, 8, "/b/echo", body) as slow:
            for c in slow.connections:
                c.send(b"%x\r\n%s\r\n" % (len(begin), begin) if body == "chunked" else begin)
            g.until(lambda s: s["parked"] >= 6, "most parked")
            assert seconds_of_a_visit(g) < BOUND
            assert g.backend.seen - seen == 1


def test_a_stream_that_waits_looks_for_slow_bodies(new_gateway):
    """Where all that wait are streams, the dispatcher holds nothing and looks once a second: so long slow bodies kept their slots, and so long a
    dead child's were not looked for."""
    took = []
    with new_gateway(http2=True, children=1, window=2) as g, http2.Connection(g.port) as c:
        for _ in range(8):
            with SlowSenders(g, 2, body="silent"):
                g.until(lambda s: s["outstanding"] == 2, "all slots taken")
                began = time.monotonic()
                assert c.statuses([c.send("GET", "/b/size/10", headers={"cookie": "session=1"})]) == [200]
                took.append(time.monotonic() - began)
            g.settled()
    # 0.2 s until a body counts as slow, 0.1 s until somebody looks; two of eight may have met a busy machine.
    assert sorted(took)[5] < 0.3 + 0.2, took


def send_rest(c):
    c.socket.sendall(b"x" * LENGTH)


@contextlib.contextmanager
def parked_posts(g, target="/w/echo", headers=CRAWLERS):
    """(connections whose POST is parked for its body, of which nothing has come, what took all slots in their place)."""
    posts = [g.connect() for _ in range(WINDOW)]
    for n, c in enumerate(posts, 1):
        c.send(http1.request_bytes("POST", target, headers={**headers, "Content-Length": str(LENGTH)}))
        # One after the other: a slot may stay free for a moment for who had it before, and who waits then takes a place of its class's few.
        g.until(lambda s, n=n: s["outstanding"] + s["parked"] == n, "the body awaited")
    with g.window_taken() as taken:
        g.until(lambda s: s["outstanding"] == s["parked"] == WINDOW, "parked")
        yield posts, taken
    for c in posts:
        c.close()


def test_bodies_that_end_at_one_time_pass_the_window_one_by_one(wide):
    """Eight parked requests whose bodies end together wait for slots like any others; at once they would be 16 for a window of 8."""
    before = wide.settled()
    with parked_posts(wide) as (posts, taken):
        for c in posts:
            send_rest(c)
        wide.until(lambda s: s["queued"] == s["outstanding"] == WINDOW, "all wait once more")
        taken.release()
        for c in posts:
            response = c.receive()
            assert (response.status, response.body) == (200, str(LENGTH).encode())
    after = wide.settled()
    assert after["done"] - before["done"] == WINDOW + taken.count
    # Each was released twice; what was parked ended without an answer of its own.
    assert after["aborted"] - before["aborted"] == WINDOW


def test_body_that_came_at_once_is_scheduled_once(wide):
    before = wide.settled()
    with wide.connect() as c:
        for size in (1, 5000, 1 << 20):
            assert c.ask("POST", "/b/echo", body=b"p" * size).body == str(size).encode()
    wide.assert_each_once(before, 3)


def test_waits_too_long_after_its_body(wide):
    """503 with Retry-After, also when the handler reads the body already."""
    name = fresh("late")
    with parked_posts(wide, f"/w/echo?{name}", {"User-Agent": "hasty"}) as (posts, taken):
        for c in posts:
            send_rest(c)
        for c in posts:
            response = c.receive()
            assert (response.status, response.headers.get("retry-after")) == (503, "7")
        taken.release()
    for line in wide.logged(name, WINDOW):
        assert (line["outcome"], line["reason"]) == ("timeout", "too-long")
    wide.settled()


def test_bodies_that_end_at_one_time_do_not_pass_a_full_queue(wide):
    """Who finds no place when its body is whole is refused like any other.  It took a slot too many: a crowd, once parked, had only to fill its own class's
    queue to be at the server all at once."""
    name = fresh("full")
    with parked_posts(wide, f"/w/echo?{name}", {"User-Agent": "tiny-queue"}) as (posts, taken):
        for c in posts:
            send_rest(c)
        full = wide.until(lambda s: s["queued"] == 2 and s["parked"] == 0, "two wait, and no other is parked")
        assert full["outstanding"] == WINDOW
        taken.release()
        answers = [c.receive() for c in posts]
    assert sorted(a.status for a in answers) == [200] * 2 + [503] * (WINDOW - 2)
    assert all(a.headers.get("retry-after") == "7" for a in answers if a.status == 503)
    assert sum((line["outcome"], line["reason"]) == ("refused", "class-full") for line in wide.logged(name, WINDOW)) == WINDOW - 2
    wide.settled()


def test_leaves_while_it_waits_after_its_body(wide):
    before = wide.settled()
    with parked_posts(wide) as (posts, taken):
        for c in posts:
            send_rest(c)
        wide.until_queued(WINDOW)
        for c in posts:
            c.reset()
        wide.until_queued(0)
        taken.release()
    after = wide.settled()
    assert after["gone"] - before["gone"] == WINDOW


def test_body_that_ends_when_the_answer_has_begun(new_gateway):
    """A handler that leaves the body alone has answered before that is whole: nothing waits for a slot then, and no 503 comes behind the answer."""
    g = new_gateway(window=1, more="<Location /page>\n    SetHandler lab-page\n</Location>\n")
    g.load["lab_pages"] = program("tests/lab/.libs/mod_pages.so")
    with g, g.connect() as c:
        c.send(http1.request_bytes("GET", "/page?blocks=20&piece=3000", headers={"User-Agent": "hasty", "Content-Length": "10"}))
        g.until(lambda s: s["parked"] == 1, "its body awaited")
        with g.window_taken() as taken:
            c.send(b"x" * 10)
            response = c.receive()
            assert response.status == 200 and b"Service Unavailable" not in response.body
            time.sleep(1.5)     # longer than one of this class may wait
            taken.release()
        # The connection is as good as before.
        response = c.ask("GET", "/static/2k.txt")
        assert (response.status, response.body) == (200, b"t" * 2048)
        assert g.settled()["timed_out"] == 0


def test_a_slow_upload_counts_against_its_class_s_slots(new_gateway):
    """Slow uploads of crawlers occupied a backend's worker each, however few `slots=` lets them have: while they were awaited nothing counted them."""
    classes = "QosClass people weight=6 default\nQosClass crawlers weight=1 slots=2\nQosRule crawlers user_agent GPTBot\n"
    with new_gateway(window=4, classes=classes) as g:
        with SlowSenders(g, 6, body="silent") as slow:
            begin = b"x" * (LENGTH // 2)    # more than mod_proxy takes in before it asks the backend
            seen = g.backend.seen
            for c in slow.connections:
                c.send(begin)
            g.until(lambda s: s["parked"] == 2 and s["queued"] == 4, "two parked, the others wait")
            assert max(seconds_of_a_visit(g) for _ in range(5)) < BOUND
            s = g.status()
            assert (s["parked"], s["queued"]) == (2, 4)
            assert g.backend.seen - seen == 2 + 5
            for c in slow.connections:
                c.send(b"x" * (LENGTH - len(begin)))
            assert [c.receive().status for c in slow.connections] == [200] * 6
        g.settled()
