# SPDX-License-Identifier: BSD-2-Clause
"""
shares.py - who gets how much, QoS off and on (website paper 4.2.2 and 4.2.3, Fig. 10 to 15).

Thirty closed-loop clients a class, 6:3:1, window 8: pages of one size, static and by PHP without Content-Length; the lognormal mix; and
the mix under paths that no one has asked for before, so that every estimate is a guess.

    share_error_max     points; worst class of the worst run, pages of 512 bytes and more (32 bytes: share_error_32, +-2)
    share_error_unseen  points; the same for pages never seen before (+-2)
    heaviest_gain       the heaviest class on / off, worst of the sizes from 32 KB on, median of the pairs; ideal 1.8
    total_ratio         all classes on / off, likewise
    heaviest_gain_cpu   the same two where the server is not the bottleneck: its pages come from memory on the same two cores, and what runs
    total_ratio_cpu     out is CPU time, of which holding takes its part (cost.py); no goal

The first two are taken on a server behind a link of 400 Mbit/s: what is shared is the server, so it must be what there is too little of.
"""
import setting
from lab import site
from setting import alternate, bytes_per_s, classes, median_ratio, pooled_share_error, share_error

LARGE = tuple(n for n in site.SIZES if n >= 32768)


def of_heaviest(result):
    return result["classes"]["people"]["bytes_per_s"]


def keep(bench, picture, label, pairs):
    """What the pictures need of these pairs: means over the runs."""
    def mean(runs, what):
        return {c: sum(what(r["classes"][c]) for r in runs) / len(runs) for c in setting.CLASSES}
    row = {"label": label}
    for state, runs in (("off", [a for a, _ in pairs]), ("on", [b for _, b in pairs])):
        row[state] = {"mbit": mean(runs, lambda c: c["bytes_per_s"] * 8e-6), "share": mean(runs, lambda c: c["share"]),
                      "ms": mean(runs, lambda c: c["latency_ms"]["mean"])}
    bench.data.setdefault(picture, []).append(row)


def gateways(bench, backend=None, **options):
    backend = backend or bench.static_backend()
    return bench.gateway(backend, engine=False, **options), bench.gateway(backend, window=8, **options)


def pairs_of(bench, urls, pairs, seconds, backend=None, **options):
    off, on = gateways(bench, backend, **options)
    clients = classes(urls=urls)
    return alternate(pairs, lambda: bench.run(off, clients, min(seconds, 10), 0.3), lambda: bench.run(on, clients, seconds, 0.3))


def error_of(bench, pairs):
    """Share error of the worst run; short runs are taken as one, because one long response more or less is a point of a second."""
    runs = [on for _, on in pairs]
    return pooled_share_error(runs) if bench.quick else max(map(share_error, runs))


def measure(bench):
    say, figure = bench.say, bench.figure
    errors, gains, totals = {}, {}, {}
    for n in site.SIZES:
        large = n in LARGE
        pairs = pairs_of(bench, bench.urls[f"size-{n}"], bench.size(3 if large else 2, 3 if large else 1),
                         bench.size(30, 1.0 if large else 1.6))
        keep(bench, "fixed", n, pairs)
        errors[f"{n} bytes"] = error_of(bench, pairs)
        gains[n], totals[n] = median_ratio(pairs, of_heaviest), median_ratio(pairs, bytes_per_s)
        say(f"{n} bytes: share error {errors[f'{n} bytes']:.2f} points, heaviest {gains[n]:.2f} x, total {totals[n]:.3f} x")
    for name, urls in (("mix", "mix"), ("PHP mix", "php-mix")):
        pairs = pairs_of(bench, bench.urls[urls], 1, bench.size(30, 2))
        keep(bench, "mix", name, pairs)
        errors[name] = error_of(bench, pairs)
        say(f"{name}: share error {errors[name]:.2f} points, heaviest {median_ratio(pairs, of_heaviest):.2f} x, "
            f"total {median_ratio(pairs, bytes_per_s):.3f} x")
    _, on = gateways(bench)
    for n in site.SIZES:
        name = f"PHP {n} bytes"
        errors[name] = share_error(bench.run(on, classes(urls=bench.urls[f"php-{n}"]), bench.size(30, 1.5)))
        say(f"{name}: share error {errors[name]:.2f} points")
    tiny = ("32 bytes", "PHP 32 bytes")
    figure("share_error_max", max(e for name, e in errors.items() if name not in tiny), "points", "<= 1.0")
    figure("share_error_32", max(errors[name] for name in tiny), "points", "<= 2.0")
    figure("heaviest_gain_cpu", min(gains[n] for n in LARGE), "times")
    figure("total_ratio_cpu", min(totals[n] for n in LARGE), "times")


def measure_totals(bench):
    """
    Without QoS the link is split among connections to the server as TCP happens to, and connections keep their luck however long a run is.
    With two children, each with connections of its own, a class has 33 % of it with a deviation of 5 points, by which child took in how many
    of its clients; with one child of as many threads 1.5 points.  So it is one child here, and many short pairs: their median deviates by 2 %.
    """
    gains, totals = [], []
    for n in LARGE:
        pairs = pairs_of(bench, bench.urls[f"size-{n}"], bench.size(15, 3), bench.size(4, 1.5), bench.linked_backend(),
                         children=1, threads=150)
        gains.append(median_ratio(pairs, of_heaviest))
        totals.append(median_ratio(pairs, bytes_per_s))
        bench.say(f"{n} bytes over the link: share error {error_of(bench, pairs):.2f} points, heaviest {gains[-1]:.2f} x, total {totals[-1]:.3f} x")
    bench.figure("heaviest_gain", min(gains), "times", ">= 1.70")
    bench.figure("total_ratio", min(totals), "times", ">= 0.97")


def measure_unseen(bench):
    _, on = gateways(bench)
    result = bench.run(on, classes(urls=bench.urls["unseen"]), bench.size(30, 3))
    bench.figure("share_error_unseen", share_error(result), "points", "<= 2.0")


FAMILIES = [
    (measure, ("share_error_max", "share_error_32", "heaviest_gain_cpu", "total_ratio_cpu")),
    (measure_totals, ("heaviest_gain", "total_ratio")),
    (measure_unseen, ("share_error_unseen",)),
]
