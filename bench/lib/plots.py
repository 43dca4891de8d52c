# SPDX-License-Identifier: BSD-2-Clause
"""plots.py - what all pictures of a bench have in common."""
import os

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt      # noqa: E402 (the backend must be chosen first: there may be no display)


def tidy(axes, x, y, top=None):
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.set_ylim(0, top)
    axes.set_xlabel(x, fontsize=9)
    axes.set_ylabel(y, fontsize=9)


def save(figure, out, name):
    """Its path."""
    path = os.path.join(out, name)
    figure.savefig(path, dpi=110, bbox_inches="tight")
    plt.close(figure)
    return path
