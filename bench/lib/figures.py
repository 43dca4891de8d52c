# SPDX-License-Identifier: BSD-2-Clause
"""Figures of a bench: printed as they come, written as JSON at the end.

    figures = Figures("core", out_dir)
    figures.figure("instructions_drr_3", 412, "instructions", "<= 500")
    figures.write()

A line is `core.instructions_drr_3 412 instructions <= 500 ok`; the goal is `-` where there is none.  A figure that misses its goal says `short`, one whose spread
(spread.py) holds both what keeps the goal and what does not says `undecided`; neither changes an exit status: a bench tells, it does not judge.  The spread stands in a line before
it that begins with #.  The file is OUT_DIR/core.json: {"figures": [{"figure": "instructions_drr_3", "value": 412, "unit": "instructions", "goal": "<= 500", "ok": true, "spread": null},
...]}; "ok" is null when it is undecided, "spread" is [low, high], each null without a bound, or null for what was counted.
"""
import json
import math
import os

from spread import Spread, verdict


def shown(value):
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 1000 else f"{value:.0f}"
    return str(value)


class Figures:
    def __init__(self, bench, out_dir):
        self.bench, self.out_dir, self.rows = bench, out_dir, []

    def figure(self, name, value, unit, goal=None):
        """value: a number that was counted, or a Spread."""
        ok, spread = verdict(value, goal), None
        if isinstance(value, Spread):
            spread = [bound if math.isfinite(bound) else None for bound in (value.low, value.high)]
            print(f"# {self.bench}.{name}: " + (f"{shown(value.low)} to {shown(value.high)} by {value.runs} measurements" if value.runs > 1 else "measured once, which tells no spread"), flush=True)
            value = value.value
        self.rows.append({"figure": name, "value": value, "unit": unit, "goal": goal, "ok": ok, "spread": spread})
        print(f"{self.bench}.{name} {shown(value)} {unit} {goal or '-'} {'undecided' if ok is None else 'ok' if ok else 'short'}", flush=True)
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
