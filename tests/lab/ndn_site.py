# SPDX-License-Identifier: BSD-2-Clause
"""
ndn_site.py - the three sites of the IDSRS paper (its 5.2.1) as pages of httpd with mod_ccn, and the names that their clients ask for.

    with PageSite(lab, prefix="/site", making_ms=20, settings="CcnScheduler idsrs\\nCcnThreads 2").on(path.server) as site:
        forwarder.route("/site", site.uri)
        ndn_load(lab, forwarder.host, site.asked_for("taobao"), load="spike", clients=300, spread=0.2)

The sizes of pages are those of tests/sim/sim_sites.h: 12306 has one URL, about 15 segments of 4 KB; Taobao in 70 of 100 an article, about 15, else a search, about 120; Baidu 200
words, each a URL, the more popular the larger.  Each request has a number of its own, so that no forwarder joins it with another's: that stands in the query, and what a server learns
of a URL it learns of the URL without it.  Numbers that are equal but for a multiple of 100,000 take as long to make, so that servers can be compared by the same requests without one
of them having met these.
"""
import os
import statistics

from .httpd import Httpd, PhpFpm
from .lab import free_port, module
from .ndn_load import name_of, pinned

SEGMENT = 4096
SITES = ("12306", "taobao", "baidu")
WORDS, POPULARITY = 200, 0.35
LINE = b"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde\n"

PAGE = """<?php
// s segments of 4096 bytes; as long in the making as the last digits of c, the request's number, say: exponential, of the mean that the pool's environment has.  It sleeps, as one
// does that waits for a database.
$mean = (float)getenv('MAKING_MS');
if ($mean > 0) usleep((int)(-1000 * $mean * log(1 - crc32('making ' . (int)($_GET['c'] ?? 0) % 100000) / 4294967296)));
header('Content-Type: text/plain');
header('Cache-Control: max-age=1');
echo str_repeat("0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde\\n", 64 * max(1, min((int)($_GET['s'] ?? 1), 4000)));
"""


def about(mean, deviation):
    """[(probability, segments)] of a normal number of segments, at least one."""
    normal = statistics.NormalDist(mean, deviation)
    low, high = max(1, int(mean - 5 * deviation)), int(mean + 5 * deviation) + 1
    found = [(normal.cdf(n + 0.5) - (normal.cdf(n - 0.5) if n > low else 0), n) for n in range(low, high + 1)]
    return [(p, n) for p, n in found if p > 0]


def word_mean(rank):
    return 90 - 85 * (rank + 0.5) / WORDS


def pages(site):
    """[(probability, kind, script, segments)]"""
    if site == "12306":
        return [(p, "small", "ticket.php", n) for p, n in about(15, 2.25)]
    if site == "taobao":
        return [(0.7 * p, "small", "item.php", n) for p, n in about(15, 3)] + [(0.3 * p, "large", "search.php", n) for p, n in about(120, 10)]
    bounds = [(k / WORDS) ** (1 - POPULARITY) for k in range(WORDS + 1)]
    return [((bounds[k + 1] - bounds[k]) * p, "large" if word_mean(k) >= 50 else "small", f"word{k:03d}.php", n)
            for k in range(WORDS) for p, n in about(word_mean(k), word_mean(k) * 0.15)]


class CcnSite(Httpd):
    """httpd with mod_ccn; its pages have the names below prefix.  settings: lines for the whole server; core: the one that it may use."""

    name = "site"

    def __init__(self, lab, prefix, settings="", core=None, **options):
        self.names_below, self.settings, self.core = prefix, settings, core
        self.ndn_port = free_port()
        super().__init__(lab, htdocs=os.path.join(lab.dir, f"docs-{self.ndn_port}"), load={"ccn": module("mod_ccn")}, children=1, **options)

    def write_pages(self):
        raise NotImplementedError

    def name_of(self, script, segments):
        raise NotImplementedError

    def put(self, path, content):
        path = os.path.join(self.htdocs, path)
        with open(path, "wb") as f:
            f.write(content)
        os.chmod(path, 0o644)

    def configure(self):
        os.makedirs(self.htdocs, exist_ok=True)
        os.chmod(self.htdocs, 0o755)
        self.write_pages()
        self.config = f"""{self.settings}
Listen {self.host}:{self.ndn_port}
<VirtualHost *:{self.ndn_port}>
ServerName site.example
CcnEngine On
CcnMap {self.names_below} /
</VirtualHost>
"""
        super().configure()

    def start(self, seconds=20):
        self.prefix = (*self.prefix, *pinned(self.core))
        return super().start(seconds)

    @property
    def ndn_address(self):
        return f"{self.host}:{self.ndn_port}"

    @property
    def uri(self):
        return f"tcp4://{self.ndn_address}"

    def asked_for(self, site):
        """What fairgate-ndn-load wants of names."""
        return [(p, kind, self.name_of(script, n)) for p, kind, script, n in pages(site)]

    def of_size(self, segments):
        """The name of a page of so many."""
        return self.name_of("page.php", segments)


class FileSite(CcnSite):
    """Pages that are files, of these numbers of segments: as little as a page can take to make."""

    def __init__(self, lab, prefix, sizes, **options):
        self.sizes = sizes
        super().__init__(lab, prefix, **options)

    def write_pages(self):
        for n in self.sizes:
            self.put(str(n), LINE * (SEGMENT // len(LINE) * n))

    def name_of(self, script, segments):
        return name_of(self.names_below, f"{segments}?c={{n}}")


class PageSite(CcnSite):
    """Pages by a PHP-FPM of its own.  making_ms: mean time in which a page is made, of which next to none is CPU; workers: of PHP."""

    def __init__(self, lab, prefix, making_ms=0, workers=8, **options):
        self.fpm = PhpFpm(lab, workers=workers, pool=[f"env[MAKING_MS] = {making_ms}"])
        super().__init__(lab, prefix, php=self.fpm.address, **options)

    def on(self, host):
        self.fpm.on(host)
        self.php = self.fpm.address
        return super().on(host)

    def write_pages(self):
        for script in sorted({script for site in SITES for _, _, script, _ in pages(site)} | {"page.php"}):
            self.put(script, PAGE.encode())

    def name_of(self, script, segments):
        return name_of(self.names_below, f"{script}?s={segments}&c={{n}}")

    def start(self, seconds=20):
        self.fpm.start()
        return super().start(seconds)

    def stop(self, seconds=10):
        super().stop(seconds)
        self.fpm.stop(seconds)
