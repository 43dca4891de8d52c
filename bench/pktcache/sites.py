# SPDX-License-Identifier: BSD-2-Clause
"""
sites.py - Fig. 17 and 18 of the paper: pages captured from sites, what the link carries of them and how long they take.

The paper captured CNN, Amazon and Slashdot for a day.  Here are three packaged applications with users who are logged in (captures.py), with marks that diff(1) puts in
(marking.py).  httpd has the captures as files, with the applications' headers.  Each visit is of a user picked at random, 25 of them a second; every 5 seconds the pages are those of
the next instant.  The round trip is 100 ms, the link has no limit.  Twice:

    the page                    whose objects the visitor's browser has
    the page and its objects    which it names; 5 visits a second

    link_bytes_SITE             bytes on the link, of those without caches, of the page (marks, trains); ppc_, window_, plain_: the other ways
    first_link_bytes_SITE       of the page and its objects; ppc_first_
    retrieval_ms_SITE           of the page; none_, ppc_, ...

To know when reading them:

- The applications' headers forbid to keep their pages.  With marks they say `no-cache` and `Eeod: marks` instead, as an application does that sets marks.  Their objects have no marks: DokuWiki's say `Vary: Cookie`, and an image for a visitor with a cookie needs
  more than `Last-Modified`, so nothing of them is kept.
- A user who comes again within an instant gets the very page that he got, about five times (real pages have tokens of a visit).  `ppc` and `plain`, which is `keep all`, find a
  visitor's own parts again then; the other ways do not look for them.
- A page that is a few segments longer for its boundaries may need a round trip more: gitweb's, of 68 segments, fills what three congestion windows take (10, 20, 40).
"""
import contextlib
import dataclasses
import os
import threading

import captures
import marking
from lab.visits import EEOD_STORED, PERIOD, Way, World, retrieval

SITES = ("DokuWiki", "MediaWiki", "gitweb")
WAYS = (Way.NONE, Way.PPC, Way.TRAIN, Way.WINDOW, Way.PLAIN)
FEW = (Way.NONE, Way.PPC, Way.TRAIN)


@dataclasses.dataclass(frozen=True)
class Captured:
    """A site of lab.visits.World.  objects: the page's are asked for as well."""
    capture: captures.Capture
    per_second: float
    objects: bool
    period: float = PERIOD

    def asked(self):
        header = f"Cookie: {self.capture.cookie}" if self.capture.cookie else None
        return [("page", dict(url=[f"/now/{u}" for u in self.capture.users], header=header)),
                *((f"object{i}", dict(url=f"/objects/{i}", header=header, clients=8)) for i in range(self.capture.objects if self.objects else 0))]

    def served(self, _, marked):
        self.show(0)
        htdocs = f"{self.capture.directory}/{'marked' if marked else 'plain'}"
        return dict(htdocs=htdocs, modules=("asis",), config=f"<Location />\nSetHandler send-as-is\n{EEOD_STORED if marked else ''}</Location>\n")

    def show(self, instant):
        for kind in ("plain", "marked"):
            now = f"{self.capture.directory}/{kind}/now"
            os.symlink(str(instant), now + ".new")
            os.replace(now + ".new", now)

    @contextlib.contextmanager
    def changing(self):
        over = threading.Event()

        def change():
            instant = 0
            while not over.wait(self.period):
                instant = (instant + 1) % self.capture.instants
                self.show(instant)
        thread = threading.Thread(target=change)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()


def row(bench, site, way, seconds):
    world = World(bench, way, site)
    try:
        result, link = world.load(seconds)
        return {"link": link / result["total"]["bytes"], "ms": retrieval(result), "requests": result["total"]["requests"]}
    finally:
        world.stop()


def group(bench, name, site, ways, seconds):
    rows = {way.value: row(bench, site, way, seconds) for way in ways}
    bench.say(f"{site.capture.name}, {name}: " + "; ".join(f"{w} {100 * r['link'] / rows['none']['link']:.1f} %, {r['ms']:.0f} ms" for w, r in rows.items()))
    bench.data.setdefault("sites", {}).setdefault(name, {})[site.capture.name] = rows
    return rows


def measure(bench):
    taken = {c.name: c for c in captures.take(bench)}
    ways, seconds = bench.size((WAYS, 10), (FEW, 4))
    for name in SITES:
        low, capture, nan = name.lower(), taken.get(name), {w.value: {"link": float("nan"), "ms": float("nan")} for w in ways}
        if capture:
            describe(bench, capture)
        pages = group(bench, "the page", Captured(capture, 25, False, bench.size(PERIOD, 2)), ways, seconds) if capture else nan
        for way in ways:
            prefix = "" if way is Way.TRAIN else f"{way.value}_"
            if way is not Way.NONE:
                bench.figure(f"{prefix}link_bytes_{low}", pages[way.value]["link"] / pages["none"]["link"], "of no cache")
            bench.figure(f"{prefix}retrieval_ms_{low}", pages[way.value]["ms"], "ms")
        if bench.quick:
            continue
        firsts = group(bench, "the page and its objects", Captured(capture, 5, True), FEW, 7) if capture else nan
        for way, prefix in ((Way.TRAIN, ""), (Way.PPC, "ppc_")):
            bench.figure(f"{prefix}first_link_bytes_{low}", firsts[way.value]["link"] / firsts["none"]["link"], "of no cache")


def describe(bench, capture):
    _, page = capture.page(0, capture.users[0])
    _, with_marks = capture.page(0, capture.users[0], "marked")
    unique, blocks = marking.blocks(with_marks)
    bench.say(f"{capture.name}: {len(page)} bytes, of these {unique} in {blocks} blocks; {len(capture.users)} users, {capture.instants} instants, {capture.objects} objects")


FAMILIES = [(measure, (*(f"{p}link_bytes_{s.lower()}" for s in SITES for p in ("", "ppc_", "window_", "plain_", "first_", "ppc_first_")),
                       *(f"{p}retrieval_ms_{s.lower()}" for s in SITES for p in ("", "none_", "ppc_", "window_", "plain_"))))]
