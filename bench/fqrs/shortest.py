# SPDX-License-Identifier: BSD-2-Clause
"""
shortest.py - small before large inside a class (order=shortest), by the clients' clocks, beside stock Squid, delay pools and HTB at the ISP.

    open_mean_ratio_shortest    an open loop at load 0.9, 4 : 2 : 1, so that each class gets what it asks for: mean response time / stock Squid's
    open_p99_ratio_shortest     the class whose 99 % is worst, / stock Squid's
    small_p95_ratio             pages under 10 kB of people who think for half a second, while two downloads of 100 MB run in their class, one through a tunnel: 95 % / stock Squid's
    rival_PEER_...              of each peer, and small_p95_ratio_fifo of ours in order of arrival; without goals

Sizes are learnt by URL: all classes ask for the same 256 pages, each of which has been asked for before the measurement begins.  The spread is that of several seeds, each a field of its own.
"""
import copy

from setting import CELLS
from spread import Spread
from trial import FQRS, HTB, POOLS, SHORTEST, STOCK, Cell, Trial

OPEN = copy.copy(CELLS["open"])
OPEN.alike = True
SIZES = (700, 1500, 2500, 4000, 6000, 8000, 10_000)
DOWNLOAD = 100_000_000


def people(trial, field):
    pages = [f"http://{s}/size/{n}" for s in field.server_addresses for n in SIZES]
    at = [f"{field.server_addresses[i]}/size/{DOWNLOAD}" for i in (3, 7)]
    words = dict(clients=1, source="10.1.1.2", close=True)
    return [dict(name="small", clients=5, url=pages, think=500, source="10.1.1.1", close=True),
            dict(name="large", url=f"http://{at[0]}", **words), dict(name="large", url=f"https://{at[1]}", **words, **trial.way(field))]


class Small(Trial):
    def result(self, field, load, begun, ended, took, cpu):
        small, large = load["classes"]["small"], load["classes"]["large"]
        use = (ended[0] - begun[0]) / (field.bytes_per_second * took)
        ms = small["latency_ms"]
        # Where nobody gets a page, it takes longer than all of this.
        return {"contender": self.contender.name, "cell": self.cell.name, "p95": ms["p95"] if small["status"].get("200") else 1000 * took, "utilisation": use,
                "row": f"{self.cell.name:>9} {self.contender.name:<9} {small['status']} pages, mean {ms['mean']:.0f} ms, 95 % {ms['p95']:.0f} ms, 99 % {ms['p99']:.0f} ms; "
                       f"downloads {large['bytes_per_s'] * 8e-6:.2f} Mbit/s, use {use:.3f}"}


def by_seed(bench, kind, contenders, cell, seconds, warm_up, seeds):
    """{contender: [result, one a seed]}"""
    order = [(c, seed) for seed in range(1, seeds + 1) for c in contenders]
    results = bench.in_order([kind(bench.lab, c, cell, seconds, seed=seed, warm_up=warm_up) for c, seed in order])
    return {c.name: [r for (of, _), r in zip(order, results) if of is c] for c in contenders}


def times(found, name, value):
    return Spread.of([value(a, b) for a, b in zip(found[name], found["stock"])])


def open_loop(bench):
    found = by_seed(bench, Trial, (SHORTEST, STOCK, POOLS, HTB), OPEN, *((30, 20, 1) if bench.quick else (300, 90, 3)))
    for name, prefix, goals in ((SHORTEST.name, "", ("<= 0.8", "<= 2")), (POOLS.name, "rival_pools_", (None, None)), (HTB.name, "rival_htb_", (None, None))):
        bench.figure(f"{prefix}open_mean_ratio_shortest", times(found, name, lambda a, b: a["mean_all"] / b["mean_all"]), "of stock Squid's", goals[0])
        bench.figure(f"{prefix}open_p99_ratio_shortest", times(found, name, lambda a, b: max(a["p99"][c] / b["p99"][c] for c in b["p99"] if b["p99"][c])), "of stock Squid's", goals[1])
    bench.data["shortest"] = found


def small(bench):
    cell = Cell("small", clients=(7, 0, 0), crowd=people)
    found = by_seed(bench, Small, (SHORTEST, FQRS, STOCK, HTB), cell, *((20, 5, 2) if bench.quick else (180, 30, 3)))
    for name, figure, goal in ((SHORTEST.name, "small_p95_ratio", "<= 0.333"), (FQRS.name, "small_p95_ratio_fifo", None), (HTB.name, "rival_htb_small_p95_ratio", None)):
        bench.figure(figure, times(found, name, lambda a, b: a["p95"] / b["p95"]), "of stock Squid's", goal)


FAMILIES = ((open_loop, ["open_mean_ratio_shortest", "open_p99_ratio_shortest"]), (small, ["small_p95_ratio", "small_p95_ratio_fifo"]))
