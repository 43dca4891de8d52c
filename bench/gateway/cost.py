# SPDX-License-Identifier: BSD-2-Clause
"""
cost.py - what the module costs when it has nothing to do, in CPU time of httpd (all its processes) per request; proxied pages of 2 KB, 30 clients, alternating pairs, medians.

    uncontended_time_cpu_ratio  window 1000, QosCharge time, within=client, QosVisitors and QosBots / mod_proxy without the module
    uncontended_both_cpu_ratio  QosCharge both and nothing else; no goal

Clients show no cookie; their addresses and user agents are looked up in the table of crawlers.
"""
import os
import statistics

import forged
import instructions
from pairs import cpu_pair, ratios
from setting import clients

SECONDS = 0.4
GROUP = clients("people", 30, header=["User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0"], url="/size/2048")


def timed(bench, server):
    before = server.cpu()
    result = bench.seen(server, [GROUP], SECONDS, 0)
    return server.cpu() - before, result["total"]["requests"], result["seconds"]


def verification(bench):
    path = os.path.join(bench.lab.dir, "visitors.keys")
    with open(path, "w", encoding="ascii", opener=lambda path, flags: os.open(path, flags, 0o600)) as f:
        f.write("5a" * 32 + "\n")
    return f"QosVisitors {path}\nQosBots {forged.table(bench, ['192.0.2.0/24'])}\n"


def measure(bench):
    slices, pairs = bench.size(10, 2), bench.size(10, 5)
    for name, charge, goal in (("uncontended_time_cpu_ratio", "time", "<= 1.06"), ("uncontended_both_cpu_ratio", "both", None)):
        def without():
            return bench.without_module(bench.origin(), alike=True)

        def with_module(charge=charge, all_of_it=charge == "time"):
            more = dict(words={"people": "within=client"}, more=verification(bench)) if all_of_it else {}
            return bench.gateway(bench.origin(), {"people": 9, "crawlers": 1}, charge, window=1000, **more)

        with without() as bare, with_module() as g:
            for server in (bare, g):
                timed(bench, server)
            runs, cpu = bench.repeat(lambda: cpu_pair(lambda: timed(bench, bare), lambda: timed(bench, g), slices), lambda found: ratios(found, lambda r: r[0]), goal, least=pairs)
        microseconds = [statistics.median(cpu for cpu, _ in side) * 1e6 for side in zip(*runs)]
        bench.say(f"QosCharge {charge}: {microseconds[0]:.1f} us of CPU a request without the module, {microseconds[1]:.1f} with it")
        instructions.tell(bench, f"QosCharge {charge}, one client", without, with_module)
        bench.figure(name, cpu, "times", goal)


FAMILIES = [(measure, ("uncontended_time_cpu_ratio", "uncontended_both_cpu_ratio"))]
