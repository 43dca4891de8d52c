# SPDX-License-Identifier: BSD-2-Clause
"""
paper.py - what the access-gateway paper shows, again: Fig. 8 (four phases), Fig. 9 and Table 2 (latency split into queueing and transmission),
Fig. 10 (the window over time), Fig. 11 (the choice of Umax), Table 3 (CPU).

The paper's own clients are three a class in its simulation; its backlog is endless.  Ours are 30 a class, which always have requests
waiting, except in Fig. 10's middle phase, which is about too few: there, class 3 alone asks, with three clients.
"""
from setting import CELLS
from trial import FQRS, PAPER, STOCK, Cell, many, tuned

UMAX = (0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 0.99)


def studies(bench):
    """Fig. 8: all three; class 1 stops; class 2 stops, too; all three again.  Fig. 10: all; class 3 alone with few clients; all.  Fig. 11: the
    paper's WRC with F = 4 and several Umax.  All side by side."""
    step = 8 if bench.quick else 200
    four = Cell("fig8", phases=[[(0, step), (3 * step, 4 * step)], [(0, 2 * step), (3 * step, 4 * step)], [(0, 4 * step)]])
    three = Cell("fig10", clients=(3, 3, 3), phases=[[(0, step), (2 * step, 3 * step)]] * 2 + [[(0, 3 * step)]])
    choices = [tuned(f"umax{int(u * 100)}", f"fqrs_order rfq-paper\nfqrs_window wrc f=4 umax={u}\n") for u in UMAX]
    trials = [bench.trial(c, four, 4 * step, 1) for c in (FQRS, PAPER)] + [bench.trial(c, three, 3 * step, 1, watch=True) for c in (FQRS, PAPER)]
    trials += [bench.trial(c, CELLS["default"], *((24, 8) if bench.quick else (400, 60))) for c in choices]
    found = bench.run_trials(trials)
    bench.data["fig8"] = {"step": step, **{c: found[c, "fig8"]["by_second"] for c in ("fqrs", "paper")}}
    bench.data["fig10"] = {"step": step, **{c: {"reports": found[c, "fig10"]["reports"], "by_second": found[c, "fig10"]["by_second"]}
                                            for c in ("fqrs", "paper")}}
    bench.data["fig11"] = [{"umax": u, "latency": r["mean_all"], "queueing": waits(r)["all"], "queue": r["queue_mean"], "use": r["utilisation"]}
                           for u, r in zip(UMAX, (found[c.name, "default"] for c in choices))]


def waits(r):
    """Mean seconds that requests waited at the gateway, by class and in all, from the scheduler's own counts."""
    classes = {c["name"]: c for c in r["manager"]["classes"] if c["released"]}
    made = {n: c["wait_ms_mean"] / 1000 for n, c in classes.items()}
    made["all"] = sum(c["wait_ms_mean"] * c["released"] for c in classes.values()) / max(1, sum(c["released"] for c in classes.values())) / 1000
    return made


def split(bench):
    """Fig. 9 and Table 2, from the default cell's run."""
    r = bench.data.get("default")
    if not r:
        return
    bench.data["fig9"] = {"mean": {**r["fqrs"]["mean"], "all": r["fqrs"]["mean_all"]}, "waits": waits(r["fqrs"]), "stock": r["stock"]["mean_all"],
                          "none": r["none"]["mean_all"]}
    d = bench.data["fig9"]
    bench.say(f"Table 2, ms a request: stock Squid {d['stock'] * 1000:.0f} (paper 1686), fqrs {d['mean']['all'] * 1000:.0f}, of which queueing "
              f"{d['waits']['all'] * 1000:.0f} (paper 1175, 516), no Squid {d['none'] * 1000:.0f} (paper 474)")


def cpu(bench):
    """Table 3: percent of a CPU at 2 and 10 Mbit/s with 10 and 100 classes, beside stock Squid."""
    found = bench.run([(c, Cell(f"table3-{rate}", rate=rate)) for rate in ("2mbit", "10mbit") for c in (many(10), many(100), STOCK)],
                      *((12, 4) if bench.quick else (200, 30)))
    table = {f"{c} {rate}": 100 * found[c, f"table3-{rate}"]["cpu"] / found[c, f"table3-{rate}"]["seconds"]
             for rate in ("2mbit", "10mbit") for c in ("classes10", "classes100", "stock")}
    bench.data["table3"] = table
    for rate, theirs in (("2mbit", (22.4, 23.01, 31.61)), ("10mbit", (28.17, 29.02, 42.45))):
        ours = [table[f"{c} {rate}"] for c in ("classes10", "classes100", "stock")]
        bench.say(f"Table 3, {rate}: % of a CPU with 10 classes {ours[0]:.2f}, 100 classes {ours[1]:.2f}, stock Squid {ours[2]:.2f} "
                  f"(paper {theirs[0]}, {theirs[1]}, {theirs[2]})")


FAMILIES = ((studies, ["fig8", "fig10", "fig11"]), (split, ["fig9", "table2"]), (cpu, ["table3"]))
