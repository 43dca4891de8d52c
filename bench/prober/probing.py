# SPDX-License-Identifier: BSD-2-Clause
"""probing.py - what the measurements have in common: a server that writes down what it sent, the prober, and what its table holds."""
import collections
import http.client
import os
import subprocess
import time

from lab.httpd import Nginx
from lab.lab import LabError, program, wait_for

LOG = "log_format sent '$request_method $status $bytes_sent $request_uri'; types { text/css css; image/png png; }"
Sent = collections.namedtuple("Sent", "requests bytes urls")    # urls: paths that were answered 200 (or 304)


def logging_server(bench, name, htdocs=None, server="", **words):
    """nginx with an access log that sent() reads: one for each measurement."""
    s = Nginx(bench.lab, name=name, htdocs=htdocs, http=LOG, **words)
    s.server_text = f"access_log {s.path('sent.log')} sent; {server}"
    return s.start()


def sent(server):
    """What it sent so far, headers included."""
    requests = total = 0
    urls = set()
    with open(server.path("sent.log"), encoding="utf-8", errors="replace") as log:
        for line in log:
            _, status, count, uri = line.rstrip("\n").split(" ", 3)
            requests += 1
            total += int(count)
            if status in ("200", "304"):
                urls.add(uri)
    return Sent(requests, total, urls)


def command(table, *urls, **options):
    """A walk as fast as it goes; options: max_pages=3, exclude=["/a"], ignore_robots=True."""
    words = [program("prober/fairgate-prober"), "crawl", *(["--user", "root"] if os.geteuid() == 0 else []), "--quiet", "--rate", "0", "--table", table, "--log", table + ".log"]
    for name, value in options.items():
        for item in value if isinstance(value, (list, tuple)) else [value]:
            words += [f"--{name.replace('_', '-')}"] + ([] if item is True else [str(item)])
    return [*words, *urls]


def probe(table, *urls, **options):
    """Seconds that the walk took."""
    words = command(table, *urls, **options)
    begun = time.monotonic()
    r = subprocess.run(words, capture_output=True, text=True)
    took = time.monotonic() - begun
    if r.returncode not in (0, 3):
        raise LabError(f"fairgate-prober ended with {r.returncode}: {r.stdout}{r.stderr}")
    return took


def rows(table, origin):
    """{path: bytes of the body}"""
    text = subprocess.run([program("prober/fairgate-prober"), "export", table], capture_output=True, text=True, check=True).stdout
    found = {}
    for line in text.splitlines()[1:]:
        url, body, rest = line.split("\t", 2)
        if url.startswith(origin + "/") and body != "-":
            found[url[len(origin):]] = int(body)
    return found


def real_sizes(address, paths):
    """{path: bytes of the body} of real GETs over one connection."""
    sizes = {}
    c = http.client.HTTPConnection(address)
    for path in paths:
        c.request("GET", path)
        r = c.getresponse()
        sizes[path] = len(r.read()) if r.status == 200 else None
    c.close()
    return sizes


def settled_log(server):
    """nginx writes each line at once; the last may still be on its way."""
    path, seen = server.path("sent.log"), [-1]

    def quiet():
        before, seen[0] = seen[0], os.path.getsize(path)
        return before == seen[0]
    wait_for(quiet, 5, "the log's end")
