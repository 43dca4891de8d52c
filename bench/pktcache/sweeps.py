# SPDX-License-Identifier: BSD-2-Clause
"""
sweeps.py - Fig. 11 to 16 and Table I of the paper: what the link carries and how long a visit takes, over the visits a second, the part that is unique, the size of the page.
The link has no limit; the round trip is 100 ms.  No figures of their own: lines and data for the pictures.
"""
import dataclasses

from lab.visits import Site, Way, World, retrieval

WAYS = (Way.NONE, Way.PPC, Way.TRAIN, Way.WINDOW, Way.PLAIN)
RATES = (5, 25, 50, 100, 200, 300)
UNIQUE = (0.05, 0.10, 0.20, 0.35, 0.50)
SIZES = (4000, 8000, 16000, 32000, 64000)


def point(bench, way, site, seconds):
    world = World(bench, way, site)
    try:
        result, link = world.load(seconds)
        return {"link": link / result["total"]["bytes"], "ms": retrieval(result), "packets": world.packets / result["total"]["requests"],
                "packet": link / world.packets, "visits": result["total"]["requests"] / 2 / seconds}
    finally:
        world.stop()


def sweep(bench, name, values, make, seconds):
    rows = {way.value: [] for way in WAYS}
    for v in values:
        for way in WAYS:
            rows[way.value].append(point(bench, way, make(v), seconds))
        none = rows["none"][-1]["link"]
        bench.say(f"{name} {v}: " + "; ".join(f"{w} {100 * r[-1]['link'] / none:.1f} %, {r[-1]['ms']:.0f} ms" for w, r in rows.items()))
    bench.data[name] = {"values": values, "rows": rows}


def fig11(bench):
    sweep(bench, "visits a second", bench.size(RATES, (25, 100)), lambda v: Site(per_second=v), bench.size(10, 6))


def fig13(bench):
    sweep(bench, "unique", bench.size(UNIQUE, (0.10, 0.50)), lambda v: Site(unique=v), bench.size(10, 6))


def fig15(bench):
    sweep(bench, "page", bench.size(SIZES, (4000, 64000)), lambda v: Site(size=v), bench.size(10, 6))


def table1(bench):
    rows = {}
    for size in bench.size(SIZES, (4000, 64000)):
        for way in (Way.MARKED, Way.TRAIN, Way.WINDOW, Way.NONE):
            rows.setdefault(way.value, []).append(point(bench, way, dataclasses.replace(Site(), size=size, per_second=25), bench.size(10, 6)))
        bench.say(f"Table I, {size} bytes, packets a connection and bytes a packet: " + "; ".join(f"{w} {r[-1]['packets']:.1f}, {r[-1]['packet']:.0f}" for w, r in rows.items()))
    bench.data["table1"] = {"values": bench.size(SIZES, (4000, 64000)), "rows": rows}


FAMILIES = [(fig11, ("fig11", "fig12")), (fig13, ("fig13", "fig14")), (fig15, ("fig15", "fig16")), (table1, ("table1",))]
