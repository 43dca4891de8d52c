# SPDX-License-Identifier: BSD-2-Clause
"""
publishing.py - what the layer that publishes services adds to a call.

    overhead_us         mean time of a call by an Interest, less that of the same page by an Interest for its name below CcnMap
    http_overhead_us    mean time of GET /ccn/.../!{...}, less that of GET of the page

The page is a file of httpd's, as little as a page can be; each call has a parameter and each page a query that no other has, so nothing is kept or joined.  One client
asks, straight to httpd over one connection, and asks again when it has its answer.  The two take turns, slice by slice, and each pair has its difference.
"""
import itertools
import urllib.parse

from setting import Provider, name_of, running, text_of
from spread import Spread

from lab.load import errors, load
from lab.ndn_load import failed, ndn_load


class Calls:
    def __init__(self, bench, site):
        self.bench, self.site, self.seconds = bench, site, bench.size(2, 0.5)
        call = urllib.parse.quote(text_of("/S/small", {"n": "{n}"}), safe="/!").replace("%7Bn%7D", "{n}")
        self.paths = {"call": f"/ccn{call}", "page": "/small.txt?n={n}"}
        self.names = {"call": name_of("/S/small", {"n": "{n}"}), "page": "/S/pages/small.txt%3Fn%3D{n}"}
        self.serials = itertools.count(1)

    def by_interest(self, what):
        result = ndn_load(self.bench.lab, f"{self.site.host}:{self.site.ndn_port}", self.names[what], seconds=self.seconds, warmup=0.1, serial=1_000_000 * next(self.serials))
        if failed(result):
            self.bench.say(f"{failed(result)} of {result['pages']} {what}s by an Interest did not come")
        return 1000 * result["latency_ms"]["mean"]

    def by_http(self, what):
        result = load(self.site.address, [dict(name="client", clients=1, url=self.paths[what])], self.seconds, warmup=0.1)
        bad = errors(result) + sum(n for status, n in result["total"]["status"].items() if int(status) >= 400)
        if bad:
            self.bench.say(f"{bad} {what}s by HTTP failed")
        return 1000 * result["total"]["latency_ms"]["mean"]


def measure(bench):
    with running(Provider(bench.lab, "/S", 2, "CcnThreads 4\nCcnPages 32M")) as (site,):
        calls = Calls(bench, site)
        for figure, way, goal in (("overhead_us", calls.by_interest, "<= 50"), ("http_overhead_us", calls.by_http, "<= 100")):
            turn = itertools.count()

            def pair(way=way, turn=turn):
                order = ("call", "page") if next(turn) % 2 else ("page", "call")
                found = {what: way(what) for what in order}
                return found["call"], found["page"]
            pairs, spread = bench.repeat(pair, lambda found: Spread.of([a - b for a, b in found]), goal, least=bench.size(15, 6))
            bench.say(f"{figure}: a call takes {Spread.of([a for a, _ in pairs]):.0f} us, the page alone {Spread.of([b for _, b in pairs]):.0f} us")
            bench.figure(figure, spread, "us", goal)
            bench.data[figure] = spread.value


FAMILIES = [(measure, ("overhead_us", "http_overhead_us"))]
