# SPDX-License-Identifier: BSD-2-Clause
"""
setting.py - what all measurements of this bench have in common: httpd with mod_ccn, a forwarder, 20 ms, clients.

    httpd ── forwarder ──20 ms── clients

A server for each CcnPipeline n/q, behind one forwarder that keeps no packets; pages are files, as in the paper's experiment: nothing waits for their making.  The clients' windows
are those of ndn/ndn_fetch.h: "n/q" begins with as many as the server tells it (and goes on as cubic), "one at a time" is what the paper compares with and python-ndn does today,
"fixed 100" is ndnd's, "cubic" NDNts' and "aimd" ndn-cxx', both from their descriptions.  Each client has a connection of its own, which is new in each run: as new as its TCP window.
"""
import itertools

import bench
from spread import Spread

from lab.lab import wait_for
from lab.ndn import Client, Forwarder
from lab.ndn_load import failed, ndn_load
from lab.ndn_site import SITES, FileSite, pages
from lab.path import Path

RTT_MS = 20
DIVISORS = tuple(range(10, 0, -1))
OURS, SLOW = "n/1", "one at a time"
NAMES = {"12306": "12306", "taobao": "Taobao", "baidu": "Baidu-like"}
WINDOWS = {SLOW: dict(window="fixed", window_size=1), "fixed 100": dict(window="fixed", window_size=100), "cubic": dict(window="cubic", window_size=1024),
           "aimd": dict(window="aimd", window_size=1024), **{f"n/{q}": dict(window="hint", window_size=512) for q in DIVISORS}}
SIZES = sorted({*range(1, 151)} | {n for site in SITES for _, _, _, n in pages(site)})
serials = itertools.count(1)


class Bench(bench.Bench):
    def __init__(self, lab, *words):
        super().__init__(lab, *words)
        self.path = Path(lab, rtt=RTT_MS).start()
        self.forwarder = Forwarder(lab, cache=0).on(self.path.router).start()
        self.sites = {}
        self.client = Client(lab, self.forwarder, self.path.clients)
        self.found = {}

    def once(self, key, measure):
        """What several figures need is measured for the first of them."""
        if key not in self.found:
            self.found[key] = measure()
        return self.found[key]

    def site(self, q):
        """The server that tells windows of n/q, which whoever needs it first starts."""
        if q not in self.sites:
            prefix, settings = f"/q{q}", f"CcnPipeline n/{q}\nCcnPages 48M\nCcnThreads 4"
            self.sites[q] = site = FileSite(self.lab, prefix, SIZES, settings=settings).on(self.path.server).start()
            self.forwarder.route(prefix, site.uri)
            wait_for(lambda: self.ask(site.of_size(1), requests=1, lifetime=500, wait=500, tries=1)["pages"], 20, "the forwarder's way to a server")
        return self.sites[q]

    def site_for(self, way):
        return self.site(int(way[2:]) if way.startswith("n/") else 1)

    def ask(self, names, **words):
        return ndn_load(self.lab, self.forwarder.address, names, on=self.path.clients, serial=1000 * next(serials), **words)

    def run(self, way, names_of, **words):
        """One run of clients with that window; names_of(site): what they ask for.  Pages that do not come are said: a figure taken among them is worth less."""
        result = self.ask(names_of(self.site_for(way)), **WINDOWS[way], **words)
        if failed(result):
            self.say(f"{way}: {failed(result)} of {failed(result) + result['pages']} pages did not come")
        return result


def turned(ways, n):
    """The ways in the n-th round's order: each begins once in a while, so that a drift of the machine favours none."""
    n %= len(ways)
    return ways[n:] + ways[:n]


def saved(rounds, slow, fast):
    return Spread.of([1 - r[fast] / r[slow] for r in rounds])


def ratio(rounds, ours, theirs):
    return Spread.of([r[ours] / r[theirs] for r in rounds])


def mean(values):
    values = list(values)
    return sum(values) / len(values)
