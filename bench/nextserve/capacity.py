# SPDX-License-Identifier: BSD-2-Clause
"""
capacity.py - how many calls are done in a second when more come than can be.

    saturation_ratio    calls done in a second times the 57 ms that the service sleeps, one thread: how much of the time it had a call to do
    workers_ratio       calls done in a second by four threads, in parts of those by one

An open load of three tenths more than can be done, Poisson, no two calls equal; it counts what was done from the second in which all threads have work to the last call's coming.
"""
from setting import SERVICE_MS, name_of
from spread import Spread

THREADS, MORE = (1, 2, 4), 1.3
FILLED = 0.5            # seconds until there is work for all


def done_in_a_second(bench, threads, seed):
    base, seconds = bench.provider(threads).base, bench.size(8, 3)
    result = bench.run([("call", name_of(f"{base}/sleep", {"ms": SERVICE_MS, "n": "{n}"}))], MORE * threads * 1000 / SERVICE_MS, seconds, even=False, seed=seed)
    ends = [t for t in (p.asked + p.ms / 1000 for p in result["each"]) if FILLED <= t <= seconds]
    return (len(ends) - 1) / (max(ends) - min(ends))


def measure(bench):
    found = [{t: done_in_a_second(bench, t, seed) for t in THREADS} for seed in range(1, bench.size(7, 3) + 1)]
    for t in THREADS:
        bench.say(f"CcnThreads {t}: {Spread.of([f[t] for f in found]):.2f} calls/s are done of {MORE * t * 1000 / SERVICE_MS:.1f} that come; {t * 1000 / SERVICE_MS:.2f} would be all that can")
    bench.figure("saturation_ratio", Spread.of([f[1] * SERVICE_MS / 1000 for f in found]), "of the time", ">= 0.95")
    bench.figure("workers_ratio", Spread.of([f[4] / f[1] for f in found]), "times one worker's", ">= 3.6")
    bench.data["capacity"] = {t: Spread.of([f[t] for f in found]).value for t in THREADS}


FAMILIES = [(measure, ("saturation_ratio", "workers_ratio"))]
