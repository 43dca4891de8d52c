# SPDX-License-Identifier: BSD-2-Clause
"""
rival.py - the same cases at this gateway and at its nearest rival in the same run, in turn: Caddy with a module for fair admission (caddy.py).

Both have a window of 8 at the same backend.  Ours has the policy that is shipped, etc/examples/policy.xml, and what is the default beside it; the rival is told what its manual advises,
and of its limit on the expected wait (10 s in its example, or none) what is better for it in the case: with 4 s pages the example's limit refuses people who are signed in as well.
Both can verify who is signed in: ours by its cookie, the rival by a bearer token.  Each figure is ours / the rival's, so that 1 is as good: of pages/s more is better, of times less.
The values themselves are in lines that begin with #.

    rival_members_400ms, rival_members_4s       pages/s of eight people who are signed in, take 100 ms pages and read for 0.4 s, beside 80 crawler connections of ten networks
    rival_anonymous_400ms, rival_anonymous_4s   the same people, of eight networks and not signed in
    rival_members_slow_reads                    the same, signed in, beside 30 crawlers who read PHP downloads of 20 MB at 200 KB/s from 20 workers of PHP-FPM
    rival_swarm_members_p95                     members' 95 % beside the swarm of swarm.py (less is better)
    rival_swarm_first_page                      of new visitors, how many have their first page with all of its assets within 3 s there
    rival_step_p95                              people's 95 % after demand has stepped to 1.4 times the capacity (less is better)
    rival_reload_failed                         failed requests of ours in reloads under load, less those of the rival
"""
import time

import swarm
from caddy import Caddy, Tokens, binary
from setting import WINDOW, clients, ok_per_s
from spread import Spread

from lab.httpd import Nginx, PhpFpm
from lab.lab import Origin
from lab.load import Load, errors

PAGES = ("members_400ms", "members_4s", "anonymous_400ms", "anonymous_4s")
PEOPLE = 8
BIG = 20_000_000
DOWNLOAD = f"<?php header('Content-Length: {BIG}'); for ($i = 0; $i < {BIG} / 10000; $i++) echo str_repeat('x', 10000);\n"
STEP_MS = 100
CAPACITY = WINDOW * 1000 / STEP_MS


def ours(bench, origin):
    return swarm.gateway(bench, origin)


def member(server, tokens, number):
    """What says that a client is signed in, at either server."""
    return tokens.member(number) if isinstance(server, Caddy) else swarm.member_cookie(server.address.rsplit(":", 1)[0])


def people(server, tokens, signed_in, url="/size/4096?delay=100"):
    agent = f"User-Agent: {swarm.AGENTS[0]}"
    return [clients(f"people{i}", 1, url=url, source=f"127.10.{i}.1", think=400, retry=1000, header=[agent] + ([member(server, tokens, i)] if signed_in else []))
            for i in range(PEOPLE)]


def pages_per_s(result):
    return sum(ok_per_s(result, name) for name in result["classes"] if name.startswith("people"))


def crawlers(ms):
    """They say nothing of themselves."""
    return [clients(f"crawl{i}", 8, url=f"/size/8192?delay={ms}&n={{n}}", source=f"127.20.{i}.1", retry=1000, header=[f"User-Agent: {swarm.AGENTS[1]}"]) for i in range(10)]


def both(bench, origin, tokens, measure, patience=0):
    """(what measure(server) finds of ours, of the rival's)"""
    found = []
    for server in (ours(bench, origin), Caddy(bench.lab, origin.url, tokens, WINDOW, patience)):
        with server:
            found.append(measure(server))
    return found


def ratio(a, b):
    return a / b if b else 1.0 if not a else 1000.0


def ratios(bench, name, unit, goal, sample):
    """sample(): (ours, the rival's); its ratio is repeated."""
    found, spread = bench.repeat(sample, lambda rows: Spread.of([ratio(a, b) for a, b in rows]), goal, least=bench.size(3, 1))
    bench.say(f"{name}: ours {sorted(a for a, _ in found)[len(found) // 2]:.2f}, the rival's {sorted(b for _, b in found)[len(found) // 2]:.2f} {unit}")
    bench.figure(f"rival_{name}", spread, "times", goal)


def measured(measure):
    """Only where there is a rival."""
    def run(bench):
        if not binary():
            bench.say("the rival is not measured: $FAIRGATE_CADDY names no caddy that has its module")
            return
        with Tokens() as tokens:
            measure(bench, tokens)
    run.__name__ = measure.__name__
    return run


@measured
def measure_pages(bench, tokens):
    origin = bench.once("rival-origin", lambda: Origin(bench.lab, name="rival-origin", workers=WINDOW).start())
    for name in PAGES:
        who, _, long = name.partition("_")
        ms = 400 if long == "400ms" else 4000

        def one(server, who=who, ms=ms):
            return pages_per_s(bench.seen(server, people(server, tokens, who == "members") + crawlers(ms), bench.size(30, 8), bench.size(10, 5)))
        ratios(bench, name, "pages/s", ">= 1", lambda one=one: both(bench, origin, tokens, one))


@measured
def measure_slow_reads(bench, tokens):
    root = bench.pages()
    with open(f"{root}/download.php", "w") as f:
        f.write(DOWNLOAD)
    fpm = PhpFpm(bench.lab, name="php-downloads", workers=20)
    server = Nginx(bench.lab, name="nginx-downloads", htdocs=root, php=fpm.address, server="fastcgi_buffering off;")

    def one(gateway):
        readers = [clients(f"reader{i}", 3, url="/download.php?{n}", source=f"127.20.{i}.1", rate=200_000, retry=1000) for i in range(10)]
        return pages_per_s(bench.seen(gateway, people(gateway, tokens, True, "/burn.php?us=20000&n=4096") + readers, bench.size(20, 8), bench.size(8, 4)))
    with fpm, server:
        ratios(bench, "members_slow_reads", "pages/s", ">= 1", lambda: both(bench, server, tokens, one))


@measured
def measure_swarm(bench, tokens):
    origin = swarm.origin_of(bench)
    found = []
    for _ in range(bench.size(3, 1)):
        found.append(both(bench, origin, tokens, lambda server: swarm.measure_server(server, origin, bench.size(20, 6), bench.size(4, 3), bench.size(15, 5),
                                                                                     member=lambda host, i, server=server: member(server, tokens, i)), patience=10))
        for name, seen in zip(("ours", "the rival"), found[-1]):
            swarm.tell(bench, f"{name}, beside the swarm", seen)
    bench.figure("rival_swarm_members_p95", Spread.of([a.member_p95 / b.member_p95 for a, b in found]), "times", "<= 1")
    bench.figure("rival_swarm_first_page", Spread.of([a.within(3) / max(b.within(3), 0.01) for a, b in found]), "times", ">= 1")


@measured
def measure_step(bench, tokens):
    """Two thirds of them are signed in."""
    origin = bench.once("rival-origin", lambda: Origin(bench.lab, name="rival-origin", workers=WINDOW).start())
    seconds = bench.size(10, 5)

    def load(server, part, first):
        kinds = [(f"people{first + i}", [member(server, tokens, i)]) for i in range(2)] + [(f"people{first + 2}", [])]
        return [clients(name, 300, url=f"/size/2000?delay={STEP_MS}", arrivals=part * CAPACITY / 3, source=f"127.{30 + i}.0.0/16", close=True, abort=10_000, retry=0, header=header)
                for i, (name, header) in enumerate(kinds)]

    def one(server):
        with Load(server.address, load(server, 0.7, 0), seconds + 5, warmup=5) as before:
            time.sleep(5)
            with Load(server.address, load(server, 0.7, 3), seconds) as more:
                result = more.result()
            before.stop()
            before.result()
        classes = result["classes"].values()
        bench.say(f"{server.name}: {[c['status'] for c in classes]}, {errors(result)} gave up")
        return max(c["latency_ms"]["p95"] if c["status"].get("200") else 1000 * seconds for c in classes)
    ratios(bench, "step_p95", "ms", "<= 1", lambda: both(bench, origin, tokens, one, patience=10))


@measured
def measure_reload(bench, tokens):
    origin = bench.once("rival-origin", lambda: Origin(bench.lab, name="rival-origin", workers=WINDOW).start())
    restarts = bench.size(20, 5)

    def one(server):
        origin.stat(reset=True)
        with Load(server.address, [clients("people", 40, url="/size/5000?delay=20")], restarts * 20 + 20) as run:
            for _ in range(restarts):
                if isinstance(server, Caddy):
                    server.reload()
                else:
                    server.graceful()
                time.sleep(0.7)
            run.stop()
            result = run.result()
        failed = errors(result) + sum(n for code, n in result["total"]["status"].items() if int(code) >= 400)
        most = origin.stat()["max"]
        bench.say(f"{server.name}: {restarts} reloads, {result['total']['requests']} requests, {failed} failed, at most {most} at the backend")
        return failed
    a, b = both(bench, origin, tokens, one)
    bench.figure("rival_reload_failed", a - b, "requests", "<= 0")


FAMILIES = [
    (measure_pages, tuple(f"rival_{name}" for name in PAGES)),
    (measure_slow_reads, ("rival_members_slow_reads",)),
    (measure_swarm, ("rival_swarm_members_p95", "rival_swarm_first_page")),
    (measure_step, ("rival_step_p95",)),
    (measure_reload, ("rival_reload_failed",)),
]
