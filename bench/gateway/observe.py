# SPDX-License-Identifier: BSD-2-Clause
"""
observe.py - QosEngine observe: what it costs, and whether what it says is what then comes.

    observe_cpu_ratio           CPU time of httpd per request, observing / without the module; proxied pages of 2 KB, 30 clients
    observe_prediction_points   points between the share of bytes that it foretells a class and the one that the class has with On, the worst
"""
import json
import urllib.request

import instructions
from pairs import cpu_pair, ratios
from setting import clients
from spread import Spread

WEIGHTS = {"people": 6, "search": 3, "crawlers": 1}
GROUPS = [clients(c, 20, url="/size/20000?delay=20") for c in WEIGHTS]
GROUP = clients("people", 30, url="/size/2048")


def timed(bench, server):
    before = server.cpu()
    result = bench.seen(server, [GROUP], 0.4, 0)
    return server.cpu() - before, result["total"]["requests"], result["seconds"]


def measure_cost(bench):
    def without():
        return bench.without_module(bench.origin(), alike=True)

    def observing():
        return bench.gateway(bench.origin(), WEIGHTS, engine="observe")

    with without() as bare, observing() as g:
        for server in (bare, g):
            timed(bench, server)
        _, cpu = bench.repeat(lambda: cpu_pair(lambda: timed(bench, bare), lambda: timed(bench, g), bench.size(10, 2)), lambda found: ratios(found, lambda r: r[0]), "<= 1.02",
                              least=bench.size(10, 5))
    instructions.tell(bench, "observe, one client, who is looked at closely", without, observing)
    bench.figure("observe_cpu_ratio", cpu, "times", "<= 1.02")


def foretold(server):
    with urllib.request.urlopen(f"{server.url}/qos-status?json", timeout=20) as answer:
        return {c["name"]: 100 * c["share_would"] for c in json.load(answer)["observed"]["classes"]}


def error(bench):
    seconds = bench.size(12, 4)
    with bench.gateway(bench.origin(), WEIGHTS, engine="observe") as g:
        bench.seen(g, GROUPS, seconds, 1)
        said = foretold(g)
    with bench.gateway(bench.origin(), WEIGHTS) as g:
        came = bench.seen(g, GROUPS, seconds, 1)["classes"]
    bench.say(", ".join(f"{c}: {said[c]:.1f} % foretold, {came[c]['share']:.1f} % came" for c in WEIGHTS))
    return max(abs(said[c] - came[c]["share"]) for c in WEIGHTS)


def measure(bench):
    _, spread = bench.repeat(lambda: error(bench), Spread.of, "<= 5", least=bench.size(2, 1))
    bench.figure("observe_prediction_points", spread, "points", "<= 5")


FAMILIES = [(measure_cost, ("observe_cpu_ratio",)), (measure, ("observe_prediction_points",))]
