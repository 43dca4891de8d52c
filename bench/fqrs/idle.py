# SPDX-License-Identifier: BSD-2-Clause
"""
idle.py - a thousand tunnels of which 950 are idle, at 20 Mbit/s: through each of these came a page of 1 kB, and then nothing; 50 clients download through the others, each time through a new one.

    idle_tunnels_slots          requests and turns that are outstanding or wait ten seconds after the last of the 950 has its page, while nobody else is there
    idle_tunnels_opened_s       from the first of them to that: 950 tunnels within a second; no goal
    idle_tunnels_cpu_ratio      Squid's CPU time a byte of the others / stock Squid's beside it
    rival_stock_idle_tunnels_opened_s
"""
import time

import crowds
from setting import ratio_of_windows
from trial import FQRS, STOCK, Cell, Trial

from lab.lab import LabError, wait_for
from lab.load import Load

IDLE, GROUPS, DAY_MS = 950, 10, 86_400_000
PATIENCE, SETTLED = 180, 10         # s


class Idle(Trial):
    def resting(self, field):
        return [dict(name="idle", clients=IDLE // GROUPS, source=f"10.1.3.{i}", url=f"https://{crowds.server(field, i)}/size/1000", think=DAY_MS, **self.way(field))
                for i in range(1, GROUPS + 1)]

    def _measure(self, field):
        began = time.monotonic()
        with Load(f"{field.servers.address}:80", self.resting(field), 86_400, interval=1, ramp=1, timeout=PATIENCE, prefix=field.clients.prefix) as load:
            wait_for(lambda: sum(line["total"]["requests"] for line in load.lines) >= IDLE or self.over.is_set(), PATIENCE, f"{IDLE} tunnels")
            opened = time.monotonic() - began
            told = self.squid.json() if self.contender is FQRS else None
            if told:
                def settled():
                    nonlocal told
                    told = self.squid.json()
                    return told["outstanding"] + told["queued"] == 0
                try:
                    wait_for(settled, SETTLED, "rest")
                except LabError:
                    pass        # the figure says so
            return {**super()._measure(field), "opened_s": opened, "told": told}


def measure(bench):
    cell = Cell("idle", rate="20mbit", clients=(25, 25, 0), crowd=crowds.tunnels)
    ours, stock = bench.in_order([Idle(bench.lab, c, cell, *((15,) if bench.quick else (240,)), warm_up=5 if bench.quick else 30) for c in (FQRS, STOCK)])
    told = ours["told"]
    bench.say(f"before the others came {told['descriptors'] // 2} tunnels stood open, {told['queued']} turns waited, {told['outstanding']} were outstanding, {told['parked']} parked")
    # Where not all stood open the figure is of something else.
    bench.figure("idle_tunnels_slots", told["outstanding"] + told["queued"] if told["descriptors"] // 2 >= IDLE else float("nan"), "slots", "== 0")
    bench.figure("idle_tunnels_cpu_ratio", ratio_of_windows(ours, stock, "cpu_per_byte"), "of stock Squid's, per byte", "<= 1.05")
    bench.figure("idle_tunnels_opened_s", ours["opened_s"], "s")
    bench.figure("rival_stock_idle_tunnels_opened_s", stock["opened_s"], "s")


FAMILIES = ((measure, ["idle_tunnels_slots", "idle_tunnels_cpu_ratio", "idle_tunnels_opened_s"]),)
