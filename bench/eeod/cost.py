# SPDX-License-Identifier: BSD-2-Clause
"""
cost.py - CPU time of httpd (all its processes) per request, on an unlimited path (lab/path.py).

Two servers at a time share the first core, each with 8 clients: what the machine does meanwhile meets both of them, which leaves a deviation of a pair of
1 % where one after the other has 5 %.  Before each pair both are started anew, since where their memory lies makes as much.  Everything else has the
second core: what the receiving side does for a packet must not be counted as the sender's, so the router's device hands packets to it (RPS), as a network
card hands them to a wire.  What the sender's kernel does when acknowledgements come is done there, too, and is in no figure.  Segmentation offload is on.

A page of 64 kB of tags, text and a comment every 2 kB comes from PHP-FPM, as most pages with marks do; from memory, as it would from a program within
httpd, the least that a page can cost; and from a file.

    cost_marked_cpu_ratio      3 marks, PHP-FPM / without the module
    cost_unmarked_cpu_ratio    no mark where the module looks for them, the larger of PHP-FPM and a file / without the module
    boundary_us                43 marks from memory / no mark: microseconds a boundary
    cost_memory_ratio, cost_memory_unmarked_ratio, cost_marked_file_ratio, cost_file_ratio (10 MB with EeodFiles): no goal, to be known
"""
import itertools
import os
import statistics

from lab.httpd import Httpd, PhpFpm
from lab.lab import module, program
from lab.load import Load
from lab.marks import CLOSE, OPEN
from lab.path import Path
from spread import Spread, worst

SIZE = 65536


LINE = b'<p class="item"><a href="/item/4711">Something to read, and where it leads</a></p>\n'
TEXT = (LINE * 24 + b"<!-- the next two dozen -->\n") * (SIZE // (24 * len(LINE)) + 1)


def page(marks):
    """64 kB, of which the marks stand at equal distances."""
    part = (SIZE - marks * len(CLOSE)) // (marks + 1)
    out = b""
    for i in range(marks):
        out += TEXT[len(out):len(out) + part] + (CLOSE if i % 2 else OPEN)
    return out + TEXT[len(out):SIZE]


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
        self.fpm = self.on(PhpFpm(lab), 1).start()
        config = f'Alias /memory {root}\n<Directory {root}>\nRequire all granted\nEnableSendfile On\n</Directory>\n<Location /memory>\nSetHandler lab-memory\n</Location>\n'
        location = '<Location /large.bin>\nEnableMMAP Off\n{}</Location>\n'        # in all, for it costs each request something
        common = dict(children=1, threads=32, htdocs=root, php=self.fpm.address)
        pages = {"lab_pages": program("tests/lab/.libs/mod_pages.so")}
        bare = dict(common, config=config + location.format(""), load=pages)
        ours = dict(common, config=config + "EeodEngine On\n" + location.format("EeodFiles On\n"), load={"eeod": module("mod_eeod"), **pages})
        self.bare = self.on(Httpd(lab, name="bare", **bare), 0)
        self.ours = self.on(Httpd(lab, name="ours", **ours), 0)
        self.other = self.on(Httpd(lab, name="other", **ours), 0)     # to compare two pages of ours
        self.clients = [*self.path.clients.prefix, "taskset", "-c", "1"]

    def on(self, server, core):
        server.on(self.path.server)
        server.prefix = (*server.prefix, "taskset", "-c", str(core))
        return server

    def pair(self, sides, seconds, clients=8):
        """Two (server, url) at once; CPU seconds per request of each."""
        try:
            for server, _ in sides:
                server.start()
            before = [server.cpu() for server, _ in sides]
            loads = [Load(server.address, [dict(name="all", clients=clients, url=url)], seconds=seconds, realtime=False, prefix=self.clients) for server, url in sides]
            requests = [load.result()["total"]["requests"] for load in loads]
            return [(server.cpu() - cpu) / n for (server, _), cpu, n in zip(sides, before, requests)]
        finally:
            for server, _ in sides:
                server.stop()

    def stop(self):
        self.fpm.stop()
        self.path.stop()


def of_ratio(runs):
    return Spread.of([b / a for a, b in runs])


def compare(bench, p, name, first, second, of, goal):
    """What `of` makes of the CPU seconds of a request on each side, pair by pair."""
    pairs, seconds = bench.size((16, 4), (4, 1.5))
    turn = itertools.count(1)
    runs, spread = bench.repeat(lambda: p.pair((first, second), seconds) if next(turn) % 2 == 0 else p.pair((second, first), seconds)[::-1], of, goal, least=pairs)
    medians = [1e6 * statistics.median(side) for side in zip(*runs)]
    bench.say(f"{name}: {medians[0]:.1f} and {medians[1]:.1f} us of CPU a request, {of_ratio(runs):.3f} times ({len(runs)} pairs)")
    return spread


def costs(bench, p):
    def ratio(name, url, goal=None):
        return compare(bench, p, f"{name}, without the module and with it", (p.bare, url), (p.ours, url), of_ratio, goal)

    bench.figure("cost_marked_cpu_ratio", ratio("3 marks, PHP-FPM", "/3.php", "<= 1.10"), "times", "<= 1.10")
    unmarked = [ratio("no mark, PHP-FPM", "/0.php", "<= 1.01"), ratio("no mark, file", "/0.html", "<= 1.01")]
    bench.figure("cost_unmarked_cpu_ratio", worst(unmarked, max), "times", "<= 1.01")
    bench.figure("boundary_us", compare(bench, p, "no mark and 43 marks, memory", (p.other, "/memory/0.html"), (p.ours, "/memory/43.html"),
                                        lambda runs: Spread.of([1e6 * (b - a) / 43 for a, b in runs]), "<= 3"), "us", "<= 3")
    bench.figure("cost_memory_ratio", ratio("3 marks, memory", "/memory/3.html"), "times")
    bench.figure("cost_memory_unmarked_ratio", ratio("no mark, memory", "/memory/0.html"), "times")
    bench.figure("cost_marked_file_ratio", ratio("3 marks, file", "/3.html"), "times")
    bench.figure("cost_file_ratio", ratio("10 MB", "/large.bin"), "times")


def measure(bench):
    p = Pages(bench.lab)
    try:
        costs(bench, p)
    finally:
        p.stop()


FAMILIES = [(measure, ("cost_marked_cpu_ratio", "cost_unmarked_cpu_ratio", "boundary_us", "cost_memory_ratio", "cost_memory_unmarked_ratio",
                       "cost_marked_file_ratio", "cost_file_ratio"))]
