# SPDX-License-Identifier: BSD-2-Clause
"""An origin server for the tests of Squid: the backend of backend.py with more to say.

    /hold/NAME            1000 bytes at once and every 50 ms, until open(NAME); a response that is never parked
    /drip/N               N bytes, one every 100 ms
    /trickle/NAME         one byte every 50 ms, in chunks, until open(NAME)
    /head/NAME            half a header; waits until open(NAME), then the rest and two bytes
    /part/NAME?size=N     the header and N bytes of twice as many, nothing until open(NAME), then the rest
    /reset/N              promises N bytes, sends half, breaks the connection
    /close/N              N bytes without a length; the end of the connection is the end of the page
    /broken               a chunk whose size is no number
    /status/NNN           that status, with no body where there is none, else two bytes
    /gone                 closes without a byte of an answer
    /late/MS              the same after so many ms
    /once/NAME            the same for the first request, two bytes for any other
    /endless              bytes without a length, as fast as they are taken, until the peer closes
    /silent/N             the head of N bytes, and no more
    /cached/NAME?age=S    a page that may be kept for S seconds (3600), with a tag; 304 for who has it; ?gate waits until open(NAME) first
    /upgrade              101, then sends back what comes

What backend.py has besides is there too.  `paths` counts requests by path, `tags` those that came with If-None-Match; /cached/ stands in `order`, too.
"""

import collections
import socket
import struct
import time
from urllib.parse import parse_qs

import backend


class Handler(backend.Handler):
    def answer(self, method, url, fields):
        kind, _, rest = url.path.lstrip("/").partition("/")
        act = getattr(self, "do_" + kind, None)
        with self.server.lock:
            self.server.paths[url.path] += 1
            self.server.tags[url.path] += "if-none-match" in fields
        if not act:
            return super().answer(method, url, fields)
        self.body(fields)
        return act(method, rest, parse_qs(url.query, keep_blank_values=True), fields)

    def do_hold(self, method, name, query, fields):
        return self.on_and_on(name, 2000)        # each time more than what Squid calls too little

    def do_trickle(self, method, name, query, fields):
        return self.on_and_on(name, 1)

    def on_and_on(self, name, n):
        self.head("200 OK", Transfer_Encoding="chunked", Cache_Control="no-store")
        end = time.monotonic() + 120
        while not self.server.is_open(name, 0.05) and time.monotonic() < end:
            self.wfile.write(b"%x\r\n%s\r\n" % (n, b"h" * n))
        self.leave()
        self.wfile.write(b"0\r\n\r\n")
        return True

    def do_drip(self, method, n, query, fields):
        self.head("200 OK", Content_Length=n)
        sent = self.server.dripped = []
        for _ in range(int(n)):
            sent.append(time.monotonic())
            self.wfile.write(b"d")
            if self.server.is_open("no more drips", 0.1):
                return False
        return True

    def do_head(self, method, name, query, fields):
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Le")
        if not self.server.gate(name):
            return False
        self.wfile.write(b"ngth: 2\r\n\r\nok")
        return True

    def do_part(self, method, name, query, fields):
        size = int(query["size"][0])
        self.head("200 OK", Content_Length=2 * size)
        self.wfile.write(b"p" * size)
        if not self.server.gate(name):
            return False
        self.wfile.write(b"p" * size)
        return True

    def do_reset(self, method, n, query, fields):
        self.head("200 OK", Content_Length=n)
        self.wfile.write(b"r" * (int(n) // 2))
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        return False

    def do_close(self, method, n, query, fields):
        self.head("200 OK", Connection="close")
        self.wfile.write(b"c" * int(n))
        return False

    def do_broken(self, method, _, query, fields):
        self.head("200 OK", Transfer_Encoding="chunked")
        self.wfile.write(b"5\r\nhello\r\nno number\r\n")
        return False

    def do_status(self, method, status, query, fields):
        if status in ("204", "304"):
            self.head(f"{status} As asked")
        else:
            self.head(f"{status} As asked", Content_Length=2)
            self.wfile.write(b"ok" if method != "HEAD" else b"")
        return True

    def do_gone(self, method, _, query, fields):
        return False

    def do_late(self, method, ms, query, fields):
        time.sleep(int(ms) / 1000)
        return False

    def do_once(self, method, name, query, fields):
        return self.server.paths["/once/" + name] > 1 and self.do_status(method, "200", query, fields)

    def do_silent(self, method, n, query, fields):
        self.head("200 OK", Content_Length=n)
        self.connection.recv(1)
        return False

    def do_endless(self, method, _, query, fields):
        self.head("200 OK", Connection="close")
        piece = b"e" * 65536
        while not self.server.is_open("no more", 0):
            self.wfile.write(piece)
        return False

    def do_cached(self, method, name, query, fields):
        self.server.order.append(name)
        if "gate" in query and not self.server.gate(name):
            return False
        fresh = {"Cache_Control": f"max-age={query.get('age', ['3600'])[0]}", "ETag": '"v1"', "Date": self.date_time_string()}
        if fields.get("if-none-match") == '"v1"':
            self.head("304 Not Modified", **fresh)
        else:
            self.head("200 OK", Content_Length=6, **fresh)
            self.wfile.write(b"cached" if method != "HEAD" else b"")
        return True

    @staticmethod
    def date_time_string():
        return time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime())

    def do_upgrade(self, method, _, query, fields):
        self.wfile.write(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n")
        while data := self.connection.recv(65536):
            self.connection.sendall(data)
        return False


class Origin(backend.Backend):
    """A context manager: listens on this address, on a free port if none is given, while it is open."""

    def __init__(self, address="127.0.0.1", port=0):
        super().__init__(address, port, Handler)
        self.paths, self.tags = collections.Counter(), collections.Counter()
        self.dripped = []           # when each byte of the newest drip was sent
        self.authority = f"[{address}]:{self.port}" if ":" in address else f"{address}:{self.port}"

    def url(self, path):
        return f"http://{self.authority}{path}"

    def is_open(self, name, seconds):
        """Whether that gate is open, or opens within this time."""
        with self.lock:
            self.lock.wait_for(lambda: name in self.opened or self.closing, seconds)
            return name in self.opened or self.closing
