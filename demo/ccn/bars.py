# SPDX-License-Identifier: BSD-2-Clause
"""The picture of the named-data demo: how long pages took, by the order of Interests."""

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt     # noqa: E402 (the backend must be chosen first: there may be no display)

COLOURS = ("#1b6ca8", "#d9822b")
INK = "#22262b"


def p95(values):
    return sorted(values)[int(0.95 * (len(values) - 1))] if values else 0.0


def draw(path, what):
    figure, axes = plt.subplots(figsize=(9, 5.2), dpi=110)
    figure.suptitle("How long does a page take?", x=0.07, ha="left", fontsize=16, color=INK, y=0.97)
    figure.text(0.07, 0.875, f"{what.clients} clients at once, real httpd with PHP behind a real forwarder of named data;\nbars: mean, lines: 95 % are quicker",
                fontsize=10.5, color="#555b63")
    width = 0.36
    most = 0
    for k, kind in enumerate(what.kinds):
        for i, order in enumerate(what.orders):
            values = what.seen[order][kind]
            mean = sum(values) / len(values) if values else 0.0
            at = i + (k - 0.5) * width
            most = max(most, p95(values))
            axes.bar(at, mean, width * 0.92, color=COLOURS[k], label=f"{kind} pages" if i == 0 else None)
            axes.plot((at, at), (mean, p95(values)), color=INK, linewidth=1.4)
            axes.annotate(f"{mean:.2f} s", (at, mean / 2), ha="center", va="center", color="white", fontsize=10, fontweight="bold")
    axes.set_xticks(range(len(what.orders)), what.orders, fontsize=12)
    axes.set_ylabel("seconds", color=INK)
    axes.set_ylim(0, most * 1.12)
    axes.legend(frameon=False, loc="upper right")
    axes.grid(axis="y", color="#e4e7eb", linewidth=0.8)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    figure.subplots_adjust(left=0.09, right=0.98, top=0.84, bottom=0.08)
    figure.savefig(path)
    plt.close(figure)
