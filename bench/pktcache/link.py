# SPDX-License-Identifier: BSD-2-Clause
"""
link.py - what the link carries to the clients, in bytes of IP, for each byte of pages and images that they get; as a fraction of what it carries without caches.

    link_bytes_default      64 kB and an image of 30 kB, 10 % unique in gaps of 300 bytes, 100 visits/s
    link_bytes_no_image     without the image
    link_bytes_small_gaps   gaps of 50 bytes
    window_..., plain_..., ppc_...   the paper's windows of 10; httpd without mod_eeod: whole packets, partial packets
    tuned_link_bytes_default         as ppc_..., tuned, which finds the same
"""
import dataclasses
import functools

from lab.visits import Site, Way, World
from spread import Spread

CASES = {"default": (Site(), "<= 0.105"), "no_image": (Site(image=0), "<= 0.14"), "small_gaps": (Site(gap=50), "<= 0.15")}

WAYS = {"": Way.TRAIN, "window_": Way.WINDOW, "plain_": Way.PLAIN, "ppc_": Way.PPC}


def ways(case):
    """Of a case: by what its figures begin with."""
    return WAYS | ({"tuned_": Way.TUNED} if case == "default" else {})


def carried(bench, way, site, seconds):
    """Bytes on the link for each byte of a body."""
    world = World(bench, way, site)
    try:
        result, link = world.load(seconds)
        return link / result["total"]["bytes"]
    finally:
        world.stop()


def measure(bench, case):
    seconds = bench.size(30, 12)
    site, goal = CASES[case]
    site = dataclasses.replace(site, per_second=bench.size(site.per_second, 50))
    none = carried(bench, Way.NONE, site, seconds)
    for prefix, way in ways(case).items():
        # What has a goal is the middle one of three runs at least: one by itself is off by 2 % now and then, when the machine has had a pause.
        ours = way is Way.TRAIN
        parts, spread = bench.repeat(lambda: carried(bench, way, site, seconds) / none, Spread.of, goal if ours else None, least=3 if ours else 1)
        if len(parts) > 1:
            bench.say(f"{prefix}link_bytes_{case}: {', '.join(f'{p:.4f}' for p in parts)}")
        bench.figure(f"{prefix}link_bytes_{case}", spread, "of no cache", goal if ours else None)


FAMILIES = [(functools.partial(measure, case=case), tuple(f"{prefix}link_bytes_{case}" for prefix in ways(case))) for case in CASES]
