# SPDX-License-Identifier: BSD-2-Clause
"""
pictures.py - Fig. 8 to 11 of the access-gateway paper, redrawn from our measurements, with what its text says of its own beside them.

The paper's text gives: 4 : 2 : 1 in each phase (Fig. 8); 6.76 s in the mean over all classes, of which 1.5 s are transmission, and 8.83 s
without FQRS (Fig. 9); a utilisation of 0.95 while requests are waiting (Fig. 10); 90 to 95 % as the choice of Umax (Fig. 11); in its field trial an index
of fairness of 0.87, 0.89 in simulation.  These stand as dashed or hatched beside ours.  A picture is drawn only if what it shows was measured
in this run.
"""
import os

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt      # noqa: E402

CLASSES = ("class1", "class2", "class3")
COLOURS = {"class1": "#1b6ca8", "class2": "#e08e1b", "class3": "#7a7a7a"}
TITLES = {"class1": "class 1 (4)", "class2": "class 2 (2)", "class3": "class 3 (1)"}
WEIGHTS = {"class1": 4, "class2": 2, "class3": 1}
PAPER = "#b3402f"
NAMES = {"fqrs": "squid-fqrs", "paper": "RFQ and WRC\nas in the paper", "stock": "stock Squid", "pools": "delay pools", "htb": "HTB at\nthe ISP",
         "ifb": "HTB on an IFB\nat the gateway", "none": "no Squid"}


def tidy(axes):
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="#dddddd", linewidth=0.6)
    axes.set_axisbelow(True)


def save(figure, out, name):
    path = os.path.join(out, f"fqrs-{name}.png")
    figure.savefig(path, dpi=110, bbox_inches="tight")
    plt.close(figure)
    return path


def mbit(by_second, position, width):
    return [8e-6 * sum(row[position] for row in by_second[i:i + width]) / width for i in range(0, len(by_second) - width + 1, width)]


def fig8(data, out):
    step, active = data["step"], ((0, 1, 2), (1, 2), (2,), (0, 1, 2))
    figure, axes = plt.subplots(2, 2, figsize=(12, 7), sharey="row")
    for col, (name, title) in enumerate((("fqrs", "squid-fqrs"), ("paper", "RFQ and WRC as in the paper"))):
        rows = data[name]
        width = max(1, step // 20)
        top, bottom = axes[0][col], axes[1][col]
        for i, c in enumerate(CLASSES):
            points = mbit(rows, i, width)
            top.plot([(k + 0.5) * width for k in range(len(points))], points, color=COLOURS[c], label=TITLES[c])
        for p in range(1, 4):
            top.axvline(p * step, color="#bbbbbb", linewidth=0.8)
        top.set_title(f"{title}: bandwidth, means of {width} s", fontsize=10)
        top.set_xlabel("s")
        bars(bottom, rows, step, active)
        bottom.set_title("means of the phases without their first tenths; dashed: 4 : 2 : 1", fontsize=10)
        tidy(top)
        tidy(bottom)
    for row in axes:
        row[0].set_ylabel("Mbit/s")
    axes[0][0].legend(loc="upper right", fontsize=9)
    figure.suptitle("Fig. 8: class 1 stops after the first phase, class 2 after the second, all want more again in the fourth")
    figure.tight_layout()
    return save(figure, out, "fig8")


def bars(axes, rows, step, active):
    for i, c in enumerate(CLASSES):
        means = []
        for p in range(4):
            part = rows[p * step + step // 10:(p + 1) * step]
            means.append(8e-6 * sum(r[i] for r in part) / max(1, len(part)))
        axes.bar([p + (i - 1) * 0.27 for p in range(4)], means, 0.25, color=COLOURS[c])
        for p in range(4):
            if i in active[p]:
                due = 1.91 * WEIGHTS[c] / sum(WEIGHTS[CLASSES[k]] for k in active[p])
                axes.plot([p + (i - 1) * 0.27 - 0.13, p + (i - 1) * 0.27 + 0.13], [due, due], color="black", linestyle="--", linewidth=1)
    axes.set_xticks(range(4), [f"phase {p + 1}" for p in range(4)])


def fig9(data, out):
    figure, axes = plt.subplots(figsize=(8, 4.6))
    labels = [TITLES[c] for c in CLASSES] + ["all", "stock Squid", "no Squid"]
    queueing = [data["waits"].get(c, 0) for c in CLASSES] + [data["waits"]["all"], 0, 0]
    total = [data["mean"][c] for c in CLASSES] + [data["mean"]["all"], data["stock"], data["none"]]
    x = range(len(labels))
    axes.bar(x, queueing, 0.5, color="#9bbfd9", label="queueing at the gateway")
    axes.bar(x, [max(0, t - q) for t, q in zip(total, queueing)], 0.5, bottom=queueing, color="#1b6ca8", label="transmission")
    for at, (q, t) in ((3.38, (5.26, 6.76)), (4.38, (0, 8.83))):
        axes.bar(at, q, 0.2, color="none", edgecolor=PAPER, hatch="..")
        axes.bar(at, t - q, 0.2, bottom=q, color="none", edgecolor=PAPER, hatch="//", label="the paper's" if at > 4 else None)
    axes.set_xticks(list(x), labels)
    axes.set_ylabel("s")
    axes.set_title("Fig. 9: mean response time (ours: 30 clients a class; the paper's simulation: 3)", fontsize=10)
    axes.legend(fontsize=9)
    tidy(axes)
    return save(figure, out, "fig9")


def fig10(data, out):
    figure, axes = plt.subplots(3, 2, figsize=(12, 8), sharex=True, sharey="row")
    for col, (name, title) in enumerate((("paper", "RFQ and WRC as in the paper"), ("fqrs", "squid-fqrs: bytes gate"))):
        run = data[name]
        times = [t for t, _ in run["reports"]]
        axes[0][col].plot(times, [r["outstanding"] for _, r in run["reports"]], color="#1b6ca8", linewidth=1, label="W, outstanding")
        if name == "paper":
            axes[0][col].step(times, [r["window"] for _, r in run["reports"]], color=PAPER, linewidth=1.5, label="Wmax", where="post")
        axes[0][col].set_title(title, fontsize=10)
        axes[0][col].legend(fontsize=9)
        axes[1][col].plot(times, [r["queued"] for _, r in run["reports"]], color="#7a7a7a", linewidth=1)
        use = [sum(row) / 250000 for row in run["by_second"]]
        axes[2][col].plot([i + 0.5 for i in range(len(use))], use, color="#1b6ca8", linewidth=0.8)
        axes[2][col].axhline(0.95, color=PAPER, linestyle="--", linewidth=1)
        axes[2][col].set_xlabel("s")
        for row in axes:
            for p in (1, 2):
                row[col].axvline(p * data["step"], color="#bbbbbb", linewidth=0.8)
            tidy(row[col])
    axes[0][0].set_ylabel("responses")
    axes[1][0].set_ylabel("requests waiting")
    axes[2][0].set_ylabel("use of the link by\nresponses' bytes")
    figure.suptitle("Fig. 10: the window; between the lines class 3 asks alone, with three clients; dashed: the paper's Umax, 0.95")
    figure.tight_layout()
    return save(figure, out, "fig10")


def fig11(data, out):
    figure, axes = plt.subplots(1, 3, figsize=(13, 4))
    x = [r["umax"] for r in data]
    for a, key, label, scale in ((axes[0], "latency", "mean response time, s", 1), (axes[1], "queueing", "mean queueing time, s", 1),
                                 (axes[2], "queue", "packets in the ISP's queue, mean", 1 / 1514)):
        a.plot(x, [r[key] * scale for r in data], color="#1b6ca8", marker="o")
        a.axvspan(0.9, 0.95, color=PAPER, alpha=0.12)
        a.set_xlabel("Umax")
        a.set_title(label, fontsize=10)
        a.set_ylim(bottom=0)
        tidy(a)
    figure.suptitle("Fig. 11: the choice of Umax for the paper's WRC, F = 4; shaded: what the paper suggests")
    figure.tight_layout()
    return save(figure, out, "fig11")


def contest(data, out, name="contest", title="2 Mbit/s, 30 clients a class, round trips of 20 to 250 ms, 4 : 2 : 1"):
    names = [n for n in ("fqrs", "paper", "stock", "pools", "htb", "ifb", "none") if n in data]
    figure, axes = plt.subplots(2, 2, figsize=(13, 7.5))
    x = range(len(names))
    for i, c in enumerate(CLASSES):
        axes[0][0].bar([k + (i - 1) * 0.27 for k in x], [data[n]["shares"][c] for n in names], 0.25, color=COLOURS[c], label=TITLES[c])
        axes[0][0].axhline(100 * WEIGHTS[c] / 7, color=COLOURS[c], linestyle="--", linewidth=0.8)
    axes[0][0].set_title("share of the bytes, %; dashed: 4 : 2 : 1", fontsize=10)
    axes[0][0].set_ylim(top=axes[0][0].get_ylim()[1] * 1.15)
    axes[0][0].legend(fontsize=9, ncols=3, loc="upper right")
    axes[0][1].bar([k - 0.2 for k in x], [data[n]["jain_5s"] for n in names], 0.38, color="#1b6ca8", label="bins of 5 s")
    axes[0][1].bar([k + 0.2 for k in x], [data[n]["jain_1s"] for n in names], 0.38, color="#9bbfd9", label="bins of 1 s")
    axes[0][1].axhline(0.87, color=PAPER, linestyle="--", linewidth=1, label="the paper's field trial")
    axes[0][1].set_ylim(0.4, 1.12)
    axes[0][1].set_title("Jain's index of throughput over weight", fontsize=10)
    axes[0][1].legend(fontsize=9, ncols=3, loc="upper right")
    axes[1][0].bar(x, [data[n]["queue_median"] / 1000 for n in names], 0.5, color="#1b6ca8")
    axes[1][0].errorbar(x, [data[n]["queue_median"] / 1000 for n in names],
                        yerr=[[0] * len(names), [(data[n]["queue_p95"] - data[n]["queue_median"]) / 1000 for n in names]], color="black", fmt="none", capsize=4)
    axes[1][0].set_title("the ISP's queue, kB: median, and 95 % of the time below the whisker", fontsize=10)
    drops = axes[1][1].bar(x, [data[n]["drops"] / data[n]["seconds"] for n in names], 0.5, color="#7a7a7a")
    axes[1][1].bar_label(drops, [f"{data[n]['drops'] / data[n]['seconds']:.1f}" for n in names], fontsize=9)
    axes[1][1].set_title("packets dropped by the ISP, a second", fontsize=10)
    for a in axes.flat:
        a.set_xticks(list(x), [NAMES[n] for n in names], fontsize=8)
        tidy(a)
    figure.suptitle(title)
    figure.tight_layout()
    return save(figure, out, name)


def connect(data, out):
    return contest(data, out, "connect", "TLS downloads through tunnels: 2 Mbit/s, 10 clients a class, round trips of 20 to 250 ms, 4 : 2 : 1")


def draw(data, out):
    return [make(data[key], out) for key, make in (("fig8", fig8), ("fig9", fig9), ("fig10", fig10), ("fig11", fig11), ("default", contest), ("connect", connect)) if key in data]
