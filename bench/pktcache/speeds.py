# SPDX-License-Identifier: BSD-2-Clause
"""
speeds.py - what finding repeats costs on a processor: Fig. 1 of the paper, and the figures of it (speed.c).  Content that is all new, 1,460 bytes a packet.

    fingerprint_gb_s      fingerprint, look-up, insertion, storing of whole packets
    ppc_textbook_ratio    partial packets with a window of 64, as in the book: CPU of a packet / ours
    ppc_tuned_ratio       the same, tuned
"""
import statistics
import subprocess

from lab.lab import program
from spread import Spread

SIZES = (256, 512, 1024, 1460)
WINDOWS = (32, 64, 128, 256)


def speed(what, window, size, seconds):
    """(nanoseconds a packet, GB/s)"""
    out = subprocess.run([program("bench/pktcache/speed"), what, str(window), str(size), str(seconds)], capture_output=True, text=True, check=True).stdout.split()
    return float(out[0]), float(out[2])


def measure(bench):
    seconds, runs = bench.size((2, 5), (0.5, 3))
    rounds = [{what: speed(what, 64, 1460, seconds) for what in ("highway", "md5", "textbook", "tuned")} for _ in range(runs)]
    bench.say("; ".join(f"{what} {statistics.median(r[what][0] for r in rounds):.0f} ns" for what in rounds[0]))
    bench.figure("fingerprint_gb_s", Spread.of([r["highway"][1] for r in rounds]), "GB/s", ">= 1.2")
    for name, what, goal in (("ppc_textbook_ratio", "textbook", ">= 5"), ("ppc_tuned_ratio", "tuned", ">= 2")):
        bench.figure(name, Spread.of([r[what][0] / r["highway"][0] for r in rounds]), "times", goal)


def draw_from(bench):
    """Fig. 1: GB/s by the size of packets."""
    seconds = bench.size(1, 0.2)
    lines = {f"Rabin, window {w}": [speed("textbook", w, n, seconds)[1] for n in SIZES] for w in WINDOWS}
    lines["MD5"] = [speed("md5", 64, n, seconds)[1] for n in SIZES]
    lines["HighwayHash"] = [speed("highway", 64, n, seconds)[1] for n in SIZES]
    bench.data["fig1"] = {"sizes": SIZES, "lines": lines}
    bench.say("Fig. 1, GB/s by bytes of a packet: " + "; ".join(f"{k} " + " ".join(f"{v:.2f}" for v in vs) for k, vs in lines.items()))


FAMILIES = [(measure, ("fingerprint_gb_s", "ppc_textbook_ratio", "ppc_tuned_ratio")), (draw_from, ("fig1",))]
