# SPDX-License-Identifier: BSD-2-Clause
"""
slow.py - ten thousand connections that send a header, or a body, or take an answer, a byte every few seconds, and ten people who ask for pages meanwhile.

Event MPM, mod_reqtimeout as Debian ships it (headers within 20 to 40 s, bodies begun within 10, then 500 bytes a second), which closes who is too slow; each comes again at once.

    slowloris_p99_ratio         99 % of people's pages beside 10,000 slow headers / with nobody beside
    slow_bodies_p99_ratio       the same beside slow bodies
    slow_reads_p99_ratio        the same beside slow readers
    ..._without                 each of these of httpd without the module; no goal

Where nobody gets a page at all, the whole time of the measurement counts as the 99 %: it is longer than that.
"""
from setting import clients
from spread import Spread

from lab.slow import Slow

CONNECTIONS = 10_000
SHIPPED = "RequestReadTimeout header=20-40,minrate=500\nRequestReadTimeout body=10,minrate=500\n"
PEOPLE = clients("people", 10, url="/size/2048?delay=20", think=100)
NAMES = {"headers": "slowloris_p99_ratio", "bodies": "slow_bodies_p99_ratio", "reads": "slow_reads_p99_ratio"}


def server(bench, module):
    words = dict(modules=("reqtimeout",), children=4, threads=75)
    if module:
        return bench.gateway(bench.origin(), {"people": 6, "slow": 1}, more=SHIPPED + "QosPark time=10\n", **words)
    return bench.without_module(bench.origin(), more=SHIPPED, **words)


def p99s(bench, kind, module):
    """(with nobody beside, beside them)"""
    seconds = bench.size(45, 6)
    with server(bench, module) as s:
        calm = bench.seen(s, [PEOPLE], seconds, bench.size(4, 1))["classes"]["people"]
        with Slow(s.address, kind, CONNECTIONS) as slow:
            slow.until_there()
            beside = bench.seen(s, [PEOPLE], seconds, bench.size(25, 2))["classes"]["people"]
    bench.say(f"{kind}, {'with' if module else 'without'} the module: {calm['requests_per_s']:.1f} and {beside['requests_per_s']:.1f} pages a second, "
              f"99 % within {calm['latency_ms']['p99']:.0f} and {beside['latency_ms']['p99']:.0f} ms")
    return calm["latency_ms"]["p99"], beside["latency_ms"]["p99"] if beside["requests"] else 1000 * seconds


def measure(kind):
    def of_kind(bench):
        for module, name, goal in ((True, NAMES[kind], "<= 2"), (False, f"{NAMES[kind]}_without", None)):
            _, spread = bench.repeat(lambda module=module: p99s(bench, kind, module), lambda pairs: Spread.of([b / a for a, b in pairs]), goal, least=bench.size(3, 1))
            bench.figure(name, spread, "times", goal)
    return of_kind


FAMILIES = [(measure(kind), (name, f"{name}_without")) for kind, name in NAMES.items()]
