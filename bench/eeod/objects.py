# SPDX-License-Identifier: BSD-2-Clause
"""
objects.py - Fig. 6 to 10 of the EEOD paper: how long a page takes whose unique parts stand between marks in it, and one whose unique parts are 8, 16 or 32
objects of their own, so that the rest can be cached as a whole.  No packet cache.

The content is the same: 64 kB, a tenth of it unique, and 14 images of 2 kB.  A visitor has one connection.  The link and the servers are not what limits
them (times at 30 pages/s are those at one), so the visitors of all pages come at once, each kind with a Squid of its own.  With pipelining at most eight requests are
unanswered at a time, as in the browsers that had it.  Squid, as its authors ship it, stands beside the visitors: it may keep the images, and the page when
its unique parts are objects; the marked page and those objects it may not.

    objects_32_ratio, objects_32_pipelined_ratio, objects_32_squid_ratio    32 objects / the marked page, at 100 ms; no goal
    objects_marked_ratio    the marked page / the same without mod_eeod, no pipelining, 100 ms: more segments may need a round trip more; no goal
"""
import json
import os
import re
import statistics
import subprocess
import sys

from lab.httpd import Httpd
from lab.lab import LabError, module
from lab.marks import CLOSE, OPEN
from lab.path import Path
from lab.squid import Squid, stock

HERE = os.path.dirname(os.path.abspath(__file__))
SIZE, UNIQUE, IMAGES, IMAGE = 65536, 6560, 14, 2048
OBJECTS = (8, 16, 32)
RATES, RTTS = (1, 5, 10, 20, 30), (10, 50, 100, 200, 400)
RATE, RTT, DEPTH = 10, 100, 8

# Figure: (what varies, pipelining, Squid)
FIGURES = {6: ("rate", False, False), 7: ("rtt", True, False), 8: ("rtt", False, False), 9: ("rate", False, True), 10: ("rtt", False, True)}

CONFIG = """
<Location /unique>
EeodEngine On
Header set Cache-Control no-store
</Location>
<Location /unmarked>
Header set Cache-Control no-store
</Location>
<Location /eeod-status>
SetHandler eeod-status
</Location>
<Location /shared>
Header set Cache-Control max-age=3600
</Location>
"""


def write(root, name, data):
    path = os.path.join(root, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(data)
    os.utime(path, (0, 0))
    return f"/{name}"


def content(root):
    """{contender: URLs of its page}; all have the same bytes to show."""
    images = [write(root, f"shared/{i}.gif", os.urandom(IMAGE)) for i in range(IMAGES)]
    blocks = OBJECTS[-1]
    one = (b"s" * ((SIZE - UNIQUE) // blocks) + OPEN + b"U" * (UNIQUE // blocks) + CLOSE) * blocks
    pages = {"marked": [write(root, "unique/page.html", one), *images], "unmarked": [write(root, "unmarked/page.html", one), *images]}
    for n in OBJECTS:
        page = write(root, f"shared/page-{n}.html", b"s" * (SIZE - UNIQUE))
        pages[str(n)] = [page, *images, *(write(root, f"unmarked/{n}/{i}.html", b"U" * (UNIQUE // n)) for i in range(n))]
    return pages


class Site:
    """A server with all pages at the far end of a path, and a Squid for each of them at the near end if wanted."""

    def __init__(self, lab, root, rtt, pages, squid):
        self.pages = pages
        self.path = Path(lab, rate=None, rtt=rtt).start()
        self.httpd = Httpd(lab, threads=75, children=4, htdocs=root, config=CONFIG, load={"eeod": module("mod_eeod")}).on(self.path.server).start()
        self.squids = {}
        for i, contender in enumerate(pages if squid else ()):
            s = self.squids[contender] = Squid(lab, stock(), cache=True).on(self.path.clients)
            s.port += i
            s.start()

    def read(self, depth, rate, seconds):
        """{contender: milliseconds of each of its pages}."""
        readers = {}
        base = self.httpd.url if self.squids else ""
        for seed, (contender, urls) in enumerate(self.pages.items()):
            argv = [*self.path.clients.prefix, sys.executable, os.path.join(HERE, "reader.py"), self.squids.get(contender, self.httpd).address]
            r = readers[contender] = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            json.dump(dict(urls=[base + u for u in urls], host=self.httpd.address, depth=depth, rate=rate, seconds=seconds, seed=seed), r.stdin)
            r.stdin.close()
        times = {contender: r.stdout.read() for contender, r in readers.items()}
        if any([r.wait() for r in readers.values()]):
            raise LabError("reader.py failed; see what it said")
        return {contender: json.loads(text) for contender, text in times.items()}

    def assert_as_meant(self, read):
        """Every marked page went out in blocks, and what Squid may keep it had."""
        status = json.loads(self.path.clients.run("curl", "-sf", f"{self.httpd.url}/eeod-status?json"))
        if status["responses"] != read["marked"] or status["missed"]:
            raise LabError(f"of {read['marked']} marked pages {status['responses']} went out in blocks, and {status['missed']} boundaries were missed")
        for contender, squid in self.squids.items():
            hits = int(re.search(r"client_http.hits = (\d+)", squid.manager("counters"))[1])
            kept = IMAGES + (contender in map(str, OBJECTS))
            if not 0.9 * kept * (read[contender] - 1) <= hits <= kept * read[contender]:
                raise LabError(f"{contender}: {hits} hits of {read[contender]} pages with {kept} objects that may be kept")

    def stop(self):
        for server in (*self.squids.values(), self.httpd, self.path):
            server.stop()


def measure(bench):
    root = os.path.join(bench.lab.dir, "objects")
    os.makedirs(root)
    os.chmod(root, 0o755)
    pages = content(root)
    seconds = bench.size(15, 3)
    out = bench.data["objects"] = {}
    mean = {}
    for number, (varied, pipelined, squid) in FIGURES.items():
        values = {"rate": RATES, "rtt": RTTS}[varied]
        for value in values[2:3] if bench.quick else values:
            rate, rtt = (value, RTT) if varied == "rate" else (RATE, value)
            site = Site(bench.lab, root, rtt, pages, squid)
            try:
                if squid:
                    site.read(1, 1, 0.01)     # one page each, so that Squid has what it may keep
                times = site.read(DEPTH if pipelined else 1, rate, seconds)
                site.assert_as_meant({contender: len(ms) + bool(squid) for contender, ms in times.items()})
            finally:
                site.stop()
            for contender, ms in times.items():
                mean[number, value, contender] = statistics.mean(ms)
                out.setdefault(str(number), {}).setdefault(contender, {})[str(value)] = [statistics.mean(ms), len(ms)]
            row = ", ".join(f"{c} {mean[number, value, c]:.0f}" for c in pages)
            bench.say(f"Fig. {number}: {rate} pages/s, {rtt} ms{', pipelining' if pipelined else ''}{', Squid' if squid else ''}: {row} ms")
    for name, number in (("objects_32_ratio", 8), ("objects_32_pipelined_ratio", 7), ("objects_32_squid_ratio", 10)):
        bench.figure(name, mean[number, RTT, "32"] / mean[number, RTT, "marked"], "times")
    bench.figure("objects_marked_ratio", mean[8, RTT, "marked"] / mean[8, RTT, "unmarked"], "times")


FAMILIES = [(measure, ("objects_32_ratio", "objects_32_pipelined_ratio", "objects_32_squid_ratio", "objects_marked_ratio"))]
