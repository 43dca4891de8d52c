# SPDX-License-Identifier: BSD-2-Clause
"""
crowds.py - one client with many connections, one network with many addresses, in the class of everybody else (within).

Ten people ask for pages that take 40 ms and read for a quarter of a second.  Whoever fills a window keeps them waiting for a slot, so what they have beside one who fills it with twenty
connections is compared with what they have beside one who does so with many more: nothing may come of these.

    many_connections_p95_ratio      people's 95 % beside one client with 500 connections / with 20
    many_connections_rate_ratio     their pages/s likewise
    asn_p95_ratio                   people's 95 % beside one network of 72,000 addresses at three times the capacity / beside 20 connections of one of its addresses; two levels
    asn_p95_ratio_one_level         the same where only addresses are keys; no goal
"""
from setting import WINDOW, clients
from spread import Spread

MS = 40
CAPACITY = WINDOW * 1000 / MS
PEOPLE = [clients("people", 1, of="all", url=f"/size/2048?delay={MS}&asn=n{i}&from={i}", source=f"127.0.1.{i}", think=250) for i in range(1, 11)]
PAGE = f"/size/2048?delay={MS}&asn=crowd&from="
KEYS = 'SetEnvIf Query_String "asn=([a-z0-9]+)&from=([0-9]+)" asn=$1 address=$2\n'


def greedy(connections):
    return clients("greedy", connections, of="all", url=f"/size/2048?delay={MS}", source="127.0.2.1")


def people(bench, within, others, more=""):
    with bench.gateway(bench.origin(), {"all": 1}, more=more, words={"all": within}) as g:
        seen = bench.seen(g, [*PEOPLE, others], bench.size(20, 4), bench.size(4, 2))
    return seen["classes"]["people"]


def compare(bench, name, few, many, goal, value=lambda c: c["latency_ms"]["p95"]):
    found, spread = bench.repeat(lambda: (few(), many()), lambda pairs: Spread.of([value(b) / value(a) for a, b in pairs]), goal, least=bench.size(3, 1))
    a, b = found[-1]
    bench.say(f"{name}: 95 % of people's pages within {a['latency_ms']['p95']:.0f} and {b['latency_ms']['p95']:.0f} ms, {a['requests_per_s']:.1f} and {b['requests_per_s']:.1f} a second")
    bench.figure(name, spread, "times", goal)
    return found


def measure_connections(bench):
    found = compare(bench, "many_connections_p95_ratio", lambda: people(bench, "within=client", greedy(20)), lambda: people(bench, "within=client", greedy(500)), "<= 1.05")
    bench.figure("many_connections_rate_ratio", Spread.of([b["requests_per_s"] / a["requests_per_s"] for a, b in found]), "times", ">= 0.95")


def measure_networks(bench):
    few = clients("crowd", 20, of="all", url=PAGE + "1")
    many = clients("crowd", 3000, of="all", url=PAGE + "{n}", arrivals=3 * CAPACITY)
    for name, within, goal in (("asn_p95_ratio", "within=%{reqenv:asn} within=%{reqenv:address}", "<= 1.1"), ("asn_p95_ratio_one_level", "within=%{reqenv:address}", None)):
        compare(bench, name, lambda within=within: people(bench, within, few, KEYS), lambda within=within: people(bench, within, many, KEYS), goal)


FAMILIES = [
    (measure_connections, ("many_connections_p95_ratio", "many_connections_rate_ratio")),
    (measure_networks, ("asn_p95_ratio", "asn_p95_ratio_one_level")),
]
