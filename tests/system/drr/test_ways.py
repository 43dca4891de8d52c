# SPDX-License-Identifier: BSD-2-Clause
"""Ways through httpd that are not a plain request and its answer: tunnels, interim answers, redirects inside the server into a part that is scheduled."""

import pytest

import http1
import http2
from backend import Backend, Handler
from gateway import Gateway, fresh

PEOPLE = {"Cookie": "session=1"}
UPGRADE = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Key": "x" * 22 + "==", "Sec-WebSocket-Version": "13"}


class Talker(Handler):
    """More of a backend:

    /tunnel          101, then whatever comes is sent back
    /hinted/N        103 with a Content-Length of its own and a long Link, then a page of N bytes
    /quoted/NAME     a page that begins like the head of an answer that is none; 300,000 bytes after open(NAME)
    """

    def answer(self, method, url, fields):
        kind, _, rest = url.path.lstrip("/").partition("/")
        if kind == "tunnel":
            self.wfile.write(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n")
            while data := self.connection.recv(4096):
                self.connection.sendall(data)
            return False
        if kind == "hinted":
            self.head("103 Early Hints", Link="</" + "s" * 4000 + ">; rel=preload", Content_Length=1 << 30)
            return self.whole(method, b"h" * int(rest))
        if kind == "quoted":
            page = b"HTTP/1.1 101 and more than that stood in the log\n"
            self.head("200 OK", Content_Length=len(page) + 300000)
            self.wfile.write(page)
            self.wfile.flush()
            if not self.server.gate(rest):
                return False
            self.leave()
            self.wfile.write(b"q" * 300000)
            return True
        return super().answer(method, url, fields)


@pytest.fixture(scope="module")
def talker():
    with Backend(handler=Talker) as b:
        yield b


@pytest.fixture(scope="module", params=("event", "worker", "prefork"))
def ways(parts, talker, request):
    """One slot.  /ws/ is a tunnel by mod_proxy_wstunnel, /up/ one by mod_proxy_http, /t/ the backend without."""
    more = (f"ProxyPass /ws/ ws://127.0.0.1:{talker.port}/\nProxyPass /up/ http://127.0.0.1:{talker.port}/ upgrade=websocket\n"
            f"ProxyPass /t/ http://127.0.0.1:{talker.port}/\n<Location /ws/>\nProxyWebsocketFallbackToProxyHttp Off\n</Location>\n")
    with Gateway(parts, mpm=request.param, more=more, modules=("proxy_wstunnel",)) as g:
        yield g
    g.assert_no_crash()


@pytest.mark.parametrize("by", ("ws", "up"))
def test_tunnel_gives_its_slot_back(ways, by):
    """mod_proxy_wstunnel writes the other side's 101 straight to the connection: the request's status stayed 200, and the only slot was its for life."""
    before = ways.settled()
    with ways.connect() as c:
        c.send(http1.request_bytes("GET", f"/{by}/tunnel", headers=UPGRADE))
        assert c.until(b"\r\n\r\n").startswith(b"HTTP/1.1 101")
        ways.until_outstanding(0)
        for word in (b"one", b"another"):
            c.send(word)
            assert c.exactly(len(word)) == word
        assert http1.get(ways.port, "/b/size/10").status == 200
    ways.assert_each_once(before, 2)


def test_early_hints_are_not_the_answer(ways):
    """Neither the length that is told, nor what is counted, nor what is taught, is the interim answer's."""
    name = fresh("hints")
    before = ways.settled()
    with ways.connect() as c:
        # By one connection: an answer teaches when it is gone, and only then is the next request looked at.
        for _ in range(2):
            response = c.ask("GET", f"/t/hinted/70000?{name}", headers=PEOPLE)
            assert (response.status, len(response.body), response.interim) == (200, 70000, [103])
    after = ways.assert_each_once(before, 2)
    # Of the second: the page and its header, without the 4,000 bytes before it.
    estimate = int(ways.logged(name, 2)[1]["estimate"])
    assert 70000 < estimate < 71000, estimate
    assert after["bytes"] - before["bytes"] < 2 * 71000


def test_continue_is_not_the_answer(ways):
    """100 Continue goes out before there is an answer: a length told then was that of nothing."""
    before = ways.settled()
    with ways.connect() as c:
        c.send(http1.request_bytes("POST", "/b/echo", headers={**PEOPLE, "Expect": "100-continue", "Content-Length": "5"}))
        assert c.until(b"\r\n\r\n").startswith(b"HTTP/1.1 100")
        c.send(b"12345")
        response = c.receive()
        assert response.body == b"5"
    after = ways.assert_each_once(before, 1)
    size = len("HTTP/1.1 200 OK\r\n") + sum(len(f"{k}: {v}\r\n") for k, v in response.headers.items()) + 2 + 1
    # Of its class alone: a tunnel of crawlers that gave its slot back is counted when it ends, and that may be now.
    assert after["by_class"]["people"]["bytes"] - before["by_class"]["people"]["bytes"] == size


@pytest.fixture
def streams(parts, talker):
    """The same by HTTP/2."""
    with Gateway(parts, mpm="event", http2=True, more=f"H2EarlyHints On\nProxyPass /t/ http://127.0.0.1:{talker.port}/\n") as g:
        yield g
    g.assert_no_crash()


@pytest.mark.parametrize("version", ("0.9", "1.1", "2"))
def test_a_page_that_reads_like_a_tunnel_is_a_page(streams, talker, version):
    """By HTTP/2 and 0.9 no head comes before it.  Its bytes were nobody's and its slot was free, for whoever can put a text on the site."""
    g, name = streams, fresh("quoted")
    before = g.settled()
    if version == "2":
        c = http2.Connection(g.port)
        number = c.send("GET", f"/t/quoted/{name}", headers={"cookie": "session=1"})
        c.until(lambda: c.streams[number].size > 0)
    else:
        c = g.connect()
        c.send(http1.request_bytes("GET", f"/t/quoted/{name}", headers=PEOPLE) if version == "1.1" else f"GET /t/quoted/{name}\r\n".encode())
        http1.until(lambda: talker.count(name) == 1, what="it is made")
    with c:
        assert g.status()["outstanding"] == 1
        talker.open(name)
        if version == "2":
            assert c.statuses() == [200] and c.streams[number].size > 300000
        elif version == "1.1":
            assert c.receive().status == 200
        else:
            while c.more():
                pass
        # One that closes at its last byte may be seen before the request's own end is, and is an abort then.
        assert g.assert_each_once(before, 1)["done"] - before["done"] == 1
    g.until(lambda s: s["bytes"] - before["bytes"] > 300000, "all of it charged")


def test_early_hints_of_a_stream_are_not_the_answer(streams):
    before = streams.settled()
    with http2.Connection(streams.port) as c:
        number = c.send("GET", "/t/hinted/70000", headers={"cookie": "session=1"})
        assert c.statuses() == [200]
        assert (c.streams[number].size, c.streams[number].interim) == (70000, [103])
    streams.assert_each_once(before, 1)
    after = streams.until(lambda s: s["bytes"] - before["bytes"] >= 70000, "all of it charged")
    assert after["bytes"] - before["bytes"] < 71000


@pytest.fixture(scope="module", params=("event", "worker", "prefork"))
def partly(parts, request):
    """One slot, and QosEngine On for /cgi and /b only."""
    more = """
        <Location /cgi>
            QosEngine On
        </Location>
        <Location /b/>
            QosEngine On
        </Location>
        <Location /plain>
            ErrorDocument 404 /cgi/page
        </Location>
        <Location /private>
            Require all denied
            ErrorDocument 403 /b/size/30
        </Location>
        <Location /acted>
            SetHandler by-cgi
            Action by-cgi /cgi/page virtual
        </Location>
        RewriteEngine On
        RewriteRule ^/passed/(.*) /b/size/$1 [PT]
        """
    with Gateway(parts, mpm=request.param, engine="Off", more=more, modules=("actions",)) as g:
        yield g
    g.assert_no_crash()


REDIRECTED = {
    "error-document": ("/plain/no-such-page", 404),
    "error-document-by-proxy": ("/private/x", 200),     # as the other side answers
    "action": ("/acted/x", 200),
    "rewritten-pt": ("/passed/30", 200),
    "plain": ("/b/size/30", 200),
}


@pytest.mark.parametrize("way", REDIRECTED)
def test_redirected_into_a_part_that_is_scheduled(partly, way):
    """They came in unscheduled: a redirected request was taken for one that had been scheduled already."""
    target, status = REDIRECTED[way]
    before = partly.settled()
    assert http1.get(partly.port, target).status == status
    with partly.window_taken() as taken, partly.connect() as c:
        c.send("GET", target, headers=PEOPLE)
        partly.until_queued(1)
        taken.release()
        assert c.receive().status == status
    partly.assert_each_once(before, 2 + taken.count)


def test_redirected_and_gone(partly):
    before = partly.settled()
    with partly.window_taken() as taken:
        with partly.connect() as c:
            c.send("GET", "/acted/x", headers=PEOPLE)
            partly.until_queued(1)
            c.reset()
            partly.until_queued(0)
        taken.release()
    assert partly.settled()["gone"] - before["gone"] == 1


def test_outside_is_not_scheduled(partly):
    before = partly.settled()
    assert http1.get(partly.port, "/static/2k.txt").status == 200
    partly.assert_each_once(before, 0)
