# SPDX-License-Identifier: BSD-2-Clause
"""fairgate-prober on sites in the test's hand: what is found, how large it is, and how it is asked for."""
import gzip
import itertools
import json
import os
import random
import signal
import subprocess
import time

import pytest

from http1 import until
from lab import prober
from website import Page, Website, page


def size(pages, path):
    return len(pages[path].body)


LINKED = {
    "/": page('<base href="/dir/"><a href="a.html?x=1&amp;y=2">a</a><img src=i.png srcset="i2.png 2x, /i3.png"><a href=#top>t</a>'
              '<link rel=stylesheet href=/s.css><meta http-equiv=refresh content="5; url=/refreshed"><iframe src=//HOST/framed></iframe>'
              '<a href="mailto:a@b">m</a><a href="/moved">m</a><a href=/missing>g</a><form action=/form></form>'),
    "/dir/a.html?x=1&y=2": page('<a href="../%7eescaped/./x/../y">e</a><a href="HTTP://HOST/upper">u</a><style>p{background:url(bg.png)}</style>'),
    "/dir/bg.png": Page(b"b" * 70, "image/png"),
    "/dir/i.png": Page(b"i" * 100, "image/png"),
    "/dir/i2.png": Page(b"i" * 200, "image/png"),
    "/i3.png": Page(b"i" * 300, "image/png"),
    "/s.css": Page(b"@import 't.css';a{b:url('/f.woff')}", "text/css"),
    "/t.css": Page(b"/* nothing */", "text/css"),
    "/f.woff": Page(b"f" * 400, "font/woff"),
    "/refreshed": page("refreshed"),
    "/framed": page("framed"),
    "/~escaped/y": page("escaped"),
    "/upper": page("upper"),
    "/moved": Page(status=301, headers={"Location": "/there"}),
    "/there": page("there"),
    "/only-in-map": page("map"),
    "/only-in-packed-map": page("packed map"),
    "/sitemap.xml": Page(b"<sitemapindex><sitemap><loc>http://HOST/one.xml.gz</loc></sitemap><sitemap><loc>/two.xml</loc></sitemap></sitemapindex>",
                         "application/xml"),
    "/one.xml.gz": Page(gzip.compress(b"<urlset><url><loc>http://HOST/only-in-packed-map</loc></url></urlset>", mtime=0), "application/gzip"),
    "/two.xml": Page(b"<urlset><url><loc>http://HOST/only-in-map</loc></url></urlset>", "text/xml"),
    "/robots.txt": Page(b"Sitemap: http://HOST/sitemap.xml\nUser-agent: *\nDisallow: /private\n", "text/plain"),
    "/private/x": page("private"),
}


def with_host(pages, port):
    for p in pages.values():
        if isinstance(p, Page) and not p.body.startswith(b"\x1f\x8b"):
            p.body = p.body.replace(b"HOST", b"127.0.0.1:%d" % port)
    return pages


@pytest.fixture
def linked():
    import copy
    with Website(copy.deepcopy(LINKED)) as site:
        with_host(site.pages, site.port)
        packed = gzip.decompress(site.pages["/one.xml.gz"].body).replace(b"HOST", b"127.0.0.1:%d" % site.port)
        site.pages["/one.xml.gz"].body = gzip.compress(packed, mtime=0)
        yield site


def test_every_link_is_followed(linked, table):
    linked.pages["/"].body += b'<a href="/private/x">p</a>'
    said = prober.crawl(table, linked.url + "/")
    wanted = {p for p, what in linked.pages.items() if what.status == 200} - {"/private/x", "/robots.txt"}
    found = prober.targets(table, linked.url)
    assert set(found) == wanted
    assert found == {p: size(linked.pages, p) for p in wanted}
    assert "by robots.txt" in said and "/private/x" not in linked.paths()
    assert linked.paths()[0] == "/robots.txt"
    # What holds no links is asked for its header only.
    assert {"/dir/i.png", "/dir/i2.png", "/i3.png", "/f.woff", "/dir/bg.png"} == set(linked.paths("HEAD"))
    agents = {r.headers["User-Agent"] for r in linked.asked}
    assert len(agents) == 1 and agents.pop().startswith("fairgate-prober/")


def test_second_walk_costs_headers(table):
    pages = {"/": page('<a href=/a>a</a><img src=/i>', etag='"1"'), "/a": page("a" * 5000, etag='"2"'), "/i": Page(b"i" * 5000, "image/png", etag='"3"')}
    with Website(pages) as site:
        prober.crawl(table, site.url)
        first = prober.rows(table)
        site.forget()
        prober.crawl(table, site.url)
        assert sorted(r.headers.get("If-None-Match") or "" for r in site.asked) == ["", '"1"', '"2"', '"3"'], "robots.txt, then one each"
        second = prober.rows(table)
        assert {u: r["body"] for u, r in first.items()} == {u: r["body"] for u, r in second.items()}
        # A page that changed is read again, with its links; one that is gone leaves; one that is only no longer linked stays.
        site.pages["/"] = page("<a href=/b>b</a>", etag='"4"')
        site.pages["/b"] = page("new", etag='"5"')
        del site.pages["/i"]
        prober.crawl(table, site.url)
        assert set(prober.targets(table, site.url)) == {"/", "/a", "/b"}
        assert prober.targets(table, site.url)["/"] == len(pages["/"].body.replace(b"<img src=/i>", b"").replace(b"a>a", b"b>b"))


def test_validators_of_packed_answers(table):
    """httpd calls the packed page "x-gzip" and knows it again only as "x"."""
    with Website({"/": Page(b"x" * 99, headers={"Vary": "Accept-Encoding"}, etag='"x-gzip"')}) as site:
        prober.crawl(table, site.url)
        site.forget()
        prober.crawl(table, site.url)
        assert site.asked[-1].headers["If-None-Match"] == '"x-gzip", "x"'


def test_size_that_varies(table):
    sizes = itertools.cycle([1000, 2000, 3000])
    with Website({"/": lambda r: Page(b"x" * next(sizes)), "/?x": lambda r: Page(b"y" * 50)}) as site:
        prober.crawl(table, site.url + "/", site.url + "/?x", samples=3)
        row = prober.rows(table)[site.url + "/"]
        assert (row["body"], row["samples"]) == (2000, 3)
        assert abs(row["spread"] - 816) <= 1, "the root of the mean square of -1000, 0, 1000"
        assert "v" in row["flags"]
        row = prober.rows(table)[site.url + "/?x"]
        assert (row["body"], row["samples"], row["spread"]) == (50, 2, 0), "two that are equal are enough"
        # A later walk weighs in what this one saw.
        sizes = itertools.repeat(6000)
        site.pages["/"] = lambda r: Page(b"x" * next(sizes))
        prober.crawl(table, site.url + "/")
        row = prober.rows(table)[site.url + "/"]
        assert row["body"] == round((3 * 2000 + 2 * 6000) / 5) and row["samples"] == 5


def test_how_long_pages_take(table):
    """Of whole answers to GET; a later walk counts as much as those before; what is asked for by HEAD has no time."""
    takes = {"/": 0.3}

    def slow(r):
        time.sleep(takes["/"])
        return page("<img src=/i>")
    with Website({"/": slow, "/i": Page(b"i" * 5000, "image/png", etag='"3"')}) as site:
        prober.crawl(table, site.url, samples=2)
        row = prober.rows(table)[site.url + "/"]
        assert 300_000 <= row["time"] < 2_000_000
        assert prober.rows(table)[site.url + "/i"]["time"] == 0
        takes["/"] = 0
        prober.crawl(table, site.url, samples=2)
        assert row["time"] / 2 <= prober.rows(table)[site.url + "/"]["time"] < row["time"]


def test_cookies_make_a_page_suspect(table):
    sizes = itertools.cycle([100, 200])
    with Website({"/": lambda r: Page(b"x" * next(sizes), headers={"Set-Cookie": "a=b"}, etag='"1"')}) as site:
        prober.crawl(table, site.url, samples=2)
        row = prober.rows(table)[site.url + "/"]
        assert (row["body"], row["samples"], row["spread"]) == (150, 2, 50)
        assert row["flags"] == "cdv"


def test_head_that_does_not_help(table):
    """No HEAD, or one without a length: then GET."""
    pages = {"/": page("<img src=/a><img src=/b>"), "/a": Page(b"a" * 123, "image/png", head=False), "/b": Page(b"b" * 321, "image/png", length=False)}
    with Website(pages) as site:
        prober.crawl(table, site.url, samples=1)
        assert prober.targets(table, site.url) == {"/": len(pages["/"].body), "/a": 123, "/b": 321}


def test_asked_to_wait(table):
    """503 with Retry-After: nothing is asked for until then, and then the page is."""
    busy = [True]

    def sometimes(_):
        if busy:
            busy.clear()
            return Page(b"busy", status=503, headers={"Retry-After": "2"})
        return page("there")
    with Website({"/": page("<a href=/a>a</a><a href=/b>b</a><a href=/c>c</a>"), "/a": sometimes, "/b": page("b"), "/c": page("c")}) as site:
        said = prober.crawl(table, site.url, connections=1)
        assert set(prober.targets(table, site.url)) == {"/", "/a", "/b", "/c"}
        times = [r.at for r in site.asked]
        gaps = [b - a for a, b in zip(times, times[1:])]
        assert 1.9 < gaps[site.paths().index("/a")] < 10, gaps
        assert "status 503; no request for 2 s" in said


def test_server_that_refuses_robots_txt_ends_the_crawl_without_announcing_a_pause(table):
    """The log announced "going on in 20 s", and the prober stopped at once."""
    def refused(_):
        return Page(b"busy", status=503)
    with Website({"/": page("text"), "/robots.txt": refused}) as site:
        said = prober.crawl(table, site.url, expect=3)
        lines = [line for line in said.splitlines() if "robots.txt" in line]
        assert site.paths() == ["/robots.txt"] * 3
        assert len(lines) == 3 and "no request for" in lines[1] and "could not be read, so no page is requested" in lines[2] and "3 times" in lines[2], said


def test_rate_and_crawl_delay(table):
    """Requests come no closer than --rate or robots.txt allow."""
    pages = {"/": page("".join(f"<a href=/{i}>x</a>" for i in range(10)))}
    pages |= {f"/{i}": page("x" * i, etag=f'"{i}"') for i in range(10)}
    with Website(pages) as site:
        prober.crawl(table, site.url, rate=20, connections=4)
        took = site.asked[-1].at - site.asked[0].at
        assert took > 11 * 0.05 - 0.1, "12 requests at 20 a second"
        site.pages["/robots.txt"] = Page(b"User-agent: *\nCrawl-delay: 0.1\n", "text/plain")
        site.forget()
        prober.crawl(table, site.url)
        times = [r.at for r in site.asked[1:]]
        assert times[-1] - times[0] > 10 * 0.1 - 0.1


@pytest.mark.parametrize("status,found", [(404, True), (403, True), (503, False)])
def test_robots_that_is_not_there(table, status, found):
    """RFC 9309, 2.3.1: not available lets everything be fetched; not reachable, nothing."""
    with Website({"/": page("x"), "/robots.txt": Page(b"", status=status, headers={"Retry-After": "1"})}) as site:
        said = prober.crawl(table, site.url, expect=0 if found else 3)
        assert ("/" in site.paths()) == found
        assert found or "robots.txt could not be read" in said
        site.forget()
        prober.crawl(table, site.url, ignore_robots=True)
        assert set(site.paths()) == {"/"}


def test_robots_elsewhere(table):
    """A redirect of robots.txt is followed inside the scope."""
    with Website({"/": page("<a href=/x>x</a>", etag='"1"'), "/x": page("x"), "/robots.txt": Page(status=302, headers={"Location": "/r2"}),
                  "/r2": Page(b"User-agent: *\nDisallow: /x\n", "text/plain")}) as site:
        prober.crawl(table, site.url)
        assert site.paths() == ["/robots.txt", "/r2", "/"]


def test_bounds(table):
    deep = {f"/{i}": page(f"<a href=/{i + 1}>next</a>") for i in range(50)}
    with Website(deep) as site:
        prober.crawl(table, site.url + "/0", max_depth=5)
        assert set(prober.targets(table, site.url)) == {f"/{i}" for i in range(6)}
        said = prober.crawl(table, site.url + "/0", max_pages=3, fresh=True, expect=3)
        assert len(prober.rows(table)) == 3 and "more URLs than --max-pages" in said
        prober.crawl(table, site.url + "/0", include=["/0$", "/1$"], fresh=True)
        assert len(prober.rows(table)) == 2
        prober.crawl(table, site.url + "/0", exclude=["/3$"], fresh=True)
        assert len(prober.rows(table)) == 3
        said = prober.crawl(table, site.url + "/0", rate=2, max_time=1, fresh=True, expect=3)
        assert "ended by --max-time" in said


def test_traps(table):
    """A calendar, permutations of a query, a path that grows, session ids: bounded."""
    names = [f"p{i}" for i in range(6)]

    def permutations(r):
        have = [w for w in r.path.partition("?")[2].split("&") if w]
        return page("".join(f'<a href="/sort?{"&".join(have + [f"{n}={random.randrange(9)}"])}">s</a>' for n in names))

    class Everything(dict):
        def get(self, path, default=None):
            if path.startswith("/sort"):
                return permutations
            if path.startswith("/calendar/"):
                n = int(path.rpartition("/")[2])
                return page(f"<a href=/calendar/{n - 1}>p</a><a href=/calendar/{n + 1}>n</a>")
            if path.startswith("/grow"):
                return page('<a href="grow/">g</a><a href="x/y/">g</a>')
            if path.startswith("/session"):
                return lambda r: page(f'<a href="/session?PHPSESSID={random.random()}">s</a><a href="/session;jsessionid={random.random()}">s</a>')
            return super().get(path, default)
    with Website({}) as site:
        site.pages = Everything({"/": page("<a href=/sort?>s</a><a href=/calendar/0>c</a><a href=/grow/>g</a><a href=/session>s</a>")})
        prober.crawl(table, site.url, max_depth=12, max_pattern=20, samples=1, seconds=120)
        found = prober.targets(table, site.url)
        count = {word: sum(t.startswith("/" + word) for t in found) for word in ("sort", "calendar", "grow", "session")}
        assert count["session"] == 1
        assert count["calendar"] == 2 * 11 + 1, "as deep as --max-depth"
        assert count["grow"] < 300
        assert count["sort"] <= 20 * 210, "20 of each set of names, of up to 12 names"
        assert len(site.asked) < 6000


def test_other_rules_read_documents_anew(table):
    """A page that has not changed hides no links that the last walk did not follow."""
    pages = {"/": page("<a href=/a>a</a><a href=/private/b>b</a><img src=/i>", etag='"0"'), "/a": page("a", etag='"1"'), "/private/b": page("b", etag='"2"'),
             "/i": Page(b"i", "image/png", etag='"3"'), "/robots.txt": Page(b"User-agent: *\nDisallow: /private/\n", "text/plain")}
    with Website(pages) as site:
        def statuses():
            site.forget()
            prober.crawl(table, site.url)
            return {r.path: "If-None-Match" in r.headers for r in site.asked if r.path != "/robots.txt"}
        assert statuses() == {"/": False, "/a": False, "/i": False}
        assert statuses() == {"/": True, "/a": True, "/i": True}
        del site.pages["/robots.txt"]
        assert statuses() == {"/": False, "/a": False, "/i": True, "/private/b": False}
        assert statuses() == {"/": True, "/a": True, "/i": True, "/private/b": True}
        # What may not be asked for any more is not, and stays.
        site.pages["/robots.txt"] = Page(b"User-agent: *\nDisallow: /private/\n", "text/plain")
        assert statuses() == {"/": False, "/a": False, "/i": True}
        assert len(prober.rows(table)) == 4


def test_more_pages_the_next_time(table):
    """What --max-pages left out is found when there is room, though no page has changed."""
    with Website(many(30)) as site:
        prober.crawl(table, site.url, max_pages=10, expect=3)
        prober.crawl(table, site.url, max_pages=100)
        assert len(prober.rows(table)) == 31


@pytest.mark.parametrize("status", [404, 500])
def test_a_page_that_comes_back(table, status):
    """One that fails while it is first met is asked for again, though the page that links to it has not changed."""
    with Website({"/": page("<a href=/b>b</a>", etag='"0"'), "/b": Page(b"", status=status)}) as site:
        prober.crawl(table, site.url)
        assert set(prober.targets(table, site.url)) == {"/"}
        site.pages["/b"] = page("there", etag='"1"')
        site.forget()
        prober.crawl(table, site.url)
        assert prober.targets(table, site.url)["/b"] == 5
        assert [r.headers.get("If-None-Match") for r in site.asked if r.path == "/"] == ['"0"']


def test_half_a_visit_leaves_no_validator(table):
    """A new validator is the table's only together with the new size."""
    answers = {"whole": True}

    def changing(r):
        if "gzip" in r.headers.get("Accept-Encoding", "") and "br" not in r.headers["Accept-Encoding"]:
            return Page(gzip.compress(b"x" * 5000, mtime=0), headers={"Content-Encoding": "gzip"}, etag='"b"') if answers["whole"] else Page(status=503)
        return Page(brotli, headers={"Content-Encoding": "br"}, etag='"b"')
    # 5,000 times x, packed by brotli's own program.
    brotli = bytes.fromhex("1b8713f825f0e2b14020680100")
    pages = {"/": page("old", etag='"a"'), "/robots.txt": Page(b"", "text/plain")}
    with Website(pages) as site:
        prober.crawl(table, site.url)
        site.pages["/"] = changing
        answers["whole"] = False
        p = start(table, "--rate", 0, site.url)
        until(lambda: len(site.paths()) > 4, what="requests")
        p.send_signal(signal.SIGTERM)
        p.communicate(timeout=20)
        answers["whole"] = True
        prober.crawl(table, site.url)
        assert prober.rows(table)[site.url + "/"]["body"] == 5000


def test_patterns_are_spelt(table):
    pages = {"/": page('<a href="/caf%c3%a9">c</a><a href="/a b">b</a><a href="/%7Euser">u</a><a href="/in/1">i</a>'), "/caf%C3%A9": page("c"), "/a%20b": page("b"),
             "/~user": page("u"), "/in/1": page("i")}
    with Website(pages) as site:
        prober.crawl(table, site.url, exclude=["/café", "/a b", "/%7euser"])
        assert set(prober.targets(table, site.url)) == {"/", "/in/1"}
        prober.crawl(table, site.url, include=["/in/"], fresh=True)
        assert set(prober.targets(table, site.url)) == {"/", "/in/1"}, "where the walk begins is not for the patterns to say"


def test_pauses_beside_a_crawl_delay(table):
    """A server that is down is given up, however slowly it is asked."""
    with Website({"/": page("<a href=/a>a</a>"), "/a": page("a"), "/robots.txt": Page(status=503, headers={"Retry-After": "1"})}) as site:
        said = prober.crawl(table, site.url, rate=1, expect=3)
        assert "robots.txt could not be read" in said and site.paths("GET").count("/robots.txt") <= 4


def test_follow_ups_keep_the_rate(table):
    """Also what is asked for once more."""
    with Website({"/": lambda r: Page(b"x" * random.randrange(1, 5000))}) as site:
        prober.crawl(table, site.url, rate=4, samples=4)
        times = [r.at for r in site.asked]
        assert len(times) == 5 and times[-1] - times[0] > 4 * 0.25 - 0.3, "0.25 s apart, and what the server was late"


def test_nofollow_in_a_second_line_of_its_field_is_obeyed(table):
    """A field may go on in a line that begins with a blank."""
    with Website({"/": page("<a href=/a>a</a><a href=/b>b</a>"), "/b": page("b"),
                  "/a": page("<a href=/not>x</a>", headers={"X-Robots-Tag": "noindex,\r\n nofollow"}), "/not": page("not")}) as site:
        prober.crawl(table, site.url)
        assert "/a" in site.paths() and "/b" in site.paths() and "/not" not in site.paths()


def test_head_that_lies(table):
    """A length of 0, a script that is packed for GET only, a 404 for HEAD only."""
    packed = gzip.compress(b"// script" * 999, mtime=0)

    def script(r):
        return Page(b"// script" * 999, "text/javascript") if r.method == "HEAD" else Page(packed, "text/javascript", headers={"Content-Encoding": "gzip"}, etag='"s"')
    pages = {"/": page("<img src=/zero><script src=/s></script><img src=/get>"), "/s": script,
             "/zero": lambda r: Page(b"" if r.method == "HEAD" else b"z" * 77, "image/png"),
             "/get": lambda r: Page(status=404) if r.method == "HEAD" else Page(b"g" * 88, "image/png")}
    with Website(pages) as site:
        prober.crawl(table, site.url)
        found = prober.rows(table)
        assert found[site.url + "/zero"]["body"] == 77 and found[site.url + "/get"]["body"] == 88
        assert (found[site.url + "/s"]["body"], found[site.url + "/s"]["gzip"]) == (9 * 999, len(packed))


# ---- interruptions ------------------------------------------------------------------------------------------------------------------

def many(n, slow=0.0):
    def one(r):
        time.sleep(slow)
        return page("x" * (len(r.path) * 10), etag=f'"{r.path}"')
    pages = {f"/{i}": one for i in range(n)}
    pages["/"] = page("".join(f"<a href=/{i}>x</a>" for i in range(n)), etag='"0"')
    return pages


def start(table, *words, before=()):
    return subprocess.Popen([*before, *prober.command("crawl", *prober.AS_ROOT, "--table", table, "--checkpoint", 1, *words)], stderr=subprocess.PIPE, text=True)


def test_interrupted_and_resumed(table):
    with Website(many(100)) as site:
        prober.crawl(table, site.url, max_pages=10, expect=3)
        assert not os.path.exists(f"{table}.part"), "nothing is left to go on with"
        before = table.read_bytes()
        p = start(table, "--rate", 50, site.url)
        until(lambda: len(site.asked) > 60, what="60 requests")
        p.send_signal(signal.SIGTERM)
        said = p.communicate(timeout=20)[1]
        assert p.returncode == 4, said
        assert "interrupted" in said
        assert table.read_bytes() == before
        done = set(site.paths())
        site.forget()
        said = prober.crawl(table, site.url)
        assert "going on where the last walk was interrupted" in said
        again = set(site.paths()) & done - {"/robots.txt"}
        assert len(again) <= 4, f"at most what was in flight is asked for twice: {again}"
        assert len(prober.rows(table)) == 101
        assert not os.path.exists(f"{table}.part")


def test_killed(table, kills):
    """kill -9, SIGTERM and a file that may not grow, at random moments: the table is the old one or the new one."""
    dice = random.Random(7)
    with Website(many(60, slow=0.002)) as site:
        prober.crawl(table, site.url)
        whole = prober.targets(table, site.url)
        for i in range(kills // 2):
            if i % 5 == 0:
                table.unlink(missing_ok=True)
            small = ["prlimit", f"--fsize={dice.randrange(6000)}"] if i % 4 == 3 else []
            p = start(table, "--rate", 0, *(["--fresh"] if i % 3 == 0 else []), site.url, before=small)
            time.sleep(dice.uniform(0, 0.25))
            if not small:
                p.send_signal(signal.SIGKILL if i % 4 else signal.SIGTERM)
            p.communicate(timeout=30)
            if table.exists():
                assert prober.targets(table, site.url) == whole
            if os.path.exists(f"{table}.part"):
                prober.run("show", f"{table}.part")
        prober.crawl(table, site.url)
        assert prober.targets(table, site.url) == whole


def test_disk_full(table, tmp_path):
    """A file system with no room: it is said, the old table stays, and with room again it works."""
    small = tmp_path / "small"
    small.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16k", "fairgate-test", small], check=True)
    try:
        t = small / "pages"
        with Website(many(300)) as site:
            prober.crawl(t, site.url + "/1")
            before = t.read_bytes()
            said = prober.crawl(t, site.url, expect=1)
            assert "No space left on device" in said
            assert t.read_bytes() == before
            subprocess.run(["mount", "-o", "remount,size=1m", small], check=True)
            prober.crawl(t, site.url)
            assert len(prober.rows(t)) == 301
    finally:
        subprocess.run(["umount", small], check=True)


def test_one_walk_at_a_time(table):
    with Website(many(50)) as site:
        p = start(table, "--rate", 10, site.url)
        until(lambda: len(site.asked) > 2, what="requests")
        said = prober.crawl(table, site.url, expect=5)
        assert "another walk writes this table now" in said
        p.terminate()
        p.communicate(timeout=20)


def test_damaged_table(table):
    """It is not overwritten by chance."""
    table.write_text("fairgate-pages\t1\t5\nrubbish\n")
    with Website({"/": page("x")}) as site:
        said = prober.crawl(table, site.url, expect=1)
        assert f"{table}:2:" in said and "--fresh" in said
        assert table.read_text().endswith("rubbish\n")
        prober.crawl(table, site.url, fresh=True)
        assert len(prober.rows(table)) == 1


def test_other_sites_of_the_table_stay(table):
    with Website({"/": page("one")}) as one, Website({"/": page("two!")}) as two:
        prober.crawl(table, one.url)
        prober.crawl(table, two.url)
        assert {u: r["body"] for u, r in prober.rows(table).items()} == {one.url + "/": 3, two.url + "/": 4}


# ---- commands -------------------------------------------------------------------------------------------------------------------------

def test_commands(table, tmp_path):
    with Website({"/": page("<a href=/a>a</a>"), "/a": page("a", etag='"e"')}) as site:
        prober.crawl(table, site.url)
    other = tmp_path / "other"
    for form in ("tsv", "json"):
        text = prober.run("export", f"--format={form}", table)
        prober.run("import", "--format", form, other, input=text)
        same = [line for line in table.read_text().splitlines() if line.startswith("/")]
        assert [line for line in other.read_text().splitlines() if line.startswith("/")] == same
        assert prober.run("diff", table, other) == "0 new, 0 gone, 0 changed\n"
    changed = "".join(line for line in text.splitlines(True) if "/a" not in line).replace('"body":16', '"body":17')
    prober.run("import", "--format=json", other, input=changed)
    said = prober.run("diff", table, other, expect=1)
    assert f"- {site.url}/a\n" in said and f"~ {site.url}/ 16 -> 17\n" in said and said.endswith("0 new, 1 gone, 1 changed\n")
    assert "2 URLs, 17 bytes" in prober.run("show", table)
    assert "1 URLs, 1 bytes" in prober.run("show", table, site.url + "/a")
    assert "--max-pattern" in prober.run("--help")


@pytest.mark.parametrize("words,sentence", [
    ([], "usage"), (["walk"], "usage"), (["show"], "show TABLE [URL-PREFIX]"), (["export"], "needs one table"), (["check"], "needs a file"), (["crawl"], "needs a URL"), (["crawl", "http://h/"], "needs --table"), (["crawl", "--rate=x", "http://h/"], "--rate x"),
    (["crawl", "--table", "t", "ftp://h/"], "must begin with http"), (["crawl", "--table", "t", "--backend", "h:80", "http://h/"], "--backend needs"),
    (["export", "--format=xml", "t"], "must be one of: tsv json"), (["diff", "/nowhere", "/nowhere"], "No such file"),
])
def test_wrong_usage(words, sentence):
    assert sentence in prober.run(*words, expect=2)


@pytest.mark.parametrize("word", ("show", "export", "check"))
def test_what_is_wrong_with_a_table(table, word):
    assert "No such file" in prober.run(word, table, expect=1)
    table.write_text("something else\n")
    assert f"{table}:1: not a page-size table" in prober.run(word, table, expect=1)


def test_check(table):
    prober.run("import", table, input="http://h/\t5" + "\t-" * 2 + "\t0\t0\t1\t0\t0\t0\t-\t-\n")
    assert prober.run("check", table) == f"{table}: right; 1 URLs\n"
    assert json.loads(prober.run("check", "--json", table)) == {"file": str(table), "right": True, "error": None}


def test_import_while_a_walk_writes(table):
    with Website(many(50)) as site:
        p = start(table, "--rate", 10, site.url)
        until(lambda: len(site.asked) > 2, what="requests")
        assert "another walk writes this table now" in prober.run("import", table, input="", expect=1)
        p.terminate()
        p.communicate(timeout=20)


def test_import_of_other_line_ends(table):
    prober.run("import", table, input="http://h/\t5" + "\t-" * 2 + "\t0\t0\t1\t0\t0\t0\t-\t\"e\"\r\n")
    assert prober.rows(table)["http://h/"]["etag"] == '"e"'


@pytest.mark.parametrize("text,sentence", [
    ("http://h/" + "\t1" * 9 + "\t-\t\"a\x01\"\n", "an etag must be"), ("x\n", "fewer than twelve"), ("http://h/" + "\t1" * 13 + "\n", "more than thirteen"), ("h" + "\t1" * 9 + "\t-\t-\n", "must begin with http"),
    ("http://h/\t-1" + "\t1" * 8 + "\t-\t-\n", "body, gzip and br"), ("http://h/\t1\t1\t1\tx" + "\t1" * 5 + "\t-\t-\n", "must be numbers"),
    ("http://h/" + "\t1" * 9 + "\tz\t-\n", "flags"), ("http://h/" + "\t1" * 9 + "\t-\t-\t1.5\n", "time must be"), ("\0\n", "NUL"),
])
def test_import_of_rubbish(table, text, sentence):
    said = prober.run("import", table, input=text, expect=1)
    assert "standard input:1:" in said and sentence in said
    assert not table.exists()
