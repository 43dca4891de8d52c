# SPDX-License-Identifier: BSD-2-Clause
"""
dear_answers.py - cheap bytes, dear seconds: eight people, and thirty crawlers of a tenth of their weight whose answers are small and slow.

People ask for pages of 2 KB that take 25 ms; crawlers for 200 bytes that take a second: all of it, its header (HEAD), or a range of a larger page.  By bytes crawlers are cheap and have
the slots.  People's due is what they have when alone, as far as their weight's part of the slots goes; they are no more than the slots, so one of theirs is free for a moment whenever an
answer is read.

    dear_slot_due_ratio     people's part of the time in slots / their weight's part of it, worst of the three; the default charge
    dear_alone_ratio        their pages/s / (those that they have when alone x their weight's part), likewise
    dear_slot_due_ratio_bytes, _time, _both     the first for each charge, whole answers; no goal, and only in a whole bench

What others make of it is in peers.py.
"""
from setting import clients, ok_per_s
from spread import Spread, worst

WEIGHTS = {"people": 10, "crawlers": 1}
PART = 10 / 11
PEOPLE = [clients("people", 1, url="/size/2048?delay=25", source=f"127.0.1.{i}") for i in range(1, 9)]


def crawlers(**words):
    """Each with an address of its own, like the people."""
    return [clients("crawlers", 1, source=f"127.0.2.{i}", **words) for i in range(1, 31)]


KINDS = {
    "GET": crawlers(url="/size/200?delay=1000"),
    "HEAD": crawlers(url="/size/200?delay=1000", method="HEAD"),
    "ranges": crawlers(url="/size/8192?delay=1000", header=["Range: bytes=0-199"]),
}


def pair(bench, charge, kind):
    """(people's part of the slots / due, pages/s / due) once."""
    seconds, warmup = bench.size(10, 5), bench.size(8, 5)
    with bench.gateway(bench.origin(), WEIGHTS, charge) as g:
        alone = bench.measure(g, PEOPLE, bench.size(4, 1), 0.5)
        with_them = bench.measure(g, PEOPLE + KINDS[kind], seconds, warmup)
    return with_them.slot_part("people") / PART, with_them.ok_per_s("people") / (PART * alone.ok_per_s("people"))


def alone_ratio(bench, server):
    """dear_alone_ratio of any server, by what its clients see."""
    with server:
        alone = bench.seen(server, PEOPLE, bench.size(3, 1), 0.5)
        found = bench.seen(server, PEOPLE + [{**k, "retry": 1000} for k in KINDS["GET"]], bench.size(10, 2), 2)
    them = found["classes"]["crawlers"]
    bench.say(f"{server.name}: people {ok_per_s(found, 'people'):.1f} pages/s, {ok_per_s(alone, 'people'):.1f} alone; answers to crawlers {them['status']}")
    return ok_per_s(found, "people") / (PART * ok_per_s(alone, "people"))


def measure(bench):
    slots, alone = [], []
    for kind in KINDS:
        found, spread = bench.repeat(lambda kind=kind: pair(bench, None, kind), lambda rows: Spread.of([r[0] for r in rows]), ">= 0.9", least=bench.size(2, 1))
        slots.append(spread)
        alone.append(Spread.of([r[1] for r in found]))
        bench.say(f"{kind}: people have {slots[-1]:.3f} of their part of the slots, {alone[-1]:.3f} of the pages that they have at that part when alone")
    bench.figure("dear_slot_due_ratio", worst(slots, min), "of its due", ">= 0.9")
    bench.figure("dear_alone_ratio", worst(alone, min), "of its due", ">= 0.85")


def measure_charges(bench):
    for charge in () if bench.quick else ("bytes", "time", "both"):
        bench.figure(f"dear_slot_due_ratio_{charge}", pair(bench, charge, "GET")[0], "of its due")


FAMILIES = [
    (measure, ("dear_slot_due_ratio", "dear_alone_ratio")),
    (measure_charges, ("dear_slot_due_ratio_bytes", "dear_slot_due_ratio_time", "dear_slot_due_ratio_both")),
]
