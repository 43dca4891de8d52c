# SPDX-License-Identifier: BSD-2-Clause
"""A backend that a test holds in its hand: it answers when it is told to, and sees how many requests are with it.

    /gate/NAME?size=N     waits until open(NAME); then N bytes with Content-Length
    /size/N               N bytes at once; ?chunked: without Content-Length
    /takes/MS?size=N      N bytes, when it has worked for so long
    /cut/N                promises N bytes, sends half of them, closes
    /mute                 reads the request and never answers; the connection stays until the peer or the backend closes
    /half/NAME?size=N     sends the head and half the body, waits until open(NAME), sends the rest
    /order/NAME?size=N    N bytes; NAME goes to the end of the list `order`; takes=MS: after so long
    /echo                 the number of body bytes received, as text
    /etag                 304 when If-None-Match is "v1"
    /says?NAME=VALUE...   those fields (status: that status; interim: the fields of a 103 before it, and before those so many long ones, links), and as its body the fields of the request,
                          as JSON

`now` and `most` count requests inside the backend, `seen` all of them.
"""

import collections
import json
import socket
import time
from urllib.parse import parse_qs, parse_qsl, urlsplit

from background import GatedServer
from lab.by_request import RequestByRequest


class Handler(RequestByRequest):
    def one(self):
        line = self.rfile.readline().decode("latin-1").split()
        if len(line) != 3:
            return False
        fields = {}
        while True:
            field = self.rfile.readline().decode("latin-1").strip()
            if not field:
                break
            name, value = field.split(":", 1)
            fields[name.lower()] = value.strip()
        self.present = True
        self.server.enter()
        try:
            return self.answer(line[0], urlsplit(line[1]), fields) and fields.get("connection", "").lower() != "close"
        finally:
            self.leave()

    def leave(self):
        """Before the last byte goes out: the peer may send the next request as soon as it has that."""
        if self.present:
            self.present = False
            self.server.leave()

    def body(self, fields):
        if "chunked" in fields.get("transfer-encoding", ""):
            total = 0
            while True:
                size = int(self.rfile.readline().split(b";")[0], 16)
                total += len(self.rfile.read(size))
                self.rfile.readline()
                if size == 0:
                    return total
        return len(self.rfile.read(int(fields.get("content-length", 0))))

    def head(self, status, **fields):
        text = f"HTTP/1.1 {status}\r\nContent-Type: text/plain\r\n"
        self.wfile.write((text + "".join(f"{k.replace('_', '-')}: {v}\r\n" for k, v in fields.items()) + "\r\n").encode())

    def whole(self, method, body):
        self.leave()
        self.head("200 OK", Content_Length=len(body))
        if method != "HEAD":
            self.wfile.write(body)
        return True

    def answer(self, method, url, fields):
        kind, _, rest = url.path.lstrip("/").partition("/")
        query = parse_qs(url.query, keep_blank_values=True)
        size = int(query.get("size", ["2048"])[0])
        if fields.get("expect", "").lower() == "100-continue":
            self.wfile.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        received = self.body(fields)
        if kind == "gate":
            return self.server.gate(rest) and self.whole(method, b"g" * size)
        if kind == "size" and "chunked" in query:
            self.leave()
            self.head("200 OK", Transfer_Encoding="chunked")
            n = int(rest)
            self.wfile.write((b"%x\r\n%s\r\n" % (n, b"c" * n) if n else b"") + b"0\r\n\r\n")
            return True
        if kind == "size":
            return self.whole(method, b"s" * int(rest))
        if kind == "takes":
            time.sleep(int(rest) / 1000)
            return self.whole(method, b"t" * size)
        if kind == "cut":
            self.head("200 OK", Content_Length=int(rest))
            self.wfile.write(b"x" * (int(rest) // 2))
            return False
        if kind == "mute":
            self.connection.settimeout(None)
            self.connection.recv(1)
            return False
        if kind == "half":
            self.head("200 OK", Content_Length=size)
            self.wfile.write(b"h" * (size // 2))
            if not self.server.gate(rest):
                return False
            self.wfile.write(b"h" * (size - size // 2))
            return True
        if kind == "order":
            self.server.order.append(rest)
            time.sleep(int(query.get("takes", ["0"])[0]) / 1000)
            return self.whole(method, b"o" * size)
        if kind == "says":
            said = [(name, value) for name, value in parse_qsl(url.query) if name not in ("status", "interim", "links")]
            if "interim" in query:
                links = "".join(f"Link: </{i:01000}>\r\n" for i in range(int(query.get("links", ["0"])[0])))
                self.wfile.write(f"HTTP/1.1 103 Early Hints\r\n{links}{query['interim'][0]}\r\n\r\n".encode())
            body = json.dumps(fields).encode()
            self.leave()
            self.wfile.write((f"HTTP/1.1 {query.get('status', ['200'])[0]} Said\r\nContent-Length: {len(body)}\r\n"
                              + "".join(f"{name}: {value}\r\n" for name, value in said) + "\r\n").encode())
            if method != "HEAD":
                self.wfile.write(body)
            return True
        if kind == "echo":
            return self.whole(method, str(received).encode())
        if kind == "etag" and fields.get("if-none-match") == '"v1"':
            self.head("304 Not Modified", ETag='"v1"')
            return True
        if kind == "etag":
            self.head("200 OK", ETag='"v1"', Content_Length=2)
            self.wfile.write(b"ok")
            return True
        self.head("404 Not Found", Content_Length=0)
        return True


class Backend(GatedServer):
    """A context manager: listens on a free port of 127.0.0.1 while it is open."""

    def __init__(self, address="127.0.0.1", port=0, handler=Handler):
        self.address_family = socket.AF_INET6 if ":" in address else socket.AF_INET
        super().__init__((address, port), handler)
        self.asked = collections.Counter()
        self.order = []
        self.now = self.most = self.seen = 0

    def enter(self):
        with self.lock:
            self.now += 1
            self.seen += 1
            self.most = max(self.most, self.now)

    def leave(self):
        with self.lock:
            self.now -= 1

    def gate(self, name):
        with self.lock:
            self.asked[name] += 1
            return self.wait(name)

    def count(self, name):
        """How many requests have come to this gate."""
        with self.lock:
            return self.asked[name]
