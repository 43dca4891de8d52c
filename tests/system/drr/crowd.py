# SPDX-License-Identifier: BSD-2-Clause
"""Clients that ask beside a test, each in a thread of its own, until its block ends."""

import collections
import contextlib
import threading

import http1
import http2


class Crowd:
    """So many threads that run(), which looks at .over.  A context manager."""

    def __init__(self, clients):
        self.over = threading.Event()
        self.threads = [threading.Thread(target=self.run, daemon=True) for _ in range(clients)]

    def run(self):
        raise NotImplementedError

    def __enter__(self):
        for t in self.threads:
            t.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        for t in self.threads:
            t.join(60)
            assert not t.is_alive()


class Streams(Crowd):
    """So many streams of HTTP/2 open on each of so many connections, which ends when it has had `most`.  done: answers by status."""

    def __init__(self, port, connections, streams, target, headers, most=None):
        super().__init__(connections)
        self.port, self.streams, self.target, self.headers, self.most = port, streams, target, headers, most
        self.done = collections.Counter()

    def run(self):
        with http2.Connection(self.port) as c:
            self.visit(c)

    def visit(self, c):
        asked = 0
        while not (self.over.is_set() or c.closed or (self.most and asked >= self.most)):
            for number in [n for n, s in c.streams.items() if s.over]:
                self.done[c.streams.pop(number).status] += 1
            while len(c.streams) < self.streams:
                c.send("GET", self.target, headers=self.headers, push=False)
                asked += 1
            c.push()
            c.receive(0.1)


class Patient(Streams):
    """The same; one whose connection is ended makes another.  failed: what was taken and not answered."""

    def __init__(self, port, connections, streams, target, most=None):
        super().__init__(port, connections, streams, target, {"cookie": "session=1"}, most)
        self.failed = []

    def run(self):
        while not self.over.is_set():
            with http2.Connection(self.port) as c:
                try:
                    self.visit(c)
                    self.rest(c)
                except OSError as e:
                    self.failed.append(str(e))

    def rest(self, c):
        """What the server takes it answers; what came behind that may be asked again (RFC 9113, 6.8)."""
        def open_ones():
            return [n for n, s in c.streams.items() if not s.over and (c.last is None or n <= c.last)]
        with contextlib.suppress(AssertionError):
            http1.until(lambda: not open_ones() or c.receive(0.1) or c.ended, 20)
        self.failed += [f"stream {n} of {max(c.streams)}, last {c.last}" for n in open_ones()]
        self.done += collections.Counter(s.status for n, s in c.streams.items() if s.over and (c.last is None or n <= c.last))
