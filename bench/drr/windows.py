# SPDX-License-Identifier: BSD-2-Clause
"""
windows.py - the window from 1 to 100 (website paper 4.2.4, Fig. 16 to 18): 2 KB pages, thirty clients a class.

No goal hangs on it; the pictures show what the paper saw, that shares fade towards 1:1:1 once the window takes in what would have waited:
beyond min over the classes of (clients / share), here 30 / 0.6 = 50.
"""
from setting import CLASSES, classes

WINDOWS = (1, 2, 4, 8, 16, 24, 32, 40, 48, 56, 64, 72, 80, 90, 100)
QUICK = (1, 4, 8, 16, 32, 64, 100)


def measure(bench):
    backend = bench.static_backend()
    rows = bench.data.setdefault("windows", [])
    for w in bench.size(WINDOWS, QUICK):
        gateway = bench.gateway(backend, window=w)
        result = bench.run(gateway, classes(urls=bench.urls["size-2048"]), bench.size(10, 1), warmup=0.4)
        bench.retire(gateway)
        rows.append({"window": w, "mbit": result["total"]["bytes_per_s"] * 8e-6,
                     "share": {c: result["classes"][c]["share"] for c in CLASSES},
                     "ms": {c: result["classes"][c]["latency_ms"]["mean"] for c in CLASSES}})
        bench.say(f"window {w}: " + " : ".join(f"{rows[-1]['share'][c]:.1f}" for c in CLASSES) + f", {rows[-1]['mbit']:.0f} Mbit/s")


FAMILIES = [(measure, ("windows",))]
