# SPDX-License-Identifier: BSD-2-Clause
"""More kinds for raw_cases.py, of what a web server does and a proxy does not: its own pages, HTTP/2, connections that are closed by halves.

    cases("frames", 900)                # a list of bytes, or of tuples: half-closed, see raw_driver.py
    KINDS                               # their names

/files/ and /cgi/ are the server's own, all else is the origin's.  None asks for several ranges of one page: where such an answer is cut is said by chance.
"""
import random
import struct

from . import raw_cases
from .raw_cases import CRLF, ORIGIN

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = range(10)


def frame(kind, flags, stream, payload=b"", length=None):
    return struct.pack(">I", len(payload) if length is None else length)[1:] + struct.pack(">BBI", kind, flags, stream) + payload


def text(data):
    return (bytes([len(data)]) if len(data) < 127 else b"\x7f" + varint(len(data) - 127)) + data


def varint(n):
    out = b""
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


class Maker(raw_cases.Maker):
    def page(self):
        return self.one_of(b"/files/2k.txt", b"/files/", b"/files", b"/files/none", b"/cgi/page", b"/cgi/page/more", b"/closed/x", b"/%d" % self.n, b"/old/%d" % self.n, b"*")

    def paths(self):
        """Ways out of a directory, into another, and around what is forbidden."""
        step = (b"..", b"%2e%2e", b".%2e", b"..;", b"..%2f", b"..%5c", b"..\\", b"...", b".", b"%2e", b"", b";x", b"%00", b"%c0%ae%c0%ae", b"files", b"closed", b"cgi", b"x", b"2k.txt", b"page",
                b"%252e%252e", b"%66iles", b"FILES", b"c%6cosed", b"2k.txt%20", b"2k.txt.", b"2k.txt/", b"2k.txt%00.php", b".htaccess", b"u" * 300, b"~root", b"CON", b"%u002e")
        parts = [self.dice.choice(step) for _ in range(self.dice.randrange(1, 7))]
        path = self.one_of(b"/", b"/", b"//", b"", b"/./", b"/files/", b"/cgi/", b"/closed/", b"/old/") + self.one_of(b"/", b"/", b"/", b"//", b"%2f").join(parts)
        return self.request(self.one_of(b"GET", b"GET", b"HEAD", b"POST", b"TRACE"), path + self.one_of(b"", b"", b"?%d" % self.n, b"?a=b#c", b"#x"))

    def conditions(self):
        """Ranges, conditions, expectations, encodings and languages, at files and at programs."""
        fields = [self.one_of(
            b"Range: bytes=0-4", b"Range: bytes=-5", b"Range: bytes=5-", b"Range: bytes=9-5", b"Range: bytes=99999-", b"Range: bytes=-0", b"Range: bytes=", b"Range: bytes=a-b",
            b"Range: bytes=0-18446744073709551616", b"Range: bytes=-18446744073709551616", b"Range: items=0-1", b"Range: bytes = 0-1", b"Range:bytes=0-0", b"Request-Range: bytes=0-4",
            b"If-Range: \"x\"", b"If-Range: Sat, 29 Oct 2094 19:43:31 GMT", b"If-Match: *", b"If-Match: \"x\"", b"If-None-Match: *", b"If-None-Match: W/\"x\"", b"If-Modified-Since: x",
            b"If-Modified-Since: Sat, 29 Oct 1994 19:43:31 GMT", b"If-Unmodified-Since: Sat, 29 Oct 1994 19:43:31 GMT", b"Expect: 100-continue", b"Expect: 100-Continue", b"Expect: x",
            b"Expect:", b"Accept: */*;q=0", b"Accept: " + self.junk(), b"Accept-Encoding: gzip;q=9", b"Accept-Encoding: identity;q=0", b"Accept-Language: " + self.junk(), b"TE: " + self.junk(),
            b"Cookie: session=1", b"Cookie: session=" + self.junk(), b"User-Agent: GPTBot/1.2", b"User-Agent: " + self.junk(), b"X-Class: people", b"X-Class: " + self.junk(),
            b"Authorization: Basic " + self.junk(), b"Connection: close", b"Connection: keep-alive, x", b"Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: x",
            b"Upgrade: TLS/1.0\r\nConnection: upgrade", b"Proxy: x", b"Transfer-Encoding: chunked")
            for _ in range(self.dice.randrange(1, 5))]
        method = self.one_of(b"GET", b"GET", b"GET", b"HEAD", b"POST", b"PUT", b"DELETE", b"OPTIONS", b"TRACE", b"PATCH", b"X")
        body = b"" if method != b"POST" else self.one_of(b"", b"hello")
        fields += [b"Content-Length: %d" % len(body)] if method == b"POST" else []
        return self.request(method, self.page(), fields, body, version=self.one_of(b"HTTP/1.1", b"HTTP/1.1", b"HTTP/1.0")) + (self.hidden() if self.chance(0.3) else b"")

    def own(self):
        """Smuggling at the server's own pages, several on a connection."""
        out = b""
        for _ in range(self.dice.randrange(1, 4)):
            one = self.one_of(self.length_and_chunks, self.chunks, self.lengths, self.injections, self.colons, self.conditions)()
            out += one.replace(self.url(), self.page(), 1)
        return out

    def block(self):
        """Fields of an HTTP/2 request, mostly right; nothing is kept in the table of fields."""
        fields = [(b":method", self.one_of(b"GET", b"GET", b"HEAD", b"POST", b"GE T")), (b":scheme", b"http"), (b":authority", self.one_of(ORIGIN, ORIGIN, b"a b")), (b":path", self.page())]
        fields += [self.one_of((b"cookie", b"session=1"), (b"x-class", b"people"), (b"user-agent", self.junk()), (b"X-Upper", b"x"), (b"connection", b"close"), (b"transfer-encoding", b"chunked"),
                               (b"content-length", b"5"), (b"content-length", b"-1"), (b"te", b"gzip"), (b"host", b"other"), (b":path", b"/twice"), (b":status", b"200"), (b"x", b"a\r\nb: c"),
                               (b"x", b"\x00"), (b"", b"x"), (b"x y", b"z"), (b"upgrade", b"h2c"), (b"x", b"v" * 9000), (b"expect", b"100-continue"), (b"range", b"bytes=0-4"))
                   for _ in range(self.dice.randrange(3))]
        if self.chance(0.1):
            self.dice.shuffle(fields)
        if self.chance(0.1):
            del fields[self.dice.randrange(4)]
        return b"".join(b"\x00" + text(name) + text(value) for name, value in fields)

    def frames(self):
        """HTTP/2 by prior knowledge: right and wrong frames of one or two requests."""
        out = self.one_of(PREFACE, PREFACE, PREFACE, PREFACE[:20], PREFACE.replace(b"SM", b"XX"), PREFACE.replace(b"2.0", b"2.1"))
        out += frame(SETTINGS, 0, 0, struct.pack(">HIHIHI", 1, 0, 2, 0, 4, 1 << 20))
        for i in range(self.dice.randrange(1, 4)):
            number = self.one_of(2 * i + 1, 2 * i + 1, 2 * i + 1, 2 * i + 1, 0, 2, 1, 0x7fffffff)
            out += self.one_of(
                lambda: frame(HEADERS, 5, number, self.block()), lambda: frame(HEADERS, 5, number, self.block()), lambda: frame(HEADERS, 5, number, self.block()),
                lambda: frame(HEADERS, 4, number, self.block()) + frame(DATA, 1, number, b"hello"), lambda: frame(HEADERS, 1, number, self.block()) + frame(CONTINUATION, 4, number, b""),
                lambda: frame(HEADERS, 1, number, self.block()) + frame(PING, 0, 0, b"12345678"), lambda: frame(HEADERS, 5, number, self.junk()), lambda: frame(DATA, 1, number, b"hello"),
                lambda: frame(HEADERS, 13, number, b"\xff" + self.block()), lambda: frame(HEADERS, 37, number, struct.pack(">IB", number, 1) + self.block()),
                lambda: frame(SETTINGS, 0, number, struct.pack(">HI", self.one_of(2, 4, 5, 9), self.one_of(0, 5, 1 << 31))), lambda: frame(SETTINGS, 0, 0, b"12345"),
                lambda: frame(SETTINGS, 1, 0, b"123456"), lambda: frame(PING, 0, self.one_of(0, 1), b"1234567" + self.one_of(b"", b"8")), lambda: frame(GOAWAY, 0, 0, b"\0" * 8),
                lambda: frame(WINDOW_UPDATE, 0, self.one_of(0, number), struct.pack(">I", self.one_of(0, 1, 0x7fffffff))), lambda: frame(PUSH_PROMISE, 4, number, b"\0\0\0\2" + self.block()),
                lambda: frame(RST_STREAM, 0, number, b"\0\0\0\x08"), lambda: frame(PRIORITY, 0, number, struct.pack(">IB", number, 1)), lambda: frame(self.one_of(10, 99, 255), 255, number, self.junk()),
                lambda: frame(HEADERS, 5, number, b"", length=self.one_of(100, 16385, 0xffffff)), lambda: self.junk(40))()
        return out

    def upgrades(self):
        """HTTP/1.1 that is to become HTTP/2.  OPTIONS is not among them: httpd tells methods in an order of chance, which frames hide."""
        fields = [self.one_of(b"Upgrade: h2c", b"Upgrade: h2c", b"Upgrade: h2c, h2c", b"Upgrade: h2", b"Upgrade: H2C", b"Upgrade: h2c\x00", b"Upgrade:"),
                  self.one_of(b"Connection: Upgrade, HTTP2-Settings", b"Connection: Upgrade", b"Connection: close, Upgrade", b"Connection: HTTP2-Settings", b""),
                  self.one_of(b"HTTP2-Settings: AAEAAAAA", b"HTTP2-Settings: AAEAAAAA\r\nHTTP2-Settings: AAEAAAAA", b"HTTP2-Settings:", b"HTTP2-Settings: " + self.junk(), b"X: x")]
        self.dice.shuffle(fields)
        method = self.one_of(b"GET", b"GET", b"HEAD", b"POST")
        body = b"hello" if method == b"POST" else b""
        fields += [b"Content-Length: 5"] if body else []
        behind = [b"", PREFACE + frame(SETTINGS, 0, 0), PREFACE + frame(SETTINGS, 0, 0, struct.pack(">HI", 1, 0)) + frame(HEADERS, 5, 3, self.block())]
        if not any(f.startswith(b"Upgrade: h2c") for f in fields):      # else httpd answers first, or finds first what stands behind
            behind += [self.request(), self.junk()]
        return self.request(method, self.page(), [f for f in fields if f], body) + self.one_of(*behind)

    def halves(self):
        """Anything, cut off somewhere or whole, and nothing more to come.  No frames: whether httpd still says why it closes is chance then."""
        data = self.one_of(*(getattr(self, kind) for kind in ("length_and_chunks", "chunks", "lengths", "pipelines", "conditions", "own", "paths", "request")))()
        return (data[:self.dice.randrange(1, len(data))] if self.chance(0.6) else data,)

    def bodies(self):
        """Bodies that are there, chunked or not, at a page that takes none or one that does."""
        body = b"b" * self.one_of(1, 8000, 8192, 16384, 16385, 65536, 100000)
        target = self.one_of(b"/files/2k.txt", b"/cgi/page", b"/closed/x", b"/%d" % self.n)
        expect = [b"Expect: 100-continue"] if self.chance(0.2) else []
        if self.chance(0.5):
            return self.request(b"POST", target, [b"Content-Length: %d" % len(body), *expect], body) + self.hidden()
        at = self.dice.randrange(len(body))
        return self.request(b"POST", target, [b"Transfer-Encoding: chunked", *expect], self.chunked(*(part for part in (body[:at], body[at:]) if part))) + CRLF + self.hidden()


KINDS = raw_cases.KINDS + ("paths", "conditions", "own", "frames", "upgrades", "halves", "bodies")


def cases(kind, count, seed=1):
    return raw_cases.cases(kind, count, seed, Maker(random.Random(f"{kind} {seed}")))
