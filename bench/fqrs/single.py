# SPDX-License-Identifier: BSD-2-Clause
"""
single.py - what a lone request pays for the scheduler: one client on an idle link, stock Squid and fqrs in turn, two fields side by side.

A page of 10 KB from a server without a round trip, over the 2 Mbit/s downlink: 42 ms for its bytes.  The figure is the difference
of the medians, round by round.
"""
import math
import statistics

from lab.field import Field
from lab.lab import Origin
from lab.load import load
from lab.squid import Squid
from setting import CELLS
from spread import FAILED, Spread
from trial import FQRS, RTTS_NONE, STOCK


def measure(bench):
    rounds, requests = (4, 25) if bench.quick else (20, 50)
    cell = CELLS["nortt"]
    fields, medians = [], {c.name: [] for c in (STOCK, FQRS)}
    try:
        for c in (STOCK, FQRS):
            field = Field(bench.lab, cell.rate, cell.limit, RTTS_NONE).start()
            origin = Origin(bench.lab, address="0.0.0.0").on(field.servers)
            origin.port = 80
            origin.start()
            squid = Squid(bench.lab, c.squid(), c.config(cell, bench.lab.dir), name=f"single-{c.name}", intercept=True).on(field.gateway).start()
            field.redirect(squid.extra_port)
            fields.append((c, field, squid))
        for _ in range(rounds):
            for c, field, _ in fields:
                r = load(f"{field.servers.address}:80", [dict(name="one", url=f"http://{field.server_addresses[0]}/size/10240", requests=requests,
                                                              close=True, source="10.1.1.1")], 60, prefix=field.clients.prefix)
                served = r["classes"]["one"]["status"].get("200", 0) == requests
                medians[c.name].append(r["classes"]["one"]["latency_ms"]["p50"] if served else math.nan)
    finally:
        for _, field, squid in fields:
            squid.stop()
            field.stop()
    alone = {n: statistics.median(v) for n, v in medians.items()}
    differences = [b - a for a, b in zip(medians["stock"], medians["fqrs"])]
    added = FAILED if any(math.isnan(d) for d in differences) else Spread.of(differences)
    bench.say(f"a lone request of 10 KB: stock Squid {alone['stock']:.2f} ms, fqrs {alone['fqrs']:.2f} ms")
    bench.figure("added_latency_ms", added, "ms", "<= 2")


FAMILIES = ((measure, ["added_latency_ms"]),)
