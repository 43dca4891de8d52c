# SPDX-License-Identifier: BSD-2-Clause
"""
pictures.py - Fig. 8, 9 and 10 of the NextServe paper, redrawn from our measurements.

The text of the paper gives a few values of each curve (setting.py), and its plots are not reprinted in it: these values stand as dashed lines and crosses.  A picture is drawn only if
what it shows was measured in this run.
"""
import matplotlib.pyplot as plt

import plots
from setting import PAPER_KNEE, PAPER_LAYER_MS, PAPER_MS, SERVICE_MS

OURS, SERVICE, REST, RIVAL, PAPER = "#1b6ca8", "#5a8f3c", "#e08e1b", "#7a7a7a", "#b3402f"


def fig8(rows, layer_us, out):
    figure, axes = plt.subplots(1, 2, figsize=(13, 4.4))
    rates = sorted(rows, key=int)
    x = [int(r) for r in rates]
    for a in axes:
        for what, colour, label in (("response", OURS, "response"), ("service", SERVICE, "service"), ("else", REST, "networks, the PDF's way, and the layer")):
            a.plot(x, [rows[r][what] for r in rates], color=colour, marker="o", markersize=4, label=label)
        for value, text in ((PAPER_MS, "response"), (SERVICE_MS, "service"), (PAPER_LAYER_MS, "layer")):
            a.plot((1, PAPER_KNEE), (value, value), color=PAPER, linestyle="--", linewidth=1.2, label=f"the paper's {text}: {value} ms")
        if layer_us is not None:
            a.plot((x[0], x[-1]), (layer_us / 1000,) * 2, color="black", linestyle=":", linewidth=1.2, label=f"our layer: {layer_us / 1000:.3f} ms")
        a.axvline(PAPER_KNEE, color=PAPER, linewidth=0.8)
    plots.tidy(axes[0], "calls/s", "mean, ms")
    plots.tidy(axes[1], "calls/s", "mean, ms", 100)
    axes[0].set_title("all of it; the upright line is the paper's knee", fontsize=10)
    axes[1].set_title("below saturation", fontsize=10)
    axes[0].legend(fontsize=8, frameon=False)
    figure.suptitle("Fig. 8: pdf_to_text, one thread, no two calls equal")
    figure.tight_layout()
    return plots.save(figure, out, "nextserve-fig8.png")


def shares(number, rate, rows, paper, out):
    figure, axes = plt.subplots(figsize=(7, 4.4))
    found = sorted(rows, key=float)
    for what, colour, label in (("kept", OURS, "named service, results kept"), ("mod_cache", RIVAL, "GETs of httpd with mod_cache")):
        axes.plot([100 * float(s) for s in found], [rows[s][what] for s in found], color=colour, marker="o", markersize=4, label=label)
    if paper:
        axes.plot(*zip(*paper), color=PAPER, marker="x", linestyle="--", linewidth=1.2, label="the paper's")
    plots.tidy(axes, "equal calls, %", "mean response time, ms")
    axes.legend(fontsize=8, frameon=False)
    axes.set_title(f"Fig. {number}: {rate} calls/s", fontsize=11)
    return plots.save(figure, out, f"nextserve-fig{number}.png")


def draw(data, out):
    made = [fig8(data["rates"], data.get("overhead_us"), out)] if "rates" in data else []
    for number, rate, paper in ((9, "15", ((0, PAPER_MS), (35, 37))), (10, "25", ())):
        if "keeping" in data:
            made.append(shares(number, rate, data["keeping"][rate], paper, out))
    return made
