# SPDX-License-Identifier: BSD-2-Clause
"""
graceful.py - graceful restarts one after the other, under load, so soon that children of several generations are there at a time.

    graceful_failed         requests that were answered 400 and more, or not at all
    graceful_window_most    requests that the backend had at one time; the window is 8
"""
import time

from setting import WINDOW, clients

from lab.lab import Origin
from lab.load import Load, errors

PAUSE = 0.7
WEIGHTS = {"people": 6, "search": 3, "crawlers": 1}


def measure(bench):
    restarts = bench.size(100, 8)
    with Origin(bench.lab, name="origin-graceful") as backend, bench.gateway(backend, WEIGHTS, spare=8) as g:
        with Load(g.address, [clients(c, 20, url="/size/5000?delay=20") for c in WEIGHTS], restarts * 20 + 20) as run:
            for _ in range(restarts):
                g.graceful()
                time.sleep(PAUSE)
            run.stop()
            result = run.result()
        most = backend.stat()["max_serving"]
    failed = errors(result) + sum(n for code, n in result["total"]["status"].items() if int(code) >= 400)
    bench.say(f"{restarts} graceful restarts in {result['seconds']:.0f} s, {result['total']['requests']} requests: {result['total']['status']}, {result['total']['errors']}")
    bench.figure("graceful_failed", failed, "requests", "== 0")
    bench.figure("graceful_window_most", most, "requests", f"<= {WINDOW}")


FAMILIES = [(measure, ("graceful_failed", "graceful_window_most"))]
