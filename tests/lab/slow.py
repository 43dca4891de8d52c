# SPDX-License-Identifier: BSD-2-Clause
"""
slow.py - clients that take their time, thousands of them: what keeps a server busy without asking for anything.

    with Slow(server.address, "headers", 10_000) as slow:
        slow.until_there()
        ...

"headers" send a header's fields one by one, a byte every five seconds; "bodies" a body likewise, of a request whose header is whole; "reads" ask for a page of a megabyte and take 100 bytes
of it in that time.  Who is closed comes again at once, as long as `with` lasts.  A process of its own serves them all; it has as many open files as the system lets it.
"""
import random
import select
import socket
import subprocess
import sys
import time

KINDS = ("headers", "bodies", "reads")
PAUSE = 5.0             # seconds between two bytes
AT_ONCE = 200           # new connections in a hundredth of a second


class Slow:
    def __init__(self, address, kind, connections, page="/size/1000000"):
        from .lab import LabError, most_files
        if kind not in KINDS:
            raise LabError(f"{kind}: one of {', '.join(KINDS)}")
        self.words = ["/usr/bin/python3", "-B", "-P", __file__, address, kind, str(connections), page]
        self.before, self.error, self.process = most_files, LabError, None

    def __enter__(self):
        self.process = subprocess.Popen(self.words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, preexec_fn=self.before)
        return self

    def until_there(self):
        """Waits until so many have come; a server whose threads are all taken may let some of them stand before its door."""
        if self.process.stdout.readline() != "all there\n":
            raise self.error("the slow clients have ended")

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


class Client:
    __slots__ = ("sock", "due", "begun")

    def __init__(self, address, kind):
        self.sock = socket.socket()
        self.sock.setblocking(False)
        if kind == "reads":
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.sock.connect_ex(address)
        self.due, self.begun = time.monotonic(), False


def begin(kind, page):
    fields = f" HTTP/1.1\r\nHost: slow\r\nX-Class: slow\r\nUser-Agent: slow/{random.randrange(1000)}\r\n"
    return {"headers": f"GET {page}{fields}X-", "bodies": f"POST {page}{fields}Content-Length: 100000\r\n\r\nx", "reads": f"GET {page}{fields}\r\n"}[kind].encode()


def step(client, kind, page):
    """Whether it is still connected."""
    try:
        if not client.begun:
            client.sock.send(begin(kind, page))
            client.begun = True
        elif kind == "reads":
            return bool(client.sock.recv(100))
        else:
            client.sock.send(b"x")
    except BlockingIOError:
        pass
    except OSError:
        return False
    return True


def main(address, kind, number, page):
    host, port = address.rsplit(":", 1)
    poll, clients, made, told, next_at = select.epoll(), {}, 0, False, time.monotonic()
    while True:
        now = time.monotonic()
        if now >= next_at and len(clients) < number:
            for _ in range(min(AT_ONCE, number - len(clients))):
                c = Client((host, int(port)), kind)
                clients[c.sock.fileno()] = c
                poll.register(c.sock, select.EPOLLRDHUP)
                made += 1
            next_at = now + 0.01
        gone = {fd for fd, events in poll.poll(0.01, 1000) if events & (select.EPOLLRDHUP | select.EPOLLERR | select.EPOLLHUP)}
        for fd, c in list(clients.items()):
            if fd in gone or (c.due <= now and not step(c, kind, page)):
                poll.unregister(fd)
                c.sock.close()
                del clients[fd]
            elif c.due <= now:
                c.due = now + PAUSE * random.uniform(0.8, 1.2)
        if not told and made >= number:
            print("all there", flush=True)
            told = True


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4])
