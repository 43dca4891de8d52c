# SPDX-License-Identifier: BSD-2-Clause
"""
hung.py - one of two backends hangs; who asks for the other one.

    hung_backend_p95_ratio      95 % of the other backend's pages, while the first one does not answer / while it does; each has a window of its own
"""
from setting import People, clients
from spread import Spread

from lab.lab import Origin

OWN = "<Location /first/>\n  QosWindow 8\n</Location>\n"
OTHERS = [clients("people", 1, url="/size/2048?delay=30", think=100, source=f"127.0.1.{i}") for i in range(1, 21)]


def first(query):
    """Thirty clients of the first backend."""
    return [clients("crawlers", 1, url=f"/first/size/2048?{query}", source=f"127.0.2.{i}") for i in range(1, 31)]


def gateway(bench, backend):
    return bench.gateway(bench.origin(), {"people": 3, "crawlers": 1}, more=OWN, early=f"ProxyPass /first/ {backend.url}/\n")


def p95(bench, server, query, seconds):
    with server:
        return People.of(bench.seen(server, OTHERS + first(query), seconds, bench.size(4, 1))).p95


def ratio(bench, make, seconds, hangs_for=None):
    """make: gives a fresh server."""
    answers, hangs = p95(bench, make(), "delay=30", seconds), p95(bench, make(), "never", hangs_for or seconds)
    bench.say(f"95 % of the other backend's pages within {answers:.1f} ms, {hangs:.1f} ms while the first one hangs")
    return hangs / answers


def measure(bench):
    with Origin(bench.lab, name="origin-first") as backend:
        _, spread = bench.repeat(lambda: ratio(bench, lambda: gateway(bench, backend), bench.size(20, 4), bench.size(60, 4)), Spread.of, "<= 1.05", least=bench.size(2, 1))
    bench.figure("hung_backend_p95_ratio", spread, "times", "<= 1.05")


FAMILIES = [(measure, ("hung_backend_p95_ratio",))]
