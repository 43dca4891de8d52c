# SPDX-License-Identifier: BSD-2-Clause
"""
ways.py - 6:3:1 over each way in: HTTP/2 with TLS and without, HTTP/1.1 with TLS; in the event, worker and prefork MPMs.  Clients are h2load: ten connections a class, with ten streams
each over HTTP/2; pages of 20 KB that take 20 ms.

    h2_share_error          points; worst class over HTTP/2, with TLS and in the clear, event and worker
    tls_share_error         the same over HTTP/1.1 with TLS, event, worker and prefork
    mixed_share_error       people come over HTTP/1.1, search engines over HTTP/2, crawlers over both
"""
import os
import re
import subprocess

from spread import Spread, worst

WEIGHTS = {"people": 6, "search": 3, "crawlers": 1}
DUE = {c: 10.0 * w for c, w in WEIGHTS.items()}


def certificate(bench):
    def make():
        files = [os.path.join(bench.lab.dir, name) for name in ("cert.pem", "key.pem")]
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost", "-out", files[0], "-keyout", files[1]], check=True,
                       capture_output=True)
        return files
    return bench.once("certificate", make)


def h2load(url, name, seconds, connections, streams, h1=False):
    return subprocess.Popen(["h2load", *(["--h1"] if h1 else []), "-D", str(seconds), "--warm-up-time", "1", "-c", str(connections), "-m", str(streams), "-H", f"X-Class: {name}", url],
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def answers(process):
    """How many with 200 there were, and a remark if there were others."""
    text = process.communicate()[0]
    ok = re.search(r"status codes: (\d+) 2xx, (\d+) 3xx, (\d+) 4xx, (\d+) 5xx", text)
    return int(ok.group(1)) if ok else 0


def error(bench, mpm, tls, plan):
    """plan: [(class, over HTTP/1.1?)].  Points of the worst class, by answers of equal size."""
    seconds = bench.size(8, 2)
    options = dict(mpm=mpm, modules=(("ssl",) if tls else ()) + (("http2",) if mpm != "prefork" else ()), tls=certificate(bench) if tls else None)
    # The prefork MPM has a process for each connection.
    options.update(dict(children=80, spare=20) if mpm == "prefork" else dict(children=2, threads=75))
    with bench.gateway(bench.origin(), WEIGHTS, more="" if mpm == "prefork" else "Protocols h2 h2c http/1.1\n", **options) as g:
        url = f"{'https' if tls else 'http'}://{g.address}/size/20000?delay=20"
        running = [(c, h2load(url, c, seconds, 15 if h1 else 10, 1 if h1 else 10, h1)) for c, h1 in plan]
        had = dict.fromkeys(WEIGHTS, 0)
        for c, process in running:
            had[c] += answers(process)
    total = sum(had.values()) or 1
    parts = {c: 100 * n / total for c, n in had.items()}
    bench.say(f"{mpm}, {'TLS' if tls else 'clear'}, {'HTTP/1.1' if plan[0][1] else 'HTTP/2'}: " + ", ".join(f"{c} {p:.1f} %" for c, p in parts.items()) + f" of {total / seconds:.0f} answers/s")
    return max(abs(parts[c] - DUE[c]) for c in DUE)


def spread(bench, *words):
    return bench.repeat(lambda: error(bench, *words), Spread.of, "<= 2.0", least=bench.size(2, 1))[1]


def measure(bench):
    h2, h1 = [(c, False) for c in WEIGHTS], [(c, True) for c in WEIGHTS]
    mixed = [("people", True), ("search", False), ("crawlers", True), ("crawlers", False)]
    bench.figure("h2_share_error", worst([spread(bench, mpm, tls, h2) for mpm, tls in (("event", True), ("event", False), ("worker", True))], max), "points", "<= 2.0")
    bench.figure("tls_share_error", worst([spread(bench, mpm, True, h1) for mpm in ("event", "worker", "prefork")], max), "points", "<= 2.0")
    bench.figure("mixed_share_error", worst([spread(bench, mpm, True, mixed) for mpm in ("event", "worker")], max), "points", "<= 2.0")


FAMILIES = [(measure, ("h2_share_error", "tls_share_error", "mixed_share_error"))]
