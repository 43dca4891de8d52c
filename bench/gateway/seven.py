# SPDX-License-Identifier: BSD-2-Clause
"""
seven.py - seven classes, 13:7:5:3:2:1:1, whose pages have 1 KB, or one in twenty 5 MB; 12 and 6 clients a class, which ask again when they have their answer.

So few clients may be unable to ask for their class's part.  What is due to the classes then, says the fluid model: all that the server does is shared by weight, but to none more than
its clients could have if they never waited (closed_loop), and what it leaves goes to the others by weight.  A class is off by what it is from the nearer of the two: its part by weight,
or that of the model.

    seven_share_error_files     points of bytes; worst class with 12 and with 6 clients, pages that are files; the default charge
    seven_share_error_php       the same, pages that PHP makes
    seven_share_error_paper     the first by the printed rule (QosScheduler drr-paper), which forgets whoever is away for a moment; no goal, and only in a whole bench
"""
from setting import clients
from spread import Spread, share_spread, worst

WEIGHTS = dict(zip("abcdefg", (13, 7, 5, 3, 2, 1, 1)))
PAGES = {"files": ["/1k.bin"] * 19 + ["/5m.bin"], "php": ["/burn.php?n=1024"] * 19 + ["/burn.php?n=5000000"]}


def fluid(capacity, caps):
    """{class: rate}: max-min fair by weight, none above its cap."""
    due, left, free = {}, dict(WEIGHTS), capacity
    while left:
        per_weight = free / sum(left.values())
        full = [c for c, w in left.items() if caps[c] <= per_weight * w]
        for c in full or list(left):
            due[c] = caps[c] if full else per_weight * left[c]
        for c in full or list(left):
            free -= due[c]
            del left[c]
    return due


def closed_loop(n, had, name, seconds):
    """
    Bytes/s that n clients of this class could have if they never waited.  A client waits, has a slot, and is away, with its answer and on its way to ask again: by Little's law all three
    together take n / rate, the gateway tells the first two, and what is left is the third.
    """
    rate = had.told[name]["released"] / seconds
    away = max(0.0, n / rate - had.told[name]["waited_s"] / had.told[name]["released"] - had.told[name]["slot_s"] / had.told[name]["released"])
    return had.bytes_per_s(name) / rate * n / (away + had.told[name]["slot_s"] / had.told[name]["released"])


def group(name, n, kind):
    # A deck: each class asks for one large page in twenty, not for as many as chance has it.
    return clients(name, n, url=PAGES[kind], deck=True)


def errors(bench, kind, n, more=""):
    """The error of each class, as spreads, once."""
    backend, seconds = bench.php_backend(8), bench.size(30, 3)
    with bench.gateway(backend, WEIGHTS, more=more) as g:
        had = bench.measure(g, [group(c, n, kind) for c in WEIGHTS], seconds, bench.size(5, 2), interval=seconds / 10)
    rates = {c: had.bytes_per_s(c) for c in WEIGHTS}
    total = sum(rates.values())
    by_weight = {c: 100 * w / sum(WEIGHTS.values()) for c, w in WEIGHTS.items()}
    by_model = {c: 100 * r / total for c, r in fluid(total, {c: closed_loop(n, had, c, seconds) for c in WEIGHTS}).items()}
    bench.say(f"{kind}, {n} clients a class: " + ", ".join(f"{c} {100 * rates[c] / total:.1f} (of the slots {100 * had.slot_part(c):.1f}, weight {by_weight[c]:.1f}, model {by_model[c]:.1f})" for c in WEIGHTS))
    batches = [{c: line["classes"][c]["bytes"] for c in WEIGHTS} for line in had.seen["intervals"]]
    return min((share_spread(batches, due) for due in (by_weight, by_model)), key=lambda s: s.value)


def measure(bench):
    for kind in PAGES:
        found = [bench.repeat(lambda kind=kind, n=n: errors(bench, kind, n), median, "<= 2.0")[1] for n in (12, 6)]
        bench.figure(f"seven_share_error_{kind}", worst(found, max), "points", "<= 2.0")


def median(samples):
    return samples[0] if len(samples) == 1 else Spread.of([s.value for s in samples])


def measure_paper(bench):
    if bench.quick:
        return
    bench.figure("seven_share_error_paper", worst([errors(bench, "files", n, "QosScheduler drr-paper\n") for n in (12, 6)], max), "points")


FAMILIES = [(measure, ("seven_share_error_files", "seven_share_error_php")), (measure_paper, ("seven_share_error_paper",))]
