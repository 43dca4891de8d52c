# SPDX-License-Identifier: BSD-2-Clause
"""What is a visitor's own, looked for in what both packet caches keep: two httpds in a chain before them, pages whose marks are taken out on the way, marks that visitors write.

Each page has a secret that is written nowhere else; the stores of both daemons are searched for it, in the daemons' memory.  A page that everybody may keep passes behind it: when that is in
both stores, all before has had its effect."""

import os
import random
import string

import pytest

from lab.httpd import Httpd, sanitizer_environment
from lab.lab import kept_lab, module, wait_for
from lab.marks import CLOSE, OPEN
from lab.pair import Pair
from lab.pair_kept import stores
from test_pktcache import get

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs network namespaces")

COOKIE = ("-H", "Cookie: session=7")
ASKED = "Eeod: marks"
# An application: the header and the body that the test has put there, with the key in the place of @K.
CGI = """#!/bin/sh
cat {root}/$QUERY_STRING.head
printf '\\n'
sed "s/@K/$HTTP_EEOD_KEY/g" {root}/$QUERY_STRING.body
"""


def word():
    return "".join(random.choices(string.ascii_letters, k=40)).encode()


def text(of, size=9000):
    """Some segments of this word."""
    return (b"<p>" + of + b"</p>\n") * (size // (len(of) + 8))


class Chain:
    """/strip, /on and /off: the front httpd, which passes on what the back one makes with mod_eeod; /keyed: where marks are to have keys."""

    def __init__(self, lab):
        self.pair = Pair(lab).start()
        self.root = os.path.join(lab.dir, "chain")
        os.makedirs(self.root)
        os.chmod(self.root, 0o755)
        self.write("page.cgi", CGI.format(root=self.root).encode(), 0o755)
        options = dict(htdocs=self.root, load={"eeod": module("mod_eeod")}, environment=sanitizer_environment())
        self.back = Httpd(lab, name="back", cgi=True, config=f"EeodKey Off\nAlias /keyed {self.root}\n<Location />\nEeodEngine On\n</Location>\n<Location /keyed>\nEeodKey On\n</Location>\n",
                          **options).on(self.pair.servers).start()
        config = "".join(f"ProxyPass /{where}/ http://{self.back.address}/\n" for where in ("strip", "on", "off"))
        config += f"ProxyPass /keyed/ http://{self.back.address}/keyed/\n<Location /keyed>\nEeodEngine On\n</Location>\n"
        config += "EeodKey Off\n<Location /strip>\nEeodEngine On\nEeodStrip On\n</Location>\n<Location /on>\nEeodEngine On\n</Location>\n"
        self.front = Httpd(lab, name="front", config=config, **options).on(self.pair.servers).start()
        self.pair.url = f"http://{self.front.address}"
        self.pair.parent.settings["ports"] = self.pair.child.settings["ports"] = self.front.port
        self.pair.both()

    def stop(self):
        self.pair.stop()
        self.front.stop()
        self.back.stop()

    def write(self, name, data, mode=0o644):
        path = os.path.join(self.root, name)
        with open(path, "wb") as f:
            f.write(data)
        os.chmod(path, mode)

    def visit(self, where, header, body, *words):
        """What a visitor gets, twice, of a page of this application."""
        name = word().decode()
        self.write(f"{name}.head", "".join(f"{line}\n" for line in ("Content-Type: text/html", *header)).encode())
        self.write(f"{name}.body", body)
        for _ in range(2):
            got = get(self.pair, f"/{where}/page.cgi?{name}", *words)
            if where == "keyed":
                assert got == body.replace(OPEN, b"<!--EEOd-->").replace(CLOSE, b"<!--/EEOd-->").replace(b"EEOD @K-->", b"EEOD-->")
            else:
                assert got == (body.replace(OPEN, b"").replace(CLOSE, b"") if where == "strip" and OPEN in body else body)

    def visit_until_kept(self, what, *page):
        """What is sent when the daemons have a pause is not kept."""
        for _ in range(20):
            self.visit(*page)
            if in_stores(self.pair, what) == (True, True):
                return
        raise AssertionError("what is everybody's is not in the stores")

    def kept(self, *words):
        """Which of them are in the parent's store and in the child's, after all that has been before."""
        last = word()
        self.visit_until_kept(last, "off", ["Cache-Control: public, max-age=60"], text(last))
        return [in_stores(self.pair, w) for w in words]


def in_stores(pair, what):
    return tuple(any(what in piece for piece in stores(d.pid())) for d in (pair.parent, pair.child))


@pytest.fixture
def chain(request):
    with kept_lab("private", lambda: request.session.testsfailed > 0) as lab:
        made = Chain(lab)
        yield made
        made.stop()


NEITHER, BOTH = (False, False), (True, True)


def test_marks_that_are_asked_for_open_a_page(chain):
    """What all these tests would miss if nothing were kept at all: a page of a visitor who is logged in, as its application wants it."""
    public, secret, between = word(), word(), word()
    body = text(public) + OPEN + text(secret) + CLOSE + text(between) + OPEN + secret + CLOSE
    chain.visit_until_kept(between, "on", [ASKED, "Cache-Control: no-cache"], body, *COOKIE, "-H", "Authorization: Basic eDp5")
    assert chain.kept(public, between, secret) == [BOTH, BOTH, NEITHER]


def test_a_mark_that_a_visitor_wrote_opens_nothing(chain):
    """As text within a pair, where nothing but the key tells it from the application's: what stands behind it is not kept, and the rest of the page is."""
    public, secret, between, other = word(), word(), word(), word()
    body = text(public) + b"<!--EEOD @K-->hello " + CLOSE + text(secret) + b"<!--/EEOD @K-->" + text(between)
    chain.visit_until_kept(between, "keyed", [ASKED, "Cache-Control: no-cache"], body, *COOKIE)
    assert chain.kept(public, between, secret) == [BOTH, BOTH, NEITHER]
    # Without keys it opens the page: what would be found here.
    chain.visit_until_kept(other, "on", [ASKED, "Cache-Control: no-cache"], text(public) + OPEN + b"hello " + CLOSE + text(other) + CLOSE + text(between), *COOKIE)


@pytest.mark.parametrize("header", ([], [ASKED]))
def test_a_page_whose_marks_are_taken_out_on_the_way(chain, header):
    """The word for packet caches must not outlive the marks."""
    secret = word()
    chain.visit("strip", [*header, "Cache-Control: no-cache"], text(word()) + OPEN + text(secret) + CLOSE + text(word()), *COOKIE)
    assert chain.kept(secret) == [NEITHER]


@pytest.mark.parametrize("where", ("on", "off"))
@pytest.mark.parametrize("header", ([], ["Cache-Control: private, no-store"], [ASKED, "Cache-Control: private, no-store"], [ASKED, 'Cache-Control: no-cache, private="x"']), ids=str)
def test_marks_that_only_a_visitor_wrote(chain, where, header):
    """Of a page whose application asked for nothing, or forbids to keep it."""
    secret = word()
    for marks in (OPEN + b" " + CLOSE, OPEN + CLOSE + CLOSE):
        chain.visit(where, header, b"<html>" + marks + text(secret), *COOKIE)
        chain.visit(where, header, b"<html>" + marks + text(secret))        # it may be known by its address, or by what is in its URL
    assert chain.kept(secret) == [NEITHER]


@pytest.mark.parametrize("begins,ends", (
    (b"<script>var me = '", b"';</script>"), (b'<script type="application/json">{"name": "', b'"}</script>'), (b"<textarea>", b"</textarea>"), (b"<style>/* ", b" */</style>"),
    (b"<title>", b"</title>"), (b"<noscript>", b"</noscript>"), (b"<xmp>", b"</xmp>"),
    (b'<input value="', b'">'), (b"<input value='\">", b"'>"), (b"<!-- ", b" -->"), (b"<![CDATA[ ", b" ]]>")), ids=str)
def test_a_closing_mark_where_a_visitors_text_is_not_escaped(chain, begins, ends):
    public, secret, behind = word(), word(), word()
    inside = (secret + b" ") * 200
    body = text(public) + OPEN + begins + CLOSE + inside + ends + CLOSE + text(behind)
    chain.visit_until_kept(behind, "on", [ASKED, "Cache-Control: no-cache"], body, *COOKIE)
    assert chain.kept(public, secret, behind) == [BOTH, NEITHER, BOTH]


def test_behind_a_closing_mark_too_many_nothing_is_kept(chain):
    """A visitor's closing mark in plain text ends the block: that can't be told.  But the page writer's own is then one too many, and a sign."""
    public, second, behind = word(), word(), word()
    # So far behind the first mark that the header has gone when the sign comes.
    body = b"<html>" * 50 + OPEN + b"me" + CLOSE + text(public, 60_000) + CLOSE + text(second) + OPEN + text(behind) + CLOSE + text(behind)
    chain.visit_until_kept(public, "on", [ASKED, "Cache-Control: no-cache"], body, *COOKIE)
    assert chain.kept(public, second, behind) == [BOTH, NEITHER, NEITHER]


def test_beside_what_everybody_may_keep(chain):
    """A body that may be kept begins in the packet that ends its header, and may have marks: blocks of it hold nothing of either."""
    public, header, secret, behind = word(), word(), word(), word()
    body = text(public) + OPEN + text(secret) + CLOSE + text(behind)
    chain.visit_until_kept(public, "off", ["Cache-Control: public, max-age=60", f"X-Secret: {header.decode()}"], body)
    assert chain.kept(public, header, secret, behind) == [BOTH, NEITHER, NEITHER, BOTH]


@pytest.mark.parametrize("header,words", (
    (["Cache-Control: public, max-age=60", "Vary: Accept-Encoding, Cookie"], COOKIE), (["Cache-Control: public, max-age=60", "Vary: Authorization"], ("-H", "Authorization: Basic eDp5")),
    (["Cache-Control: public, max-age=60", "Vary: X-User"], ("-H", "X-User: ann")), (["Cache-Control: max-age=60", "Vary: X-Session"], COOKIE),
    (["Cache-Control: public, max-age=60", "Vary: *"], ()), (["Cache-Control: public, max-age=60", "Vary: Cookie", "Set-Cookie: session=7"], ())), ids=str)
def test_what_varies_by_who_asks(chain, header, words):
    secret = word()
    chain.visit("off", header, text(secret), *words)
    assert chain.kept(secret) == [NEITHER]


def test_what_varies_and_nobody_said_who_he_is(chain):
    """What the test before would miss if anything that varies were not kept."""
    public = word()
    chain.visit_until_kept(public, "off", ["Cache-Control: max-age=60", "Vary: Accept-Encoding, Cookie, X-User"], text(public))


def test_a_part_of_what_may_be_a_visitors_own(chain):
    """As of the whole: a file is everybody's if nobody said who he is."""
    public, secret = word(), word()
    chain.write("secret", text(secret, 60_000))
    chain.write("public", text(public, 60_000))
    for _ in range(2):
        assert secret in get(chain.pair, "/secret", "-r", "1000-50000", *COOKIE)
    for _ in range(20):
        assert public in get(chain.pair, "/public", "-r", "1000-50000")
        if in_stores(chain.pair, public) == BOTH:
            break
    assert chain.kept(public, secret) == [BOTH, NEITHER]
