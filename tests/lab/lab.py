# SPDX-License-Identifier: BSD-2-Clause
"""
lab.py - a temporary directory with servers in it.

    with Lab("drr") as lab:
        origin = Origin(lab, workers=16, delay_ms=50).start()
        gateway = Httpd(lab, proxy=origin.url).start()

Leaving the block stops every server that was started, last first, and removes the directory; after an exception it is kept and its path
said.  Every wait is for a condition with a deadline.  Only processes that were started here are ever signalled: each server leads a process
group of its own.

Programs of the house are taken from the build directory: $FAIRGATE_BUILD, or build/ in the checkout.
"""
import contextlib
import glob
import json
import os
import random
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TICKS = os.sysconf("SC_CLK_TCK")


class LabError(Exception):
    """A server did not do what the lab asked of it; the text says which and shows the end of its log."""


def build_directory():
    return os.environ.get("FAIRGATE_BUILD", os.path.join(ROOT, "build"))


def program(path):
    """The program of the house at this path of the build directory, e.g. program("tests/lab/fairgate-load")."""
    full = os.path.join(build_directory(), path)
    if not os.path.exists(full):
        raise LabError(f"{full} is not built: run make, or set FAIRGATE_BUILD to the build directory")
    return full


def module(name="mod_qos_drr"):
    return program(f"{name}/.libs/{name}.so")


def wait_for(condition, seconds, what):
    """Returns the first true value of condition(); raises LabError when there is none in time."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() >= end:
            raise LabError(f"{what}: not within {seconds} s")
        time.sleep(0.01)


PORTS = range(20000, 32000)     # outside the range from which the kernel takes ports for outgoing connections
BLOCK = 50
claims = []                     # sockets, each of which keeps a block for us
free = []                       # ports of those blocks that nobody was given


def claim_ports():
    """Another block of ports, which no other lab on this machine has while this process lives: a name that the kernel gives to one socket at a
    time, and in one network namespace, just as ports are.  So several runs of tests may stand side by side."""
    for first in random.SystemRandom().sample(PORTS[::BLOCK], len(PORTS[::BLOCK])):
        s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            s.bind(f"\0fairgate-ports-{first}")
        except OSError:
            s.close()
            continue
        claims.append(s)
        free.extend(range(first, first + BLOCK))
        return
    raise LabError(f"no free ports: all blocks of {BLOCK} between {PORTS[0]} and {PORTS[-1]} are taken by other labs")


def free_port():
    """A port that nobody listens on and nobody was given."""
    while True:
        if not free:
            claim_ports()
        port = free.pop()
        with socket.socket() as s:
            try:
                s.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue


@contextlib.contextmanager
def kept_lab(name, keep):
    """A Lab whose directory stays if keep() says so at its end."""
    made = Lab(name)
    try:
        yield made
    finally:
        made.close(keep=keep())


def whole_lines(text):
    """Without one that is being written."""
    return text[:text.rfind("\n") + 1].splitlines()


def process_stats():
    """{pid: (parent, its CPU seconds with those of its children that have ended)} of every process there is."""
    stats = {}
    for path in glob.glob("/proc/[0-9]*/stat"):
        try:
            with open(path) as f:
                text = f.read()
        except OSError:
            continue
        # The name may hold anything, so count from its closing parenthesis.
        w = text[text.rindex(")") + 2:].split()
        stats[int(text.split(None, 1)[0])] = (int(w[1]), sum(map(int, w[11:15])) / TICKS)
    return stats


def tree(pid, stats=None):
    """pid and all processes below it."""
    stats = stats or process_stats()
    below = {}
    for p, (parent, _) in stats.items():
        below.setdefault(parent, []).append(p)
    found, todo = [], [pid]
    while todo:
        p = todo.pop()
        if p in stats:
            found.append(p)
            todo += below.get(p, [])
    return found


class Lab:
    def __init__(self, name="lab", keep=False):
        self.keep = keep
        self.dir = tempfile.mkdtemp(prefix=f"fairgate-{name}-")
        # Servers that give up root must still get at their files.
        os.chmod(self.dir, 0o755)
        self.servers = []

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        self.close(keep=kind is not None and not issubclass(kind, KeyboardInterrupt))

    def close(self, keep=False):
        for s in reversed(list(self.servers)):       # one that stops may stop others, too
            s.stop()
        self.servers = []
        if keep or self.keep:
            print(f"logs and configurations are kept in {self.dir}", file=sys.stderr)
        else:
            shutil.rmtree(self.dir, ignore_errors=True)


class Server:
    """A process in the lab.  Subclasses give self.argv (a function), self.port, and maybe configure() and ready()."""

    name = "server"
    host = "127.0.0.1"
    prefix = ()             # in front of its command

    def __init__(self, lab, name=None):
        self.lab = lab
        self.name = name or self.name
        self.dir = tempfile.mkdtemp(prefix=f"{self.name}-", dir=lab.dir)
        os.chmod(self.dir, 0o755)
        self.port = free_port()
        self.process = None
        self.output = os.path.join(self.dir, "output")

    @property
    def url(self):
        return f"http://{self.address}"

    @property
    def address(self):
        return f"{self.host}:{self.port}"

    def on(self, link):
        """It is to run on the host behind this link (link.py)."""
        self.host, self.prefix = link.address, tuple(link.prefix)
        return self

    @property
    def pid(self):
        return self.process.pid

    def path(self, name):
        return os.path.join(self.dir, name)

    def write(self, name, text):
        with open(self.path(name), "w") as f:
            f.write(text)
        os.chmod(self.path(name), 0o644)
        return self.path(name)

    def configure(self):
        """Writes what the server reads at its start."""

    def argv(self):
        raise NotImplementedError

    def environment(self):
        return None

    def ready(self):
        with socket.socket() as s:
            s.settimeout(1)
            return s.connect_ex((self.host, self.port)) == 0

    def start(self, seconds=20):
        self.configure()
        with open(self.output, "ab") as out:
            self.process = subprocess.Popen([*self.prefix, *self.argv()], stdin=subprocess.DEVNULL, stdout=out, stderr=out, cwd=self.dir,
                                            env=self.environment(), start_new_session=True, preexec_fn=most_files)
        self.lab.servers.append(self)

        def up():
            if self.process.poll() is not None:
                raise LabError(f"{self.name} ended with {self.process.returncode} at its start:\n{self.log_end()}")
            return self.ready()
        try:
            wait_for(up, seconds, f"{self.name} listening on {self.address}")
        except LabError:
            self.stop()
            raise
        return self

    def stop(self, seconds=10):
        """Ends it and all it started; what it does not end itself within the time is killed."""
        if self.process is None:
            return
        try:
            if self.process.poll() is None:
                self.process.send_signal(signal.SIGTERM)
                self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            pass
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        self.process = None
        if self in self.lab.servers:
            self.lab.servers.remove(self)

    def alive(self):
        return self.process is not None and self.process.poll() is None

    def children(self):
        """Processes directly below it."""
        return sorted(p for p, (parent, _) in process_stats().items() if parent == self.pid)

    def cpu(self):
        """CPU seconds used so far by it and all below it, those that have ended and were waited for included."""
        stats = process_stats()
        return sum(stats[p][1] for p in tree(self.pid, stats))

    def memory(self):
        """Bytes of memory of it and all below it: proportional set size, so that shared pages count once."""
        return self._proportional("Pss:")

    def own_memory(self):
        """The same of what is in no file and not shared but by a fork.  Programs' and libraries' pages are others' too: of these it has more when other servers end."""
        return self._proportional("Pss_Anon:")

    def _proportional(self, word):
        total = 0
        for p in tree(self.pid):
            try:
                with open(f"/proc/{p}/smaps_rollup") as f:
                    total += sum(int(line.split()[1]) * 1024 for line in f if line.startswith(word))
            except OSError:
                continue
        return total

    def log_files(self):
        return [self.output]

    def log(self):
        text = ""
        for path in self.log_files():
            if os.path.exists(path):
                with open(path, errors="replace") as f:
                    text += f.read()
        return text

    def log_end(self, lines=20):
        return "\n".join(self.log().splitlines()[-lines:])

    def __enter__(self):
        return self if self.alive() else self.start()

    def __exit__(self, *exception):
        self.stop()


def most_files():
    """Runs in the child before the server does: as many open files as the system lets us have."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


class Origin(Server):
    """fairgate-origin; its options as keywords: workers=16, delay_ms=50, alternate=20, fast_ms=0, knee=8, slope=0.1, spread=10."""

    name = "origin"

    def __init__(self, lab, name=None, **options):
        super().__init__(lab, name)
        self.options = options

    def argv(self):
        words = [program("tests/lab/fairgate-origin"), "--port", str(self.port)]
        for k, v in self.options.items():
            words += ["--" + k.replace("_", "-"), str(v)]
        return words

    def _get(self, path):
        with urllib.request.urlopen(self.url + path, timeout=10) as r:
            return json.load(r)

    def stat(self, reset=False):
        """Its counts, as origin.h lists them."""
        return self._get("/stat?reset" if reset else "/stat")

    def open(self):
        """Lets requests with "gate" go, those that wait and those that come."""
        self._get("/open")

    def shut(self):
        self._get("/shut")
