# SPDX-License-Identifier: BSD-2-Clause
"""
hubs.py - three sites on one hub, each with a daemon of its own there, that carry streams while one of them gets another address again and again, behind a router that
translates, and another one a new secret.

    sites_ok        of three: all its streams came whole, none stood still for a second beyond its own timers, and what was known did not cross the link
"""
from lab.hub import Hub, Streams, changes


def right(result, longer, known):
    return not result["errors"] and not longer and result["streams"] > 0 and known > 1000


def measure(bench):
    counts = []
    for _ in range(bench.size(3, 1)):
        hub = Hub(bench.lab).start()
        try:
            hub.begin()
            with Streams(hub) as s:
                sites = changes(hub, s, bench.size(60, 12))
        finally:
            hub.stop()
        bench.say("; ".join(f"site {number}: {result['streams']} streams, {result['bytes'] / 1e6:.0f} MB, longest gap {result['gap']:.2f} s" for number, (result, *_) in sites.items()))
        counts.append(sum(right(*site) for site in sites.values()))
    bench.figure("sites_ok", min(counts), "of 3", "== 3")


FAMILIES = [(measure, ("sites_ok",))]
