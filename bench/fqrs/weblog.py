# SPDX-License-Identifier: BSD-2-Clause
"""
weblog.py - ten minutes of what a proxy's log looks like, at 20 Mbit/s with two workers and caches on: pages of Zipf's popularity, a fifth of them errors, conditions and their 304s, HEAD, uploads of
1 MB, tunnels; three of ten clients give up; servers that are slow, stall, cut, refuse, do not answer, or have a name that nobody knows.

    weblog_slots_leaked         requests that are still outstanding, parked or queued a minute after the last client has gone, and what the counters do not agree about
    weblog_longest_stall_s      longest time in which one of three classes, of weights 4, 2 and 1, received nothing
    weblog_memory_growth        memory of Squid's processes at the end / in the middle
    weblog_memory_growth_ratio  the same / stock Squid's: 5.7 itself keeps a clientReplyContext (mgr:mem) of some two in five of these requests for good
    rival_stock_weblog_longest_stall_s, rival_stock_weblog_memory_growth        stock Squid's, side by side; no goal

The log is drawn anew with each seed; none of a real one's users is in it.
"""
import itertools
import os
import random
import statistics
import subprocess
import time

from trial import FQRS, NAMES, STOCK, Cell, Contender, Trial

from lab.lab import LabError, wait_for
from lab.site import deck_sizes

PAGES, DRAWS = 3000, 20_000
ZIPF = 0.9
DEAD_PORT, SILENT_PORT = 81, 82
MORE = """
cache_mem 16 MB
maximum_object_size_in_memory 512 KB
refresh_pattern . 1 20% 5
connect_timeout 3 seconds
read_timeout 20 seconds
dns_timeout 2 seconds
forward_max_tries 2
negative_ttl 0
"""
# Of a thousand requests; the rest are pages as they should be.
KINDS = (("?status=404", 200), ("?status=403", 50), ("?status=500", 20), ("?status=503&retry=1", 10), ("?truncate", 10), ("?reset", 10), ("?delay=2000", 20), ("?trickle=4000", 5),
         ("dead", 5), ("silent", 3), ("nobody", 2), ("?chunked", 150), ("?close", 30), ("?etag", 100))


def with_caches(contender):
    def config(cell, directory):
        store = os.path.join(directory, f"store-{contender.name}")
        os.makedirs(store, exist_ok=True)
        subprocess.run(["chown", "proxy:proxy", store], check=True)
        return contender.config(cell, directory) + MORE + f"cache_dir rock {store} 64\n"
    return Contender(contender.name, contender.squid, config)


def url(field, kind, i, size):
    host = field.server_addresses[i % len(field.server_addresses)]
    places = {"dead": f"{host}:{DEAD_PORT}", "silent": f"{host}:{SILENT_PORT}", "nobody": f"no-{i}.invalid"}
    path = f"/size/{size}" + (kind if kind.startswith("?") else "")
    return f"http://{places.get(kind, host)}{path}{'&' if '?' in path else '?'}p={i}"


def draw(trial, field, position):
    """A list of URLs as they stand in a log, each as often as it is popular."""
    rng = random.Random(f"log-{trial.seed}-{position}")
    sizes = deck_sizes()
    kinds = [k for k, n in KINDS for _ in range(n)]
    kinds += [""] * (1000 - len(kinds))
    pages = [url(field, rng.choice(kinds), i, rng.choice(sizes)) for i in range(PAGES)]
    weights = [1 / (i + 1) ** ZIPF for i in range(PAGES)]
    path = os.path.join(trial.lab.dir, f"log-{trial.contender.name}-{position}")
    with open(path, "w", encoding="utf-8") as f:
        f.writelines(f"{u}\n" for u in rng.choices(pages, weights, k=DRAWS))
    return path


def crowd(trial, field):
    field.servers.run("iptables", "-A", "INPUT", "-p", "tcp", "--dport", str(SILENT_PORT), "-j", "DROP")
    made, server = [], itertools.cycle(field.server_addresses)
    for i, name in enumerate(NAMES):
        words = dict(name=name, source=f"10.1.{i + 1}.1", **trial.way(field))
        log = draw(trial, field, i)
        made += [
            dict(words, clients=12, urls=log, think=200),
            dict(words, clients=9, urls=log, think=150, abort=60),
            dict(words, clients=2, url=[f"http://{next(server)}/size/30000?{how}" for how in ("never", "stall", "gate")], abort=4000),
            dict(words, clients=2, url=[f"http://{next(server)}/size/{n}?etag" for n in (300, 5000, 40_000)], header='If-None-Match: "x"', think=100),
            dict(words, clients=1, urls=log, method="HEAD", think=100),
            dict(words, clients=1, url=f"http://{next(server)}/size/300", method="POST", body=1_000_000, think=5000),
            dict(words, clients=3, urls=trial.urls(field, i, "https"), close=True, think=200),
            dict(words, clients=1, urls=trial.urls(field, i, "https"), close=True, abort=500),
        ]
    return made


class Weblog(Trial):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.memory, self.looked = [], 0

    def _cpu(self):
        """Memory is looked at with it, now and then."""
        if time.monotonic() >= self.looked + 5:
            self.looked = time.monotonic()
            self.memory.append(self.squid.own_memory())
        return super()._cpu()

    def growth(self):
        n = len(self.memory)
        early, late = self.memory[n // 3:max(n // 3 + 1, n // 2)], self.memory[-max(1, n // 6):]
        return statistics.mean(late) / statistics.mean(early) if early else float("nan")

    def leaked(self):
        """What is left when all are gone."""
        def told():
            return self.squid.json()
        try:
            s = wait_for(lambda: (s := told())["outstanding"] == s["parked"] == s["queued"] == 0 and s, 60, "nothing outstanding")
        except LabError:
            s = told()
        wrong = sum(abs(c["released"] - c["done"] - c["aborted"] - c["outstanding"] - c["parked"]) + abs(c["submitted"] - c["released"] - c["cancelled"] - c["queued"])
                    for c in s["classes"])
        left = {k: s[k] for k in ("outstanding", "parked", "queued")}
        return sum(left.values()) + wrong, f"; {left} are left, counters differ by {wrong}"

    def result(self, field, load, begun, ended, took, cpu):
        total, gap = load["total"], max(load["classes"][n]["gap_s"] for n in NAMES)
        leaked, left = self.leaked() if self.contender.name == FQRS.name else (None, "")
        asked = total["requests"] + total["aborted"] + sum(total["errors"].values())
        return {"contender": self.contender.name, "cell": self.cell.name, "gap": gap, "growth": self.growth(), "leaked": leaked,
                "row": f"   weblog {self.contender.name:<9} {asked} requests, {100 * total['aborted'] / max(1, asked):.0f} % given up, status {total['status']}, errors {total['errors']}; "
                       f"longest stall {gap:.1f} s, memory {self.memory[0] / 1e6:.1f} to {self.memory[-1] / 1e6:.1f} MB{left}"}


def measure(bench):
    cell = Cell("weblog", rate="20mbit", limit=400_000, crowd=crowd, workers=2, cache=True)
    ours, stock = bench.in_order([Weblog(bench.lab, with_caches(c), cell, *((20,) if bench.quick else (600,)), warm_up=8 if bench.quick else 30) for c in (FQRS, STOCK)])
    bench.figure("weblog_slots_leaked", ours["leaked"], "requests", "== 0")
    bench.figure("weblog_longest_stall_s", ours["gap"], "s", "<= 5")
    bench.figure("weblog_memory_growth", ours["growth"], "times", "<= 1.05")
    bench.figure("weblog_memory_growth_ratio", ours["growth"] / stock["growth"], "of stock's", "<= 1.05")
    bench.figure("rival_stock_weblog_longest_stall_s", stock["gap"], "s")
    bench.figure("rival_stock_weblog_memory_growth", stock["growth"], "times")


FAMILIES = ((measure, ["weblog_slots_leaked", "weblog_longest_stall_s", "weblog_memory_growth", "weblog_memory_growth_ratio"]),)
