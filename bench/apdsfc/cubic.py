# SPDX-License-Identifier: BSD-2-Clause
"""
cubic.py - whoever does as the server tells it, against the window that today's clients find by themselves.

    hint_vs_cubic_worst     mean time in parts of that with a cubic window: one client and each size of page, sixty clients and each site; of these cells the one where it is most

Pages of three segments and fewer are left out: there both send the same Interests at the same times.
"""
import one
import sixty
from setting import NAMES, OURS, ratio
from spread import worst

from lab.ndn_site import SITES

SAME = 3


def cells(bench):
    found = {f"one client, {n} segments": ratio([{way: times[n] for way, times in r.items()} for r in one.rounds(bench)], OURS, "cubic")
             for n in one.sizes_of(bench) if n > SAME}
    return found | {f"60 clients, {NAMES[site]}": ratio([{way: of["ms"] for way, of in r.items()} for r in sixty.rounds(bench, site)], OURS, "cubic") for site in SITES}


def measure(bench):
    found = cells(bench)
    bench.say("as the server tells, in parts of cubic's time: " + "; ".join(f"{name} {s:.2f}" for name, s in found.items()))
    bench.figure("hint_vs_cubic_worst", worst(found.values(), max), "of cubic's time", "<= 1.0")


FAMILIES = [(measure, ("hint_vs_cubic_worst",))]
