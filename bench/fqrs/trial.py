# SPDX-License-Identifier: BSD-2-Clause
"""
trial.py - one contender on one cell: a field of its own (tests/lab/field.py), real servers, real clients, for so many seconds.

A cell says what the link, the servers and the clients are like; a contender says what is done about it.  What the clients ask for is a function in
crowds.py.  A trial's result is a plain dict, as result() makes it; what is told of the whole time is also told of each minute, "windows", from which
spreads come.  At 2 Mbit/s a trial takes a few percent of a core, so the contenders of a cell run side by side, each in namespaces of its
own: they see the same machine at the same time.

SIZES (lab/site.py).  The paper's lognormal (9.357, 1.318) has so long a tail that 300 s of it, 2,700 responses, have a mean that is off by 4 % (one
deviation), more than what is to be told apart.  Each class therefore draws from a deck of 256 sizes, the means of 256 slices of equal
probability, in random order and without repetition: the distribution and its mean, 27,656 bytes, stay.  The largest is 0.6 MB.
"""
import math
import os
import random
import statistics
import sys
import threading
import time

import crowds
from lab.field import RTTS_MIXED, RTTS_NONE, Field  # noqa: F401
from lab.lab import LabError, Origin, tree
from lab.load import Load, errors
from lab.site import deck_sizes
from lab.squid import Squid, fqrs, stock

WEIGHTS = (4, 2, 1)
NAMES = ("class1", "class2", "class3")
WARM_UP = 20        # s
WINDOW = 60         # s, over which shares are to hold
PROXY_PORT = 3128


class Cell:
    """
    What the contenders are put into.  clients: per class; an open loop has arrivals (requests/s per class) instead.  crowd: what they ask for; alike: all classes ask for the same
    pages.  workers: Squid's.  cache: Squid keeps what it may.
    """

    def __init__(self, name="default", rate="2mbit", limit=200_000, rtts=RTTS_MIXED, congestion="cubic", clients=(30, 30, 30), arrivals=None,
                 phases=None, crowd=crowds.pages, alike=False, workers=1, cache=False, wired=False):
        self.name, self.rate, self.limit, self.rtts, self.congestion = name, rate, limit, rtts, congestion
        self.clients, self.arrivals, self.phases = clients, arrivals, phases
        self.crowd, self.alike, self.workers, self.cache, self.wired = crowd, alike, workers, cache, wired

    @property
    def active(self):
        """Positions of the classes that want something."""
        return [i for i in range(3) if (self.arrivals or self.clients)[i]]

    def shares(self):
        """Percent of the bytes that each class is due."""
        total = sum(WEIGHTS[i] for i in self.active)
        return [100 * WEIGHTS[i] / total if i in self.active else 0.0 for i in range(3)]


ACLS = "".join(f"acl {n} src 10.1.{i}.0/24\n" for i, n in enumerate(NAMES, 1))


def rate_for(rate, part=1.0):
    units = {"kbit": 1e3, "mbit": 1e6, "gbit": 1e9}
    return float(rate[:-4]) * units[rate[-4:]] * part


def fqrs_config(cell, more="", weights=WEIGHTS, words=""):
    """words: what the classes are besides."""
    text = ACLS + f"fqrs on\nfqrs_link rate={int(rate_for(cell.rate))}bit\n"
    for n, w in zip(NAMES, weights):
        text += f"fqrs_class {n} weight={w} {words}\n"
    for n in NAMES:
        text += f"fqrs_access {n} allow {n}\n"
    return text + more


def pools_config(cell):
    """Delay pools, aggregate, a bucket a class: what stock Squid has.  A bucket holds half a second."""
    text = ACLS + "delay_pools 3\ndelay_initial_bucket_level 50\n"
    for i, (n, w) in enumerate(zip(NAMES, WEIGHTS), 1):
        bytes_per_s = int(rate_for(cell.rate) / 8 * w / sum(WEIGHTS))
        text += f"delay_class {i} 1\ndelay_parameters {i} {bytes_per_s}/{max(16384, bytes_per_s // 2)}\ndelay_access {i} allow {n}\ndelay_access {i} deny all\n"
    return text


def many_config(cell, directory, classes):
    """The same three classes at the end of so many, by a policy file: the others' networks are nobody's here."""
    path = os.path.join(directory, f"policy-{classes}.xml")
    with open(path, "w", encoding="utf-8") as f:
        f.write('<?xml version="1.0"?>\n<classification>\n')
        for i in range(classes - 3):
            f.write(f'<class id="{i + 10}" name="c{i}" quantum="{i % 7 + 1}"><src_ip_addr>10.{64 + i // 250}.{i % 250}.0/24</src_ip_addr></class>\n')
        for i, (n, w) in enumerate(zip(NAMES, WEIGHTS), 1):
            f.write(f'<class id="{i}" name="{n}" quantum="{w}"><src_ip_addr>10.1.{i}.0/24</src_ip_addr></class>\n')
        f.write("</classification>\n")
    return f"fqrs on\nfqrs_link rate={int(rate_for(cell.rate))}bit\nfqrs_policy {path}\n"


class Contender:
    """name; squid: which build, or None; config(cell, directory) -> squid.conf; shape(field): what else is done to the link."""

    def __init__(self, name, squid=None, config=lambda cell, directory: "", shape=lambda field: None):
        self.name, self.squid, self.config, self.shape = name, squid, config, shape


def tuned(name, more):
    """fqrs with other settings."""
    return Contender(name, fqrs, lambda cell, directory: fqrs_config(cell, more))


def many(classes, name=None):
    return Contender(name or f"classes{classes}", fqrs, lambda cell, directory: many_config(cell, directory, classes))


FQRS = tuned("fqrs", "")
SHORTEST = Contender("shortest", fqrs, lambda cell, directory: fqrs_config(cell, words="order=shortest"))
PAPER = tuned("paper", "fqrs_order rfq-paper\nfqrs_window wrc\n")
NONE = Contender("none")
STOCK = Contender("stock", stock)
POOLS = Contender("pools", stock, lambda cell, directory: pools_config(cell))
HTB = Contender("htb", shape=lambda field: field.shape_htb(WEIGHTS))
IFB = Contender("ifb", shape=lambda field: field.shape_ifb(WEIGHTS))
RIVALS = (NONE, STOCK, POOLS, HTB, IFB, PAPER)
PEERS = (STOCK, POOLS, HTB)             # what an admin knows


def jain(rates):
    return sum(rates) ** 2 / (len(rates) * sum(x * x for x in rates)) if any(rates) else 0.0


def jains(rows, weights, width):
    """Of each so many seconds."""
    bins = [[sum(col) for col in zip(*rows[i:i + width])] for i in range(0, len(rows) - width + 1, width)]
    return [jain([b / w for b, w in zip(x, weights)]) for x in bins]


def width_of(seconds):
    """Minutes, or a bit less, so that they fill the time; a third of what is shorter than three."""
    return max(5, seconds // max(3, round(seconds / WINDOW)))


class Trial:
    def __init__(self, lab, contender, cell, seconds, seed=1, warm_up=WARM_UP, watch=False):
        self.lab, self.contender, self.cell, self.seconds, self.seed, self.warm_up = lab, contender, cell, seconds, seed, warm_up
        self.watch = watch              # ask the cache manager once a second, too
        self.squid, self.processes, self.load, self.samples, self.reports = None, [], None, [], []
        self.over = threading.Event()

    def give_up(self):
        """Makes run() end soon, with its field taken down, from another thread."""
        self.over.set()
        if self.load and self.load.running():
            self.load.process.kill()

    def urls(self, field, position, scheme="http"):
        """The class's deck: each size at some server."""
        rng = random.Random(f"{self.seed}-{0 if self.cell.alike else position}")
        sizes = deck_sizes()
        servers = [field.server_addresses[i % len(field.server_addresses)] for i in range(len(sizes))]
        rng.shuffle(servers)
        path = os.path.join(self.lab.dir, f"urls-{self.contender.name}-{self.cell.name}-{self.seed}-{position}-{scheme}")
        with open(path, "w", encoding="utf-8") as f:
            f.writelines(f"{scheme}://{s}/size/{n}\n" for s, n in zip(servers, sizes))
        return path

    def way(self, field):
        """Words of clients who know of the proxy, if there is one."""
        return {"proxy": f"{field.gateway.address}:{PROXY_PORT}"} if self.contender.squid else {}

    def _sample(self, field, stop):
        begun = time.monotonic()
        while not stop.wait(0.2):
            now = time.monotonic() - begun
            self.samples.append((now, field.queue(), self._cpu()))
            if self.watch and self.squid and now > len(self.reports):
                self.reports.append((now, self.squid.json()))

    def _cpu(self):
        """CPU seconds of Squid's processes, of one thread each, to the nanosecond."""
        used = 0
        for pid in self.processes:
            try:
                with open(f"/proc/{pid}/schedstat", encoding="ascii") as f:
                    used += int(f.read().split()[0])
            except OSError:
                raise LabError(f"{self.squid.name}: a process has ended:\n{self.squid.log_end()}") from None
        return used / 1e9

    def run(self):
        field = Field(self.lab, self.cell.rate, self.cell.limit, self.cell.rtts, self.cell.congestion, self.cell.wired).start()
        try:
            origin = Origin(self.lab, address="0.0.0.0", tls_port=443).on(field.servers)
            origin.port = 80
            origin.start()
            self.contender.shape(field)
            if self.contender.squid:
                self.squid = Squid(self.lab, self.contender.squid(), self.contender.config(self.cell, self.lab.dir), name=f"squid-{self.contender.name}",
                                   intercept=True, cache=self.cell.cache, workers=self.cell.workers).on(field.gateway)
                if self.cell.cache:
                    self.squid.make_stores()
                self.squid.start()
                self.processes = tree(self.squid.pid)
                field.redirect(self.squid.extra_port)
            return self._measure(field)
        finally:
            if self.squid:
                self.squid.stop()
            field.stop()

    def _measure(self, field):
        stop = threading.Event()
        sampler = threading.Thread(target=self._sample, args=(field, stop), daemon=True)
        with Load(f"{field.servers.address}:80", self.cell.crowd(self, field), self.seconds, warmup=self.warm_up, interval=1, timeout=600, ramp=1,
                  seed=self.seed, prefix=field.clients.prefix) as load:
            self.load = load
            if self.over.wait(self.warm_up):
                raise LabError("given up")
            cpu, begun = self._cpu(), field.queue()
            clock = time.monotonic()
            sampler.start()
            try:
                result = load.result()
                took = time.monotonic() - clock
                ended = field.queue()
                cpu = self._cpu() - cpu
            finally:
                stop.set()
                sampler.join()
        if not result["total"]["status"].get("200"):
            raise LabError(f"{self.contender.name}, {self.cell.name}: nobody got a page: {result['total']['status']}, {result['total']['errors']}")
        return self.result(field, result, begun, ended, took, cpu)

    def windows(self, field, seconds):
        """What is told of the whole, of each minute or third."""
        width = width_of(len(seconds))
        weights, due = [WEIGHTS[i] for i in self.cell.active], [self.cell.shares()[i] for i in self.cell.active]
        made = []
        for start in range(0, len(seconds) - width + 1, width):
            rows = seconds[start:start + width]
            sums = [sum(col) for col in zip(*rows)]
            inside = [s for s in self.samples if start <= s[0] <= start + width]
            if not sum(sums) or len(inside) < 2:
                continue
            (_, first, cpu), (_, last, cpu_then) = inside[0], inside[-1]
            backlog = sorted(q[2] for _, q, _ in inside)
            made.append({
                "share_error": max(abs(100 * n / sum(sums) - d) for n, d in zip(sums, due)),
                "jain_5s": statistics.mean(jains(rows, weights, 5)), "jain_1s": statistics.mean(jains(rows, weights, 1)),
                "utilisation": (last[0] - first[0]) / (field.bytes_per_second * (inside[-1][0] - inside[0][0])),
                "drops": last[1] - first[1], "queue_median": backlog[len(backlog) // 2], "queue_p95": backlog[int(0.95 * (len(backlog) - 1))],
                "cpu_per_byte": (cpu_then - cpu) / sum(sums),
            })
        return made

    def result(self, field, load, begun, ended, took, cpu):
        names = [NAMES[i] for i in self.cell.active]
        seconds = [[line["classes"][n]["bytes"] for n in names] for line in load["intervals"]]
        weights = [WEIGHTS[i] for i in self.cell.active]
        backlog = sorted(q[2] for _, q, _ in self.samples) or [0]
        classes = {n: load["classes"][n] for n in names}
        total = max(1, sum(c["bytes"] for c in classes.values()))
        requests = max(1, sum(c["requests"] for c in classes.values()))
        due = dict(zip(NAMES, self.cell.shares()))
        return {
            "contender": self.contender.name, "cell": self.cell.name, "seconds": took,
            "shares": {n: 100 * classes[n]["bytes"] / total for n in names},
            "share_error": max(abs(100 * classes[n]["bytes"] / total - due[n]) for n in names),
            "jain_5s": statistics.mean(jains(seconds, weights, 5)) if len(seconds) >= 5 else math.nan, "jain_1s": statistics.mean(jains(seconds, weights, 1)),
            "windows": self.windows(field, seconds),
            "gap": max(c["gap_s"] for c in classes.values()),
            "utilisation": (ended[0] - begun[0]) / (field.bytes_per_second * took),
            "drops": ended[1] - begun[1], "queue_median": backlog[len(backlog) // 2], "queue_p95": backlog[int(0.95 * (len(backlog) - 1))],
            "queue_mean": statistics.mean(backlog),
            "mean": {n: classes[n]["latency_ms"]["mean"] / 1000 for n in names},
            "p99": {n: classes[n]["latency_ms"]["p99"] / 1000 for n in names},
            "mean_all": sum(c["latency_ms"]["mean"] * c["requests"] for c in classes.values()) / requests / 1000,
            "requests": requests, "bytes": total, "cpu": cpu, "errors": errors(load), "missed": load["total"]["missed"],
            "statuses": load["total"]["status"], "by_second": seconds, "queue": [(round(t, 1), q[2]) for t, q, _ in self.samples],
            "reports": [(round(t, 1), {k: r[k] for k in ("window", "outstanding", "queued", "bytes")}) for t, r in self.reports],
            "manager": self.squid.json() if self.squid and self.contender.squid is fqrs else None,
        }


def side_by_side(lab, trials):
    """Runs them all at the same time; their results in the same order.  The first that fails ends them all."""
    results, failures = [None] * len(trials), []

    def one(i, t):
        try:
            results[i] = t.run()
        except Exception as e:      # to be raised again by who waits for it
            failures.append(e)
    threads = [threading.Thread(target=one, args=(i, t), daemon=True) for i, t in enumerate(trials)]
    for t in threads:
        t.start()
    try:
        while not failures and any(t.is_alive() for t in threads):
            time.sleep(0.1)
    finally:
        for t in trials if failures or sys.exc_info()[0] else ():
            t.give_up()
        for t in threads:
            t.join(60)
    if failures:
        raise failures[0]
    return results
