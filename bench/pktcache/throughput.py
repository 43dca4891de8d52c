# SPDX-License-Identifier: BSD-2-Clause
"""
throughput.py - how much one connection gets through both daemons, with both endpoints on the same two cores, and what the daemons' processors do for it; `keep all`.

    gbit_hit        a file of 64 MB again and again, after the first time: all fingerprints
    gbit_miss       a file of 256 MB again and again, with caches of 64 MB: nothing is ever known
    ns_per_1500     of both daemons together, for each 1,500 bytes that came: the larger of the two
    gbit_plain      the same path without daemons; no goal
"""
import os
import statistics
import subprocess
import sys

from lab.pair import Pair
from spread import Spread, worst

HERE = os.path.dirname(os.path.abspath(__file__))
PORT = 8000
MB = 44 * 1448 * 16         # whole messages


def file_of(bench, name, megabytes):
    path = os.path.join(bench.lab.dir, name)
    with open(path, "wb") as f:
        for _ in range(megabytes):
            f.write(os.urandom(MB))
    return path


class Stream:
    def __init__(self, pair, path):
        self.pair = pair
        self.server = subprocess.Popen([*pair.servers.prefix, sys.executable, os.path.join(HERE, "sender.py"), "serve", str(PORT), path], stdout=subprocess.PIPE, text=True)
        self.server.stdout.readline()

    def run(self, seconds, skip=0):
        out = subprocess.run([*self.pair.clients.prefix, sys.executable, os.path.join(HERE, "sender.py"), "fetch", "10.8.1.2", str(PORT), str(seconds), str(skip)],
                             capture_output=True, text=True, check=True, timeout=120)
        return float(out.stdout)

    def stop(self):
        self.server.kill()
        self.server.wait()
        self.server.stdout.close()


def through(bench, path, megabytes, cache, what):
    pair = Pair(bench.lab).start()
    stream = Stream(pair, path)
    seconds, runs = bench.size((5, 5), (2, 3))
    try:
        plain = statistics.median(stream.run(seconds) for _ in range(runs))
        pair.both(keep="all", ports=PORT, cache=cache)
        rates, costs = [], []
        for i in range(runs):
            cpu, before = pair.parent.cpu() + pair.child.cpu(), pair.parent.counters()["bytes_in"]
            rates.append(stream.run(seconds, skip=megabytes * MB + MB if what == "hit" and not i else 0))
            costs.append((pair.parent.cpu() + pair.child.cpu() - cpu) / (pair.parent.counters()["bytes_in"] - before) * 1500e9)
        counters = pair.parent.counters()
        bench.say(f"{what}: {statistics.median(rates) / 1e9:.2f} Gbit/s ({min(rates) / 1e9:.2f} to {max(rates) / 1e9:.2f}), {statistics.median(costs):.0f} ns for each 1,500 bytes, "
                  f"{100 * counters['hits'] / counters['kept']:.1f} % known, {counters['again']} segments again; without daemons {plain / 1e9:.2f} Gbit/s")
        return Spread.of([r / 1e9 for r in rates]), Spread.of(costs), plain / 1e9
    finally:
        stream.stop()
        pair.stop()


def measure(bench):
    hit, hit_cost, plain = through(bench, file_of(bench, "hit", 64), 64, "256M", "hit")
    miss, miss_cost, _ = through(bench, file_of(bench, "miss", 256), 256, "64M", "miss")
    bench.figure("gbit_hit", hit, "Gbit/s", ">= 5")
    bench.figure("gbit_miss", miss, "Gbit/s", ">= 5")
    bench.figure("ns_per_1500", worst((hit_cost, miss_cost), max), "ns")
    bench.figure("gbit_plain", plain, "Gbit/s")


FAMILIES = [(measure, ("gbit_hit", "gbit_miss", "ns_per_1500", "gbit_plain"))]
