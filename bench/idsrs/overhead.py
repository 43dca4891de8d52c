# SPDX-License-Identifier: BSD-2-Clause
"""
overhead.py - what a dynamic page costs by an Interest that it does not cost by HTTP.

    page_overhead_us    median time of a page by one Interest over one connection, straight to mod_ccn, less that of the same page over a kept HTTP connection to the same httpd

The page is PHP's, of one segment; one client asks, and asks again when it has its answer.  The two take turns, slice by slice, and each pair has its difference.
"""
import itertools

from spread import Spread

from lab.load import errors, load
from lab.ndn_load import failed, ndn_load
from lab.ndn_site import PageSite

PAGE = "page.php?s=1"


def by_interest(bench, site, seconds):
    result = ndn_load(bench.lab, site.ndn_address, site.of_size(1), seconds=seconds, warmup=0.1)
    if failed(result):
        bench.say(f"{failed(result)} pages did not come")
    return 1000 * result["latency_ms"]["p50"]


def by_http(bench, site, seconds):
    result = load(site.address, [dict(name="client", clients=1, url=f"/{PAGE}&c={{n}}")], seconds, warmup=0.1)
    if errors(result):
        bench.say(f"{errors(result)} requests failed")
    return 1000 * result["total"]["latency_ms"]["p50"]


def measure(bench):
    goal, seconds, turn = "<= 100", bench.size(2, 0.7), itertools.count()
    with PageSite(bench.lab, "/site", workers=4) as site:
        def pair():
            if next(turn) % 2:
                http = by_http(bench, site, seconds)
                return by_interest(bench, site, seconds), http
            return by_interest(bench, site, seconds), by_http(bench, site, seconds)
        pairs, spread = bench.repeat(pair, lambda found: Spread.of([a - b for a, b in found]), goal, least=bench.size(15, 9))
    bench.say(f"a page by an Interest takes {Spread.of([a for a, _ in pairs]):.0f} us, by HTTP {Spread.of([b for _, b in pairs]):.0f} us")
    bench.figure("page_overhead_us", spread, "us", goal)


FAMILIES = [(measure, ("page_overhead_us",))]
