# SPDX-License-Identifier: BSD-2-Clause
"""
mixed.py - what comes through a downlink in an evening: pages over HTTP and through tunnels, a download of 50 MB, videos of which each wants 2 MB every two seconds; beside stock Squid, delay
pools and HTB at the ISP.

    mixed_share_error_max, mixed_jain_5s, mixed_jain_1s, mixed_utilisation      the worst of two cells: each class is one kind (pages 4, videos 2, the download 1), and each class has all
    mixed_isp_queue_median_kb, mixed_isp_queue_p95_kb                           likewise; no goal
    mixed_heavy_share       per cent of the bytes of ten clients of weight 4 who fetch pages beside ten of weight 1 who download through tunnels: 80 are due
    rival_PEER_...          of each peer, without goals
"""
from setting import CELLS, SHARING, of_windows
from spread import worst
from trial import FQRS, PEERS

FIGURES = (("share_error_max", "share_error", 1, "points", max, SHARING["share_error_max"]), ("jain_5s", "jain_5s", 1, "index", min, SHARING["jain_5s"]),
           ("jain_1s", "jain_1s", 1, "index", min, SHARING["jain_1s"]), ("utilisation", "utilisation", 1, "of the link", min, ">= 0.98"),
           ("isp_queue_median_kb", "queue_median", 1e-3, "kB", max, None), ("isp_queue_p95_kb", "queue_p95", 1e-3, "kB", max, None))


def worst_of(bench, prefix, results, goals=True):
    """The worst of several cells."""
    for name, key, scale, unit, pick, goal in FIGURES:
        bench.figure(prefix + name, worst([of_windows(r, key, scale) for r in results], pick), unit, goal if goals else None)


def measure(bench):
    cells = ("kinds", "mixture", "downloads")
    found = bench.run([(c, CELLS[n]) for n in cells for c in (FQRS, *PEERS)], *((25, 10) if bench.quick else (300, 60)))
    for c in (FQRS, *PEERS):
        prefix = "" if c is FQRS else f"rival_{c.name}_"
        worst_of(bench, f"{prefix}mixed_", [found[c.name, n] for n in cells[:2]], c is FQRS)
        bench.figure(f"{prefix}mixed_heavy_share", found[c.name, "downloads"]["shares"]["class1"], "per cent", ">= 79" if c is FQRS else None)
    bench.data["mixed"] = [found[k] for k in found]


FAMILIES = ((measure, [f"mixed_{name}" for name, *_ in FIGURES] + ["mixed_heavy_share"]),)
