# SPDX-License-Identifier: BSD-2-Clause
"""
one.py - one client, pages of 1 to 150 segments (Fig. 15).

    one_client_gain     the part of the time of one segment after the other that a client saves who does as the server tells it, mean over all sizes (paper: 0.619)

Fig. 15 has the windows n/10 to n; beside them stand those of today's clients, and in peers.py some of these clients themselves.
"""
from setting import DIVISORS, OURS, SLOW, WINDOWS, mean, turned
from spread import Spread


def time_of(bench, way, segments, requests):
    """Median of so many pages, one after the other, in milliseconds."""
    return bench.run(way, lambda site: site.of_size(segments), requests=requests, seconds=60)["latency_ms"]["p50"]


def sizes_of(bench):
    return bench.size((1, 2, 3, 5, 8, *range(10, 151, 10)), (1, 2, 5, 15, 40, 75, 150))


def every_size(times):
    """Of all sizes from the first to the last, those between two that were measured on the line between their times."""
    sizes, found = sorted(times), {}
    for low, high in zip(sizes, sizes[1:]):
        found |= {n: times[low] + (times[high] - times[low]) * (n - low) / (high - low) for n in range(low, high + 1)}
    return found


def gain(slow, ours):
    """The part that is saved of each size, mean over all from 1 to 150."""
    slow, ours = every_size(slow), every_size(ours)
    return mean(1 - ours[n] / slow[n] for n in slow)


def rounds(bench):
    """[{way: {segments: milliseconds}}] of ours and cubic, which take turns."""
    def measured():
        ways = [OURS, "cubic"]
        return [{way: {n: time_of(bench, way, n, 5) for n in sizes_of(bench)} for way in turned(ways, i)} for i in range(bench.size(9, 5))]
    return bench.once("one", measured)


def measure(bench):
    sizes, goal = sizes_of(bench), ">= 0.80"
    # It takes the round trip so many times, which nothing on the machine makes shorter.
    slow = {n: time_of(bench, SLOW, n, bench.size(3, 1)) for n in sizes}
    found = rounds(bench)
    curves = {SLOW: slow} | {way: {n: Spread.of([r[way][n] for r in found]).value for n in sizes} for way in (OURS, "cubic")}
    others = [w for w in WINDOWS if w not in curves and (not w.startswith("n/") or int(w[2:]) in bench.size(DIVISORS, (10, 5, 2)))]
    curves |= {way: {n: time_of(bench, way, n, bench.size(9, 3)) for n in sizes} for way in others}
    bench.say(f"one client, pages of {sizes[0]} to {sizes[-1]} segments: the mean of all their times is "
              f"{100 * (1 - mean(every_size(curves[OURS]).values()) / mean(every_size(slow).values())):.1f} % shorter than one at a time (paper: 61.9 %)")
    for way, times in curves.items():
        bench.say(f"  {way:<14} " + ", ".join(f"{n}: {ms:.0f}" for n, ms in times.items()) + " ms")
    bench.figure("one_client_gain", Spread.of([gain(slow, r[OURS]) for r in found]), "of the time one at a time", goal)
    bench.data["one"] = {way: {str(n): ms for n, ms in times.items()} for way, times in curves.items()}


FAMILIES = [(measure, ("one_client_gain",))]
