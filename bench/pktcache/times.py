# SPDX-License-Identifier: BSD-2-Clause
"""
times.py - how long a page and its image take, 25 visits a second.

    retrieval_ratio_none    on a link of 20 Mbit/s, which that fills without caches: with them / without
    retrieval_ratio_ppc     on a link whose rate lies half-way between what the two need: with them / with partial packet caches
    page_time_unlimited_ratio       on a link without a limit, in runs by turns: with them / without
"""
from spread import Spread

from lab.visits import Site, Way, World, retrieval

PER_SECOND, QUEUE = 25, 100_000


def time_of(bench, way, site, rate, seconds):
    """(milliseconds, bits a second on the link)."""
    world = World(bench, way, site, rate=rate, queue=QUEUE)
    try:
        result, link = world.load(seconds)
        ms = retrieval(result)
        bench.say(f"{way.value} at {rate or 'no limit'}: {ms:.0f} ms; {link * 8 / seconds / 1e6:.2f} Mbit/s on the link, {result['total']['requests']} requests")
        return ms, link * 8 / seconds
    finally:
        world.stop()


def measure(bench):
    site, seconds = Site(per_second=PER_SECOND), bench.size(60, 30)
    ours, need = time_of(bench, Way.TRAIN, site, "20mbit", seconds)
    none, _ = time_of(bench, Way.NONE, site, "20mbit", seconds)
    bench.figure("retrieval_ratio_none", ours / none, "times", "<= 0.5")
    _, need_ppc = time_of(bench, Way.PPC, site, None, seconds)
    rate = f"{(need + need_ppc) / 2e6:.2f}mbit"
    ours, _ = time_of(bench, Way.TRAIN, site, rate, seconds)
    ppc, _ = time_of(bench, Way.PPC, site, rate, seconds)
    bench.figure("retrieval_ratio_ppc", ours / ppc, "times", "<= 0.7")


def unlimited(bench):
    """As many round trips, if the page has as many segments; the median of pairs of runs."""
    site, seconds, runs = Site(per_second=PER_SECOND), bench.size(20, 10), bench.size(5, 3)
    ratios = []
    for _ in range(runs):
        none, _ = time_of(bench, Way.NONE, site, None, seconds)
        ours, _ = time_of(bench, Way.TRAIN, site, None, seconds)
        ratios.append(ours / none)
    bench.figure("page_time_unlimited_ratio", Spread.of(ratios), "times", "<= 1.05")


FAMILIES = [(measure, ("retrieval_ratio_none", "retrieval_ratio_ppc")), (unlimited, ("page_time_unlimited_ratio",))]
