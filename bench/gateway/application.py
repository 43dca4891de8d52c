# SPDX-License-Identifier: BSD-2-Clause
"""
application.py - Debian's DokuWiki by PHP-FPM behind the example for such a site (etc/examples/php-fpm.conf and its policy), and forty crawlers on its dynamic pages.

Eight people who are signed in read pages one after another, each from an address of his own with the cookies that he was given.  Forty connections ask for what no cache has and every wiki
has thousands of: old versions, differences, searches, indexes; from two networks, under a browser's name, so that they are of the class of everybody else.  PHP-FPM has as many workers as
the example's window may have.  Each round sees people behind the example alone, there with the crawlers, and with them where no module is loaded.

    application_p50_ratio       half of people's pages are there within, beside the crawlers / without them; the example, whose window is auto
    application_p95_ratio       95 % of them, likewise
    application_off_p50_ratio, application_off_p95_ratio    the same without the module; no goal
"""
import os
import statistics

import wiki
from setting import clients, status
from spread import FAILED, Spread

from lab import examples
from lab.browser import Browser
from lab.httpd import Httpd, PhpFpm
from lab.lab import LabError, module

PEOPLE, CRAWLERS = 8, 40
PAGES, VERSIONS = 40, 12
WORKERS = 16        # the example's auto max=16
BROWSER = "User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
PASSWORD = "an unusual password"


def text(page, version):
    """A page of some 6 KB, of which each version differs from the one before in a paragraph."""
    paragraphs = [f"Paragraph {i} of page {page} says **{(i * 7919 + page) % 97}** words about [[page{(page * 3 + i) % PAGES}]] and //others// as of version "
                  f"{version if i % VERSIONS <= version else 0}. " + "More words stand here, so that there is something to read and to compare. " * 3 for i in range(18)]
    return f"====== Page {page} ======\n" + "\n\n".join(paragraphs) + "\n"


def make(bench):
    root = os.path.join(bench.lab.dir, "application")
    # What is in the cache of pages stays there, and nothing is indexed by the way.
    wiki.make(root, useacl=1, cachetime=86400, sneaky_index=0)
    times = [wiki.add_revisions(root, f"page{page}", [text(page, v) for v in range(VERSIONS)]) for page in range(PAGES)]
    for i in range(PEOPLE):
        wiki.add_user(root, f"member{i}", PASSWORD)
    wiki.tell_members(root)
    wiki.give(root)
    return root, times[0]


def write_lists(bench, times):
    """Two lists of paths: what people read, and what crawlers find."""
    crawled = []
    for page in range(PAGES):
        crawled += [f"/doku.php?id=page{page}&rev={t}&c={{n}}" for t in times[:-1]]
        crawled += [f"/doku.php?id=page{page}&do=diff&rev2[0]={a}&rev2[1]={b}&c={{n}}" for a, b in zip(times, times[1:])]
        crawled += [f"/doku.php?id=page{page}&do=revisions&c={{n}}", f"/doku.php?id=page{page}&do=search&q=paragraph+{page}&c={{n}}", f"/doku.php?id=page{page}&do=index&c={{n}}"]
    lists = {}
    for name, paths in {"read": [f"/doku.php?id=page{page}" for page in range(PAGES)], "crawled": crawled}.items():
        lists[name] = os.path.join(bench.lab.dir, f"application-{name}.txt")
        with open(lists[name], "w", encoding="utf-8") as f:
            f.write("\n".join(paths) + "\n")
    return lists


def server(bench, name, here, root, fpm):
    """The example; without the module: the same site, by what is left of it."""
    if name == "no-module":
        return Httpd(bench.lab, name=name, threads=75, htdocs=root, php=fpm.address)
    return Httpd(bench.lab, name=name, threads=75, modules=examples.MODULES, load={"qos_drr": module()},
                 config=examples.configuration(here, "php-fpm.conf", SITE_ROOT=root, PHP_FPM=f"fcgi://{fpm.address}"))


def sign_in(g, name):
    """The Cookie field of somebody who has signed in, and looked at a page."""
    b = Browser(g.port, g.host)
    if not wiki.sign_in(b, "page0", name, PASSWORD):
        raise LabError(f"{name} could not sign in at {g.name}")
    return b.cookie()


def people_of(g, lists):
    return [clients(f"people{i}", 1, header=[BROWSER, f"Cookie: {sign_in(g, f'member{i}')}"], urls=lists["read"], source=f"127.0.1.{i + 1}") for i in range(PEOPLE)]


def crawlers(lists):
    return [clients(f"crawlers{i}", CRAWLERS // 2, header=[BROWSER], urls=lists["crawled"], source=f"127.0.{2 + i}.1", deck=True, retry=1000) for i in range(2)]


def middle(seen):
    """(50 %, 95 %) of the pages of somebody in the middle, in ms."""
    people = [c["latency_ms"] for name, c in seen["classes"].items() if name.startswith("people")]
    return tuple(statistics.median(latency[q] for latency in people) for q in ("p50", "p95"))


def once(bench, here, root, fpm, lists):
    """{what: (50 %, 95 %)} of calm, off and on, one after another."""
    found, seconds, warmup = {}, bench.size(12, 4), bench.size(5, 3)
    with server(bench, "example", here, root, fpm) as g:
        people = people_of(g, lists)
        found["calm"] = middle(bench.seen(g, people, bench.size(8, 3), 1))
        seen = bench.seen(g, people + crawlers(lists), seconds, warmup)
        found["on"] = middle(seen)
        told = status(g)
        bench.say(", ".join(f"{name} {c['released']} pages" for name, c in told.items() if c["released"]))
    with server(bench, "no-module", here, root, fpm) as g:
        found["off"] = middle(bench.seen(g, people_of(g, lists) + crawlers(lists), seconds, warmup))
    bench.say("people's pages, half and 95 % of them, in ms: " + "; ".join(f"{what} {half:.0f}, {most:.0f}" for what, (half, most) in found.items()))
    return found


def measure(bench):
    goals = {"p50": "<= 2.5", "p95": "<= 4"}
    if not wiki.installed():
        bench.say("dokuwiki is not installed: ./quickstart deps")
        for q, goal in goals.items():
            bench.figure(f"application_{q}_ratio", FAILED, "times", goal)
        return
    root, times = make(bench)
    lists, here = write_lists(bench, times), examples.copied(os.path.join(bench.lab.dir, "fairgate"))
    with PhpFpm(bench.lab, name="application-fpm", workers=WORKERS, extensions=("opcache", *wiki.EXTENSIONS)) as fpm:
        found = [once(bench, here, root, fpm, lists) for _ in range(bench.size(4, 1))]
    for i, (q, goal) in enumerate(goals.items()):
        bench.figure(f"application_{q}_ratio", Spread.of([r["on"][i] / r["calm"][i] for r in found]), "times", goal)
        bench.figure(f"application_off_{q}_ratio", Spread.of([r["off"][i] / r["calm"][i] for r in found]), "times")


FAMILIES = [(measure, ("application_p50_ratio", "application_p95_ratio", "application_off_p50_ratio", "application_off_p95_ratio"))]
