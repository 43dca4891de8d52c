# SPDX-License-Identifier: BSD-2-Clause
"""The gateway under test: the lab's httpd with the module, the site of config.py, and what tests ask of it."""

import concurrent.futures
import contextlib
import itertools
import json
import os
import pathlib
import signal
import subprocess
import threading

import config
import http1
from lab import lab
from lab.httpd import CRASH, Httpd, sanitizer_environment

serial = itertools.count(1)
WORDS = ("pid=%P status=%>s class=%{qos-class}n wait=%{qos-wait}n estimate=%{qos-estimate}n slot_expected=%{qos-slot-expected}n outcome=%{qos-outcome}n reason=%{qos-reason}n parked=%{qos-parked}n query=%q ")


def fresh(name):
    """A name that no other test uses: gates of the backend stay open once they are opened."""
    return f"{name}-{next(serial)}"


class Taken:
    """Requests that hold every slot until release()."""

    def __init__(self, gateway, connections):
        self.gateway, self.connections = gateway, connections
        self.count = len(connections)
        self.name = fresh("taken")
        self.released = False

    def take(self):
        for c in self.connections:
            c.send("GET", f"/b/gate/{self.name}", headers={"X-Class": "people"})
        http1.until(lambda: self.gateway.backend.count(self.name) == self.count, what="all slots taken")

    def release(self):
        """Let them go, and see them answered."""
        self.released = True
        self.gateway.backend.open(self.name)
        for c in self.connections:
            assert c.receive().status == 200


class Gateway(Httpd):
    """parts: what conftest.py makes beside it (site, backend, origin, PHP).

    engine to policy: see config.scheduling; tls: a second port, .tls_port; http2: HTTP/2 on the first one, without TLS; more: text at the end;
    open_files: its limit; origin: another than the parts'.
    More arguments are the lab's Httpd's.
    """

    def __init__(self, parts, mpm="event", engine="On", window=1, queue=10000, wait=60, classes=config.CLASSES, policy=None, tls=False,
                 http2=False, more="", modules=(), open_files=None, origin=None, environment=None, **httpd):
        self.parts, self.backend, self.origin = parts, parts.backend, origin or parts.origin
        self.window, self.open_files, self.more_text = window, open_files, more + ("Protocols h2c http/1.1\n" if http2 else "")
        self.blocks, self.has_streams = mpm != "event", tls or http2
        httpd.setdefault("children", {"prefork": 40}.get(mpm, 2))
        httpd.setdefault("async_factor", 250)
        httpd.setdefault("timeout", 120)
        super().__init__(parts.lab, f"gateway-{mpm}", mpm=mpm, htdocs=str(parts.root), cgi=True, php=parts.fpm.address, access_log=WORDS,
                         modules=("include", "log_config", *(("ssl",) if tls else ()), *(("http2",) if tls or http2 else ()), *modules), load={"qos_drr": lab.module()},
                         environment={**(sanitizer_environment() or {}), **(environment or {})}, **httpd)
        self.policy, self.policy_file = policy, None
        if policy is not None:
            self.policy_file = pathlib.Path(self.path("policy.xml"))
            self.write_policy(policy)
        self.tls_port = lab.free_port() if tls else None
        self.scheduling = dict(engine=engine, queue=queue, wait=wait, classes=classes, policy_file=self.policy_file, root=parts.root)
        self.config = self.whole_config()

    def whole_config(self):
        text = config.site(self.parts.root, self.backend.port, self.origin.port, self.parts.dead_port) + config.seeing()
        text += config.scheduling(window=self.window, **self.scheduling)
        if self.tls_port:
            text += config.tls(self.tls_port, self.parts.certificate)
        return text + self.more_text

    def argv(self):
        if not self.open_files:
            return super().argv()
        # Without the capability that lets root raise its own limit.
        return ["setpriv", "--bounding-set=-sys_resource", "prlimit", f"--nofile={self.open_files}:{self.open_files}", *super().argv()]

    def write_policy(self, text):
        self.policy_file.write_text(text)
        self.policy_file.chmod(0o644)

    def set_window(self, window):
        """The window from now on, by a graceful restart."""
        if window != self.window:
            self.window = window
            self.graceful(self.whole_config())

    # ---- at start and at the end

    def ready(self):
        # The port is open before the modules have had their say.
        return self.generations() > 0 and super().ready()

    def refused_to_start(self):
        """What a real start says that must fail."""
        self.configure()
        done = subprocess.run(self.argv(), stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd=self.dir, env=self.environment(),
                              timeout=60, check=False)
        log = pathlib.Path(self.path("error.log"))
        said = done.stdout + done.stderr + (log.read_text() if log.exists() else "")
        assert done.returncode != 0, said
        return said

    def open_connections(self):
        """How many of its clients' connections the kernel still has, not counting what only waits for its time."""
        over, ports = ("06", "07", "0A"), {f":{port:04X}" for port in (self.port, self.tls_port) if port}
        with open("/proc/net/tcp") as table:
            rows = [line.split() for line in table.readlines()[1:]]
        return sum(row[1][-5:] in ports and row[3] not in over for row in rows)

    def stop(self, seconds=10):
        # httpd's event MPM, without any module of ours too, sometimes crashes when it is stopped while a connection is being closed.
        with contextlib.suppress(AssertionError):
            http1.until(lambda: not self.alive() or self.open_connections() == 0, 3)
        # A thread that serves streams clears them away for a while after that; at a graceful end it is waited for.
        if self.has_streams and self.alive():
            self.process.send_signal(signal.SIGWINCH)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(seconds)
        super().stop(seconds)

    def assert_no_crash(self):
        bad = [line for line in self.error_log() if CRASH.search(line)]
        assert not bad, "\n".join(bad[:20])

    def error_log(self):
        return self.log().splitlines()

    # ---- asking

    def connect(self, **kwargs):
        return http1.Connection(self.port, **kwargs)

    def status(self):
        """The JSON of the status page, with by_class."""
        try:
            with self.connect() as c:
                response = c.ask("GET", "/qos-status?json")
        except ConnectionResetError:    # accepted by a child that a test has just killed
            with self.connect() as c:
                response = c.ask("GET", "/qos-status?json")
        assert response.status == 200, response.body
        status = json.loads(response.body)
        status["by_class"] = {c["name"]: c for c in status["classes"]}
        return status

    def status_if_served(self):
        """The same, or None: while a child dies, a connection may be lost with it."""
        try:
            return self.status()
        except (OSError, http1.Cut):
            return None

    def weights(self):
        return {c["name"]: c["weight"] for c in self.status()["classes"] if not c["retired"]}

    def logged(self, query, count):
        """The access log's lines of requests with ?query, as dicts; waited for."""
        def found():
            lines = [dict(word.split("=", 1) for word in line.split()) for line in self.access_log()]
            lines = [line for line in lines if line["query"] == f"?{query}"]
            return lines if len(lines) >= count else None
        lines = http1.until(found, what=f"{count} log lines of ?{query}")
        assert len(lines) == count
        return lines

    # ---- waiting for a state

    def until(self, test, what, seconds=15):
        seen = [{}]

        def reached():
            seen[0] = self.status_if_served() or seen[0]
            return seen[0] if seen[0] and test(seen[0]) else None
        return http1.until(reached, seconds, lambda: f"{what}; at last { {k: v for k, v in seen[0].items() if isinstance(v, int)} }")

    def until_queued(self, n):
        return self.until(lambda s: s["queued"] == n, f"{n} queued")

    def until_outstanding(self, n):
        return self.until(lambda s: s["outstanding"] == n, f"{n} outstanding")

    def settled(self):
        """The status when nothing waits and nothing is outstanding; the sums must then agree."""
        s = self.until(lambda s: s["queued"] == s["outstanding"] == s["parked"] == 0, "idle")
        assert s["held"] == s["blocked"] == 0, s
        assert s["released"] == s["done"] + s["aborted"], s
        assert s["submitted"] == s["released"] + s["cancelled"], s
        for c in s["classes"]:
            assert c["released"] == c["done"] + c["aborted"], c
        return s

    def assert_each_once(self, before, requests):
        """Since `before` so many requests came, and each was released and ended once.  The status at last."""
        after = self.settled()
        moved = {key: after[key] - before[key] for key in ("submitted", "released", "cancelled", "refused")}
        assert moved == {"submitted": requests, "released": requests, "cancelled": 0, "refused": 0}
        return after

    # ---- doing

    @contextlib.contextmanager
    def window_taken(self, *connections):
        """Every slot is held by a request at the backend until .release(); on these connections, or on new ones."""
        mine = list(connections) or [self.connect() for _ in range(self.window)]
        taken = Taken(self, mine)
        try:
            taken.take()
            yield taken
            if not taken.released:
                taken.release()
        finally:
            self.backend.open(taken.name)
            if not connections:
                for c in mine:
                    c.close()

    @contextlib.contextmanager
    def in_background(self, function, *args, **kwargs):
        """A future of the call; the block's end waits for it."""
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            future = pool.submit(function, *args, **kwargs)
            yield future
            future.result(60)

    def child_of(self, connection):
        """The process that serves this connection: asked by its log line."""
        name = fresh("child")
        assert connection.ask("GET", f"/off/2k.txt?{name}").status == 200
        return int(self.logged(name, 1)[0]["pid"])

    def connections_by_child(self, n):
        """[(pid, [n connections])] of two children at least.  One too many of a child's is closed at once: should its clients all close together,
        event has no idle thread for a moment, and then closes the connections that it keeps."""
        found = {}
        for _ in range(100 * n):
            c = self.connect()
            mine = found.setdefault(self.child_of(c), [])
            if len(mine) < n:
                mine.append(c)
            else:
                c.close()
            enough = [(pid, list_of) for pid, list_of in found.items() if len(list_of) == n]
            if len(enough) >= 2:
                break
        for list_of in found.values():
            if len(list_of) < n:
                for c in list_of:
                    c.close()
        assert len(enough) >= 2, {pid: len(list_of) for pid, list_of in found.items()}
        return enough

    def workers(self):
        """Children that serve (the daemon of mod_cgid is a child too, but keeps httpd's table of connections empty)."""
        return [pid for pid in self.children() if self.listens(pid)]

    def listens(self, pid):
        try:
            return len(os.listdir(f"/proc/{pid}/task")) > 1 or self.mpm == "prefork"
        except OSError:
            return False

    def connections_of(self, pid):
        """How many clients are connected to this child (an upper bound: all its sockets)."""
        sockets = 0
        with contextlib.suppress(OSError):
            for fd in os.listdir(f"/proc/{pid}/fd"):
                with contextlib.suppress(OSError):
                    sockets += os.readlink(f"/proc/{pid}/fd/{fd}").startswith("socket:")
        return sockets


def running(parts, **kwargs):
    """For a fixture: a gateway that runs while it is in use, and must end without a crash in its log."""
    with Gateway(parts, **kwargs) as g:
        yield g
    g.assert_no_crash()


class SlowReaders:
    """Clients that ask for a page and read it at 1 KB/s.  A context manager."""

    def __init__(self, gateway, n, target, **kwargs):
        self.gateway, self.n, self.target, self.kwargs = gateway, n, target, kwargs
        self.over = threading.Event()

    def __enter__(self):
        self.connections = [self.gateway.connect(receive_buffer=4096) for _ in range(self.n)]
        for c in self.connections:
            c.send("GET", self.target, **self.kwargs)
        self.thread = threading.Thread(target=self.read, daemon=True)
        self.thread.start()
        return self

    def read(self):
        while not self.over.wait(1):
            for c in self.connections:
                c.socket.recv(1024)

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()
        for c in self.connections:
            c.reset()


def three_classes(clients, url, **words):
    """People, search engines and crawlers for the lab's Load."""
    kinds = (("people", "Cookie: session=1"), ("search", "User-Agent: Googlebot"), ("crawlers", "User-Agent: GPTBot"))
    return [{"name": name, "clients": clients, "header": header, "url": url, **words} for name, header in kinds]


def shares(lines):
    """Percent of the bytes of each class over these intervals of a Load."""
    names = list(lines[0]["classes"])
    parts = [sum(line["classes"][name]["bytes"] for line in lines) for name in names]
    return {name: 100.0 * part / sum(parts) for name, part in zip(names, parts)}


def more_lines(load, n, seconds=60):
    """The next n intervals of a Load that begin after now."""
    mark = len(load.lines) + 1
    http1.until(lambda: len(load.lines) >= mark + n, seconds, f"{n} more intervals")
    return load.lines[mark:mark + n]


def shares_over(load, responses, seconds=60):
    """The shares over intervals that begin after now, as many as bring so many responses.  While sizes are unknown to an engine a class may be
    ahead or behind by its clients' requests: 10 to 15 responses, 1.9 % of 800."""
    mark = len(load.lines) + 1
    http1.until(lambda: sum(c["requests"] for line in load.lines[mark:] for c in line["classes"].values()) >= responses, seconds,
                f"{responses} responses")
    return shares(load.lines[mark:])
