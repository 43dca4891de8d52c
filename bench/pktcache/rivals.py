# SPDX-License-Identifier: BSD-2-Clause
"""
rivals.py - what a visit costs on the link, in bytes of IP to the client with all headers, by what there is to save them: of the captured sites (captures.py) and the synthetic page
(lab.visits.Site).

    rival_NAME_SITE_first       a visitor who has not been there: the page and its objects
    rival_NAME_SITE_next        the same visitor after the page has changed: the page alone, since the browser has the objects; of "synthetic" with its image, which is a new one, too

    none, http2         httpd as it is; the same by HTTP/2.  Nothing is compressed
    gzip, brotli        mod_deflate and mod_brotli as they come
    zstd                bodies by zstd at its default level
    dictionary          the same with a dictionary, RFC 9842: the page that this user got before.  A first visit has none
    ppc                 partial packet caches at both ends of the link
    pktcache            mod_eeod and the pair of caches at its defaults; keep_all: with `keep all`

Each of 12 users (8 with --quick) visits once at each instant, one after the other, each on a connection of its own: means.  For the caches the first visitor of an instant pays for
what is new, a twelfth of the mean; with more visitors it is less (sites.py).  All is fetched over the lab's link, the compressed bodies by what Debian's httpd has.  No server in
Debian speaks zstd or RFC 9842: those bodies are made beforehand, and httpd has them as files with the headers that the RFC asks for; the 70 bytes that name the dictionary in a request
go the other way and do not count.  A browser would have to be allowed to keep a page, which the wikis' own headers forbid (`no-store`, `max-age=0`).  The synthetic page is of random
letters, which says little about compression.
"""
import dataclasses
import hashlib
import os
import shutil
import subprocess
import time

import captures
from lab.httpd import Httpd
from lab.lab import LabError, program
from lab.visits import EEOD_STORED, PERIOD, Site, Way, World
from sites import SITES, Captured

try:
    import zstandard
except ImportError:
    zstandard = None

TEXT = ("text/html", "text/css", "text/javascript", "application/javascript", "application/xhtml+xml", "image/vnd.microsoft.icon")
OFFERED = [("Use-As-Dictionary", 'match="/*"')]
COMPRESSING = f"Protocols h2c http/1.1\n<Location /plain>\nAddOutputFilterByType BROTLI_COMPRESS;DEFLATE {' '.join(TEXT)}\n</Location>\n"


@dataclasses.dataclass(frozen=True)
class Rival:
    """kind: the captures' folder that it gets; encoding: what it asks for, and what pages must come in; keep: of the pair."""
    name: str
    way: Way = Way.NONE
    kind: str = "plain"
    encoding: str = ""
    keep: str = "http"


RIVALS = (Rival("none"), Rival("http2"), Rival("gzip", encoding="gzip"), Rival("brotli", encoding="br"), Rival("zstd", kind="zstd", encoding="zstd"),
          Rival("dictionary", kind="dcz", encoding="dcz"), Rival("ppc", Way.PPC), Rival("pktcache", Way.TRAIN, "marked"),
          Rival("keep_all", Way.TRAIN, "marked", keep="all"))
PROGRAMS = ("curl", "nghttp")


class All(Captured):
    """Every kind of a capture at once, compressed if asked for."""

    def served(self, _, marked):
        config = EEOD_STORED if marked else ""
        return dict(htdocs=self.capture.directory, modules=("asis", "filter", "deflate", "brotli", "http2"),
                    config=f"<Location />\nSetHandler send-as-is\n{config}</Location>\n{'' if marked else COMPRESSING}")


def visit(world, rival, instant, user):
    """By curl, which checks the encoding; HTTP/2 by nghttp, since Debian 12's curl can't get a second thing over a connection that began as HTTP/2."""
    c = world.site.capture
    names = [f"{instant}/{n}" for n in (user, *c.fresh)] + [f"objects/{i}" for i in range(0 if instant else c.objects)]
    urls = [f"{world.httpd.url}/{rival.kind}/{n}" for n in names]
    headers = [f"Cookie: {c.cookie}"] * bool(c.cookie) + [f"Accept-Encoding: {rival.encoding or 'identity'}"]
    words = ["curl", "--silent", "--fail", "--write-out", "%{stderr}%{http_code} %header{content-encoding}\n"] if rival.name != "http2" else ["nghttp", "-nv"]
    r = subprocess.run([*world.pair.clients.prefix, *words, *(w for h in headers for w in ("-H", h)), *urls], capture_output=True, timeout=60, check=True)
    if rival.name == "http2":
        good = r.stdout.count(b":status: 200") == len(urls)
    else:
        wanted = "zstd" if rival.name == "dictionary" and not instant else rival.encoding
        said = r.stderr.decode().splitlines()
        good = said[0] == f"200 {wanted}" and all(line.startswith("200 ") for line in said)
    if not good:
        raise LabError(f"{rival.name}: not all of {urls} came as they should")


def settled(world):
    """Bytes that the link has carried, when it carries no more."""
    before, now = None, world.pair.carried()
    while now != before:
        time.sleep(0.05)
        before, now = now, world.pair.carried()
    return now


def visits(world, rival, instants):
    """Bytes on the link of a visit; of partial packet caches there is only the sum at the end."""
    users = world.site.capture.users
    before = settled(world)
    for instant in instants:
        for user in users:
            visit(world, rival, instant, user)
    return (settled(world) - before) / len(users)


def both(capture, rival, world):
    """(bytes of a first visit, of a next one)"""
    rest = range(1, capture.instants)
    return visits(world, rival, range(1)), visits(world, rival, rest) / len(rest)


def both_ppc(bench, capture, rival):
    def in_all(instants):
        world = World(bench, rival.way, All(capture, 0, True), rtt=False)
        try:
            visits(world, rival, instants)
            return int(world.pair.end_link()[1]) / len(capture.users)
        finally:
            world.stop()
    first = in_all(range(1))
    return first, (in_all(range(capture.instants)) - first) / (capture.instants - 1)


def synthetic(bench):
    """The page of lab.visits.Site as a capture; it has its marks already."""
    site, directory, users = Site(), f"{bench.lab.dir}/captures/synthetic", captures.USERS[:bench.size(12, 8)]
    httpd = Httpd(bench.lab, load={"lab_pages": program("tests/lab/.libs/mod_pages.so")}, **site.served(bench, False)).start()
    browser = captures.Browser(httpd.url, "")
    instants = bench.size(6, 3)
    for instant in range(instants):
        for name, path in (*((u, site.page().replace("{n}", str(i))) for i, u in enumerate(users)), ("image", site.picture())):
            captures.write(f"{directory}/plain/{instant}/{name}", *browser.get(path.replace(f"period={PERIOD}", f"seed={instant + 10}")))
    httpd.stop()
    os.symlink("plain", f"{directory}/marked")
    return captures.Capture("synthetic", directory, tuple(users), instants, 0, "", ("image",))


def compressed(capture):
    """The folders zstd and dcz beside plain."""
    names = [f"objects/{i}" for i in range(capture.objects)] + [f"{t}/{n}" for t in range(capture.instants) for n in (*capture.users, *capture.fresh)]
    for name in names:
        header, body = captures.read(f"{capture.directory}/plain/{name}")
        instant, _, user = name.partition("/")
        zstd = dcz = (header, body)
        if dict(header)["Content-Type"].split(";")[0] in TEXT:
            zstd = dcz = header + [("Vary", "Accept-Encoding"), ("Content-Encoding", "zstd")], zstandard.compress(body)
            if instant == "0":
                dcz = zstd[0] + OFFERED, zstd[1]
            elif instant != "objects":
                dcz = header + [("Vary", "Accept-Encoding, Available-Dictionary"), ("Content-Encoding", "dcz")] + OFFERED, with_dictionary(body, capture.page(int(instant) - 1, user)[1])
        captures.write(f"{capture.directory}/zstd/{name}", *zstd)
        captures.write(f"{capture.directory}/dcz/{name}", *dcz)


def with_dictionary(body, former):
    """RFC 9842, 5: a frame to be skipped that has the dictionary's SHA-256, and the frame."""
    made = zstandard.ZstdCompressor(dict_data=zstandard.ZstdCompressionDict(former, dict_type=zstandard.DICT_TYPE_RAWCONTENT)).compress(body)
    return b"\x5e\x2a\x4d\x18\x20\x00\x00\x00" + hashlib.sha256(former).digest() + made


def table(bench, capture):
    """{rival: (bytes of a first visit, of a next one)}"""
    capture = dataclasses.replace(capture, users=capture.users[:12])
    compressed(capture)
    rows = dict.fromkeys(r.name for r in RIVALS)
    for way, keep in dict.fromkeys((r.way, r.keep) for r in RIVALS if r.way is not Way.PPC):
        world = World(bench, way, All(capture, 0, True), rtt=False, settings={"keep": keep})
        try:
            for rival in (r for r in RIVALS if (r.way, r.keep) == (way, keep)):
                rows[rival.name] = both(capture, rival, world)
        finally:
            world.stop()
    rows.update({r.name: both_ppc(bench, capture, r) for r in RIVALS if r.way is Way.PPC})
    return rows


def measure(bench):
    able = zstandard and all(map(shutil.which, PROGRAMS))
    if not able:
        bench.say("curl, nghttp2-client or python3-zstandard is not installed: ./quickstart deps")
    taken = {c.name: c for c in (*captures.take(bench), synthetic(bench))}
    columns = {}
    for site in (*SITES, "synthetic"):
        columns[site] = table(bench, taken[site]) if able and site in taken else {r.name: (float("nan"), float("nan")) for r in RIVALS}
    bench.say("bytes a visit, first / next    " + "".join(f"{site:>20}" for site in columns))
    for r in RIVALS:
        bench.say(f"{r.name:<31}" + "".join(f"{'{:.0f} / {:.0f}'.format(*of[r.name]):>20}" for of in columns.values()))
    for site, of in columns.items():
        for name, values in of.items():
            for which, value in zip(("first", "next"), values):
                bench.figure(f"rival_{name}_{site.lower()}_{which}", value, "bytes")
    if able:
        bench.data["rivals"] = {site: of for site, of in columns.items() if site in taken}


FAMILIES = [(measure, tuple(f"rival_{r.name}_{s.lower()}_{w}" for s in (*SITES, "synthetic") for r in RIVALS for w in ("first", "next")))]
