# SPDX-License-Identifier: BSD-2-Clause
"""
idle.py - a thousand tunnels of which 950 are idle, at 20 Mbit/s: through each of these something came, and then nothing; 50 clients download through the others, each time through a new one.

    idle_tunnels_slots          requests and turns that are outstanding while only the idle ones are there
    idle_tunnels_cpu_ratio      Squid's CPU time a byte of the others / stock Squid's beside it
"""
import crowds
from setting import ratio_of_windows
from trial import FQRS, STOCK, Cell, Trial

IDLE, DAY_MS = 950, 86_400_000


def thousand(trial, field):
    resting = [dict(name="idle", clients=IDLE // 10, source=f"10.1.3.{i}", url=f"https://{crowds.server(field, i)}/size/1000", think=DAY_MS, **trial.way(field)) for i in range(1, 11)]
    return [*resting, *({**words, "from": 0.01} for words in crowds.tunnels(trial, field))]


class Idle(Trial):
    slots, tunnels, told = None, None, None

    def warmed_up(self, field):
        if self.contender is FQRS:
            told = self.squid.json()
            self.slots, self.tunnels, self.told = told["outstanding"], told["descriptors"] // 2, {k: told[k] for k in ("queued", "outstanding", "parked")}

    def result(self, field, load, begun, ended, took, cpu):
        return {**super().result(field, load, begun, ended, took, cpu), "slots": self.slots, "tunnels": self.tunnels, "told": self.told, "idle": load["classes"]["idle"]["busy"]}


def measure(bench):
    cell = Cell("idle", rate="20mbit", clients=(25, 25, 0), crowd=thousand)
    ours, stock = bench.in_order([Idle(bench.lab, c, cell, *((30,) if bench.quick else (240,)), warm_up=20 if bench.quick else 40) for c in (FQRS, STOCK)])
    bench.say(f"{ours['tunnels']} tunnels stood open, {ours['told']}, {ours['idle']} of them still waited for their first answer at the end")
    # Where they had not come to rest the figure is of something else.
    bench.figure("idle_tunnels_slots", ours["slots"] if ours["tunnels"] >= IDLE else float("nan"), "slots", "== 0")
    bench.figure("idle_tunnels_cpu_ratio", ratio_of_windows(ours, stock, "cpu_per_byte"), "of stock Squid's, per byte", "<= 1.05")


FAMILIES = ((measure, ["idle_tunnels_slots", "idle_tunnels_cpu_ratio"]),)
