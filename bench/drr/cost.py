# SPDX-License-Identifier: BSD-2-Clause
"""
cost.py - what the module costs, in CPU time of httpd (all its processes) per request; 2 KB pages, alternating pairs, medians.

Connecting is in a slice's time, which counts against the side with more clients: the module's when it holds.

    uncontended_cpu_ratio   never holding (window 1000), 30 clients / mod_proxy without the module
    holding_cpu_ratio       always holding (window 8, 64 clients) / mod_proxy without the module at 8 clients
    uncontended_ratio       requests/s of the same runs; no goal
    holding_ratio
"""
import statistics

from pairs import cpu_pair
from setting import classes, ratios

URLS = "size-2048"


def timed(bench, server, clients, seconds):
    """A slice of pairs.cpu_pair."""
    before = server.cpu()
    result = bench.run(server, classes(clients=clients, only=("people",), urls=bench.urls[URLS]), seconds, warmup=0)
    return server.cpu() - before, result["total"]["requests"], result["seconds"]


def measure(bench):
    backend = bench.static_backend()
    bare = bench.bare_gateway(backend)
    never, always = bench.gateway(backend, window=1000), bench.gateway(backend, window=8)
    seconds, slices, pairs = 0.4, bench.size(24, 2), bench.size(10, 5)
    figure = bench.figure
    cases = (("uncontended", "<= 1.05", never, 30, 30), ("holding", "<= 1.35", always, 64, 8))
    for name, goal, with_module, clients, bare_clients in cases:
        timed(bench, bare, bare_clients, seconds)
        timed(bench, with_module, clients, seconds)
        runs, cpu = bench.repeat(lambda: cpu_pair(lambda: timed(bench, bare, bare_clients, seconds), lambda: timed(bench, with_module, clients, seconds), slices), lambda found: ratios(found, lambda r: r[0]), goal, least=pairs)
        microseconds = [statistics.median(cpu for cpu, _ in side) * 1e6 for side in zip(*runs)]
        bench.say(f"{name}: {microseconds[0]:.1f} us of CPU a request without the module, {microseconds[1]:.1f} with it")
        figure(f"{name}_cpu_ratio", cpu, "times", goal)
        figure(f"{name}_ratio", ratios(runs, lambda r: r[1]), "times")


FAMILIES = [(measure, ("uncontended_cpu_ratio", "uncontended_ratio", "holding_cpu_ratio", "holding_ratio"))]
