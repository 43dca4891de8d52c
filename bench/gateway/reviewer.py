# SPDX-License-Identifier: BSD-2-Clause
"""
reviewer.py - eight people, and thirty crawlers of a tenth of their weight whose answers are small and slow.

People ask for pages of 2 KB that take 25 ms; crawlers for 200 bytes that take a second: all of it, its header (HEAD), or a range of a larger page.  By bytes crawlers are cheap and have
the slots.  People's due is what they have when alone, as far as their weight's part of the slots goes; they are no more than the slots, so one of theirs is free for a moment whenever an
answer is read.

    reviewer_slot_due_ratio     people's part of the time in slots / their weight's part of it, worst of the three; the default charge
    reviewer_alone_ratio        their pages/s / (those that they have when alone x their weight's part), likewise
    reviewer_slot_due_ratio_bytes, _time, _both     the first for each charge; no goal
    reviewer_off_ratio          the second without the module; no goal
    reviewer_peer_haproxy, _nginx, _mod_qos         the second, of the others as their manuals advise: strict priority; limits of concurrency per class
"""
import os

from setting import WINDOW, clients, ok_per_s
from spread import Spread, worst

from lab.httpd import HTTPD_MODULES, Haproxy, Httpd, Nginx

WEIGHTS = {"people": 10, "crawlers": 1}
PART = 10 / 11
PEOPLE = clients("people", 8, url="/size/2048?delay=25")
KINDS = {
    "GET": clients("crawlers", 30, url="/size/200?delay=1000"),
    "HEAD": clients("crawlers", 30, url="/size/200?delay=1000", method="HEAD"),
    "ranges": clients("crawlers", 30, url="/size/8192?delay=1000", header=["Range: bytes=0-199"]),
}
PCRE = "/usr/lib/x86_64-linux-gnu/libpcre.so.3"


def pair(bench, charge, kind):
    """(people's part of the slots / due, pages/s / due) once."""
    seconds, warmup = bench.size(15, 4), bench.size(8, 3)
    with bench.gateway(bench.origin(), WEIGHTS, charge) as g:
        alone = bench.measure(g, [PEOPLE], bench.size(5, 2), 0.5)
        with_them = bench.measure(g, [PEOPLE, KINDS[kind]], seconds, warmup)
    return with_them.slot_part("people") / PART, with_them.ok_per_s("people") / (PART * alone.ok_per_s("people"))


def measure(bench):
    slots, alone = [], []
    for kind in KINDS:
        found, spread = bench.repeat(lambda kind=kind: pair(bench, None, kind), lambda rows: Spread.of([r[0] for r in rows]), ">= 0.9", least=bench.size(3, 1))
        slots.append(spread)
        alone.append(Spread.of([r[1] for r in found]))
        bench.say(f"{kind}: people have {slots[-1]:.3f} of their part of the slots, {alone[-1]:.3f} of the pages that they have at that part when alone")
    bench.figure("reviewer_slot_due_ratio", worst(slots, min), "of its due", ">= 0.9")
    bench.figure("reviewer_alone_ratio", worst(alone, min), "of its due", ">= 0.85")


def measure_charges(bench):
    for charge in ("bytes", "time", "both"):
        found = [pair(bench, charge, kind) for kind in (KINDS if not bench.quick else ("GET",))]
        bench.figure(f"reviewer_slot_due_ratio_{charge}", min(r[0] for r in found), "of its due")


def others(bench):
    to = bench.origin().url
    acl = ("acl people req.hdr(x-class) -m str people", "http-request set-priority-class int(-1) if people")
    yield "off", bench.without_module(bench.origin())
    yield "peer_haproxy", Haproxy(bench.lab, proxy=to, maxconn=WINDOW, frontend=acl)
    yield "peer_nginx", Nginx(bench.lab, proxy=to, http='map $http_x_class $crawler { "crawlers" 1; default ""; } limit_conn_zone $crawler zone=c:1m; limit_conn_log_level info;',
                              server="limit_conn c 1;")
    if os.path.exists(f"{HTTPD_MODULES}/mod_qos.so") and os.path.exists(PCRE):
        yield "peer_mod_qos", Httpd(bench.lab, name="mod-qos", proxy=to, threads=75, early=f"LoadFile {PCRE}\nLoadModule qos_module {HTTPD_MODULES}/mod_qos.so\n",
                                    config="SetEnvIf X-Class crawlers crawlers\nQS_EventRequestLimit crawlers 1\n")


def measure_others(bench):
    for name, server in others(bench):
        with server:
            alone = bench.seen(server, [PEOPLE], bench.size(5, 2), 0.5)
            found = bench.seen(server, [PEOPLE, {**KINDS["GET"], "retry": 1000}], bench.size(15, 3), 2)
        crawlers, refused = found["classes"]["crawlers"]["requests"], found["classes"]["crawlers"]["status"].get("503", 0)
        bench.say(f"{server.name}: people {ok_per_s(found, 'people'):.1f} pages/s, {ok_per_s(alone, 'people'):.1f} alone; {refused} of {crawlers} answers to crawlers are refusals")
        bench.figure(f"reviewer_{name}" + ("_ratio" if name == "off" else ""), ok_per_s(found, "people") / (PART * ok_per_s(alone, "people")), "of its due")


FAMILIES = [
    (measure, ("reviewer_slot_due_ratio", "reviewer_alone_ratio")),
    (measure_charges, ("reviewer_slot_due_ratio_bytes", "reviewer_slot_due_ratio_time", "reviewer_slot_due_ratio_both")),
    (measure_others, ("reviewer_off_ratio", "reviewer_peer_haproxy", "reviewer_peer_nginx", "reviewer_peer_mod_qos")),
]
