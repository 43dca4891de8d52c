#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""
Streams that are compared byte by byte, over IPv4 and IPv6.

    streams.py serve PORT                                until it is ended; a line of JSON for each time that a connection may stand still
    streams.py fetch PORT BYTES PARALLEL ADDRESS ...     so many bytes in all, or by SIGTERM fewer: no stream begins any more; prints JSON, in it the times
                                                         for which a connection stood still

A stream is one of a few templates, with a number in it every few kilobytes that no other stream has.

    over(gap, excuses, lossy)       seconds by which a connection has stood still for longer than its timers said

A connection may be without a byte as long as its client's timer and then its server's, and as the server did not get to run.  What counts is the time that a client waits
for bytes, not that in which it does not get to run; that in which a connection comes about counts, too.  Client and server read the same clock.
"""
import json
import math
import os
import random
import signal
import socket
import struct
import sys
import threading
import time

PROGRAM = os.path.abspath(__file__)
TEMPLATES, LENGTH, EACH = 8, 400_000, 9_000
SILENT, LOOK, LONG, MOST = 0.05, 0.02, 0.3, 20      # seconds: how often is looked; what is told; what is excused


def timer_of(s):
    """(seconds, measured): the retransmission timer that runs, or the one that probes a closed window; 0: none.  measured: it is what TCP takes the way for, and has not been doubled."""
    probes, backoff, rto, unacked = struct.unpack_from("3xBB3xI12xI", s.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 104))
    if not probes and not unacked:
        return 0.0, False
    return rto / 1e6 * (2 ** backoff if probes else 1), not backoff


def template(i):
    return random.Random(i).randbytes(LENGTH)


ALL = [template(i) for i in range(TEMPLATES)]


def stream(i, number):
    """Pieces of it."""
    data = memoryview(ALL[i])
    for at in range(0, LENGTH, EACH):
        yield b"%016x" % ((number * 0x9e3779b97f4a7c15 + at) % 2**64)
        yield data[at:at + EACH]


def whole(i, number):
    return b"".join(stream(i, number))


class Excuses:
    """Looks at the timers of connections, and at how late it looks itself, and prints what is long: [when, the client's port or 0, seconds, measured]."""

    def __init__(self):
        self.lock, self.watched = threading.Lock(), {}
        threading.Thread(target=self.watch, daemon=True).start()

    def add(self, s, port=None):
        """port: the client's, if that is not at its other end."""
        with self.lock:
            self.watched[s] = port or s.getpeername()[1]

    def drop(self, s):
        with self.lock:
            del self.watched[s]

    def watch(self):
        last = time.monotonic()
        while True:
            time.sleep(LOOK)
            now = time.monotonic()
            seen, last = [(0, now - last - LOOK, False)], now
            with self.lock:
                for s, port in self.watched.items():
                    try:
                        seen.append((port, *timer_of(s)))
                    except OSError:
                        continue
            for port, seconds, measured in seen:
                if seconds > LONG:
                    print(json.dumps([now, port, seconds, measured]), flush=True)


def over(gap, excuses, lossy):
    """
    excuses: lines of a server, and of what else ends TCP on the way, parsed; gap["excuses"] are those that count, afterwards, gap["late"] the time in which that did not get to run, and gap["measured"] its longest timer that had not been doubled.  lossy: the link loses packets by itself.  There timers run out one after the other, each half as long as the next, and before the first one that of a tail
    loss probe, which is no longer: in all twice the last one.  Nothing is excused for more than MOST.
    """
    begin, end = gap["end"] - gap["seconds"], gap["end"]
    gap["excuses"] = [e for e in excuses if e[1] in (gap["port"], 0) and begin <= e[0] <= end + 2 * LOOK + (0 if e[1] else e[2])]
    server = max([LONG / 2, *(seconds for _, port, seconds, _ in gap["excuses"] if port)])
    late = gap["late"] = sum(seconds for _, port, seconds, _ in gap["excuses"] if not port)
    gap["measured"] = max([0.0, *(seconds for _, port, seconds, measured in gap["excuses"] if port and measured)])
    return gap["seconds"] - min((gap["own"] + server) * (2 if lossy else 1), MOST) - late


def answer(s, excuses):
    excuses.add(s)
    try:
        while True:
            asked = b""
            while len(asked) < 8:
                more = s.recv(8 - len(asked))
                if not more:
                    return
                asked += more
            number = int.from_bytes(asked, "big")
            s.sendall(whole(number % TEMPLATES, number))
    except OSError:
        pass
    finally:
        excuses.drop(s)
        s.close()


def serve(port):
    excuses = Excuses()
    listener = socket.socket(socket.AF_INET6)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    listener.bind(("::", port))
    listener.listen(512)
    print("ready", flush=True)
    while True:
        s, _ = listener.accept()
        threading.Thread(target=answer, args=(s, excuses), daemon=True).start()


class Client:
    def __init__(self, port, budget, addresses):
        self.port, self.addresses = port, addresses
        self.lock, self.left = threading.Lock(), budget
        self.result = dict(streams=0, bytes=0, connections=0, gap=0.0, gaps=[], errors=[])

    def note(self, **values):
        with self.lock:
            for k, v in values.items():
                if k == "gap":
                    self.result[k] = max(self.result[k], v)
                elif k in ("gaps", "errors"):
                    self.result[k].append(v)
                else:
                    self.result[k] += v

    def more(self):
        with self.lock:
            self.left -= LENGTH
            return self.left > 0 and not self.result["errors"]

    def one(self, s, number):
        want = whole(number % TEMPLATES, number)
        got, longest, own, silent = bytearray(), 0.0, 0.0, 0
        s.sendall(number.to_bytes(8, "big"))
        while len(got) < len(want):
            try:
                part = s.recv(1 << 18)
            except TimeoutError:
                own = max(own, timer_of(s)[0])
                silent += 1
                if silent * SILENT > 60:
                    raise
                continue
            longest = max(longest, silent * SILENT)
            if silent * SILENT > 1:
                self.note(gaps={"end": time.monotonic(), "seconds": silent * SILENT, "own": own, "port": s.getsockname()[1], "at": len(got)})
            own, silent = 0.0, 0
            if not part:
                raise OSError(f"the connection ended after {len(got)} bytes")
            got += part
        if got != want:
            at = next(i for i in range(len(want)) if got[i:i + 1] != want[i:i + 1])
            raise OSError(f"byte {at} of stream {number} is wrong")
        self.note(streams=1, bytes=len(want), gap=longest)

    def connected(self, s, seconds):
        """A SYN goes again after 1 s, 2 s more, 4 s more."""
        self.note(connections=1)
        if seconds > 1:
            self.note(gaps={"end": time.monotonic(), "seconds": seconds, "own": 2 ** (int(math.log2(seconds + 1)) - 1), "port": s.getsockname()[1], "at": -1})

    def run(self, name):
        numbers = random.Random(name)
        while self.more():
            try:
                begun = time.monotonic()
                with socket.create_connection((numbers.choice(self.addresses), self.port), timeout=60) as s:
                    self.connected(s, time.monotonic() - begun)
                    s.settimeout(SILENT)
                    for _ in range(numbers.randint(1, 5)):
                        self.one(s, numbers.getrandbits(62))
                        if not self.more():
                            return
            except OSError as e:
                self.note(errors=str(e))


def fetch(port, budget, parallel, addresses):
    c = Client(port, budget, addresses)

    def enough(*_):
        c.left = 0
    signal.signal(signal.SIGTERM, enough)
    threads = [threading.Thread(target=c.run, args=(f"{os.getpid()}-{i}",)) for i in range(parallel)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    print(json.dumps(c.result))
    return 1 if c.result["errors"] else 0


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(int(sys.argv[2]))
    else:
        sys.exit(fetch(int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]), sys.argv[5:]))
