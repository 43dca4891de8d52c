# SPDX-License-Identifier: BSD-2-Clause
"""
auto.py - QosWindow auto against the best of the fixed windows, on three backends whose nature it is not told.

    fast        nginx and the mix
    slow        16 workers, 50 ms a page
    changing    the slow one, which for 20 s at a time answers at once; a fixed window does not care how often it changes, so the best is
                chosen with changes every 2 s.  The two halves are compared each for itself, or the slow one would not count

The best fixed window is the one with the most requests/s among those that keep the shares within the same 2 points (a window that gives
the shares up is no match); it is chosen in runs of its own, then measured anew in turns with auto, because the best of several noisy figures
is one that had luck.  Counting begins 3 s after the start of a gateway: that long the window may take to be found.

    auto_throughput_ratio   requests/s with auto / with the best fixed window, median of the pairs, worst of the backends and halves
    auto_share_error        points, worst class of the worst run
"""
import statistics

from setting import classes, pooled_share_error, ratios, repeat_pairs, requests_per_s, said, share_error
from spread import worst

FIXED = (4, 8, 16, 24, 32, 48)
QUICK = (8, 16, 32)
SHARE_ERROR = 2.0
WARMUP = 3
BETWEEN = 1000      # requests/s: the slow half can do 320, the other does thousands
SLOW = {"workers": 16, "delay_ms": 50}


def one(bench, backend, window, urls, seconds, warmup):
    gateway = bench.gateway(backend, window=window)
    result = bench.run(gateway, classes(urls=urls), seconds, warmup=warmup, interval=1, shares=True)
    bench.retire(gateway)
    return result


def half(slow):
    """Requests/s of a run on the changing backend, of the seconds in which it was slow, or was not."""
    def rate(result):
        rates = [requests_per_s(line) for line in result["intervals"]]
        return statistics.mean(r for r in rates if (r < BETWEEN) == slow)
    return rate


def choose(bench, backend, urls, seconds, name):
    """The best fixed window."""
    results = {w: [] for w in bench.size(FIXED, QUICK)}
    for _ in range(bench.size(2, 1)):
        for w, runs in results.items():
            runs.append(one(bench, backend, w, urls, seconds, 0.5))
    rates = {w: statistics.median(map(requests_per_s, runs)) for w, runs in results.items()}
    errors = {w: pooled_share_error(runs) for w, runs in results.items()}
    bench.say(f"{name}: fixed windows: " + ", ".join(f"{w}: {rates[w]:.0f}/s, {errors[w]:.2f} points" for w in rates))
    fair = [w for w in rates if errors[w] <= SHARE_ERROR]
    if not fair:
        bench.say(f"{name}: no fixed window keeps the shares")
    return max(fair, key=rates.get) if fair else min(errors, key=errors.get)


def measure(bench):
    mix, mix_of_nginx = bench.urls["origin-mix"], bench.urls["mix"]
    slow = bench.origin("slow", **SLOW)
    changing = bench.origin("changing", alternate=20, **SLOW)
    often = bench.origin("changing-often", alternate=2, **SLOW)
    static = bench.static_backend()
    kinds = (   # name, backend to choose on and for how long, backend of the pairs and for how long
        ("fast", mix_of_nginx, static, bench.size(10, 1.5), static, bench.size(30, 4)),
        ("slow", mix, slow, bench.size(10, 4), slow, bench.size(30, 5)),
        ("changing", mix, often, bench.size(12, 4), changing, 40),
    )
    throughputs, shares = [], []
    for name, urls, choice, choice_seconds, backend, seconds in kinds:
        best = choose(bench, choice, urls, choice_seconds, name)
        rates = (half(True), half(False)) if name == "changing" else (requests_per_s,)
        pairs, _ = repeat_pairs(bench, bench.size(3, 1), lambda: one(bench, backend, best, urls, seconds, WARMUP), lambda: one(bench, backend, "auto", urls, seconds, WARMUP),
                                rates[0], ">= 0.95")
        found = [ratios(pairs, rate) for rate in rates]
        throughputs += found
        shares.append(share_error([auto for _, auto in pairs]))
        bench.say(f"{name}: auto has {' and '.join(f'{r:.3f}' for r in found)} of what the best fixed window, {best}, has; "
                  f"share error {shares[-1]:.2f} points{said([auto for _, auto in pairs])}")
    for backend in (slow, changing, often):
        bench.retire(backend)
    bench.figure("auto_throughput_ratio", worst(throughputs, min), "times", ">= 0.95")
    bench.figure("auto_share_error", worst(shares, max), "points", f"<= {SHARE_ERROR:.1f}")


FAMILIES = [(measure, ("auto_throughput_ratio", "auto_share_error"))]
