# SPDX-License-Identifier: BSD-2-Clause
"""A name server that says what a test wants, on an address of its own in 127/8 (Squid asks port 53 only)."""

import ipaddress
import random
import socket
import socketserver
import struct

from background import Background
from dns_question import AAAA, A, question

REFUSED_NAME = 3


class Handler(socketserver.BaseRequestHandler):
    def handle(self):
        data, sock = self.request
        name, kind, asked = question(data)
        known = self.server.names.get(name, ())
        self.server.asked.append(name)
        if known is None:
            return
        found = [a for a in map(ipaddress.ip_address, known) if kind == (A if a.version == 4 else AAAA)]
        answers = b"".join(b"\xc0\x0c" + struct.pack(">HHIH", kind, 1, 60, len(a.packed)) + a.packed for a in found)
        status = 0x8180 | (0 if known else REFUSED_NAME)
        sock.sendto(data[:2] + struct.pack(">HHHHH", status, 1, len(found), 0, 0) + asked + answers, self.client_address)


class Names(Background, socketserver.ThreadingUDPServer):
    """A context manager.  names: {name: addresses}; no addresses: no such name; None: no answer."""

    def __init__(self, **names):
        self.names, self.asked = {name.replace("_", "-") + ".test": addresses for name, addresses in names.items()}, []
        for _ in range(100):
            self.address = f"127.{random.randrange(1, 255)}.{random.randrange(256)}.{random.randrange(2, 255)}"
            try:
                super().__init__((self.address, 53), Handler)
                return
            except OSError:
                continue
        raise OSError("no free address in 127/8 for a name server")


class Deaf:
    """A port of 127.0.0.1 to which nobody gets through: it listens, but its queue is full, and so connections hang.  A context manager."""

    def __enter__(self):
        self.listener = socket.socket()
        self.listener.bind(("127.0.0.1", 0))
        self.listener.listen(0)
        self.port = self.listener.getsockname()[1]
        self.authority = f"127.0.0.1:{self.port}"
        self.crowd = []
        while True:
            s = socket.socket()
            self.crowd.append(s)
            s.settimeout(0.3)
            try:
                s.connect(("127.0.0.1", self.port))
            except TimeoutError:
                return self

    def url(self, path):
        return f"http://{self.authority}{path}"

    def __exit__(self, *_):
        for s in [*self.crowd, self.listener]:
            s.close()
