#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""
Pages with a visitor's own in them, each of which is made of its number, by who serves it and by who visits it.

    pair_visitors.py serve ADDRESS PORT                          an application, HTTP/1.1; says "ready"
    pair_visitors.py visit FIRST COUNT THREADS NAME=HOST:PORT ...    visits pages FIRST to FIRST + COUNT - 1 by the ways that are named; prints JSON: {"pages": {kind: number}, "bytes": N}.  An error ends it

A SECRET is a visitor's own: 32 letters of SECRET_LETTERS, 128 random bits, that stand nowhere else.  A PUBLIC word is everybody's: so many of PUBLIC_LETTERS, in what may be kept.  No other text of a page has
FRAGMENT letters of one of these in a row, so that whoever looks for such rows finds each fragment of each, whole or not, without knowing any.  Pages in UTF-16 have their secrets in it; what a proxy compresses has
some of its bytes as secrets.

WAYS    by which a page goes before it comes to the link: httpd with mod_eeod at the application, with keys and without; behind another httpd that takes the marks out, passes pages on, or takes comments out; behind one
        without mod_eeod that passes on or compresses; not at all: the application's own framing, in packets of any size.
KINDS   what is in a page and its header, and what is asked for; each says by which ways it goes, so that all of it but what stands outside of the application's own marks is the visitor's.
"""
import gzip
import json
import os
import random
import re
import socket
import sys
import threading

sys.path[:0] = [os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")]

from lab.by_request import RequestByRequest, serve     # noqa: E402
from lab.marks import CLOSE, OPEN                      # noqa: E402

SECRET_LETTERS, PUBLIC_LETTERS, LETTERS, FRAGMENT = "QXZJKVWYqxzjkvwy", "BCDFGHLMNPRSTUbc", 32, 12
WAYS = ("on", "keyed", "strip", "through", "uncommented", "plain", "gzip", "raw")
VOUCHED = ("on", "keyed", "through", "plain", "raw")       # where marks that are asked for keep what is outside of them
FRONT = ("strip", "through", "uncommented", "plain", "gzip")

# What a visitor writes: marks, and what is nearly one.  @G: a key that he guesses.
FORMS = [OPEN, CLOSE, CLOSE * 3, OPEN + CLOSE, CLOSE + OPEN, OPEN * 2, b"<!--EEOD @G-->", b"<!--/EEOD @G-->", b"<!--/EEOD @G--><!--EEOD @G-->", b"<!--/eeod-->", b"<!--eeod-->", b"<!-- /EEOD -->",
         b"<!--/EEOD--->", b"<!--/EEOD->", b"<!--/EEOD", b"<!--/EEOD --> ", b"&lt;!--/EEOD--&gt;", b"&#60;!--/EEOD--&#62;", b"%3C!--/EEOD--%3E", b"\\u003c!--/EEOD--\\u003e", b"<!--<!--/EEOD-->",
         b"<!--/EEOD<!--/EEOD-->", b"<<!--/EEOD-->>", b"<!--/EEOD @G-->" * 2, b"<!--/EEOd-->", CLOSE.decode().encode("utf-16-le"), OPEN.decode().encode("utf-16-be"), b"<!--/EEOD\n-->", b"<!--/EEOD\0-->"]
CLOSING_ONE = [CLOSE, b"<!--/EEOD @G-->", b"<!--/eeod-->"]
# Where a closing mark does not count: what a visitor writes stands there as it is.  True: any number of them; each of the others ends what it stands in.
PLACES = [(b"<script>var me = '", b"';</script>", True), (b'<script type="application/json">{"name": "', b'"}</script>', True), (b"<textarea>", b"</textarea>", True), (b"<style>/* ", b" */</style>", True),
          (b"<title>", b"</title>", True), (b"<noscript>", b"</noscript>", True), (b"<xmp>", b"</xmp>", True), (b"<iframe>", b"</iframe>", True), (b"<noembed>", b"</noembed>", True),
          (b"<noframes>", b"</noframes>", True), (b'<input value="', b'">', True), (b"<a title='", b"'>", True), (b"<!-- ", b" -->", False), (b"<![CDATA[ ", b" ]]>", False)]
# Headers of a response that let no shared cache keep it, though they may look as if.
NOT_SHARED = [[], ["Cache-Control: private, max-age=60"], ["Cache-Control: no-store"], ["Cache-Control: no-cache"], ["Cache-Control: max-age=60", "Cache-Control: private"], ["Cache-Control: public, no-store"],
              ['Cache-Control: private="x-own", max-age=60'], ["Pragma: no-cache", "Cache-Control: max-age=60"], ["Set-Cookie: s=1", "Cache-Control: public, max-age=60"],
              ["Vary: *", "Cache-Control: max-age=9"], ["CACHE-CONTROL: PRIVATE, MAX-AGE=60"],
              ["Cache-Control:max-age=60,PRIVATE"], ['Cache-Control: extension="a, b", private, max-age=5'], ["Last-Modified: Thu, 01 Jan 2026 00:00:00 GMT", "Expires: 0"],
              ["Cache-Control: max-age=60, extension=" + "a" * 300 + ", private"], ["Cache-Control: s-maxage=0, public"]]
PRIVATE = [["Cache-Control: private"], ["Cache-Control: no-store"], ["Cache-Control: no-cache, private"], ['Cache-Control: private="x-own"'], ["cache-control: NO-STORE"], ["Cache-Control: no-cache", "Cache-Control: no-store"]]
COOKIE, AUTHORIZATION = "Cookie: session=7", "Authorization: Basic eDp5"


class Page:
    """head, body: of the response, the key as @K; ask: lines of the request; wire: what is found in a store if something of it is kept."""

    def __init__(self, number):
        self.number, self.r = number, random.Random(number)
        self.method, self.status, self.ask, self.head, self.secrets, self.publics = "GET", 200, [], ["Content-Type: text/html"], [], []
        self.framing, self.encoding, self.extra = self.r.choice(("length", "chunked", "chunked", "close" if not number % 40 else "length")), None, {}
        self.kind = self.r.choices(KINDS, [weight for _, weight in map(KIND.get, KINDS)])[0]
        self.body = b""
        KIND[self.kind][0](self)

    # -- words ------------------------------------------------------------------------------------------------------

    def secret(self):
        self.secrets.append("".join(self.r.choices(SECRET_LETTERS, k=LETTERS)))
        return self.secrets[-1].encode()

    def filling(self, least=0, most=3000):
        """Of everybody's words; the same for many pages."""
        words = (b"offer", b"street", b"<p>", b"</p>\n", b"the", b"a &amp; b", b"&lt;", b"weather", b"42")
        at, n = self.r.randrange(50), self.r.randint(least, most)
        return b" ".join(words[(at + i) % len(words)] for i in range(n // 6))       # no tag is cut

    def public(self):
        """Some segments, with a word of this page alone."""
        self.publics.append("".join(self.r.choices(PUBLIC_LETTERS, k=LETTERS)))
        return self.filling(3000, 4000) + b"<p>" + self.publics[-1].encode() + b"</p>\n" + self.filling(3000, 4000)

    def form(self, of=None):
        return self.r.choice(of or FORMS).replace(b"@G", b"%016x" % self.r.getrandbits(64))

    def own(self, anywhere, many=True):
        """What a visitor wrote; anywhere: closing marks of all kinds, as often as he likes."""
        text = self.secret() + b" "
        for _ in range(self.r.randint(0, 4) if anywhere and many else 1):
            text += self.form(FORMS if anywhere and many else CLOSING_ONE) + self.filling(0, self.r.choice((30, 400, 2500))) + self.secret() + b" "
        return text

    def placed(self):
        """Where it stands in a page, if the marks have no keys."""
        begins, ends, many = self.r.choice(PLACES)
        return begins + self.own(True, many) + ends

    def block(self, keyed):
        """Between two of the application's marks."""
        text = b""
        for _ in range(self.r.randint(1, 3)):
            text += self.r.choice((self.filling(0, 200), b""))
            text += self.own(True) if keyed and self.r.random() < 0.6 else self.placed() if self.r.random() < 0.8 else self.secret()
        # Places that were left open end with the page's own quotes and elements; text behind them is text.
        return (b"<!--EEOD @K-->" + text + b"<!--/EEOD @K-->") if keyed else OPEN + text + CLOSE

    def marked(self, keyed):
        """A page as its writer wants it: what is outside of marks is everybody's."""
        self.body = self.filling(0, 400)
        for _ in range(self.r.randint(1, 4)):
            self.body += self.block(keyed) + self.filling(0, 2500)
        self.body += self.block(keyed) + self.public()

    def go(self, *ways):
        self.way = self.r.choice(ways)

    def whole(self):
        """All of it is the visitor's."""
        self.body = b"<html>" + self.filling(0, 500) + self.secret()
        for _ in range(self.r.randint(1, 6)):
            self.body += self.form() + self.filling(0, 2000) + self.secret()
        self.body += self.filling(0, 3000) + self.secret()

    # -- kinds ------------------------------------------------------------------------------------------------------

    def vouched(self):
        """Marks are asked for: only what is in them is the visitor's.  He may be logged in."""
        self.go(*VOUCHED)
        self.head += ["Eeod: marks", *self.r.choice(([], ["Cache-Control: no-cache"], ["Set-Cookie: a=b"], ["Vary: Cookie"], ["Pragma: no-cache"]))]
        self.ask += self.r.choice(([], [COOKIE], [COOKIE, AUTHORIZATION]))
        self.marked(self.way == "keyed")
        self.head.append(f"X-Own: {self.secret().decode()}")

    def strangers(self):
        """The same, and visitors wrote into what is everybody's as well."""
        self.go(*VOUCHED)
        self.head += ["Eeod: marks"]
        self.ask += [COOKIE]
        keyed = self.way == "keyed"
        self.marked(keyed)
        words = [w for w in self.publics]
        self.body = b"<p>" + self.form() + b"</p>" + self.filling(0, 300) + self.form() + self.body
        self.publics = words if keyed else []       # without keys such marks make more of it unique

    def taken_out(self):
        """The marks do not come to the parent, so nothing does that it may keep."""
        self.go("strip", "uncommented", "gzip")
        self.head += ["Eeod: marks", "Cache-Control: no-cache"]
        self.ask += [COOKIE]
        self.marked(False)
        self.body += self.secret()
        self.publics = []
        if self.way == "gzip":
            self.ask.append("Accept-Encoding: gzip")
            self.encoding = "gzip"

    def not_asked(self):
        """Whatever marks there are, visitors wrote them."""
        self.go(*WAYS)
        self.head += self.r.choice(NOT_SHARED)
        self.ask += self.r.choice(([], [COOKIE], [AUTHORIZATION]))
        self.whole()
        if self.way == "gzip":
            self.ask.append("Accept-Encoding: gzip")
            self.encoding = "gzip"

    def forbidden(self):
        """Marks are asked for, and yet nobody is to keep the page."""
        self.go("on", "keyed", "through", "plain", "raw")
        self.head += ["Eeod: marks", *self.r.choice(PRIVATE)]
        self.ask += self.r.choice(([], [COOKIE]))
        self.marked(self.way == "keyed")
        self.body += self.secret()
        self.publics = []

    def asked_not_to(self):
        """The request says no-store."""
        self.go("on", "keyed", "raw")
        self.head += self.r.choice((["Eeod: marks"], ["Cache-Control: public, max-age=60"]))
        self.ask.append(self.r.choice(("Cache-Control: no-store", "cache-control: max-age=0, NO-STORE")))
        self.whole()

    def logged_in(self):
        """What would be everybody's if nobody had logged in."""
        self.go("on", "keyed", "raw")
        header, ask = self.r.choice(((["Last-Modified: Thu, 01 Jan 2026 00:00:00 GMT"], COOKIE), (["Cache-Control: public, s-maxage=60"], AUTHORIZATION),
                                     (["Last-Modified: Thu, 01 Jan 2026 00:00:00 GMT"], AUTHORIZATION), (["Vary: Cookie", "Cache-Control: public"], COOKIE),
                                     (["Vary: " + "Accept, " * 40 + "Cookie", "Cache-Control: public"], COOKIE),
                                     (["Vary: Accept-Language, authorization", "Cache-Control: public, max-age=60"], AUTHORIZATION)))
        self.head += header
        self.ask.append(ask)
        self.whole()

    def shared(self):
        """Everybody's, but for headers, what is in marks, and what else is in the framing."""
        self.go("on", "raw")
        self.head += [self.r.choice(("Cache-Control: public, max-age=60", "Cache-Control: s-maxage=60", "Cache-Control: max-age=60")), f"X-Own: {self.secret().decode()}"]
        if self.r.random() < 0.5:
            self.marked(False)
        else:
            self.body = self.public()
        if self.way == "raw" and self.framing == "chunked":
            self.extra = {"extension": self.secret(), "trailer": self.secret()}

    def no_answer_to_get(self):
        """Other methods, other states, parts."""
        self.go("on", "keyed", "raw", "through")
        what = self.r.choice(("post", "head", "state", "part"))
        self.head += ["Cache-Control: public, max-age=60"] if what != "part" else self.r.choice(NOT_SHARED)
        if what == "post":
            self.method = "POST"
            self.ask.append("Content-Length: 0")
        elif what == "head":
            self.method = "HEAD"
            self.head.append(f"X-Own: {self.secret().decode()}")
        elif what == "state":
            self.status = self.r.choice((403, 404, 410, 500, 503))
        self.whole()
        if what == "part":
            self.status = 206
            self.ask += ["Range: bytes=0-" + str(len(self.body) - 1), COOKIE]
            self.head.append(f"Content-Range: bytes 0-{len(self.body) - 1}/{len(self.body)}")

    def encoded(self):
        """Bodies in which marks are not what they look like."""
        self.go("on", "keyed", "raw", "through")
        self.ask += [COOKIE]
        self.whole()
        if self.r.random() < 0.5:
            # Stored, so that the words stand in it as they are; marks too.
            self.body = gzip.compress(self.body, 0)
            self.head += ["Content-Encoding: gzip", "Eeod: marks"]
        else:
            self.body = OPEN.decode().encode("utf-16-le") * 2 + self.body.decode("latin-1").encode("utf-16-le") + CLOSE.decode().encode("utf-16-le")
            self.head[0] = "Content-Type: text/html; charset=utf-16"
            if self.way != "raw":       # who says it without mod_eeod is believed
                self.head.append("Eeod: marks")

    # -- on the wire ------------------------------------------------------------------------------------------------

    def target(self):
        return f"/{self.way}/p{self.number}"

    def request(self):
        return "".join(f"{line}\r\n" for line in (f"{self.method} {self.target()} HTTP/1.1", "Host: www.example.org", *self.ask, "")).encode()

    def response(self, key):
        """Pieces of it."""
        body = self.body.replace(b"@K", key)
        head = [f"HTTP/1.1 {self.status} Said", *self.head]
        if self.method == "HEAD":
            return ["".join(f"{line}\r\n" for line in (*head, f"Content-Length: {len(body)}", "")).encode()], False
        framing = self.framing
        head.append("Transfer-Encoding: chunked" if framing == "chunked" else f"Content-Length: {len(body)}" if framing == "length" else "Connection: close")
        pieces, at = [], 0
        while at < len(body):
            piece = body[at:at + self.r.choice((1, 7, 60, 900, 3000, 9000))]
            at += len(piece)
            extension = b";x=" + self.extra["extension"] if self.extra and at == len(piece) else b""
            pieces.append(b"%x%s\r\n%s\r\n" % (len(piece), extension, piece) if framing == "chunked" else piece)
        if framing == "chunked":
            pieces.append(b"0\r\n" + (b"X-Own: " + self.extra["trailer"] + b"\r\n" if self.extra else b"") + b"\r\n")
        first = "".join(f"{line}\r\n" for line in (*head, "")).encode()
        if self.r.random() < 0.5 and pieces:
            pieces[0] = first + pieces[0]
        else:
            pieces.insert(0, first)
        joined = []
        for piece in pieces:        # some leave together
            if joined and self.r.random() < 0.7:
                joined[-1] += piece
            else:
                joined.append(piece)
        return joined, framing == "close"


KIND = {"vouched": (Page.vouched, 20), "strangers": (Page.strangers, 15), "taken-out": (Page.taken_out, 10), "not-asked": (Page.not_asked, 20), "forbidden": (Page.forbidden, 8),
        "asked-not-to": (Page.asked_not_to, 4), "logged-in": (Page.logged_in, 6), "shared": (Page.shared, 10), "no-answer-to-get": (Page.no_answer_to_get, 5), "encoded": (Page.encoded, 5)}
KINDS = list(KIND)


# ---- the application ---------------------------------------------------------------------------------------------------------------

class Application(RequestByRequest):
    def one(self):
        line = self.rfile.readline().split()
        if not line:
            return False
        key = b"0" * 16
        while header := self.rfile.readline().strip():
            name, _, value = header.partition(b":")
            if name.lower() == b"eeod-key":
                key = value.strip()
        page = Page(int(line[1].rpartition(b"/p")[2]))
        pieces, ends = page.response(key)
        for piece in pieces:
            self.wfile.write(piece)
        return not ends


# ---- visitors ----------------------------------------------------------------------------------------------------------------------

class Visitor(threading.Thread):
    """One after the other, some at once on a connection; each way has one."""

    def __init__(self, numbers, ways, report):
        super().__init__()
        self.numbers, self.ways, self.report, self.connections, self.failed = numbers, ways, report, {}, None

    def run(self):
        try:
            pages = []
            for number in self.numbers:
                pages.append(Page(number))
                same = len({self.ways[p.way] for p in pages}) == 1 and all(p.method == "GET" and p.framing != "close" and p.status == 200 for p in pages)
                if same and len(pages) < 4 and pages[0].number % 3 == 0:
                    continue        # a pipeline
                last = [] if same or len(pages) == 1 else [pages.pop()]
                self.visit(pages)
                pages = last
            if pages:
                self.visit(pages)
        except Exception as e:          # pylint: disable=broad-exception-caught
            self.failed = repr(e)

    def connection(self, way):
        if way not in self.connections:
            s = socket.create_connection(self.ways[way], timeout=30)
            self.connections[way] = (s, s.makefile("rb"))
        return self.connections[way]

    def visit(self, pages):
        way = pages[0].way
        s, f = self.connection(self.way_of(way))
        s.sendall(b"".join(p.request() for p in pages))
        for p in pages:
            head, body, ends = self.answer(f, p)
            self.check(p, head, body)
            if ends:
                s.close()
                del self.connections[self.way_of(way)]
        if not ends and pages[0].number % 50 == 0:
            s.close()
            del self.connections[self.way_of(way)]

    def way_of(self, way):
        """Ways of one server share its connections."""
        return next(w for w in self.ways if self.ways[w] == self.ways[way])

    @staticmethod
    def answer(f, page):
        status = f.readline()
        if not status.startswith(b"HTTP/1."):
            raise OSError(f"page {page.number}: no answer: {status!r}")
        head, length, chunked, ends = status, None, False, False
        while (line := f.readline()) not in (b"\r\n", b""):
            head += line
            name, _, value = line.partition(b":")
            name, value = name.lower(), value.strip().lower()
            length = int(value) if name == b"content-length" else length
            chunked |= name == b"transfer-encoding"
            ends |= name == b"connection" and value == b"close"
        if page.method == "HEAD":
            return head, b"", ends
        if not chunked:
            return head, f.read() if length is None else f.read(length), ends or length is None
        body = b""
        while n := int(f.readline().partition(b";")[0], 16):
            body += f.read(n)
            f.readline()
        while f.readline().strip():
            pass
        return head, body, ends

    def check(self, page, head, body):
        """The visitor has got what is his."""
        if page.encoding == "gzip":
            if b"content-encoding: gzip" not in head.lower():
                raise OSError(f"page {page.number} ({page.kind}, {page.way}): not compressed")
            middle = len(body) // 2
            with self.report.lock:
                self.report.compressed.append(body[middle:middle + 24].hex())
            body = gzip.decompress(body)
        last = page.secrets[-1].encode()
        # A HEAD has headers only; a secret of the framing ends with the proxy.
        if page.method != "HEAD" and last not in head + body and last.decode().encode("utf-16-le") not in body and not page.extra:
            raise OSError(f"page {page.number} ({page.kind}, {page.way}) came without its secret: {head!r} {body[-300:]!r}")
        with self.report.lock:
            self.report.pages[f"{page.kind}"] = self.report.pages.get(page.kind, 0) + 1
            self.report.bytes += len(body)


class Report:
    def __init__(self):
        self.lock, self.pages, self.bytes, self.compressed = threading.Lock(), {}, 0, []


def visit(first, count, threads, ways):
    report = Report()
    visitors = [Visitor(range(first + i, first + count, threads), ways, report) for i in range(threads)]
    for v in visitors:
        v.start()
    for v in visitors:
        v.join()
    failed = [v.failed for v in visitors if v.failed]
    print(json.dumps({"pages": report.pages, "bytes": report.bytes, "compressed": report.compressed, "failed": failed}))
    return 1 if failed else 0


# ---- what is found -----------------------------------------------------------------------------------------------------------------

def rows(letters):
    """An expression for so many of these letters in a row, in one byte each or two."""
    one = b"[" + letters.encode() + b"]"
    return re.compile(b"%s{%d,}|(?:%s\\0){%d,}" % (one, FRAGMENT, one, FRAGMENT))


SECRET_ROWS, PUBLIC_ROWS = rows(SECRET_LETTERS), rows(PUBLIC_LETTERS)


def main(words):
    if words[0] == "serve":
        serve(words[1], words[2], Application)
    named = dict(word.split("=") for word in words[4:])
    ways = {way: (at.partition(":")[0], int(at.partition(":")[2])) for way, at in named.items()}
    return visit(int(words[1]), int(words[2]), int(words[3]), ways)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
