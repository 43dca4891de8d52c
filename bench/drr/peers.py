# SPDX-License-Identifier: BSD-2-Clause
"""
peers.py - the others at the same backend in the same run: haproxy, nginx, libapache2-mod-qos, mod_proxy alone.

Requests/s of 2 KB pages with 64 clients, unlimited and with at most 8 requests at the backend; and the shares of bytes that three classes
of thirty clients get when each is asked for 6:3:1 in its own words: haproxy by priority (strict, and by offset in ms), nginx and mod_qos
by limits of concurrency per class of 5, 2 and 1, which refuse what is beyond them.  The table goes to bench/out/drr-peers.txt, each
requests/s to a figure without a goal.
"""
import os

from lab.httpd import HTTPD_MODULES, Haproxy, Httpd, Nginx
from setting import CLASSES, HEADERS, classes

PCRE = "/usr/lib/x86_64-linux-gnu/libpcre.so.3"
HAPROXY_CLASSES = ("acl people req.hdr(cookie) -m sub session=", "acl search req.hdr(user-agent) -m sub Googlebot",
                   "acl crawlers req.hdr(user-agent) -m sub GPTBot")
PRIORITY_CLASS = HAPROXY_CLASSES + tuple(f"http-request set-priority-class int({i}) if {c}" for i, c in enumerate(CLASSES, 1))
PRIORITY_OFFSET = HAPROXY_CLASSES + tuple(f"http-request set-priority-offset int({ms}) if {c}" for ms, c in zip((0, 5, 20), CLASSES))
NGINX_HTTP = """
map $http_cookie $people { "~session=" 1; default ""; }
map $http_user_agent $search { "~Googlebot" 1; default ""; }
map $http_user_agent $crawlers { "~GPTBot" 1; default ""; }
limit_conn_zone $people zone=people:1m; limit_conn_zone $search zone=search:1m; limit_conn_zone $crawlers zone=crawlers:1m;
limit_conn_status 503; limit_conn_log_level info;
"""
NGINX_LIMITS = "limit_conn people 5; limit_conn search 2; limit_conn crawlers 1;"
MOD_QOS = """
SetEnvIf Cookie session= people
SetEnvIf User-Agent Googlebot search
SetEnvIf User-Agent GPTBot crawlers
"""
MOD_QOS_LIMITS = MOD_QOS + "QS_EventRequestLimit people 5\nQS_EventRequestLimit search 2\nQS_EventRequestLimit crawlers 1\n"


def servers(bench, backend):
    """(name, server, kind): kind "free" without a limit, "limit" with 8 at the backend, asked for shares."""
    lab, to = bench.lab, backend.url
    yield "mod_proxy", bench.bare_gateway(backend), "free"
    yield "fairgate window 1000", bench.gateway(backend, window=1000), "free"
    yield "fairgate window 8", bench.gateway(backend, window=8), "limit"
    yield "haproxy", Haproxy(lab, proxy=to).start(), "free"
    yield "haproxy maxconn 8 priority-class", Haproxy(lab, proxy=to, maxconn=8, frontend=PRIORITY_CLASS).start(), "limit"
    yield "haproxy maxconn 8 priority-offset", Haproxy(lab, proxy=to, maxconn=8, frontend=PRIORITY_OFFSET).start(), "limit"
    yield "nginx", Nginx(lab, name="nginx-proxy", proxy=to).start(), "free"
    yield "nginx limit_conn 5/2/1", Nginx(lab, name="nginx-limits", proxy=to, http=NGINX_HTTP, server=NGINX_LIMITS).start(), "limit"
    module = f"{HTTPD_MODULES}/mod_qos.so"
    if os.path.exists(module) and os.path.exists(PCRE):
        early = f"LoadFile {PCRE}\nLoadModule qos_module {module}\n"
        yield "mod_qos", Httpd(lab, name="mod-qos", proxy=to, early=early, config=MOD_QOS).start(), "free"
        yield "mod_qos limits 5/2/1", Httpd(lab, name="mod-qos-limits", proxy=to, early=early, config=MOD_QOS_LIMITS).start(), "limit"
    else:
        bench.say(f"libapache2-mod-qos is not measured: {module} or {PCRE} is missing")


def measure(bench):
    backend = bench.static_backend()
    seconds = bench.size(10, 1)
    lines = [f"{'':34} {'requests/s':>10}  {'shares of bytes, 6:3:1 asked':30} refused"]
    for name, server, kind in servers(bench, backend):
        people = [dict(name="people", clients=64, header=HEADERS["people"], urls=bench.urls["size-2048"], retry=1)]
        result = bench.run(server, people, seconds, warmup=0.3)
        ok = result["total"]["status"].get("200", 0) / result["seconds"]
        shares, refused = "", ""
        if kind == "limit":
            three = bench.run(server, classes(urls=bench.urls["mix"], retry=1), seconds, warmup=0.3)
            shares = " : ".join(f"{three['classes'][c]['share']:.1f}" for c in CLASSES)
            total = three["total"]
            refused = f"{100 * (1 - total['status'].get('200', 0) / total['requests']):.0f} %"
        lines.append(f"{name:34} {ok:10.0f}  {shares:30} {refused}")
        bench.figure("peer_" + name.replace(" ", "_").replace("/", "_").replace("-", "_"), round(ok), "requests/s")
        if server not in bench.running.values():
            server.stop()
    for line in lines:
        bench.say(line)
    with open(os.path.join(bench.figures.out_dir, "drr-peers.txt"), "w", encoding="utf-8") as f:
        f.write("\n".join(lines) + "\n")


FAMILIES = [(measure, ("peers",))]
