# SPDX-License-Identifier: BSD-2-Clause
"""
installed.py - what the package does as installed, after QosEngine On: a step of demand, pages of seconds, long polls.

The policy is the package's, or where visitors are signed in that of etc/examples.  QosWindow is auto, as installed; figures that end in "_window" have the backend's number of workers.

    step_installed_p95          people's p95 in the ten seconds after demand has stepped from 0.7 to 1.4 times the capacity, from ten networks
    step_installed_served       pages that were served in them / what the backend can do
    people_with_crawlers_members, people_with_crawlers_anonymous, people_with_crawlers_package
                                eight people with pages of 100 ms and pauses of 400 ms, beside 80 crawler connections from ten networks with pages of 4 s under a browser's name: people's pages /
                                theirs without crawlers.  Signed in and anonymous with the policy of etc/examples; anonymous with the package's
    people_with_crawlers_used   time in which the backend's eight workers worked beside crawlers / all of it; the smallest of the three
    long_polls_p95              eight people beside 40 long polls of 20 s and ten calls of one PHP session, from their first request on: people's p95 in a minute / that without the module
                                and without these
    long_polls_p95_first        the same of the first 15 s
"""
import os
import statistics

import swarm
from lab.httpd import Httpd, PhpFpm
from lab.lab import Origin
from lab.load import Load, errors
from lab.packaged import Packaged
from setting import WINDOW, clients, ok_per_s
from spread import Spread

POLICY = os.path.join(swarm.ROOT, "etc", "examples", "policy.xml")
BROWSER = f"User-Agent: {swarm.AGENTS[0]}"


# ---- a step

STEP_WORKERS, STEP_MS = 16, 40
CAPACITY = STEP_WORKERS * 1000 / STEP_MS


def step(bench, more):
    def people(part):
        return [clients(f"people{i}", 100, url="/size/2000", arrivals=part * CAPACITY / 10, source=f"127.0.{10 + i}.1", header=[BROWSER], retry=0) for i in range(10)]
    seconds = bench.size(10, 5)
    origin = bench.once("step-origin", lambda: Origin(bench.lab, name="step-origin", workers=STEP_WORKERS, delay_ms=STEP_MS).start())
    with Packaged(bench.lab, proxy=origin.url, more=more) as g:
        with Load(g.address, people(0.7), bench.size(20, 8)) as before:
            before.result()
        origin.stat(reset=True)
        with Load(g.address, people(1.4), seconds) as after:
            result = after.result()
    had, served = result["total"], ok_per_s({**result, "classes": {"total": result["total"]}}, "total") / CAPACITY
    bench.say(f"{more.strip() or 'auto'}: {had['status']}, {errors(result)} errors, mean {had['latency_ms']['mean']:.0f} ms, p95 {had['latency_ms']['p95']:.0f} ms, {served:.2f} of the capacity, "
              f"at most {origin.stat()['max']} at the backend")
    return had["latency_ms"]["p95"] if had["status"].get("200") else 1000.0 * seconds, served


def measure_step(bench):
    for more, name in (("", ""), (f"QosWindow {STEP_WORKERS}\n", "_window")):
        found, spread = bench.repeat(lambda more=more: step(bench, more), lambda rows: Spread.of([p95 for p95, _ in rows]), "<= 1000", least=bench.size(3, 1))
        bench.figure(f"step_installed_p95{name}", spread, "ms", "<= 1000")
        bench.figure(f"step_installed_served{name}", Spread.of([served for _, served in found]), "of the capacity", ">= 0.9")


# ---- people beside crawlers with pages of seconds

CASES = ("members", "anonymous", "package")


def people_of(case, g, url="/size/4096?delay=100"):
    proof = [swarm.member_cookie(g.address.rsplit(":", 1)[0])] if case == "members" else []
    return [clients(f"people{i}", 1, url=url, source=f"127.10.{i}.1", think=400, retry=1000, header=[BROWSER, *proof]) for i in range(8)]


def pages_per_s(result):
    return sum(ok_per_s(result, f"people{i}") for i in range(8))


def with_crawlers(bench, case, more):
    """(people's pages beside crawlers / without, the backend's time that was used beside crawlers)"""
    origin = bench.once("people-origin", lambda: Origin(bench.lab, name="people-origin", workers=WINDOW).start())
    if case != "package":
        keys = os.path.join(bench.lab.dir, "swarm.keys")
        with open(keys, "w", opener=lambda path, flags: os.open(path, flags, 0o600), encoding="utf-8") as f:
            f.write(swarm.KEY + "\n")
        more = f"QosVisitors {keys}\n{more}"
    crawlers = [clients(f"crawlers{i}", 8, url="/size/8192?delay=4000&n={n}", source=f"127.20.{i}.1", retry=1000, header=[f"User-Agent: {swarm.AGENTS[1]}"]) for i in range(10)]
    seconds = bench.size(30, 16)
    with Packaged(bench.lab, proxy=origin.url, more=more, policy=None if case == "package" else POLICY) as g:
        alone = pages_per_s(bench.seen(g, people_of(case, g), bench.size(15, 6), 2))
        with Load(g.address, people_of(case, g) + crawlers, seconds, warmup=bench.size(20, 12)) as run:
            result = run.result()
    people = pages_per_s(result)
    crawled = sum(ok_per_s(result, f"crawlers{i}") for i in range(10))
    used = (people * 0.1 + crawled * 4) / WINDOW
    bench.say(f"{case}, {more.strip().splitlines()[-1] if 'Window' in more else 'auto'}: people {alone:.1f} pages/s alone, {people:.1f} beside crawlers, p95 "
              f"{statistics.median(result['classes'][f'people{i}']['latency_ms']['p95'] for i in range(8)):.0f} ms; crawlers {crawled:.2f}; {used:.2f} of the backend; {result['total']['status']}")
    return people / alone, used


def measure_people(bench):
    for more, name in (("", ""), (f"QosWindow {WINDOW}\n", "_window")):
        used = []
        for case in CASES:
            found, spread = bench.repeat(lambda case=case, more=more: with_crawlers(bench, case, more), lambda rows: Spread.of([pages for pages, _ in rows]), ">= 0.9", least=bench.size(2, 1))
            bench.figure(f"people_with_crawlers_{case}{name}", spread, "times", ">= 0.9")
            used.append(Spread.of([u for _, u in found]))
        bench.figure(f"people_with_crawlers_used{name}", min(used, key=lambda s: s.value), "of the backend", ">= 0.9")


# ---- long polls

PHP_WORKERS = 80
POLL = "<?php sleep(20); echo 'news';\n"
CALL = "<?php session_id('abcdefghijklmnopqrstuvwxyz'); session_start(); usleep(3000000); echo 'ok';\n"
PAGE = "<?php usleep(50000); echo str_repeat('x', 2048);\n"


def php_site(bench):
    def make():
        root = os.path.join(bench.lab.dir, "polls")
        os.mkdir(root, 0o755)
        os.mkdir(f"{root}/sessions")
        os.chmod(f"{root}/sessions", 0o777)
        for name, text in (("poll", POLL), ("call", CALL), ("page", PAGE)):
            with open(f"{root}/{name}.php", "w", encoding="utf-8") as f:
                f.write(text)
            os.chmod(f"{root}/{name}.php", 0o644)
        fpm = PhpFpm(bench.lab, name="polls-fpm", workers=PHP_WORKERS, pool=(f"php_admin_value[session.save_path] = {root}/sessions",)).start()
        return root, fpm
    return bench.once("polls", make)


def polls(bench):
    root, fpm = php_site(bench)
    people = [clients(f"people{i}", 1, url="/page.php", source=f"127.10.{i}.1", think=400, retry=1000, header=[BROWSER]) for i in range(8)]
    waiting = [clients(f"poll{i}", 1, url="/poll.php?{n}", source=f"127.20.{i}.1", header=[BROWSER], retry=1000) for i in range(40)]
    waiting += [clients("calls", 10, url="/call.php", source="127.30.0.1", header=[BROWSER], retry=1000)]
    names = [p["name"] for p in people]

    def p95(result):
        return statistics.mean(result["classes"][name]["latency_ms"]["p95"] if result["classes"][name]["requests"] else 1000 * result["seconds"] for name in names)
    with Httpd(bench.lab, name="no-module", htdocs=root, php=fpm.address, threads=75) as off:
        without = p95(bench.seen(off, people, bench.size(20, 10), 1))
    with Packaged(bench.lab, htdocs=root, php=fpm.address, fpm=fpm) as on:
        with Load(on.address, people + waiting, bench.size(60, 45), interval=15) as run:
            result = run.result()
    bench.say(f"people's p95 without: {without:.0f} ms; beside long polls: {p95(result):.0f} ms; by 15 s: " + ", ".join(f"{p95(line):.0f}" for line in result["intervals"]) + f"; {result['total']['status']}")
    return p95(result) / without, p95(result["intervals"][0]) / without


def measure_polls(bench):
    found, spread = bench.repeat(lambda: polls(bench), lambda rows: Spread.of([all_of for all_of, _ in rows]), "<= 1.5", least=bench.size(3, 1))
    bench.figure("long_polls_p95", spread, "times", "<= 1.5")
    bench.figure("long_polls_p95_first", Spread.of([first for _, first in found]), "times", "<= 1.5")


FAMILIES = [
    (measure_step, tuple(f"step_installed_{what}{name}" for name in ("", "_window") for what in ("p95", "served"))),
    (measure_people, tuple(f"people_with_crawlers_{what}{name}" for name in ("", "_window") for what in (*CASES, "used"))),
    (measure_polls, ("long_polls_p95", "long_polls_p95_first")),
]
