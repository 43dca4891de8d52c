# SPDX-License-Identifier: BSD-2-Clause
"""
equations.py - the paper's equations 1 to 9 (its section 4), evaluated for the spikes that the simulator runs: what they say of each page, and how far off that is.

With IDSRS (1 to 4) a request waits for those before it, n_m of which are under way: T_w = floor(n_f / n_m) k' Ts + SR + k (RTT + Ts), k' the mean number of segments, SR what is
left of the first of those under way to end.  As it is printed the wait lacks the round trips: each of those under way has a segment in RTT + Ts, not in Ts.  Put right: RTT + Ts for
Ts there.

Without it (5 to 9) a page of k segments takes k rounds, each as long as the queue that its Interest finds: T_si = floor(L / m) Ts + SI + Ts + RTT, L = lambda T_si + L - phi - gamma, of
which phi have ended in the round and gamma were served while ours was on its way.  As it is printed gamma goes off in each round, though they come back as ours does; put right: once.

What the paper leaves to the reader: those under way are evenly far, so SR_i = i / n_m of a page and SI_i = i / m of a segment; phi_i are the pages of i segments; lambda is the spike's
own rate while it lasts, and of those before a request so many have ended as the threads could have done.
"""
import collections
import math

from setting import NAMES, RTT, SEGMENT, SITES, THREADS, lines, mean

SIZES = (100, 300, 500)


def under_way():
    """Equation 1."""
    return math.ceil(THREADS * RTT / SEGMENT + THREADS)


def with_idsrs(pages, put_right):
    """Equations 2 to 4: T_w of each page."""
    n_m, segments = under_way(), mean(p["segments"] for p in pages)
    page = segments * (SEGMENT + RTT if put_right else SEGMENT)
    made = []
    for before, p in enumerate(pages):
        n_f = before - p["asked"] * THREADS / (segments * SEGMENT) - n_m
        wait = math.floor(n_f / n_m) * page + (math.floor(n_f) % n_m) / n_m * page if n_f > 0 else 0
        made.append(wait + p["segments"] * (RTT + SEGMENT))
    return made


def without(pages, put_right):
    """Equations 5 to 9: T'_w of each page."""
    n_m, ended = under_way(), collections.Counter(p["segments"] for p in pages)
    within = max(p["asked"] for p in pages) or 1e-9
    made = []
    for before, p in enumerate(pages):
        queue, to_come, took = max(0, before - n_m), len(pages) - 1 - before, 0.0
        for i in range(1, p["segments"] + 1):
            whole = math.floor(queue)
            round_time = whole // THREADS * SEGMENT + whole % THREADS / THREADS * SEGMENT + SEGMENT + RTT
            took += round_time
            come = min(to_come, len(pages) / within * round_time)
            to_come -= come
            queue = max(0, come + queue - ended[i] - (0 if put_right and i > 1 else n_m))
        made.append(took)
    return made


def compare(said, pages):
    """(the mean that they say over the one that was measured, how far a page is off on average in parts of it)"""
    measured = mean(p["took"] for p in pages)
    return mean(said) / measured, mean(abs(s - p["took"]) for s, p in zip(said, pages)) / measured


def measure(bench):
    table = []
    bench.say(f"the paper's equations, n_m = {under_way()}: the mean that they say in parts of the simulator's, and how far one page is off on average")
    for site in SITES:
        for n in SIZES:
            pages = {o: [r for r in lines(site=site, clients=n, order=o, pages=1) if "took" in r] for o in ("fifo", "levels")}
            row = {"site": site, "clients": n, "fifo": mean(p["took"] for p in pages["fifo"]), "levels": mean(p["took"] for p in pages["levels"])}
            for order, said in (("levels", with_idsrs), ("fifo", without)):
                for how in (False, True):
                    row[f"{order}_{'right' if how else 'printed'}"] = compare(said(pages[order], how), pages[order])
            table.append(row)
            saying = "; ".join(f"{name} {row[order]:.2f} s, as printed {row[order + '_printed'][0]:.2f} (a page {100 * row[order + '_printed'][1]:.0f} %), "
                               f"put right {row[order + '_right'][0]:.2f} ({100 * row[order + '_right'][1]:.0f} %)" for order, name in (("fifo", "(5) to (9) FIFO"), ("levels", "(1) to (4) IDSRS")))
            says = [1 - row["levels"] * row["levels_" + how][0] / (row["fifo"] * row["fifo_" + how][0]) for how in ("printed", "right")]
            row["saved"] = (1 - row["levels"] / row["fifo"], *says)
            bench.say(f"  {NAMES[site]:<10} {n}: {saying}; saved {100 * row['saved'][0]:.0f} %, they say {100 * says[0]:.0f} and {100 * says[1]:.0f}")
    bench.data["equations"] = table


FAMILIES = [(measure, ("equations",))]
