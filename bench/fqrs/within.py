# SPDX-License-Identifier: BSD-2-Clause
"""
within.py - one client with 500 connections beside five with five each in one class (within=client), at 8 Mbit/s.

    within_client_error             per cent by which one of the five is farthest from its sixth, minute by minute
    within_client_error_without     of fqrs without within=; no goal, as of the peers
    rival_stock_..., rival_pools_...    stock Squid, and its delay pools with a bucket for each address (class 2)
"""
from spread import UNKNOWN, Spread
from trial import FQRS, STOCK, Cell, Contender, Trial, fqrs, fqrs_config, rate_for, stock, width_of

CLIENTS = 6
GREEDY, MODEST = 500, 5
WITHIN = Contender("within", fqrs, lambda cell, directory: fqrs_config(cell, words="within=client"))


def individual(cell, directory):
    """A bucket for each address, which holds half a second."""
    rate = int(rate_for(cell.rate) / 8)
    each = rate // CLIENTS
    return f"delay_pools 1\ndelay_initial_bucket_level 50\ndelay_class 1 2\ndelay_parameters 1 {rate}/{rate // 2} {each}/{max(16384, each // 2)}\ndelay_access 1 allow all\n"


POOLS = Contender("pools", stock, individual)


def six(trial, field):
    return [dict(name=f"client{i}", source=f"10.1.1.{i}", clients=GREEDY if i == 1 else MODEST, urls=trial.urls(field, 0), deck=True, close=True) for i in range(1, CLIENTS + 1)]


class Six(Trial):
    def result(self, field, load, begun, ended, took, cpu):
        names = [f"client{i}" for i in range(1, CLIENTS + 1)]
        rows = [[line["classes"][n]["bytes"] for n in names] for line in load["intervals"]]
        width = width_of(len(rows))
        sums = [[sum(col) for col in zip(*rows[i:i + width])] for i in range(0, len(rows) - width + 1, width)]
        errors = [max(abs(100 * CLIENTS * n / sum(s) - 100) for n in s[1:]) for s in sums if sum(s)]
        total = max(1, sum(load["classes"][n]["bytes"] for n in names))
        shares = " ".join(f"{100 * load['classes'][n]['bytes'] / total:.1f}" for n in names)
        use = (ended[0] - begun[0]) / (field.bytes_per_second * took)
        return {"contender": self.contender.name, "cell": self.cell.name, "errors": errors, "row": f"   within {self.contender.name:<9} shares of six {shares}, due "
                f"{100 / CLIENTS:.1f} each; use {use:.3f}; {load['total']['status']}"}


def measure(bench):
    cell = Cell("within", rate="8mbit", limit=800_000, clients=(GREEDY, 0, 0), crowd=six)
    contenders = (WITHIN, FQRS, STOCK, POOLS)
    results = bench.in_order([Six(bench.lab, c, cell, *((18,) if bench.quick else (300,)), warm_up=12 if bench.quick else 60) for c in contenders])
    for c, r, figure, goal in zip(contenders, results, ("within_client_error", "within_client_error_without", "rival_stock_within_client_error", "rival_pools_within_client_error"),
                                  ("<= 10", None, None, None)):
        bench.figure(figure, Spread.of(r["errors"]) if r["errors"] else UNKNOWN, "per cent", goal)


FAMILIES = ((measure, ["within_client_error", "within_client_error_without"]),)
