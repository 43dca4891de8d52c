# SPDX-License-Identifier: BSD-2-Clause
"""Uploads through mod_proxy_http: the backend and the client see what they see with stock httpd, whether QosEngine observes, exempts or schedules the request."""

import contextlib
import os
import time

import pytest

import http1
from background import GatedServer
from gateway import Gateway, fresh
from lab.by_request import RequestByRequest
from lab.httpd import Httpd

MODES = ("observe", "exempt", "on")
MEGABYTE = 1 << 20
FILE_LIMIT = 8 * MEGABYTE       # of every file that httpd writes: a TMPDIR that is full
PEOPLE = {"Cookie": "session=1"}


class Uploads(RequestByRequest):
    """/refuse/NAME: 401 when the headers are there, the body unread.  /early/NAME: 200 then, and the body is read afterwards.  /keep/NAME: 200 with the number of
    bytes, when all are there.  server.kept counts the bytes of each NAME as they come."""

    def one(self):
        line = self.rfile.readline().decode().split()
        fields = {}
        while text := self.rfile.readline().decode().strip():
            name, _, value = text.partition(":")
            fields[name.lower()] = value.strip()
        _, kind, name = line[1].split("/")
        with self.server.lock:
            self.server.kept.setdefault(name, 0)
        length = int(fields.get("content-length", 0))
        if kind == "refuse":
            self.wfile.write(b"HTTP/1.1 401 Unauthorized\r\nContent-Length: 6\r\nConnection: close\r\n\r\nsorry\n")
            return False
        if kind == "early":
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\ntaken")
        elif "expect" in fields:
            self.wfile.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        while length and (piece := self.rfile.read1(min(length, 65536))):
            length -= len(piece)
            with self.server.lock:
                self.server.kept[name] += len(piece)
        if length or kind == "early":
            return False
        text = str(self.server.kept[name]).encode()
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(text), text))
        return True


class Limited:
    """Mixed into a server: no file that it writes may be larger."""

    def argv(self):
        return ["prlimit", f"--fsize={FILE_LIMIT}:{FILE_LIMIT}", *super().argv()]


class LimitedHttpd(Limited, Httpd):
    pass


class LimitedGateway(Limited, Gateway):
    pass


@pytest.fixture(scope="module")
def uploads():
    with GatedServer(("127.0.0.1", 0), Uploads) as server:
        server.kept = {}
        yield server


def site(uploads):
    return f"ProxyPass /u/ http://127.0.0.1:{uploads.port}/ retry=0\n"


@pytest.fixture(scope="module")
def stock(parts, uploads):
    """httpd without the module."""
    with LimitedHttpd(parts.lab, "stock-uploads", mpm="event", children=2, config=site(uploads)) as server:
        yield server


@pytest.fixture(scope="module", params=MODES)
def front(parts, uploads, request):
    """httpd with the module."""
    more = site(uploads) + ("QosExempt path /u/\n" if request.param == "exempt" else "")
    with LimitedGateway(parts, engine="observe" if request.param == "observe" else "On", window=4, more=more) as g:
        g.mode = request.param
        yield g
    g.assert_no_crash()


def head_of(target, length, **headers):
    return http1.request_bytes("PUT", target, headers={**PEOPLE, "Content-Length": str(length), **headers})


def early_refusal(server, uploads, name):
    """The client sends no body before it is told to: (interim statuses, status)."""
    del uploads
    with http1.Connection(server.port, deadline=5) as c:
        c.send(head_of(f"/u/refuse/{name}", 50 * MEGABYTE, Expect="100-continue"))
        response = c.receive()
        return response.interim, response.status


def cut_upload(server, uploads, name):
    """The client sends a tenth of the body and hangs up: how much the backend has kept."""
    with http1.Connection(server.port) as c:
        c.send(head_of(f"/u/keep/{name}", 10 * MEGABYTE))
        c.send(b"x" * MEGABYTE)
        with contextlib.suppress(AssertionError):
            http1.until(lambda: uploads.kept.get(name, 0) >= MEGABYTE // 2, 5)
        c.reset()
    return uploads.kept.get(name, 0) >= MEGABYTE // 2


def large_upload(server, uploads, name):
    """The body is larger than any file may be: (status, body)."""
    del uploads
    with http1.Connection(server.port) as c:
        c.send(head_of(f"/u/keep/{name}", 20 * MEGABYTE))
        with contextlib.suppress(OSError):
            c.send(b"x" * 20 * MEGABYTE)
        response = c.receive()
        return response.status, response.body


def early_answer(server, uploads, name):
    """The backend answers before it reads the body, which comes a little later: (status, body, whether the backend had the body)."""
    with http1.Connection(server.port) as c:
        c.send(head_of(f"/u/early/{name}", MEGABYTE))
        c.send(b"x" * 65536)
        http1.until(lambda: name in uploads.kept, 5, "the backend has the headers")
        c.send(b"x" * (MEGABYTE - 65536))
        response = c.receive()
    http1.until(lambda: uploads.kept[name] == MEGABYTE, 5, "the backend has the body")
    return response.status, response.body


def slow_upload(server, uploads, name):
    """A piece each tenth of a second: the status, and whether the backend had most of the first half when that was sent."""
    with http1.Connection(server.port) as c:
        c.send(head_of(f"/u/keep/{name}", MEGABYTE))
        for n in range(8):
            c.send(b"x" * (MEGABYTE // 8))
            time.sleep(0.1)
            if n == 3:
                with contextlib.suppress(AssertionError):
                    http1.until(lambda: uploads.kept.get(name, 0) > MEGABYTE // 4, 2)
                seen = uploads.kept.get(name, 0) > MEGABYTE // 4
        return c.receive().status, seen


@pytest.mark.parametrize("case, expected", [
    (early_refusal, ([], 401)), (cut_upload, True), (large_upload, (200, b"%d" % (20 * MEGABYTE))), (early_answer, (200, b"taken")), (slow_upload, (200, True)),
])
def test_an_upload_with_a_length_is_the_same_as_with_stock_httpd(front, stock, uploads, case, expected):
    """mod_proxy_http stored every body with a Content-Length, in a file in TMPDIR, before the backend saw the request: also where QosEngine observes, and where
    QosExempt exempts."""
    assert case(stock, uploads, fresh("stock")) == expected
    assert case(front, uploads, fresh("front")) == expected
    front.settled()
