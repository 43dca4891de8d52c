# SPDX-License-Identifier: BSD-2-Clause
"""The demo's picture: what the link carries and what visitors get, how long a page takes, over the phases."""

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt     # noqa: E402 (the backend must be chosen first: there may be no display)
from picture import INK     # noqa: E402

BLUE, GREY, RED = "#1b6ca8", "#9aa2ab", "#b3261e"
TITLES = {"without": "no caches", "with": "a pair of packet caches", "child killed": "child killed", "again": "child back"}


def borders(axes, phases, titles):
    at = 0
    for name, seconds in phases:
        if at:
            axes.axvline(at, color=INK, linewidth=0.8, linestyle=(0, (2, 3)))
        if titles:
            axes.annotate(TITLES[name], (at + seconds / 2, 1), xycoords=("data", "axes fraction"), xytext=(0, 6), textcoords="offset points", ha="center", fontsize=11, fontweight="bold",
                          color=RED if name == "child killed" else INK)
        at += seconds
    axes.set_xlim(0, at)


def tidy(axes, label):
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="#e4e7eb", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.set_ylim(bottom=0)
    axes.set_ylabel(label, color=INK)
    axes.tick_params(colors=INK)


def draw(path, seconds, phases, rate):
    """seconds: each with t, got and link (Mbit/s), took (seconds, or None)."""
    figure, (top, bottom) = plt.subplots(2, 1, figsize=(11, 6.6), dpi=110, sharex=True, gridspec_kw={"height_ratios": (3, 2)})
    figure.suptitle(f"A link of {rate} Mbit/s that does not carry the same thing twice", x=0.07, ha="left", fontsize=15, color=INK)
    t = [s.t - 0.5 for s in seconds]
    top.plot(t, [s.got for s in seconds], color=GREY, linewidth=2, label="visitors get")
    top.fill_between(t, [s.link for s in seconds], color=BLUE, alpha=0.18, linewidth=0)
    top.plot(t, [s.link for s in seconds], color=BLUE, linewidth=2.2, label="the link carries")
    top.axhline(rate, color=RED, linewidth=1, linestyle=(0, (5, 4)))
    top.legend(frameon=False, fontsize=10, loc="upper left")
    whole = [s for s in seconds if s.took]
    bottom.plot([s.t - 0.5 for s in whole], [s.took for s in whole], color=INK, linewidth=2)
    borders(top, phases, True)
    borders(bottom, phases, False)
    tidy(top, "Mbit/s")
    tidy(bottom, "seconds until page\nand image are there")
    bottom.set_xlabel("seconds", color=INK)
    figure.align_ylabels((top, bottom))
    figure.savefig(path, bbox_inches="tight")
    plt.close(figure)
