# SPDX-License-Identifier: BSD-2-Clause
"""
aborts.py - clients that give up in every state of a request: while they wait, while the backend works, with half a body sent, with half an answer taken.

    aborts_leaked       slots, waits and parked requests that are left when all clients have gone and the backend is idle
"""
from setting import clients, status

from lab.lab import LabError, wait_for
from lab.load import Load

WINDOW = 32         # so that many get as far as the server
WEIGHTS = {"people": 3, "crawlers": 1}


def groups(pause):
    """Of people and crawlers alike: given up at once, while waiting, at the server, in a body, in an answer; who reads on; and some who stay."""
    kinds = (dict(url="/size/2000?delay=30", abort=0.5), dict(url="/size/2000?delay=30", abort=3), dict(url="/size/2000?delay=30", abort=20), dict(url="/size/2000?delay=5", abort=40),
             dict(url="/size/2000?delay=1", method="POST", body=20_000, send=100_000, abort=100), dict(url="/size/3000000", abort=5), dict(url="/size/3000000", rate=200_000, abort=400),
             dict(url="/size/2000?delay=5&chunked", abort=5), dict(url="/size/2000?delay=30&reset"), dict(url="/size/2000?delay=5"))
    # Who gives up at once pauses longer, or there would be few others among a million.
    return [clients(c, 10, think=pause * (30 if 0 < kind.get("abort", 0) < 5 else 1), retry=10, **kind) for c in WEIGHTS for kind in kinds]


def left(server):
    return sum(c["outstanding"] + c["queued"] + c["parked"] for c in status(server).values())


def measure(bench):
    wanted = bench.size(1_000_000, 5000)
    with bench.gateway(bench.origin(), WEIGHTS, window=WINDOW) as g:
        with Load(g.address, groups(1), bench.size(2400, 15), interval=1) as run:
            def enough():
                return sum(line["total"]["aborted"] for line in run.lines) >= wanted or not run.running()
            wait_for(enough, bench.size(2500, 60), f"{wanted} given up")
            run.stop()
            result = run.result()
        try:
            wait_for(lambda: not left(g), 20, "nothing is left")
        except LabError:
            bench.say(f"left: {status(g)}")
        leaked = left(g)
    bench.say(f"{result['total']['aborted']} requests were given up, {result['total']['requests']} answered in {result['seconds']:.0f} s")
    bench.figure("aborts_leaked", leaked, "slots", "== 0")


FAMILIES = [(measure, ("aborts_leaked",))]
