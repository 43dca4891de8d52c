# SPDX-License-Identifier: BSD-2-Clause
"""
pair.py - a link with a packet cache at each end, in network namespaces.

    servers ──── parent ═══ link ═══ child ──── clients
    10.8.1.2     rate, loss, delay                10.8.3.2, and fd08:1::2, fd08:3::2

    pair = Pair(lab, rate="20mbit", rtt=100).start()
    pair.parent.start(); pair.child.start()
    Httpd(lab, ...).on(pair.servers)

Both daemons may be started, killed and started again at any time; what goes over the link is counted by its device.  Needs root.
"""
import json
import os
import random
import signal
import socket
import subprocess

from .field import Delay, Host, allow_congestion, remove, run
from .lab import LabError, program, wait_for


class Daemon:
    """fairgate-pktcache at one end; settings: lines of its configuration that differ from the lab's."""

    def __init__(self, pair, role, host, **settings):
        self.pair, self.role, self.host, self.settings = pair, role, host, settings
        self.process = None
        self.control = os.path.join(pair.lab.dir, f"{host.namespace}.control")
        self.config = os.path.join(pair.lab.dir, f"{host.namespace}.conf")
        self.log = os.path.join(pair.lab.dir, f"{host.namespace}.log")

    def write(self, **settings):
        self.settings.update(settings)
        here, there = ("10.8.2.1", "10.8.2.2") if self.role == "parent" else ("10.8.2.2", "10.8.2.1")
        lines = dict(secret=self.pair.secret, local=f"{here}:4754", peer=f"{there}:4754", servers="10.8.1.0/24 fd08:1::/64", clients="10.8.3.0/24 fd08:3::/64", ports=80, cache="64M",
                     mtu=self.pair.mtu, control=self.control)
        lines.update(self.settings)
        with open(self.config, "w", encoding="ascii") as f:
            f.writelines(f"{k} {v}\n" for k, v in lines.items())

    def start(self, wait=True, path=None, **settings):
        """path: a folder whose programs the daemon finds before the system's."""
        self.write(**settings)
        environment = {**os.environ, "PATH": f"{path}:{os.environ['PATH']}"} if path else None
        with open(self.log, "a", encoding="ascii") as log:
            self.process = subprocess.Popen([*self.host.prefix, program("pktcache/fairgate-pktcache"), f"--{self.role}", self.config],
                                            stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, env=environment)
        if wait:
            wait_for(lambda: self.process.poll() is not None or "tun0 up" in self.route(), 10, f"{self.role}'s route")
            if self.process.poll() is not None:
                raise LabError(f"{self.role} has ended: {self.said()}")
        return self

    def route(self):
        out = subprocess.run([*self.host.prefix, "ip", "route", "show", "table", "4754"], capture_output=True, text=True, check=False).stdout
        return "tun0 up" if "fgpktcache0" in out else ""

    def said(self):
        with open(self.log, encoding="ascii", errors="replace") as f:
            return f.read()

    def pid(self):
        return self.process.pid        # ip netns exec becomes the daemon

    def signal(self, number):
        os.kill(self.pid(), number)

    def kill(self):
        self.signal(signal.SIGKILL)
        self.process.wait(10)

    def stop(self):
        if self.process and self.process.poll() is None:
            self.signal(signal.SIGCONT)
            self.signal(signal.SIGTERM)
            self.process.wait(10)
        return self.process.returncode if self.process else None

    def stats(self):
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(5)
            s.connect(self.control)
            s.send(b"json\n")
            data = b""
            while more := s.recv(1 << 16):
                data += more
        return json.loads(data)

    def counters(self):
        return self.stats()["counters"]

    def at_work(self):
        try:
            return self.stats()["at_work"]
        except OSError:
            return False

    def cpu(self):
        with open(f"/proc/{self.pid()}/stat", encoding="ascii") as f:
            fields = f.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def resident(self):
        with open(f"/proc/{self.pid()}/statm", encoding="ascii") as f:
            return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Pair:
    name = "pair"

    def __init__(self, lab, rate=None, rtt=0, queue=300_000, mtu=1500, bad=(), delays=None, congestion="cubic", link=None, parent=None, child=None):
        """bad: options of fairgate-delay that make the link a bad one; delays: {address of a client: ms that its round trip takes beyond the child}.
        link: words of a program that is the link, in the place of a delay and of `rate` and `queue`, which are its own then."""
        self.lab, self.rate, self.rtt, self.queue, self.mtu, self.bad, self.delays = lab, rate, rtt, queue, mtu, bad, delays or {}
        self.congestion, self.link, self.linked = congestion, link, None
        base = f"fg{os.getpid()}-{random.randrange(1 << 16):04x}"
        self.servers = Host(f"{base}-s", "10.8.1.2")
        self.near = Host(f"{base}-p", "10.8.1.1")
        self.far = Host(f"{base}-c", "10.8.3.1")
        self.clients = Host(f"{base}-u", "10.8.3.2")
        self.hosts = [self.servers, self.near, self.far, self.clients]
        self.delay = self.beyond = None
        self.secret = os.path.join(lab.dir, f"{base}.key")
        self.parent = Daemon(self, "parent", self.near, **(parent or {}))
        self.child = Daemon(self, "child", self.far, **(child or {}))

    def start(self):
        self.lab.servers.append(self)
        run(program("pktcache/fairgate-pktcache"), "keygen", self.secret)
        allow_congestion(self.congestion)
        for h in self.hosts:
            run("ip", "netns", "add", h.namespace)
            h.ip("link set lo up\n")
            h.sysctl(net__ipv4__tcp_no_metrics_save=1, net__ipv4__tcp_congestion_control=self.congestion, net__ipv4__ip_forward=1, net__ipv6__conf__all__forwarding=1, net__ipv6__conf__default__accept_dad=0,
                     net__ipv6__conf__all__accept_dad=0)
        self.wire(self.servers, "out0", "10.8.1.2/24", "fd08:1::2/64", self.near, "in0", "10.8.1.1/24", "fd08:1::1/64")
        if self.link:
            argv = [*self.link, "--near", f"{self.near.namespace}:link0", "--far", f"{self.far.namespace}:link0"]
            self.linked = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, start_new_session=True)
            if self.linked.stdout.readline() != "ready\n":
                raise LabError(f"{self.link[0]} did not start")
            for host, four, six in ((self.near, "10.8.2.1/24", "fd08:2::1/64"), (self.far, "10.8.2.2/24", "fd08:2::2/64")):
                host.ip(f"link set link0 mtu {self.mtu} up\n")
                self.addresses(host, "link0", four, six)
        elif self.rtt or self.bad:
            self.delay = Delay(self.lab, self.near, self.far, "link0", {"10.8.2.2": self.rtt, "10.8.3.2": self.rtt, "fd08:3::2": self.rtt, **{a: self.rtt for a in self.delays}}, self.bad)
            for host, four, six in ((self.near, "10.8.2.1/24", "fd08:2::1/64"), (self.far, "10.8.2.2/24", "fd08:2::2/64")):
                host.ip(f"link set link0 mtu {self.mtu} up\n")
                self.addresses(host, "link0", four, six)
        else:
            self.wire(self.near, "link0", "10.8.2.1/24", "fd08:2::1/64", self.far, "link0", "10.8.2.2/24", "fd08:2::2/64")
        if self.delays:
            self.beyond = Delay(self.lab, self.far, self.clients, "in0", self.delays)
            for host, four, six in ((self.far, "10.8.3.1/24", "fd08:3::1/64"), (self.clients, "10.8.3.2/24", "fd08:3::2/64")):
                host.ip(f"link set in0 mtu {self.mtu} up\n")
                self.addresses(host, "in0", four, six)
        else:
            self.wire(self.far, "out0", "10.8.3.1/24", "fd08:3::1/64", self.clients, "in0", "10.8.3.2/24", "fd08:3::2/64")
        self.servers.ip("route add default via 10.8.1.1\nroute add default via fd08:1::1\n")
        self.clients.ip("route add default via 10.8.3.1\nroute add default via fd08:3::1\n")
        self.near.ip("route add 10.8.3.0/24 via 10.8.2.2\nroute add fd08:3::/64 via fd08:2::2\n")
        self.far.ip("route add 10.8.1.0/24 via 10.8.2.1\nroute add fd08:1::/64 via fd08:2::1\n")
        if self.rate and not self.link:
            self.near.tc("qdisc", "add", "dev", "link0", "root", "tbf", "rate", self.rate, "burst", "20kb", "limit", str(self.queue))
        return self

    @staticmethod
    def addresses(host, device, four, six):
        host.ip(f"addr add {four} dev {device}\naddr add {six} dev {device}\nlink set {device} txqueuelen 10000\n")

    def wire(self, a, device_a, four_a, six_a, b, device_b, four_b, six_b):
        run("ip", "link", "add", device_a, "mtu", str(self.mtu), "netns", a.namespace, "type", "veth", "peer", "name", device_b, "mtu", str(self.mtu), "netns", b.namespace)
        for host, device, four, six in ((a, device_a, four_a, six_a), (b, device_b, four_b, six_b)):
            host.ip(f"link set {device} up\n")
            self.addresses(host, device, four, six)

    def end_link(self):
        """Ends a link that is a program; what that said."""
        said = None
        if self.linked:
            self.linked.send_signal(signal.SIGTERM)
            said = self.linked.communicate(timeout=10)[0].split()
            self.linked = None
        return said

    def carried(self):
        """Bytes that the link has carried to the clients, of IP."""
        out = self.far.run("cat", "/sys/class/net/link0/statistics/rx_bytes", "/sys/class/net/link0/statistics/rx_packets").split()
        return int(out[0]) - (0 if self.delay else 14 * int(out[1]))

    def packets(self):
        """Packets that the link has carried to the clients."""
        return int(self.far.run("cat", "/sys/class/net/link0/statistics/rx_packets"))

    def both(self, **settings):
        """Starts both daemons; returns when they are at work."""
        self.parent.start(**settings)
        self.child.start(**settings)
        wait_for(lambda: self.parent.at_work() and self.child.at_work(), 10, "a session between parent and child")
        return self

    def stop(self):
        self.child.stop()
        self.parent.stop()
        for d in (self.delay, self.beyond):
            if d:
                d.stop()
        self.end_link()
        remove(self.hosts)
        for d in (self.parent, self.child):
            if d.process and "Sanitizer" in d.said():
                raise LabError(f"{d.role}: {d.said()[-4000:]}")
        if self in self.lab.servers:
            self.lab.servers.remove(self)
