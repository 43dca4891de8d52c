# SPDX-License-Identifier: BSD-2-Clause
"""
auto.py - QosWindow auto against the best of the fixed windows, on three backends whose nature it is not told.

    fast        nginx and the mix
    slow        16 workers, 50 ms a page
    changing    the slow one, which for 20 s at a time answers at once; a fixed window does not care how often it changes, so the best is
                chosen with changes every 2 s

The best fixed window is the one with the most requests/s among those that keep the shares within the same 2 points (a window that gives
the shares up is no match); it is chosen in runs of its own, then measured anew in turns with auto, because the best of several noisy figures
is one that had luck.

    auto_throughput_ratio   requests/s with auto / with the best fixed window, median of the pairs, worst of the three backends
    auto_share_error        points, worst class of the worst run
"""
import statistics

from setting import alternate, classes, median_ratio, pooled_share_error, requests_per_s, share_error

FIXED = (4, 8, 16, 24, 32, 48)
QUICK = (8, 16, 32)
SHARE_ERROR = 2.0
WARMUP = 3
SLOW = {"workers": 16, "delay_ms": 50}


def one(bench, backend, window, urls, seconds, warmup):
    gateway = bench.gateway(backend, window=window)
    result = bench.run(gateway, classes(urls=urls), seconds, warmup=warmup)
    bench.retire(gateway)
    return result


def choose(bench, backend, urls, seconds, name):
    """The best fixed window."""
    results = {w: [] for w in bench.seconds(FIXED, QUICK)}
    for _ in range(bench.seconds(2, 1)):
        for w, runs in results.items():
            runs.append(one(bench, backend, w, urls, seconds, 0.5))
    rates = {w: statistics.median(map(requests_per_s, runs)) for w, runs in results.items()}
    errors = {w: pooled_share_error(runs) for w, runs in results.items()}
    bench.say(f"{name}: fixed windows: " + ", ".join(f"{w}: {rates[w]:.0f}/s, {errors[w]:.2f} points" for w in rates))
    return max((w for w in rates if errors[w] <= SHARE_ERROR), key=rates.get, default=min(errors, key=errors.get))


def measure(bench):
    mix, mix_of_nginx = bench.urls["origin-mix"], bench.urls["mix"]
    slow = bench.origin("slow", **SLOW)
    changing = bench.origin("changing", alternate=20, **SLOW)
    often = bench.origin("changing-often", alternate=2, **SLOW)
    static = bench.static_backend()
    kinds = (   # name, backend to choose on and for how long, backend of the pairs and for how long
        ("fast", mix_of_nginx, static, bench.seconds(10, 1.5), static, bench.seconds(30, 4)),
        ("slow", mix, slow, bench.seconds(10, 4), slow, bench.seconds(30, 5)),
        ("changing", mix, often, bench.seconds(12, 4), changing, 40),
    )
    ratios, shares = [], []
    for name, urls, choice, choice_seconds, backend, seconds in kinds:
        best = choose(bench, choice, urls, choice_seconds, name)
        pairs = alternate(bench.seconds(3, 1), lambda: one(bench, backend, best, urls, seconds, WARMUP),
                          lambda: one(bench, backend, "auto", urls, seconds, WARMUP))
        ratios.append(median_ratio(pairs, requests_per_s))
        shares.append(max(share_error(auto) for _, auto in pairs))
        bench.say(f"{name}: auto has {ratios[-1]:.3f} of what the best fixed window, {best}, has; share error {shares[-1]:.2f} points")
    for backend in (slow, changing, often):
        bench.retire(backend)
    bench.figures.figure("auto_throughput_ratio", min(ratios), "times", ">= 0.95")
    bench.figures.figure("auto_share_error", max(shares), "points", f"<= {SHARE_ERROR:.1f}")


FAMILIES = [(measure, ("auto_throughput_ratio", "auto_share_error"))]
