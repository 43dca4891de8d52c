# SPDX-License-Identifier: BSD-2-Clause
"""
pictures.py - Fig. 15 to 18 of the IDSRS paper, redrawn from our measurements.

The text of the paper gives no times (its plots are not reprinted in it), only what is saved at most: 61.9 % of the mean over all sizes with one client (Fig. 15), 45.2 % with sixty
clients of 12306 (Fig. 16).  These stand as a dashed line at so much of our time one at a time.  A picture is drawn only if what it shows was measured in this run.
"""
import matplotlib.pyplot as plt

import plots
from setting import NAMES, OURS, SLOW, WINDOWS

PAPER = "#b3402f"
PAPER_ONE, PAPER_SIXTY = 0.619, 0.452
TODAY = {SLOW: "#7a7a7a", "fixed 100": "#8f5a9c", "cubic": "#e08e1b", "aimd": "#5a8f3c"}
FIGURES = {"12306": 16, "taobao": 17, "baidu": 18}


def ways(found):
    """Those that were measured: today's, then the server's windows from the smallest to n."""
    return [w for w in TODAY if w in found], [w for w in WINDOWS if w.startswith("n/") and w in found]


def line(axes, times, **how):
    sizes = sorted(times, key=int)
    axes.plot([int(n) for n in sizes], [times[n] for n in sizes], marker="o", markersize=3, **how)


def fig15(found, out):
    figure, axes = plt.subplots(1, 2, figsize=(13, 4.6))
    today, told = ways(found)
    shades = plt.get_cmap("Blues")
    for i, way in enumerate(told):
        line(axes[0], found[way], color=shades(0.35 + 0.65 * (i + 1) / len(told)), label="n" if way == OURS else way)
    line(axes[0], found[SLOW], color=TODAY[SLOW], label=SLOW)
    sizes = sorted(found[SLOW], key=int)
    axes[0].plot([int(n) for n in sizes], [(1 - PAPER_ONE) * found[SLOW][n] for n in sizes], color=PAPER, linestyle="--", linewidth=1.2, label="the paper's n: 61.9 % less")
    axes[0].set_title("the windows that a server tells", fontsize=10)
    for way in today:
        line(axes[1], found[way], color=TODAY[way], label=way)
    line(axes[1], found[OURS], color=shades(1.0), label="n, as the server tells")
    axes[1].set_title("beside today's windows (logarithmic)", fontsize=10)
    for a in axes:
        plots.tidy(a, "segments of the page", "time of a page, ms")
        a.legend(fontsize=7, frameon=False, ncols=2)
    axes[1].set_ylim(10)
    axes[1].set_yscale("log")
    figure.suptitle("Fig. 15: one client, 20 ms")
    return plots.save(figure, out, "apdsfc-fig15.png")


def sixty(number, site, found, out):
    today, told = ways(found)
    shown = [SLOW, *told, *(w for w in today if w != SLOW)]
    kinds = sorted(found[SLOW]["kinds"]) if len(found[SLOW]["kinds"]) > 1 else []
    figure, axes = plt.subplots(1, 1 + bool(kinds), figsize=(8 + 5 * bool(kinds), 4.6), squeeze=False)
    left = axes[0][0]
    left.bar(range(len(shown)), [found[w]["ms"] for w in shown], color=[TODAY.get(w, "#1b6ca8") for w in shown])
    for x, way in enumerate(shown):
        left.text(x, found[way]["ms"], f"{100 * found[way]['again']:.1f} %", ha="center", va="bottom", fontsize=7)
    if site == "12306":
        left.axhline((1 - PAPER_SIXTY) * found[SLOW]["ms"], color=PAPER, linestyle="--", linewidth=1.2, label="the paper's n: 45.2 % less")
        left.legend(fontsize=8, frameon=False)
    left.set_title("all pages; above the bars: retransmissions", fontsize=10)
    for kind, offset, colour in zip(kinds, (-0.2, 0.2), ("#1b6ca8", "#9cc3e0")):
        axes[0][1].bar([x + offset for x in range(len(shown))], [found[w]["kinds"][kind] for w in shown], 0.38, color=colour, label=f"{kind} pages")
        axes[0][1].legend(fontsize=8, frameon=False)
        axes[0][1].set_title("small and large pages", fontsize=10)
    for a in axes[0]:
        plots.tidy(a, "", "mean time of a page, ms")
        a.set_xticks(range(len(shown)), ["n" if w == OURS else w for w in shown], rotation=45, ha="right", fontsize=8)
    figure.suptitle(f"Fig. {number}: sixty clients, {NAMES[site]}")
    figure.tight_layout()
    return plots.save(figure, out, f"apdsfc-fig{number}.png")


def draw(data, out):
    made = [fig15(data["one"], out)] if "one" in data else []
    return made + [sixty(number, site, data["sixty"][site], out) for site, number in FIGURES.items() if "sixty" in data]
