# SPDX-License-Identifier: BSD-2-Clause
"""
peers.py - the clients that there are, in two cells of Fig. 15: NDNts (cubic), ndnd cat (a window of 100), python-ndn (one at a time), beside ours with windows of the same kinds.

They ask for metadata first, which costs them a round trip more than those that ask with CanBePrefix do; and some of it is the programs' own time.  No figures, only numbers in the table.
"""
from one import time_of
from setting import OURS, SLOW, serials
from spread import Spread

SIZES = (15, 120)
TWINS = {"NDNts": "cubic", "ndnd cat": "fixed 100", "python-ndn": SLOW}


def fetch(bench, peer, name):
    if peer == "NDNts":
        return bench.client.ndnts_get(name)
    return bench.client.cat(name) if peer == "ndnd cat" else bench.client.python_get(name, lifetime=4000)


def measure(bench):
    for n in SIZES:
        row = {OURS: time_of(bench, OURS, n, 5)}
        for peer, twin in TWINS.items():
            got = [fetch(bench, peer, bench.site(1).of_size(n).replace("{n}", f"{next(serials)}")) for _ in range(bench.size(5, 2))]
            wrong = {g.error for g in got if g.error} | {"a page of another length" for g in got if not g.error and len(g.content) != 4096 * n}
            if wrong:
                bench.say(f"{peer}, {n} segments: {'; '.join(sorted(wrong))}")
            row[peer] = Spread.of([1000 * g.seconds for g in got if not g.error]).value if any(not g.error for g in got) else None
            row[f"{twin}, as {peer}"] = time_of(bench, twin, n, 2)
        bench.say(f"clients that there are, one, {n} segments: " + ", ".join(f"{who} {ms:.0f} ms" for who, ms in row.items() if ms is not None))
        bench.data.setdefault("peers", {})[str(n)] = row


FAMILIES = [(measure, ("peers",))]
