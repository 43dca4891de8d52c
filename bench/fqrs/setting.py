# SPDX-License-Identifier: BSD-2-Clause
"""setting.py - what the families of this bench have in common: how long, how a table of results reads, the cells that several use."""
import bench
import trial
from trial import Cell, Trial, side_by_side

CELLS = {
    "default": Cell(),
    "20mbit": Cell("20mbit", rate="20mbit"),
    "10clients": Cell("10clients", clients=(10, 10, 10)),
    "unequal": Cell("unequal", clients=(10, 10, 30)),
    "bbr": Cell("bbr", congestion="bbr"),
    "idle1": Cell("idle1", clients=(0, 30, 30)),
    "idle2": Cell("idle2", clients=(0, 0, 30)),
    "nortt": Cell("nortt", rtts=trial.RTTS_NONE),
    # Load 0.9 of what 2 Mbit/s carry of responses: 0.956 of it are not headers of TCP and below.  4 : 2 : 1, so that every class
    # gets what it asks for and the order alone makes the difference.
    "open": Cell("open", arrivals=tuple(0.9 * 0.956 * 250_000 / 27_656 * w / 7 for w in trial.WEIGHTS)),
}


class Bench(bench.Bench):
    def run(self, pairs, seconds, warm_up, watch=()):
        """Trials of (contender, cell) side by side; {(contender, cell): result} by their names.  watch: names of contenders to look into."""
        return self.run_trials([self.trial(c, cell, seconds, warm_up, c.name in watch) for c, cell in pairs])

    def trial(self, contender, cell, seconds, warm_up, watch=False):
        return Trial(self.lab, contender, cell, seconds, warm_up=warm_up, watch=watch)

    def run_trials(self, trials):
        results = {(r["contender"], r["cell"]): r for r in side_by_side(self.lab, trials)}
        for r in results.values():
            self.say(row(r))
        return results


def row(r):
    shares = " ".join(f"{v:.1f}" for v in r["shares"].values())
    means = " ".join(f"{v:.2f}" for v in r["mean"].values())
    return (f"{r['cell']:>9} {r['contender']:<9} shares {shares:<15} J5 {r['jain_5s']:.3f} J1 {r['jain_1s']:.3f} gap {r['gap']:.1f} s  use {r['utilisation']:.3f}"
            f"  queue {r['queue_median'] / 1000:.0f} kB, 95 % {r['queue_p95'] / 1000:.0f}  drops {r['drops']}  mean {means} s, all {r['mean_all']:.2f}"
            f"  {r['requests']} requests, {r['errors']} errors, {r['missed']} missed, CPU {r['cpu']:.2f} s")
