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


def tidy(axes):
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.set_ylim(0, 105)
    axes.set_ylabel("%")


def by_size(axes, sizes, of, title):
    """Bars for each size of file; of: the value of a row [misaligned, deliveries, same, total]."""
    megabytes = list(sizes["eeod"])
    for k, way in enumerate(("plain", "eeod")):
        axes.bar([i + 0.4 * k for i in range(len(megabytes))], [of(sizes[way][m]) for m in megabytes], 0.38, color=COLOURS[way], label=TITLES[way])
    axes.set_xticks([i + 0.2 for i in range(len(megabytes))], [f"{m} MB" for m in megabytes])
    axes.set_title(title, fontsize=10)
    tidy(axes)


def fig19_20(sizes, out):
    megabytes = [int(m) for m in sizes["eeod"]]
    figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.4))
    by_size(left, sizes, lambda row: 100 * row[0] / row[1], "deliveries of a file in which some segment is not as in the first (Fig. 19)")
    beyond = next((i for i, m in enumerate(megabytes) if m >= 10), None)
    if beyond is not None:
        left.plot([beyond - 0.3, len(megabytes) - 0.3], [100, 100], color=PAPER, linestyle="--", label="the paper: all of them from 10 MB on")
    by_size(right, sizes, lambda row: 100 * row[2] / row[3], "segments that are as in the first delivery (Fig. 20)")
    if megabytes[-1] >= 100:
        right.plot([len(megabytes) - 1.3, len(megabytes) - 0.3], [10, 10], color=PAPER, linestyle="--")
        right.annotate("the paper: less than 10 %", (len(megabytes) - 0.3, 12), ha="right", fontsize=8, color=PAPER)
    left.legend(frameon=False, fontsize=8, loc="upper center", bbox_to_anchor=(1.1, -0.08), ncol=3)
    path = os.path.join(out, "eeod-fig19-20.png")
    figure.savefig(path, dpi=110, bbox_inches="tight")
    plt.close(figure)
    return path


def draw(data, out):
    return [fig19_20(data["sizes"], out)] if "sizes" in data else []
