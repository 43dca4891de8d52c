# SPDX-License-Identifier: BSD-2-Clause
"""
pictures.py - Fig. 10, 11 and 13 and Table III of the IDSRS paper, redrawn from our measurements; what other settings give; the paper's equations.

The text of the paper gives no response times (its plots are not reprinted in it), only what IDSRS saves of FIFO's mean: that stands as a dashed line at so much of our FIFO's,
or as hatched bars.  A picture is drawn only if what it shows was measured in this run.
"""
import matplotlib.pyplot as plt
from matplotlib.patches import Patch

import plots
from loads import SMALL_AND_LARGE, TABLE3
from setting import NAMES, ORDERS, SITES, TWO_KINDS

COLOURS = {"fifo": "#7a7a7a", "levels": "#e08e1b", "shortest": "#1b6ca8"}
PAPER = "#b3402f"
LABELS = {"fifo": "FIFO", "levels": "IDSRS", "shortest": "serpt"}
STYLES = {"fifo": "-", "levels": "-", "shortest": "--"}     # where two lie upon each other, both are seen


def by_clients(axes, by_n, what):
    numbers = sorted(by_n, key=int)
    for o in ORDERS:
        axes.plot([int(n) for n in numbers], [by_n[n][o][what] for n in numbers], color=COLOURS[o], marker="o", markersize=4, label=LABELS[o], linestyle=STYLES[o])


def paper_line(axes, by_n, part, what="mean", text="IDSRS as the paper has it, of our FIFO's", style="--"):
    numbers = sorted(by_n, key=int)
    axes.plot([int(n) for n in numbers], [by_n[n]["fifo"][what] * part for n in numbers], color=PAPER, linestyle=style, linewidth=1.2, label=text)


def fig10(data, out):
    figure, axes = plt.subplots(1, 2, figsize=(12, 4.4))
    by_n = data["loads"]["intermittent"]["12306"]
    by_clients(axes[0], by_n, "mean")
    paper_line(axes[0], by_n, 1 - TABLE3["12306", "intermittent"] / 100)
    plots.tidy(axes[0], "clients in a spike", "mean response time, s")
    axes[0].set_title("(a) intermittent load", fontsize=10)
    for o in ORDERS:
        axes[1].plot([took for _, took in data["arrivals"][o]], color=COLOURS[o], linewidth=1, linestyle=STYLES[o])
    plots.tidy(axes[1], "400 clients of a spike, in the order in which they come", "response time, s")
    axes[1].set_title("(b) one spike", fontsize=10)
    axes[0].legend(fontsize=8, frameon=False)
    figure.suptitle("Fig. 10: 12306, pages of about 15 segments; IDSRS and serpt lie upon each other")
    return plots.save(figure, out, "idsrs-fig10.png")


def kinds(axes, by_n, site, load):
    """The mean of the small pages, dotted, and of the large ones."""
    for what, style in (("large", "-"), ("small", ":")):
        numbers = sorted(by_n, key=int)
        for o in ORDERS:
            axes.plot([int(n) for n in numbers], [by_n[n][o][what] for n in numbers], color=COLOURS[o], linestyle=style, marker="o", markersize=3,
                      label=f"{NAMES[o]}, {what} pages")
    if (site, load) == ("taobao", "intermittent"):
        for (what, style), percent in zip((("small", ":"), ("large", "-")), SMALL_AND_LARGE):
            paper_line(axes, by_n, 1 + percent / 100, what, f"paper's IDSRS, {what}", style)


def two_kinds(number, site):
    def draw(data, out):
        figure, axes = plt.subplots(2, 2, figsize=(12, 8))
        for col, load in enumerate(("intermittent", "alternating")):
            by_n = data["loads"][load][site]
            by_clients(axes[0][col], by_n, "mean")
            paper_line(axes[0][col], by_n, 1 - TABLE3[site, load] / 100)
            kinds(axes[1][col], by_n, site, load)
            for row, what in ((0, "mean response time, s"), (1, "mean of a kind of pages, s")):
                plots.tidy(axes[row][col], "clients", what)
            axes[0][col].set_title(f"({'ab'[col]}) {load} load", fontsize=10)
            axes[0][col].legend(fontsize=8, frameon=False)
            axes[1][col].legend(fontsize=7, frameon=False, ncols=2)
        figure.suptitle(f"Fig. {number}: {NAMES[site]}")
        figure.tight_layout()
        return plots.save(figure, out, f"idsrs-fig{number}.png")
    return draw


def table3(data, out):
    figure, axes = plt.subplots(figsize=(11, 4.4))
    groups = [(site, load) for site in SITES for load in ("spike", "intermittent", "alternating")]
    for x, (site, load) in enumerate(groups):
        cell = data["table3"][site][load]
        bars = [("levels", cell["levels"], {"color": COLOURS["levels"]}), ("shortest", cell["shortest"], {"color": COLOURS["shortest"]})]
        if cell["paper"] is not None:
            bars.append(("paper", cell["paper"], {"facecolor": "white", "edgecolor": PAPER, "hatch": "///"}))
        for i, (_, value, style) in enumerate(bars):
            axes.bar(x + (i - 1) * 0.28, value, 0.26, **style)
            axes.text(x + (i - 1) * 0.28, max(0, value), f"{value:.0f}", ha="center", va="bottom", fontsize=8)
    keys = [Patch(color=COLOURS[o], label=LABELS[o]) for o in ("levels", "shortest")] + [Patch(facecolor="white", edgecolor=PAPER, hatch="///", label="the paper's own")]
    plots.tidy(axes, "", "saved of FIFO's mean, %")
    axes.set_ylim(bottom=min(0, *(data["table3"][s][load]["levels"] for s, load in groups)) - 1)
    axes.axhline(0, color="black", linewidth=0.8)
    axes.set_xticks(range(len(groups)), [f"{NAMES[s]}\n{load}" for s, load in groups], fontsize=8)
    axes.legend(handles=keys, fontsize=8, frameon=False, loc="upper center", bbox_to_anchor=(0.5, 1.1), ncols=3)
    figure.suptitle("Table III: response time saved", y=1.02)
    return plots.save(figure, out, "idsrs-table3.png")


def sensitivity(rows, out):
    figure, axes = plt.subplots(1, 4, figsize=(15, 0.3 * len(rows) + 1.6), sharey=True)
    panels = [(f"{NAMES[s]}: saved of FIFO's mean, %", lambda r, s=s: [(100 * r[s]["levels"], COLOURS["levels"], "o"), (100 * r[s]["shortest"], COLOURS["shortest"], "o")]) for s in SITES]
    panels.append(("serpt's small (o) and large (s) pages, longest (x),\nin parts of FIFO's, the worst site",
                   lambda r: [(max(r[s]["small"] for s in SITES), COLOURS["shortest"], "o"), (max(r[s]["large"] for s in TWO_KINDS), COLOURS["shortest"], "s"),
                              (max(r[s]["longest"] for s in SITES), PAPER, "x")]))
    for a, (title, points) in zip(axes, panels):
        for y, row in enumerate(rows):
            for x, colour, marker in points(row):
                a.plot(x, y, marker=marker, color=colour, markersize=5, linestyle="none")
        a.set_title(title, fontsize=9)
        a.grid(color="#dddddd", linewidth=0.6)
        a.spines[["top", "right"]].set_visible(False)
    for a in axes[:3]:
        a.axvline(0, color="black", linewidth=0.8)
        a.axvline(38, color=PAPER, linewidth=0.8, linestyle="--")
    axes[3].axvline(1, color="black", linewidth=0.8)
    axes[0].set_yticks(range(len(rows)), [r["name"] for r in rows], fontsize=8)
    axes[0].invert_yaxis()
    figure.suptitle("Other settings: IDSRS orange, serpt blue; dashed: 38 %", fontsize=11)
    figure.tight_layout()
    return plots.save(figure, out, "idsrs-sensitivity.png")


def equations(rows, out):
    figure, axes = plt.subplots(1, 2, figsize=(12, 4.2), sharey=True)
    for a, order, title in ((axes[0], "fifo", "FIFO: equations 5 to 9"), (axes[1], "levels", "IDSRS: equations 1 to 4")):
        for i, (how, colour) in enumerate((("printed", PAPER), ("right", "#5a8f3c"))):
            a.bar([x + (i - 0.5) * 0.38 for x in range(len(rows))], [r[f"{order}_{how}"][0] for r in rows], 0.36, color=colour,
                  label="as printed" if how == "printed" else "put right (equations.py)")
        a.axhline(1, color="black", linewidth=0.8)
        plots.tidy(a, "", "mean that they say, in parts of the simulator's")
        a.set_xticks(range(len(rows)), [f"{NAMES[r['site']].removesuffix('-like')}\n{r['clients']}" for r in rows], fontsize=8)
        a.set_title(title, fontsize=10)
        a.set_ylim(0, 1.2)
    axes[0].legend(fontsize=8, frameon=False, loc="upper left", ncols=2)
    figure.suptitle("The paper's equations for the spikes of the simulator, by site and clients")
    figure.tight_layout()
    return plots.save(figure, out, "idsrs-equations.png")


def real(by_site, out):
    """No figure of the paper's: its server, with pages that take their time."""
    figure, axes = plt.subplots(1, len(SITES), figsize=(13, 4.2))
    for a, site in zip(axes, SITES):
        numbers = sorted(by_site[site], key=int)
        for name, order in (("fifo", "fifo"), ("idsrs", "levels"), ("serpt", "shortest")):
            a.plot([int(n) for n in numbers], [by_site[site][n][name] for n in numbers], color=COLOURS[order], marker="o", markersize=4, label=LABELS[order])
        plots.tidy(a, "clients in a spike", "mean response time, s")
        a.set_title(NAMES[site], fontsize=10)
    axes[0].legend(fontsize=8, frameon=False)
    figure.suptitle("httpd behind a forwarder, pages that take 20 ms to make")
    figure.tight_layout()
    return plots.save(figure, out, "idsrs-real.png")


def draw(data, out):
    made = []
    if "loads" in data:
        made += [fig10(data, out), two_kinds(11, "taobao")(data, out), two_kinds(13, "baidu")(data, out), table3(data, out)]
    if "real" in data:
        made.append(real(data["real"], out))
    if "sensitivity" in data:
        made.append(sensitivity(data["sensitivity"], out))
    if "equations" in data:
        made.append(equations(data["equations"], out))
    return made
