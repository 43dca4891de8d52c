# SPDX-License-Identifier: BSD-2-Clause
"""
contest.py - the default cell and one factor at a time around it, all contenders side by side.

A closed loop with 90 clients needs as long to come to rest as its largest response takes: 0.6 MB at a ninetieth of 2 Mbit/s are 220 s.  Until
then who shares the link equally, as stock Squid does, has ended its small responses and not yet its large ones, and looks faster than it
is.  So the full run warms up for 240 s; --quick does not, and its closed_mean_ratio and heaviest_mean_ratio say little.
"""
from setting import CELLS, QUEUE, SHARING, names_of, of_windows, ratio, ratio_of_windows, tell
from trial import FQRS, POOLS, RIVALS, STOCK, many

RIVAL_NAMES = [c.name for c in RIVALS]
GOALS = {**SHARING, **QUEUE, "closed_mean_ratio": "<= 1.03", "heaviest_mean_ratio": "<= 0.62", "cpu_ratio": "<= 1.0"}


def figures_of(bench, prefix, r, stock, goals):
    """The figures of one contender in the default cell."""
    tell(bench, prefix, r, stock, goals)
    bench.figure(f"{prefix}longest_gap_default_s", r["gap"], "s", None)
    for name, value, unit in (("closed_mean_ratio", ratio(r["mean_all"], stock["mean_all"]), "of stock Squid's"),
                              ("heaviest_mean_ratio", ratio(r["mean"]["class1"], stock["mean"]["class1"]), "of stock Squid's")):
        bench.figure(prefix + name, value, unit, goals.get(name))
    if r["cpu"]:
        bench.figure(f"{prefix}cpu_ratio", ratio_of_windows(r, stock, "cpu_per_byte"), "of stock Squid's, per byte", goals.get("cpu_ratio"))


def default(bench):
    thousand = many(1000)
    three = many(3)
    contenders = (FQRS, *RIVALS, three, thousand)
    found = bench.run([(c, CELLS["default"]) for c in contenders], *((30, 10) if bench.quick else (300, 240)))
    r = {name: v for (name, _), v in found.items()}
    figures_of(bench, "", r["fqrs"], r["stock"], GOALS)
    bench.figure("cpu_ratio_1000_classes", ratio_of_windows(r[thousand.name], r[three.name], "cpu_per_byte"), "of 3 classes', per byte", "<= 1.05")
    for name in RIVAL_NAMES:
        figures_of(bench, f"rival_{name}_", r[name], r["stock"], {})
    bench.data["default"] = r


def around(bench):
    """What changes with each factor.  --quick leaves the rivals out that an admin cannot have, or that the paper's form stands for."""
    rivals = (STOCK, POOLS) if bench.quick else RIVALS
    groups = (("idle1", "idle2", "open"), ("10clients", "unequal"), ("bbr", "nortt"))
    if bench.quick:
        groups = (("idle1", "idle2", "open", "10clients", "unequal", "bbr", "nortt"),)
    found = {}
    for names in groups:
        pairs = [(c, CELLS[n]) for n in names for c in (FQRS, *rivals) if not (bench.quick and c is POOLS and n not in ("idle1", "idle2"))]
        found.update(bench.run(pairs, *((20, 8) if bench.quick else (240, 60))))
    found.update(bench.run([(c, CELLS["20mbit"]) for c in (FQRS, *(rivals[:1] if bench.quick else rivals))], *((10, 5) if bench.quick else (120, 30))))

    bench.figure("utilisation_idle_class", min(found["fqrs", n]["utilisation"] for n in ("idle1", "idle2")), "of the link", ">= 0.98")
    bench.figure("open_mean_ratio", found["fqrs", "open"]["mean_all"] / found["stock", "open"]["mean_all"], "of stock Squid's", None)
    for c in rivals:
        if (c.name, "idle1") in found:
            bench.figure(f"rival_{c.name}_utilisation_idle_class", min(found[c.name, n]["utilisation"] for n in ("idle1", "idle2")), "of the link", None)
        if (c.name, "open") in found and c is not STOCK:
            bench.figure(f"rival_{c.name}_open_mean_ratio", found[c.name, "open"]["mean_all"] / found["stock", "open"]["mean_all"], "of stock Squid's", None)
    for n in ("20mbit", "10clients", "unequal", "bbr", "nortt", "idle1"):
        r, s = found["fqrs", n], found["stock", n]
        bench.figure(f"share_error_max_{n}", r["share_error"], "points", None)
        bench.figure(f"jain_5s_{n}", r["jain_5s"], "index", None)
        bench.figure(f"utilisation_{n}", of_windows(r, "utilisation"), "of the link", ">= 0.98" if n == "20mbit" else None)
        bench.figure(f"queue_ratio_{n}", ratio(r["queue_median"], s["queue_median"]), "of stock Squid's", None)
        bench.figure(f"drops_ratio_{n}", ratio(r["drops"], s["drops"]), "of stock Squid's", None)
        bench.figure(f"cpu_ratio_{n}", ratio(r["cpu"] / r["bytes"], s["cpu"] / s["bytes"]), "of stock Squid's, per byte", None)
    bench.data["around"] = [found[k] for k in found]


FAMILIES = (
    (default, [*names_of(), "longest_gap_default_s", "closed_mean_ratio", "heaviest_mean_ratio", "cpu_ratio", "cpu_ratio_1000_classes"]),
    (around, ["utilisation_idle_class", "open_mean_ratio", "utilisation_20mbit"]),
)
