# SPDX-License-Identifier: BSD-2-Clause
"""Parameters that are files of the web: from hosts that are named, and nowhere else, whatever a URL or its server says."""
import collections
import concurrent.futures
import contextlib
import http.client
import http.server
import json
import os
import threading
import time
import urllib.parse

import pytest

from lab import lab
from lab import ndn_wire as wire
from lab.ccn import site
from lab.lab import wait_for
from lab.ndn_face import Face
from test_services import WORK, call

COUNT = "#!/bin/sh\necho Content-Type: text/plain\necho\nwc -c\n"


class Origin(http.server.BaseHTTPRequestHandler):
    """What a server somewhere gives; counts who asks for what."""
    asked = collections.Counter()

    def do_GET(self):       # pylint: disable=invalid-name
        path = self.path.split("?")[0]
        self.asked[path] += 1
        if path == "/silent":
            self.server.awake.wait(20)
        if path == "/mute":
            self.server.unmuted.wait(20)
        if path == "/part":
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"x" * 600_000)
            self.server.parts.wait(25)
            return
        where = {"/to-file": "file:///etc/passwd", "/to-link-local": "http://169.254.169.254/", "/to-loopback": f"http://127.0.0.1:{self.server.secret}/secret",
                 "/to-loop": "/to-loop", "/to-plain": "/plain"}.get(path)
        self.send_response(302 if where else 404 if path == "/none" else 200)
        if where:
            self.send_header("Location", where)
        self.send_header("Content-Type", "text/html")
        if path == "/kept":
            self.send_header("Cache-Control", "max-age=600")
        body = b"x" * 3_000_000 if path == "/large" else b"a page"
        if path != "/large":
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        try:
            self.wfile.write(body)
        except OSError:
            pass

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def origin():
    """A server that is allowed, and one of the same machine that is not."""
    servers = [http.server.ThreadingHTTPServer(("127.0.0.1", 0), Origin) for _ in range(2)]
    servers[0].secret = servers[1].server_port
    for s in servers:
        s.awake, s.unmuted, s.parts = (threading.Event() for _ in range(3))
    for s in servers:
        threading.Thread(target=s.serve_forever, daemon=True).start()
    Origin.wake, Origin.unmute, Origin.parts = servers[0].awake.set, servers[0].unmuted.set, servers[0].parts.set
    yield servers[0].server_port, servers[1].server_port
    for s in servers:
        s.awake.set()
        s.unmuted.set()
        s.parts.set()
        s.shutdown()
        s.server_close()


@pytest.fixture(scope="module")
def served(request, origin):
    with lab.kept_lab("fetch", lambda: request.session.testsfailed > 0) as made_lab:
        settings = f"""CcnServices /ccn
CcnResults {os.path.join(made_lab.dir, "results")}
CcnFetch 127.0.0.1:{origin[0]} localhost:{origin[0]}
CcnFetchPrivate 127.0.0.1:{origin[0]}
CcnService /f/file what=content(1M) => /work.cgi
"""
        with site(made_lab, files={"work.cgi": WORK.encode()}, settings=settings, log_level="info") as s:
            os.chmod(os.path.join(s.htdocs, "work.cgi"), 0o755)
            os.makedirs(os.path.join(s.htdocs, "runs"))
            os.chmod(os.path.join(s.htdocs, "runs"), 0o777)
            yield s


def within(answer):
    status, content, _ = answer
    assert status == 424, content
    said = json.loads(content)
    assert said["parameter"] == "what"
    return said["within"]["type"].rsplit(":", 1)[1]


def test_a_file(served, origin):
    for path in ("/plain", "/to-plain"):
        status, content, _ = call(served, "/f/file", {"what": f"http://127.0.0.1:{origin[0]}{path}"})
        assert (status, content) == (200, b"POST  text/html 127.0.0.1\na page")


def test_what_may_be_kept_is_fetched_once(served, origin):
    for _ in range(3):
        call(served, "/f/file", {"what": f"http://127.0.0.1:{origin[0]}/kept"})
        call(served, "/f/file", {"what": f"http://127.0.0.1:{origin[0]}/plain?not-kept"})
    assert Origin.asked["/kept"] == 1
    assert Origin.asked["/plain"] >= 3


@pytest.mark.parametrize("path,kind", (("/none", "not-there"), ("/large", "too-much"), ("/to-file", "not-allowed"), ("/to-link-local", "not-allowed"),
                                       ("/to-loopback", "not-allowed"), ("/to-loop", "not-there")))
def test_what_a_server_may_not_do(served, origin, path, kind):
    assert within(call(served, "/f/file", {"what": f"http://127.0.0.1:{origin[0]}{path}"})) == kind
    assert not Origin.asked["/secret"]


@pytest.mark.parametrize("uri", (
    "http://169.254.169.254/", "http://[::ffff:169.254.169.254]/", "http://2852039166/", "http://127.0.0.1:{other}/secret", "http://localhost:{other}/secret", "http://0x7f.1:{other}/secret",
    "http://[::1]:{other}/secret", "http://user:secret@127.0.0.1:{allowed}/secret", "http://127.0.0.1:{allowed}@example.org/secret", "http://example.org/secret",
    "https://127.0.0.1:{other}/secret", "ftp://127.0.0.1/secret", "http:///secret", "http://"))
def test_where_nothing_is_fetched_from(served, origin, uri):
    """An answer says as much of each: nobody learns what is there."""
    answer = call(served, "/f/file", {"what": uri.format(allowed=origin[0], other=origin[1])})
    assert within(answer) in ("not-allowed", "not-there")
    assert str(origin[1]).encode() not in answer[1].replace(uri.format(allowed=origin[0], other=origin[1]).encode(), b"")
    assert not Origin.asked["/secret"]


def test_a_callers_silent_servers_leave_room_for_others(served, origin):
    """Dozens of calls of one address for what does not come: another one's file is there at once."""
    def from_another(n):
        c = http.client.HTTPConnection("127.0.0.1", served.port, timeout=40, source_address=("127.0.0.2", 0))
        c.request("POST", "/ccn/f/file", json.dumps({"what": f"http://127.0.0.1:{origin[0]}/silent?{n}"}), {"Content-Type": "application/json"})
        answer = c.getresponse()
        content = answer.read()
        c.close()
        return answer.status, content
    with concurrent.futures.ThreadPoolExecutor(100) as pool:
        waiting = [pool.submit(from_another, n) for n in range(100)]
        wait_for(lambda: sum(f.done() and b":busy" in f.result()[1] for f in waiting) > 20, 15, "those that are too many")
        began = time.monotonic()
        assert call(served, "/f/file", {"what": f"http://127.0.0.1:{origin[0]}/plain"})[0] == 200
        assert time.monotonic() - began < 3
        Origin.wake()
        assert {f.result()[0] for f in waiting} <= {200, 202, 424, 503}


def test_an_address_with_many_connections_leaves_places_for_fetches_to_others(request, origin):
    """Five connections, by name, with more silent servers than a process can ask at one time: another address's file is there at once."""
    def name(n):
        return "/f/file/" + urllib.parse.quote("!" + json.dumps({"what": f"http://127.0.0.1:{origin[0]}/mute?{n}"}, separators=(",", ":")), safe="")
    settings = f"CcnServices /ccn\nCcnFetch 127.0.0.1:{origin[0]}\nCcnFetchPrivate 127.0.0.1:{origin[0]}\nCcnService /f/file what=content(1M) => /work.cgi\n"
    with lab.kept_lab("fetch", lambda: request.session.testsfailed > 0) as made_lab, \
            site(made_lab, children=1, files={"work.cgi": WORK.encode()}, settings=f"CcnResults {made_lab.dir}/results\n{settings}") as s, contextlib.ExitStack() as opened:
        os.chmod(os.path.join(s.htdocs, "work.cgi"), 0o755)
        faces, answered = [opened.enter_context(Face.tcp("127.0.0.1", s.ndn_port)) for _ in range(5)], []
        for k, face in enumerate(faces):
            face.send(*(wire.interest(name(100 * k + n), prefix=True, fresh=True, lifetime=60000) for n in range(16)))

        def settled():
            answered.extend(packet for face in faces if (packet := face.receive(0.01)) is not None)
            return Origin.asked["/mute"] == 64 or Origin.asked["/mute"] + len(answered) == 80
        wait_for(settled, 15, "each to be fetched or refused")
        c = http.client.HTTPConnection("127.0.0.1", s.port, timeout=40, source_address=("127.0.0.2", 0))
        began = time.monotonic()
        c.request("POST", "/ccn/f/file", json.dumps({"what": f"http://127.0.0.1:{origin[0]}/plain"}), {"Content-Type": "application/json"})
        assert c.getresponse().status == 200 and time.monotonic() - began < 5
        c.close()
        assert Origin.asked["/mute"] == 16
        Origin.unmute()


def test_parts_of_files_that_are_being_fetched_count_against_the_bound_of_memory(request, origin):
    """Eight files of which 600 KB have come, and CcnPages of two megabytes: callers of those beyond are told at once."""
    settings = f"CcnServices /ccn\nCcnPages 2M\nCcnFetch 127.0.0.1:{origin[0]}\nCcnFetchPrivate 127.0.0.1:{origin[0]}\nCcnService /f/file what=content(1M) => /count.cgi\n"
    with lab.kept_lab("fetch", lambda: request.session.testsfailed > 0) as made_lab, concurrent.futures.ThreadPoolExecutor(8) as pool, \
            site(made_lab, children=1, files={"count.cgi": COUNT.encode()}, settings=f"CcnResults {made_lab.dir}/results\n{settings}") as s:
        os.chmod(os.path.join(s.htdocs, "count.cgi"), 0o755)
        parts = [pool.submit(call, s, "/f/file", {"what": f"http://127.0.0.1:{origin[0]}/part?{n}"}) for n in range(8)]
        wait_for(lambda: sum(f.done() for f in parts) >= 5, 15, "those beyond the bound to be refused")
        assert {within(f.result()) for f in parts if f.done()} == {"busy"}
        assert sum(not f.done() for f in parts) >= 1
        Origin.parts()
        whole = [f.result() for f in parts]
        assert (200, b"600000\n") in [answer[:2] for answer in whole]
        # All of it was given back.
        for n in range(4):
            assert call(s, "/f/file", {"what": f"http://127.0.0.1:{origin[0]}/part?again={n}"})[:2] == (200, b"600000\n")


def test_nothing_is_fetched_where_nothing_is_named(request):
    with lab.kept_lab("fetch", lambda: request.session.testsfailed > 0) as made_lab:
        settings = f"CcnServices /ccn\nCcnResults {os.path.join(made_lab.dir, 'results')}\nCcnService /f/file what=content => /work.cgi\n"
        with site(made_lab, files={"work.cgi": WORK.encode()}, settings=settings) as s:
            assert within(call(s, "/f/file", {"what": f"http://127.0.0.1:{s.port}/index.html"})) == "not-allowed"
            assert urllib.parse.urlsplit(s.url).port == s.port
