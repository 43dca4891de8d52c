# SPDX-License-Identifier: BSD-2-Clause
"""align.py - the same page and the same file again and again: how many segments of what is cacheable are those of the first delivery."""
import os

import judge
from lab.load import Load
from lab.path import flows
from setting import CELLS, Cell, ask, server

# One page, for a visitor of its own each time; about 64 kB, runs of a segment to a dozen of them.
PAGE = "blocks=8&cacheable=1000-14000&unique=50-1500&seed=7&visitor={n}"
FILE_BYTES = 100_000_000


def pages(bench):
    parts = {}
    for way in ("eeod", "plain"):
        for cell in CELLS:
            if way == "plain" and cell.name not in ("default", "2 Mbit/s")[:1 if bench.quick else 2]:
                continue
            a = judge.Alignment()
            _, found = ask(bench, cell, f"/{way}?{PAGE}", 14 if cell.rate == "2mbit" else 2 if bench.quick else 5)
            for flow in found:
                a.add(flow)
            parts.setdefault(way, {})[cell.name] = a
            bench.say(f"{cell.name:>11} {way:<5} {a.deliveries} deliveries of runs, {a.total} segments, {100 * a.part():.3f} % as in the first")
    bench.data["pages"] = {way: {name: [a.same, a.total] for name, a in by.items()} for way, by in parts.items()}
    for way, by in parts.items():
        same, total = (sum(getattr(a, word) for a in by.values()) for word in ("same", "total"))
        bench.figure("aligned_segments" if way == "eeod" else "rival_plain_aligned_segments", same / total, "fraction", ">= 0.999" if way == "eeod" else None)


# (cell, clients, seconds within which as many deliveries begin as there is time for)
FILE_CELLS = (
    (Cell("unlimited, 20 ms", rate=None), 1, 4), (Cell("unlimited, 100 ms", rate=None, rtt=100), 2, 8), (Cell("1 Gbit/s, 0 ms", rate="1gbit", rtt=0), 1, 4),
    (Cell("1 Gbit/s", rate="1gbit"), 4, 8), (Cell("100 Mbit/s", rate="100mbit"), 4, 60), (Cell("loss 0.1 %", rate="500mbit", loss=0.1), 4, 20),
    (Cell("bbr", rate="500mbit", congestion="bbr"), 4, 12),
)


def deliver(bench, cell, where, clients, seconds):
    """Deliveries of the file, each on a connection of its own; (flows, whole deliveries)."""
    path = cell.path(bench.lab).start()
    h = server(bench.lab, path)
    target = os.path.join(h.htdocs, "file.bin")
    if not os.path.exists(target):
        with open(target, "wb") as f:
            f.write(os.urandom(FILE_BYTES))
        os.utime(target, (0, 0))
    try:
        with h, path.capture("wire", 600) as seen:
            load = Load(h.address, [dict(name="all", clients=clients, url=f"{where}/file.bin", close=True)], seconds=seconds, timeout=120, realtime=False,
                        prefix=path.clients.prefix)
            result = load.result()
        found = flows(seen.file)
        seen.remove()
        return found, result["total"]["requests"]
    finally:
        path.stop()


def header_length(flow):
    first = [p for at, p, _ in flow.pieces if at == 0]
    return first[0].find(b"\r\n\r\n") + 4


def files(bench):
    bench.data["files"] = {}
    sums = {"eeod": [0, 0], "plain": [0, 0]}
    for way, where in (("eeod", "/eeod-files"), ("plain", "")):
        for cell, clients, seconds in FILE_CELLS:
            if bench.quick and cell.name not in ("unlimited, 20 ms", "1 Gbit/s"):
                continue
            found, whole = deliver(bench, cell, where, clients, seconds)
            a = judge.Alignment()
            for flow in found:
                begin = header_length(flow)
                a.add_file(flow, begin, begin + FILE_BYTES)
            sums[way][0] += a.same
            sums[way][1] += a.total
            bench.data["files"].setdefault(way, {})[cell.name] = [a.same, a.total]
            bench.say(f"{cell.name:>18} {way:<5} {whole} deliveries of 100 MB, {a.total} segments, {100 * a.part():.3f} % as in the first")
    bench.figure("aligned_file_segments", sums["eeod"][0] / sums["eeod"][1], "fraction", ">= 0.999")
    bench.figure("rival_plain_aligned_file_segments", sums["plain"][0] / sums["plain"][1], "fraction")


FAMILIES = [(pages, ("aligned_segments",)), (files, ("aligned_file_segments",))]
