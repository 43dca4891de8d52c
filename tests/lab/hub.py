# SPDX-License-Identifier: BSD-2-Clause
"""
hub.py - three sites on one hub, each with a packet cache of its own at both ends of its way there, in network namespaces.

                                       ╔══ site 1 ── clients
    servers ──── hub ═════ provider ═══╬══ site 2 ── clients
                                       ╚══ router ══ site 3 ── clients

The hub has a daemon (parent) for each site, all of them at one device; that of site 3 does not know where its child is.  Unless `translated` is False, the provider's router before site 3 gives it another address and other ports in what it says
by UDP; `hub.moves()` gives that another address, as after a new connection.  What TCP carries it leaves alone: the clients' networks are routed.

    hub = Hub(lab).start()
    with Streams(hub) as s:
        for site in hub.sites:
            site.both()
        fetch = s.begin(site, 20)

Needs root.
"""
import json
import os
import pwd
import signal
import subprocess
import sys
import time

from .lab import program, wait_for
from .net import Network, run
from .pair import Daemon
from .streams import PROGRAM, over

PORT = 8000
FOUR, SIX = "10.8.1.2", "fd08:1::2"


class Site:
    """One of them: where its child and its clients are, and both daemons."""

    def __init__(self, hub, number):
        self.hub, self.number = hub, number
        self.router, self.clients = hub.host(f"c{number}", f"10.8.1{number}.1"), hub.host(f"u{number}", f"10.8.1{number}.2")
        self.secret = os.path.join(hub.lab.dir, f"{hub.base}-{number}.key")
        self.lab, self.mtu = hub.lab, 1500      # as a Daemon wants them
        common = dict(clients=f"10.8.1{number}.0/24 fd08:1{number}::/64", servers="10.8.1.0/24 fd08:1::/64", ports=PORT, keep="all")
        peer = "any" if number == 3 and hub.translated else f"10.8.2{number}.2:4754"
        self.parent = Daemon(self, "parent", hub.near, name=f"site{number}", device=f"fgpk{number}", local=f"10.8.2.1:{4750 + number}", peer=peer, **common)
        self.child = Daemon(self, "child", self.router, local=f"10.8.2{number}.2:4754", peer=f"10.8.2.1:{4750 + number}", **common)

    def start(self):
        run(program("pktcache/fairgate-pktcache"), "keygen", self.secret)
        who = pwd.getpwnam("nobody")
        os.chown(self.secret, who.pw_uid, who.pw_gid)

    def works(self):
        return self.parent.at_work() and self.child.at_work()

    def both(self, wait=True, **settings):
        self.parent.start(wait=wait, **settings)
        self.child.start(**settings)
        wait_for(self.works, 10, f"a session of site {self.number}")

    def end(self):
        self.child.stop()
        self.parent.stop()


class Hub(Network):
    name = "hub"
    sysctl = {"net__ipv6__conf__all__forwarding": 1, "net__ipv6__conf__default__accept_dad": 0, "net__ipv6__conf__all__accept_dad": 0}
    bad = ()

    def __init__(self, lab, rate="100mbit", translated=True):
        super().__init__(lab, "cubic")
        self.rate, self.translated = rate, translated
        self.servers, self.near = self.host("s", FOUR), self.host("h", "10.8.1.1")
        self.provider, self.nat = self.host("w", "10.8.2.2"), self.host("n", "10.8.23.1")
        self.sites = [Site(self, number) for number in (1, 2, 3)]
        self.address = 2        # the last part of that which site 3 has

    def wired(self, number, a, device_a, b, device_b):
        """Addresses end in 1 and 2."""
        self.wire(a, device_a, b, device_b)
        for host, device, n in ((a, device_a, 1), (b, device_b, 2)):
            host.device(device, f"10.8.{number}.{n}/24", f"fd08:{number}::{n}/64")

    def build(self):
        w, n = self.provider, self.nat
        self.wired(1, self.near, "in0", self.servers, "out0")
        self.wired(2, self.near, "link0", w, "hub0")
        self.servers.ip("route add default via 10.8.1.1\nroute add default via fd08:1::1\n")
        self.near.ip("route add default via 10.8.2.2\nroute add default via fd08:2::2\n")
        w.ip("route add 10.8.1.0/24 via 10.8.2.1\nroute add fd08:1::/64 via fd08:2::1\n")
        for site in self.sites:
            i = site.number
            before, device = (n, "site0") if i == 3 else (w, f"site{i}")
            self.wired(20 + i, before, device, site.router, "link0")
            before.bucket(device, self.rate, "20kb", limit=300_000)
            self.wired(10 + i, site.router, "out0", site.clients, "in0")
            site.router.ip(f"route add default via 10.8.2{i}.1\nroute add default via fd08:2{i}::1\n")
            site.clients.ip(f"route add default via 10.8.1{i}.1\nroute add default via fd08:1{i}::1\n")
            before.ip(f"route add 10.8.1{i}.0/24 via 10.8.2{i}.2\nroute add fd08:1{i}::/64 via fd08:2{i}::2\n")
            site.start()
        self.wire(w, "nat0", n, "out0")
        w.device("nat0", "10.8.40.1/24", "fd08:40::1/64")
        n.device("out0", "10.8.40.2/32", "fd08:40::2/64")
        n.ip("route add 10.8.40.1 dev out0\nroute add default via 10.8.40.1\nroute add default via fd08:40::1\n")
        w.ip("route add 10.8.13.0/24 dev nat0\nroute add 10.8.23.0/24 dev nat0\nroute add fd08:13::/64 via fd08:40::2\n")
        n.sysctl(net__ipv4__conf__out0__proxy_arp=1, net__ipv4__neigh__out0__proxy_delay=0)
        if self.translated:
            n.run("iptables", "-t", "nat", "-A", "POSTROUTING", "-o", "out0", "-p", "udp", "-j", "MASQUERADE", "--to-ports", "20000-60000", "--random")

    def begin(self):
        """Both daemons of all sites."""
        for site in self.sites:
            site.both(wait=False)

    def moves(self):
        """Site 3 has another address; what the router knew of the former one is gone with that."""
        former, self.address = self.address, 2 + (self.address - 1) % 50
        self.nat.ip(f"addr add 10.8.40.{self.address}/32 dev out0\naddr del 10.8.40.{former}/32 dev out0\n")
        return f"10.8.40.{self.address}"

    def stop(self):
        for site in self.sites:
            site.end()
        super().stop()


class Streams:
    """A server of streams behind the hub, and clients of it at the sites."""

    def __init__(self, hub):
        self.hub = hub
        self.log = os.path.join(hub.lab.dir, "streams.log")
        with open(self.log, "w", encoding="ascii") as log:
            self.server = subprocess.Popen([*hub.servers.prefix, sys.executable, PROGRAM, "serve", str(PORT)], stdin=subprocess.DEVNULL, stdout=log)
        wait_for(lambda: self.said()[:1] == ["ready\n"], 10, "the server of streams")

    def said(self):
        with open(self.log, encoding="ascii") as log:
            return log.readlines()

    @staticmethod
    def begin(site, megabytes, parallel=4):
        return subprocess.Popen([*site.clients.prefix, sys.executable, PROGRAM, "fetch", str(PORT), str(megabytes * 1_000_000), str(parallel), FOUR, SIX], stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, text=True)

    def end(self, fetch, seconds=120):
        """(what the clients say, the times for which one of them stood still more than a second beyond its own timers)."""
        result = json.loads(fetch.communicate(timeout=seconds)[0])
        excuses = [json.loads(line) for line in self.said()[1:] if line.endswith("\n")]
        return result, [g for g in result["gaps"] if over(g, excuses, False) > 1]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.kill()
        self.server.wait()


def changes(hub, s, seconds):
    """
    All sites carry streams for so long; all the while site 3 is given one address after another, and site 1 a new secret, first at the one end and then at the other.
    {number of a site: (what its clients say, the times for which one of them stood still, segments that its child had)}.
    """
    for site in hub.sites:
        s.end(s.begin(site, 8))
    fetches = {site: s.begin(site, 1_000_000) for site in hub.sites}
    first = hub.sites[0]
    sides = [first.child, first.parent]
    end, turn = time.monotonic() + seconds, seconds / 6
    run(program("pktcache/fairgate-pktcache"), "keygen", "--rotate", first.secret)
    for at in range(6):
        if at % 2 and sides:
            side = sides.pop()
            side.signal(signal.SIGHUP)
            wait_for(lambda: "was read again" in side.said(), 5, "the secret, read again")          # pylint: disable=cell-var-from-loop
        hub.moves()
        wait_for(lambda: time.monotonic() > end - (5 - at) * turn, turn + 1, "its turn")           # pylint: disable=cell-var-from-loop
    for fetch in fetches.values():
        fetch.terminate()
    return {site.number: (*s.end(fetch), site.child.counters()["hits"]) for site, fetch in fetches.items()}
