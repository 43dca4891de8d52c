# SPDX-License-Identifier: BSD-2-Clause
"""
console.py - console_load_ms: from the address being typed until the figures of the first second are drawn, in Chromium, with ten minutes kept at the host.

console_cpu_percent_50: what fifty open consoles cost httpd, in percent of one processor: its processes' time with fifty clients that ask each second for
what a page asks for, on connections that stay, less their time with none, in turns.  At the same gateway, which has sixteen classes and some load.
"""
import http.client
import json
import os
import threading
import time

from lab import chromium
from lab.httpd import Httpd
from lab.lab import Origin, module, wait_for
from lab.load import Load
from spread import Spread

CONSOLES = 50
CLASSES = 16


def gateway(bench):
    origin = Origin(bench.lab, delay_ms=20).start()
    names = [f"class-{i}" for i in range(CLASSES)]
    rules = "".join(f"QosRule {name} user_agent exact {name}\n" for name in names[1:])
    config = ("QosEngine On\nQosWindow 8\n" + "".join(f"QosClass {name} weight=1{' default' if not i else ''}\n" for i, name in enumerate(names)) + rules +
              "<Location /qos-status>\nSetHandler qos-status\n</Location>\nProxyPass /qos-status !\n"
              f"ProxyPass / {origin.url}/\n")
    return Httpd(bench.lab, modules=("proxy", "proxy_http"), load={"qos_drr": module()}, config=config, timeout=120).start()


def told(server, what):
    c = http.client.HTTPConnection(server.host, server.port, timeout=10)
    c.request("GET", f"/qos-status?console-{what}")
    body = c.getresponse().read()
    c.close()
    return body


def cpu(server):
    """Seconds that its processes have had."""
    sum_of = 0
    for pid in (server.pid, *server.children()):
        with open(f"/proc/{pid}/stat", encoding="ascii") as f:
            fields = f.read().rsplit(")", 1)[1].split()
        sum_of += int(fields[11]) + int(fields[12])
    return sum_of / os.sysconf("SC_CLK_TCK")


class Consoles:
    """Pages that are open, as their host sees them.  A context manager."""

    def __init__(self, server, n):
        self.server, self.n, self.over, self.asked, self.longest = server, n, threading.Event(), 0, 0

    def look(self, place):
        c = http.client.HTTPConnection(self.server.host, self.server.port, timeout=10)
        c.request("GET", "/qos-status?console-all")
        c.getresponse().read()
        next_at = time.monotonic() + place / self.n
        while not self.over.wait(max(0, next_at - time.monotonic())):
            began = time.monotonic()
            c.request("GET", "/qos-status?console-now")
            body = c.getresponse().read()
            assert body.endswith(b"}\n")
            self.asked += 1
            self.longest = max(self.longest, time.monotonic() - began)
            next_at += 1
        c.close()

    def __enter__(self):
        self.threads = [threading.Thread(target=self.look, args=(i,), daemon=True) for i in range(self.n)]
        for t in self.threads:
            t.start()
        time.sleep(2)       # all of them have begun
        self.asked = 0
        return self

    def __exit__(self, *_):
        self.over.set()
        for t in self.threads:
            t.join(10)


def measure_cpu(bench):
    server, seconds = gateway(bench), bench.size(20, 6)
    page = told(server, "now")
    bench.say(f"an answer has {len(page)} bytes, all ten minutes {len(told(server, 'all'))}")
    words = [{"name": "some", "clients": 2, "url": "/size/4096", "header": "User-Agent: class-1"}]

    def stretch():
        began, before = time.monotonic(), cpu(server)
        time.sleep(seconds)
        return 100 * (cpu(server) - before) / (time.monotonic() - began)

    def difference():
        none = stretch()
        with Consoles(server, CONSOLES) as c:
            some = stretch()
            rate = c.asked / seconds
        bench.say(f"none {none:.2f} %, {CONSOLES} consoles {some:.2f} %, {rate:.1f} answers a second, the longest {1000 * c.longest:.0f} ms")
        assert rate > 0.9 * CONSOLES
        return some - none
    with Load(server.address, words, seconds=3600):
        _, spread = bench.repeat(difference, Spread.of, "<= 2", least=bench.size(5, 3))
    bench.figure("console_cpu_percent_50", spread, "%", "<= 2")
    server.stop()


def measure_load(bench):
    server = gateway(bench)
    words = [{"name": f"class-{i}", "clients": 1, "url": "/size/4096", "header": f"User-Agent: class-{i}"} for i in range(CLASSES)]
    with Load(server.address, words, seconds=3600), chromium.Chromium(bench.lab) as browser:
        kept = bench.size(590, 20)
        wait_for(lambda: len(json.loads(told(server, "all"))["history"]["rows"]) >= kept, kept * 2 + 20, "what is kept")
        browser.size(1280, 900)

        def load():
            browser.open("about:blank")
            began = time.monotonic()
            browser.open(f"{server.url}/qos-status?console")
            # The script's own clock: what asking for it costs is not the page's.
            took = browser.until("return document.documentElement.dataset.drawn > 0 && document.querySelectorAll('.facts dd').length > 0 && performance.now()", "the figures")
            bench.say(f"drawn within {took:.0f} ms of the page's own clock, {1000 * (time.monotonic() - began):.0f} ms by ours")
            return 1000 * (time.monotonic() - began)
        _, spread = bench.repeat(load, Spread.of, "<= 1000", least=bench.size(10, 3))
    bench.figure("console_load_ms", spread, "ms", "<= 1000")
    server.stop()


FAMILIES = [(measure_cpu, ("console_cpu_percent_50",)), (measure_load, ("console_load_ms",))]
