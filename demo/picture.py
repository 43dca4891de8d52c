# SPDX-License-Identifier: BSD-2-Clause
"""The demo's picture: each class's share of the bytes over time, QoS off on the left, on on the right."""

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt     # noqa: E402 (the backend must be chosen first: there may be no display)

COLOURS = ("#1b6ca8", "#d9822b", "#7a7f87")     # told apart in grey and by the colour-blind
INK = "#22262b"


def shares(sample):
    """Percent of each class in one interval: (seconds, [bytes per class]) -> list of percents."""
    total = sum(sample[1])
    return [100.0 * part / total if total else 0.0 for part in sample[1]]


def spread(values, gap):
    """The values moved apart to at least `gap`, in order, around where they were: label positions."""
    order = sorted(range(len(values)), key=lambda i: values[i])
    out = list(values)
    for _ in range(100):
        for low, high in zip(order, order[1:]):
            short = gap - (out[high] - out[low])
            if short > 0:
                out[low] -= short / 2
                out[high] += short / 2
    return out


def panel(axes, name, phase, classes):
    """One phase: lines of the shares, a label with the mean at the end of each, dashed lines where the weights say."""
    weights = [c["weight"] for c in classes]
    goals = [100.0 * w / sum(weights) for w in weights]
    seconds = [s[0] for s in phase["samples"]]
    lines = list(zip(*[shares(s) for s in phase["samples"]]))
    heights = spread(phase["share"], 5.0)
    for i, c in enumerate(classes):
        axes.plot(seconds, lines[i], color=COLOURS[i], linewidth=2.2, solid_capstyle="round")
        axes.annotate(f"{c['name']} {phase['share'][i]:.1f} %", (phase["seconds"], heights[i]), xytext=(8, 0), textcoords="offset points",
                      color=COLOURS[i], fontsize=11, fontweight="bold", va="center", annotation_clip=False)
        if phase["qos"]:
            axes.axhline(goals[i], color=COLOURS[i], linewidth=1.3, linestyle=(0, (5, 4)), alpha=0.9, zorder=1)
    axes.set_title(name, loc="left", fontsize=13, color=INK, fontweight="bold")
    axes.set_xlabel("seconds", color=INK)
    axes.set_xlim(0, phase["seconds"])
    axes.set_xticks(range(0, phase["seconds"] + 1, 5))
    axes.set_ylim(0, 75)
    axes.set_yticks(range(0, 71, 10), [f"{v} %" for v in range(0, 71, 10)])
    axes.grid(axis="y", color="#e4e7eb", linewidth=0.8)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.tick_params(colors=INK, labelleft=True)


def draw(path, phases, classes, subtitle):
    """Write the PNG.

    A phase is {"qos": bool, "seconds": its length, "samples": [(seconds, [bytes per class])], "share": [percent per class]}.
    """
    figure, both = plt.subplots(1, 2, figsize=(13, 5.6), dpi=110)
    weights = " : ".join(str(c["weight"]) for c in classes)
    figure.suptitle("Who gets the server?  Share of the bytes sent, by class", x=0.055, ha="left", fontsize=16, color=INK, y=0.975)
    figure.text(0.055, 0.885, subtitle, fontsize=10.5, color="#555b63")
    for axes, phase in zip(both, phases):
        panel(axes, f"QoS on, weights {weights} (dashed: the goal)" if phase["qos"] else "QoS off", phase, classes)
    figure.subplots_adjust(left=0.055, right=0.86, top=0.79, bottom=0.105, wspace=0.52)
    figure.savefig(path)
    plt.close(figure)
