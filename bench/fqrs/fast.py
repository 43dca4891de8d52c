# SPDX-License-Identifier: BSD-2-Clause
"""
fast.py - where the link is no bottleneck, or hardly: what the scheduler takes from it.

    utilisation_1gbit           pages of 1 MB, ten clients a class, a link of 1 Gbit/s without round trips; ours and stock Squid's in turns
    share_error_max_1gbit       no goal
    rival_stock_utilisation_1gbit
    loopback_throughput_ratio   pages of 10 kB on loopback, two workers each, each worker on a processor of its own: requests/s, ours / stock Squid's, in turns.
                                Where the kernel chooses, it now lets both workers share a processor and now not, and a second shows 17,000 or 22,000 requests of one Squid.

utilisation_20mbit is of contest.py, connect_utilisation_20mbit of tunnels.py.
"""
import os

import crowds
from pairs import in_turn, repeat_pairs
from spread import Spread
from trial import ACLS, FQRS, NAMES, STOCK, WEIGHTS, Cell, fqrs, stock

from lab.lab import Origin
from lab.load import errors, load
from lab.squid import Squid

SLICE = 2           # s


def megabytes(trial, field):
    return [crowds.of_class(i, clients=10, url=[f"http://{s}/size/1000000" for s in field.server_addresses]) for i in trial.cell.active]


def gigabit(bench):
    cell = Cell("1gbit", rate="1gbit", limit=2_000_000, wired=True, crowd=megabytes)
    seconds, warm_up, turns = (6, 2, 1) if bench.quick else (30, 5, 3)
    pair = in_turn(*(lambda c=c: bench.in_order([bench.trial(c, cell, seconds, warm_up)])[0] for c in (STOCK, FQRS)))
    found = [pair() for _ in range(turns)]
    bench.figure("utilisation_1gbit", Spread.of([r["utilisation"] for _, r in found]), "of the link", ">= 0.98")
    bench.figure("share_error_max_1gbit", Spread.of([r["share_error"] for _, r in found]), "points")
    bench.figure("rival_stock_utilisation_1gbit", Spread.of([r["utilisation"] for r, _ in found]), "of the link")


def loopback_config():
    text = ACLS.replace("10.1.", "127.1.") + "fqrs on\nfqrs_link rate=10Gbit\n"
    text += "".join(f"fqrs_class {n} weight={w}\n" for n, w in zip(NAMES, WEIGHTS))
    return text + "".join(f"fqrs_access {n} allow {n}\n" for n in NAMES)


def stay(squid):
    """Each worker has a processor."""
    processors = sorted(os.sched_getaffinity(0))
    for i in range(squid.workers):
        os.sched_setaffinity(squid.pid_of(f"squid-{i + 1}"), {processors[i % len(processors)]})


def loopback(bench):
    with Origin(bench.lab, name="origin-loopback") as origin, Squid(bench.lab, stock(), name="loopback-stock", workers=2) as plain, \
            Squid(bench.lab, fqrs(), loopback_config(), name="loopback-fqrs", workers=2) as ours:
        stay(plain)
        stay(ours)

        def per_s(squid):
            crowd = [dict(name=n, clients=15, url=f"{origin.url}/size/10000", proxy=squid.address, source=f"127.1.{i}.1") for i, n in enumerate(NAMES, 1)]
            result = load(origin.address, crowd, SLICE, warmup=0.5)
            if errors(result) or set(result["total"]["status"]) != {"200"}:
                bench.say(f"{squid.name}: {result['total']['status']}, {result['total']['errors']}")
            return result["total"]["requests_per_s"]
        runs, ratio = repeat_pairs(bench, bench.size(10, 3), lambda: per_s(plain), lambda: per_s(ours), lambda x: x, ">= 0.97")
    rates = [sorted(side)[len(runs) // 2] for side in zip(*runs)]
    bench.say(f"two workers on loopback: stock Squid {rates[0]:.0f} requests/s, fqrs {rates[1]:.0f}")
    bench.figure("loopback_throughput_ratio", ratio, "of stock Squid's", ">= 0.97")


FAMILIES = ((gigabit, ["utilisation_1gbit", "share_error_max_1gbit"]), (loopback, ["loopback_throughput_ratio"]))
