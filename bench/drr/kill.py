# SPDX-License-Identifier: BSD-2-Clause
"""
kill.py - a child that holds slots is killed with SIGKILL under load; how long until the window is whole again.

The judge is the backend: 20 ms a page and more requests waiting than the window takes, so that it has WINDOW requests with it all the time,
except while slots of the dead child are lost.  Its count is read every few ms; the window is whole from the first reading of WINDOW on
after which no stretch longer than GAP, several service times, is without one.

    kill_recovery_s_max     the longest of all kills, from the signal
"""
import os
import signal
import time

from lab.lab import wait_for
from lab.load import Load
from setting import classes

WINDOW, GAP, WATCH = 8, 0.15, 2.2


def recovery(backend, killed_at):
    """Seconds from killed_at to the end of the last stretch without a full window; WATCH if it is not whole by then."""
    whole_since, last_full = None, None
    while (now := time.monotonic()) < killed_at + WATCH:
        full = backend.stat()["current"] >= WINDOW
        if full:
            if last_full is None or now - last_full > GAP:
                whole_since = now
            last_full = now
        time.sleep(0.004)
    if last_full is None or now - last_full > GAP:
        return WATCH
    return whole_since - killed_at


def measure(bench):
    backend = bench.origin("kill", delay_ms=20)
    gateway = bench.gateway(backend, window=WINDOW, threads=25)
    kills = bench.size(20, 5)
    times = []
    with Load(gateway.address, classes(url="/size/2048"), kills * (WATCH + 4) + 10) as run:
        for _ in range(kills):
            wait_for(lambda: len(gateway.children()) >= 2 and backend.stat()["current"] >= WINDOW, 10, "two children and a full window")
            # The elder one: it has the clients of those that died before, and so slots.
            child = gateway.children()[0]
            killed_at = time.monotonic()
            os.kill(child, signal.SIGKILL)
            times.append(recovery(backend, killed_at))
        run.stop()
        result = run.result()
    bench.say(f"{kills} kills: window whole again after " + ", ".join(f"{t:.2f}" for t in times) + " s; "
              f"{result['total']['requests']} answered, errors {result['total']['errors']}, shares "
              + " : ".join(f"{c['share']:.1f}" for c in result["classes"].values()))
    bench.figure("kill_recovery_s_max", max(times), "s", "<= 1.5")
    for server in (gateway, backend):
        bench.retire(server)


FAMILIES = [(measure, ("kill_recovery_s_max",))]
