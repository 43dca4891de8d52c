# SPDX-License-Identifier: BSD-2-Clause
"""
refused.py - ten times as many requests as the backend can do, in a queue of fifty: how soon one hears that it is refused.

    refused_ms_p99      from the request to the whole refusal, as clients see it, connecting included
"""
from setting import WINDOW, clients
from spread import Spread

MS = 40
CAPACITY = WINDOW * 1000 / MS


def p99(bench):
    with bench.gateway(bench.origin(), {"people": 9, "crawlers": 1}, more="QosQueue 50\n") as g:
        group = clients("crawlers", 2000, url=f"/size/2000?delay={MS}", arrivals=10 * CAPACITY, refusals=True)
        seen = bench.seen(g, [group], bench.size(15, 4), 1)["classes"]["crawlers"]
    bench.say(f"{seen['requests_per_s']:.0f} answers/s, capacity {CAPACITY:.0f}: {seen['status']}; refusals p50 {seen['latency_ms']['p50']:.1f} ms, p99 {seen['latency_ms']['p99']:.1f} ms")
    return seen["latency_ms"]["p99"]


def measure(bench):
    _, spread = bench.repeat(lambda: p99(bench), Spread.of, "<= 50", least=bench.size(2, 1))
    bench.figure("refused_ms_p99", spread, "ms", "<= 50")


FAMILIES = [(measure, ("refused_ms_p99",))]
