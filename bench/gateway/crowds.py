# SPDX-License-Identifier: BSD-2-Clause
"""
crowds.py - one client with many connections, one network with many addresses, in the class of everybody else (within).

Ten people ask for pages that take 40 ms and read for a quarter of a second.  Whoever fills a window keeps them waiting for a slot, so what they have beside one who fills it with twenty
connections is compared with what they have beside one who does so with many more: nothing may come of these.

    many_connections_p95_ratio      people's 95 % beside one client with 500 connections / with 20
    many_connections_rate_ratio     their pages/s likewise
    asn_p95_ratio                   people's 95 % beside one network of 72,000 addresses at three times the capacity / beside 20 connections of one of its addresses; two levels
                                    (each asks once, from its own address)
    asn_p95_ratio_one_level         the same where only addresses are keys; no goal, and only in a whole bench
"""
from pairs import in_turn
from setting import WINDOW, People, clients
from spread import Spread

MS = 40
NETWORK_MS = 20
RATE = 3 * WINDOW * 1000 / NETWORK_MS       # requests/s of the network, each from another address
ADDRESSES = 72_000
NETWORK = "127.64.0.0/10"                   # whose addresses they are
PEOPLE = [clients("people", 1, of="all", url=f"/size/2048?delay={MS}", source=f"127.0.1.{i}", think=250) for i in range(1, 11)]
PAGE = f"/size/2048?delay={NETWORK_MS}"
# As a module that knows networks would: the crowd's is one, and each of the people has one of his own.
KEYS = 'SetEnvIf Remote_Addr "^127\\.(0\\.1\\.[0-9]+|[1-9])" asn=$1\nSetEnvIf Remote_Addr "^127\\.[1-9]" asn=crowd\nQosQueue 400\n'


def greedy(connections):
    return clients("greedy", connections, of="all", url=f"/size/2048?delay={MS}", source="127.0.2.1")


def beside(bench, server, others, seconds):
    """What people have of a server beside others."""
    with server:
        seen = bench.seen(server, [*PEOPLE, others], seconds, bench.size(4, 1))
    people = People.of(seen)
    them = seen["classes"][others["name"]]
    bench.say(f"{server.name}: people {people.rate:.1f} pages/s, 95 % of them within {people.p95:.0f} ms, beside {others['clients']} connections with {them['requests']} answers, "
              f"{them['status'].get('503', 0)} of them refusals")
    return people


def people(bench, within, others, seconds, more=""):
    return beside(bench, bench.gateway(bench.origin(), {"all": 1}, more=more, words={"all": within}), others, seconds)


def compare(bench, name, few, many, goal):
    """[(people beside few, beside many), ...]"""
    found, spread = bench.repeat(in_turn(few, many), lambda pairs: Spread.of([b.p95 / a.p95 for a, b in pairs]), goal, least=bench.size(2, 1))
    bench.figure(name, spread, "times", goal)
    return found


def measure_connections(bench):
    few, many = (lambda n=n: people(bench, "within=client", greedy(n), bench.size(20, 4)) for n in (20, 500))
    found = compare(bench, "many_connections_p95_ratio", few, many, "<= 1.05")
    bench.figure("many_connections_rate_ratio", Spread.of([b.rate / a.rate for a, b in found]), "times", ">= 0.95")


def measure_networks(bench):
    seconds = bench.size(ADDRESSES / RATE, 5)
    few = clients("crowd", 20, of="all", url=PAGE, source="127.64.0.1")
    many = clients("crowd", 3000, of="all", url=PAGE, arrivals=RATE, source=NETWORK, close=True)
    compare(bench, "asn_p95_ratio", *(lambda c=c: people(bench, "within=%{reqenv:asn} within=client", c, seconds, KEYS) for c in (few, many)), "<= 1.1")
    if not bench.quick:
        a, b = (people(bench, "within=client", c, 10, KEYS) for c in (few, many))
        bench.figure("asn_p95_ratio_one_level", b.p95 / a.p95, "times")


FAMILIES = [
    (measure_connections, ("many_connections_p95_ratio", "many_connections_rate_ratio")),
    (measure_networks, ("asn_p95_ratio", "asn_p95_ratio_one_level")),
]
