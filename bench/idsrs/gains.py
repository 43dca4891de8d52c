# SPDX-License-Identifier: BSD-2-Clause
"""
gains.py - what either order saves of FIFO's mean response time in a spike, and who pays for it.  The paper's cost model: every Interest costs the same.

    idsrs_SITE_gain, serpt_SITE_gain    the part of FIFO's mean that is saved, mean over spikes of 100 to 500 clients (paper: 0.419, 0.013, 0.203)
    serpt_small_ratio, serpt_large_ratio    mean of the small pages, of the large ones, in parts of FIFO's: of the site and number of clients where it is worst
    serpt_longest_ratio                 the longest response in parts of FIFO's, where it is worst
"""
import itertools

from setting import CLIENTS, NAMES, RTT, SEGMENT, SITES, THREADS, TWO_KINDS, mean, megabytes, ratio, saved, simulate
from spread import Spread, verdict, worst

GAINS = [(f"{name}_{site}_gain", order, site, goal) for name, order in (("idsrs", "levels"), ("serpt", "shortest")) for site in SITES
         for goal in [">= 0.38" if name == "serpt" or site == "12306" else None]]
RATIOS = (("serpt_small_ratio", "small", SITES, "<= 1.0"), ("serpt_large_ratio", "large", TWO_KINDS, "<= 1.0"), ("serpt_longest_ratio", "longest", SITES, "<= 1.1"))


def gain(samples, order, site):
    return Spread.of([mean(saved(s[site, n], order) for n in CLIENTS) for s in samples])


def worst_ratio(samples, what, sites):
    return worst([Spread.of([ratio(s[site, n], "shortest", what) for s in samples]) for site in sites for n in CLIENTS], max)


def measure(bench):
    least, seeds = bench.size(100, 20), itertools.count(1)
    bench.say(f"{THREADS} threads, {1000 * SEGMENT:g} ms a segment, round trips of {1000 * RTT:g} ms, a spike's clients within a twentieth of its work's time: one setting of many (sensitivity)")

    def sample():
        seed = next(seeds)
        return {(site, n): simulate(site=site, clients=n, seed=seed)[0] for site in SITES for n in CLIENTS}

    samples = [sample() for _ in range(least)]

    def decided(spread_of, goal):
        while verdict(spread_of(), goal) is None and len(samples) < 3 * least:
            samples.append(sample())
        return spread_of()

    for name, order, site, goal in GAINS:
        bench.figure(name, decided(lambda o=order, s=site: gain(samples, o, s), goal), "of FIFO's mean", goal)
    for name, what, sites, goal in RATIOS:
        bench.figure(name, decided(lambda w=what, s=sites: worst_ratio(samples, w, s), goal), "of FIFO's", goal)
    for site in SITES:
        kept = {o: max(megabytes(s[site, 500][o]["kept"]) for s in samples) for o in ("fifo", "levels", "shortest")}
        bench.say(f"{NAMES[site]}, 500 clients: pages made and not fetched yet, at most: " + ", ".join(f"{NAMES[o]} {mb:.1f} MB" for o, mb in kept.items()))
    bench.data["gains"] = {site: {n: {o: {w: mean(s[site, n][o][w] for s in samples) for w in ("mean", "small", "large", "p95", "longest")} for o in ("fifo", "levels", "shortest")}
                                  for n in CLIENTS} for site in SITES}


FAMILIES = [(measure, (*(row[0] for row in GAINS), *(row[0] for row in RATIOS)))]
