# SPDX-License-Identifier: BSD-2-Clause
"""
pictures.py - Fig. 19 and 20 of the EEOD paper, redrawn from our measurements: how much of the same content goes in the same packets when nothing is
done about it, and with mod_eeod.  The paper has less than 10 % for files beyond 100 MB.  A picture is drawn only if what it
shows was measured in this run.
"""
import os

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt      # noqa: E402

COLOURS = {"eeod": "#1b6ca8", "plain": "#7a7a7a"}
TITLES = {"eeod": "httpd with mod_eeod", "plain": "httpd without it"}
PAPER = "#b3402f"


def bars(axes, by_way, title):
    cells = list(by_way["eeod"])
    for k, way in enumerate(("plain", "eeod")):
        found = by_way.get(way, {})
        at = [i + 0.4 * k for i, c in enumerate(cells) if c in found]
        axes.bar(at, [100 * found[c][0] / found[c][1] for c in cells if c in found], 0.38, color=COLOURS[way], label=TITLES[way])
    axes.axhline(10, color=PAPER, linestyle="--", linewidth=1, label="the paper, files beyond 100 MB: less than 10 %")
    axes.set_xticks([i + 0.2 for i in range(len(cells))], cells, rotation=30, ha="right", fontsize=8)
    axes.set_ylim(0, 105)
    axes.set_ylabel("% of segments as in the first delivery")
    axes.set_title(title, fontsize=10)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)


def draw(data, out):
    if "pages" not in data or "files" not in data:
        return []
    figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.6))
    bars(left, data["pages"], "cacheable runs of a page of 64 kB, for a visitor of its own each time")
    bars(right, data["files"], "a file of 100 MB")
    right.legend(frameon=False, fontsize=8, loc="upper center", bbox_to_anchor=(-0.1, -0.28), ncol=3)
    path = os.path.join(out, "eeod-fig19-20.png")
    figure.savefig(path, dpi=110, bbox_inches="tight")
    plt.close(figure)
    return [path]
