# SPDX-License-Identifier: BSD-2-Clause
"""
auto.py - QosWindow auto against the best of the fixed windows, on three backends whose nature it is not told.

    fast        nginx and the mix
    slow        16 workers, 50 ms a page
    changing    the slow one, which for 20 s at a time answers at once; fixed windows do not care how often it changes, so they are
                measured with changes every 2 s

    auto_throughput_ratio   requests/s with auto / with the best fixed window, worst of the three
    auto_share_error        points, worst class of the worst of the three
"""
from setting import classes, requests_per_s, share_error

FIXED = (4, 8, 12, 16, 24, 32, 48)
QUICK = (8, 16, 32)
SLOW = {"workers": 16, "delay_ms": 50}


def one(bench, backend, window, urls, seconds, warmup):
    gateway = bench.gateway(backend, window=window, threads=50)
    result = bench.run(gateway, classes(urls=urls), seconds, warmup=warmup)
    bench.retire(gateway)
    return result


def measure(bench):
    mix = bench.urls["origin-mix"]
    slow = bench.origin("slow", **SLOW)
    changing = bench.origin("changing", alternate=20, **SLOW)
    often = bench.origin("changing-often", alternate=2, **SLOW)
    kinds = (
        ("fast", bench.static_backend(), bench.static_backend(), bench.urls["mix"], bench.seconds(15, 2), bench.seconds(30, 4), 3),
        ("slow", slow, slow, mix, bench.seconds(15, 2), bench.seconds(60, 6), 3),
        ("changing", often, changing, mix, bench.seconds(16, 4), bench.seconds(80, 40), 0.5),
    )
    ratios, shares = [], []
    for name, fixed_backend, auto_backend, urls, fixed_seconds, seconds, warmup in kinds:
        fixed = {w: one(bench, fixed_backend, w, urls, fixed_seconds, 0.5) for w in bench.seconds(FIXED, QUICK)}
        best = max(fixed, key=lambda w: requests_per_s(fixed[w]))
        auto = one(bench, auto_backend, "auto", urls, seconds, warmup)
        ratios.append(requests_per_s(auto) / requests_per_s(fixed[best]))
        shares.append(share_error(auto))
        bench.say(f"{name}: best fixed window {best} {requests_per_s(fixed[best]):.0f}/s, auto {requests_per_s(auto):.0f}/s, "
                  f"share error {shares[-1]:.2f} points; fixed: "
                  + ", ".join(f"{w}: {requests_per_s(r):.0f}/s {share_error(r):.1f}" for w, r in fixed.items()))
    for backend in (slow, changing, often):
        bench.retire(backend)
    bench.figures.figure("auto_throughput_ratio", min(ratios), "times", ">= 0.95")
    bench.figures.figure("auto_share_error", max(shares), "points", "<= 2.0")


FAMILIES = [(measure, ("auto_throughput_ratio", "auto_share_error"))]
