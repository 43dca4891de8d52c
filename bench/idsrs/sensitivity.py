# SPDX-License-Identifier: BSD-2-Clause
"""
sensitivity.py - the same figures in other settings than the one that the goals are judged in: one thing changed at a time, and some together.

Nobody should have to believe that the setting was not chosen for its figures.  What moves them is n_m = m (Ts + RTT) / Ts, the pages that are under way side by side, in parts
of the clients: with 32 of 100 no order has much to choose from.  Where clients ask for all segments at once (a hint of n/1), first come, first served is first page, first served,
and only the sizes of pages are left to win from: there the large ones pay for the small.
"""
from setting import NAMES, SEGMENT, SITES, TWO_KINDS, mean, ratio, saved, simulate

ROWS = (
    ("as the goals are judged, 300 clients", {}),
    ("100 clients", {"clients": 100}), ("500 clients", {"clients": 500}), ("5,000 clients", {"clients": 5000}),
    ("1 thread", {"threads": 1}), ("4 threads", {"threads": 4}), ("8 threads", {"threads": 8}), ("16 threads", {"threads": 16}),
    ("16 threads, 100 clients", {"threads": 16, "clients": 100}),
    ("RTT a tenth of a segment's time", {"rtt": 0.1 * SEGMENT}), ("RTT 4 segments", {"rtt": 4 * SEGMENT}), ("RTT 10 segments", {"rtt": 10 * SEGMENT}),
    ("8 threads, RTT 10 segments", {"threads": 8, "rtt": 10 * SEGMENT}),
    ("all clients at one instant", {"spread": 0}), ("within a fifth of the work's time", {"spread": 0.2}), ("within half of it", {"spread": 0.5}),
    ("load 0.8, no spike", {"spread": 1.25, "clients": 500}),
    ("windows of n/5", {"hint": 5}), ("windows of n/1", {"hint": 1}),
    ("20 ms to make a page, segments 2 ms", {"making": 0.02}),
    ("20 ms to make a page, segments 20 us", {"making": 0.02, "segment": 0.00002, "rtt": 0.0002}),
    ("the same, no page takes longer than others", {"making": 0.02, "segment": 0.00002, "rtt": 0.0002, "making_fixed": 1}),
    ("nothing learnt before", {"history": 0}), ("one mean for all URLs", {"known": "mean"}), ("every page known before", {"known": "oracle"}),
    ("serpt by the age of each Interest", {"own_age": 1}), ("serpt by what a page turns out to be", {"as_found": 1}),
)


def measure(bench):
    seeds, table = bench.size(20, 3), []
    bench.say(f"what other settings give ({seeds} seeds each): of FIFO's mean saved by IDSRS, by serpt; of serpt small and large pages, and the longest response, in parts of FIFO's")
    for name, words in ROWS:
        row = {"name": name}
        for site in SITES:
            runs = simulate(site=site, seeds=seeds, **words)
            row[site] = {"levels": mean(saved(r, "levels") for r in runs), "shortest": mean(saved(r, "shortest") for r in runs),
                         "small": mean(ratio(r, "shortest", "small") for r in runs), "longest": mean(ratio(r, "shortest", "longest") for r in runs),
                         "large": mean(ratio(r, "shortest", "large") for r in runs) if site in TWO_KINDS else None}
        table.append(row)
        said = (f"{NAMES[s]} {100 * row[s]['levels']:+.0f} {100 * row[s]['shortest']:+.0f} %, {row[s]['small']:.2f} "
                + (f"{row[s]['large']:.2f} " if row[s]["large"] else "") + f"{row[s]['longest']:.2f}" for s in SITES)
        bench.say(f"  {name:<42} " + "; ".join(said))
    bench.data["sensitivity"] = table


FAMILIES = [(measure, ("sensitivity",))]
