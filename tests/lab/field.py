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
import ctypes
import os
import random
import signal
import socket
import struct
import subprocess
import threading

from .lab import LabError, program

RTTS_MIXED = (20, 25, 30, 40, 50, 65, 80, 100, 130, 160, 200, 250)     # ms
RTTS_NONE = (0,) * 12


def run(*words, **options):
    r = subprocess.run(words, capture_output=True, text=True, **options)
    if r.returncode:
        raise LabError(f"{' '.join(words)}: {r.stderr.strip() or r.stdout.strip()}")
    return r.stdout


def inside(namespace, make):
    """make() in that namespace. Only a thread of its own may go there; a socket that it opens stays there."""
    result, failed = [], []

    def there():
        try:
            libc = ctypes.CDLL(None, use_errno=True)
            with open(f"/run/netns/{namespace}", "rb") as f:
                if libc.setns(f.fileno(), 0x40000000) != 0:     # CLONE_NEWNET
                    raise OSError(ctypes.get_errno(), f"setns to {namespace}")
            result.append(make())
        except OSError as e:
            failed.append(e)
    t = threading.Thread(target=there)
    t.start()
    t.join()
    if failed:
        raise failed[0]
    return result[0]


def allow_congestion(name):
    """A congestion control must be allowed in the first namespace before another may choose it."""
    with open("/proc/sys/net/ipv4/tcp_allowed_congestion_control") as f:
        allowed = f.read().split()
    if name not in allowed:
        if os.path.exists("/sbin/modprobe"):
            subprocess.run(["modprobe", "-q", f"tcp_{name}"], check=False, capture_output=True)     # it may be built in
        run("sysctl", "-qw", f"net.ipv4.tcp_allowed_congestion_control={' '.join(allowed + [name])}")


class Delay:
    """A fairgate-delay between two hosts: a device of this name in each; milliseconds: {address of the far side: round trip}."""

    def __init__(self, lab, near, far, device, milliseconds, options=()):
        argv = [program("tests/lab/fairgate-delay"), "--near", f"{near.namespace}:{device}", "--far", f"{far.namespace}:{device}"]
        for address, ms in milliseconds.items():
            argv += ["--delay", f"{address}={ms}"]
        argv += options
        log = os.path.join(lab.dir, f"delay-{near.namespace}")
        with open(log, "w", encoding="ascii") as err:
            self.process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=err, text=True, start_new_session=True)
        if self.process.stdout.readline().strip() != "ready":
            with open(log, encoding="ascii") as f:
                raise LabError(f"fairgate-delay did not start: {f.read()}")

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(10)
        self.process.stdout.close()


def remove(hosts):
    """Their namespaces, and what is in them."""
    for h in hosts:
        subprocess.run(["ip", "netns", "del", h.namespace], check=False, capture_output=True)


class Host:
    """A namespace, as Server.on() and the like want a place to run."""

    def __init__(self, namespace, address):
        self.namespace, self.address = namespace, address
        self.prefix = ["ip", "netns", "exec", namespace]

    def run(self, *words, **options):
        return run(*self.prefix, *words, **options)

    def ip(self, text):
        """Commands of ip(8), one a line."""
        run("ip", "-n", self.namespace, "-batch", "-", input=text)

    def inside(self, make):
        return inside(self.namespace, make)

    def tc(self, *words):
        return run("tc", "-n", self.namespace, *words)

    def sysctl(self, **values):
        self.run("sysctl", "-qw", *(f"{k.replace('__', '.')}={v}" for k, v in values.items()))


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


class Field:
    name = "field"
    classes, hosts = 3, 10              # client networks, addresses in each

    def __init__(self, lab, rate="2mbit", limit=200_000, rtts=RTTS_MIXED, congestion="cubic"):
        self.lab, self.rate, self.limit, self.rtts, self.congestion = lab, rate, limit, rtts, congestion
        base = f"fg{os.getpid()}-{random.randrange(1 << 16):04x}"
        self.clients = Host(f"{base}-clients", "10.1.0.2")
        self.gateway = Host(f"{base}-gateway", "10.1.0.1")
        self.isp = Host(f"{base}-isp", "10.2.0.1")
        self.servers = Host(f"{base}-servers", "10.3.0.250")
        self.all_hosts = [self.clients, self.gateway, self.isp, self.servers]
        self.server_addresses = [f"10.3.0.{i + 1}" for i in range(len(rtts))]
        self.delay = None
        self.counters = None

    def start(self):
        self.lab.servers.append(self)
        allow_congestion(self.congestion)
        for h in self.all_hosts:
            run("ip", "netns", "add", h.namespace)
            h.ip("link set lo up\n")
            h.sysctl(net__ipv4__tcp_no_metrics_save=1, net__ipv4__tcp_congestion_control=self.congestion, net__ipv4__ip_forward=1,
                     net__ipv6__conf__all__forwarding=1)
        self._wire(self.clients, "lan0", self.gateway, "lan0")
        self._wire(self.gateway, "down0", self.isp, "down0")
        self._delay()
        self._addresses()
        self.shape_tbf()
        return self

    @staticmethod
    def _wire(a, device_a, b, device_b):
        run("ip", "link", "add", device_a, "netns", a.namespace, "type", "veth", "peer", "name", device_b, "netns", b.namespace)

    def _delay(self):
        far = {}
        for i, ms in enumerate(self.rtts):
            far |= {f"10.3.0.{i + 1}": ms, f"fd03::{i + 1:x}": ms}
        self.delay = Delay(self.lab, self.isp, self.servers, "far0", far)

    def _addresses(self):
        own = [f"10.1.{c}.{h}" for c in range(1, self.classes + 1) for h in range(1, self.hosts + 1)]
        own6 = [f"fd01::{c}:{h}" for c in range(1, self.classes + 1) for h in range(1, self.hosts + 1)]
        self.clients.ip("addr add 10.1.0.2/16 dev lan0\naddr add fd01::2/64 dev lan0 nodad\n"
                        + "".join(f"addr add {a}/16 dev lan0\n" for a in own) + "".join(f"addr add {a}/64 dev lan0 nodad\n" for a in own6)
                        + "link set lan0 up\nroute add default via 10.1.0.1\nroute add default via fd01::1\n")
        self.gateway.ip("addr add 10.1.0.1/16 dev lan0\naddr add 10.2.0.2/24 dev down0\naddr add fd01::1/64 dev lan0 nodad\n"
                        "addr add fd02::2/64 dev down0 nodad\nlink set lan0 up\nlink set down0 up\n"
                        "route add default via 10.2.0.1\nroute add default via fd02::1\n")
        self.isp.ip("addr add 10.2.0.1/24 dev down0\naddr add 10.4.0.1/24 dev far0\naddr add fd02::1/64 dev down0 nodad\n"
                    "addr add fd04::1/64 dev far0 nodad\nlink set down0 up\nlink set far0 up\nlink set far0 txqueuelen 5000\n"
                    "route add 10.1.0.0/16 via 10.2.0.2\nroute add 10.3.0.0/24 dev far0\nroute add fd01::/64 via fd02::2\nroute add fd03::/64 dev far0\n")
        self.servers.ip("".join(f"addr add {a}/32 dev lo\n" for a in self.server_addresses + [self.servers.address])
                        + "".join(f"addr add fd03::{i + 1:x}/128 dev lo\n" for i in range(len(self.rtts)))
                        + "addr add 10.4.0.2/24 dev far0\naddr add fd04::2/64 dev far0 nodad\nlink set far0 up\nlink set far0 txqueuelen 5000\n"
                        "route add default via 10.4.0.1\nroute add default via fd04::1\n")

    # ---- the downlink ----------------------------------------------------------------------------------------------------------------

    @property
    def bytes_per_second(self):
        units = {"kbit": 1e3, "mbit": 1e6, "gbit": 1e9}
        return float(self.rate[:-4]) * units[self.rate[-4:]] / 8

    def shape_tbf(self):
        """What an ISP has: a token bucket and one drop-tail queue."""
        self.isp.tc("qdisc", "replace", "dev", "down0", "root", "handle", "1:", "tbf", "rate", self.rate, "burst", "10kb",
                    "limit", str(self.limit))

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
        if self.delay:
            self.delay.stop()
        remove(self.all_hosts)
        if self in self.lab.servers:
            self.lab.servers.remove(self)
