# SPDX-License-Identifier: BSD-2-Clause
"""
signed.py - what it costs to know a crawler by its signature: CPU time of httpd (all its processes) a request, with a signature that was seen before against the same bytes in
fields that mean nothing; 2 KB pages, 30 clients, alternating pairs.

    verify_us   microseconds a request, the median of the pairs' differences
"""
import json
import os
import urllib.request

from lab.lab import wait_for
from lab.signer import Signer
from pairs import cpu_pair
from setting import clients
from spread import Spread

SECONDS = 0.4
SITE = "site.example"


def group(headers):
    return clients("people", 30, url="/size/2048", header=[f"{name}: {value}" for name, value in headers.items()])


def timed(bench, server, headers):
    before = server.cpu()
    result = bench.seen(server, [group(headers)], SECONDS, 0, host=SITE)
    return server.cpu() - before, result["total"]["requests"], result["seconds"]


def known(server):
    with urllib.request.urlopen(f"{server.url}/qos-status?json", timeout=20) as answer:
        return json.load(answer)["signed_cached"]


def measure(bench):
    slices, pairs = bench.size(10, 2), bench.size(10, 5)
    bot = Signer("https://bot.example")
    keys = os.path.join(bench.lab.dir, "signers.json")
    with open(keys, "w") as f:
        json.dump({"keys": [bot.jwk()]}, f)
    os.chmod(keys, 0o644)
    with bench.gateway(bench.origin(), {"people": 9, "crawlers": 1}, window=1000, more=f"ServerName {SITE}\nQosSigned goodbot bot.example keys={keys}") as g:
        signed = bot.sign(SITE, lasts=86000)
        plain = {f"X-{name}": value for name, value in signed.items()}

        def counts():
            timed(bench, g, signed)
            return known(g) > 0
        wait_for(counts, 20, "the key counts")
        before, asked = known(g), [0]

        def a_signed_one():
            cpu, n, seconds = timed(bench, g, signed)
            asked[0] += n
            return cpu, n, seconds
        _, spread = bench.repeat(lambda: cpu_pair(lambda: timed(bench, g, plain), a_signed_one, slices),
                                 lambda found: Spread.of([(b[0] - a[0]) * 1e6 for a, b in found]), "<= 50", least=pairs)
        assert known(g) - before >= asked[0], "requests that were not known by their signatures"
    bench.figure("verify_us", spread, "us", "<= 50")


FAMILIES = [(measure, ("verify_us",))]
