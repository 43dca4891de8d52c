# SPDX-License-Identifier: BSD-2-Clause
"""
conserve.py - nothing is idle: one class alone gets what the gateway gives it with QoS off.

    conservation_ratio      bytes/s of the lightest class alone, on / off, 32 KB pages; median of the pairs; the server is the bottleneck
    conservation_ratio_cpu  the same where CPU time is (see shares.py); no goal
    slow_reader_ratio       bytes/s of all others while eight clients read a 50 MB page at 1 KB/s / without them; median of the pairs
"""
from lab import site
from setting import bytes_per_s, classes, repeat_pairs


def alone(bench):
    clients = classes(only=("crawlers",), urls=bench.urls["size-32768"])
    seconds = bench.size(8, 1.5)
    for name, backend, goal in (("conservation_ratio", bench.linked_backend(), ">= 0.97"), ("conservation_ratio_cpu", bench.static_backend(), None)):
        off, on = bench.gateway(backend, engine=False), bench.gateway(backend, window=8)
        _, ratio = repeat_pairs(bench, bench.size(5, 3), lambda: bench.run(off, clients, seconds), lambda: bench.run(on, clients, seconds), bytes_per_s, goal)
        bench.figure(name, ratio, "times", goal)


def slow_readers(bench):
    backend = bench.static_backend()
    on = bench.gateway(backend, window=8)
    others = classes(urls=bench.urls["size-32768"])
    slow = dict(name="slow", clients=8, rate=1024, url=f"/size/{site.BIG}.html", header=others[0]["header"])
    seconds = bench.size(8, 1.5)
    _, ratio = repeat_pairs(bench, bench.size(5, 3), lambda: bench.run(on, others, seconds), lambda: bench.run(on, others + [slow], seconds), bytes_per_s, ">= 0.95")
    bench.figure("slow_reader_ratio", ratio, "times", ">= 0.95")


FAMILIES = [(alone, ("conservation_ratio", "conservation_ratio_cpu")), (slow_readers, ("slow_reader_ratio",))]
