# SPDX-License-Identifier: BSD-2-Clause
"""
auto.py - QosWindow auto against the best of the fixed windows, on three backends whose nature it is not told.

    fast        nginx and the mix
    slow        16 workers, 50 ms a page
    changing    the slow one, which for 20 s at a time answers at once; fixed windows do not care how often it changes, so they are
                measured with changes every 2 s

    auto_throughput_ratio   requests/s with auto / with the best fixed window (medians of the rounds), worst of the three
    auto_share_error        points, worst class of the worst of the three
"""
import statistics

from setting import classes, requests_per_s, share_error

FIXED = (4, 8, 16, 24, 32, 48)
QUICK = (8, 16, 32)
SLOW = {"workers": 16, "delay_ms": 50}


def one(bench, backend, window, urls, seconds, warmup):
    gateway = bench.gateway(backend, window=window)
    result = bench.run(gateway, classes(urls=urls), seconds, warmup=warmup)
    bench.retire(gateway)
    return result


def measure(bench):
    mix = bench.urls["origin-mix"]
    slow = bench.origin("slow", **SLOW)
    changing = bench.origin("changing", alternate=20, **SLOW)
    often = bench.origin("changing-often", alternate=2, **SLOW)
    kinds = (
        ("fast", bench.static_backend(), bench.static_backend(), bench.urls["mix"], bench.seconds(12, 1.5), bench.seconds(30, 3), 2),
        ("slow", slow, slow, mix, bench.seconds(12, 1.5), bench.seconds(60, 5), 3),
        ("changing", often, changing, mix, bench.seconds(12, 4), bench.seconds(80, 40), 0.5),
    )
    ratios, shares = [], []
    for name, fixed_backend, auto_backend, urls, fixed_seconds, seconds, warmup in kinds:
        fixed, auto = {}, []
        for _ in range(bench.seconds(3, 1)):
            for w in bench.seconds(FIXED, QUICK):
                fixed.setdefault(w, []).append(one(bench, fixed_backend, w, urls, fixed_seconds, 0.5))
            auto.append(one(bench, auto_backend, "auto", urls, seconds, warmup))
        rates = {w: statistics.median(map(requests_per_s, results)) for w, results in fixed.items()}
        best, rate = max(rates, key=rates.get), statistics.median(map(requests_per_s, auto))
        ratios.append(rate / rates[best])
        shares.append(max(map(share_error, auto)))
        bench.say(f"{name}: best fixed window {best}, auto {rate:.0f}/s with a share error of {shares[-1]:.2f} points; fixed windows: "
                  + ", ".join(f"{w}: {rates[w]:.0f}/s, {max(map(share_error, fixed[w])):.2f}" for w in rates))
    for backend in (slow, changing, often):
        bench.retire(backend)
    bench.figures.figure("auto_throughput_ratio", min(ratios), "times", ">= 0.95")
    bench.figures.figure("auto_share_error", max(shares), "points", "<= 2.0")


FAMILIES = [(measure, ("auto_throughput_ratio", "auto_share_error"))]
