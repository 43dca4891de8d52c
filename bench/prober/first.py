# SPDX-License-Identifier: BSD-2-Clause
"""
first.py - the first 5,000 requests to a cold gateway, pages of mixed sizes that hardly anybody asks for twice: the shares, with the table and
without it.

    first_access_share_error    points; the median of several cold starts

30 closed-loop clients a class, 6:3:1, window 8; bytes at the clients, headers included, until 5,000 answers have come.
"""
import statistics
import subprocess

import probing
from lab import site
from lab.httpd import Httpd, Nginx
from lab.lab import module
from lab.load import load
from setting import IDEAL, classes, qos
from spread import Spread

REQUESTS = 5000


def first_requests(result):
    """Bytes of each class until so many requests had been answered."""
    got, requests = {c: 0 for c in IDEAL}, 0
    for line in result["intervals"]:
        for name, c in line["classes"].items():
            got[name] += c["bytes"]
        requests += sum(c["requests"] for c in line["classes"].values())
        if requests >= REQUESTS:
            break
    return got, requests


def error_of(got):
    return max(abs(100 * got[c] / sum(got.values()) - IDEAL[c]) for c in IDEAL)


def measure(bench):
    made = site.generate(bench.lab.dir + "/mixed", pages=20000, seed=3)
    with open(made["htdocs"] + "/sitemap.xml", "w", encoding="ascii") as f, open(made["urls"]["mix"], encoding="ascii") as urls:
        f.write("<urlset>" + "".join(f"<url><loc>{u.strip()}</loc></url>" for u in urls) + "</urlset>")
    subprocess.run(["chmod", "-R", "a+rX", made["htdocs"]], check=True)
    backend = Nginx(bench.lab, name="mixed", htdocs=made["htdocs"], http="types { text/xml xml; }").start()
    table = bench.lab.dir + "/mixed.pages"
    took = probing.probe(table, backend.url + "/", sitemap="/sitemap.xml", connections=16, ignore_robots=True)
    bench.say(f"{len(probing.rows(table, backend.url))} pages probed in {took:.1f} s")
    errors = {"with the table": [], "without": []}
    for i in range(bench.size(7, 3)):
        for name, more in (("with the table", f"QosPageTable {table}\n"), ("without", "")):
            # Cold: nothing is learnt but from these requests.
            gateway = Httpd(bench.lab, name=f"cold-{i}-{'on' if more else 'off'}", proxy=backend.url, threads=75, load={"qos_drr": module()},
                            config=qos(8, True, more)).start()
            result = load(gateway.address, classes(urls=made["urls"]["mix"]), 4, interval=0.05, seed=i + 1)
            got, requests = first_requests(result)
            errors[name].append(error_of(got))
            bench.say(f"{name}: {requests} requests, {' : '.join(f'{100 * got[c] / sum(got.values()):.2f}' for c in IDEAL)}")
            gateway.stop()
    for name, values in errors.items():
        bench.say(f"{name}: {statistics.median(values):.2f} points off in the median, {max(values):.2f} at worst")
    bench.figure("first_access_share_error", Spread.of(errors["with the table"]), "points", "<= 1.0")
    backend.stop()


FAMILIES = [(measure, ("first_access_share_error",))]
