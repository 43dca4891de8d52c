# SPDX-License-Identifier: BSD-2-Clause
"""
setting.py - what the measurements of this bench have in common: the servers, the three classes, alternating runs.

One Bench is made by run and handed to each family.  Client, gateway and backend share one machine, so a figure is a ratio between runs
that alternate, and the median of them; QoS off and on are two gateways that run side by side with the same configuration but for
"QosEngine", of which only one has work at any time.  A gateway has 150 threads as Debian's httpd has, more than there are clients: with
fewer, the event MPM leaves whole connections unserved for seconds, and QoS off is not 1:1:1 but whoever came first.  The clients run before
everything else (fairgate-load --realtime), or their unread answers decide the shares.
"""
import http.client
import json
import threading
import time

import bench
from pairs import alternate, ratios, repeat_pairs    # noqa: F401
from spread import UNKNOWN, share_spread

from lab import site
from lab.httpd import Httpd, Nginx, PhpFpm
from lab.lab import Origin, module
from lab.link import Link
from lab.load import errors, load

CLASSES = ("people", "search", "crawlers")
WEIGHTS = {"people": 6, "search": 3, "crawlers": 1}
IDEAL = {"people": 60.0, "search": 30.0, "crawlers": 10.0}
HEADERS = {
    "people": "Cookie: theme=dark; session=4711",
    "search": "User-Agent: Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
    "crawlers": "User-Agent: Mozilla/5.0 (compatible; GPTBot/1.2; +https://openai.com/gptbot)",
}
RULES = """
QosClass people weight=6
QosClass search weight=3
QosClass crawlers weight=1 default
QosRule people cookie session=
QosRule search user_agent Googlebot
QosRule crawlers user_agent GPTBot
<Location /qos-status>
  SetHandler qos-status
</Location>
"""


def classes(clients=30, only=CLASSES, **words):
    """Closed-loop clients of the three classes; clients: of each."""
    return [dict(name=c, clients=clients, header=HEADERS[c], **words) for c in only]


ASKED = 0.99        # of the looks at a class's queue: with one in it as often, it asked all the time


def asking(asked):
    """
    What is due to those that asked all the time, of each other, in percent.  asked: of each class the part of the looks in which a request of it waited.  A class whose queue is
    empty at a release can't be served then, by whatever scheduler: its clients, or the machine, were too slow.  None: fewer than two asked, and nothing can be said.
    """
    weights = {c: w for c, w in WEIGHTS.items() if asked[c] >= ASKED}
    return {c: 100.0 * w / sum(weights.values()) for c, w in weights.items()} if len(weights) > 1 else None


def whether_asked(looked, result):
    """looked: of each class the part of the looks in which a request of it waited.  But one that was refused, failed or had no answer at all did ask, and was not served."""
    def turned_away(c):
        failed = sum(n for code, n in c["status"].items() if int(code) >= 400) + sum(c["errors"].values())
        return not c["requests"] or failed > (1 - ASKED) * c["requests"]
    return {name: 1.0 if turned_away(result["classes"][name]) else part for name, part in looked.items()}


class Looks:
    """Looks at the queues of a gateway, some fifty times a second, from `after` seconds on for `seconds`: the clients must be there all the time."""

    def __init__(self, server, after, seconds):
        self.server, self.after, self.seconds, self.over = server, after, seconds, threading.Event()
        self.seen, self.waited = 0, dict.fromkeys(CLASSES, 0)
        self.thread = threading.Thread(target=self.look, daemon=True)
        self.thread.start()

    def look(self):
        if self.over.wait(self.after):
            return
        connection = http.client.HTTPConnection(*self.server.address.split(":"), timeout=20)
        end = time.monotonic() + self.seconds
        while not self.over.wait(0.02) and time.monotonic() < end:
            connection.request("GET", "/qos-status?json")
            queued = {c["name"]: c["queued"] for c in json.load(connection.getresponse())["classes"]}
            if self.over.is_set():
                break
            self.seen += 1
            for c in CLASSES:
                self.waited[c] += queued[c] > 0
        connection.close()

    def end(self):
        self.over.set()
        self.thread.join(30)
        return {c: n / self.seen if self.seen else 1.0 for c, n in self.waited.items()}


def share_error(results):
    """
    How far the class that is farthest from its share is from it, in points of percent: bytes received at the clients, of runs with `shares`.  Runs in which a class did not ask all the time
    count only if there are no others, and then for those that did.
    """
    results = results if isinstance(results, list) else [results]
    whole = [r for r in results if asking(r["asked"]) == IDEAL] or results
    ideal = asking({c: min(r["asked"][c] for r in whole) for c in CLASSES})
    if not ideal:
        return UNKNOWN
    return share_spread([{c: line["classes"][c]["bytes"] for c in ideal} for r in whole for line in r["intervals"]], ideal)


def said(results):
    """Of runs in which a class did not ask, a remark."""
    results = results if isinstance(results, list) else [results]
    missing = {c: min(r["asked"][c] for r in results) for c in CLASSES}
    return "".join(f"; {c} asked in {100 * part:.0f} % of the looks" for c, part in missing.items() if part < ASKED)


def pooled_share_error(results):
    """Of all runs taken as one, whoever asked."""
    got = {c: sum(r["classes"][c]["bytes"] for r in results) for c in IDEAL}
    return max(abs(100 * got[c] / sum(got.values()) - IDEAL[c]) for c in IDEAL)


def qos(window=8, engine=True, more=""):
    return f"QosEngine {'On' if engine else 'Off'}\nQosScheduler drr\nQosCharge bytes\nQosWindow {window}\nQosDelay 0\nQosPark Off\nQosQueue 20000\n{RULES}{more}"


class Bench(bench.Bench):
    """site: the pages."""

    def __init__(self, lab, *words):
        super().__init__(lab, *words)
        self.site = site.generate(f"{lab.dir}/site", pages=2000, seed=1)
        self.urls = self.site["urls"]
        self.running = {}

    def once(self, key, start):
        """A server that several families use is started by the first of them."""
        if key not in self.running:
            self.running[key] = start()
        return self.running[key]

    def static_backend(self):
        """nginx with the site and PHP behind it: the fastest that Debian has, so that the gateway is what is measured."""
        fpm = self.once("fpm", lambda: PhpFpm(self.lab, workers=8).start())
        return self.once("nginx", lambda: Nginx(self.lab, htdocs=self.site["htdocs"], php=fpm.address, server=site.NGINX_UNSEEN).start())

    def linked_backend(self):
        """The same pages on a host of its own behind a link of 400 Mbit/s: a server that is the bottleneck, as it is for those who share one."""
        link = self.once("link", lambda: Link(self.lab, rate="400mbit").start())
        return self.once("linked", lambda: Nginx(self.lab, name="linked", htdocs=self.site["htdocs"]).on(link).start())

    def origin(self, key, **options):
        return self.once(key, lambda: Origin(self.lab, **options).start())

    def gateway(self, backend, window=8, engine=True, more="", **options):
        """httpd as a gateway with the module; engine false: the same with QosEngine Off."""
        options.setdefault("threads", 75)
        key = ("gateway", backend.url, window, engine, more, tuple(sorted(options.items())))
        return self.once(key, lambda: Httpd(self.lab, name="gateway-on" if engine else "gateway-off", proxy=backend.url,
                                            load={"qos_drr": module()}, config=qos(window, engine, more), **options).start())

    def bare_gateway(self, backend):
        """httpd as a gateway without the module; it too has a page of its own beside what it forwards."""
        page = "<Location /server-status>\n  SetHandler server-status\n</Location>\n"
        return self.once(("bare", backend.url), lambda: Httpd(self.lab, name="gateway-bare", proxy=backend.url, threads=75,
                                                              config=page).start())

    def retire(self, server):
        """Stops a server that no other family needs."""
        self.running = {k: s for k, s in self.running.items() if s is not server}
        server.stop()

    def run(self, server, clients, seconds, warmup=0.5, shares=False, **options):
        """One measurement.  Errors in it are said: a figure taken among them is worth less.  shares: for share_error, of a gateway with the module."""
        if shares:
            options.setdefault("interval", max(0.2, seconds / 15))
        looks = Looks(server, warmup + 0.1, seconds - 0.2) if shares else None
        try:
            result = load(server.address, clients, seconds, warmup=warmup, **options)
        finally:
            asked = looks.end() if looks else None
        result["asked"] = whether_asked(asked, result) if asked else None
        bad = errors(result)
        refused = sum(n for code, n in result["total"]["status"].items() if int(code) >= 400)
        if bad or refused:
            self.say(f"{server.name}: {bad} errors, {refused} answers of 400 and above among {result['total']['requests']}")
        return result


def bytes_per_s(result):
    return result["total"]["bytes_per_s"]


def requests_per_s(result):
    return result["total"]["requests_per_s"]
