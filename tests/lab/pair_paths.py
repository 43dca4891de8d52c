# SPDX-License-Identifier: BSD-2-Clause
"""
Streams behind a pair, and what stands in other people's networks between servers and clients: filters, address translation, routing by policy, devices on the link that follow TCP.

Every way here works without daemons, IPv4 and IPv6.
"""
import contextlib
import json
import os
import socket
import subprocess
import sys
import time

from .lab import wait_for
from .net import inside
from .pair import Pair
from .streams import over

STREAMS, SPLIT = (os.path.join(os.path.dirname(__file__), name) for name in ("streams.py", "pair_split.py"))
PORT = 8000
FOUR, SIX = "10.8.1.2", "fd08:1::2"

TOOLS = ("iptables", "ip6tables")


def on_both(host, *words):
    """The same for either family."""
    for tool in TOOLS:
        host.run(tool, *words)


class Streams:
    """A server of streams behind a pair, and clients before it."""

    def __init__(self, pair):
        self.pair, self.logs = pair, []
        log = self.add_log("streams.log")
        with open(log, "w", encoding="ascii") as f:
            self.server = subprocess.Popen([*pair.servers.prefix, sys.executable, STREAMS, "serve", str(PORT)], stdin=subprocess.DEVNULL, stdout=f)
        wait_for(lambda: self.lines(log)[:1] == ["ready\n"], 10, "the server of streams")

    def add_log(self, name):
        """Of one who ends TCP, whose timers excuse as the server's do."""
        self.logs.append(os.path.join(self.pair.lab.dir, name))
        return self.logs[-1]

    @staticmethod
    def lines(path):
        with open(path, encoding="ascii") as log:
            return log.readlines()

    def begin(self, megabytes, parallel=8, addresses=(FOUR, SIX)):
        return subprocess.Popen([*self.pair.clients.prefix, sys.executable, STREAMS, "fetch", str(PORT), str(megabytes * 1_000_000), str(parallel), *addresses],
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)

    def end(self, fetch, seconds=300, cut=0.0):
        """
        cut: for so many seconds nothing crossed the link; timers that ran out then double, so that the one that runs at the end is no longer than all before it.  If what it sends again
        has it told of more that came before the cut, TCP takes that for the time that the way takes, and has one more timer, which is as long as it measured
        (test_how_long_tcp_itself_stands_still_after_a_cut).
        """
        result = json.loads(fetch.communicate(timeout=seconds)[0])
        assert not result["errors"], result["errors"][:3]
        excuses = [json.loads(line) for path in self.logs for line in self.lines(path)[1:] if line.endswith("\n")]
        longer = [g for g in result["gaps"] if min(over(g, excuses, bool(self.pair.bad)), g["seconds"] - 2 * cut - g["measured"] * bool(cut) - g["late"]) > 1]
        for g in longer:        # whose timers were what, a line each as it changed
            g["excuses"] = [e for before, e in zip([None, *g["excuses"]], g["excuses"]) if not before or before[1:] != e[1:]]
        assert not longer, f"connections stood still for a second and more beyond their own timers: {longer}"
        return result

    def fetch(self, *args, **options):
        return self.end(self.begin(*args, **options))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.kill()
        self.server.wait()


def streams(lab, **options):
    settings = dict(keep="all", ports=PORT)
    pair = Pair(lab, **options).start()
    pair.parent.settings.update(settings)
    pair.child.settings.update(settings)
    return pair, Streams(pair)


def seconds_for_one(pair, limit, address=FOUR, length=400_000):
    """How long a new connection takes for a stream; None: longer than the limit."""
    before = time.monotonic()
    with inside(pair.clients.namespace, lambda: socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)) as s:
        s.settimeout(limit)
        try:
            s.connect((address, PORT))
            s.sendall((7).to_bytes(8, "big"))
            got = 0
            while got < length:
                s.settimeout(max(0.01, before + limit - time.monotonic()))
                part = s.recv(1 << 18)
                assert part
                got += len(part)
        except TimeoutError:
            return None
    return time.monotonic() - before


def why(side):
    stats = side.stats()
    assert stats["at_work"] == (not stats["why"])
    return stats["why"]


def helpers_of(side):
    """Processes of the daemon that help it."""
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", encoding="ascii", errors="replace") as f:
                text = f.read()
        except OSError:
            continue
        if "(pktcache-helper)" in text and int(text.rpartition(")")[2].split()[1]) == side.pid():
            found.append(int(name))
    return found


# ---- at the ends -----------------------------------------------------------------------------------------------------------------

def forward_drop(host, lan, wan):
    """What a router's FORWARD has usually, and what one that follows connections adds."""
    on_both(host, "-P", "FORWARD", "DROP")
    on_both(host, "-A", "FORWARD", "-m", "conntrack", "--ctstate", "INVALID", "-j", "DROP")
    on_both(host, "-A", "FORWARD", "-i", lan, "-o", wan, "-j", "ACCEPT")
    on_both(host, "-A", "FORWARD", "-i", wan, "-o", lan, "-m", "conntrack", "--ctstate", "NEW,ESTABLISHED,RELATED", "-j", "ACCEPT")


def masquerade_to_the_servers(pair):
    """At the parent; the servers have no way back but to it."""
    pair.servers.ip("route del default via 10.8.1.1\nroute del default via fd08:1::1\n")
    on_both(pair.near, "-t", "nat", "-A", "POSTROUTING", "-o", "in0", "-j", "MASQUERADE")


def masquerade_the_clients(pair):
    """At the child: `clients` is that then."""
    pair.near.ip("route del 10.8.3.0/24 via 10.8.2.2\nroute del fd08:3::/64 via fd08:2::2\n")
    on_both(pair.far, "-t", "nat", "-A", "POSTROUTING", "-o", "link0", "-p", "tcp", "-j", "MASQUERADE")
    return dict(clients="10.8.2.2/32 fd08:2::2/128")


def route_by_policy(pair):
    """At both ends the way between LAN and link is in a table of its own, which a rule with a device chooses; the main table leads elsewhere."""
    for side, device, home, other in ((pair.near, "in0", 3, "2::2"), (pair.far, "out0", 1, "2::1")):
        side.ip(f"route del 10.8.{home}.0/24\nroute add blackhole 10.8.{home}.0/24\nroute add 10.8.{home}.0/24 via 10.8.{other.replace('::', '.')} table 77\n"
                f"rule add iif {device} lookup 77 pref 500\n"
                f"route del fd08:{home}::/64\nroute add blackhole fd08:{home}::/64\nroute add fd08:{home}::/64 via fd08:{other} table 77\n")
        side.run("ip", "-6", "rule", "add", "iif", device, "lookup", "77", "pref", "500")


# ---- on the link -----------------------------------------------------------------------------------------------------------------

class Middle:
    """A router in the middle of the link, without an address of that; its rules are the test's."""

    def __init__(self, pair):
        self.pair, self.host = pair, pair.host("m", "10.8.9.9")

    def __enter__(self):
        near, far, m = self.pair.near, self.pair.far, self.host
        m.add()
        near.ip("link del link0\n")
        m.device("lo", "10.8.9.9/32", "fd08:9::9/128")
        m.sysctl(net__ipv4__ip_forward=1, net__ipv6__conf__all__forwarding=1)
        for host, device, own, other, beyond in ((near, "near0", "2::1", "2::2", "3"), (far, "far0", "2::2", "2::1", "1")):
            self.pair.wire(host, "link0", m, device)
            four = (f"10.8.{own.replace('::', '.')}", f"10.8.{other.replace('::', '.')}")
            six = (f"fd08:{own}", f"fd08:{other}")
            host.device("link0", f"{four[0]}/24", f"{six[0]}/64", mtu=self.pair.mtu)
            host.ip(f"route add 10.8.{beyond}.0/24 via {four[1]}\nroute add fd08:{beyond}::/64 via {six[1]}\n")
            home = "1" if device == "near0" else "3"
            m.device(device, mtu=self.pair.mtu)
            m.ip(f"route add {four[0]}/32 dev {device}\nroute add 10.8.{home}.0/24 via {four[0]} dev {device} onlink\n"
                 f"route add {six[0]}/128 dev {device}\nroute add fd08:{home}::/64 via {six[0]} dev {device} onlink\nneigh add proxy {six[1]} dev {device}\n")
            m.sysctl(**{f"net__ipv4__conf__{device}__proxy_arp": 1, f"net__ipv6__conf__{device}__proxy_ndp": 1,
                        f"net__ipv4__neigh__{device}__proxy_delay": 0, f"net__ipv6__neigh__{device}__proxy_delay": 0})
        return self

    def __exit__(self, *_):
        self.host.remove()


def drops_what_is_invalid(middle):
    on_both(middle.host, "-A", "FORWARD", "-m", "conntrack", "--ctstate", "INVALID", "-j", "DROP")


@contextlib.contextmanager
def splits_tcp(middle, s):
    """As accelerators of satellite lines do: it is the server to the client and the client to the server, with sequence numbers of its own."""
    m = middle.host
    m.ip("rule add fwmark 1 lookup 100\nroute add local 0.0.0.0/0 dev lo table 100\nroute add local ::/0 dev lo table 100\n")
    m.run("ip", "-6", "rule", "add", "fwmark", "1", "lookup", "100")
    on_both(m, "-t", "mangle", "-A", "PREROUTING", "-p", "tcp", "-m", "socket", "--transparent", "-j", "MARK", "--set-mark", "1")
    on_both(m, "-t", "mangle", "-A", "PREROUTING", "-p", "tcp", "--dport", str(PORT), "-m", "mark", "!", "--mark", "1", "-j", "TPROXY", "--on-port", "3129",
            "--tproxy-mark", "1")
    with contextlib.ExitStack() as all_of_it:
        for family in "46":
            log = s.add_log(f"split{family}.log")
            with open(log, "w", encoding="ascii") as f:
                split = all_of_it.enter_context(subprocess.Popen([*m.prefix, sys.executable, SPLIT, str(3129), family, str(PORT)], stdin=subprocess.DEVNULL, stdout=f))
            all_of_it.callback(split.kill)
            wait_for(lambda: s.lines(log)[:1] == ["ready\n"], 10, "the device that splits TCP")       # pylint: disable=cell-var-from-loop
        yield
