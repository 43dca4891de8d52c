# SPDX-License-Identifier: BSD-2-Clause
"""
waiting.py - ten thousand requests wait at once in an event MPM of 2 children x 25 threads, and all of them are answered.

The backend holds the eight that the window lets go until the gate is opened; the gateway's own count says when all the others wait.

    waiting_held        requests that waited at the same time and were answered with 200 afterwards
    bytes_per_waiting   memory of httpd (proportional set size of all processes) added by each waiting connection
"""
import json
import urllib.request

from lab.lab import wait_for
from lab.load import Load
from setting import HEADERS

WANTED, WINDOW = 10000, 8


def status(gateway):
    with urllib.request.urlopen(f"{gateway.url}/qos-status?json", timeout=10) as r:
        return json.load(r)


def measure(bench):
    backend = bench.origin("gate")
    gateway = bench.gateway(backend, window=WINDOW, more="QosWait 300\n", threads=25, async_factor=400, timeout=600)
    before = gateway.memory()
    third = (WANTED + WINDOW + 2) // 3
    clients = [dict(name=c, clients=third, requests=1, header=HEADERS[c], url="/size/100?gate") for c in HEADERS]
    with Load(gateway.address, clients, 240, timeout=240, ramp=2) as run:
        try:
            held = wait_for(lambda: (q := status(gateway)["queued"]) >= 3 * third - WINDOW and q, 90, "all requests waiting")
        except Exception as e:
            held = status(gateway)["queued"]
            bench.say(f"{e}: {held} wait")
        memory = gateway.memory()
        backend.open()
        result = run.result()
    answered = result["total"]["status"].get("200", 0)
    bench.say(f"{held} waited at once, {answered} of {3 * third} were answered, {sum(result['total']['errors'].values())} errors")
    bench.figure("waiting_held", min(held, answered), "requests", f">= {WANTED}")
    bench.figure("bytes_per_waiting", (memory - before) / held if held else float("nan"), "bytes")
    for server in (gateway, backend):
        bench.retire(server)


FAMILIES = [(measure, ("waiting_held", "bytes_per_waiting"))]
