# SPDX-License-Identifier: BSD-2-Clause
"""
workers.py - the same with two workers: shares are to hold for the machine.

    smp_share_error_max, smp_jain_5s, smp_jain_1s, smp_utilisation      the worst of three cells: pages over HTTP, tunnels, each class a kind
    smp_isp_queue_median_kb, smp_isp_queue_p95_kb                       likewise; no goal
    rival_stock_..., rival_pools_...        two workers of stock Squid, and its delay pools, which each worker has for itself; without goals
"""
import copy

from mixed import FIGURES, worst_of
from setting import CELLS
from trial import FQRS, POOLS, STOCK

CELLS_OF_TWO = []
for name in ("default", "connect", "kinds"):
    CELLS_OF_TWO.append(copy.copy(CELLS[name]))
    CELLS_OF_TWO[-1].name, CELLS_OF_TWO[-1].workers = f"{name}-2", 2


def measure(bench):
    contenders = (FQRS, STOCK, POOLS)
    found = bench.run([(c, cell) for cell in CELLS_OF_TWO for c in contenders], *((25, 10) if bench.quick else (300, 60)))
    for c in contenders:
        worst_of(bench, "smp_" if c is FQRS else f"rival_{c.name}_smp_", [found[c.name, cell.name] for cell in CELLS_OF_TWO], c is FQRS)
    bench.data["workers"] = [found[k] for k in found]


FAMILIES = ((measure, [f"smp_{name}" for name, *_ in FIGURES]),)
