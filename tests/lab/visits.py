# SPDX-License-Identifier: BSD-2-Clause
"""
visits.py - the workload of the EEOD paper (IV-B), and the ways in which it goes over the link.

A page of 64 kB, a tenth of it unique to the visitor in blocks of 300 bytes, and an image of 30 kB; all of it is another page every 5 seconds.  Pages are asked
for at random, so many a second, images too, each on a connection of its own.  The round trips are spread around 100 ms with a deviation of 10: 70 on the link, the rest
beyond it, another one for each of 32 addresses.

    Way.NONE       httpd as it is, no caches
    Way.MARKED     httpd with mod_eeod, no caches
    Way.PPC        httpd as it is, partial packet caches at both ends of the link (bench/pktcache/ppc_link.c); Way.TUNED: these, tuned
    Way.TRAIN      mod_eeod, which makes no segments, and the pair of caches at its defaults
    Way.WINDOW     the same in the paper's mode: windows of 10
    Way.PLAIN      httpd without mod_eeod, whole packets, `keep all`
"""
import contextlib
import dataclasses
import enum
import os
import random

from .httpd import Httpd
from .lab import module, program
from .load import Load
from .pair import Pair

ADDRESSES = 32
LINK, RTT, DEVIATION = 70, 100, 10      # ms
PERIOD = 5      # seconds
EEOD = "EeodEngine On\nEeodFiles On\n"
EEOD_STORED = EEOD + "EeodKey Off\n"      # for pages that have their marks before they are asked for


class Way(enum.Enum):
    NONE, MARKED, PPC, TUNED, TRAIN, WINDOW, PLAIN = "none", "marked", "ppc", "tuned", "train", "window", "plain"


PAIRED = (Way.TRAIN, Way.WINDOW, Way.PLAIN)


@dataclasses.dataclass(frozen=True)
class Site:
    """size: bytes of the page without its image; unique: of these, the fraction; gap: bytes of a unique block."""
    size: int = 64000
    unique: float = 0.10
    gap: int = 300
    image: int = 30000
    per_second: float = 100

    def page(self):
        blocks = max(1, round(self.size * self.unique / self.gap))
        run = (self.size - blocks * self.gap) // (blocks + 1)
        half = self.gap // 2
        return f"/page?blocks={blocks}&cacheable={run // 2}-{run + run // 2}&unique={half}-{self.gap + half}&period={PERIOD}&visitor={{n}}"

    def picture(self):
        return f"/image?blocks=0&cacheable={self.image}&period={PERIOD}&seed=2&image=1"

    def asked(self):
        """(name, words of a class of fairgate-load) of the page and of what is asked for when that is there."""
        return [("page", dict(url=self.page())), *([("image", dict(url=self.picture()))] if self.image else [])]

    def served(self, bench, marked):
        """Options of the httpd that has it; marked: for mod_eeod."""
        eeod = EEOD if marked else ""
        htdocs = os.path.join(bench.lab.dir, "htdocs")
        os.makedirs(htdocs, exist_ok=True)
        return dict(htdocs=htdocs, config="".join(f"<Location /{name}>\nSetHandler lab-page\n{eeod}</Location>\n" for name in ("page", "image")))

    def changing(self):
        """While it is asked for: its pages tell the time themselves."""
        return contextlib.nullcontext()


def bits(rate):
    """Of "20mbit"."""
    return round(float(rate.removesuffix("mbit")) * 1e6)


def retrieval(result):
    """Milliseconds until a page and all that belongs to it are there: the page, and then the slowest of the others, side by side."""
    def mean(kind):
        of = [c for name, c in result["classes"].items() if name.rpartition("@")[0] == kind and c["requests"]]
        return sum(c["latency_ms"]["mean"] * c["requests"] for c in of) / sum(c["requests"] for c in of) if of else 0
    kinds = {name.rpartition("@")[0] for name in result["classes"]}
    return mean("page") + max((mean(k) for k in kinds - {"page"}), default=0)


def rtts(number=ADDRESSES):
    """What each address's round trip takes beyond the link."""
    draw = random.Random(5)
    return [max(1.0, draw.gauss(RTT - LINK, DEVIATION)) for _ in range(number)]


class World:
    """A pair, httpd behind it, and as many addresses for clients as there are round trips.  bench: .lab, and .say() for what is odd."""

    def __init__(self, bench, way, site, rate=None, queue=300_000, rtt=True, settings=None):
        self.bench, self.way, self.site = bench, way, site
        self.addresses = [f"10.8.3.{10 + i}" for i in range(ADDRESSES)]
        delays = dict(zip(self.addresses, rtts())) if rtt else {}
        options = dict(rtt=LINK if rtt else 0, rate=rate, queue=queue)
        if way in (Way.PPC, Way.TUNED):
            options = dict(link=[program("bench/pktcache/ppc-link"), "--how", "textbook" if way is Way.PPC else "tuned", "--rtt", str(LINK if rtt else 0), "--queue", str(queue),
                                 *(("--rate", str(bits(rate))) if rate else ())])
        self.pair = Pair(bench.lab, delays=delays, **options).start()
        self.pair.clients.ip("".join(f"addr add {a}/24 dev in0\n" for a in self.addresses))
        options = site.served(bench, way in (Way.MARKED, Way.TRAIN, Way.WINDOW))
        if way is Way.TRAIN:
            options["config"] = "EeodSegments Off\n" + options["config"]
        self.httpd = Httpd(bench.lab, threads=64, children=4, load={"eeod": module("mod_eeod"), "lab_pages": program("tests/lab/.libs/mod_pages.so")}, **options)
        self.httpd.on(self.pair.servers).start()
        if way in PAIRED:
            self.pair.both(**{"ports": self.httpd.port, "cache": "256M", "keep": "all" if way is Way.PLAIN else "http", "mode": "window" if way is Way.WINDOW else "train",
                              **(settings or {})})

    def load(self, seconds):
        """People come, for so long; (the load's result, bytes that the link carried)."""
        site, classes = self.site, []
        for i, a in enumerate(self.addresses):
            for name, words in site.asked():
                classes.append({"name": f"{name}@{i}", "clients": 64, "arrivals": site.per_second / ADDRESSES, "close": True, "source": a, **words})
        before, packets = self.pair.carried(), self.pair.packets()
        with site.changing():
            result = Load(self.httpd.address, classes, seconds=seconds, realtime=False, prefix=self.pair.clients.prefix).result()
        carried, self.packets = self.pair.carried() - before, self.pair.packets() - packets
        if self.pair.linked:
            carried = int(self.pair.end_link()[1])
        failed = sum(result["total"]["errors"].values())
        if failed:
            self.bench.say(f"{self.way.value}: {failed} of {result['total']['requests']} requests failed")
        return result, carried

    def stop(self):
        self.pair.stop()
        self.httpd.stop()
