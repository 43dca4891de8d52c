# SPDX-License-Identifier: BSD-2-Clause
"""
strangers.py - what a datagram costs a parent that is in a session, until it is known to be of somebody who has no secret (strangers.c).

    preauth_us      of the dearest kind, microseconds of processor time
"""
import subprocess

from lab.lab import program
from spread import Spread

KINDS = ("junk", "sealed", "hello", "ready")


def measure(bench):
    millions, runs = bench.size((1, 3), (1, 1))
    costs = {kind: [float(subprocess.run([program("bench/pktcache/strangers"), kind, str(millions)], capture_output=True, text=True, check=True).stdout) for _ in range(runs)]
             for kind in KINDS}
    bench.say("; ".join(f"{kind} {min(values):.2f} to {max(values):.2f} us" for kind, values in costs.items()) + f", {millions * runs * len(KINDS)} million in all")
    bench.figure("preauth_us", Spread.of([max(costs[kind][i] for kind in KINDS) for i in range(runs)]), "us", "<= 2")


FAMILIES = [(measure, ("preauth_us",))]
