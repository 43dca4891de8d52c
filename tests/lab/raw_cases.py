# SPDX-License-Identifier: BSD-2-Clause
"""Requests as attackers and broken programs send them, by kind; the same ones for the same seed.

    cases("chunks", 900, seed=1)        # a list of bytes
    KINDS                               # their names

They lead to the echo origin of raw_driver.py, or nowhere.  Each has its number in its path.
"""

import random

ORIGIN = b"127.0.0.1:8080"
CRLF = b"\r\n"


class Maker:
    def __init__(self, dice):
        self.dice, self.n = dice, 0

    def one_of(self, *values):
        return self.dice.choice(values)

    def chance(self, p):
        return self.dice.random() < p

    def url(self, path=b""):
        return b"http://" + ORIGIN + b"/%d" % self.n + path

    def junk(self, most=12):
        return bytes(self.dice.choice(b"aZ09-_ \t\x00\x01\x0b\x0c\x7f\x80\xff\"'<>{}|\\^`%;,:=/@?&#") for _ in range(self.dice.randrange(1, most)))

    def request(self, method=b"GET", target=None, fields=(), body=b"", version=b"HTTP/1.1", end=CRLF, host=ORIGIN):
        lines = [method + b" " + (self.url() if target is None else target) + b" " + version]
        lines += [b"Host: " + host] if host is not None else []
        lines += list(fields)
        return end.join(lines) + 2 * end + body

    def chunked(self, *parts):
        return b"".join(b"%x\r\n%s\r\n" % (len(p), p) for p in parts) + b"0\r\n\r\n"

    def hidden(self):
        """A request that may be hidden in the body of another."""
        return self.request(self.one_of(b"GET", b"POST", b"DELETE"), self.url(b"/hidden"))

    # ---- kinds

    def length_and_chunks(self):
        """Content-Length and Transfer-Encoding together: CL.TE, TE.CL and their disguises."""
        hidden = self.hidden()
        body = self.one_of(b"0\r\n\r\n" + hidden, self.chunked(hidden), b"5\r\nhello\r\n0\r\n\r\n", b"1\r\nZ\r\nQ\r\n\r\n", self.chunked(b"x") + hidden)
        length = b"Content-Length: %d" % self.one_of(len(body), 0, 3, 4, 5, 6, len(body) - len(hidden), len(body) + 1)
        coding = self.one_of(
            b"Transfer-Encoding: chunked", b"Transfer-Encoding: xchunked", b"Transfer-Encoding : chunked", b"Transfer-Encoding:\tchunked",
            b"Transfer-Encoding:chunked", b"Transfer-Encoding: chunked ", b" Transfer-Encoding: chunked", b"X: x\nTransfer-Encoding: chunked",
            b"Transfer-Encoding\r\n : chunked", b"Transfer-Encoding:\r\n chunked", b"Transfer-Encoding: \x0bchunked", b"Transfer-Encoding: chunked\x0b",
            b"Transfer-Encoding: identity, chunked", b"Transfer-Encoding: chunked, identity", b"Transfer-Encoding: chunked, chunked",
            b"Transfer-Encoding: CHUNKED", b"TRANSFER-ENCODING: chunked", b"Transfer-Encoding: \"chunked\"", b"Transfer-Encoding: identity",
            b"Transfer-Encoding: gzip, chunked", b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity",
            b"Transfer-Encoding: identity\r\nTransfer-Encoding: chunked", b"Transfer_Encoding: chunked", b"Transfer-Encoding: chunked;q=1",
            b"Transfer-Encoding: chun\x00ked", b"Transfer-Encoding:", b"Transfer-Encoding: ,chunked", b"Transfer-Encoding: chunked,",
            b"\x00Transfer-Encoding: chunked", b"Transfer-Encod\xc4\xb1ng: chunked", b"Transfer-Encoding: chunked\r\n\t, identity")
        fields = [length, coding] if self.chance(0.5) else [coding, length]
        if self.chance(0.2):
            fields.append(b"Connection: " + self.one_of(b"Transfer-Encoding", b"Content-Length", b"close, Transfer-Encoding"))
        return self.request(self.one_of(b"POST", b"PUT", b"GET", b"HEAD", b"DELETE"), fields=fields, body=body,
                            version=self.one_of(b"HTTP/1.1", b"HTTP/1.1", b"HTTP/1.0"))

    def chunks(self):
        """Bad chunk sizes, ends and trailers."""
        size = self.one_of(b"5", b"05", b"0x5", b"-5", b"+5", b" 5", b"5 ", b"\t5", b"5\t", b"", b"g", b"5g", b"00000000000000000005", b"FFFFFFFFFFFFFFFF", b"7fffffffffffffff",
                           b"8000000000000000", b"10000000000000005", b"5;", b"5;a", b"5;a=b", b"5;a=\"b\"", b"5;a=\"b", b"5;a=b\x00", b"5;a=b\ninjected", b"5 ;a=b",
                           b"5; a=b", b"5;;", b"5;=b", b"5\x00", b"5,5", b"5_0", b"%5", b"5;" + b"e" * 2000, b"e" * 9)
        end = self.one_of(CRLF, CRLF, CRLF, b"\n", b"\r", b"\r\r\n", b"\n\r", b"")
        after = self.one_of(CRLF, CRLF, CRLF, b"\n", b"", b"\r", b"XX", b"\r\n\r\n")
        last = self.one_of(b"0\r\n\r\n", b"0\r\n\r\n", b"0\n\n", b"00\r\n\r\n", b"0\r\nTrailer: x\r\n\r\n", b"0\r\nContent-Length: 5\r\n\r\n",
                           b"0\r\nTransfer-Encoding: chunked\r\n\r\n", b"0;x\r\n\r\n", b"0\r\n", b"", b"0\r\n: x\r\n\r\n", b"0\r\n x\r\n\r\n", b"-0\r\n\r\n")
        body = size + end + b"hello" + after + last + (self.hidden() if self.chance(0.4) else b"")
        return self.request(self.one_of(b"POST", b"PUT", b"GET"), fields=[b"Transfer-Encoding: chunked"], body=body)

    def lengths(self):
        """Content-Length: twice, signed, spelled, too large, too small."""
        body = self.one_of(b"", b"hello", b"hello" + self.hidden())
        value = self.one_of(b"5", b"0", b"-1", b"+5", b"5 ", b" 5", b"05", b"0x5", b"5,5", b"5, 5", b"5, 6", b"5;5", b"5 5", b"5\t", b"\"5\"", b"", b"five", b"5.0", b"5e0",
                            b"9223372036854775807", b"9223372036854775808", b"18446744073709551616", b"18446744073709551621", b"1" * 100, b"5\x00", b"5\x0b", b"5\r\n 6",
                            b"\r\n 5", b"4294967301")
        fields = [b"Content-Length: " + value]
        if self.chance(0.5):
            fields.append(self.one_of(b"Content-Length: ", b"content-length:", b"Content-Length : ", b"Content-Length\t: ", b"Content_Length: ", b" Content-Length: ")
                          + self.one_of(b"5", b"0", b"6", value))
        self.dice.shuffle(fields)
        return self.request(self.one_of(b"POST", b"PUT", b"GET", b"HEAD", b"DELETE", b"OPTIONS"), fields=fields, body=body)

    def injections(self):
        """CR, LF, NUL and other controls where they do not belong."""
        evil = self.one_of(b"\r", b"\n", b"\x00", b"\x0b", b"\x0c", b"\x01", b"\x7f", b"\x80", b"\r\n", b"\n\n", b"\r\r\n", b"\r\nX-Injected: 1", b"\nX-Injected: 1",
                           b"\r\n\r\n" + self.hidden(), b"\xe5\x98\x8a\xe5\x98\x8d", b"\x1b[2J", b"\xff\xfe")
        where = self.dice.randrange(7)
        if where == 0:
            return self.request(b"G" + evil + b"ET")
        if where == 1:
            return self.request(target=self.url(b"/a" + evil + b"b"))
        if where == 2:
            return self.request(fields=[b"X-Na" + evil + b"me: value"])
        if where == 3:
            return self.request(fields=[b"X-Name: val" + evil + b"ue"])
        if where == 4:
            return self.request(host=ORIGIN + evil + b"x")
        if where == 5:
            return self.request(version=b"HTTP/1" + evil + b".1")
        return self.request(fields=[b"User-Agent: a" + evil, b"Cookie: session=1" + evil + b"; x=y"])

    def line_ends(self):
        """Bare LF, bare CR, mixtures, empty lines in front, folded lines."""
        ends = [self.one_of(CRLF, b"\n", b"\r", b"\n\r", b"\r\r\n", b" \r\n", b"\t\n", b"\x0b\r\n", b"\x00\r\n") if self.chance(0.4) else CRLF for _ in range(6)]
        lines = [b"GET " + self.url() + b" HTTP/1.1", b"Host: " + ORIGIN, b"X-One: 1", self.one_of(b" folded", b"\tfolded", b"X-Two: 2", b"   ", b"\x0cfolded", b" Host: other"),
                 self.one_of(b"X-Three: 3", b"Content-Length: 0", b"Connection: close"), b""]
        before = self.one_of(b"", b"", b"\r\n", b"\n", b"\r\n\r\n", b" ", b"\r", b"\x00", b"\n" * 50)
        return before + b"".join(line + end for line, end in zip(lines, ends))

    def colons(self):
        """Fields that are none: blanks before the colon, no colon, no name, odd names."""
        field = self.one_of(b"X-Name : v", b"X-Name\t: v", b" X-Name: v", b"\tX-Name: v", b": v", b":", b"X-Name", b"X-Name v", b"X Name: v", b"X(Name): v", b"X-Name:: v", b"X-Name:",
                            b"X-Name:v", b"\"X-Name\": v", b"X-N\xc3\xa4me: v", b"X@Name: v", b"X-Name: " + b"v" * 3000, b"Host : other", b"Host: other", b"Host: ", b"host:" + ORIGIN,
                            b"Host: a\r\nHost: b", b"Host: " + ORIGIN + b", other", b"Host: " + ORIGIN + b"/path", b"Host: [::1", b"Host: user@" + ORIGIN, b"Host: :80",
                            b"Content-Length : 5", b"Content-Length: 0\r\n : 5")
        more = [b"X-%d: %d" % (i, i) for i in range(self.dice.randrange(3))]
        fields = [*more, field] if self.chance(0.5) else [field, *more]
        return self.request(self.one_of(b"GET", b"POST"), fields=fields, host=self.one_of(ORIGIN, ORIGIN, None))

    def huge(self):
        """Headers, lines and numbers of fields around and above Squid's limits."""
        n = self.one_of(1000, 8000, 30000, 60000, 65400, 65536, 70000, 130000)
        return self.one_of(
            lambda: self.request(fields=[b"X-Huge: " + b"h" * n]),
            lambda: self.request(fields=[b"h" * n + b": x"]),
            lambda: self.request(target=self.url(b"/" + b"u" * n)),
            lambda: self.request(method=b"M" * self.one_of(10, 32, 33, 100, n)),
            lambda: self.request(fields=[b"X-%d: x" % i for i in range(n // 10)]),
            lambda: self.request(version=b"HTTP/1." + b"1" * n),
            lambda: self.request(fields=[b"Cookie: session=" + b"c" * n]),
            lambda: self.request(b"POST", fields=[b"Content-Length: %d" % n], body=b"b" * n),
            lambda: self.request(b"POST", fields=[b"Transfer-Encoding: chunked"], body=self.chunked(b"b" * n)),
            lambda: b"x" * n, lambda: b"\r\n" * (n // 2))()

    def targets(self):
        """Absolute, authority, asterisk and origin forms, right and wrong."""
        n = b"/%d" % self.n
        target = self.one_of(
            n, b"/" + n, b"//" + ORIGIN + n, b"*", b"", b"?" + n, ORIGIN, ORIGIN + n, b"http:" + n, b"http:/" + ORIGIN + n, b"http:///" + n[1:], b"http://" + n, b"HTTP://" + ORIGIN + n,
            b"hTTp://" + ORIGIN + n, b"http://user:pass@" + ORIGIN + n, b"http://user@" + ORIGIN + n, b"http://@" + ORIGIN + n, b"http://127.0.0.1:8080:80" + n, b"http://127.0.0.1:" + n,
            b"http://127.0.0.1:0" + n, b"http://127.0.0.1:99999" + n, b"http://127.0.0.1:-1" + n, b"http://127.0.0.1:8080x" + n, b"http://127.0.0.1:+8080" + n, b"http://127.0.0.1:08080" + n,
            b"http://127.0.0.1:1" + n, b"http://127.0.0.1.:8080" + n, b"http://127.1:8080" + n, b"http://2130706433:8080" + n, b"http://0x7f.0.0.1:8080" + n, b"http://0177.0.0.1:8080" + n,
            b"http://[::1]:8080" + n, b"http://[::1:8080" + n, b"http://::1:8080" + n, b"http://[::ffff:127.0.0.1]:8080" + n, b"http://[]:8080" + n, b"http://echo.test:8080" + n,
            b"http://ECHO.test:8080" + n, b"http://echo.test.:8080" + n, b"http://echo..test:8080" + n, b"http://.echo.test:8080" + n, b"http://echo_test:8080" + n,
            b"https://" + ORIGIN + n, b"ftp://127.0.0.1:1" + n, b"urn:x:" + n[1:], b"ws://" + ORIGIN + n, b"file://" + n, b"javascript:alert(1)", b"http//" + ORIGIN + n, b"://" + ORIGIN + n,
            b"http://" + ORIGIN + b"?" + n, b"http://" + ORIGIN + b"#" + n, b"http://" + ORIGIN + n + b"#f", b"http://" + ORIGIN + b"\\@evil" + n, b"http://" + ORIGIN + b"@127.0.0.1:1" + n,
            b"http://" + ORIGIN + b"/a b" + n, b"http://" + ORIGIN + b"/a\tb" + n, b"cache_object://127.0.0.1/nothing", b"http://127.0.0.1:3128/squid-internal-mgr/nothing",
            b"/squid-internal-mgr/nothing", b"http://" + b"h" * 300 + b":8080" + n, b"http://" + self.junk() + n, self.junk())
        method = self.one_of(b"GET", b"GET", b"GET", b"HEAD", b"POST", b"OPTIONS", b"CONNECT", b"TRACE", b"PURGE", b"CONNECT")
        return self.request(method, target, host=self.one_of(ORIGIN, ORIGIN, None, b"other", b"echo.test:8080", b""))

    def lines(self):
        """Methods, versions and the blanks between them."""
        method = self.one_of(b"GET", b"get", b"Get", b"", b"GE T", b"GET\t", b"\tGET", b"G\xc3\x89T", b"GET,", b"(GET)", b"GET\x00", b"PRI", b"M-SEARCH", b"X" * 200, b"TRACE", b"POST", b"HEAD",
                             b"PROPFIND", b"ICY", b"NONE", b"OTHER", b"CONNECT", b"QUERY", b"1", b"-", b"BREW")
        version = self.one_of(b"HTTP/1.1", b"HTTP/1.0", b"HTTP/0.9", b"HTTP/1.2", b"HTTP/1.9", b"HTTP/2.0", b"HTTP/2", b"HTTP/3", b"HTTP/1", b"HTTP/1.", b"HTTP/.1", b"HTTP/01.1", b"HTTP/1.01",
                              b"HTTP/1.10", b"HTTP/11.1", b"HTTP/-1.1", b"HTTP/1.1.1", b"HTTP /1.1", b"HTTP/ 1.1", b"http/1.1", b"HTTPS/1.1", b"HTP/1.1", b"ICY/1.1", b"", b"HTTP/1.1 ",
                              b"HTTP/1.1\t", b"HTTP/1.1x", b"HTTP/x.y", b"HTTP/1,1", b"HTTP\\1.1", b"FTP/1.1")
        one, two = (self.one_of(b" ", b" ", b" ", b"  ", b"\t", b"\x0b", b"", b" \t ", b"\xa0", b"+") for _ in range(2))
        line = method + one + self.one_of(self.url(), self.url(), b"/%d" % self.n, b"") + two + version
        if self.chance(0.1):
            return line + self.one_of(b"\n", CRLF)
        return line + CRLF + b"Host: " + ORIGIN + CRLF + CRLF + (self.hidden() if self.chance(0.2) else b"")

    def escapes(self):
        """Percent signs that escape nothing, or what should not be there."""
        parts = [self.one_of(b"%", b"%%", b"%zz", b"%0", b"%00", b"%0d%0aX-Injected:%201", b"%0a", b"%2e%2e%2f", b"..", b"/../", b"/./", b"%u0041", b"%c0%ae", b"%ff", b"%25", b"%2", b"%-1", b"%+1",
                             b"%3f", b"?", b"#", b"%20", b"+", b"&", b";", b"=", b"\\", b"|", b"^", b"`", b"<", b">", b"\"", b"{", b"}", b"[", b"]", b"\xc3\xa4", b"\xed\xa0\x80", b"%e2%80%ae", b"a")
                 for _ in range(self.dice.randrange(1, 6))]
        path = b"".join(parts)
        return self.one_of(
            lambda: self.request(target=self.url(b"/" + path)),
            lambda: self.request(target=self.url(b"?" + path)),
            lambda: self.request(target=b"http://127.0.0.1%3a8080" + path),
            lambda: self.request(target=b"http://%31%32%37.0.0.1:8080/" + path),
            lambda: self.request(target=b"http://u%" + path + b"@" + ORIGIN))()

    def pipelines(self):
        """Several requests in one: with bodies that hide others, wrong ones among them, leftovers behind."""
        parts = []
        for _ in range(self.dice.randrange(2, 5)):
            self.n += 10000000
            parts.append(self.one_of(
                lambda: self.request(),
                lambda: self.request(b"POST", fields=[b"Content-Length: 5"], body=b"hello"),
                lambda: self.request(b"POST", fields=[b"Transfer-Encoding: chunked"], body=self.chunked(b"hello", self.hidden())),
                lambda: self.request(b"GET", fields=[b"Content-Length: 0"]),
                lambda: self.request(b"GET", body=b"leftover"),
                lambda: self.request(b"HEAD"),
                lambda: self.request(b"POST", fields=[b"Content-Length: 3"], body=b"hello"),
                lambda: self.request(fields=[b"Connection: close"]),
                lambda: self.request(version=b"HTTP/1.0"),
                lambda: b"\r\n", lambda: b"\n", lambda: b"\x00", self.lines, self.lengths, self.colons)())
        return b"".join(parts)

    def hops(self):
        """Fields that are for the next hop only, or that Squid itself acts upon."""
        fields = [self.one_of(
            b"Connection: close", b"Connection: keep-alive", b"Connection: Host", b"Connection: X-Secret, close", b"Connection: Content-Length", b"Connection: ,,", b"Connection: close\x00",
            b"Proxy-Connection: close", b"Proxy-Connection: keep-alive", b"Keep-Alive: 300", b"TE: trailers", b"TE: chunked", b"Trailer: X", b"Upgrade: websocket", b"Upgrade: h2c",
            b"HTTP2-Settings: AAMAAABk", b"Via: 1.1 lab (squid/5.7)", b"Via: 1.1 lab", b"X-Forwarded-For: 1.2.3.4", b"X-Forwarded-For: " + self.junk(), b"Forwarded: for=1.2.3.4",
            b"Max-Forwards: %d" % self.one_of(0, 1, -1, 99999), b"Max-Forwards: x", b"Expect: 100-continue", b"Expect: 200-ok", b"Expect: ", b"Range: bytes=0-4", b"Range: bytes=5-1",
            b"Range: bytes=" + b"0-1," * 100, b"Range: lines=1-2", b"If-Match: \"x\"", b"If-None-Match: *", b"If-Modified-Since: yesterday", b"If-Modified-Since: Sat, 29 Oct 2094 19:43:31 GMT",
            b"Cache-Control: only-if-cached", b"Cache-Control: max-age=-1", b"Cache-Control: " + b"x" * 1000, b"Pragma: no-cache", b"Authorization: Basic ####", b"Proxy-Authorization: Basic eA==",
            b"Proxy-Authenticate: Basic", b"Content-Type: " + self.junk(), b"Cookie: " + self.junk(), b"User-Agent: " + self.junk(), b"Accept: " + self.junk(), b"Surrogate-Capability: x",
            b"Front-End-Https: on", b"X-Secret: 1", b"Content-Encoding: gzip", b"Alternate-Protocol: x", b"Negotiate: x")
                  for _ in range(self.dice.randrange(1, 5))]
        method = self.one_of(b"GET", b"GET", b"POST", b"HEAD", b"TRACE", b"OPTIONS", b"DELETE")
        body = b"hello" if method == b"POST" else b""
        fields += [b"Content-Length: 5"] if body else []
        return self.request(method, fields=fields, body=body, version=self.one_of(b"HTTP/1.1", b"HTTP/1.1", b"HTTP/1.0"))

    def broken(self):
        """A good request with a few bytes changed, left out, doubled, or cut off."""
        data = bytearray(self.one_of(self.request, self.hops, self.lengths, self.length_and_chunks, self.pipelines)())
        for _ in range(self.dice.randrange(1, 4)):
            at = self.dice.randrange(len(data))
            how = self.dice.randrange(5)
            if how == 0:
                data[at] = self.dice.randrange(256)
            elif how == 1:
                del data[at:at + self.dice.randrange(1, 5)]
            elif how == 2:
                data[at:at] = data[at:at + self.dice.randrange(1, 20)]
            elif how == 3:
                data[at:at] = self.junk()
            elif len(data) > 2 and self.chance(0.3):
                del data[at:]
            data = data or bytearray(b"x")
        return bytes(data)


KINDS = ("length_and_chunks", "chunks", "lengths", "injections", "line_ends", "colons", "huge", "targets", "lines", "escapes", "pipelines", "hops", "broken")


def cases(kind, count, seed=1, maker=None):
    maker, made = maker or Maker(random.Random(f"{kind} {seed}")), []
    for n in range(count):
        maker.n = n
        made.append(getattr(maker, kind)())
    return made
