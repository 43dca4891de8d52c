# SPDX-License-Identifier: BSD-2-Clause
"""
small.py - how much longer a small packet takes that is not touched: what the server of a connection says that is not HTTP. It goes by the parent's daemon, and through the child's.

    small_packet_us     of a message and its answer, on a connection to one of `ports`, beyond one to another port: the median of the differences
"""
import os
import subprocess
import sys

from lab.pair import Pair
from spread import Spread

PINGS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "pings.py")
PORT, OTHER = 8000, 8001


def measure(bench):
    pair = Pair(bench.lab).start()
    server = subprocess.Popen([*pair.servers.prefix, sys.executable, PINGS, "serve", str(PORT), str(OTHER)], stdout=subprocess.PIPE, text=True)
    server.stdout.readline()
    try:
        pair.both(ports=PORT)
        said = pair.clients.run(sys.executable, PINGS, "ask", "10.8.1.2", str(PORT), str(OTHER), str(bench.size(1000, 200)))
        turns = [[float(word) for word in line.split()] for line in said.splitlines()]
        counters = pair.parent.counters()
        led, other = (Spread.of([t[i] for t in turns]) for i in (0, 1))
        bench.say(f"{led:.0f} us by way of the pair, {other:.0f} beside it; {counters['pieces']} packets were led, {counters['trains']} trains")
        bench.figure("small_packet_us", Spread.of([a - b for a, b in turns]), "us", "<= 50")
    finally:
        server.kill()
        server.wait()
        server.stdout.close()
        pair.stop()


FAMILIES = [(measure, ("small_packet_us",))]
