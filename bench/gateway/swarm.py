# SPDX-License-Identifier: BSD-2-Clause
"""
swarm.py - a swarm without identity: 140,000 addresses in ten minutes, each of which asks for one dynamic page and never comes again, at three times what the server can do.

The server has eight workers, whose pages take 60 to 140 ms: 80 a second.  The swarm asks for 233 a second, with the user agents of browsers, each from an address of its own (127.64.0.0/10: real
ones, that every server sees); one in fifty asks for the sign-in page.  Who has no answer after ten seconds gives up.  Ten members, who are signed in, read for 0.4 s between pages.  People come,
two a second, whom nobody has seen before, from addresses among the swarm's; they do what browsers do: keep cookies, load a refused page again when it says so (Refresh), press reload after the time
of Retry-After else, or after five seconds.  Every third asks for the sign-in page first.  The gateway has the policy that is shipped, etc/examples/policy.xml.

    swarm_member_p95_ratio      members' 95 % with the swarm / without
    swarm_first_page_3s         of people, how many have their first page within 3 s of asking for it
    swarm_sign_in_refused       of their requests for the sign-in page, how many were refused or had no answer
    swarm_server_load_most      most requests at the server at one time; the window is 8, and 4 are exempt at the most
    ..._without_module          the first two from httpd without the module; no goal.  peers.py has them of others

measure_server() takes any server: a peer is measured by it as the gateway is.
"""
import asyncio
import dataclasses
import hashlib
import hmac
import os
import random
import re
import secrets
import threading
import time

from setting import WINDOW, clients
from spread import Spread

from lab.httpd import Httpd
from lab.lab import ROOT, Origin, module
from lab.load import Load

ADDRESSES, MINUTES = 140_000, 10
SWARM = ADDRESSES / (60 * MINUTES)              # requests a second
MS = (60, 80, 100, 120, 140)
CAPACITY = WINDOW * 1000 / (sum(MS) / len(MS))
NETWORK = "127.64.0.0/10"
SIGN_IN = "/size/900?delay=60&sign-in"
AGENTS = (
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML\\, like Gecko) Chrome/142.0.0.0 Safari/537.36",
    "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML\\, like Gecko) Version/18.6 Mobile/15E148 Safari/604.1",
)
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
class Person:
    """first_s: from asking for the first page to having it; None: he left without.  refused: of his requests for the sign-in page."""
    wants: str
    first_s: float = None
    asked: int = 0
    refused: int = 0


class People:
    """People who come while the block lasts, after `warmup` seconds; .all has them in the end.  address: HOST:PORT; patience: seconds after which one leaves."""

    def __init__(self, address, seconds, warmup, patience, per_s=2, seed=7):
        self.host, self.port = address.rsplit(":", 1)
        self.address, self.seconds, self.warmup, self.per_s = address, seconds, warmup, per_s
        self.patience, self.random, self.all = patience, random.Random(seed), []

    def __enter__(self):
        self.thread = threading.Thread(target=lambda: asyncio.run(self.come()))
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.thread.join()

    async def come(self):
        await asyncio.sleep(self.warmup)
        end, visits = time.monotonic() + self.seconds, []
        while time.monotonic() < end:
            visits.append(asyncio.create_task(self.visit(len(visits))))
            await asyncio.sleep(self.random.expovariate(self.per_s))
        await asyncio.gather(*visits)

    async def visit(self, number):
        p = Person(SIGN_IN if number % 3 == 0 else self.random.choice(pages("&person")))
        self.all.append(p)
        source = f"127.{64 + self.random.randrange(64)}.{self.random.randrange(256)}.{self.random.randrange(1, 255)}"
        agent, cookie, begun = self.random.choice(AGENTS).replace("\\", ""), "", time.monotonic()
        while time.monotonic() - begun < self.patience:
            status, head = await self.ask(source, p.wants, f"User-Agent: {agent}\r\n" + cookie, self.patience - (time.monotonic() - begun))
            p.asked += p.wants == SIGN_IN
            p.refused += p.wants == SIGN_IN and status != 200
            if status == 200:
                p.first_s = time.monotonic() - begun
                return
            given = re.search(r"(?im)^set-cookie: ([^;\r]+)", head)
            cookie = f"Cookie: {given[1]}\r\n" if given else cookie
            again = re.search(r"(?im)^refresh: (\d+)", head) or re.search(r"(?im)^retry-after: (\d+)", head)
            await asyncio.sleep(int(again[1]) if again else 5)

    async def ask(self, source, target, fields, seconds):
        """(status, head), or (0, "") if there was no whole answer."""
        try:
            async with asyncio.timeout(max(0.1, seconds)):
                reader, writer = await asyncio.open_connection(self.host, self.port, local_addr=(source, 0))
                try:
                    writer.write(f"GET {target} HTTP/1.1\r\nHost: {self.address}\r\nAccept: text/html\r\nConnection: close\r\n{fields}\r\n".encode())
                    answer = await reader.read(-1)
                finally:
                    writer.close()
        except (OSError, TimeoutError):
            return 0, ""
        head = answer.partition(b"\r\n\r\n")[0].decode("latin-1")
        found = re.match(r"HTTP/1\.[01] (\d{3})", head)
        return (int(found[1]), head) if found else (0, "")


@dataclasses.dataclass
class Seen:
    """What came of it.  member_p95: ms, the mean of each one's; first: seconds of people's first pages, None for who left; sign_in, refused: requests for that page; load: most requests at the server at one time."""
    member_p95: float
    members_per_s: float
    first: list
    sign_in: int
    refused: int
    load: int
    swarm: dict

    def within(self, seconds):
        return sum(f is not None and f <= seconds for f in self.first) / len(self.first) if self.first else 0.0


def measure_server(server, origin, seconds, warmup, patience=15, swarm=True, member=lambda host, number: member_cookie(host)):
    """
    Members and people at `server` (.address), whose pages `origin` makes, beside the swarm or without.  member(host, number): the header field that proves that this member is signed in.
    """
    host = server.address.rsplit(":", 1)[0]
    groups = [clients(f"member{i}", 1, of="members", url=pages(), source=f"127.10.{i}.1", think=400, header=[member(host, i)]) for i in range(MEMBERS)]
    if swarm:
        urls = [u for u in pages("&n={n}") for _ in range(10)] + [SIGN_IN + "&n={n}"]
        groups += [dict(name=f"swarm{i}", clients=1500, url=urls, arrivals=SWARM / len(AGENTS), close=True, abort=10_000, retry=0, source=NETWORK, header=f"User-Agent: {agent}")
                   for i, agent in enumerate(AGENTS)]
    origin.stat(reset=True)
    with People(server.address, seconds, warmup, patience) as people, Load(server.address, groups, seconds, warmup=warmup, timeout=30) as run:
        result = run.result()
    of = result["classes"]
    members = [of[g["name"]] for g in groups[:MEMBERS]]
    status = {}
    for g in groups[MEMBERS:]:
        for code, n in of[g["name"]]["status"].items():
            status[code] = status.get(code, 0) + n
    return Seen(sum(c["latency_ms"]["p95"] for c in members) / len(members), sum(c["requests_per_s"] for c in members), [p.first_s for p in people.all], sum(p.asked for p in people.all), sum(p.refused for p in people.all),
                origin.stat()["max"], status)


def origin_of(bench):
    return bench.once("swarm-origin", lambda: Origin(bench.lab, name="swarm-origin", workers=WINDOW).start())


def gateway(bench, origin):
    keys = os.path.join(bench.lab.dir, "swarm.keys")
    with open(keys, "w", opener=lambda path, flags: os.open(path, flags, 0o600)) as f:
        f.write(KEY + "\n")
    config = CONFIG.format(policy=os.path.join(ROOT, "etc", "examples", "policy.xml"), keys=keys, window=WINDOW)
    return Httpd(bench.lab, name="swarm-gateway", proxy=origin.url, load={"qos_drr": module()}, config=config, threads=75)


def tell(bench, name, seen):
    first = sorted(f for f in seen.first if f is not None)
    half = f"{first[len(first) // 2]:.2f} s" if first else "nothing"
    bench.say(f"{name}: members {seen.members_per_s:.1f} pages/s, 95 % within {seen.member_p95:.0f} ms; of {len(seen.first)} people {seen.within(3):.1%} had their first page within 3 s, half of those "
              f"who had one within {half}, {len(seen.first) - len(first)} none; sign-in {seen.refused} of {seen.sign_in} refused; at most {seen.load} at the server; the swarm {seen.swarm}")


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
    bench.figure("swarm_sign_in_refused", Spread.of([b.refused for b in beside]), "requests", "<= 0")
    bench.figure("swarm_server_load_most", Spread.of([b.load for b in beside]), "requests", f"<= {WINDOW + 4}")


def measure_without(bench):
    without, beside = both(bench, bench.without_module(origin_of(bench)), bench.size(10, 4), bench.size(20, 6), bench.size(15, 5))
    bench.figure("swarm_member_p95_ratio_without_module", Spread.of([beside.member_p95 / without.member_p95]), "times", None)
    bench.figure("swarm_first_page_3s_without_module", Spread.of([beside.within(3)]), "of people", None)


FAMILIES = [
    (measure, ("swarm_member_p95_ratio", "swarm_first_page_3s", "swarm_sign_in_refused", "swarm_server_load_most")),
    (measure_without, ("swarm_member_p95_ratio_without_module", "swarm_first_page_3s_without_module")),
]
