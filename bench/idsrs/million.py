# SPDX-License-Identifier: BSD-2-Clause
"""million.py - one spike of a million clients: what is saved is what is saved at 500, and an Interest costs the engine no scan of those that wait."""
from setting import NAMES, ORDERS, SITES, megabytes, ratio, saved, simulate


def measure(bench):
    bench.data["million"] = {}
    for site in bench.size(SITES, SITES[:1]):
        run = simulate(site=site, clients=1000000)[0]
        bench.say(f"a million clients, {NAMES[site]}: IDSRS saves {100 * saved(run, 'levels'):.1f} %, serpt {100 * saved(run, 'shortest'):.1f} %, its longest "
                  f"{ratio(run, 'shortest', 'longest'):.3f} of FIFO's; pages made and not fetched yet, at most: " + ", ".join(f"{NAMES[o]} {megabytes(run[o]['kept']):,.1f} MB" for o in ORDERS)
                  + "; of simulator and engine, us an Interest: " + ", ".join(f"{NAMES[o]} {1e6 * run[o]['cpu'] / run[o]['interests']:.2f}" for o in ORDERS))
        bench.data["million"][site] = run


FAMILIES = [(measure, ("million",))]
