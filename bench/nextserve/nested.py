# SPDX-License-Identifier: BSD-2-Clause
"""
nested.py - calls in calls: a call whose two parameters are calls, which have calls as parameters.

    nested_ratio    mean time of the whole call, in parts of that of its longer branch alone

    both ─┬─ with, 100 ms ── sleep, 300 ms      the longer branch
          └─ with, 100 ms ── sleep, 200 ms

The two take turns.  One after the other all of it would take 1.75 times as long as the longer branch.
"""
import itertools

from setting import name_of, text_of
from spread import Spread

MIDDLE, LONG, SHORT = 100, 300, 200


def measure(bench):
    base, goal, turn = bench.provider(8).base, "<= 1.1", itertools.count(1)
    one = {"requests": bench.size(5, 2), "seconds": 30, "lifetime": 20_000, "wait": 20_000}

    def branch(ms, n):
        return {"ms": MIDDLE, "of": text_of(f"{base}/sleep", {"ms": ms, "n": n})}

    def took(name):
        result = bench.ask(name, **one)
        if result["pages"] != one["requests"] or any(int(status) >= 400 for status in result["status"]):
            bench.say(f"nested calls did not come: {result['failed']} {result['status']}")
        return result["latency_ms"]["mean"]

    def pair():
        first = next(turn)
        whole = name_of(f"{base}/both", {"one": text_of(f"{base}/with", branch(LONG, f"a{first}-{{n}}")), "two": text_of(f"{base}/with", branch(SHORT, f"b{first}-"))})
        branches = {"whole": whole, "branch": name_of(f"{base}/with", branch(LONG, f"c{first}-{{n}}"))}
        return {what: took(branches[what]) for what in (sorted(branches) if first % 2 else sorted(branches, reverse=True))}
    pairs, spread = bench.repeat(pair, lambda found: Spread.of([f["whole"] / f["branch"] for f in found]), goal, least=bench.size(7, 3))
    bench.say(f"a call with two branches takes {Spread.of([f['whole'] for f in pairs]):.0f} ms, the longer one alone {Spread.of([f['branch'] for f in pairs]):.0f} ms, "
              f"of which {MIDDLE + LONG} ms are sleep")
    bench.figure("nested_ratio", spread, "of the longer branch's", goal)


FAMILIES = [(measure, ("nested_ratio",))]
