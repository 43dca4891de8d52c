# SPDX-License-Identifier: BSD-2-Clause
"""
swarm.py - a swarm without identity: 140,000 addresses in ten minutes, each of which asks for one dynamic page and never comes again, at three times what the server can do.

The server has eight workers, whose pages take 60 to 140 ms: 80 a second.  The swarm asks for 233 a second, with the user agents of browsers, each from an address of its own (127.64.0.0/10: real
ones, that every server sees); one in fifty asks for the sign-in page.  Who has no answer after ten seconds gives up.  Ten members, who are signed in, read for 0.4 s between pages.  Visitors come,
two a second, with empty cookie jars, from addresses among the swarm's, and load the HTML and its 30 assets (5 ms each at the server) as browsers do (tests/lab/page_load.py).  Every third
begins at the sign-in page.  The gateway has the policy that is shipped, etc/examples/policy.xml.

    swarm_member_p95_ratio      members' 95 % with the swarm / without
    swarm_first_page_3s         of new visitors, how many have their first page with all of its assets within 3 s of asking for it
    swarm_sign_in_refused       of the requests for the sign-in page, how many were refused or had no answer
    swarm_server_load_most      most requests at the server at one time; the window is 8, and 4 are exempt at the most
    ..._without_module          the first two from httpd without the module; no goal.  peers.py has them of others
    swarm_page_load_1_25x, swarm_page_load_10x
                                beside a swarm that asks for so many times the capacity: of new visitors' pages, how many are complete within 5 s, or within 3 s of their HTML; of ordinary and of
                                sign-in pages, the kind that has less
    swarm_chromium_load         the same of Chromium with empty profiles, half of them beside each of these swarms

measure_server() takes any server: a peer is measured by it as the gateway is.
"""
import dataclasses
import hashlib
import hmac
import os
import secrets
import time

from setting import WINDOW, clients
from spread import Spread

from lab.chromium import Chromium, page_load
from lab.httpd import Httpd
from lab.lab import ROOT, Origin, module
from lab.load import Load
from lab.page_load import ASSETS, Visitors, part_loaded

ADDRESSES, MINUTES = 140_000, 10
SWARM = ADDRESSES / (60 * MINUTES)              # requests a second
MS = (60, 80, 100, 120, 140)
CAPACITY = WINDOW * 1000 / (sum(MS) / len(MS))
NETWORK = "127.64.0.0/10"
SIGN_IN = "/size/900?delay=60&sign-in"
HTML = f"&assets={ASSETS}"
OF_A_PAGE = [f"/size/2000?delay=5&asset={i}" for i in range(ASSETS)]
AGENTS = (
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML\\, like Gecko) Chrome/142.0.0.0 Safari/537.36",
    "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML\\, like Gecko) Version/18.6 Mobile/15E148 Safari/604.1",
)
OVERLOADS = ((1.25, "1_25x"), (10, "10x"))      # times the capacity
MEMBERS = 10
KEY = secrets.token_hex(32)
CONFIG = """
QosEngine On
QosPolicy {policy}
QosVisitors {keys}
QosWindow {window}
QosExempt path /size/900
QosExempt limit=4
QosRefuse 429
RemoteIPHeader X-From
RemoteIPInternalProxy 127.0.0.1
<Location /qos-status>
  SetHandler qos-status
</Location>
"""


def pages(more=""):
    return [f"/size/4096?delay={ms}{more}" for ms in MS]


def member_cookie(host):
    """As the gateway gives it (mod_qos_drr/qos_visitor.h); "session" is what an application behind a peer would know him by."""
    now = int(time.time())
    text = f"2.member.{now - 3600}.{now - 60}.{now + 6 * 86400}.{secrets.token_hex(16)}."
    seal = hmac.new(bytes.fromhex(KEY), f"fairgate visitor 2\n{host}\n{text}".encode(), hashlib.sha256).hexdigest()[:32]
    return f"Cookie: session={secrets.token_hex(8)}; fairgate={text}{seal}"


@dataclasses.dataclass
class Seen:
    """What came of it.  member_p95: ms, the mean of each one's; first: new visitors' PageLoads; load: most requests at the server at one time."""
    member_p95: float
    members_per_s: float
    first: list
    load: int
    swarm: dict

    def within(self, seconds):
        return part_loaded(self.first, seconds)

    def sign_in(self):
        return [p for p in self.first if p.page.startswith(SIGN_IN)]

    def refused(self):
        """Requests for the sign-in page that were refused or had no answer."""
        return sum(p.refused for p in self.sign_in())


def swarm_of(per_s):
    urls = [u for u in pages("&n={n}") for _ in range(10)] + [SIGN_IN + "&n={n}"]
    return [dict(name=f"swarm{i}", clients=1500, url=urls, arrivals=per_s / len(AGENTS), close=True, abort=10_000, retry=0, source=NETWORK, header=f"User-Agent: {agent}")
            for i, agent in enumerate(AGENTS)]


def visitors(server, seconds, warmup, patience, per_s=2):
    """Every third begins at the sign-in page."""
    ordinary = pages("&person" + HTML)
    wanted = [page for i in range(0, 2 * len(ordinary), 2) for page in (SIGN_IN + HTML, ordinary[i % len(ordinary)], ordinary[(i + 1) % len(ordinary)])]
    return Visitors(server.address, wanted, OF_A_PAGE, seconds, warmup, patience, per_s, agents=[a.replace("\\", "") for a in AGENTS])


def measure_server(server, origin, seconds, warmup, patience=15, swarm=True, member=lambda host, number: member_cookie(host)):
    """
    Members and people at `server` (.address), whose pages `origin` makes, beside the swarm or without.  member(host, number): the header field that proves that this member is signed in.
    """
    host = server.address.rsplit(":", 1)[0]
    groups = [clients(f"member{i}", 1, of="members", url=pages(), source=f"127.10.{i}.1", think=400, header=[member(host, i)]) for i in range(MEMBERS)]
    groups += swarm_of(SWARM) if swarm else []
    origin.stat(reset=True)
    with visitors(server, seconds, warmup, patience) as people, Load(server.address, groups, seconds, warmup=warmup, timeout=30) as run:
        result = run.result()
    of = result["classes"]
    members = [of[g["name"]] for g in groups[:MEMBERS]]
    status = {}
    for g in groups[MEMBERS:]:
        for code, n in of[g["name"]]["status"].items():
            status[code] = status.get(code, 0) + n
    return Seen(sum(c["latency_ms"]["p95"] for c in members) / len(members), sum(c["requests_per_s"] for c in members), people.all, origin.stat()["max"], status)


def origin_of(bench):
    return bench.once("swarm-origin", lambda: Origin(bench.lab, name="swarm-origin", workers=WINDOW).start())


def gateway(bench, origin):
    keys = os.path.join(bench.lab.dir, "swarm.keys")
    with open(keys, "w", opener=lambda path, flags: os.open(path, flags, 0o600)) as f:
        f.write(KEY + "\n")
    config = CONFIG.format(policy=os.path.join(ROOT, "etc", "examples", "policy.xml"), keys=keys, window=WINDOW)
    return Httpd(bench.lab, name="swarm-gateway", proxy=origin.url, load={"qos_drr": module()}, config=config, threads=75, modules=("remoteip",))


def tell(bench, name, seen):
    loads = sorted(p.load_s for p in seen.first if p.load_s is not None)
    half = f"{loads[len(loads) // 2]:.2f} s" if loads else "nothing"
    bench.say(f"{name}: members {seen.members_per_s:.1f} pages/s, 95 % within {seen.member_p95:.0f} ms; of {len(seen.first)} new visitors {seen.within(3):.1%} had their first page with all assets within 3 s, "
              f"half of those with a page within {half}, {len(seen.first) - len(loads)} none; {sum(p.failed for p in seen.first)} assets failed; sign-in {seen.refused()} of "
              f"{sum(p.asked for p in seen.sign_in())} refused; at most {seen.load} at the server; the swarm {seen.swarm}")


def both(bench, server, calm_s, beside_s, patience):
    """Without the swarm, and beside it."""
    origin = origin_of(bench)
    with server as g:
        without = measure_server(g, origin, calm_s, 1, patience, swarm=False)
        beside = measure_server(g, origin, beside_s, bench.size(4, 3), patience)
        tell(bench, f"{g.name}, no swarm", without)
        tell(bench, f"{g.name}, beside the swarm", beside)
    return without, beside


def measure(bench):
    found = [both(bench, gateway(bench, origin_of(bench)), bench.size(15, 4), bench.size(25, 6), bench.size(15, 5)) for _ in range(bench.size(3, 1))]
    beside = [b for _, b in found]
    bench.figure("swarm_member_p95_ratio", Spread.of([b.member_p95 / a.member_p95 for a, b in found]), "times", "<= 1.2")
    bench.figure("swarm_first_page_3s", Spread.of([b.within(3) for b in beside]), "of people", ">= 0.95")
    bench.figure("swarm_sign_in_refused", Spread.of([b.refused() for b in beside]), "requests", "<= 0")
    bench.figure("swarm_server_load_most", Spread.of([b.load for b in beside]), "requests", f"<= {WINDOW + 4}")


def measure_without(bench):
    without, beside = both(bench, bench.without_module(origin_of(bench)), bench.size(10, 4), bench.size(20, 6), bench.size(15, 5))
    bench.figure("swarm_member_p95_ratio_without_module", Spread.of([beside.member_p95 / without.member_p95]), "times", None)
    bench.figure("swarm_first_page_3s_without_module", Spread.of([beside.within(3)]), "of people", None)


def page_loads(bench, times, seconds, warmup=3):
    """Beside a swarm of so many times the capacity, how many new visitors' pages are complete.  At a fresh gateway: the visitors' addresses are those of each run, and a gateway remembers refusals for a minute."""
    with gateway(bench, origin_of(bench)) as server, Load(server.address, swarm_of(times * CAPACITY), seconds + 15, warmup=warmup, timeout=30) as run:
        with visitors(server, seconds, warmup, 15) as people:
            pass
        run.stop()
    complete = min(part_loaded([p for p in people.all if p.page.startswith(SIGN_IN) == sign_in], 5, 3) for sign_in in (True, False))
    bench.say(f"beside {times} times the capacity: of {len(people.all)} new visitors' pages {part_loaded(people.all, 5, 3):.1%} are complete, {sum(p.failed for p in people.all)} assets failed")
    return complete


def measure_page_loads(bench):
    for times, name in OVERLOADS:
        complete = [page_loads(bench, times, bench.size(25, 8)) for _ in range(bench.size(3, 1))]
        bench.figure(f"swarm_page_load_{name}", Spread.of(complete), "of pages", ">= 0.95")


def measure_chromium(bench):
    found, each = [], bench.size(20, 3)
    with Chromium(bench.lab) as browser:
        for times, name in OVERLOADS:
            with gateway(bench, origin_of(bench)) as g, Load(g.address, swarm_of(times * CAPACITY), 600, warmup=3, timeout=30):
                time.sleep(3)
                for i in range(each):
                    page = f"http://{g.address}{SIGN_IN if i % 2 else pages()[0]}{HTML}"
                    found.append(page_load(browser, page, f"10.{len(found)}.3.4", ASSETS, 15))
                bench.say(f"Chromium, beside {times} times the capacity: load events after {', '.join(f'{p.load_s:.2f}' if p.load_s else 'never' for p in found[-each:])} s")
    bench.figure("swarm_chromium_load", part_loaded(found, 5, 3), "of pages", ">= 0.95")


FAMILIES = [
    (measure_page_loads, tuple(f"swarm_page_load_{name}" for _, name in OVERLOADS)),
    (measure_chromium, ("swarm_chromium_load",)),
    (measure, ("swarm_member_p95_ratio", "swarm_first_page_3s", "swarm_sign_in_refused", "swarm_server_load_most")),
    (measure_without, ("swarm_member_p95_ratio_without_module", "swarm_first_page_3s_without_module")),
]
