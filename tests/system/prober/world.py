#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""A small internet in a network namespace: a hostile site with a public address, a name server that changes its mind, and servers on addresses
that nobody may be led to.  Run inside the namespace, whose lo has the addresses; says "ready", and at the end of its input one JSON object:
{"asked": {address: requests}, "largest": bytes that the site sent in one answer}.
"""
import gzip
import http.server
import json
import os
import socket
import socketserver
import struct
import sys
import threading
import time
import urllib.parse

sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from background import Background   # noqa: E402
from dns_question import AAAA, A, question  # noqa: E402

SITE = "8.8.8.8"                                # public, as far as anybody can tell
FORBIDDEN = ("127.0.0.1", "169.254.169.254", "10.0.0.1", "8.8.4.4")
BOMB = gzip.compress(b"\0" * (200 << 20), 9)    # 200 KB that are 200 MB
asked = {}
lock = threading.Lock()


def count(address):
    with lock:
        asked[address] = asked.get(address, 0) + 1


PAGES = {
    "/robots.txt": (200, {"Content-Type": "text/plain"}, b""),
    "/": (200, {"Content-Type": "text/html"}, b"".join(b'<a href="%s">x</a>' % h for h in (
        b"/good", b"/redirect/http://169.254.169.254/latest/meta-data/", b"/redirect/http://127.0.0.1/", b"/redirect/http://[::ffff:127.0.0.1]/",
        b"/redirect/http://8.8.4.4/", b"/redirect/file:///etc/passwd", b"/redirect/gopher://127.0.0.1:80/_GET", b"/redirect//10.0.0.1/",
        b"http://127.0.0.1/", b"http://169.254.169.254/", b"http://[::ffff:10.0.0.1]/", b"http://8.8.4.4/", b"http://2130706433/", b"file:///etc/passwd",
        b"gopher://8.8.4.4/", b"//10.0.0.1/x", b"http://site.test@127.0.0.1/", b"http://site.test:81/", b"https://site.test/",
        b"/endless", b"/huge", b"/hugehead", b"/drip", b"/bomb", b"/bombhead", b"/broken", b"/headers", b"/nothing", b"/deep", b"/loop/a", b"/chunks", b"/lies")) +
        b'<a href="/%s">long</a>' % (b"a" * 1000000)),
    "/good": (200, {"Content-Type": "text/html"}, b"good"),
    "/loop/a": (302, {"Location": "/loop/b"}, b""),
    "/loop/b": (302, {"Location": "/loop/a"}, b""),
    "/deep": (200, {"Content-Type": "text/html"}, b"<div>" * 200000 + b'<a href="/good">x</a>'),
    "/broken": (200, {"Content-Type": "text/html"}, b"<a href='/good><<<<a href=/good <p <!-- <a href=\"http://127.0.0.1/\"" + bytes(range(256)) * 100),
    "/bomb": (200, {"Content-Type": "text/html", "Content-Encoding": "gzip"}, BOMB),
    "/bombhead": (200, {"Content-Type": "application/xml", "Content-Encoding": "br"}, b"\xff" * 100000),
    "/headers": (200, {f"X-{i}": "y" * 1000 for i in range(2000)}, b""),
    "/huge": (200, {"Content-Type": "text/html"}, 10 << 30),
    "/hugehead": (200, {"Content-Type": "application/x-iso"}, 10 << 30),
    "/lies": (200, {"Content-Type": "text/html", "Content-Length": "99999999999999999999999"}, b"x"),
}


class Site(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        count(SITE)
        try:
            self.answer()
        except OSError:
            pass

    do_HEAD = do_GET

    def head(self, status, fields):
        self.send_response(status)
        for name, value in fields.items():
            self.send_header(name, value)
        self.end_headers()

    def answer(self):
        self.close_connection = True
        if self.path.startswith("/redirect/"):
            return self.head(302, {"Location": urllib.parse.unquote(self.path[len("/redirect/"):]), "Content-Length": "0", "Connection": "close"})
        if self.path in ("/endless", "/chunks", "/drip", "/nothing"):
            return self.forever()
        status, fields, body = PAGES.get(self.path, (404, {}, b""))
        length = body if isinstance(body, int) else len(body)
        fields = {"Connection": "close", "Content-Length": str(length), **fields}
        self.head(status, fields)
        if self.command == "HEAD":
            return None
        if isinstance(body, int):
            for _ in range(body >> 16):
                self.wfile.write(b"\0" * 65536)
        else:
            self.wfile.write(body)
        return None

    def forever(self):
        if self.path == "/nothing":
            return time.sleep(3600)
        self.head(200, {"Content-Type": "text/html", "Connection": "close", **({"Transfer-Encoding": "chunked"} if self.path == "/chunks" else {})})
        if self.command == "HEAD":
            return None
        n = 0
        while True:
            n += 1
            if self.path == "/drip":
                self.wfile.write(b".")
                time.sleep(0.5)
            elif self.path == "/chunks":
                self.wfile.write(b"1\r\n<\r\n" * 1000)
            else:
                self.wfile.write(b'<a href="/endless">' * 1000)


class Counting(socketserver.BaseRequestHandler):
    def handle(self):
        count(self.server.server_address[0].removeprefix("::ffff:"))
        self.request.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")


class Names(socketserver.BaseRequestHandler):
    """Every second question about changes.test is answered 127.0.0.1; everything else is the site."""
    seen = 0

    def handle(self):
        data, sock = self.request
        name, kind, asked_for = question(data)
        address = SITE
        if name == "changes.test" and kind == A:
            Names.seen += 1
            address = SITE if Names.seen % 2 else "127.0.0.1"
        if name == "inside.test":
            address = "127.0.0.1"
        if name == "meta.test":
            address = "169.254.169.254"
        answer = b""
        if kind == A:
            answer = b"\xc0\x0c" + struct.pack(">HHIH", A, 1, 0, 4) + socket.inet_aton(address)
        elif kind == AAAA and name == "mapped.test":
            answer = b"\xc0\x0c" + struct.pack(">HHIH", AAAA, 1, 0, 16) + socket.inet_pton(socket.AF_INET6, "::ffff:127.0.0.1")
        if name == "mapped.test" and kind == A:
            answer = b""
        sock.sendto(data[:2] + b"\x81\x80" + struct.pack(">HHHH", 1, 1 if answer else 0, 0, 0) + asked_for + answer, self.client_address)


class Tcp(Background, socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    request_queue_size = 64


class Udp(Background, socketserver.ThreadingUDPServer):
    pass


def main():
    Tcp((SITE, 80), Site).start()
    for address in FORBIDDEN:
        Tcp((address, 80), Counting).start()
    Udp(("127.0.0.53", 53), Names).start()
    print("ready", flush=True)
    sys.stdin.read()
    print(json.dumps({"asked": asked, "names": Names.seen}), flush=True)
    os._exit(0)


main()
