# SPDX-License-Identifier: BSD-2-Clause
"""
setting.py - the simulated server, and what all measurements on it have in common.

The paper says: a machine of two cores, in a LAN, 100 to 500 clients in a peak, pages in segments of 4 KB, the sizes of three sites' pages in words (tests/sim/sim_sites.h has
our numbers for them), every Interest costs the same.  It does not say how long one takes, nor the round trip, nor within what time a peak's clients come.  Ours, chosen before
anything was measured with them: 2 threads, 2 ms a segment, a round trip of 2 ms, and clients that come within a twentieth of the time that their pages take.  Only the ratio of round trip
and segment counts, not how long either takes; what every other choice gives, sensitivity.py prints.

The server has made a thousand pages before, of which it knows what each URL costs.  An order sees the same pages at the same times as the others do.
"""
import json
import subprocess

from lab.lab import program

SITES = ("12306", "taobao", "baidu")
CLIENTS = (100, 200, 300, 400, 500)         # of the paper's peaks
ALTERNATING = (50, 100, 150, 200, 250, 300)     # of its alternating load
ORDERS = ("fifo", "levels", "shortest")
NAMES = {"fifo": "FIFO", "levels": "IDSRS", "shortest": "serpt", "12306": "12306", "taobao": "Taobao", "baidu": "Baidu-like"}
TWO_KINDS = ("taobao", "baidu")     # sites with small pages and large ones
SEGMENT, RTT, THREADS = 0.002, 0.002, 2


def lines(**words):
    done = subprocess.run([program("bench/idsrs/spikes"), *(f"{k}={v}" for k, v in words.items())], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"spikes {words}: {done.stderr}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def simulate(**words):
    """A list: of each seed {order: what was measured}.  words: as spikes.c lists them."""
    rows = {}
    for row in lines(**words):
        rows.setdefault(row["seed"], {})[row["order"]] = row
    return [rows[seed] for seed in sorted(rows)]


def saved(run, order, what="mean"):
    """The part of FIFO's that this order saves; run: of one seed."""
    return 1 - run[order][what] / run["fifo"][what]


def ratio(run, order, what):
    return run[order][what] / run["fifo"][what]


def mean(values):
    values = list(values)
    return sum(values) / len(values)


def megabytes(segments):
    return segments * 4096 / 1e6
