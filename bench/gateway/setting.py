# SPDX-License-Identifier: BSD-2-Clause
"""
setting.py - what the measurements of this bench have in common: backends, gateways, and what each class had.

Clients, gateway and backends share one machine.  So where slots are shared, pages hold them asleep (fairgate-origin): nobody waits for a CPU, and a window of 8 is eight requests at the
backend.  Where it is the CPU that is shared, pages burn a given time of it (BURN, by PHP).  Who is of which class the clients say themselves, in X-Class: it is not what is measured here.

What a class had is taken from both sides: answers and bytes as its clients saw them, time in slots as the gateway tells it.
"""
import dataclasses
import json
import os
import time
import urllib.request

import bench

from lab.httpd import Httpd, Nginx, PhpFpm
from lab.lab import Origin, module
from lab.link import Link
from lab.load import Load, errors

WINDOW = 8
CONFIG = """
QosEngine {engine}
QosWindow {window}
QosDelay 0
QosPark Off
{classes}
<Location /qos-status>
  SetHandler qos-status
</Location>
{more}
"""
PLAIN = "<Location /qos-status>\n  SetHandler server-status\n</Location>\n"
BELIEVES = 'SetEnvIf X-Class "^([a-z0-9]+)" qos-class=$1\n'
# ?us=N: so many microseconds of CPU time, however long that takes; &n=N: bytes.
BURN = """<?php
$until = (int)($_GET['us'] ?? 0);
function used() { $u = getrusage(); return 1000000 * ($u['ru_utime.tv_sec'] + $u['ru_stime.tv_sec']) + $u['ru_utime.tv_usec'] + $u['ru_stime.tv_usec']; }
for ($began = used(); used() - $began < $until;) for ($i = 0; $i < 500; $i++) $x = md5("$i");
$n = max(0, min((int)($_GET['n'] ?? 0), 16777216));
header("Content-Length: $n");
echo str_repeat('x', $n);
"""


def clients(name, n, of=None, header=(), **words):
    """n of them in a closed loop, of the gateway's class `of`, or of that of their name."""
    return dict(name=name, clients=n, header=[f"X-Class: {of or name}", *header], **words)


def ok_per_s(result, name):
    return result["classes"][name]["status"].get("200", 0) / result["seconds"]


@dataclasses.dataclass
class People:
    """What one class had of a run: answers/s, and within how many ms 95 of 100 came.  If none came that is the run's length: it is less than they waited."""

    rate: float
    p95: float

    @classmethod
    def of(cls, result, name="people"):
        answers = result["classes"][name]["status"].get("200", 0)
        return cls(answers / result["seconds"], result["classes"][name]["latency_ms"]["p95"] if answers else 1000 * result["seconds"])


@dataclasses.dataclass
class Had:
    """What came of a run.  seen: fairgate-load's; told: by class, of the gateway's status: slot_s, seconds in slots; waited_s, in the queue; released, how many."""

    seen: dict
    told: dict

    def slot_part(self, name):
        total = sum(c["slot_s"] for c in self.told.values())
        return self.told[name]["slot_s"] / total if total else 0.0

    def ok_per_s(self, name):
        return ok_per_s(self.seen, name)

    def bytes_per_s(self, name):
        return self.seen["classes"][name]["bytes_per_s"]


def status(server):
    with urllib.request.urlopen(f"{server.url}/qos-status?json", timeout=20) as answer:
        return {c["name"]: {**c, "waited_s": c["wait_ms_mean"] * c["released"] / 1000} for c in json.load(answer)["classes"]}


class Bench(bench.Bench):
    PATIENCE = (400, 15)

    def __init__(self, lab, *words):
        super().__init__(lab, *words)
        self.running = {}

    def once(self, key, start):
        """A server that several families use is started by the first of them."""
        if key not in self.running:
            self.running[key] = start()
        return self.running[key]

    def origin(self):
        return self.once("origin", lambda: Origin(self.lab).start())

    def pages(self):
        """A directory with pages of 1 KB and of 5 MB, and PHP."""
        def make():
            root = os.path.join(self.lab.dir, "pages")
            os.mkdir(root, 0o755)
            for name, text in {"1k.bin": b"x" * 1024, "5m.bin": b"x" * 5_000_000, "burn.php": BURN.encode()}.items():
                with open(f"{root}/{name}", "wb") as f:
                    f.write(text)
                os.chmod(f"{root}/{name}", 0o644)
            return root
        return self.once("pages", make)

    def php_backend(self, workers, first=False):
        """first: before all else that wants a core."""
        def make():
            fpm = PhpFpm(self.lab, workers=workers)
            server = Nginx(self.lab, htdocs=self.pages(), php=fpm.address)
            for s in (fpm, server):
                s.prefix = ("nice", "-n", "-15") if first else ()
                s.start()
            return server
        return self.once(("php", workers, first), make)

    def linked_origin(self, rate):
        """An origin on a host of its own behind a link of that rate."""
        return self.once(("linked", rate), lambda: Origin(self.lab, name="origin-behind", address="0.0.0.0").on(Link(self.lab, rate=rate).start()).start())

    def gateway(self, backend, weights, charge=None, window=WINDOW, more="", engine="On", words=None, believes=True, **options):
        """
        A fresh one: nothing learnt, no debts; stopped by who leaves its block.  charge: None for the default; words: {class: more of them}; believes: in X-Class.  The last class is for
        whoever is of no other.
        """
        lines = [f"QosClass {c} weight={w} {(words or {}).get(c, '')}" for c, w in weights.items()]
        lines[-1] += " default"
        lines += [f"QosCharge {charge}"] if charge else []
        options.setdefault("threads", 75)
        options.setdefault("name", "gateway")
        config = CONFIG.format(engine=engine, window=window, classes="\n".join(lines), more=(BELIEVES if believes else "") + more)
        return Httpd(self.lab, proxy=backend.url, load={"qos_drr": module()}, config=config, **options)

    def without_module(self, backend, alike=False, more="", **options):
        """mod_proxy alone.  more: of its configuration; alike: with all that gateway() writes besides the module's own directives, so that what is more is the module's."""
        options.setdefault("threads", 75)
        options.setdefault("name", "no-module")
        return Httpd(self.lab, proxy=backend.url, config=(f"{PLAIN}{BELIEVES}" if alike else "") + more, **options)

    def seen(self, server, groups, seconds, warmup, **options):
        """What clients saw of a server without the module."""
        with Load(server.address, groups, seconds, warmup=warmup, **options) as run:
            return self.told(server, run.result())

    def measure(self, server, groups, seconds, warmup, **options):
        with Load(server.address, groups, seconds, warmup=warmup, **options) as run:
            time.sleep(warmup)
            before = status(server)
            time.sleep(seconds)
            after = status(server)
            result = run.result()
        return Had(self.told(server, result), {name: {key: c[key] - before[name][key] for key in ("slot_s", "waited_s", "released")} for name, c in after.items() if not c["retired"]})

    def told(self, server, result):
        if errors(result):
            self.say(f"{server.name}: {errors(result)} errors among {result['total']['requests']} requests")
        return result
