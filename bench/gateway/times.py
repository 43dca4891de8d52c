# SPDX-License-Identifier: BSD-2-Clause
"""
times.py - charge by time: two kinds of pages of the same bytes, of which one costs twenty times the CPU, and three classes of 6:3:1 that ask for different parts of the two.

PHP burns the CPU time of a page to the microsecond, so that a class's seconds of the backend are its pages by their price.  What is shared is the time in slots, which is that only where
a page at work has a core to itself: so there is a worker for each second core, and the backend goes before all else on this machine, as if it were a host of its own.  What the gateway
counted as time in slots is printed beside it.  Each class has as many clients as always wait.

    time_share_error_max        points; the worst class's part of the backend's seconds with QosCharge time
    time_share_error_both       the same with QosCharge both; only in a whole bench
    bytes_share_error_for_time  the same with QosCharge bytes: what sharing bytes does to a server whose CPU is what runs out
"""
import os

from setting import clients
from spread import Spread, share_spread

WEIGHTS = {"people": 6, "search": 3, "crawlers": 1}
DUE = {c: 10.0 * w for c, w in WEIGHTS.items()}
US = {"cheap": 4000, "dear": 80_000}
DEAR = {"people": 3, "search": 10, "crawlers": 17}      # of twenty clients
CLIENTS = 20
WORKERS = max(1, (os.cpu_count() or 1) // 2)


def groups():
    return [clients(f"{c}-{kind}", n, of=c, url=f"/burn.php?us={us}&n=2000")
            for c in WEIGHTS for (kind, us), n in zip(US.items(), (CLIENTS - DEAR[c], DEAR[c]))]


def seconds_of(line):
    """{class: seconds of CPU at the backend}"""
    return {c: sum(line["classes"][f"{c}-{kind}"]["requests"] * us / 1e6 for kind, us in US.items()) for c in WEIGHTS}


def error(bench, charge):
    seconds = bench.size(40, 6)
    with bench.gateway(bench.php_backend(WORKERS, first=True), WEIGHTS, charge, window=WORKERS) as g:
        found = bench.measure(g, groups(), seconds, bench.size(8, 2), interval=seconds / 10)
    run, had = found.seen, seconds_of(found.seen)
    bench.say(f"QosCharge {charge}: " + ", ".join(f"{c} {100 * s / sum(had.values()):.1f} %" for c, s in had.items()) + f" of {sum(had.values()) / run['seconds']:.2f} cores; of the time in slots "
              + ", ".join(f"{c} {100 * found.slot_part(c):.1f} %" for c in WEIGHTS))
    return share_spread([seconds_of(line) for line in run["intervals"]], DUE)


def measure(bench):
    for name, charge, goal in (("time_share_error_max", "time", "<= 2.0"), ("time_share_error_both", "both", "<= 2.0"), ("bytes_share_error_for_time", "bytes", None)):
        if bench.quick and charge == "both":
            continue
        _, spread = bench.repeat(lambda charge=charge: error(bench, charge), lambda s: s[0] if len(s) == 1 else Spread.of([x.value for x in s]), goal)
        bench.figure(name, spread, "points", goal)


FAMILIES = [(measure, ("time_share_error_max", "time_share_error_both", "bytes_share_error_for_time"))]
