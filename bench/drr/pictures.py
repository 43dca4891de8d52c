# SPDX-License-Identifier: BSD-2-Clause
"""
pictures.py - Fig. 10 to 18 of the website paper, redrawn from our measurements, with the paper's own values beside them.

The text of the paper gives few values (its plots are not reprinted in it): for 128 KB pages the heaviest class at 176 % of its throughput
without QoS and the lightest 52 % below, its latency at 69 % and 175 %; 14.2 against 11.7 Mbit/s and 570 against 440 ms in the mean over
all sizes; shares of 60 : 30 : 10 for all sizes; about 4 Mbit/s for every window.  These stand beside ours as hatched bars or lines.
A picture is drawn only if what it shows was measured in this run.
"""
import os

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt      # noqa: E402

CLASSES = ("people", "search", "crawlers")
COLOURS = {"people": "#1b6ca8", "search": "#e08e1b", "crawlers": "#7a7a7a"}
TITLES = {"people": "people (6)", "search": "search engines (3)", "crawlers": "AI crawlers (1)"}
IDEAL = {"people": 60, "search": 30, "crawlers": 10}
PAPER = "#b3402f"


def size_text(n):
    if not isinstance(n, int):
        return str(n)
    return f"{n} B" if n < 1024 else f"{n // 1024} KB" if n < 1 << 20 else f"{n >> 20} MB"


def bars(axes, rows, state, what, unit, log=False):
    """Groups of three bars, a group for each row."""
    for i, c in enumerate(CLASSES):
        axes.bar([x + (i - 1) * 0.27 for x in range(len(rows))], [r[state][what][c] for r in rows], 0.25, color=COLOURS[c], label=TITLES[c])
    axes.set_xticks(range(len(rows)), [size_text(r["label"]) for r in rows], rotation=30 if len(rows) > 6 else 0)
    axes.set_ylabel(unit)
    axes.set_title("QoS off" if state == "off" else "QoS on", fontsize=10)
    if log:
        axes.set_yscale("log")
    tidy(axes)


def same_scale(axes):
    limits = min(a.get_ylim()[0] for a in axes), max(a.get_ylim()[1] for a in axes)
    for a in axes:
        a.set_ylim(*limits)


def tidy(axes):
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)


def share_lines(axes, text=True):
    for c in CLASSES:
        axes.axhline(IDEAL[c], color=COLOURS[c], linewidth=0.8, linestyle="--")
    if text:
        axes.set_title(axes.get_title() + "; dashed: the paper's 60 : 30 : 10", fontsize=10)


def beside(axes, names, ours, paper, title, unit):
    """Bars of ours and the paper's next to each other, each with its value."""
    for offset, values, style in ((-0.2, ours, {"color": "#333333", "label": "ours"}),
                                  (0.2, paper, {"facecolor": "white", "edgecolor": PAPER, "hatch": "///", "label": "paper"})):
        places = [x + offset for x in range(len(names))]
        axes.bar(places, values, 0.36, **style)
        for x, v in zip(places, values):
            axes.text(x, v, f"{v:.0f}", ha="center", va="bottom", fontsize=8)
    axes.axhline(100, color="black", linewidth=0.8)
    axes.set_xticks(range(len(names)), names)
    axes.set_ylabel(unit)
    axes.set_title(title, fontsize=10)
    axes.legend(fontsize=8, frameon=False)
    tidy(axes)


def finish(figure, out, number, title):
    figure.suptitle(f"Fig. {number}  {title}", fontsize=12)
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncols=len(labels), frameon=False, fontsize=9)
    figure.tight_layout(rect=(0, 0.05, 1, 0.99))
    path = os.path.join(out, f"drr-fig{number}.png")
    figure.savefig(path, dpi=110)
    plt.close(figure)
    return path


def total(row, state):
    return sum(row[state]["mbit"].values())


def mean_ms(row, state):
    """Mean latency of all requests: by class it is weighted with what the class got."""
    got = row[state]["mbit"]
    return sum(row[state]["ms"][c] * got[c] for c in CLASSES) / sum(got.values())


def percent(row, what, c):
    return 100 * row["on"][what][c] / row["off"][what][c]


def throughput(rows, out, number, title, paper):
    figure, axes = plt.subplots(1, 3 if paper else 2, figsize=(14 if paper else 9, 4.2), width_ratios=(1, 1, 0.8) if paper else (1, 1))
    bars(axes[0], rows, "off", "mbit", "Mbit/s", log=len(rows) > 3)
    bars(axes[1], rows, "on", "mbit", "Mbit/s", log=len(rows) > 3)
    same_scale(axes[:2])
    if paper:
        row = next(r for r in rows if r["label"] == 131072)
        change = sum(total(r, "on") / total(r, "off") for r in rows) / len(rows) * 100
        beside(axes[2], ("heaviest\n128 KB", "lightest\n128 KB", "total, mean\nof all sizes"),
               (percent(row, "mbit", "people"), percent(row, "mbit", "crawlers"), change), (176, 48, 100 * 14.2 / 11.7),
               "with QoS, in % of without\n(paper: 176 %, -52 %, 14.2 : 11.7 Mbit/s)", "%")
    return finish(figure, out, number, title)


def ratio(rows, out, number, title):
    figure, axes = plt.subplots(1, 2, figsize=(11, 4))
    bars(axes[0], rows, "off", "share", "% of all bytes")
    axes[0].axhline(100 / 3, color=PAPER, linewidth=0.8, linestyle="--")
    axes[0].set_title("QoS off; dashed: the paper's 33.3 %", fontsize=10)
    bars(axes[1], rows, "on", "share", "% of all bytes")
    share_lines(axes[1])
    for a in axes:
        a.set_ylim(0, 70)
    return finish(figure, out, number, title)


def latency(rows, out, number, title, paper):
    figure, axes = plt.subplots(1, 3 if paper else 2, figsize=(14 if paper else 9, 4.2), width_ratios=(1, 1, 0.8) if paper else (1, 1))
    bars(axes[0], rows, "off", "ms", "mean latency, ms", log=len(rows) > 3)
    bars(axes[1], rows, "on", "ms", "mean latency, ms", log=len(rows) > 3)
    same_scale(axes[:2])
    if paper:
        row = next(r for r in rows if r["label"] == 131072)
        change = sum(mean_ms(r, "on") / mean_ms(r, "off") for r in rows) / len(rows) * 100
        beside(axes[2], ("heaviest\n128 KB", "lightest\n128 KB", "mean\nof all"),
               (percent(row, "ms", "people"), percent(row, "ms", "crawlers"), change), (69, 175, 100 * 570 / 440),
               "with QoS, in % of without\n(paper: 69 %, +75 %, 570 : 440 ms)", "%")
    return finish(figure, out, number, title)


def window_lines(rows, out, number, title, what, unit, ideal=False):
    figure, axes = plt.subplots(figsize=(9, 4.4))
    for c in CLASSES:
        axes.plot([r["window"] for r in rows], [r[what][c] for r in rows], marker="o", markersize=4, color=COLOURS[c], label=TITLES[c])
    axes.axvline(50, color="black", linewidth=0.8, linestyle=":")
    axes.text(51, 0, "30 clients / 60 %: beyond, the server queues", va="bottom", fontsize=8)
    if ideal:
        share_lines(axes, text=False)
        axes.set_title("dashed: 60 : 30 : 10, from which the paper's shares fade towards 1 : 1 : 1 as the window grows", fontsize=9)
    axes.set_xlabel("window, requests")
    axes.set_ylabel(unit)
    axes.set_ylim(bottom=0)
    tidy(axes)
    return finish(figure, out, number, title)


def window_total(rows, out, number, title):
    figure, axes = plt.subplots(figsize=(9, 4.4))
    ours = [r["mbit"] for r in rows]
    level = sum(ours) / len(ours)
    axes.plot([r["window"] for r in rows], [100 * v / level for v in ours], marker="o", markersize=4, color="#1b6ca8",
              label=f"ours, 100 % = {level:.0f} Mbit/s")
    axes.axhline(100, color=PAPER, linestyle="--", linewidth=1, label="paper: a level of about 4 Mbit/s for every window")
    axes.set_xlabel("window, requests")
    axes.set_ylabel("total throughput, % of the mean")
    axes.set_ylim(bottom=0)
    tidy(axes)
    return finish(figure, out, number, title)


def draw(data, out):
    """Draws what there is data for; returns the paths."""
    paths = []
    if "fixed" in data:
        rows = data["fixed"]
        paths += [throughput(rows, out, 10, "Throughput under various fixed-size Web pages", True),
                  ratio(rows, out, 11, "Throughput ratio under various fixed-size Web pages"),
                  latency(rows, out, 12, "User-perceived latency under various fixed-size Web pages", True)]
    if "mix" in data:
        rows = data["mix"]
        paths += [throughput(rows, out, 13, "Throughput under mixed-size Web pages", False),
                  ratio(rows, out, 14, "Throughput ratio under mixed-size Web pages"),
                  latency(rows, out, 15, "User-perceived latency under mixed-size Web pages", False)]
    if "windows" in data:
        rows = data["windows"]
        paths += [window_total(rows, out, 16, "Total throughput under various window sizes, 2 KB pages"),
                  window_lines(rows, out, 17, "Throughput ratio under various window sizes", "share", "% of all bytes", ideal=True),
                  window_lines(rows, out, 18, "User-perceived latency under various window sizes", "ms", "mean latency, ms")]
    return paths
