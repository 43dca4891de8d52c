# SPDX-License-Identifier: BSD-2-Clause
"""
loads.py - what the paper shows, again: Fig. 10 (12306), 11 (Taobao) and 13 (Baidu) under intermittent and alternating load (its Fig. 9), and Table III.

Intermittent: six spikes, from one to the next six times as long as their work takes, and a load of 0.2 all the time; alternating: three times 1.5 of what the server can do, then
0.3, each for as long as the work of a spike of so many clients takes.  The mean is that of all pages, in spikes and between them.
"""
from setting import ALTERNATING, CLIENTS, NAMES, ORDERS, SITES, TWO_KINDS, lines, mean, ratio, saved, simulate

TABLE3 = {("12306", "intermittent"): 41.93, ("taobao", "intermittent"): 1.32, ("taobao", "alternating"): 9.89, ("baidu", "intermittent"): 20.3, ("baidu", "alternating"): 12.84}
SMALL_AND_LARGE = (23, -31.85)      # what IDSRS adds to small pages and to large ones, Taobao under intermittent load, in percent


def table3(bench, runs, seeds):
    bench.say(f"Table III: of FIFO's mean, what is saved in percent (the paper's; mean over its numbers of clients, {seeds} seeds)")
    for site in SITES:
        cells = []
        for load in ("spike", "intermittent", "alternating"):
            by_n = runs[load][site].values()
            ours = {o: 100 * mean(mean(saved(r, o) for r in rs) for rs in by_n) for o in ("levels", "shortest")}
            theirs = TABLE3.get((site, load))
            cells.append(f"{load} IDSRS {ours['levels']:.1f}" + (f" ({theirs})" if theirs else "") + f" serpt {ours['shortest']:.1f}")
            bench.data["table3"].setdefault(site, {})[load] = {**ours, "paper": theirs}
        bench.say(f"  {NAMES[site]:<10} " + ";  ".join(cells))
    for site in TWO_KINDS:
        for order in ("levels", "shortest"):
            both = [100 * (mean(mean(ratio(r, order, what) for r in rs) for rs in runs["intermittent"][site].values()) - 1) for what in ("small", "large")]
            theirs = " (paper: {:+} %, {:+} %)".format(*SMALL_AND_LARGE) if (site, order) == ("taobao", "levels") else ""
            bench.say(f"  {NAMES[site]}, intermittent, {NAMES[order]}: small pages {both[0]:+.1f} %, large {both[1]:+.1f} %{theirs}")


def measure(bench):
    seeds = bench.size(20, 4)
    runs = {load: {site: {n: simulate(site=site, load=load, clients=n, seeds=seeds) for n in (ALTERNATING if load == "alternating" else CLIENTS)} for site in SITES}
            for load in ("spike", "intermittent", "alternating")}
    bench.data["table3"] = {}
    table3(bench, runs, seeds)
    bench.data["loads"] = {load: {site: {n: {o: {w: mean(r[o][w] for r in rs) for w in ("mean", "small", "large", "longest")} for o in ORDERS} for n, rs in by_n.items()}
                                  for site, by_n in by_site.items()} for load, by_site in runs.items()}
    pages, order = {o: [] for o in ORDERS}, None
    for row in lines(site="12306", clients=400, pages=1):
        order = row.get("order", order)
        if "took" in row:
            pages[order].append([row["asked"], row["took"]])
    bench.data["arrivals"] = pages


FAMILIES = [(measure, ("fig10", "fig11", "fig13", "table3"))]
