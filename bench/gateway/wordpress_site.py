# SPDX-License-Identifier: BSD-2-Clause
"""
wordpress_site.py - Debian's WordPress on 8 workers of PHP-FPM, with cron and health checks, behind the package's configuration after QosEngine On.

Rounds without the module and with it take turns, in both orders.  The site's own addresses are 127.0.0.1 alone (QosSelf): clients have other addresses of this host.

Forty crawlers, four of each agent, request pages, searches, archives and feeds without pauses; after a refusal they pause as long as Retry-After says.  Eight people follow pages
and pause for a second; four of them are signed in.  Each agent and each of the people has a network of its own.  "Unlisted" is an agent that has no rule of its own in the policy:
those that call themselves bots are one class here, all others another.

    wordpress_crawlers_people_p95   people's p95 with the module / without it
    wordpress_crawlers_mean, wordpress_crawlers_p95
                                    response times of served pages with the module / without it; of the classes of unlisted agents the smaller ratio (p95: the mean of its agents', by pages)
    wordpress_crawlers_pages        pages with the module / without it; of these classes the larger ratio
    wordpress_visitors_refused      20 visitors without pauses, and an administrator that makes health checks: responses that are not 200
    wordpress_visitors_served       their pages and health checks with the module / without it
"""
import dataclasses
import os
import shutil
import statistics
import sys

from lab.browser import Browser
from lab.httpd import Httpd
from lab.lab import ROOT, free_port
from lab.load import Load, errors
from lab.packaged import Packaged
from setting import clients, status
from spread import FAILED, Spread, worst

sys.path.append(os.path.join(ROOT, "tests", "apps"))

import wordpress  # noqa: E402

WORKERS, PEOPLE, EACH, POSTS, VISITORS = 8, 8, 4, 20, 20
VISITOR = "127.0.1.1"
BROWSER = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
CHROME = "Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; "
# As public lists have them (monperrus/crawler-user-agents, ai.robots.txt).
LISTED = {
    "Googlebot": "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
    "GPTBot": CHROME + "GPTBot/1.2; +https://openai.com/gptbot)",
    "ClaudeBot": CHROME + "ClaudeBot/1.0; +claudebot@anthropic.com)",
}
UNLISTED = {
    "AhrefsBot": "Mozilla/5.0 (compatible; AhrefsBot/7.0; +http://ahrefs.com/robot/)",
    "SemrushBot": "Mozilla/5.0 (compatible; SemrushBot/7~bl; +http://www.semrush.com/bot.html)",
    "PetalBot": "Mozilla/5.0 (Linux; Android 7.0;) AppleWebKit/537.36 (KHTML, like Gecko) Mobile Safari/537.36 (compatible; PetalBot;+https://webmaster.petalsearch.com/site/petalbot)",
    "Baiduspider": "Mozilla/5.0 (compatible; Baiduspider/2.0; +http://www.baidu.com/search/spider.html)",
    "python-requests": "python-requests/2.31.0",
    "Claude-User": CHROME + "Claude-User/1.0; +Claude-User@anthropic.com)",
    "GoogleOther": "Mozilla/5.0 (Linux; Android 6.0.1; Nexus 5X Build/MMB29P) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Mobile Safari/537.36 (compatible; GoogleOther)",
}
AGENTS = {**LISTED, **UNLISTED}
CLASSES = {"bots": ("AhrefsBot", "SemrushBot", "PetalBot", "Baiduspider"), "others": ("python-requests", "Claude-User", "GoogleOther")}


@dataclasses.dataclass
class Site:
    made: wordpress.WordPress
    port: int
    lists: dict


def site(bench):
    def make():
        made_at, port = bench.lab, free_port()
        database = wordpress.Database(made_at).start()
        made = wordpress.WordPress(made_at, database, port, WORKERS)
        with server(bench, Site(made, port, {}), "install") as g:
            made.install(Browser(port))
            admin = made.administrator(port, VISITOR)
            paths = [made.write(admin, f"Post {i}", "".join(f"<p>Paragraph {k} of post {i} has words about topic {(7 * i + k) % 13}. {'More words. ' * 20}</p>" for k in range(8))) for i in range(POSTS)]
            bench.say(f"{g.name}: WordPress has {len(paths)} posts such as {paths[0]}")
        crawled = [f"{p}?c={{n}}" for p in paths for _ in range(2)] + [f"/?s=topic+{i}&c={{n}}" for i in range(POSTS // 2)] + ["/?author=1&c={n}", "/?feed=rss2&c={n}"] * 3
        lists = {}
        for name, found in (("read", ["/", *paths]), ("crawled", crawled)):
            lists[name] = os.path.join(made_at.dir, f"wordpress-{name}.txt")
            with open(lists[name], "w", encoding="utf-8") as f:
                f.write("\n".join(found) + "\n")
        return Site(made, port, lists)
    return bench.once("wordpress", make)


def server(bench, of, name):
    """name "on": the package's; any other: the module is not loaded."""
    words = {**of.made.site, "threads": 75}
    g = Packaged(bench.lab, name=name, fpm=of.made.fpm, more="QosSelf 127.0.0.1/32\n", **words) if name == "on" else Httpd(bench.lab, name=name, **words)
    g.port = of.port
    return g


def turns(n):
    return ("off", "on") if n % 2 else ("on", "off")


# ---- crawlers

@dataclasses.dataclass
class Crawl:
    """What clients saw in one round: people's p95 in ms; by agent: pages, mean and p95 of their response times."""

    people: float
    agents: dict


def people_of(g, of):
    found = []
    for i in range(PEOPLE):
        source = f"127.0.{10 + i}.1"
        b = Browser(g.port, headers={"User-Agent": BROWSER}, source=source)
        of.made.sign_in(b) if i % 2 else b.get("/wp-login.php")
        found.append(clients(f"people{i}", 1, header=[f"User-Agent: {BROWSER}", f"Cookie: {b.cookie()}"], urls=of.lists["read"], source=source, think=1000, retry=5000))
    return found


def of_agent(had, seconds):
    """Pages; mean and p95 of their response times in ms: more than the round, if there was none."""
    pages = had["status"].get("200", 0)
    return (pages, had["latency_ms"]["mean"], had["latency_ms"]["p95"]) if pages else (0, 1000 * seconds, 1000 * seconds)


def of_unlisted(found, of_class):
    """The same of a class of unlisted agents."""
    rows = [found.agents[agent] for agent in CLASSES[of_class]]
    pages = sum(n for n, _, _ in rows)
    if not pages:
        return 0, rows[0][1], rows[0][2]
    return pages, sum(n * mean for n, mean, _ in rows) / pages, sum(n * p95 for n, _, p95 in rows) / pages


def crawl(bench, of, name):
    with server(bench, of, name) as g:
        crawlers = [clients(agent, EACH, header=[f"User-Agent: {header}"], urls=of.lists["crawled"], source=f"127.0.{100 + i}.1", retry=60_000) for i, (agent, header) in enumerate(AGENTS.items())]
        with Load(g.address, people_of(g, of) + crawlers, bench.size(40, 15), warmup=bench.size(15, 8)) as run:
            result = run.result()
        if name == "on":
            bench.say(", ".join(f"{c} {had['released']} released after {had['wait_ms_mean']:.0f} ms, {had['cancelled'] + had['refused']} refused" for c, had in status(g).items() if had["released"]))
    of_class = result["classes"]
    people = [of_class[f"people{i}"] for i in range(PEOPLE)]
    served = sum(c["status"].get("200", 0) for c in of_class.values())
    found = Crawl(statistics.median(c["latency_ms"]["p95"] for c in people), {agent: of_agent(of_class[agent], result["seconds"]) for agent in AGENTS})
    bench.say(f"{name}: {served / result['seconds']:.1f} pages/s, {result['total']['status']}, {errors(result)} errors; people {sum(c['status'].get('200', 0) for c in people)} pages, p50 "
              f"{statistics.median(c['latency_ms']['p50'] for c in people):.0f} ms, p95 {found.people:.0f} ms; pages, mean and p95 in ms: "
              + "; ".join(f"{agent} {pages}, {mean:.0f}, {p95:.0f}" for agent, (pages, mean, p95) in found.agents.items()))
    return found


def crawls(bench, of, n):
    found = {name: crawl(bench, of, name) for name in turns(n)}
    return found["on"], found["off"]


def measure_crawlers(bench):
    of = site(bench)
    found = [crawls(bench, of, n) for n in range(bench.size(3, 1))]
    bench.figure("wordpress_crawlers_people_p95", Spread.of([on.people / off.people for on, off in found]), "times", "<= 0.5")
    for i, name, pick, goal in ((1, "mean", min, ">= 1"), (2, "p95", min, ">= 1"), (0, "pages", max, "<= 1")):
        spreads = {c: Spread.of([of_unlisted(on, c)[i] / of_unlisted(off, c)[i] for on, off in found]) for c in CLASSES}
        bench.say(f"{name}, with the module / without: " + ", ".join(f"{c} {spread:.2f}" for c, spread in spreads.items()))
        bench.figure(f"wordpress_crawlers_{name}", worst(spreads.values(), pick), "times", goal)


# ---- visitors

def visit(bench, of, name):
    """(pages and health checks that were served, responses that are not 200)"""
    with server(bench, of, name) as g, wordpress.HealthChecks(g.port, VISITOR) as checks:
        with Load(g.address, [clients("visitors", VISITORS, url="/", source=VISITOR, header=[f"User-Agent: {BROWSER}"])], bench.size(20, 10), warmup=bench.size(10, 5), realtime=False) as run:
            result = run.result()
    had = result["classes"]["visitors"]
    good = sum(check == (200, "good") for check in checks.seen)
    refused = sum(n for code, n in had["status"].items() if code != "200") + errors(result) + len(checks.seen) - good
    bench.say(f"{name}: {had['status']} in {result['seconds']:.0f} s, {errors(result)} errors, p95 {had['latency_ms']['p95']:.0f} ms; health checks: {good} of {len(checks.seen)}")
    return had["status"].get("200", 0) + 2 * good, refused


def measure_visitors(bench):
    of, found = site(bench), []
    for n in range(bench.size(4, 2)):
        found.append({name: visit(bench, of, name) for name in turns(n)})
    bench.figure("wordpress_visitors_refused", Spread.of([r["on"][1] for r in found]), "responses", "<= 0")
    bench.figure("wordpress_visitors_served", Spread.of([r["on"][0] / r["off"][0] for r in found]), "times", ">= 0.95")


def installed(measure, names):
    """Where Debian's WordPress and MariaDB are."""
    def run(bench):
        if os.path.isdir(wordpress.HERE) and shutil.which("mariadb-install-db"):
            measure(bench)
            return
        bench.say("wordpress is not installed: ./quickstart deps")
        for name in names:
            bench.figure(name, FAILED, "")
    return run


def family(measure, *names):
    return installed(measure, names), names


FAMILIES = [
    family(measure_crawlers, *(f"wordpress_crawlers_{name}" for name in ("people_p95", "mean", "p95", "pages"))),
    family(measure_visitors, "wordpress_visitors_refused", "wordpress_visitors_served"),
]
