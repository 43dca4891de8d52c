# SPDX-License-Identifier: BSD-2-Clause
"""
peers.py - what others make of the same cases in the same run: mod_proxy alone, haproxy, nginx, mod_qos.

Each is set up for the case as its manual advises: told in its own words who is to be preferred, how many requests of the others may be at the server at one time, and how many
connections and requests/s one address may have.  peers() gives them as servers that are not started; a family that wants to compare itself asks for them.

    dear_alone_ratio_PEER               of dear_answers.py; no goal, as in all of these
    hung_backend_p95_ratio_PEER         of hung.py; this and those below only in a whole bench
    many_connections_p95_ratio_PEER     of crowds.py
    swarm_member_p95_ratio_PEER, swarm_first_page_3s_PEER       of swarm.py, which has those without any module itself

PEER is off (mod_proxy alone), haproxy, nginx or mod_qos.  The nearest rival, Caddy's module for fair admission, is in no package: rival.py compares with it where a caddy with it is
installed.
"""
import os

import crowds
import dear_answers
import hung
import swarm
from setting import WINDOW

from lab.httpd import HTTPD_MODULES, Haproxy, Httpd, Nginx
from lab.lab import Origin

NAMES = ("off", "haproxy", "nginx", "mod_qos")
PCRE = "/usr/lib/x86_64-linux-gnu/libpcre.so.3"
CONNECTIONS = 10        # of one address
RATE = 20               # requests/s of one address, over ten seconds


def haproxy(bench, to, best, rest, first):
    """A queue before the server in the order of priorities; a stick table of addresses; others beyond their rate are last, and those with too many connections are refused."""
    lines = ["stick-table type ip size 200k expire 30s store conn_cur,http_req_rate(10s)", "http-request track-sc0 src", f"acl many sc_conn_cur(0) gt {CONNECTIONS}",
             f"acl fast sc_http_req_rate(0) gt {10 * RATE}"]
    lines += [f"acl best req.hdr({best[0]}) -m reg {best[1]}", "http-request set-priority-class int(-1) if best", "http-request set-priority-class int(1) if !best fast",
              "http-request deny deny_status 503 if !best many"] if best else ["http-request set-priority-class int(1) if fast", "http-request deny deny_status 503 if many"]
    more = ""
    if first:
        lines.append("use_backend first if { path_beg /first/ }")
        more = f"backend first\n  http-request replace-path /first/(.*) /\\1\n  server s {first.removeprefix('http://')} maxconn {WINDOW}\n"
    return Haproxy(bench.lab, proxy=to, maxconn=WINDOW, frontend=lines, more=more)


def nginx(bench, to, best, rest, first):
    """Limits of requests/s and of connections by address, with the preferred ones free of both, and of the others in all."""
    said = f"$http_{best[0].replace('-', '_')}" if best else "$http_host"
    free = f'"~{best[1]}" "";' if best else ""
    key = f"map {said} $other {{ {free} default $binary_remote_addr; }} map {said} $rest {{ {free} default 1; }}"
    http = f"{key} limit_req_zone $other zone=rate:10m rate={RATE}r/s; limit_conn_zone $other zone=address:10m; limit_req_log_level info; limit_conn_log_level info;"
    server = f"limit_req zone=rate burst={RATE} nodelay; limit_conn address {CONNECTIONS};"
    if rest:
        http += " limit_conn_zone $rest zone=rest:1m;"
        server += f" limit_conn rest {rest};"
    if first:
        http += f" upstream first {{ server {first.removeprefix('http://')}; keepalive 64; }} limit_conn_zone $server_name zone=first:1m;"
        server += f' location /first/ {{ limit_conn first {WINDOW}; proxy_pass http://first/; proxy_http_version 1.1; proxy_set_header Connection ""; }}'
    return Nginx(bench.lab, name="nginx-peer", proxy=to, http=http, server=server)


def mod_qos(bench, to, best, rest, first):
    """Connections by address, requests of all but the preferred ones, requests of a location."""
    lines = [f"QS_SrvMaxConnPerIP {CONNECTIONS}", "QS_ErrorResponseCode 503"]
    if best:
        lines += ["SetEnvIf Request_URI . other=1", f"SetEnvIf {best[0]} {best[1]} !other QS_VipRequest=yes"]
    if rest:
        lines.append(f"QS_EventRequestLimit other {rest}")
    early = f"LoadFile {PCRE}\nLoadModule qos_module {HTTPD_MODULES}/mod_qos.so\n"
    if first:
        lines.append(f"QS_LocRequestLimit /first/ {WINDOW}")
        early += f"ProxyPass /first/ {first}/\n"
    return Httpd(bench.lab, name="mod-qos", mpm="worker", proxy=to, threads=150, early=early, config="\n".join(lines) + "\n")


def off(bench, to, best, rest, first):
    return Httpd(bench.lab, name="no-module", proxy=to, threads=75, early=f"ProxyPass /first/ {first}/\n" if first else "")


def peers(bench, to, best=None, rest=None, first=None):
    """
    (name, server) of each that this machine has.  to: URL of the backend; best: (name of a field, regular expression) of those who are to be preferred, None where nobody knows who is who; rest: how many requests of
    all others may be at the server where the peer has no queue; first: URL of another backend, which has the paths below /first/.
    """
    there = os.path.exists(f"{HTTPD_MODULES}/mod_qos.so") and os.path.exists(PCRE)
    if not there:
        bench.say("libapache2-mod-qos is not measured: it or libpcre3 is not installed")
    for make in (off, haproxy, nginx, mod_qos) if there else (off, haproxy, nginx):
        yield make.__name__, make(bench, to, best, rest, first)


def measure_dear(bench):
    for name, server in peers(bench, bench.origin().url, ("x-class", "^people$"), 1):
        bench.figure(f"dear_alone_ratio_{name}", dear_answers.alone_ratio(bench, server), "of its due")


def fresh(bench, name, *words):
    """Another of that name."""
    return dict(peers(bench, *words))[name]


def measure_hung(bench):
    if bench.quick:
        return
    with Origin(bench.lab, name="origin-first") as backend:
        words = (bench.origin().url, None, None, backend.url)
        for name, _ in peers(bench, *words):
            bench.say(name)
            bench.figure(f"hung_backend_p95_ratio_{name}", hung.ratio(bench, lambda name=name: fresh(bench, name, *words), 8), "times")


def measure_connections(bench):
    if bench.quick:
        return
    for name, _ in peers(bench, bench.origin().url):
        few, many = (crowds.beside(bench, fresh(bench, name, bench.origin().url), crowds.greedy(n), 8) for n in (20, 500))
        bench.figure(f"many_connections_p95_ratio_{name}", many.p95 / few.p95, "times")


def measure_swarm(bench):
    """Members are known by the cookie of their application."""
    if bench.quick:
        return
    origin = swarm.origin_of(bench)
    for name, server in peers(bench, origin.url, ("cookie", "session="), WINDOW // 2):
        if name == "off":
            continue
        with server:
            without, beside = swarm.measure_server(server, origin, 10, 1, swarm=False), swarm.measure_server(server, origin, 20, 4)
        swarm.tell(bench, f"{name}, beside the swarm", beside)
        bench.figure(f"swarm_member_p95_ratio_{name}", beside.member_p95 / without.member_p95, "times")
        bench.figure(f"swarm_first_page_3s_{name}", beside.within(3), "of people")


def named(figure, names=NAMES):
    return tuple(f"{figure}_{name}" for name in names)


FAMILIES = [(measure_dear, named("dear_alone_ratio")), (measure_hung, named("hung_backend_p95_ratio")), (measure_connections, named("many_connections_p95_ratio")),
            (measure_swarm, named("swarm_member_p95_ratio", NAMES[1:]) + named("swarm_first_page_3s", NAMES[1:]))]
