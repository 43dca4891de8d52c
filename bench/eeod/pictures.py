# SPDX-License-Identifier: BSD-2-Clause
"""
pictures.py - figures of the EEOD paper, redrawn from our measurements: 19 and 20, how much of the same content goes in the same packets when nothing is
done about it, and with mod_eeod (the paper has less than 10 % for files beyond 100 MB); 6 to 10, one page with marks and a page with objects in their
place (in the paper they are curves without numbers).  A picture is drawn only if what it shows was measured in this run.
"""
from plots import plt, save, tidy

COLOURS = {"eeod": "#1b6ca8", "plain": "#7a7a7a"}
TITLES = {"eeod": "httpd with mod_eeod", "plain": "httpd without it"}
PAPER = "#b3402f"


def by_size(axes, sizes, of, title):
    """Bars for each size of file; of: the value of a row [misaligned, deliveries, same, total]."""
    megabytes = list(sizes["eeod"])
    for k, way in enumerate(("plain", "eeod")):
        axes.bar([i + 0.4 * k for i in range(len(megabytes))], [of(sizes[way][m]) for m in megabytes], 0.38, color=COLOURS[way], label=TITLES[way])
    axes.set_xticks([i + 0.2 for i in range(len(megabytes))], [f"{m} MB" for m in megabytes])
    axes.set_title(title, fontsize=10)
    tidy(axes, "", "%", 105)


def fig19_20(sizes, out):
    megabytes = [int(m) for m in sizes["eeod"]]
    figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.4))
    by_size(left, sizes, lambda row: 100 * row[0] / row[1], "deliveries of a file in which some segment is not as in the first (Fig. 19)")
    beyond = next((i for i, m in enumerate(megabytes) if m >= 10), None)
    if beyond is not None:
        left.plot([beyond - 0.3, len(megabytes) - 0.3], [100, 100], color=PAPER, linestyle="--", label="the paper: all of them from 10 MB on")
    by_size(right, sizes, lambda row: 100 * row[2] / row[3], "segments that are as in the first delivery (Fig. 20)")
    if megabytes[-1] >= 100:
        right.plot([len(megabytes) - 1.3, len(megabytes) - 0.3], [10, 10], color=PAPER, linestyle=":", label="the paper: less than 10 % of files beyond 100 MB")
    known = {label: handle for panel in (left, right) for handle, label in zip(*panel.get_legend_handles_labels())}
    figure.legend(known.values(), known.keys(), frameon=False, fontsize=8, loc="lower center", ncol=4)
    figure.subplots_adjust(bottom=0.14)
    return save(figure, out, "eeod-fig19-20.png")


OBJECTS = {"marked": ("marks in the page, mod_eeod", "#1b6ca8", "-"), "unmarked": ("the same page without mod_eeod", "#7a7a7a", "--"),
           "8": ("8 objects", "#e3b23c", "-"), "16": ("16 objects", "#d07d2c", "-"), "32": ("32 objects", "#b3402f", "-")}


def fig6_10(objects, out):
    figure, panels = plt.subplots(2, 3, figsize=(13, 7))
    for panel, (number, title, label) in zip((panels[0][0], panels[0][1], panels[0][2], panels[1][0], panels[1][1]), (
            ("6", "Fig. 6: no pipelining, no Squid, 100 ms", "pages/s"), ("7", "Fig. 7: pipelining, no Squid, 10 pages/s", "round trip, ms"),
            ("8", "Fig. 8: no pipelining, no Squid, 10 pages/s", "round trip, ms"), ("9", "Fig. 9: no pipelining, Squid, 100 ms", "pages/s"),
            ("10", "Fig. 10: no pipelining, Squid, 10 pages/s", "round trip, ms"))):
        for contender, values in objects[number].items():
            name, colour, line = OBJECTS[contender]
            panel.plot([int(v) for v in values], [mean / 1000 for mean, _ in values.values()], line, marker="o", markersize=3, color=colour, label=name)
        panel.set_title(title, fontsize=10)
        tidy(panel, label, "seconds until all of the page is there")
    panels[1][2].set_axis_off()
    panels[1][2].legend(*panels[0][0].get_legend_handles_labels(), frameon=False, loc="center left", fontsize=9)
    figure.tight_layout()
    return save(figure, out, "eeod-fig6-10.png")


def draw(data, out):
    return [fig(data[name], out) for fig, name in ((fig19_20, "sizes"), (fig6_10, "objects")) if name in data]
