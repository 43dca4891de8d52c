# SPDX-License-Identifier: BSD-2-Clause
"""
cost.py - what the module costs, in CPU time of httpd (all its processes) per request; 2 KB pages, alternating pairs, medians.

    uncontended_cpu_ratio   never holding (window 1000), 30 clients / mod_proxy without the module
    holding_cpu_ratio       always holding (window 8, 64 clients) / mod_proxy without the module at 8 clients
    uncontended_ratio       requests/s of the same runs; no goal
    holding_ratio
"""
import statistics

from setting import alternate, classes, median_ratio, requests_per_s

URLS = "size-2048"


def timed(bench, server, clients, seconds):
    """A run and the CPU seconds per request of the server in it.  The warm-up is a run of its own, so that it is in neither."""
    words = classes(clients=clients, only=("people",), urls=bench.urls[URLS])
    bench.run(server, words, 0.3, warmup=0)
    before = server.cpu()
    result = bench.run(server, words, seconds, warmup=0)
    result["cpu_per_request"] = (server.cpu() - before) / result["total"]["requests"]
    return result


def measure(bench):
    backend = bench.static_backend()
    bare = bench.bare_gateway(backend)
    never, always = bench.gateway(backend, window=1000), bench.gateway(backend, window=8)
    seconds, pairs = bench.seconds(5, 1.2), bench.seconds(10, 4)
    figure = bench.figures.figure
    cases = (("uncontended", "<= 1.05", never, 30, 30), ("holding", "<= 1.35", always, 64, 8))
    for name, goal, with_module, clients, bare_clients in cases:
        runs = alternate(pairs, lambda: timed(bench, bare, bare_clients, seconds), lambda: timed(bench, with_module, clients, seconds))
        microseconds = [statistics.median(r["cpu_per_request"] for r in side) * 1e6 for side in zip(*runs)]
        bench.say(f"{name}: {microseconds[0]:.1f} us of CPU a request without the module, {microseconds[1]:.1f} with it")
        figure(f"{name}_cpu_ratio", median_ratio(runs, lambda r: r["cpu_per_request"]), "times", goal)
        figure(f"{name}_ratio", median_ratio(runs, requests_per_s), "times")


FAMILIES = [(measure, ("uncontended_cpu_ratio", "uncontended_ratio", "holding_cpu_ratio", "holding_ratio"))]
