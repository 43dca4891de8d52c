# SPDX-License-Identifier: BSD-2-Clause
"""
shares.py - who gets how much, QoS off and on (website paper 4.2.2 and 4.2.3, Fig. 10 to 15).

Thirty closed-loop clients a class, 6:3:1, window 8: pages of one size, static and by PHP without Content-Length; the lognormal mix; and
the mix under paths that no one has asked for before, so that every estimate is a guess.

    share_error_max     points; worst class of the worst kind of pages, of 512 bytes and more (32 bytes: share_error_32, +-2); classes that asked all the time (setting.asking)
    share_error_unseen  points; the same for pages never seen before (+-2)
    heaviest_gain       the heaviest class on / off, worst of the sizes from 32 KB on, median of the pairs; ideal 1.8
    total_ratio         all classes on / off, likewise
    heaviest_gain_cpu   the same two where the server is not the bottleneck: its pages come from memory on the same two cores, and what runs
    total_ratio_cpu     out is CPU time, of which holding takes its part (cost.py); no goal

The first two are taken on a server behind a link of 400 Mbit/s: what is shared is the server, so it must be what there is too little of.
"""
import setting
from lab import site
from setting import alternate, bytes_per_s, classes, ratios, repeat_pairs, said, share_error
from spread import worst

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


def sides(bench, urls, seconds, backend=None, **options):
    """A run without and one with QoS."""
    off, on = gateways(bench, backend, **options)
    clients = classes(urls=urls)
    return lambda: bench.run(off, clients, min(seconds, 10), 0.3), lambda: bench.run(on, clients, seconds, 0.3, shares=True)


def error_of(bench, runs, more, goal):
    """The share error of these runs, and of more if they do not decide; a remark."""
    first = list(runs)
    _, error = bench.repeat(lambda: first.pop(0) if first else more(), share_error, goal, least=len(first))
    return error, said(runs)


def measure(bench):
    say, figure = bench.say, bench.figure
    errors, gains, totals = {}, {}, {}
    goals = {n: "<= 2.0" if n == 32 else "<= 1.0" for n in site.SIZES}
    for n in site.SIZES:
        large = n in LARGE
        off, on = sides(bench, bench.urls[f"size-{n}"], bench.size(30, 1.0 if large else 1.6))
        pairs = alternate(bench.size(3 if large else 2, 3 if large else 1), off, on)
        keep(bench, "fixed", n, pairs)
        errors[f"{n} bytes"], remark = error_of(bench, [b for _, b in pairs], on, goals[n])
        gains[n], totals[n] = ratios(pairs, of_heaviest), ratios(pairs, bytes_per_s)
        say(f"{n} bytes: share error {errors[f'{n} bytes']:.2f} points, heaviest {gains[n]:.2f} x, total {totals[n]:.3f} x{remark}")
    for name, urls in (("mix", "mix"), ("PHP mix", "php-mix")):
        off, on = sides(bench, bench.urls[urls], bench.size(30, 2))
        pairs = alternate(1, off, on)
        keep(bench, "mix", name, pairs)
        errors[name], remark = error_of(bench, [b for _, b in pairs], on, "<= 1.0")
        say(f"{name}: share error {errors[name]:.2f} points, heaviest {ratios(pairs, of_heaviest):.2f} x, "
            f"total {ratios(pairs, bytes_per_s):.3f} x{remark}")
    for n in site.SIZES:
        name = f"PHP {n} bytes"
        _, on = sides(bench, bench.urls[f"php-{n}"], bench.size(30, 1.5))
        errors[name], remark = error_of(bench, [on()], on, goals[n])
        say(f"{name}: share error {errors[name]:.2f} points{remark}")
    tiny = ("32 bytes", "PHP 32 bytes")
    figure("share_error_max", worst((e for name, e in errors.items() if name not in tiny), max), "points", "<= 1.0")
    figure("share_error_32", worst((errors[name] for name in tiny), max), "points", "<= 2.0")
    figure("heaviest_gain_cpu", worst((gains[n] for n in LARGE), min), "times")
    figure("total_ratio_cpu", worst((totals[n] for n in LARGE), min), "times")


def measure_totals(bench):
    """
    Without QoS the link is split among connections to the server as TCP happens to, and connections keep their luck however long a run is.
    With two children, each with connections of its own, a class has 33 % of it with a deviation of 5 points, by which child took in how many
    of its clients; with one child of as many threads 1.5 points.  So it is one child here, and many short pairs: their median deviates by 2 %.
    """
    gains, totals = [], []
    for n in LARGE:
        off, on = sides(bench, bench.urls[f"size-{n}"], bench.size(4, 1.5), bench.linked_backend(), children=1, threads=150)
        pairs, gain = repeat_pairs(bench, bench.size(15, 3), off, on, of_heaviest, ">= 1.70")
        gains.append(gain)
        totals.append(ratios(pairs, bytes_per_s))
        bench.say(f"{n} bytes over the link: share error {share_error([b for _, b in pairs]):.2f} points, heaviest {gains[-1]:.2f} x, total {totals[-1]:.3f} x")
    bench.figure("heaviest_gain", worst(gains, min), "times", ">= 1.70")
    bench.figure("total_ratio", worst(totals, min), "times", ">= 0.97")


def measure_unseen(bench):
    _, on = sides(bench, bench.urls["unseen"], bench.size(30, 3))
    error, remark = error_of(bench, [on()], on, "<= 2.0")
    if remark:
        bench.say(f"never seen before{remark}")
    bench.figure("share_error_unseen", error, "points", "<= 2.0")


FAMILIES = [
    (measure, ("share_error_max", "share_error_32", "heaviest_gain_cpu", "total_ratio_cpu")),
    (measure_totals, ("heaviest_gain", "total_ratio")),
    (measure_unseen, ("share_error_unseen",)),
]
