#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""
reader.py - people who open pages: each comes on a connection of its own, asks for the page, and when that is there for all that belongs to it.

    reader.py HOST:PORT

On standard input, JSON: urls (the page's and those of what belongs to it), rate (pages/s, at random), seconds, seed, depth (requests that
may be unanswered at a time; 1: no pipelining).  On standard output: the milliseconds of each page, from before the connection is made to the last byte, as JSON.
"""
import asyncio
import json
import random
import re
import sys

LENGTH = re.compile(rb"\r\nContent-Length: (\d+)\r\n", re.I)


class Reader(asyncio.Protocol):
    def __init__(self, page, host):
        self.urls, self.depth = page["urls"], page["depth"]
        self.requests = [f"GET {u} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode() for u in self.urls]
        self.asked = self.answered = 0
        self.head, self.left = b"", None        # bytes of the body that are still to come
        self.done = asyncio.get_running_loop().create_future()

    def connection_made(self, transport):
        self.transport = transport
        self.ask()

    def ask(self):
        may = 1 if not self.answered else self.answered + self.depth
        wanted = self.requests[self.asked:may]
        self.asked += len(wanted)
        if wanted:
            self.transport.write(b"".join(wanted))

    def data_received(self, data):
        while data and not self.done.done():
            if self.left is None:
                self.head += data
                end = self.head.find(b"\r\n\r\n")
                if end < 0:
                    return
                length = LENGTH.search(self.head[:end + 2])
                if not self.head.startswith(b"HTTP/1.1 200 ") or not length:
                    return self.fail(f"{self.urls[self.answered]}: {self.head[:end].decode('latin1')}")
                self.left, data, self.head = int(length[1]), self.head[end + 4:], b""
            n = min(self.left, len(data))
            self.left, data = self.left - n, data[n:]
            if self.left == 0:
                self.left = None
                self.answered += 1
                if self.answered == len(self.urls):
                    self.done.set_result(None)
                    self.transport.close()
                else:
                    self.ask()

    def connection_lost(self, exception):
        self.fail(f"the connection ended: {exception}")

    def fail(self, why):
        if not self.done.done():
            self.done.set_exception(RuntimeError(why))
            self.transport.close()


async def read(page, address, after, times):
    loop = asyncio.get_running_loop()
    await asyncio.sleep(after)
    begun = loop.time()
    _, reader = await loop.create_connection(lambda: Reader(page, page["host"]), *address)
    await asyncio.wait_for(reader.done, 60)
    times.append((loop.time() - begun) * 1000)


async def main():
    host, port = sys.argv[1].rsplit(":", 1)
    page = json.load(sys.stdin)
    draw, at, times, arrivals = random.Random(page["seed"]), 0.0, [], []
    while at < page["seconds"]:
        arrivals.append(at)
        at += draw.expovariate(page["rate"])
    await asyncio.gather(*(read(page, (host, int(port)), t, times) for t in arrivals))
    json.dump(times, sys.stdout)


if __name__ == "__main__":
    asyncio.run(main())
