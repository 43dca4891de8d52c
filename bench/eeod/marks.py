# SPDX-License-Identifier: BSD-2-Clause
"""marks.py - of the marks of a page, how many are where a segment begins, in every copy that is sent."""
import judge
from setting import CELLS, ask

# Blocks as in the paper's pages: a few hundred bytes to a few segments.
PAGE = "blocks=12&cacheable=400-3000&unique=50-1500&seed={n}&visitor={n}"
RIVALS = ("flush", "nagle", "cork")


def seconds(bench, cell, way):
    """Long enough for 2,000 marks at 2 Mbit/s, and for a good many more elsewhere."""
    return 14 if cell.rate == "2mbit" else 2 if bench.quick or way != "eeod" else 5


def table(bench):
    worst = dict.fromkeys(("eeod", *RIVALS), 1.0)
    total, least = 0, None
    for cell in CELLS:
        rows = []
        for way in worst:
            if bench.quick and way != "eeod" and cell.name not in ("default", "bbr"):
                continue
            all_of_it = way == "eeod" and (not bench.quick or cell.name == "default")
            for offload in (True, False) if all_of_it else (True,):
                # As one piece, when the kernel has cut nothing yet; one by one, as the clients get them.
                for watch in ("sent", "wire") if offload and all_of_it else ("wire",):
                    result, found = ask(bench, cell, f"/{way}?{PAGE}", seconds(bench, cell, way), offload=offload, watch=watch)
                    marks, inside, copies, repeated = judge.marks(found)
                    part = 1 - inside / marks
                    worst[way] = min(worst[way], part)
                    if way == "eeod":
                        total += marks
                        least = marks if least is None else min(least, marks)
                    rows.append({"way": way, "offload": offload, "watch": watch, "marks": marks, "inside": inside, "copies": copies, "repeated": repeated})
                    bench.say(f"{cell.name:>11} {way:<5} offload {'on ' if offload else 'off'} seen {'as sent' if watch == 'sent' else 'on the wire'}: {marks} marks, "
                              f"{100 * part:.2f} % on a boundary; {copies} segments, {repeated} again; {result['total']['requests']} pages")
        bench.data.setdefault("marks", {})[cell.name] = rows
    bench.figure("marks_on_boundary", worst["eeod"], "fraction, worst cell", ">= 1")
    bench.figure("marks", total, "marks", ">= 100000" if not bench.quick else None)
    bench.figure("marks_in_smallest_cell", least, "marks", ">= 2000")
    for way in RIVALS:
        bench.figure(f"rival_{way}", worst[way], "fraction, worst cell")


FAMILIES = [(table, ("marks_on_boundary", "marks", "marks_in_smallest_cell", *(f"rival_{w}" for w in RIVALS)))]
