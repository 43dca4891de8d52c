# SPDX-License-Identifier: BSD-2-Clause
"""
producer.py - how many segments mod_ccn gives, by itself and behind a forwarder.

    producer_segments_s         segments of 4 KB a second, signed by digest, over TCP on loopback; httpd on one core, the clients on the other
    forwarder_ceiling_ratio     through the forwarder, in parts of what the forwarder carries from a producer that has its packets ready (fairgate-ndn-echo); pairs that take turns

Pages are files of 2,000 segments, and each time one is asked for it is made and signed anew, within what is measured: so it is what a server gives that has to do all of its work.  The
forwarder has a core to itself, as if it stood on a machine of its own; producer and clients share the other.  What is pinned to a core may have it for itself no more than the machine's
other tenants let it.
"""
import itertools

from spread import Spread

from lab.lab import wait_for
from lab.ndn import Forwarder
from lab.ndn_load import Echo, failed, ndn_load
from lab.ndn_site import FileSite
from lab.path import Path

PAGES, SEGMENTS = 4, 2000
SERVER_CORE, CLIENT_CORE = 0, 1
SETTINGS = "CcnPages 128M\nCcnThreads 4"


def names(prefix):
    return [(1, "page", f"{prefix}/{SEGMENTS}%3Fc%3D{n}") for n in range(PAGES)]


def rate(bench, address, prefix, seconds, window, **words):
    """Segments a second.  Each client asks for a page of its own, or the forwarder would join them."""
    result = ndn_load(bench.lab, address, names(prefix), own=True, clients=PAGES, seconds=seconds, warmup=0.5, window="fixed", window_size=window, core=CLIENT_CORE, **words)
    if failed(result) or result["unverified"]:
        bench.say(f"{prefix}: {failed(result)} pages did not come, {result['unverified']} were not signed")
    return result["segments_per_s"]


def measure_alone(bench):
    goal = ">= 100000"
    with FileSite(bench.lab, "/alone", (SEGMENTS,), settings=SETTINGS, core=SERVER_CORE) as site:
        _, spread = bench.repeat(lambda: rate(bench, site.ndn_address, "/alone", bench.size(5, 2), 256), Spread.of, goal, least=bench.size(6, 5))
    bench.figure("producer_segments_s", spread, "segments/s", goal)


def measure_behind(bench):
    """The window is one that the forwarder can hold: it drops in silence what is more than 1,024."""
    goal, path, turn = ">= 0.90", Path(bench.lab).start(), itertools.count()
    forwarder = Forwarder(bench.lab, cache=0, threads=1).on(path.router)
    forwarder.prefix = (*forwarder.prefix, "taskset", "-c", str(SERVER_CORE))
    forwarder.start()
    site = FileSite(bench.lab, "/site", (SEGMENTS,), settings=SETTINGS, core=CLIENT_CORE).on(path.server).start()
    echo = Echo(bench.lab, [name for _, _, name in names("/echo")], SEGMENTS, core=CLIENT_CORE).on(path.server).start()
    for prefix, server in (("/site", site), ("/echo", echo)):
        forwarder.route(prefix, server.uri)
        wait_for(lambda prefix=prefix: ndn_load(bench.lab, forwarder.address, names(prefix)[0][2], on=path.clients, requests=1, wait=2000, tries=3)["pages"], 20, "the forwarder's way")

    def pair():
        order = ("/site", "/echo") if next(turn) % 2 else ("/echo", "/site")
        found = {prefix: rate(bench, forwarder.address, prefix, bench.size(5, 1.5), 128, on=path.clients) for prefix in order}
        return found["/site"], found["/echo"]
    try:
        pairs, spread = bench.repeat(pair, lambda found: Spread.of([a / b for a, b in found]), goal, least=bench.size(7, 5))
    finally:
        for server in (site, echo, forwarder, path):
            server.stop()
    bench.say(f"through the forwarder: {Spread.of([a for a, _ in pairs]):.0f} segments/s; what it carries at most: {Spread.of([b for _, b in pairs]):.0f}")
    bench.figure("forwarder_ceiling_ratio", spread, "of the forwarder's ceiling", goal)


FAMILIES = [(measure_alone, ("producer_segments_s",)), (measure_behind, ("forwarder_ceiling_ratio",))]
