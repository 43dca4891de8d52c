# SPDX-License-Identifier: BSD-2-Clause
"""Endless downloads through tunnels."""

import contextlib
import socket
import threading


class Downloads:
    """Through n connections that connect() makes, one tunnel each, all read by threads of their own until the block ends."""

    def __init__(self, proxy, n, cls, connect):
        self.counts, self.done = [0] * n, threading.Event()
        self.connections = [connect() for _ in range(n)]
        for c in self.connections:
            c.send("CONNECT", proxy.origin.authority, host=proxy.origin.authority, headers={"X-Class": cls})
        for c in self.connections:
            assert c.head().status == 200
        self.threads = [threading.Thread(target=self.read, args=pair) for pair in enumerate(self.connections)]

    def read(self, i, c):
        with contextlib.suppress(OSError):
            c.send("GET", "/endless")
            while not self.done.is_set() and (got := len(c.socket.recv(1 << 20))):
                self.counts[i] += got

    def bytes(self):
        return sum(self.counts)

    def at_work(self):
        """How many have not been broken off."""
        return sum(t.is_alive() for t in self.threads)

    def __enter__(self):
        for t in self.threads:
            t.start()
        return self

    def __exit__(self, *_):
        self.done.set()
        for c in self.connections:
            with contextlib.suppress(OSError):
                c.socket.shutdown(socket.SHUT_RDWR)
        for t in self.threads:
            t.join(30)
        for c in self.connections:
            c.reset()
