# SPDX-License-Identifier: BSD-2-Clause
"""
cost.py - CPU time of httpd (all its processes) per request, over loopback, alternating pairs, medians.

A page is at hand in memory, as a program's is that has made it; a file is one that httpd sends itself.  The kernel's work for each segment, the
receiving side's too, is in it: over loopback the sender does it.

    cost_marked_cpu_ratio     64 kB from memory with 3 marks / the same without the module
    cost_unmarked_cpu_ratio   64 kB from memory, and a file, without a mark, where the module looks for them / without the module; the larger of both
    boundary_us               43 marks more in 64 kB: microseconds a boundary
    cost_marked_file_ratio    a file of 64 kB with 3 marks / without the module, by sendfile; no goal
    cost_file_ratio           10 MB as one block (EeodFiles) / without the module, by sendfile; no goal
"""
import os
import statistics

from lab.httpd import Httpd
from lab.lab import module, program
from lab.load import Load

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
    """httpd with and without the module, and the pages of this family."""

    def __init__(self, lab):
        root = os.path.join(lab.dir, "cost")
        os.makedirs(root)
        os.chmod(root, 0o755)
        for marks in (0, 3, 43):
            write(f"{root}/{marks}.html", page(marks))
        write(f"{root}/large.bin", os.urandom(10_000_000))
        self.root = root
        config = f'Alias /memory {root}\n<Directory {root}>\nRequire all granted\nEnableSendfile On\n</Directory>\n<Location /memory>\nSetHandler lab-memory\n</Location>\n'
        ours = 'EeodEngine On\n<Location /large.bin>\nEeodFiles On\n</Location>\n'
        # One process: both servers run the same number of threads on the same cores.
        common = dict(children=1, threads=32, htdocs=root)
        pages = {"lab_pages": program("tests/lab/.libs/mod_pages.so")}
        self.bare = Httpd(lab, name="bare", config=config, load=pages, **common).start()
        self.ours = Httpd(lab, name="ours", config=config + ours, load={"eeod": module("mod_eeod"), **pages}, **common).start()


def slice_of(server, url, seconds, clients):
    before = server.cpu()
    result = Load(server.address, [dict(name="all", clients=clients, url=url)], seconds=seconds, realtime=False).result()
    return server.cpu() - before, result["total"]["requests"]


def pair(first, second, slices, seconds, clients=8):
    """Two (server, url) in turns; CPU seconds per request of each."""
    sums = [[0.0, 0], [0.0, 0]]
    for i in range(slices):
        for side in (0, 1) if i % 2 else (1, 0):
            cpu, requests = slice_of(*(first, second)[side], seconds, clients)
            sums[side][0] += cpu
            sums[side][1] += requests
    return [cpu / requests for cpu, requests in sums]


def measure(bench):
    p = Pages(bench.lab)
    pairs, slices, seconds = (5, 4, 0.5) if bench.quick else (9, 8, 0.5)

    def ratio(name, url):
        runs = [pair((p.bare, url), (p.ours, url), slices, seconds) for _ in range(pairs)]
        us = [statistics.median(side) * 1e6 for side in zip(*runs)]
        found = statistics.median(b / a for a, b in runs)
        bench.say(f"{name}: {us[0]:.1f} us of CPU a request without the module, {us[1]:.1f} with it; {found:.3f} times, {min(b / a for a, b in runs):.3f} to {max(b / a for a, b in runs):.3f}")
        return found
    bench.figure("cost_marked_cpu_ratio", ratio("3 marks, memory", "/memory/3.html"), "times", "<= 1.10")
    bench.figure("cost_unmarked_cpu_ratio", max(ratio("no mark, memory", "/memory/0.html"), ratio("no mark, file", "/0.html")), "times", "<= 1.01")
    runs = [pair((p.ours, "/memory/0.html"), (p.ours, "/memory/43.html"), slices, seconds) for _ in range(pairs)]
    bench.figure("boundary_us", statistics.median((b - a) * 1e6 / 43 for a, b in runs), "us", "<= 3")
    bench.figure("cost_marked_file_ratio", ratio("3 marks, file", "/3.html"), "times")
    bench.figure("cost_file_ratio", ratio("10 MB", "/large.bin"), "times")
    p.bare.stop()
    p.ours.stop()


FAMILIES = [(measure, ("cost_marked_cpu_ratio", "cost_unmarked_cpu_ratio", "boundary_us", "cost_marked_file_ratio", "cost_file_ratio"))]
