# SPDX-License-Identifier: BSD-2-Clause
"""Figures of a bench: printed as they come, written as JSON at the end.

    figures = Figures("core", out_dir)
    figures.figure("instructions_drr_3", 412, "instructions", "<= 500")
    figures.write()

A line is `core.instructions_drr_3 412 instructions <= 500 ok`; the goal is `-` where there is none.  A figure that misses its goal says
`short` and changes no exit status: a bench tells, it does not judge.  The file is OUT_DIR/core.json:
{"figures": [{"figure": "instructions_drr_3", "value": 412, "unit": "instructions", "goal": "<= 500", "ok": true}, ...]}.
"""
import json
import math
import os


def meets(value, goal):
    """Whether value keeps a goal like "<= 1.0", ">= 0.95", "== 0"; True without a goal, False for no number."""
    if goal is None:
        return True
    word, _, bound = goal.partition(" ")
    bound = float(bound)
    if not isinstance(value, (int, float)) or math.isnan(value):
        return False
    compare = {"<=": value <= bound, ">=": value >= bound, "==": value == bound, "<": value < bound, ">": value > bound}
    if word not in compare:
        raise ValueError(f"a goal reads '<= 1.0', not {goal!r}")
    return compare[word]


def shown(value):
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 1000 else f"{value:.0f}"
    return str(value)


class Figures:
    def __init__(self, bench, out_dir):
        self.bench, self.out_dir, self.rows = bench, out_dir, []

    def figure(self, name, value, unit, goal=None):
        ok = meets(value, goal)
        self.rows.append({"figure": name, "value": value, "unit": unit, "goal": goal, "ok": ok})
        print(f"{self.bench}.{name} {shown(value)} {unit} {goal or '-'} {'ok' if ok else 'short'}", flush=True)
        return ok

    def write(self):
        """The file appears whole or not at all."""
        os.makedirs(self.out_dir, exist_ok=True)
        path = os.path.join(self.out_dir, f"{self.bench}.json")
        rows = [dict(row, value=None if isinstance(row["value"], float) and math.isnan(row["value"]) else row["value"]) for row in self.rows]
        with open(path + ".new", "w", encoding="utf-8") as file:
            json.dump({"figures": rows}, file, indent=1)
            file.write("\n")
        os.replace(path + ".new", path)
        return path
