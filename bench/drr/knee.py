# SPDX-License-Identifier: BSD-2-Clause
"""
knee.py - a backend that gets slower when too much is asked of it at once, as the paper's server did (11.7 Mbit/s off, 14.2 on).

The backend is fairgate-origin: 10 ms a page, sixteen workers, and with more than ten requests present each one more adds a tenth to the
service time (threads that switch, memory that swaps, locks that are waited for).  How steep such a knee is, is ours to choose: beside it
stands the paper's own server as today's Debian has it, httpd prefork with sixteen processes, for which the machine decides.

    knee_total_ratio    bytes/s of all classes on / off, window 8; median of the pairs
    prefork_total_ratio the same with httpd prefork; no goal
"""
from lab.httpd import Httpd
from setting import bytes_per_s, classes, repeat_pairs

BACKEND = {"workers": 16, "delay_ms": 10, "knee": 10, "slope": 0.1}


def on_and_off(bench, backend, url, few, goal):
    off, on = bench.gateway(backend, engine=False), bench.gateway(backend, window=8)
    clients = classes(url=url)
    seconds = bench.size(10, 2)
    _, ratio = repeat_pairs(bench, bench.size(5, few), lambda: bench.run(off, clients, seconds), lambda: bench.run(on, clients, seconds), bytes_per_s, goal)
    for server in (off, on, backend):
        bench.retire(server)
    return ratio


def measure(bench):
    bench.figure("knee_total_ratio", on_and_off(bench, bench.origin("knee", **BACKEND), "/size/32768", 2, "> 1.0"), "times", "> 1.0")
    prefork = bench.once("prefork", lambda: Httpd(bench.lab, name="prefork", mpm="prefork", children=16, keep_alive_timeout=5,
                                                  htdocs=bench.site["htdocs"]).start())
    bench.figure("prefork_total_ratio", on_and_off(bench, prefork, "/size/32768.html", 1, None), "times")


FAMILIES = [(measure, ("knee_total_ratio", "prefork_total_ratio"))]
