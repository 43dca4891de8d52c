# SPDX-License-Identifier: BSD-2-Clause
"""
field.py - the field trial of the access-gateway paper (Fig. 13) in network namespaces.

    clients ── gateway ── ISP's router ──delay── servers
            LAN        downlink of `rate`,
                       its queue stands here

    field = Field(lab, rate="2mbit").start()
    Origin(lab, address="0.0.0.0").on(field.servers).start()
    squid = Squid(lab, ...).on(field.gateway).start()
    field.redirect(3128)

Needs root.  Clients of class c have the addresses 10.1.c.1 ..., the servers 10.3.0.1 ... with a round trip each; the last address, without one,
is for what the lab itself asks.  Stopping a field removes its namespaces and all that is in them.
"""
import socket
import struct
import threading

from .lab import LabError
from .net import Network, inside

RTTS_MIXED = (20, 25, 30, 40, 50, 65, 80, 100, 130, 160, 200, 250)     # ms
RTTS_NONE = (0,) * 12


class QueueCounters:
    """A device's root qdisc, asked over a netlink socket in its namespace: often, and without a process for each time."""

    GETQDISC, DONE, ERROR, DUMP, ROOT, STATS = 38, 3, 2, 0x301, 0xFFFFFFFF, 3

    def __init__(self, namespace, device):
        self.socket, self.index = inside(namespace, lambda: (socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0), socket.if_nametoindex(device)))
        self.lock = threading.Lock()

    def read(self):
        with self.lock:
            self.socket.send(struct.pack("=IHHII", 36, self.GETQDISC, self.DUMP, 1, 0) + struct.pack("=BxxxiIII", 0, self.index, 0, 0, 0))
            answer = None
            while True:
                data = self.socket.recv(65536)
                while data:
                    length, kind = struct.unpack_from("=IH", data)
                    if kind == self.DONE:
                        return answer
                    if kind == self.ERROR:
                        raise LabError("netlink refuses to tell of qdiscs")
                    answer = self._root(data[16:length]) or answer
                    data = data[(length + 3) & ~3:]

    def _root(self, body):
        index, _, parent = struct.unpack_from("=iII", body, 4)
        if index != self.index or parent != self.ROOT:
            return None
        at = 20
        while at + 4 <= len(body):
            length, kind = struct.unpack_from("=HH", body, at)
            if kind == self.STATS:
                size, _, drops, _, _, _, _, backlog = struct.unpack_from("=QIIIIIII", body, at + 4)
                return size, drops, backlog
            at += (length + 3) & ~3
        return None

    def close(self):
        self.socket.close()


class Field(Network):
    name = "field"
    sysctl = {"net__ipv6__conf__all__forwarding": 1}
    classes, of_each = 3, 10            # client networks, addresses in each

    def __init__(self, lab, rate="2mbit", limit=200_000, rtts=RTTS_MIXED, congestion="cubic", wired=False):
        """wired: a wire leads to the servers, whatever their round trips would be: for rates that fairgate-delay can't carry."""
        super().__init__(lab, congestion)
        self.rate, self.limit, self.rtts, self.wired = rate, limit, rtts, wired
        self.clients = self.host("clients", "10.1.0.2")
        self.gateway = self.host("gateway", "10.1.0.1")
        self.isp = self.host("isp", "10.2.0.1")
        self.servers = self.host("servers", "10.3.0.250")
        self.server_addresses = [f"10.3.0.{i + 1}" for i in range(len(rtts))]
        self.counters = None

    def build(self):
        self.wire(self.clients, "lan0", self.gateway, "lan0")
        self.wire(self.gateway, "down0", self.isp, "down0")
        far = {}
        for i, ms in enumerate(self.rtts):
            far |= {f"10.3.0.{i + 1}": ms, f"fd03::{i + 1:x}": ms}
        if self.wired:
            self.wire(self.isp, "far0", self.servers, "far0")
        else:
            self.delay(self.isp, self.servers, "far0", far)
        self._addresses()
        self.shape_tbf()

    def _addresses(self):
        own = [(c, h) for c in range(1, self.classes + 1) for h in range(1, self.of_each + 1)]
        self.clients.device("lan0", "10.1.0.2/16", "fd01::2/64", *(f"10.1.{c}.{h}/16" for c, h in own), *(f"fd01::{c}:{h}/64" for c, h in own))
        self.clients.ip("route add default via 10.1.0.1\nroute add default via fd01::1\n")
        self.gateway.device("lan0", "10.1.0.1/16", "fd01::1/64")
        self.gateway.device("down0", "10.2.0.2/24", "fd02::2/64")
        self.gateway.ip("route add default via 10.2.0.1\nroute add default via fd02::1\n")
        self.isp.device("down0", "10.2.0.1/24", "fd02::1/64")
        self.isp.device("far0", "10.4.0.1/24", "fd04::1/64", queue=5000)
        self.isp.ip("route add 10.1.0.0/16 via 10.2.0.2\nroute add 10.3.0.0/24 via 10.4.0.2\nroute add fd01::/64 via fd02::2\nroute add fd03::/64 via fd04::2\n")
        self.servers.device("lo", *(f"{a}/32" for a in [*self.server_addresses, self.servers.address]),
                            *(f"fd03::{i + 1:x}/128" for i in range(len(self.rtts))))
        self.servers.device("far0", "10.4.0.2/24", "fd04::2/64", queue=5000)
        self.servers.ip("route add default via 10.4.0.1\nroute add default via fd04::1\n")

    # ---- the downlink ----------------------------------------------------------------------------------------------------------------

    @property
    def bytes_per_second(self):
        units = {"kbit": 1e3, "mbit": 1e6, "gbit": 1e9}
        return float(self.rate[:-4]) * units[self.rate[-4:]] / 8

    def shape_tbf(self):
        """What an ISP has: a token bucket and one drop-tail queue."""
        self.isp.bucket("down0", self.rate, f"{max(10_240, int(self.bytes_per_second / 1000))}b", limit=self.limit)

    def _htb(self, host, device, rate, weights, match):
        host.tc("qdisc", "replace", "dev", device, "root", "handle", "1:", "htb", "default", "30", "r2q", "10")
        total = int(rate * 8)
        host.tc("class", "add", "dev", device, "parent", "1:", "classid", "1:1", "htb", "rate", f"{total}bit", "burst", "5kb", "cburst", "5kb")
        for i, w in enumerate(weights, 1):
            host.tc("class", "add", "dev", device, "parent", "1:1", "classid", f"1:{i}0", "htb", "rate", f"{total * w // sum(weights)}bit",
                    "ceil", f"{total}bit", "burst", "5kb", "cburst", "5kb", "quantum", str(6000 * w // max(weights)))
            host.tc("qdisc", "add", "dev", device, "parent", f"1:{i}0", "bfifo", "limit", str(self.limit))
            host.tc("filter", "add", "dev", device, "parent", "1:", "protocol", "ip", "prio", "1", "u32", "match", "ip", match, f"10.1.{i}.0/24",
                    "flowid", f"1:{i}0")

    def shape_htb(self, weights):
        """What an admin would like the ISP to have."""
        self.isp.tc("qdisc", "del", "dev", "down0", "root")
        self._htb(self.isp, "down0", self.bytes_per_second, weights, "dst")

    def shape_ifb(self, weights, part=0.95):
        """What an admin can have: the queue moved to this side by an HTB a little slower than the link, on what has arrived."""
        self.gateway.ip("link add ifb0 type ifb\nlink set ifb0 up\n")
        self.gateway.tc("qdisc", "add", "dev", "down0", "handle", "ffff:", "ingress")
        self.gateway.tc("filter", "add", "dev", "down0", "parent", "ffff:", "protocol", "all", "prio", "1", "u32", "match", "u32", "0", "0",
                        "action", "mirred", "egress", "redirect", "dev", "ifb0")
        self._htb(self.gateway, "ifb0", part * self.bytes_per_second, weights, "dst")

    def queue(self):
        """The ISP's queue towards the gateway: (bytes sent, packets dropped, bytes standing), all classes together."""
        if not self.counters:
            self.counters = QueueCounters(self.isp.namespace, "down0")
        return self.counters.read()

    # ---- the gateway -----------------------------------------------------------------------------------------------------------------

    def redirect(self, port):
        """What clients send to port 80 goes to that port of the gateway."""
        for tool in ("iptables", "ip6tables"):
            self.gateway.run(tool, "-t", "nat", "-A", "PREROUTING", "-i", "lan0", "-p", "tcp", "--dport", "80", "-j", "REDIRECT", "--to-ports", str(port))

    def stop(self):
        if self.counters:
            self.counters.close()
        super().stop()
