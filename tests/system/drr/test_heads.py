# SPDX-License-Identifier: BSD-2-Clause
"""Heads of requests that come slowly (event MPM): they hold no thread, end in time, and are the same requests as if they had come at once."""

import contextlib
import re
import socket
import ssl
import struct
import time

import pytest

import http1
from gateway import running

THREADS = 3     # so few that each head is looked at
CROWD = 200
PERSON = {"Cookie": "session=1"}
GET = b"GET /static/2k.txt HTTP/1.1\r\nHost: localhost\r\n"
LARGE = b"".join(b"X-%d: %s\r\n" % (n, b"v" * 8000) for n in range(3))
# What each of a crowd sends before it falls silent.  An answer to the first of two is waited for.
BEGUN = {
    "nothing": b"",
    "a line": b"GET /static/2k.txt HT",
    "fields": GET + b"X-",
    "after another": (GET + b"\r\n", GET + b"X-"),
    "behind another": (GET + b"\r\n" + GET + b"X-",),
    "more than is looked at": GET + LARGE + b"X-",
}
"""Until a person is answered while the crowd is there: without the module as long as the crowd stays, 20 s and more.  What is read as ever may have a quarter of the threads."""
BOUND = 5


def few_threads(new_gateway, more="", threads=THREADS, **words):
    """One child.  Whoever connects is accepted, though he sends nothing."""
    words = {"modules": ("reqtimeout",), "children": 1, "threads": threads, **words}
    return new_gateway(more="AcceptFilter http none\n" + more, **words)


@pytest.fixture(scope="module")
def plain(parts):
    yield from running(parts, window=8, modules=("reqtimeout",), children=1, threads=THREADS)


def begin(stack, g, what):
    c = stack.enter_context(g.connect())
    parts = what if isinstance(what, tuple) else (what,)
    for part in parts:
        c.send(part)
        if isinstance(what, tuple) and part is parts[0]:
            assert c.receive().status == 200
    return c


def seconds_of_a_visit(g):
    began = time.monotonic()
    assert http1.get(g.port, "/b/size/10", headers=PERSON).status == 200
    return time.monotonic() - began


@pytest.mark.parametrize("what", BEGUN)
def test_slow_heads_hold_no_thread(new_gateway, what):
    """200 of them before three threads: people are answered, whatever they have sent and whether or not something was answered before."""
    with few_threads(new_gateway) as g, contextlib.ExitStack() as stack:
        for _ in range(CROWD):
            begin(stack, g, BEGUN[what])
        waits = [seconds_of_a_visit(g) for _ in range(10)]
        assert max(waits) < BOUND, waits
        g.settled()


def test_who_has_threads_to_spare_keeps_some(new_gateway):
    """Two of eight are with slow heads before anybody looks; two may read what is large."""
    with few_threads(new_gateway, threads=8) as g, contextlib.ExitStack() as stack:
        for _ in range(CROWD // 2):
            begin(stack, g, BEGUN["fields"])
            begin(stack, g, BEGUN["more than is looked at"])
        waits = [seconds_of_a_visit(g) for _ in range(10)]
        assert max(waits) < BOUND, waits
        g.settled()


def test_there_may_be_fewer_than_come(new_gateway):
    """The MPM lets 9 connections in: those that are silent for longest make room, and people get in."""
    with few_threads(new_gateway, async_factor=2) as g, contextlib.ExitStack() as stack:
        first = begin(stack, g, BEGUN["fields"])
        for _ in range(50):
            begin(stack, g, BEGUN["fields"])
        assert first.receive().status == 408
        waits = [seconds_of_a_visit(g) for _ in range(10)]
        assert max(waits) < BOUND, waits


def everything(c):
    """All that comes until the server closes; the date is nobody's."""
    with contextlib.suppress(ConnectionResetError):
        while c.more():
            pass
    return re.sub(rb"\r\nDate: [^\r]*", b"", bytes(c.buffer))


def in_pieces(g, data, size=1, half=False):
    with g.connect() as c:
        c.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):    # it has been refused already
            for at in range(0, len(data), size):
                c.send(data[at:at + size])
        if half:
            c.socket.shutdown(socket.SHUT_WR)
        return everything(c)


CLOSE = b"Connection: close\r\n"
SAME = {
    "a page": GET + CLOSE + b"\r\n",
    "blank lines before": b"\r\n\r\n" + GET + CLOSE + b"\r\n",
    "a head": b"HEAD /b/size/100 HTTP/1.1\r\nHost: localhost\r\n" + CLOSE + b"\r\n",
    "a body": b"POST /b/echo HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n" + CLOSE + b"\r\nhello",
    "chunks": b"POST /b/echo HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n" + CLOSE + b"\r\n5\r\nhello\r\n0\r\n\r\n",
    "three": GET + b"\r\n" + GET + b"\r\n" + GET + CLOSE + b"\r\n",
    "HTTP/1.0": b"GET /static/2k.txt HTTP/1.0\r\n\r\n",
    "folded": GET + b"X-A: b\r\n c\r\n" + CLOSE + b"\r\n",
    "large": GET + b"X-A: %s\r\n" % (b"v" * 8000) + CLOSE + b"\r\n",
    "no host": b"GET / HTTP/1.1\r\n" + CLOSE + b"\r\n",
    # These are answered before they are whole.
    "no protocol": b"hello there\r\n",
    "no field": GET + b"none\r\n" + CLOSE,
    "a control": GET + b"X: \x01\r\n" + CLOSE,
    "a bare end": GET + b"X: y\n" + CLOSE,
    "a long line": b"GET /" + b"x" * 9000 + b"\r\n",
    "a long field": GET + b"X: " + b"x" * 9000 + b"\r\n",
    "many fields": GET + b"X: y\r\n" * 102,
}


@pytest.mark.parametrize("what", SAME)
def test_a_head_in_pieces_is_the_same_request(plain, what):
    """Byte by byte, in large pieces, at once: one answer, to the last byte."""
    data = SAME[what]
    answers = {in_pieces(plain, data, size) for size in ((1, 7) if len(data) < 1000 else (997,)) + (len(data),)}
    assert len(answers) == 1 and answers.pop().startswith(b"HTTP/1."), answers
    plain.settled()


def test_more_than_is_looked_at_is_served(plain):
    assert in_pieces(plain, GET + LARGE + CLOSE + b"\r\n", 3000).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize("cut", (0, 10, len(GET), len(GET) + 3))
def test_who_closes_his_end_is_not_waited_for(plain, cut):
    """Long before its time, which is 20 s."""
    began = time.monotonic()
    answer = in_pieces(plain, (GET + b"X-: y")[:cut], 5, half=True)
    assert time.monotonic() - began < 15
    assert answer.startswith(b"HTTP/1.1 400") if cut >= len(GET) else answer == b""


def test_who_hangs_up_is_forgotten(plain):
    for _ in range(50):
        c = plain.connect()
        c.send(GET)
        c.reset()
    http1.until(lambda: plain.open_connections() == 0, what="all closed")
    assert http1.get(plain.port, "/static/2k.txt").status == 200


@pytest.mark.parametrize("before", (False, True), ids=("first", "behind another"))
def test_a_head_has_its_time_and_no_more(new_gateway, before):
    """That of mod_reqtimeout, and its answer, whether the line is there or not."""
    with few_threads(new_gateway, more="RequestReadTimeout header=2\n") as g, contextlib.ExitStack() as stack:
        def begun(rest):
            return begin(stack, g, (GET + b"\r\n" + rest,) if before else rest), time.monotonic()
        (fields, at), (cut, _) = begun(GET + b"X-"), begun(b"GET /sta")
        answer = everything(fields)
        assert answer.startswith(b"HTTP/1.1 408"), answer
        assert time.monotonic() - at > 1.5
        assert everything(cut) == b""
        http1.until(lambda: any("status=408" in line for line in g.access_log()), what="408 in the log")
        assert g.alive() and http1.get(g.port, "/static/2k.txt").status == 200


def test_all_of_a_crowd_end(new_gateway):
    """Some at a time, and people are answered meanwhile."""
    with few_threads(new_gateway, more="RequestReadTimeout header=2\n") as g, contextlib.ExitStack() as stack:
        crowd = [begin(stack, g, BEGUN["fields"]) for _ in range(CROWD)]
        waits = [seconds_of_a_visit(g) for _ in range(10)]
        assert all(everything(c).startswith(b"HTTP/1.1 408") for c in crowd)
        waits += [seconds_of_a_visit(g) for _ in range(10)]
        assert max(waits) < BOUND, waits


def test_who_sends_on_has_more_time(new_gateway):
    """A second for each byte, up to five of them in all."""
    with few_threads(new_gateway, more="RequestReadTimeout header=1-5,MinRate=1\n") as g, g.connect() as c:
        began = time.monotonic()
        c.send(GET)
        assert everything(c).startswith(b"HTTP/1.1 408")
        assert time.monotonic() - began > 4.5


def test_the_longest_time_of_several_counts(new_gateway):
    more = "RequestReadTimeout header=1 body=3\n<VirtualHost *:*>\nRequestReadTimeout header=5\n</VirtualHost>\n"
    with few_threads(new_gateway, more=more) as g, g.connect() as c:
        began = time.monotonic()
        c.send(GET)
        assert everything(c).startswith(b"HTTP/1.1 408")
        assert time.monotonic() - began > 4.5


def test_a_graceful_restart_waits_for_it(plain):
    """Its child has been replaced by then."""
    with plain.connect() as c:
        c.send(GET)
        assert http1.get(plain.port, "/static/2k.txt").status == 200
        plain.graceful()
        c.send(CLOSE + b"\r\n")
        assert c.receive().status == 200


PROXY = {
    "v1": b"PROXY TCP4 192.0.2.7 127.0.0.1 1000 80\r\n",
    "v2": b"\r\n\r\n\0\r\nQUIT\n\x21\x11" + struct.pack(">H4B4BHH", 12, 192, 0, 2, 7, 127, 0, 0, 1, 1000, 80),
}


@pytest.fixture(scope="module")
def proxied(parts):
    """Behind a balancer that says who its clients are."""
    said = 'RemoteIPProxyProtocol On\nHeader set X-Client "expr=%{REMOTE_ADDR}"\n'
    yield from running(parts, window=8, modules=("reqtimeout", "remoteip"), children=1, threads=THREADS, more=said)


@pytest.mark.parametrize("version", PROXY)
def test_behind_the_proxy_protocol(proxied, version):
    """In pieces and at once, also the second request of a connection, which has no such header."""
    for size in (1, 1000):
        answer = in_pieces(proxied, PROXY[version] + GET + b"\r\n" + GET + CLOSE + b"\r\n", size)
        assert answer.count(b"HTTP/1.1 200 OK\r\n") == 2 and answer.count(b"X-Client: 192.0.2.7\r\n") == 2, answer
    with contextlib.ExitStack() as stack:
        for n in range(CROWD):
            begin(stack, proxied, (PROXY[version] + GET)[:5 + n % 70])
        began = time.monotonic()
        for _ in range(5):
            assert b"HTTP/1.1 200" in in_pieces(proxied, PROXY[version] + GET + CLOSE + b"\r\n", 1000)
        assert time.monotonic() - began < 5 * BOUND


def test_with_tls_all_is_as_ever(new_gateway):
    """A head in pieces is read; in the same server without TLS, too."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with new_gateway(tls=True, modules=("reqtimeout",), children=1, threads=THREADS) as g:
        with socket.create_connection(("127.0.0.1", g.tls_port), 20) as s, context.wrap_socket(s) as c:
            for byte in GET + CLOSE + b"\r\n":
                c.send(bytes((byte,)))
            answer = b""
            while data := c.recv(65536):
                answer += data
            assert answer.startswith(b"HTTP/1.1 200 OK\r\n") and answer.endswith(b"t" * 2048)
        assert in_pieces(g, GET + CLOSE + b"\r\n").startswith(b"HTTP/1.1 200")
