# SPDX-License-Identifier: BSD-2-Clause
"""Slow readers of what a backend makes: they occupy the backend's workers until the handler has all of the answer."""

import contextlib
import os
import select
import threading
import time

import pytest

import http1
from gateway import fresh
from lab.httpd import PhpFpm

WORKERS = 20
CRAWLERS = 30
VISITORS = 15
RATE = 200_000          # bytes/s that a crawler reads
PAGE_S = 0.1
DOWNLOAD = "<?php header('Content-Type: application/octet-stream'); $s = str_repeat('d', 65536); for ($i = 0; $i < 320; $i++) echo $s;"
PAGE = f"<?php usleep({int(PAGE_S * 1e6)}); echo 'page';"
SECONDS = 8


class Readers:
    """Connections of which each asks for a target, one every `apart` seconds, and reads what comes at RATE.  A context manager."""

    def __init__(self, g, n, target, headers, apart=0):
        self.g, self.n, self.apart, self.request = g, n, apart, http1.request_bytes("GET", target, headers=headers)
        self.connections, self.over = [], threading.Event()

    def __enter__(self):
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()
        for _ in range(self.n):
            c = self.g.connect(receive_buffer=65536)
            c.socket.setblocking(False)
            c.socket.send(self.request)
            self.connections.append(c)
            time.sleep(self.apart)
        return self

    def read(self):
        while not self.over.wait(0.1):
            ready, _, _ = select.select([c.socket for c in self.connections], [], [], 0)
            for sock in ready:
                with contextlib.suppress(OSError):
                    sock.recv(RATE // 10)

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()
        for c in self.connections:
            c.reset()


class Visitors:
    """Each gets one page after the other, from the next of `sources`.  A context manager."""

    def __init__(self, g, n=VISITORS, sources=("127.0.0.1",), headers=None):
        self.g, self.headers, self.over, self.got = g, headers or {"Cookie": "session=1"}, threading.Event(), []
        self.threads = [threading.Thread(target=self.visit, args=(sources[i % len(sources)],)) for i in range(n)]

    def __enter__(self):
        for t in self.threads:
            t.start()
        return self

    def visit(self, source):
        with self.g.connect(deadline=60, source=source) as c, contextlib.suppress(TimeoutError):
            while not self.over.is_set():
                if c.ask("GET", "/d/page.php", headers=self.headers).status == 200:
                    self.got.append(time.monotonic())

    def pages(self, seconds):
        before = len(self.got)
        time.sleep(seconds)
        return len(self.got) - before

    def __exit__(self, *_):
        self.over.set()
        for t in self.threads:
            t.join()


@pytest.fixture
def fpm(parts, open_path):
    for name, text in (("page.php", PAGE), ("download.php", DOWNLOAD)):
        (open_path / name).write_text(text)
        os.chmod(open_path / name, 0o644)
    with PhpFpm(parts.lab, "php-fpm-few", workers=WORKERS) as server:
        server.folder = open_path
        yield server


@pytest.mark.parametrize("slots, apart", ((" slots=2", 0), ("", 0.5), ("", 0)))
def test_people_keep_their_share_beside_slow_readers_of_php_downloads(new_gateway, fpm, slots, apart):
    """Thirty crawlers held 20 of 20 PHP workers, each by a slot that it had released while it waited for its client: people got no pages."""
    classes = f"QosClass people weight=6 default\nQosClass crawlers weight=1{slots}\nQosRule crawlers user_agent GPTBot\n"
    more = f'ProxyPassMatch "^/d/(.*)$" "fcgi://{fpm.address}{fpm.folder}/$1"\n'
    with new_gateway(window=WORKERS, classes=classes, more=more) as g, Visitors(g) as visitors:
        visitors.pages(12)
        alone = visitors.pages(SECONDS / 2) * 2
        with Readers(g, CRAWLERS, "/d/download.php", {"User-Agent": "GPTBot"}, apart):
            beside = visitors.pages(SECONDS)
            s = g.status()
        assert beside >= 0.9 * alone, (beside, alone, s["parked"], s["queued"])
        if slots:
            crawlers = s["by_class"]["crawlers"]
            assert (crawlers["parked"] + crawlers["outstanding"], crawlers["queued"]) == (2, CRAWLERS - 2)


@pytest.mark.parametrize("known", (False, True))
def test_people_keep_their_share_beside_slow_readers_of_downloads_that_are_known_to_last(new_gateway, fpm, known):
    """A download that lasted longer than QosPark was taken for a long poll: any number of them was released, without slots."""
    classes = "QosClass people weight=6 default\nQosClass crawlers weight=1\nQosRule crawlers user_agent GPTBot\n"
    more = f'ProxyPassMatch "^/d/(.*)$" "fcgi://{fpm.address}{fpm.folder}/$1"\n<Location /d/>\n    QosPark time=2\n</Location>\n'
    with new_gateway(window=WORKERS, classes=classes, more=more) as g, Visitors(g) as visitors:
        if known:
            with Readers(g, 1, "/d/download.php", {"User-Agent": "GPTBot"}):
                time.sleep(5)
        visitors.pages(12)
        alone = visitors.pages(SECONDS / 2) * 2
        with Readers(g, CRAWLERS, "/d/download.php", {"User-Agent": "GPTBot"}):
            beside = visitors.pages(SECONDS)
            s = g.status()
        assert beside >= 0.9 * alone, (beside, alone, s["parked"], s["queued"])


@pytest.mark.parametrize("apart", (0, 0.5))
def test_six_slow_posts_of_one_client_leave_their_class_to_its_other_visitors(new_gateway, fpm, apart):
    """Six POSTs from one address, each with one byte of its body, were all that their class might have: its other visitors got no page."""
    classes = "QosClass members weight=4\nQosClass anonymous weight=1 within=client/24/48 default\nQosRule members user_agent Member\n"
    more = f'ProxyPassMatch "^/d/(.*)$" "fcgi://{fpm.address}{fpm.folder}/$1"\n'
    post = http1.request_bytes("POST", "/d/page.php", headers={"Content-Length": "100000"}) + b"x"
    with new_gateway(window=16, classes=classes, more=more) as g, Visitors(g, 6, headers={"User-Agent": "Member"}) as members, \
            Visitors(g, 4, [f"127.0.{i}.1" for i in range(1, 5)]) as others, contextlib.ExitStack() as posts:
        others.pages(2)
        before, alone = len(members.got), others.pages(SECONDS)
        members_alone = len(members.got) - before
        for _ in range(6):
            posts.enter_context(g.connect(source="127.0.9.1")).send(post)
            time.sleep(apart)
        g.until(lambda s: s["parked"] >= 2, "the first POSTs parked")
        others.pages(1)
        before, beside = len(members.got), others.pages(SECONDS)
        s = g.status()
        # The POSTs count as two of four that the class may have: two pages of four run at one time.
        assert beside >= 0.4 * alone, (beside, alone, s["parked"], s["queued"])
        assert len(members.got) - before >= 0.9 * members_alone, (len(members.got) - before, members_alone)


def test_a_slow_reader_of_a_file_counts_against_no_slots(new_gateway):
    """The file costs the backend nothing: any number of readers are parked."""
    classes = "QosClass crawlers weight=1 slots=2 default\n"
    with new_gateway(window=2, classes=classes) as g, Readers(g, 8, "/static/50m.bin", {}):
        g.until(lambda s: s["parked"] == 8 and s["queued"] == 0, "all parked")


def test_a_slow_reader_of_a_cgi_program_counts_against_slots(new_gateway):
    """The handler passes the end on before the program has written it; the program runs on until its output is read."""
    classes = "QosClass crawlers weight=1 slots=2 default\n"
    with new_gateway(window=4, classes=classes) as g:
        with Readers(g, 6, "/cgi/page?size=50000000", {}):
            g.until(lambda s: s["parked"] == 2 and s["queued"] == 4, "two parked, the others wait")
            time.sleep(0.5)     # longer than it takes others to be parked
            s = g.status()
            assert (s["parked"] + s["outstanding"], s["queued"]) == (2, 4)
        g.settled()


def test_a_slow_reader_that_reads_on_leaves_its_class_s_slot_to_the_next_request(new_gateway, fpm):
    """The class's one slot is free when PHP-FPM has written all of the download, and not before."""
    classes = "QosClass crawlers weight=1 slots=1 default\n"
    more = f'ProxyPassMatch "^/d/(.*)$" "fcgi://{fpm.address}{fpm.folder}/$1"\n'
    with new_gateway(window=4, classes=classes, more=more) as g, g.connect(receive_buffer=65536) as slow:
        slow.send("GET", "/d/download.php")
        g.until(lambda s: s["parked"] == 1, "parked")
        with g.connect() as c:
            c.send("GET", "/d/page.php")
            g.until_queued(1)
            slow.receive()
            assert c.receive().status == 200
        g.settled()


def test_a_slow_reader_past_its_park_time_teaches_nothing_of_its_page(new_gateway, fpm):
    """Two slow downloads lasted longer than QosPark: the page was taken for one that waits, and six more occupied workers beyond `slots=`."""
    classes = "QosClass crawlers weight=1 slots=2 default\n"
    more = f'QosPark time=1\nProxyPassMatch "^/d/(.*)$" "fcgi://{fpm.address}{fpm.folder}/$1"\n'
    with new_gateway(window=8, classes=classes, more=more) as g:
        with Readers(g, 2, "/d/download.php", {}):
            g.until(lambda s: s["parked_time"] == 2, "both longer than their time")
            with Readers(g, 6, "/d/download.php", {}):
                g.until(lambda s: s["queued"] == 6, "the others wait")
        g.settled()
        # Nor have the two when they have ended.
        with Readers(g, 6, "/d/download.php", {}):
            g.until(lambda s: s["queued"] == 4 and s["parked"] + s["outstanding"] == 2, "two of six")
        g.settled()


def test_a_slow_body_teaches_nothing_of_its_page(new_gateway, fpm):
    """A client that sends the body of a GET slowly made the page one that waits, for all clients."""
    classes = "QosClass all weight=1 default\n"
    more = f'QosPark time=1\nProxyPassMatch "^/d/(.*)$" "fcgi://{fpm.address}{fpm.folder}/$1"\n'
    name = fresh("slow-body")
    with new_gateway(window=4, classes=classes, more=more) as g, g.connect() as c:
        for i in range(3):
            c.send(http1.request_bytes("GET", f"/d/page.php?{name}", headers={"Content-Length": "10"}) + b"12345")
            g.until(lambda s: s["parked_time"] == i + 1, "longer than its time")
            c.send(b"67890")
            assert c.receive().status == 200
        assert c.ask("GET", f"/d/page.php?{name}").status == 200
        line = g.logged(name, 4)[-1]
        assert (line["parked"], float(line["slot_expected"]) < 1000) == ("-", True), line
