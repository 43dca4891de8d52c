# SPDX-License-Identifier: BSD-2-Clause
"""
bench.py - the frame of all benches; the figures of one come in families.

    bench.main("eeod", (marks, align), pictures.draw)

A family is a module with FAMILIES = [(measure, (name of a figure, ...)), ...]; measure(bench) measures those.  It prints as figures.py says, and lines that begin
with # for people.  It writes OUT/NAME.json, OUT/NAME-data.json when there is anything to draw from, and what draw(data, OUT) draws.  A family that
fails is told, the others are measured all the same, and the end is an error.  The build directory is made if it is missing, and brought up to date.
"""
import argparse
import json
import os
import signal
import subprocess
import sys
import time
import traceback

from figures import Figures
from spread import verdict
from lab.lab import ROOT, Lab, LabError, build_directory


class Bench:
    """What each family gets.  lab: the Lab; quick: fewer and shorter runs; say: tells how far it is; data: what the pictures are drawn from.
    PATIENCE: seconds that all repetitions may take, in a full and a quick bench; one figure's a third of them."""

    PATIENCE = (1200, 60)

    def __init__(self, lab, figures, quick, say):
        self.lab, self.figures, self.quick, self.say = lab, figures, quick, say
        self.figure = figures.figure
        self.data = {}
        self.patience = self.size(*self.PATIENCE)

    def repeat(self, sample, spread_of, goal, least=1):
        """Takes samples, at least so many, until the spread that spread_of(samples) makes of them decides about the goal or the patience is at its end.  (samples, spread)."""
        samples, left = [sample() for _ in range(least)], min(self.patience, self.size(*self.PATIENCE) / 3)
        while verdict(spread := spread_of(samples), goal) is None and left > 0:
            begun = time.monotonic()
            samples.append(sample())
            took = time.monotonic() - begun
            left -= took
            self.patience -= took
        return samples, spread

    def size(self, full, quick):
        return quick if self.quick else full


def arguments(families):
    p = argparse.ArgumentParser(description=sys.modules["__main__"].__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--quick", action="store_true", help="fewer and shorter runs")
    p.add_argument("--only", action="append", default=[], metavar="NAME", help="of a figure or a family; may be given often")
    p.add_argument("--out", default=os.path.join(ROOT, "bench", "out"), metavar="DIR", help="bench/out")
    p.add_argument("--build", default=build_directory(), metavar="DIR", help="the build directory ($FAIRGATE_BUILD, or build/)")
    a = p.parse_args()
    known = {f.__name__ for f in families} | {name for f in families for _, names in f.FAMILIES for name in names}
    for name in a.only:
        if name not in known:
            p.error(f"there is no \"{name}\"; there are: {', '.join(sorted(known))}")
    return a


def measure_all(bench, families, only=()):
    """Those that are wanted; the figures of those that failed."""
    broken = []
    for family in families:
        for measure, names in family.FAMILIES:
            if only and family.__name__ not in only and not any(n in only for n in names):
                continue
            bench.say(f"{family.__name__}: {', '.join(names)}")
            since = time.monotonic()
            try:
                measure(bench)
            except Exception:       # hours of others' figures are not to be lost for it
                traceback.print_exc()
                broken += names
            bench.say(f"{family.__name__}: took {time.monotonic() - since:.0f} s")
    return broken


def main(name, families, draw=None, kind=Bench):
    a = arguments(families)
    os.environ["FAIRGATE_BUILD"] = os.path.abspath(a.build)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))     # by way of the Lab's end, which stops the servers
    begun = time.monotonic()

    def say(text):
        print(f"# {time.monotonic() - begun:5.0f} s  {text}", flush=True)

    there = os.path.exists(os.path.join(build_directory(), "Makefile"))
    made = subprocess.run(["make", "-s", "-j2", "-C", build_directory()] if there else [os.path.join(ROOT, "quickstart"), "build"], capture_output=True, text=True)
    if made.returncode:
        sys.exit(f"{made.stdout}{made.stderr}run: {build_directory()} could not be made or brought up to date")
    os.makedirs(a.out, exist_ok=True)
    with Lab("bench") as lab:
        bench = kind(lab, Figures(name, a.out), a.quick, say)
        broken = measure_all(bench, families, a.only)
        bench.figures.write()
        if bench.data:
            with open(os.path.join(a.out, f"{name}-data.json"), "w", encoding="utf-8") as f:
                json.dump(bench.data, f, indent=1)
        for path in draw(bench.data, a.out) if draw else ():
            say(f"drew {path}")
        if broken:
            raise LabError(f"not measured, or not whole: {', '.join(broken)}")
        say("done")
