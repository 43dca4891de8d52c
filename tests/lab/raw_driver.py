#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Sends requests as they are to a proxy on 127.0.0.1:3128 (raw.py), and is the origin on 127.0.0.1:8080, which answers with exactly what it has received.

For each order that it reads, a pickled (requests, patience), it writes a pickled {"answers": [(bytes, how)], "origin": [bytes]}: what came back to each
request, and whether the proxy closed the connection ("closed"), reset it ("reset") or kept it open ("open"), which it has when nothing happened on any
connection for `patience` seconds; and what each connection to the origin has received, in alphabetical order. Of a TLS hello only the length: the rest
is chance.  A request that is a tuple of one is half-closed: nothing comes after it.
"""

import contextlib
import pickle
import re
import select
import socket
import struct
import sys
import time

PROXY, ORIGIN = ("127.0.0.1", 3128), ("127.0.0.1", 8080)
# mod_qos_drr's own field, which no two requests have alike (docs/mod_qos_drr.md).
TOKEN = re.compile(rb"\r\nFairgate-Outer: [0-9a-f]{34}(?=\r\n)")
RESET = struct.pack("ii", 1, 0)


class Echo:
    """A connection to the origin."""

    def __init__(self, sock, all_got):
        self.sock, self.got, self.answered, self.at = sock, bytearray(), False, len(all_got)
        all_got.append(self.got)

    def ready(self, loop):
        try:
            data = self.sock.recv(262144)
        except OSError:
            data = b""
        self.got += data
        if not data:
            loop.leave(self)
        elif not self.answered and self.whole():
            self.answered = True
            came = TOKEN.sub(b"", bytes(self.got), count=1)
            body = b"" if self.got.startswith(b"HEAD") else came
            try:
                self.sock.sendall(b"HTTP/1.1 200 OK\r\nDate: Sat, 21 Nov 2026 12:00:00 GMT\r\nContent-Type: text/plain\r\nConnection: close\r\nContent-Length: %d\r\n\r\n"
                                  % len(came) + body)
            except OSError:
                loop.leave(self)

    def whole(self):
        end = self.got.find(b"\r\n\r\n")
        if end < 0:
            return False
        head, rest = bytes(self.got[:end + 2]).lower(), len(self.got) - end - 4
        at = head.find(b"\r\ncontent-length:")
        if b"\r\ntransfer-encoding:" in head:
            return self.got.endswith(b"\r\n0\r\n\r\n") or self.got.endswith(b"\r\n\r\n0\r\n\r\n")
        return rest >= (int(head[at + 17:].split(b"\r\n", 1)[0]) if at >= 0 else 0)


class Visit:
    """A connection to the proxy."""

    def __init__(self, request):
        self.sock = socket.socket()
        self.half = isinstance(request, tuple)
        self.request, self.got, self.how = request[0] if self.half else request, bytearray(), "open"
        self.sock.setblocking(False)
        self.sock.connect_ex(PROXY)

    def end_request(self):
        if self.half:
            with contextlib.suppress(OSError):
                self.sock.shutdown(socket.SHUT_WR)

    def ready(self, loop):
        if self.request:
            try:
                self.request = self.request[self.sock.send(self.request):]
            except BlockingIOError:
                return
            except OSError:
                self.request = b""          # what there is to read tells why
            if not self.request:
                self.end_request()
                loop.watch(self, select.EPOLLIN)
            elif not select.select([self.sock], [], [], 0)[0]:
                return
        try:
            data = self.sock.recv(262144)
        except BlockingIOError:
            return
        except OSError:
            self.how = "reset"
            return loop.leave(self)
        self.got += data
        if not data:
            self.how = "closed"
            loop.leave(self)


class Loop:
    def __init__(self):
        self.epoll, self.by_fd = select.epoll(), {}
        self.listener = socket.create_server(ORIGIN, backlog=4096)
        self.listener.setblocking(False)
        self.epoll.register(self.listener, select.EPOLLIN)
        self.received = []

    def watch(self, what, events):
        fd = what.sock.fileno()
        (self.epoll.modify if fd in self.by_fd else self.epoll.register)(fd, events)
        self.by_fd[fd] = what

    def leave(self, what):
        fd = what.sock.fileno()
        if self.by_fd.pop(fd, None):
            self.epoll.unregister(fd)
            what.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
            what.sock.close()

    def turn(self, seconds):
        """Whether anything happened."""
        events = self.epoll.poll(seconds)
        for fd, _ in events:
            if fd == self.listener.fileno():
                try:
                    while True:
                        sock = self.listener.accept()[0]
                        self.watch(Echo(sock, self.received), select.EPOLLIN)
                except BlockingIOError:
                    pass
            elif fd in self.by_fd:
                self.by_fd[fd].ready(self)
        return bool(events)

    def run(self, requests, patience):
        self.received = []
        visits = [Visit(r) for r in requests]
        for v in visits:
            self.watch(v, select.EPOLLIN | select.EPOLLOUT)
        last = time.monotonic()
        while any(v.sock.fileno() >= 0 for v in visits):
            if self.turn(patience / 4):
                last = time.monotonic()
            elif time.monotonic() - last > patience:        # a proxy that is busy with others has not kept this one open
                break
        for v in visits:
            self.leave(v)
        end = time.monotonic() + 4 * patience
        while self.by_fd and time.monotonic() < end:        # the proxy has to close what its clients have left
            self.turn(0.01)
        for what in list(self.by_fd.values()):
            self.leave(what)
        return {"answers": [(bytes(v.got), v.how) for v in visits], "origin": sorted(without_chance(bytes(got)) for got in self.received)}


def without_chance(received):
    """Where a client begins to speak TLS, what it offers is random: only that it does, and how long that is.  No token."""
    return b"a TLS record of %d bytes" % (len(received) - 5) if received.startswith(b"\x16\x03") else TOKEN.sub(b"", received, count=1)


def main():
    loop = Loop()
    pickle.dump("ready", sys.stdout.buffer)
    sys.stdout.buffer.flush()
    while sys.stdin.buffer.peek(1):
        pickle.dump(loop.run(*pickle.load(sys.stdin.buffer)), sys.stdout.buffer)
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
