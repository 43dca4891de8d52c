# SPDX-License-Identifier: BSD-2-Clause
"""
sizes.py - Fig. 19 and 20 of the EEOD paper: files of 1 to 100 MB, each delivered ten times over; in how many of the later deliveries some segment is
not as in the first, and how much of the file is in segments that are.

The paper's path is the Internet between two universities; ours has the round trip and a rate with which a file of 100 MB is a matter of seconds,
and a drop-tail queue.
"""
import os

import judge
from align import header_length
from lab.load import Load
from lab.path import flows
from setting import Cell, server

MEGABYTES = (1, 5, 10, 50, 100)
CELL = Cell("500 Mbit/s, 50 ms", rate="500mbit", rtt=50)
DELIVERIES = 10


def deliver(bench, where, megabytes):
    """Flows of ten deliveries, one after the other, each on a connection of its own."""
    path = CELL.path(bench.lab).start()
    h = server(bench.lab, path)
    name = f"{megabytes}.bin"
    target = os.path.join(h.htdocs, name)
    if not os.path.exists(target):
        with open(target, "wb") as f:
            f.write(os.urandom(megabytes * 1_000_000))
        os.utime(target, (0, 0))
    try:
        with h, path.capture("wire", 600) as seen:
            Load(h.address, [dict(name="all", clients=1, url=f"{where}/{name}", close=True, requests=DELIVERIES)], seconds=600, timeout=120, realtime=False,
                 prefix=path.clients.prefix).result()
        found = flows(seen.file)
        seen.remove()
        return found
    finally:
        path.stop()


def measure(bench):
    out = bench.data["sizes"] = {}
    for way, where in (("eeod", "/eeod-files"), ("plain", "")):
        for megabytes in MEGABYTES[:2] if bench.quick else MEGABYTES:
            a = judge.Alignment()
            misaligned = 0
            found = deliver(bench, where, megabytes)
            for flow in found:
                before = a.total - a.same
                begin = header_length(flow)
                a.add_file(flow, begin, begin + megabytes * 1_000_000)
                misaligned += a.total - a.same > before
            out.setdefault(way, {})[megabytes] = [misaligned, len(found) - 1, a.same, a.total]
            bench.say(f"{megabytes:>4} MB {way:<5} {misaligned} of {len(found) - 1} later deliveries misaligned; {100 * a.part():.2f} % of segments as in the first")


FAMILIES = [(measure, ("sizes",))]
