# SPDX-License-Identifier: BSD-2-Clause
"""A website in a test's hand: pages by path, and a record of what was asked for.

    site = Website({"/": page('<a href="/a">'), "/a": Page(b"text", "text/plain")})
    with site: ... site.port, site.asked ...

A page may be a function of the request (a Request), which returns a Page.  What is not there is a 404.
"""
import collections
import dataclasses
import http.server
import threading
import time

from background import Background


@dataclasses.dataclass
class Page:
    body: bytes = b""
    type: str = "text/html"
    status: int = 200
    headers: dict = dataclasses.field(default_factory=dict)
    etag: str = None            # its validator: a request that has it is answered 304
    length: bool = True         # Content-Length; else the connection's end ends the body
    head: bool = True           # HEAD is answered like GET, else 405


Request = collections.namedtuple("Request", "method path headers at")


def page(html, **words):
    return Page(html.encode(), **words)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def do_GET(self):
        site = self.server.site
        request = Request(self.command, self.path, self.headers, time.monotonic())
        with site.lock:
            site.asked.append(request)
        found = site.pages.get(self.path)
        if callable(found):
            found = found(request)
        if found is None:
            found = Page(b"not here", status=404)
        if self.command == "HEAD" and not found.head:
            found = Page(status=405)
        if found.etag and found.status == 200 and found.etag in self.headers.get("If-None-Match", ""):
            found = Page(status=304, etag=found.etag)
        self.answer(found)

    do_HEAD = do_GET

    def answer(self, p):
        self.send_response(p.status)
        if p.status != 304:
            self.send_header("Content-Type", p.type)
        if p.etag:
            self.send_header("ETag", p.etag)
        for name, value in p.headers.items():
            self.send_header(name, value)
        if p.status != 304 and p.length:
            self.send_header("Content-Length", str(len(p.body)))
        elif p.status != 304:
            self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD" and p.status != 304:
            self.wfile.write(p.body)


class Server(Background, http.server.ThreadingHTTPServer):
    pass


class Website:
    def __init__(self, pages, address="127.0.0.1", port=0):
        self.pages = dict(pages)
        self.asked = []
        self.lock = threading.Lock()
        self.server = Server((address, port), Handler)
        self.server.site = self
        self.port = self.server.server_address[1]
        self.url = f"http://{address}:{self.port}"

    def __enter__(self):
        self.server.start()
        return self

    def __exit__(self, *_):
        self.server.__exit__()

    def forget(self):
        with self.lock:
            self.asked.clear()

    def paths(self, method=None):
        with self.lock:
            return [r.path for r in self.asked if method in (None, r.method)]
