# SPDX-License-Identifier: BSD-2-Clause
"""Requests that hold a slot for seconds beside people that pause between pages: work, and mere waiting."""

import os
import threading
import time

import pytest

from background import GatedServer
from lab.by_request import RequestByRequest
from lab.httpd import PhpFpm
from lab.lab import Origin
from lab.load import Load, load
from lab.packaged import Packaged

pytestmark = pytest.mark.measures

# The weights and keys of etc/examples/policy.xml; each client says its class.
SHIPPED = """
QosClass members weight=400 within=client/24/48
QosClass search weight=150 delay=5000
QosClass ai-crawlers weight=50 delay=5000
QosClass people weight=200 delay=1000 within=client/24/48
QosClass newcomers weight=100 delay=2000 within=client/24/48
QosClass unknown weight=100 delay=500 within=client/24/48 default
"""
PEOPLE = [dict(name="people", clients=1, url="/o/size/2048?delay=100", think=400, source=f"127.0.{10 + i}.1") for i in range(8)]
CRAWLERS = [dict(name="crawlers", clients=1, url="/o/size/200?delay=4000", source=f"127.0.{100 + i // 10}.{1 + i % 10}", retry=1000,
                 header="X-Class: unknown") for i in range(80)]


@pytest.fixture
def unlimited(parts):
    with Origin(parts.lab, workers=0) as origin:
        yield origin


def pages(result):
    return result["classes"]["people"]["status"].get("200", 0) / result["seconds"]


def slot_seconds(g):
    return sum(c["slot_s"] for c in g.status()["classes"])


def busy(g, seconds):
    """The part of the window's time in which its slots were taken, over the next so many seconds."""
    before, since = slot_seconds(g), time.monotonic()
    time.sleep(seconds)
    return (slot_seconds(g) - before) / (time.monotonic() - since) / g.window


@pytest.mark.parametrize("of", ["members", "unknown"])
def test_people_beside_80_crawlers_of_4_s_pages_get_nine_tenths_of_their_pages(new_gateway, unlimited, of):
    """No slot that people's brief pages need goes to a page of 4 s while a person pauses, and crawlers have what is left."""
    people = [{**p, "header": f"X-Class: {of}"} for p in PEOPLE]
    with new_gateway(window=8, classes=SHIPPED, origin=unlimited, threads=75) as g:
        alone = pages(load(g.address, people, 5, warmup=2))
        with Load(g.address, people + CRAWLERS, 20, warmup=15) as running:
            time.sleep(15)
            used = busy(g, 19)
            result = running.result()
        assert pages(result) >= 0.9 * alone, (pages(result), alone)
        assert used >= 0.9, used


# ---- as installed

class Locked(RequestByRequest):
    """Each response takes 3 s, one after another, as with one session."""

    def one(self):
        line = self.rfile.readline()
        while self.rfile.readline().strip():
            pass
        with self.server.session:
            time.sleep(3)
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        return bool(line)


@pytest.fixture
def session():
    with GatedServer(("127.0.0.1", 0), Locked) as server:
        server.session = threading.Lock()
        yield server


def p95(result):
    assert result["classes"]["people"]["requests"] > 100, result["classes"]["people"]
    return result["classes"]["people"]["latency_ms"]["p95"]


def test_people_beside_40_long_polls_and_10_locked_calls_keep_their_p95(parts, unlimited, session):
    """Once the gateway has seen that they wait: what it knows of them is what such a request took before."""
    people = [{**p, "url": "/size/2048?delay=50"} for p in PEOPLE]
    polls = [dict(name="polls", clients=1, url="/size/20?delay=20000", source=f"127.0.{120 + i}.1") for i in range(40)]
    calls = [dict(name="calls", clients=10, url="/session/", source="127.0.60.1")]
    early = f"ProxyPass /session/ http://127.0.0.1:{session.port}/ retry=0\n"
    with Packaged(parts.lab, "Off", proxy=unlimited.url, early=early) as off:
        without = p95(load(off.address, people, 8, warmup=1))
    with Packaged(parts.lab, proxy=unlimited.url, early=early) as on:
        beside = p95(load(on.address, people + polls + calls, 30, warmup=45))
        assert "set QosPark Off" in on.error_log()
    assert beside <= 1.5 * without, (beside, without)


# ---- PHP-FPM: its clients could hold all of its workers

SCRIPTS = {
    "page.php": "<?php usleep(50000); echo str_repeat('p', 2048);",
    "poll.php": "<?php sleep(20); echo 'nothing new';",
    "call.php": "<?php session_id('one'); session_start(); sleep(3); echo 'ok';",
}


class Php:
    """PHP-FPM with so many workers, and packaged gateways before it that find its pool under /etc/php."""

    def __init__(self, parts, folder, workers):
        self.parts, self.folder = parts, folder
        for name, text in SCRIPTS.items():
            (folder / name).write_text(text)
            (folder / name).chmod(0o644)
        sessions = folder / "sessions"
        sessions.mkdir()
        sessions.chmod(0o777)
        self.fpm = PhpFpm(parts.lab, f"php-fpm-{workers}", workers=workers, pool=(f"php_value[session.save_path] = {sessions}",))

    def gateway(self, engine):
        return Packaged(self.parts.lab, engine, htdocs=str(self.folder), php=self.fpm.address, fpm=self.fpm)


@pytest.mark.skipif(not os.path.isdir("/etc/php"), reason="no PHP is installed")
@pytest.mark.parametrize("workers", (20, 60))
def test_people_beside_40_new_long_polls_and_10_calls_of_one_php_session_keep_their_p95(parts, open_path, workers):
    """Polls of which nothing is known held every slot for the first ten seconds; then as many were released as PHP-FPM has workers, and more."""
    people = [{**p, "url": "/page.php"} for p in PEOPLE]
    others = [dict(name="polls", clients=1, url="/poll.php", source=f"127.0.{120 + i}.1", retry=1000) for i in range(40)]
    others.append(dict(name="calls", clients=10, url="/call.php", source="127.0.60.1", retry=1000))
    php = Php(parts, open_path, workers)
    with php.fpm:
        with php.gateway("Off") as off:
            without = p95(load(off.address, people, 8, warmup=1))
        with php.gateway("On") as on, Load(on.address, people, 30, warmup=5) as visitors:
            time.sleep(5)
            with Load(on.address, others, 30):
                beside = visitors.result()
        assert set(beside["classes"]["people"]["status"]) == {"200"}, beside["classes"]["people"]
        assert p95(beside) <= 1.5 * without, (p95(beside), without)


def test_step_to_1_4_of_the_capacity_keeps_p95_within_a_second(parts):
    """Arrivals at 0.7, then 1.4 of what 16 workers of 40 ms can do; the window is that of the workers, all else as installed."""
    capacity = 16 / 0.04
    with Origin(parts.lab, workers=16, delay_ms=40) as origin, Packaged(parts.lab, proxy=origin.url, more="QosWindow 16\n") as g:
        def people(rate):
            return [dict(name=f"n{i}", clients=60, url="/size/2000", arrivals=rate * capacity / 10, source=f"127.0.{10 + i}.1") for i in range(10)]
        load(g.address, people(0.7), 4, warmup=2)
        before = sum(c["slot_s"] for c in g.status()["classes"])
        after = load(g.address, people(1.4), 10)["total"]
        used = sum(c["slot_s"] for c in g.status()["classes"]) - before
    # Pages that are served vary with the pace of the machine; slots that stay free while requests wait do not.
    assert used >= 0.95 * 16 * 10, (used, after)
    assert after["status"].get("200", 0) >= 0.5 * capacity * 10, after
    assert after["latency_ms"]["p95"] <= 1000, after
