# SPDX-License-Identifier: BSD-2-Clause
"""
pictures.py - figures of the EEOD paper, redrawn from our measurements: 1, what finding repeats costs; 11 to 16, bytes on the link and retrieval times (in the paper curves
without numbers, but for its text: the marks save a quarter over partial packets, and those spend their time computing from 50 clients a second on); 17 and 18, the same of
captured sites.
A picture is drawn only if what it shows was measured in this run.
"""
from plots import plt, save, tidy

WAYS = {"none": ("no cache", "#7a7a7a", "--"), "plain": ("whole packets, no marks", "#b9a26a", "-"), "ppc": ("partial packets (Rabin, 64)", "#b3402f", "-"),
        "window": ("marks, windows of 10", "#7fb2d6", "-"), "train": ("marks, trains", "#1b6ca8", "-")}
LABELS = {"visits a second": ("visits a second", 11), "unique": ("part of the page that is unique", 13), "page": ("kB of the page without its image", 15)}


def fig1(data, out):
    figure, axes = plt.subplots(figsize=(6.4, 4))
    for name, values in data["lines"].items():
        rabin = name.startswith("Rabin")
        axes.plot(data["sizes"], values, marker="o", markersize=3, label=name, color=None if rabin else {"MD5": "#7a7a7a"}.get(name, "#1b6ca8"), linestyle="-" if not rabin else "--")
    axes.set_title("Fig. 1: fingerprint, look-up, insertion, storing; all new", fontsize=10)
    tidy(axes, "bytes of a packet", "GB/s")
    axes.legend(frameon=False, fontsize=8)
    return save(figure, out, "pktcache-fig1.png")


def fig11_16(sweeps, out):
    figure, panels = plt.subplots(2, len(sweeps), figsize=(5 * len(sweeps), 7), squeeze=False)
    for column, (name, data) in enumerate(sweeps.items()):
        label, number = LABELS[name]
        none = [p["link"] for p in data["rows"]["none"]]
        x = [v / 1000 if name == "page" else v for v in data["values"]]
        for way, rows in data["rows"].items():
            title, colour, line = WAYS[way]
            if way != "none":
                panels[0][column].plot(x, [100 * p["link"] / n for p, n in zip(rows, none)], color=colour, linestyle=line, marker="o", markersize=3, label=title)
            panels[1][column].plot(x, [p["ms"] for p in rows], color=colour, linestyle=line, marker="o", markersize=3, label=title)
        panels[0][column].set_title(f"Fig. {number}", fontsize=10)
        panels[1][column].set_title(f"Fig. {number + 1}", fontsize=10)
        tidy(panels[0][column], label, "bytes on the link, % of no cache")
        tidy(panels[1][column], label, "ms until page and image are there")
    handles = dict(zip(*reversed(panels[1][0].get_legend_handles_labels())))
    figure.legend(handles.values(), handles.keys(), frameon=False, fontsize=9, loc="lower center", ncol=5)
    figure.subplots_adjust(bottom=0.13, hspace=0.35)
    return save(figure, out, "pktcache-fig11-16.png")


def bars(axes, values, form):
    """values: {site: {way: number}}"""
    ways = [w for w in WAYS if all(w in of for of in values.values())]
    width = 0.8 / len(ways)
    for k, way in enumerate(ways):
        title, colour, _ = WAYS[way]
        at = [i + (k - (len(ways) - 1) / 2) * width for i in range(len(values))]
        drawn = axes.bar(at, [of[way] for of in values.values()], width * 0.92, color=colour, label=title)
        axes.bar_label(drawn, [form.format(of[way]) for of in values.values()], fontsize=7, padding=1)
    axes.set_xticks(range(len(values)), values)


def fig17_18(groups, out):
    figure, panels = plt.subplots(2, len(groups), figsize=(6.5 * len(groups), 7), squeeze=False)
    for column, (name, rows) in enumerate(groups.items()):
        bars(panels[0][column], {s: {w: 100 * r["link"] / of["none"]["link"] for w, r in of.items() if w != "none"} for s, of in rows.items()}, "{:.1f}")
        bars(panels[1][column], {s: {w: r["ms"] for w, r in of.items()} for s, of in rows.items()}, "{:.0f}")
        panels[0][column].set_title(f"Fig. 17: {name}", fontsize=10)
        panels[1][column].set_title(f"Fig. 18: {name}", fontsize=10)
        tidy(panels[0][column], "", "bytes on the link, % of no cache")
        tidy(panels[1][column], "", "ms until all is there")
    handles = dict(zip(*reversed(panels[1][0].get_legend_handles_labels())))
    figure.legend(handles.values(), handles.keys(), frameon=False, fontsize=9, loc="lower center", ncol=len(handles))
    figure.subplots_adjust(bottom=0.1, hspace=0.3)
    return save(figure, out, "pktcache-fig17-18.png")


def draw(data, out):
    drawn = []
    if "fig1" in data:
        drawn.append(fig1(data["fig1"], out))
    sweeps = {name: data[name] for name in LABELS if name in data}
    if sweeps:
        drawn.append(fig11_16(sweeps, out))
    if "sites" in data:
        drawn.append(fig17_18(data["sites"], out))
    return drawn
