# SPDX-License-Identifier: BSD-2-Clause
"""
hung.py - one of two backends hangs; who asks for the other one.

    hung_backend_p95_ratio      95 % of the other backend's pages, while the first one does not answer / while it does; each has a window of its own
"""
from setting import clients
from spread import Spread

from lab.lab import Origin

OWN = "<Location /first/>\n  QosWindow 8\n</Location>\n"
OTHERS = clients("people", 20, url="/size/2048?delay=30", think=100)


def first(query):
    """Thirty clients of the first backend."""
    return clients("crawlers", 30, url=f"/first/size/2048?{query}")


def p95(bench, backend, query):
    with bench.gateway(bench.origin(), {"people": 3, "crawlers": 1}, more=OWN, early=f"ProxyPass /first/ {backend.url}/\n") as g:
        return bench.seen(g, [OTHERS, first(query)], bench.size(60, 4), bench.size(4, 2))["classes"]["people"]["latency_ms"]["p95"]


def measure(bench):
    with Origin(bench.lab, name="origin-first") as backend:
        found, spread = bench.repeat(lambda: (p95(bench, backend, "delay=30"), p95(bench, backend, "never")), lambda pairs: Spread.of([b / a for a, b in pairs]), "<= 1.05",
                                     least=bench.size(3, 1))
    bench.say(f"{found[-1][0]:.1f} ms, {found[-1][1]:.1f} ms while the other one hangs")
    bench.figure("hung_backend_p95_ratio", spread, "times", "<= 1.05")


FAMILIES = [(measure, ("hung_backend_p95_ratio",))]
