#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""
pieces.py ADDRESS PORT FOLDER - a web server that writes its files in pieces of random length, each time others; in chunks if the address has a query.  HTTP/1.1, GET only.
"""
import os
import random
import sys

sys.path[:0] = [os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")]

from lab.by_request import RequestByRequest, serve     # noqa: E402


class Pieces(RequestByRequest):
    def one(self):
        line = self.rfile.readline().split()
        if not line:
            return False
        while self.rfile.readline().strip():
            pass
        name, _, chunked = line[1].decode().partition("?")
        with open(os.path.join(sys.argv[3], name.lstrip("/")), "rb") as f:
            body = f.read()
        framing = "Transfer-Encoding: chunked" if chunked else f"Content-Length: {len(body)}"
        self.wfile.write(f"HTTP/1.1 200 OK\r\nLast-Modified: Thu, 01 Jan 2026 00:00:00 GMT\r\nX-Number: {random.getrandbits(64)}\r\n{framing}\r\n\r\n".encode())
        at = 0
        while at < len(body):
            piece = body[at:at + random.randint(1, random.choice((100, 3000, 20_000, 70_000)))]
            at += len(piece)
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece) if chunked else piece)
        if chunked:
            self.wfile.write(b"0\r\n\r\n")
        return True


if __name__ == "__main__":
    serve(sys.argv[1], sys.argv[2], Pieces)
