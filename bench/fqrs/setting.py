# SPDX-License-Identifier: BSD-2-Clause
"""setting.py - what the families of this bench have in common: the cells that several use, how a table of results reads, figures that each cell has."""
import bench
import crowds
import trial
from spread import UNKNOWN, Spread
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
    "connect": Cell("connect", clients=(10, 10, 10), crowd=crowds.tunnels),
    "connect20": Cell("connect20", rate="20mbit", clients=(100, 100, 100), crowd=crowds.tunnels),
    "kinds": Cell("kinds", crowd=crowds.kinds),
    "mixture": Cell("mixture", crowd=crowds.mixture),
    "downloads": Cell("downloads", clients=(10, 0, 10), crowd=crowds.crowd_and_downloads),
    "large": Cell("large", clients=(27, 27, 27), crowd=crowds.large),
}

# What every cell is to keep whose classes all want more than they can have.
SHARING = {"share_error_max": "<= 1.0", "jain_5s": ">= 0.98", "jain_1s": ">= 0.90"}
QUEUE = {"utilisation": ">= 0.98", "isp_queue_median_kb": "<= 40", "isp_queue_p95_kb": "<= 100", "drops_ratio": "<= 0.1"}


def ratio(a, b):
    return a / b if b else float("nan")


def of_windows(r, key, scale=1):
    """A figure of a trial, spread over its minutes."""
    return Spread.of([w[key] * scale for w in r["windows"]]) if r["windows"] else UNKNOWN


def ratio_of_windows(r, other, key):
    """The same of two trials that stood side by side."""
    pairs = [(a[key], b[key]) for a, b in zip(r["windows"], other["windows"]) if b[key]]
    return Spread.of([a / b for a, b in pairs]) if pairs else UNKNOWN


def tell(bench, prefix, r, stock, goals):
    """What a trial has to say of shares, the link and the queue before it; stock: stock Squid's beside it."""
    figures = [
        ("share_error_max", of_windows(r, "share_error"), "points"), ("jain_5s", of_windows(r, "jain_5s"), "index"), ("jain_1s", of_windows(r, "jain_1s"), "index"),
        ("utilisation", of_windows(r, "utilisation"), "of the link"),
        ("isp_queue_median_kb", of_windows(r, "queue_median", 1e-3), "kB"), ("isp_queue_p95_kb", of_windows(r, "queue_p95", 1e-3), "kB"),
        ("queue_ratio", ratio_of_windows(r, stock, "queue_median"), "of stock Squid's"), ("drops_ratio", ratio(r["drops"], stock["drops"]), "of stock Squid's"),
    ]
    for name, value, unit in figures:
        bench.figure(prefix + name, value, unit, goals.get(name))


def names_of(prefix=""):
    """The figures of tell()."""
    return [prefix + name for name in ("share_error_max", "jain_5s", "jain_1s", "utilisation", "isp_queue_median_kb", "isp_queue_p95_kb", "queue_ratio", "drops_ratio")]


class Bench(bench.Bench):
    def run(self, pairs, seconds, warm_up, watch=()):
        """Trials of (contender, cell) side by side; {(contender, cell): result} by their names.  watch: names of contenders to look into."""
        return self.run_trials([self.trial(c, cell, seconds, warm_up, c.name in watch) for c, cell in pairs])

    def trial(self, contender, cell, seconds, warm_up, watch=False):
        return Trial(self.lab, contender, cell, seconds, warm_up=warm_up, watch=watch)

    def run_trials(self, trials):
        return {(r["contender"], r["cell"]): r for r in self.in_order(trials)}

    def in_order(self, trials):
        """Side by side; their results in the order of the trials."""
        results = side_by_side(self.lab, trials)
        for r in results:
            self.say(row(r))
        return results


def row(r):
    if "windows" not in r:
        return r["row"]
    refused = {code: n for code, n in r["statuses"].items() if code != "200"}
    shares = " ".join(f"{v:.1f}" for v in r["shares"].values())
    means = " ".join(f"{v:.2f}" for v in r["mean"].values())
    return (f"{r['cell']:>9} {r['contender']:<9} shares {shares:<15} J5 {r['jain_5s']:.3f} J1 {r['jain_1s']:.3f} gap {r['gap']:.1f} s  use {r['utilisation']:.3f}"
            f"  queue {r['queue_median'] / 1000:.0f} kB, 95 % {r['queue_p95'] / 1000:.0f}  drops {r['drops']}  mean {means} s, all {r['mean_all']:.2f}"
            f"  {r['requests']} requests, {r['errors']} errors, {r['missed']} missed{', ' + str(refused) if refused else ''}, CPU {r['cpu']:.2f} s")
