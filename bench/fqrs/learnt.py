# SPDX-License-Identifier: BSD-2-Clause
"""
learnt.py - a link that nobody tells Squid of (fqrs_link auto) beside the same one configured: 1, 2, 8 and 20 Mbit/s, and one that halves.

The one that halves goes from 8 to 4, 2, 1 and back to 8 Mbit/s; configured it is the fastest.  What it carried is the sum over these.
"""
import itertools
import re
import threading
import time

from lab.squid import fqrs
from trial import FQRS, Cell, Contender, Trial, fqrs_config

AUTO = Contender("auto", fqrs, lambda cell, directory: re.sub(r"fqrs_link rate=\w+", "fqrs_link auto", fqrs_config(cell)))
RATES = (1, 2, 8, 20)       # Mbit/s
HALVING = (8, 4, 2, 1)


class Halving(Trial):
    """The link's rate changes every so many seconds of the measurement."""

    def __init__(self, *args, every, **kwargs):
        super().__init__(*args, **kwargs)
        self.every, self.changes = every, []

    def _measure(self, field):
        ended = threading.Event()
        changing = threading.Thread(target=self._change, args=(field, ended), daemon=True)
        changing.start()
        try:
            return super()._measure(field)
        finally:
            ended.set()
            changing.join()

    def _change(self, field, ended):
        for mbit in itertools.cycle(HALVING):
            field.isp.bucket("down0", f"{mbit}mbit", "10kb", limit=field.limit)
            self.changes.append((time.monotonic(), mbit * 125_000))
            if ended.wait(self.every):
                return

    def result(self, field, load, begun, ended, took, cpu):
        r = super().result(field, load, begun, ended, took, cpu)
        until = time.monotonic()
        carried = sum(rate * max(0, min(end, until) - max(start, until - took))
                      for (start, rate), (end, _) in zip(self.changes, [*self.changes[1:], (until, 0)]))
        return {**r, "utilisation": (ended[0] - begun[0]) / carried}


def learnt(bench):
    seconds, warm_up, every = (24, 8, 6) if bench.quick else (240, 30, 30)
    cells = {f"{m}mbit": Cell(f"{m}mbit", rate=f"{m}mbit", limit=max(200_000, m * 100_000)) for m in RATES}
    halving = Cell("halving", rate=f"{HALVING[0]}mbit", limit=max(200_000, HALVING[0] * 100_000))
    trials = [bench.trial(c, cell, seconds, warm_up) for cell in cells.values() for c in (FQRS, AUTO)]
    trials += [Halving(bench.lab, c, halving, seconds, warm_up=warm_up, every=every) for c in (FQRS, AUTO)]
    found = {}
    # By capacity: the small ones take hardly a core together.
    for group in ((trials[:4], trials[4:6] + trials[8:], trials[6:8]) if not bench.quick else (trials,)):
        found.update(bench.run_trials(list(group)))
    names = [*cells, "halving"]
    ratio = {n: found["auto", n]["queue_median"] / max(1500, found["fqrs", n]["queue_median"]) for n in names}
    for n in names:
        bench.figure(f"auto_utilisation_{n}", found["auto", n]["utilisation"], "of the link", ">= 0.95")
        bench.figure(f"auto_queue_ratio_{n}", ratio[n], "of the one configured", "<= 1.5")
    bench.figure("auto_utilisation_min", min(found["auto", n]["utilisation"] for n in names), "of the link", ">= 0.95")
    bench.figure("auto_queue_ratio_max", max(ratio.values()), "of the one configured", "<= 1.5")
    bench.data["learnt"] = [found[k] for k in found]


FAMILIES = ((learnt, ["auto_utilisation_min", "auto_queue_ratio_max"]),)
