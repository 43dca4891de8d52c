# SPDX-License-Identifier: BSD-2-Clause
"""
cost.py - CPU time of httpd (all its processes) per request, alternating pairs, medians; 8 clients on an unlimited path (lab/path.py).

httpd has one core, everything else the other: what the receiving side does for a packet must not be counted as the sender's, so the router's
device hands packets to the other core (RPS), as a network card hands them to a wire.  Segmentation offload is on.

A page of 64 kB comes from PHP-FPM, as most pages with marks do; from memory, as it would from a program within httpd, the least that a page
can cost; and from a file.

    cost_marked_cpu_ratio      3 marks, PHP-FPM / without the module
    cost_unmarked_cpu_ratio    no mark where the module looks for them, the larger of PHP-FPM and a file / without the module
    boundary_us                43 marks from memory / no mark: microseconds a boundary
    cost_memory_ratio, cost_memory_unmarked_ratio, cost_marked_file_ratio, cost_file_ratio (10 MB with EeodFiles): no goal, to be known
"""
import os
import statistics

from lab.httpd import Httpd, PhpFpm
from lab.lab import module, program
from lab.load import Load
from lab.path import Path

OPEN, CLOSE = b"<!--EEOD-->", b"<!--/EEOD-->"
SIZE = 65536


def page(marks):
    """64 kB, of which the marks stand at equal distances."""
    parts = (SIZE - marks * len(CLOSE)) // (marks + 1)
    out = b""
    for i in range(marks):
        out += b"x" * parts + (CLOSE if i % 2 else OPEN)
    return out + b"x" * (SIZE - len(out))


def write(path, data):
    with open(path, "wb") as f:
        f.write(data)
    os.utime(path, (0, 0))


class Pages:
    """httpd with and without the module on one core of a path, and the pages of this family."""

    def __init__(self, lab):
        root = os.path.join(lab.dir, "cost")
        os.makedirs(root)
        os.chmod(root, 0o755)
        for marks in (0, 3, 43):
            write(f"{root}/{marks}.html", page(marks))
            write(f"{root}/{marks}.php", f"<?php readfile(__DIR__ . '/{marks}.html');".encode())
        write(f"{root}/large.bin", os.urandom(10_000_000))
        self.path = Path(lab).start()
        self.path.router.run("sh", "-c", "echo 2 > /sys/class/net/in0/queues/rx-0/rps_cpus")
        fpm = self.on(PhpFpm(lab), 1).start()
        config = f'Alias /memory {root}\n<Directory {root}>\nRequire all granted\nEnableSendfile On\n</Directory>\n<Location /memory>\nSetHandler lab-memory\n</Location>\n'
        ours = 'EeodEngine On\n<Location /large.bin>\nEeodFiles On\n</Location>\n'
        common = dict(children=1, threads=32, htdocs=root, php=fpm.address)
        pages = {"lab_pages": program("tests/lab/.libs/mod_pages.so")}
        self.bare = self.on(Httpd(lab, name="bare", config=config, load=pages, **common), 0).start()
        self.ours = self.on(Httpd(lab, name="ours", config=config + ours, load={"eeod": module("mod_eeod"), **pages}, **common), 0).start()
        self.clients = [*self.path.clients.prefix, "taskset", "-c", "1"]

    def on(self, server, core):
        server.on(self.path.server)
        server.prefix = (*server.prefix, "taskset", "-c", str(core))
        return server

    def stop(self):
        self.bare.stop()
        self.ours.stop()
        self.path.stop()

    def slice(self, server, url, seconds, clients):
        """(CPU seconds of the server, requests)"""
        before = server.cpu()
        result = Load(server.address, [dict(name="all", clients=clients, url=url)], seconds=seconds, realtime=False, prefix=self.clients).result()
        return server.cpu() - before, result["total"]["requests"]


def pair(pages, first, second, slices, seconds, clients=8):
    """Two (server, url) in turns; CPU seconds per request of each."""
    sums = [[0.0, 0], [0.0, 0]]
    for i in range(slices):
        for side in (0, 1) if i % 2 else (1, 0):
            cpu, requests = pages.slice(*(first, second)[side], seconds, clients)
            sums[side][0] += cpu
            sums[side][1] += requests
    return [cpu / requests for cpu, requests in sums]


def measure(bench):
    p = Pages(bench.lab)
    pairs, slices, seconds = (3, 4, 0.5) if bench.quick else (9, 8, 0.5)

    def ratio(name, url):
        runs = [pair(p, (p.bare, url), (p.ours, url), slices, seconds) for _ in range(pairs)]
        us = [statistics.median(side) * 1e6 for side in zip(*runs)]
        each = [b / a for a, b in runs]
        bench.say(f"{name}: {us[0]:.1f} us of CPU a request without the module, {us[1]:.1f} with it; {statistics.median(each):.3f} times, {min(each):.3f} to {max(each):.3f}")
        return statistics.median(each)
    bench.figure("cost_marked_cpu_ratio", ratio("3 marks, PHP-FPM", "/3.php"), "times", "<= 1.10")
    bench.figure("cost_unmarked_cpu_ratio", max(ratio("no mark, PHP-FPM", "/0.php"), ratio("no mark, file", "/0.html")), "times", "<= 1.01")
    runs = [pair(p, (p.ours, "/memory/0.html"), (p.ours, "/memory/43.html"), slices, seconds) for _ in range(pairs)]
    bench.figure("boundary_us", statistics.median((b - a) * 1e6 / 43 for a, b in runs), "us", "<= 3")
    bench.figure("cost_memory_ratio", ratio("3 marks, memory", "/memory/3.html"), "times")
    bench.figure("cost_memory_unmarked_ratio", ratio("no mark, memory", "/memory/0.html"), "times")
    bench.figure("cost_marked_file_ratio", ratio("3 marks, file", "/3.html"), "times")
    bench.figure("cost_file_ratio", ratio("10 MB", "/large.bin"), "times")
    p.stop()


FAMILIES = [(measure, ("cost_marked_cpu_ratio", "cost_unmarked_cpu_ratio", "boundary_us", "cost_memory_ratio", "cost_memory_unmarked_ratio",
                       "cost_marked_file_ratio", "cost_file_ratio"))]
