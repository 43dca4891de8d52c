# SPDX-License-Identifier: BSD-2-Clause
"""What measures must go the way that it says: fairgate-load over TLS, through tunnels, and what fairgate-origin serves there."""
import itertools
import re
import select
import socket
import socketserver
import threading

import pytest
from lab.lab import Lab, Origin, free_port
from lab.load import errors, load


class Way(socketserver.StreamRequestHandler):
    """One client of a proxy that knows CONNECT only: each is written down, and opened or refused as the server says."""

    def handle(self):
        head = list(iter(lambda: self.rfile.readline().strip(), b""))
        self.server.asked.append((self.client_address[0], head))
        if self.server.status != 200:
            self.wfile.write(f"HTTP/1.1 {self.server.status} No\r\nContent-Length: 7\r\n\r\nrefused".encode())
            return
        host, port = re.match(rb"CONNECT (\S+):(\d+) HTTP/1.1$", head[0]).groups()
        with socket.create_connection((host.decode(), int(port))) as far:
            self.wfile.write(b"HTTP/1.1 200 Open\r\n\r\n")
            self.carry({self.connection: far, far: self.connection})

    def carry(self, other):
        while True:
            for end in select.select(list(other), [], [])[0]:
                data = end.recv(65536)
                if not data:
                    return
                other[end].sendall(data)


@pytest.fixture
def proxy():
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Way) as server:
        server.daemon_threads, server.asked, server.status = True, [], 200
        server.text = f"127.0.0.1:{server.server_address[1]}"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


@pytest.fixture(scope="module")
def origin():
    with Lab("load") as made:
        tls = free_port()
        with Origin(made, tls_port=tls) as o:
            o.tls = f"https://127.0.0.1:{tls}"
            yield o


def asked(origin, words):
    """What became of three requests of each of two clients; nothing may fail."""
    result = load(origin.address, [{"name": "c", "clients": 2, "requests": 3, **words}], 20, timeout=10, realtime=False)
    assert not errors(result), result["total"]
    return result["classes"]["c"]


@pytest.mark.parametrize("more,close", list(itertools.product(("", "?chunked", "?close", "?delay=5"), (False, True))))
def test_pages_over_tls(origin, more, close):
    c = asked(origin, {"url": f"{origin.tls}/size/200000{more}", "close": close})
    assert c["status"] == {"200": 6} and c["connects"] == (6 if close or more == "?close" else 2)
    # whole pages, and the little that TLS adds: 22 bytes a record, and its beginning
    assert 6 * 200_000 < c["bytes"] < 6 * 205_000


def test_a_body_goes_up_over_tls(origin):
    before = origin.stat()["answered"]
    c = asked(origin, {"url": f"{origin.tls}/size/10", "method": "POST", "body": 1_000_000})
    assert c["status"] == {"200": 6} and c["bytes"] < 20_000 and origin.stat()["answered"] == before + 6


@pytest.mark.parametrize("tls", (False, True))
def test_a_tunnel_stays_for_the_next_request(origin, proxy, tls):
    url = f"{origin.tls if tls else origin.url}/size/50000"
    c = asked(origin, {"url": url, "proxy": proxy.text, "tunnel": True, "source": "127.0.0.9", "header": "X-Class: gold"})
    assert c["status"] == {"200": 6} and c["connects"] == 2
    authority = url.split("/")[2].encode()
    assert proxy.asked == [("127.0.0.9", [b"CONNECT %s HTTP/1.1" % authority, b"Host: " + authority, b"X-Class: gold"])] * 2


def test_a_tunnel_for_each_request(origin, proxy):
    c = asked(origin, {"url": f"{origin.tls}/size/50000", "proxy": proxy.text, "close": True})
    assert c["status"] == {"200": 6} and c["connects"] == len(proxy.asked) == 6


def test_a_tunnel_that_is_refused_is_an_answer(origin, proxy):
    proxy.status = 503
    c = asked(origin, {"url": f"{origin.tls}/size/50000", "proxy": proxy.text, "retry": 10})
    assert c["status"] == {"503": 6} and c["bytes"] == 0 and c["connects"] == 6


def test_another_server_is_another_tunnel(origin, proxy):
    """A client keeps the one it has only for the server that it leads to."""
    c = asked(origin, {"clients": 1, "requests": 2, "deck": True, "url": [f"{origin.tls}/size/10", f"{origin.url}/size/10"], "proxy": proxy.text, "tunnel": True})
    assert c["status"] == {"200": 2} and c["connects"] == 2
    assert {head[0].split()[1].decode() for _, head in proxy.asked} == {origin.tls.split("/")[2], origin.address}


def test_a_client_that_gives_up_closes_its_tunnel(origin, proxy):
    before = origin.stat()["aborted"]
    result = load(origin.address, [{"name": "c", "clients": 1, "requests": 2, "url": f"{origin.tls}/size/10?never", "proxy": proxy.text, "abort": 200}], 20, realtime=False)
    assert result["total"]["aborted"] == 2 and not errors(result)
    assert origin.stat()["aborted"] - before in (1, 2)      # the last one's end may not have come there yet


def test_requests_begin_so_often_at_the_most(origin):
    result = load(origin.address, [{"name": "c", "clients": 1, "requests": 3, "url": "/size/10", "every": 300}], 20, realtime=False)
    assert result["total"]["requests"] == 3 and result["seconds"] >= 0.6


def test_a_gap_is_that_of_all_of_a_name(origin):
    """One asks seldom, the other often: their class has no gap of seconds."""
    seldom, often = ({"name": "c", "clients": 1, "url": "/size/10", "every": ms} for ms in (1500, 50))
    result = load(origin.address, [seldom, often], 4, realtime=False)
    assert 0.04 < result["classes"]["c"]["gap_s"] < 1.4, result
    assert load(origin.address, [seldom], 4, realtime=False)["classes"]["c"]["gap_s"] > 1.4


@pytest.mark.parametrize("words,says", ((("url=ftp://x/y",), "begins with http:// or https://"), (("url=https://host", ), "is not http(s)://HOST:PORT/path"),
                                        (("url=/x", "tunnel"), "tunnel needs proxy=HOST:PORT")))
def test_what_is_not_meant_is_said(words, says, capfd):
    with pytest.raises(Exception, match="ended with 2"):
        load("127.0.0.1:1", [{"name": "c", **dict((w.split("=") + [True])[:2] for w in words)}], 1, realtime=False)
    assert says in capfd.readouterr().err
