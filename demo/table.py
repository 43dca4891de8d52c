# SPDX-License-Identifier: BSD-2-Clause
"""The demo's live table: on a terminal it is drawn over itself every second, elsewhere only its last state is printed."""

import sys

HEAD = f"  {'class':<10} {'weight':>6} {'share':>8} {'requests/s':>11} {'mean ms':>9} {'p95 ms':>9}"


def rows(line, classes):
    """The lines of one table; `line` is an interval or the end of lab.load.Load."""
    out = [HEAD]
    for c in classes:
        seen = line["classes"][c["name"]]
        latency = seen["latency_ms"]
        out.append(f"  {c['name']:<10} {c['weight']:>6} {seen['share']:>7.1f}% {seen['requests_per_s']:>11.1f} {latency['mean']:>9.1f} "
                   f"{latency['p95']:>9.1f}")
    total = line["total"]
    out.append(f"  {'all':<10} {'':>6} {'':>8} {total['requests_per_s']:>11.1f} {total['latency_ms']['mean']:>9.1f} "
               f"{total['latency_ms']['p95']:>9.1f}   {total['bytes_per_s'] * 8 / 1e6:.0f} Mbit/s")
    return out


class Live:
    """show() each interval, then end() with the line of the whole phase."""

    def __init__(self, classes, out=sys.stdout):
        self.classes, self.out, self.drawn = classes, out, 0

    def draw(self, lines):
        if self.drawn:
            self.out.write(f"\033[{self.drawn}A")
        self.out.write("".join(f"{text}\033[K\n" if self.out.isatty() else f"{text}\n" for text in lines))
        self.out.flush()
        self.drawn = len(lines) if self.out.isatty() else 0

    def show(self, line, note):
        if self.out.isatty():
            self.draw(rows(line, self.classes) + [f"  {note}"])

    def end(self, line):
        self.draw(rows(line, self.classes) + [""])
