# SPDX-License-Identifier: BSD-2-Clause
"""A small HTTP/2 client over plain TCP that does what a test says and no more: many streams at once, resets, bodies that never come.

    with http2.Connection(port) as c:
        ids = [c.send("GET", "/x", headers={"cookie": "session=1"}) for _ in range(100)]
        c.until(lambda: all(c.streams[i].over for i in ids))

Header fields go out as literals.  The server is told to keep no table of fields (SETTINGS_HEADER_TABLE_SIZE 0), so that of its answers the status can be read
without one.  Windows are as large as they can be.  One thread per connection at a time.
"""

import select
import socket
import struct
import time

DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE = 0, 1, 3, 4, 6, 7, 8
END_STREAM = ACK = 1
END_HEADERS, PADDED, PRIORITY = 4, 8, 32
CANCEL = 8
# RFC 7541, Appendix A: places 8 to 14 of the static table; Appendix B: codes of the digits.
STATUS = dict(enumerate((200, 204, 206, 304, 400, 404, 500), 8))
DIGITS = {"00000": "0", "00001": "1", "00010": "2", **{f"{n + 0x16:06b}": str(n) for n in range(3, 10)}}


class Stream:
    """status (0 before the answer), size (bytes of its body), over; error: of the reset that ended it, or None; first, ended: when."""

    def __init__(self):
        self.status = self.size = 0
        self.over = False
        self.error = self.first = self.ended = None
        self.began = time.monotonic()
        self.interim = []


def literal(name, value):
    def text(s):
        data = s.encode("latin-1")
        assert len(data) < 0x7f
        return bytes([len(data)]) + data
    return b"\x00" + text(name) + text(value)


def digits(data):
    bits, text = "".join(f"{byte:08b}" for byte in data), ""
    while len(text) < 3:
        n = next(n for n in (5, 6) if bits[:n] in DIGITS)
        text, bits = text + DIGITS[bits[:n]], bits[n:]
    return int(text)


def status_of(block):
    """The first field of an answer is its status; before it may be changes of the table's size."""
    at = 0
    while block[at] & 0xe0 == 0x20:
        at += 1
    first = block[at]
    if first & 0x80:
        return STATUS[first & 0x7f]
    assert first & 0x0f == 8, block[:16]
    length = block[at + 1]
    value = block[at + 2:at + 2 + (length & 0x7f)]
    return digits(value) if length & 0x80 else int(value)


class Connection:
    """closed: the server said that it takes no more streams, or hung up (ended); last: the last that it takes, once it said so (RFC 9113, 6.8)."""

    def __init__(self, port, host="127.0.0.1"):
        self.socket = socket.create_connection((host, port), timeout=20)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffer, self.next, self.streams, self.closed, self.ended, self.pongs, self.last = b"", 1, {}, False, False, 0, None
        settings = struct.pack(">HIHIHI", 1, 0, 2, 0, 4, (1 << 31) - 1)     # no table, no push, the largest window
        self.out = (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + self.frame(SETTINGS, 0, 0, settings)
                    + self.frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", (1 << 31) - 1 - 65535)))
        self.push()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    @staticmethod
    def frame(kind, flags, stream, payload=b""):
        return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload

    def push(self):
        data, self.out = self.out, b""
        self.socket.sendall(data)

    def send(self, method, target, headers=None, body=None, push=True):
        """A request's stream number.  body None: it has none; b"": one that comes later, by data()."""
        number, self.next = self.next, self.next + 2
        fields = {":method": method, ":scheme": "http", ":authority": "localhost", ":path": target, **(headers or {})}
        block = b"".join(literal(name.lower(), value) for name, value in fields.items())
        self.streams[number] = Stream()
        self.out += self.frame(HEADERS, END_HEADERS | (END_STREAM if body is None else 0), number, block)
        if body:
            self.out += self.frame(DATA, END_STREAM, number, body)
        if push:
            self.push()
        return number

    def data(self, number, body, end=False):
        self.out += self.frame(DATA, END_STREAM if end else 0, number, body)
        self.push()

    def reset(self, *numbers):
        self.out += b"".join(self.frame(RST_STREAM, 0, n, struct.pack(">I", CANCEL)) for n in numbers)
        self.push()

    def ping(self):
        """httpd forgets a stream that is over, and writes its line into the log, at the latest when something comes on its connection."""
        self.out += self.frame(PING, 0, 0, bytes(8))
        self.push()

    def take(self, kind, flags, number, payload):
        stream = self.streams.get(number)
        if kind == SETTINGS and not flags & ACK:
            self.out += self.frame(SETTINGS, ACK, 0)
        elif kind == PING and not flags & ACK:
            self.out += self.frame(PING, ACK, 0, payload)
        elif kind == GOAWAY:
            self.closed, self.last = True, struct.unpack(">I", payload[:4])[0] & 0x7fffffff
        elif stream and kind == RST_STREAM:
            stream.over, stream.error, stream.ended = True, struct.unpack(">I", payload)[0], time.monotonic()
        elif stream and kind in (DATA, HEADERS):
            if flags & PADDED:
                payload = payload[1:len(payload) - payload[0]]
            if kind == DATA:
                stream.size += len(payload)
            elif not stream.status:
                status = status_of(payload[5:] if flags & PRIORITY else payload)
                if status < 200:
                    stream.interim.append(status)
                else:
                    stream.status, stream.first = status, time.monotonic()
            if flags & END_STREAM:
                stream.over, stream.ended = True, time.monotonic()

    def receive(self, seconds):
        """What comes within this time, once something does."""
        if not select.select([self.socket], [], [], seconds)[0]:
            return
        data = self.socket.recv(1 << 18)
        self.ended = not data
        self.closed = self.closed or self.ended
        self.buffer += data
        while len(self.buffer) >= 9:
            length = int.from_bytes(self.buffer[:3], "big")
            if len(self.buffer) < 9 + length:
                break
            kind, flags, number = struct.unpack(">BBI", self.buffer[3:9])
            payload, self.buffer = self.buffer[9:9 + length], self.buffer[9 + length:]
            self.take(kind, flags, number & 0x7fffffff, payload)
        self.push()

    def until(self, test, seconds=60, what="it"):
        end = time.monotonic() + seconds
        while not test():
            left = end - time.monotonic()
            assert left > 0 and not self.closed, f"{what}: not within {seconds} s, connection {'closed' if self.closed else 'open'}; " \
                f"{[(n, s.status, s.error) for n, s in self.streams.items()]}"
            self.receive(left)

    def statuses(self, numbers=None, seconds=60):
        """The statuses of these streams (all), once they are over; 0 of one that was reset before."""
        numbers = list(self.streams) if numbers is None else numbers
        self.until(lambda: all(self.streams[n].over for n in numbers), seconds, "all streams over")
        return [self.streams[n].status for n in numbers]
