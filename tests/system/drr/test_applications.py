# SPDX-License-Identifier: BSD-2-Clause
"""Real applications behind the example for a PHP application: signing in, editing, comments and uploads are what they are without the module, alone and while crawlers fill the window.

What somebody does there is a list of what he saw: statuses, where he was sent, what stands on pages, the names of cookies, bytes.  Each visit has a page and a file of its own.
"""
import html
import os
import random
import re
import struct
import zlib

import http1
import mediawiki
import pytest
import wiki
from example import Example

from lab.browser import Browser, fields
from lab.httpd import Httpd, PhpFpm
from lab.load import Load

WORDS, WRITTEN = "What was written, with ümläuts & <signs>", "ümläuts &amp; &lt;signs&gt;"
PASSWORD = "an unusual password"
OURS = "fairgate"       # the gateway's own cookie
SEEN = "<?php header('Content-Type: text/plain'); $n = array_keys($_COOKIE); sort($n); echo implode(' ', $n), '|', $_SERVER['HTTP_FAIRGATE_CLASS'] ?? '';"


def photo(seed):
    """A PNG of some 200 KB that nobody packs any further."""
    side, rng = 256, random.Random(seed)
    rows = b"".join(b"\0" + rng.randbytes(3 * side) for _ in range(side))

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def names(jar):
    """Of the application's cookies; DokuWiki calls one after its port."""
    return sorted(re.sub(r"^DW[0-9a-f]{32}$", "DW", name) for name in jar if name != OURS)


class Visit:
    """saw: (what, what came of it) of all that somebody with the browser b did; `own` is the name of his page and his file."""

    def __init__(self, b, own):
        self.b, self.own, self.saw = b, own, []

    def note(self, what, *came):
        self.saw.append((what, *came))

    def page(self, what, answer, *words):
        self.note(what, answer.status, re.sub(r"^https?://[^/]*", "", answer.location()).replace(self.own, "OWN"), *(f"{'no ' * (w not in answer.text)}{w}" for w in words))
        return answer

    def uploaded(self, path, data):
        got = self.b.get(path)
        self.note("the upload", got.status, dict(got.headers)["Content-Type"], got.body == data)


def visit_dokuwiki(b, own):
    v = Visit(b, own)

    def write(what, name):
        form = fields(v.page(f"{what}: the editor", b.get(f"/doku.php?id={name}&do=edit"), "wikitext").text, "wikitext")
        v.page(f"{what}: saved", b.post(f"/doku.php?id={name}", {**form, "id": name, "wikitext": WORDS, "summary": "", "do[save]": "1"}))
        v.page(what, b.get(f"/doku.php?id={name}"), WRITTEN, "do=logout")

    v.page("before", b.get("/doku.php?id=start"), "words of a wiki", "do=login", "do=logout")
    v.page("no editor for strangers", b.get(f"/doku.php?id={own}&do=edit"), "do[save]")
    v.note("signed in", wiki.sign_in(b, "start", "somebody", PASSWORD), names(b.jar))
    write("an edit", own)
    write("a comment", f"talk:{own}")
    data = photo(own)
    form = fields(v.page("media", b.get("/lib/exe/mediamanager.php?ns="), "upload").text, 'name="upload"')
    v.page("uploaded", b.post("/lib/exe/mediamanager.php", {**form, "ns": "", "mediaid": f"{own}.png"}, file=("photo.png", data), field="upload"))
    v.uploaded(f"/lib/exe/fetch.php?media={own}.png", data)
    got = b.get("/seen.php").text
    v.note("what the application gets", names(got.partition("|")[0].split()), got.partition("|")[2], OURS in got)
    leave = re.search(r'href="([^"]*do=logout[^"]*)"', b.get(f"/doku.php?id={own}").text)
    v.page("signed out", b.get(html.unescape(leave.group(1)) if leave else "/none"))
    v.page("afterwards", b.get(f"/doku.php?id={own}"), WRITTEN, "do=login", "do=logout")
    v.note("cookies that are left", names(b.jar))
    return v.saw


def visit_mediawiki(b, own):
    v = Visit(b, own.capitalize())
    own = own.capitalize()

    def write(what, name):
        form = fields(v.page(f"{what}: the editor", b.get(f"/index.php?title={name}&action=edit"), "wpTextbox1").text, "wpTextbox1")
        v.page(f"{what}: saved", b.post(f"/index.php?title={name}&action=submit", {**form, "wpTextbox1": WORDS, "wpSummary": "", "wpSave": "1"}))
        v.page(what, b.get(f"/index.php?title={name}"), WRITTEN, "Special:UserLogout")

    v.page("before", b.get("/index.php?title=Main_Page"), "UserLogin", "UserLogout")
    form = fields(v.page("the form", b.get("/index.php?title=Special:UserLogin"), "wpPassword").text, "wpPassword")
    v.page("signed in", b.post("/index.php?title=Special:UserLogin", {**form, "wpName": mediawiki.ADMIN, "wpPassword": mediawiki.PASSWORD, "wploginattempt": "Log in"}))
    v.note("cookies", names(b.jar))
    write("an edit", own)
    write("a comment", f"Talk:{own}")
    data = photo(own)
    form = fields(v.page("upload", b.get("/index.php?title=Special:Upload"), "wpUploadFile").text, "wpUploadFile")
    v.page("uploaded", b.post("/index.php?title=Special:Upload", {**form, "wpDestFile": f"{own}.png", "wpUploadDescription": "", "wpIgnoreWarning": "1", "wpUpload": "Upload file"},
                              file=("photo.png", data), field="wpUploadFile"))
    found = re.search(rf'href="(/images/[^"]*/{own}\.png)"', v.page("the file's page", b.get(f"/index.php?title=File:{own}.png"), "256 × 256").text)
    v.uploaded(found.group(1) if found else "/none", data)
    form = fields(b.get("/index.php?title=Special:UserLogout").text, "UserLogout")
    v.page("signed out", b.post("/index.php?title=Special:UserLogout", form))
    v.page("afterwards", b.get(f"/index.php?title={own}"), WRITTEN, "UserLogin", "UserLogout")
    v.note("cookies that are left", names(b.jar))
    return v.saw


class Dokuwiki:
    hidden = ("/conf/local.php", "/data/pages/start.txt", "/inc/init.php", "//vendor/", "/%64ata/pages/start.txt")
    crawled, extensions, pool, more = "/doku.php?id=start&do=revisions&c={n}", wiki.EXTENSIONS, (), ""
    visit = staticmethod(visit_dokuwiki)

    def __init__(self, where):
        self.root = where
        wiki.make(where, useacl=1)
        wiki.add(where, "start", "====== A page ======\nwords of a wiki\n")
        wiki.add_user(where, "somebody", PASSWORD)
        wiki.tell_members(where)
        with open(f"{where}/seen.php", "w", encoding="utf-8") as f:
            f.write(SEEN)
        wiki.give(where)

    @staticmethod
    def missing():
        return "" if wiki.installed() else "dokuwiki is not installed"


class Mediawiki:
    hidden = ("/includes/WebStart.php", "/maintenance/install.php", "/images/evil.php", "/images/a/b/evil.PHP.png/x.php", "/images/deleted/x")
    crawled, extensions, root = "/index.php?title=Main_Page&action=raw&c={n}", mediawiki.EXTENSIONS, mediawiki.HERE
    visit, missing = staticmethod(visit_mediawiki), staticmethod(mediawiki.missing)

    def __init__(self, where):
        mediawiki.make(where)
        self.pool = (f"env[MW_CONFIG_FILE] = {where}/LocalSettings.php",)
        self.more = f"Alias /images {where}/images\n<Directory {where}/images>\n  Require all granted\n</Directory>\n<Directory {where}>\n  AllowOverride None\n</Directory>\n"


@pytest.fixture(params=(Dokuwiki, Mediawiki), ids=("dokuwiki", "mediawiki"), scope="module")
def site(request, parts):
    """One of them with its PHP-FPM, and what is seen there without the module: .usual."""
    if request.param.missing():
        pytest.skip(request.param.missing())
    made = request.param(os.path.join(parts.lab.dir, request.param.__name__.lower()))
    with PhpFpm(parts.lab, name="application-fpm", workers=16, extensions=("opcache", *made.extensions), pool=made.pool) as made.fpm:
        with Httpd(parts.lab, name="without", htdocs=made.root, php=made.fpm.address, config=made.more + "DirectoryIndex doku.php index.php\n") as g:
            made.usual = made.visit(Browser(g.port), "first")
        yield made


def example(parts, etc, site):
    return Example(parts, "php-fpm.conf", etc, more=site.more, SITE_ROOT=site.root, PHP_FPM=f"fcgi://{site.fpm.address}")


def saw(site, what):
    return next(came for seen, *came in site.usual if seen == what)


@pytest.mark.may_skip("DokuWiki and MediaWiki are for benches too: ./quickstart deps installs them")
def test_they_work_at_all(site):
    assert saw(site, "the upload") == [200, "image/png", True]
    for what in ("an edit", "a comment"):
        status, _, written, signed_in = saw(site, what)
        assert status == 200 and written == WRITTEN and not signed_in.startswith("no "), site.usual
    assert saw(site, "afterwards")[-1].startswith("no ")


@pytest.mark.may_skip("DokuWiki and MediaWiki are for benches too: ./quickstart deps installs them")
def test_an_application_works_as_without_the_module(parts, etc, site):
    with example(parts, etc, site) as g:
        b = Browser(g.port)
        assert site.visit(b, "alone") == site.usual
        assert "member" not in b.jar.get(OURS, "")
        assert g.status()["members"]["released"] >= 8
        assert {path: http1.get(g.port, path).status for path in site.hidden} == dict.fromkeys(site.hidden, 403)


@pytest.mark.may_skip("DokuWiki and MediaWiki are for benches too: ./quickstart deps installs them")
def test_an_application_works_beside_crawlers(parts, etc, site):
    crowd = {"name": "crawlers", "clients": 40, "url": site.crawled, "source": "127.0.2.1", "retry": 500}
    with example(parts, etc, site) as g, Load(g.address, [crowd], seconds=600):
        http1.until(lambda: g.status()["unknown"]["queued"] > 10, seconds=120, what="crawlers fill the window")
        assert site.visit(Browser(g.port), "crowd") == site.usual
        assert g.status()["unknown"]["queued"] > 0
