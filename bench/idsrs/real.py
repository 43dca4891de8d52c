# SPDX-License-Identifier: BSD-2-Clause
"""
real.py - the same orders in httpd with mod_ccn, behind a real forwarder: pages take 20 ms to make, a segment some microseconds (cost model b).

    serpt_real_SITE_gain    the part of FIFO's mean that is saved, mean over spikes of 100 to 500 clients
    serpt_real_idsrs_ratio  serpt's mean in parts of IDSRS's, of the site where it is worst.  No goal: where all pages take as long to make in the mean, neither is behind but by chance

A page is made by PHP-FPM, which sleeps for a time that is exponential with a mean of 20 ms, the same for all orders' twins of a request: so what is shared is the service threads, and
the machine's cores, which server, forwarder and clients share, have nothing to do for the most part (said beside the figures).  CcnThreads is the simulator's number of threads, a
spike's clients come within the same part of the time that its work takes, and clients ask for one segment after the other, as there: the paper's.  What they get who do as the
server tells them (APDSFC) is said, too.  Each client has a face of its own at the forwarder, which keeps no packets.

Equal requests would be joined by the forwarder, so each has a number in its query; none of them was ever met by the server before, but others of its URL.
"""
import itertools
import os

from setting import CLIENTS, NAMES, THREADS, mean
from spread import Spread, verdict, worst

from lab.lab import wait_for
from lab.ndn import Forwarder
from lab.ndn_load import failed, ndn_load
from lab.ndn_site import SITES, PageSite
from lab.path import Path

MAKING_MS, SPREAD = 20, 0.05
ORDERS = ("fifo", "idsrs", "serpt")
GOALS = {"12306": ">= 0.35", "taobao": ">= 0.25", "baidu": ">= 0.22"}
PATIENT_MS = 60000      # a client of FIFO's waits for longer than others would
ONE = dict(window="fixed", window_size=1)
HINTED = dict(window="hint", window_size=512)
runs = itertools.count(1)


class Servers:
    """One for each order, behind one forwarder."""

    def __init__(self, bench):
        self.lab, self.path = bench.lab, Path(bench.lab).start()
        self.forwarder = Forwarder(bench.lab, cache=0).on(self.path.router).start()
        self.site = {}
        for order in ORDERS:
            settings = f"CcnScheduler {order}\nCcnThreads {THREADS}"
            self.site[order] = PageSite(bench.lab, f"/{order}", making_ms=MAKING_MS, workers=2 * THREADS, settings=settings).on(self.path.server).start()
            self.forwarder.route(f"/{order}", self.site[order].uri)
            wait_for(lambda order=order: self.ask(order, self.site[order].of_size(1), requests=1, wait=500, lifetime=500, tries=1)["pages"], 20, "the forwarder's way to a server")

    def ask(self, order, names, **words):
        return ndn_load(self.lab, self.forwarder.address, names, on=self.path.clients, serial=100000 * next(runs) + words.pop("first", 0), **words)

    def history(self, seconds):
        """Pages that were made before: of each URL it is known what it costs."""
        for order in ORDERS:
            for site in SITES:
                self.ask(order, self.site[order].asked_for(site), clients=THREADS, seconds=seconds / len(SITES), **HINTED)

    def spike(self, order, site, clients, seed, how=None):
        work = MAKING_MS / 1000 / THREADS
        return self.ask(order, self.site[order].asked_for(site), load="spike", clients=clients, spread=SPREAD * clients * work, seconds=10 * clients * work + 30, seed=seed,
                        first=1000 * (seed % 90), lifetime=PATIENT_MS, wait=PATIENT_MS, **(how or ONE))

    def stop(self):
        for site in self.site.values():
            site.stop()
        self.forwarder.stop()
        self.path.stop()


def busy():
    """Seconds that all cores had something to do, and that passed on them."""
    with open("/proc/stat", encoding="ascii") as f:
        ticks = [int(w) for w in f.readline().split()[1:9]]
    return sum(ticks) - ticks[3] - ticks[4], sum(ticks)


def spikes(bench, servers, clients, seed, how=None):
    """{(site, clients, order): milliseconds}; the orders take turns, and begin with another one each time."""
    found = {}
    for turn, (site, n) in enumerate((site, n) for site in SITES for n in clients):
        for order in ORDERS[(turn + seed) % 3:] + ORDERS[:(turn + seed) % 3]:
            result = servers.spike(order, site, n, seed, how)
            if failed(result):
                bench.say(f"{NAMES[site]}, {n} clients, {order}: {failed(result)} pages did not come")
            found[site, n, order] = result["latency_ms"]["mean"]
    return found


def gain(samples, site, clients, order="serpt"):
    return Spread.of([mean(1 - s[site, n, order] / s[site, n, "fifo"] for n in clients) for s in samples])


def behind(samples, site, clients):
    return Spread.of([mean(s[site, n, "serpt"] / s[site, n, "idsrs"] for n in clients) for s in samples])


def measure(bench):
    clients, servers = bench.size(CLIENTS, (100, 200)), Servers(bench)
    seeds, before = itertools.count(1), busy()
    try:
        servers.history(bench.size(30, 6))
        samples = [spikes(bench, servers, clients, next(seeds)) for _ in range(bench.size(6, 3))]
        while bench.patience > 0 and any(verdict(gain(samples, site, clients), GOALS[site]) is None for site in SITES):
            samples.append(spikes(bench, servers, clients, next(seeds)))
            bench.patience -= sum(sum(s.values()) for s in samples[-1:]) / 1000
        hinted = spikes(bench, servers, clients[-1:], 1, HINTED) if not bench.quick else None
    finally:
        servers.stop()
    used, passed = (b - a for a, b in zip(before, busy()))
    bench.say(f"real pages: {len(samples)} times spikes of {', '.join(map(str, clients))} clients; the {os.cpu_count()} cores were busy for {100 * used / passed:.0f} % of the time")
    for site in SITES:
        told = "; clients that do as they are told (n/1): IDSRS {:.1f} %, serpt {:.1f} %".format(
            *(100 * gain([hinted], site, clients[-1:], order).value for order in ("idsrs", "serpt"))) if hinted else ""
        bench.say(f"  {NAMES[site]:<10} of FIFO's mean IDSRS saves {100 * gain(samples, site, clients, 'idsrs').value:.1f} %, serpt {100 * gain(samples, site, clients).value:.1f} %; "
                  f"serpt's mean is {behind(samples, site, clients).value:.3f} of IDSRS's{told}")
    for site in SITES:
        bench.figure(f"serpt_real_{site}_gain", gain(samples, site, clients), "of FIFO's mean", GOALS[site])
    bench.figure("serpt_real_idsrs_ratio", worst((behind(samples, site, clients) for site in SITES), max), "of IDSRS's mean")
    bench.data["real"] = {site: {n: {o: mean(s[site, n, o] for s in samples) / 1000 for o in ORDERS} for n in clients} for site in SITES}


FAMILIES = [(measure, (*(f"serpt_real_{site}_gain" for site in SITES), "serpt_real_idsrs_ratio"))]
