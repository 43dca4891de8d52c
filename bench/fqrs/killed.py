# SPDX-License-Identifier: BSD-2-Clause
"""
killed.py - two workers, of which one is killed while it holds all slots and the other has a crowd waiting; and squid.conf that is read again every three seconds under load.

    worker_kill_recovery_s_max      from the kill to the first answer that the other's clients get: the longest of 50, and of one more when the parent is dead, too
    worker_kill_others_failed       requests at the other worker that were not answered 200
    worker_kill_slots_leaked        outstanding, parked or queued in the end
    reconfigure_lost                requests that were not answered 200, in ten minutes
    rival_stock_reconfigure_lost    the same of stock Squid; no goal

The server has a gate that is shut: what the worker to be killed asks for is never answered.
"""
import os
import signal
import socket
import time

from trial import fqrs, stock

from lab.lab import LabError, Origin, free_port, wait_for
from lab.load import Load, errors
from lab.squid import Squid

SLOTS = 4
EVERY = 3               # s
CONFIG = """
fqrs on
fqrs_window {window}
acl holders src 127.2.1.0/24
acl crowd src 127.2.2.0/24
fqrs_class holders weight=1000
fqrs_class crowd weight={weight}
fqrs_access holders allow holders
fqrs_access crowd allow crowd
"""


class Two(Squid):
    """Two workers, each with a port of its own beside the one that they share."""

    def __init__(self, lab, prefix, config, name):
        self.ports = [free_port() for _ in range(2)]
        own = "".join(f"if ${{process_number}} = {n}\nhttp_port 127.0.0.1:{port}\nendif\n" for n, port in enumerate(self.ports, 1))
        super().__init__(lab, prefix, own + config, name=name, workers=2)
        self.own = own

    def takes(self, worker):
        try:
            with socket.create_connection(("127.0.0.1", self.ports[worker - 1]), 2) as s:
                s.settimeout(2)
                s.sendall(f"GET /squid-internal-mgr/menu HTTP/1.0\r\nHost: 127.0.0.1:{self.port}\r\n\r\n".encode())
                return b" 200 " in s.recv(100)
        except OSError:
            return False

    def ready(self):
        return super().ready() and self.takes(1) and self.takes(2)

    def kill(self, worker):
        pid = self.pid_of(f"squid-{worker}")
        os.kill(pid, signal.SIGKILL)
        return pid

    def until_back(self, worker, pid):
        wait_for(lambda: self.pid_of(f"squid-{worker}") not in (None, pid) and self.takes(worker), 60, f"worker {worker} started again")


def hold(squid, origin, worker, answered):
    """All slots are this worker's; its connections.  answered(): how many answers the origin has given so far."""
    made = []
    for _ in range(SLOTS):
        s = socket.create_connection(("127.0.0.1", squid.ports[worker - 1]), 10, source_address=("127.2.1.1", 0))
        s.sendall(f"GET {origin.url}/size/10?gate HTTP/1.1\r\nHost: {origin.address}\r\n\r\n".encode())
        made.append(s)

    def still():
        before = answered()
        time.sleep(0.1)
        return answered() == before and origin.stat()["current"] == SLOTS
    wait_for(still, 30, "one worker holds all slots")
    return made


def recovery(squid, origin, worker):
    """(seconds until the other one's clients were served, how many of their requests failed, pid of the killed)"""
    def answered():
        return origin.stat()["answered"]
    crowd = dict(name="crowd", clients=20, url=f"{origin.url}/size/2000?delay=10", proxy=f"127.0.0.1:{squid.ports[2 - worker]}", source="127.2.2.1")
    with Load(origin.address, [crowd], 300, timeout=20) as run:
        held = hold(squid, origin, worker, answered)
        before = answered()
        pid, killed = squid.kill(worker), time.monotonic()
        wait_for(lambda: answered() > before, 30, "the other's clients are served")
        took = time.monotonic() - killed
        wait_for(lambda: answered() > before + 100, 30, "and go on")
        run.stop()
        result = run.result()
    for s in held:
        s.close()
    return took, errors(result) + sum(n for code, n in result["total"]["status"].items() if code != "200"), pid


def left(squid):
    try:
        return wait_for(lambda: (s := squid.json())["outstanding"] == s["parked"] == s["queued"] == 0 and [0], 20, "nothing outstanding")[0]
    except LabError:
        s = squid.json()
        return s["outstanding"] + s["parked"] + s["queued"]


def kills(bench):
    times, failed = [], 0
    with Origin(bench.lab, name="origin-killed") as origin, Two(bench.lab, fqrs(), CONFIG.format(window=SLOTS, weight=1), "killed") as squid:
        for i in range(bench.size(50, 4)):
            worker = 1 + i % 2
            took, bad, pid = recovery(squid, origin, worker)
            times.append(took)
            failed += bad
            squid.until_back(worker, pid)
        leaked = left(squid)
        os.kill(squid.pid, signal.SIGKILL)
        squid.process.wait()
        took, bad, _ = recovery(squid, origin, 1)
        times.append(took)
        failed += bad
    times.sort()
    bench.say(f"{len(times)} kills: slots are back after {times[0]:.2f} to {times[-1]:.2f} s, half of them within {times[len(times) // 2]:.2f}; with the parent dead {took:.2f} s")
    bench.figure("worker_kill_recovery_s_max", times[-1], "s", "<= 1.5")
    bench.figure("worker_kill_others_failed", failed, "requests", "== 0")
    bench.figure("worker_kill_slots_leaked", leaked, "requests", "== 0")


def lost(bench, squid, origin, configs):
    crowd = [dict(name=f"size{n}", clients=10, url=f"{origin.url}/size/{n}", proxy=squid.address, source="127.2.2.1") for n in (500, 20_000, 200_000)]
    seconds = bench.size(600, 13)
    with Load(origin.address, crowd, seconds, timeout=20) as run:
        turn, until = 0, time.monotonic() + seconds - EVERY
        while time.monotonic() < until:
            time.sleep(EVERY)
            turn += 1
            squid.config = squid.own + configs[turn % len(configs)]
            squid.configure()
            squid.process.send_signal(signal.SIGHUP)
        result = run.result()
    bad = errors(result) + sum(n for code, n in result["total"]["status"].items() if code != "200")
    bench.say(f"{squid.name}: {turn} times, {result['total']['requests']} requests: {result['total']['status']}, {result['total']['errors']}, {result['total']['stale']} tried again")
    return bad


def reconfigures(bench):
    configs = [CONFIG.format(window=w, weight=n) for w, n in ((SLOTS, 1), ("none", 3), (8, 2))]
    with Origin(bench.lab, name="origin-reconfigured") as origin:
        with Two(bench.lab, fqrs(), configs[0], "reconfigured") as squid:
            bench.figure("reconfigure_lost", lost(bench, squid, origin, configs), "requests", "== 0")
        with Two(bench.lab, stock(), "", "reconfigured-stock") as squid:
            bench.figure("rival_stock_reconfigure_lost", lost(bench, squid, origin, [""]), "requests")


FAMILIES = ((kills, ["worker_kill_recovery_s_max", "worker_kill_others_failed", "worker_kill_slots_leaked"]), (reconfigures, ["reconfigure_lost"]))
