# SPDX-License-Identifier: BSD-2-Clause
"""
tunnels.py - nothing but CONNECT: TLS downloads of lognormal sizes, each through a tunnel of its own, ten clients a class, beside stock Squid, delay pools and HTB at the ISP.

    connect_...                     shares, the link and the queue before it, as of the default cell
    connect_utilisation_20mbit      the same at 20 Mbit/s, with a hundred clients a class: thirty do not want as much
    connect_share_error_max_20mbit
    connect_cpu_ratio               Squid's CPU time a byte / stock Squid's; no goal
    rival_PEER_connect_...          without goals, in the same run

Under HTB there is no Squid: clients speak to the servers.
"""
from setting import CELLS, QUEUE, SHARING, names_of, of_windows, ratio_of_windows, tell
from trial import FQRS, PEERS, STOCK


def measure(bench):
    found = bench.run([(c, CELLS["connect"]) for c in (FQRS, *PEERS)], *((25, 10) if bench.quick else (300, 60)))
    r = {name: v for (name, _), v in found.items()}
    tell(bench, "connect_", r["fqrs"], r["stock"], {**SHARING, **QUEUE})
    bench.figure("connect_cpu_ratio", ratio_of_windows(r["fqrs"], r["stock"], "cpu_per_byte"), "of stock Squid's, per byte")
    for c in PEERS:
        tell(bench, f"rival_{c.name}_connect_", r[c.name], r["stock"], {})
    bench.data["connect"] = r


def faster(bench):
    found = bench.run([(c, CELLS["connect20"]) for c in (FQRS, STOCK)], *((10, 5) if bench.quick else (180, 30)))
    for c, prefix, goals in ((FQRS, "", ("<= 1.0", ">= 0.98")), (STOCK, "rival_stock_", (None, None))):
        r = found[c.name, "connect20"]
        bench.figure(f"{prefix}connect_share_error_max_20mbit", of_windows(r, "share_error"), "points", goals[0])
        bench.figure(f"{prefix}connect_utilisation_20mbit", of_windows(r, "utilisation"), "of the link", goals[1])


FAMILIES = ((measure, [*names_of("connect_"), "connect_cpu_ratio"]), (faster, ["connect_utilisation_20mbit", "connect_share_error_max_20mbit"]))
