# SPDX-License-Identifier: BSD-2-Clause
"""The Squid under test: the lab's Squid, and what tests ask of it."""

import contextlib
import itertools
import json
import re
import signal
import socket

import http1
from lab import lab, squid
from lab.load import Load

SLACK = 2       # seconds that a busy machine may add to what takes so long

serial = itertools.count(1)
LOG = "status=%>Hs tag=%Ss class=%fqrs::class wait=%fqrs::wait slot=%fqrs::slot detail=%err_detail method=%rm url=%ru"
# An end that nobody sent, and what the sanitizers and Squid itself say of its own mistakes.
CRASH = re.compile(r"FATAL|AddressSanitizer|LeakSanitizer|runtime error:|assertion failed|Segment Violation|\bBUG\b|Terminated abnormally")
# Counters of a class that may only grow.
COUNTERS = ("submitted", "released", "refused", "cancelled", "done", "aborted", "bytes")


def fresh(name):
    """A name that no other test uses: gates of an origin stay open once they are opened."""
    return f"{name}-{next(serial)}"


def classes(**settings):
    """squid.conf for these classes, to which the X-Class field of a request leads: classes(gold="weight=4", silver="weight=2")."""
    return "".join(f"acl is_{name} req_header X-Class ^{name}$\nfqrs_class {name} {words}\nfqrs_access {name} allow is_{name}\n"
                   for name, words in settings.items())


def scheduled(window=1, **settings):
    """squid.conf with this window and these classes."""
    return f"fqrs on\nfqrs_window {window}\n" + classes(**settings)


class Proxy(squid.Squid):
    """config: what squid.conf says besides what the lab needs.  More arguments are the lab's Squid's."""

    def __init__(self, world, config="", **kwargs):
        kwargs.setdefault("log", LOG)
        self.world, self.origin = world, world.origin
        self.site_port = lab.free_port()        # where it looks like the site that Host names, for the lab's Load
        super().__init__(world.lab, squid.fqrs(), **kwargs)
        self.config = self.always + config
        self.told = False               # to end
        self.ended = None               # its exit status, once it has one
        self.expected = []              # lines of its log that a test wants to see, as regular expressions

    @property
    def always(self):
        return f"cachemgr_passwd none all\nstrip_query_terms off\nhttp_port 127.0.0.1:{self.site_port} accel vhost allow-direct\n"

    def again(self, config):
        """Gives it this configuration while it runs."""
        self.reconfigure(self.always + config)

    def load(self, crowd, origin=None, **options):
        """The lab's Load with these classes of clients, who ask for paths of the origin."""
        return Load(f"127.0.0.1:{self.site_port}", crowd, host=(origin or self.origin).authority, realtime=False, **options)

    # ---- at start and at the end

    def ready(self):
        def opened(port):
            with socket.socket() as s:
                s.settimeout(1)
                return s.connect_ex((self.host, port)) == 0
        return opened(self.port) and opened(self.site_port)

    def begin_to_end(self):
        """Tells it to end without waiting for clients; that takes it two seconds."""
        if self.alive() and not self.told:
            self.told = True
            self.process.send_signal(signal.SIGINT)

    def stop(self, seconds=20):
        self.begin_to_end()
        with contextlib.suppress(AssertionError):
            http1.until(lambda: not self.alive(), seconds)
        if self.process is not None and self.ended is None:
            self.ended = self.process.poll()
        super().stop(1)

    def __exit__(self, *_):
        self.begin_to_end()             # and whoever made it sees that it does

    def assert_well(self):
        """It ended as it was told to, if it has ended, and its log knows of no crash."""
        said = [line for line in self.log().splitlines() if CRASH.search(line) and not any(re.search(e, line) for e in self.expected)]
        assert not said, "\n".join(said[:20])
        assert self.ended in (None, 0), f"exit status {self.ended}:\n{self.log_end()}"

    # ---- asking

    def connect(self, host="127.0.0.1", **kwargs):
        return http1.Connection(self.port, host, **kwargs)

    def send(self, target, method="GET", cls=None, origin=None, headers=None, connection=None, **kwargs):
        """A request on a new connection (or this one), which is returned."""
        c = connection or self.connect()
        origin = origin or self.origin
        fields = {**({"X-Class": cls} if cls else {}), **(headers or {})}
        c.send(method, origin.url(target) if target.startswith("/") else target, host=origin.authority, headers=fields, **kwargs)
        return c

    def ask(self, target, method="GET", **kwargs):
        """The response to one request."""
        given = kwargs.get("connection")
        c = self.send(target, method, **kwargs)
        try:
            return c.receive(method)
        finally:
            if not given:
                c.close()

    def page(self, name):
        """A page of the cache manager."""
        with self.connect() as c:
            response = c.ask("GET", f"/squid-internal-mgr/{name}", host=f"127.0.0.1:{self.port}")
        assert response.status == 200, response.body
        return response.body.decode()

    def status(self):
        """The JSON of the status page, with by_class, and the classes' counters summed up."""
        status = json.loads(self.page("fqrs_json"))
        status["by_class"] = {c["name"]: c for c in status["classes"]}
        for key in COUNTERS:
            status[key] = sum(c[key] for c in status["classes"])
        return status

    def log_lines_of(self, url):
        """The access log's lines of requests whose URL has this, as dicts; those that are there."""
        lines = [dict(word.split("=", 1) for word in line.split()) for line in self.access()]
        return [line for line in lines if url in line["url"]]

    def log_lines(self, url, count=1):
        """The same, waited for."""
        def found():
            lines = self.log_lines_of(url)
            return lines if len(lines) >= count else None
        lines = http1.until(found, what=f"{count} log lines of {url}")
        assert len(lines) == count, lines
        return lines

    # ---- waiting for a state

    def until(self, test, what, seconds=15):
        seen = [{}]

        def reached():
            seen[0] = self.status()
            return seen[0] if test(seen[0]) else None
        return http1.until(reached, seconds * self.world.patience,
                           lambda: f"{what}; at last { {k: v for k, v in seen[0].items() if isinstance(v, int)} }")

    def until_queued(self, n, cls=None):
        return self.until(lambda s: (s["by_class"][cls] if cls else s)["queued"] == n, f"{n} queued")

    def until_outstanding(self, n):
        return self.until(lambda s: s["outstanding"] == n, f"{n} outstanding")

    def settled(self):
        """The status when nothing waits and nothing is outstanding; the sums must then agree."""
        s = self.until(lambda s: s["queued"] == s["outstanding"] == s["parked"] == 0, "idle")
        for c in s["classes"]:
            assert c["queued"] == c["outstanding"] == c["parked"] == c["expected_bytes"] == 0, c
            assert c["released"] == c["done"] + c["aborted"], c
            assert c["submitted"] == c["released"] + c["cancelled"], c
        return s

    def moved(self, before):
        """How the counters have moved since `before`, once all is idle; those that have not are left out."""
        after = self.settled()
        return {key: after[key] - before[key] for key in COUNTERS if key != "bytes" and after[key] != before[key]}

    # ---- doing

    @contextlib.contextmanager
    def taken(self, n=1, cls=None):
        """n slots are held, by responses that drip until .release() or the block's end."""
        taken = Taken(self, n, cls)
        try:
            taken.take()
            yield taken
            taken.release()
        finally:
            self.origin.open(taken.name)
            taken.close()


class Taken:
    """Responses that hold slots until release()."""

    def __init__(self, proxy, n, cls):
        self.proxy, self.count, self.cls = proxy, n, cls
        self.name, self.connections, self.released = fresh("taken"), [], False

    def take(self):
        self.connections = [self.proxy.send(f"/hold/{self.name}?{i}", cls=self.cls) for i in range(self.count)]
        for c in self.connections:
            assert c.until(b"\r\n\r\n").startswith(b"HTTP/1.1 200")

    def release(self):
        """Lets them go, and sees them whole."""
        if not self.released:
            self.released = True
            self.proxy.origin.open(self.name)
            for c in self.connections:
                c.chunks()

    def close(self):
        for c in self.connections:
            c.close()


def sanitized(binary):
    with open(binary, "rb") as f:
        return b"__asan_init" in f.read()
