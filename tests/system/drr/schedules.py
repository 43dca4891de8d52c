# SPDX-License-Identifier: BSD-2-Clause
"""Random schedules for a real gateway, and what is due to each class in them.

A schedule draws the backend's workers, the window, two to five classes, and for each class its weight, clients, pauses, page times from 1 ms to 3 s, when it
comes and leaves, and what its clients do (plain pages, self-requests, slow readers, aborts).

RULE 1.  A class that has requests waiting during all of an interval of 10 s has at least 0.85 of its due of slot time there:

    due = integral of (window - what classes without a queue use - reserve) x weight / weight of the classes with a queue

- The reserve is that of core/rs_reserve.h: while brief requests come, a sixteenth of the window and the demand of their classes, each at most its share by
  weight, are no long request's.  Demand is the mean number of requests over 5 s.
- A slot is not taken back: two of the longest pages are granted, one at either end of the interval.
- What a class had beyond its due before the interval counts in it.
- What parked requests occupy counts as slot time of their class, which is due no more than its share (core/rs_occupied.h).
- Each request that is given up in the middle of its response is charged 100 ms more at most: the backend still works at it.

RULE 2.  A class that pauses between brief pages, and uses no more than half of its share, has at least 0.85 of the pages that it would have alone.  A client
without a wait needs (page + pause) for a page, one with a wait (page + pause + wait).  The page time is the measured one, so that a busy machine counts for
nothing.  One longest page of wait for each client is granted: they may come when it begins.  Slots are reserved whole.  If the brief requests of all classes
need less than one, with a sixteenth of the window, none is reserved, and each waits until the next slot is released: the longest page / window is granted.

Samples of the status page give the numbers of requests and the slot time, which the module measures from a request's release to its end.  A sampler that is
late by more than GAP_S has not seen whether requests waited: no interval spans that time.
"""

import json
import math
import random
import threading
import time
import urllib.parse

import http1

INTERVAL_S = 10
WARMUP_S = 3
RUN_S = 17
LEAST = 0.85
EVERY_S = 0.1
GAP_S = 1.0         # a sampler that is late by more than this has not seen whether requests waited
ACTIVE_S = 5.0      # rs_reserve.h: how long demand is remembered
QUIET_S = 10.0      # rs.h, RS_WINDOW_QUIET: so long other classes bound what slow readers occupy
BRIEF_S = 0.25
GIVEN_UP_S = 0.1    # qos_account.c: what one that hangs up is charged beyond what it had
LONGEST_MS = 3000
FULL = 1.5

SELF_PAGE = """<?php
usleep((int)$_GET['us']);
$got = @file_get_contents($_GET['url'], false, stream_context_create(['http' => ['timeout' => 60]]));
if ($got === false) http_response_code(502);
header('Content-Type: text/plain');
echo strlen((string)$got);
"""


def log_uniform(r, least, most):
    return math.exp(r.uniform(math.log(least), math.log(most)))


class Class:
    """Of the schedule: its words for the module and for fairgate-load."""

    def __init__(self, r, number, workers):
        self.name = f"c{number}"
        self.number = number
        self.weight = r.randint(1, 10)
        self.clients = r.randint(1, 3 * workers)
        self.within = r.random() < 0.5
        self.think_ms = round(log_uniform(r, 100, 3000)) if r.random() < 0.5 else 0
        page = log_uniform(r, 1, LONGEST_MS / 2)
        self.pages_ms = [round(page, 1)]
        if r.random() < 0.5:        # a heavy tail: few pages have most of the time
            self.pages_ms = [round(page, 1)] * r.choice((4, 9, 19)) + [round(min(LONGEST_MS, page * r.choice((10, 30, 100))), 1)]
        self.kind = r.choice(("plain", "plain", "plain", "self", "slow", "abort", "abort-body"))
        self.size = round(log_uniform(r, 200_000, 2_000_000)) if self.kind in ("slow", "abort-body") else round(log_uniform(r, 100, 20_000))
        self.rate = round(log_uniform(r, 100_000, 1_000_000)) if self.kind in ("slow", "abort-body") else 0
        self.abort_ms = round(log_uniform(r, 20, 1500)) if self.kind.startswith("abort") else 0
        self.begins_s, self.ends_s = 0, 0
        if r.random() < 1 / 3:
            self.begins_s = round(r.uniform(0.5, 6), 1)
            self.ends_s = round(self.begins_s + r.uniform(3, 12), 1) if r.random() < 0.5 else 0
        self.arrivals = round(log_uniform(r, 1, 60), 1) if r.random() < 1 / 6 else 0

    def longest_s(self):
        return max(self.pages_ms) / 1000

    def demand(self):
        """The slots that its clients would keep if there were enough."""
        page = sum(self.pages_ms) / len(self.pages_ms)
        return self.arrivals * page / 1000 if self.arrivals else self.clients * page / (page + self.think_ms)

    def is_brief(self):
        """Some of its pages are; self.pages_ms[0] is the most frequent one."""
        return min(self.pages_ms) / 1000 <= BRIEF_S

    def directive(self):
        return f"QosClass {self.name} weight={self.weight}{' within=client' if self.within else ''}{' default' if not self.number else ''}\n"

    def urls(self, port):
        for ms in self.pages_ms:
            if self.kind == "self":
                inner = urllib.parse.quote(f"http://127.0.0.1:{port}/o/size/{self.size}?delay={ms / 2}", safe="")
                yield f"/php/self.php?us={round(ms * 500)}&url={inner}"
            else:
                yield f"/o/size/{self.size}?delay={ms}"

    def load(self, port):
        words = dict(name=self.name, clients=self.clients, url=list(self.urls(port)), think=self.think_ms, source=f"127.{20 + self.number}.0.0/24",
                     header=[f"X-Class: {self.name}", "X-Forwarded-For: 203.0.113.9"])
        return {**words, **{k: v for k, v in dict(rate=self.rate, abort=self.abort_ms, arrivals=self.arrivals, until=self.ends_s).items() if v},
                **{"from": self.begins_s for _ in range(self.begins_s > 0)}}

    def __str__(self):
        tail = f", one of {len(self.pages_ms)} {self.pages_ms[-1]:g} ms" if len(self.pages_ms) > 1 else ""
        return (f"{self.name}: {self.kind}, weight {self.weight}{', within' if self.within else ''}, {self.clients} clients, page {self.pages_ms[0]:g} ms{tail}, "
                f"{self.size} bytes, think {self.think_ms} ms, rate {self.rate} bytes/s, abort after {self.abort_ms} ms, arrivals {self.arrivals}/s, "
                f"from {self.begins_s} to {self.ends_s or RUN_S} s")


class Schedule:
    def __init__(self, seed):
        r = random.Random(seed)
        self.seed = seed
        self.workers = r.randint(2, 16)
        self.auto = r.random() < 0.25
        self.mpm = r.choice(("event", "event", "event", "worker"))
        self.delay_ms = r.choice((0, 0, 800))
        self.classes = []
        while sum(c.demand() for c in self.classes) < FULL * self.workers:      # without queues nothing is shared
            self.classes = [Class(r, i, self.workers) for i in range(r.randint(2, 5))]

    def window(self):
        return "auto max=16" if self.auto else self.workers

    def directives(self):
        return "".join(c.directive() for c in self.classes)

    def more(self):
        return f"QosSelf host\nQosDelay {self.delay_ms}\n"

    def longest_s(self):
        return max(c.longest_s() for c in self.classes)

    def __str__(self):
        lines = [f"seed {self.seed}: {self.workers} workers, window {self.window()}, {self.mpm}, QosDelay {self.delay_ms}"]
        return "\n    ".join(lines + [str(c) for c in self.classes])


# ---- what is seen ------------------------------------------------------------------------------------------------------------------------

class Seen:
    """One look at the status page.  classes: a dict of each, in the schedule's order."""

    def __init__(self, at, status, names):
        by_name = {c["name"]: c for c in status["classes"]}
        self.at, self.window = at, status["window"]
        self.classes = [by_name[name] for name in names]


class Sampler:
    """Looks every EVERY_S while its block runs.  seen: what it saw."""

    def __init__(self, gateway, names):
        self.gateway, self.names, self.seen, self.over = gateway, names, [], threading.Event()
        self.thread = threading.Thread(target=self.look, daemon=True)

    def look(self):
        with self.gateway.connect(deadline=60) as c:
            while not self.over.wait(EVERY_S):
                answer = c.ask("GET", "/qos-status?json")
                self.seen.append(Seen(time.monotonic(), json.loads(answer.body), self.names))

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join(60)


# ---- what is due -------------------------------------------------------------------------------------------------------------------------

class Verdict:
    """part: the least part of its due that a class had, and where."""

    def __init__(self):
        self.part, self.text = math.inf, "no class had requests waiting for so long"

    def take(self, part, text):
        if part < self.part:
            self.part, self.text = part, text


def present(c):
    return c["queued"] + c["outstanding"] + c["parked"]


class Dues:
    """Slot time and due of each class, summed up to each sample."""

    def __init__(self, schedule, seen):
        self.schedule, self.seen = schedule, seen
        n = len(schedule.classes)
        self.had = [[s.classes[i]["slot_s"] + self.given_up(i) * s.classes[i]["aborted"] for s in seen] for i in range(n)]
        self.due = [[0.0] for _ in range(n)]
        self.reserves = []
        self.waits = [[0] for _ in range(n)]        # samples in a row with a queue
        for k in range(1, len(seen)):
            for i, due in enumerate(self.step(k)):
                self.due[i].append(self.due[i][-1] + due)
                late = seen[k].at - seen[k - 1].at > GAP_S
                self.waits[i].append(self.waits[i][-1] + 1 if self.queues(i, k) and not late else 0)

    def given_up(self, i):
        return min(GIVEN_UP_S, self.schedule.classes[i].abort_ms / 1000)

    def queues(self, i, k):
        return self.seen[k - 1].classes[i]["queued"] > 0 and self.seen[k].classes[i]["queued"] > 0

    def recent(self, i, k, seconds=ACTIVE_S):
        """Numbers of its requests in the last so many seconds."""
        since = self.seen[k].at - seconds
        return [present(s.classes[i]) for s in self.seen[max(0, k - int(seconds / EVERY_S)):k + 1] if s.at >= since]

    def mean(self, i, k, name):
        return (self.seen[k - 1].classes[i][name] + self.seen[k].classes[i][name]) / 2

    def step(self, k):
        classes, seconds = self.schedule.classes, self.seen[k].at - self.seen[k - 1].at
        window = (self.seen[k].window + self.seen[k - 1].window) / 2
        recent = [self.recent(i, k) for i in range(len(classes))]
        active = sum(c.weight for c, r in zip(classes, recent) if any(r)) or 1
        waiting = sum(c.weight for i, c in enumerate(classes) if self.queues(i, k))
        shares = [window * c.weight / active for c in classes]
        quiet = sum(c.weight for i, c in enumerate(classes) if any(self.recent(i, k, QUIET_S))) or 1
        occupied = [window * c.weight / quiet for c in classes]
        used = [(self.had[i][k] - self.had[i][k - 1]) / seconds for i in range(len(classes))]
        slots = [min(u, self.mean(i, k, "outstanding")) if self.mean(i, k, "parked") else u for i, u in enumerate(used)]
        briefs = [min(share, sum(r) / len(r)) if c.is_brief() else 0 for c, share, r in zip(classes, shares, recent)]
        self.reserves.append(sum(briefs) + window / 16 if any(briefs) else 0)
        left = window - (window / 16 if any(briefs) else 0)
        left -= sum(max(slots[i], briefs[i]) for i in range(len(classes)) if not self.queues(i, k))
        for i, c in enumerate(classes):
            due = max(0, left) * c.weight / waiting if self.queues(i, k) else min(used[i], shares[i])
            yield (min(due, occupied[i]) if self.mean(i, k, "parked") else due) * seconds

    def judge_shares(self, verdict):
        for i, c in enumerate(self.schedule.classes):
            grant = 2 * max(self.schedule.longest_s(), c.longest_s())
            since = 0
            for k in range(len(self.seen)):
                while self.seen[k].at - self.seen[since].at > INTERVAL_S:
                    since += 1
                before = since - 1
                if before < 0 or self.waits[i][k] < k - before:
                    continue
                had, due = self.had[i][k] - self.had[i][before], self.due[i][k] - self.due[i][before]
                ahead = max(0, self.had[i][before] - self.had[i][0] - self.due[i][before])
                if due > 0:
                    verdict.take((had + ahead + grant) / due, f"{c.name} had {had:.1f} s of slots and {ahead:.1f} s before, of {due:.1f} s, "
                                 f"in the 10 s until {self.seen[k].at - self.seen[0].at:.1f} s")

    def none_reserved(self):
        """The part of the time in which perhaps no whole slot is reserved: samples do not tell demand better than to a quarter of a slot."""
        return sum(r < 1.25 for r in self.reserves) / len(self.reserves)

    def judge_pauses(self, verdict):
        last, first = self.seen[-1], self.seen[0]
        window = sum(s.window for s in self.seen) / len(self.seen)
        for i, c in enumerate(self.schedule.classes):
            share = window * c.weight / sum(o.weight for o in self.schedule.classes)
            released = last.classes[i]["released"] - first.classes[i]["released"]
            slot_s = self.had[i][-1] - self.had[i][0]
            if c.kind != "plain" or not c.think_ms or c.arrivals or max(c.pages_ms) / 1000 > BRIEF_S or not released:
                continue
            page = slot_s / released
            if c.clients * page / (page + c.think_ms / 1000) > share / 2:
                continue
            wait = (last.classes[i]["wait_ms_mean"] * last.classes[i]["released"] - first.classes[i]["wait_ms_mean"] * first.classes[i]["released"]) / 1000
            wait = max(0, wait - c.clients * self.schedule.longest_s()) / released
            wait = max(0, wait - self.none_reserved() * self.schedule.longest_s() / window)
            alone = page + c.think_ms / 1000
            verdict.take(alone / (alone + wait), f"{c.name} waited {wait * 1000:.0f} ms for a page of {page * 1000:.0f} ms, think {c.think_ms} ms; no slot reserved for {self.none_reserved():.2f} of the time")
