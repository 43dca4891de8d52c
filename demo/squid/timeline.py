# SPDX-License-Identifier: BSD-2-Clause
"""The demo's picture: what each class has of the downlink over time, scheduling off on the left, on on the right; the ISP's queue below."""

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt     # noqa: E402 (the backend must be chosen first: there may be no display)
from picture import COLOURS, INK, spread    # noqa: E402

GREY = "#555b63"
RED = "#b3261e"
SMOOTH = 3      # seconds of a point: a response of half a megabyte takes two


def smooth(values, width=SMOOTH):
    out = []
    for i in range(len(values)):
        part = values[max(0, i - width // 2):i + width // 2 + 1]
        out.append(sum(part) / len(part))
    return out


def tidy(axes, phase, left):
    axes.set_xlim(0, phase["seconds"])
    axes.set_xticks(range(0, phase["seconds"] + 1, 10))
    axes.grid(axis="y", color="#e4e7eb", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(colors=INK, labelleft=left)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)


def bandwidth(axes, phase, classes, about, on):
    """One phase's lines, a label with the share at the end of each, dashed lines where the weights say."""
    top = 0.75 * about["rate"]
    heights = spread(phase["mbit"], top * 0.07)
    for i, c in enumerate(classes):
        line = smooth([mbit[i] for _, mbit in phase["samples"]])
        axes.plot([t - 0.5 for t, _ in phase["samples"]], line, color=COLOURS[i], linewidth=2.2, solid_capstyle="round")
        axes.annotate(f"{c['name']} {phase['share'][i]:.1f} %", (phase["seconds"], heights[i]), xytext=(8, 0), textcoords="offset points",
                      color=COLOURS[i], fontsize=11, fontweight="bold", va="center", annotation_clip=False)
        if on:
            axes.axhline(sum(phase["mbit"]) * about["due"][i] / 100, color=COLOURS[i], linewidth=1.3, linestyle=(0, (5, 4)), zorder=1)
    axes.set_ylim(0, top)
    weights = " : ".join(str(c["weight"]) for c in classes)
    name = f"Scheduling on, weights {weights} (dashed: what is due)" if on else "Scheduling off"
    axes.set_title(name, loc="left", fontsize=13, color=INK, fontweight="bold")


def queue(axes, phase, about):
    seconds, kilobytes = zip(*phase["queue"])
    axes.fill_between(seconds, kilobytes, color="#c9d3de", linewidth=0)
    axes.plot(seconds, kilobytes, color="#4a6076", linewidth=1)
    axes.axhline(about["limit"], color=RED, linewidth=1.1, linestyle=(0, (5, 4)))
    axes.annotate("full", (phase["seconds"], about["limit"]), xytext=(8, 0), textcoords="offset points", color=RED, fontsize=10.5,
                  va="center", annotation_clip=False)
    axes.set_ylim(0, about["limit"] * 1.1)
    axes.set_yticks(range(0, int(about["limit"]) + 1, 50))
    axes.set_xlabel("seconds", color=INK)
    dropped = phase["drops"] / (phase["seconds"] - about["settle"])
    name = f"The ISP's queue: {phase['median']:.0f} kB, {dropped:.1f} packets dropped a second"
    axes.set_title(name, loc="left", fontsize=11, color=GREY)


def draw(path, phases, classes, about):
    """Write the PNG.

    phases: off and on, each {"seconds", "samples": [(second, [Mbit/s per class])], "share": [percent], "mbit": [Mbit/s], "queue": [(second,
    kB)], "median": kB, "drops": packets, "used": percent}; about: {"rate": Mbit/s, "limit": kB, "due": [percent], "settle": seconds that
    do not count, "subtitle"}.
    """
    figure, rows = plt.subplots(2, 2, figsize=(13, 7.4), dpi=110, gridspec_kw={
        "height_ratios": (2, 1), "width_ratios": [p["seconds"] for p in phases]})
    figure.suptitle(f"Who gets the downlink of {about['rate']} Mbit/s?", x=0.06, ha="left", fontsize=16, color=INK, y=0.98)
    figure.text(0.06, 0.915, about["subtitle"], fontsize=10.5, color=GREY)
    for column, phase in enumerate(phases):
        bandwidth(rows[0][column], phase, classes, about, on=column == 1)
        queue(rows[1][column], phase, about)
        for row in rows:
            tidy(row[column], phase, left=column == 0)
    rows[0][0].set_ylabel("Mbit/s received", color=INK)
    rows[1][0].set_ylabel("kB standing", color=INK)
    for column in rows.T:
        figure.align_ylabels(column)
    figure.subplots_adjust(left=0.06, right=0.87, top=0.845, bottom=0.075, hspace=0.28, wspace=0.4)
    figure.savefig(path)
    plt.close(figure)
