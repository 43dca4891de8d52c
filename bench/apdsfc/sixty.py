# SPDX-License-Identifier: BSD-2-Clause
"""
sixty.py - sixty clients at a time, pages of the three sites, intermittent load (Fig. 16 to 18).

    sixty_clients_gain      the part of the mean time of one segment after the other that is saved by doing as the server tells, of the site where it is least (paper: 0.452, of 12306)
    retransmission_ratio    Interests for a segment that was asked for before, of all Interests, of the site where it is most
    hint_vs_fixed100_sixty  mean time in parts of that with a window of 100, of the site where it is most; that one's retransmissions are said beside

Spikes of sixty clients, who come within a quarter of a second, and between them four pages a second.  Where more of them come at one time, what they wait for is this machine's
cores, which forwarder, httpd and clients share, and any window that is large enough is as good as any other; how it is with all sixty within 50 ms is said beside.
"""
from setting import DIVISORS, NAMES, OURS, SLOW, ratio, saved, turned
from spread import Spread, worst

from lab.ndn_site import SITES

CLIENTS, WITHIN, CROWD, FIXED = 60, 0.25, 0.05, "fixed 100"


def load_of(bench, way, site, seed, within=WITHIN):
    """What came of one run; spikes are as far apart as the slowest needs to be done with one."""
    apart, spikes = (4.5 if way == SLOW else 1.5), bench.size(6, 2)
    result = bench.run(way, lambda s: s.asked_for(site), load="intermittent", clients=CLIENTS, faces=CLIENTS, spikes=spikes, spread=within, between=apart, low_rate=4,
                       seconds=spikes * apart + 20, seed=seed)
    return {"ms": result["latency_ms"]["mean"], "p95": result["latency_ms"]["p95"], "again": result["retransmissions"] / max(1, result["interests"]),
            "kinds": {kind: of["latency_ms"]["mean"] for kind, of in result["kinds"].items()}}


def rounds(bench, site):
    """[{way: what came}] of ours, cubic and a window of 100, which take turns and see the same requests."""
    ways = [OURS, "cubic", FIXED]
    return bench.once(("sixty", site), lambda: [{way: load_of(bench, way, site, i + 1) for way in turned(ways, i)} for i in range(bench.size(7, 4))])


def together(runs):
    """Of several runs one: the medians."""
    return {what: Spread.of([r[what] for r in runs]).value for what in ("ms", "p95", "again")} | {"kinds": {kind: Spread.of([r["kinds"][kind] for r in runs]).value
                                                                                                           for kind in runs[0]["kinds"]}}


def measure(bench):
    others = bench.size([f"n/{q}" for q in DIVISORS if q > 1], ["n/10", "n/5", "n/2"]) + ["aimd"]
    data, gains, again, against = {}, [], [], []
    for site in SITES:
        found = rounds(bench, site)
        data[site] = {way: load_of(bench, way, site, 1) for way in (SLOW, *others)} | {way: together([r[way] for r in found]) for way in found[0]}
        gains.append(saved([{SLOW: data[site][SLOW]["ms"], OURS: r[OURS]["ms"]} for r in found], SLOW, OURS))
        again.append(Spread.of([r[OURS]["again"] for r in found]))
        against.append(ratio([{way: of["ms"] for way, of in r.items()} for r in found], OURS, FIXED))
        bench.say(f"60 clients, {NAMES[site]}: mean ms (p95; retransmissions): " + "; ".join(
            f"{way} {d['ms']:.0f} ({d['p95']:.0f}; {100 * d['again']:.1f} %)" for way, d in sorted(data[site].items(), key=lambda row: row[1]["ms"])))
        crowd = {way: load_of(bench, way, site, 1, CROWD) for way in found[0]}
        bench.say("  within 50 ms: " + "; ".join(f"{way} {d['ms']:.0f} ({d['p95']:.0f}; {100 * d['again']:.1f} %)" for way, d in crowd.items()))
    bench.figure("sixty_clients_gain", worst(gains, min), "of the time one at a time", ">= 0.60")
    bench.figure("retransmission_ratio", worst(again, max), "of all Interests", "<= 0.01")
    bench.figure("hint_vs_fixed100_sixty", worst(against, max), "of the time with fixed 100", "<= 1.0")
    bench.data["sixty"] = data


FAMILIES = [(measure, ("sixty_clients_gain", "retransmission_ratio", "hint_vs_fixed100_sixty"))]
