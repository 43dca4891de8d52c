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
import pwd
import signal
import socket
import subprocess

from .lab import LabError, program, wait_for
from .net import Network, run


class Daemon:
    """fairgate-pktcache at one end; settings: lines of its configuration that differ from the lab's."""

    def __init__(self, pair, role, host, name=None, **settings):
        """name: what tells it from others of its host."""
        self.pair, self.role, self.host, self.settings = pair, role, host, settings
        self.process = None
        files = os.path.join(pair.lab.dir, f"{host.namespace}-{name}" if name else host.namespace)
        self.control = os.path.join(f"{files}.run", "control")      # the daemon makes the folder, and so can take the socket away
        self.config, self.log = f"{files}.conf", f"{files}.log"

    def write(self, **settings):
        self.settings.update(settings)
        here, there = ("10.8.2.1", "10.8.2.2") if self.role == "parent" else ("10.8.2.2", "10.8.2.1")
        lines = dict(secret=self.pair.secret, user="nobody", local=f"{here}:4754", peer=f"{there}:4754", servers="10.8.1.0/24 fd08:1::/64", clients="10.8.3.0/24 fd08:3::/64", ports=80, cache="64M",
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
            wait_for(lambda: self.process.poll() is not None or self.leads(), 10, f"{self.role}'s hooks")
            if self.process.poll() is not None:
                raise LabError(f"{self.role} has ended: {self.said()}")
        return self

    def hooks(self, device="link0"):
        """Its filters at a device, of both directions."""
        words = [["tc", "filter", "show", "dev", device, way] for way in ("egress", "ingress")]
        said = "".join(subprocess.run([*self.host.prefix, *argv], capture_output=True, text=True, check=False).stdout for argv in words)
        return said.count(f"fairgate-pktcache/{self.settings.get('device', 'fgpktcache0')} ")

    def leads(self):
        """It answers, and takes packets from their way."""
        try:
            return bool(self.stats()) and self.hooks() > 0
        except (OSError, ValueError):
            return False

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

    def stats(self, patience=5):
        with socket.socket(socket.AF_UNIX) as s:
            s.settimeout(patience)
            s.connect(self.control)
            s.send(b"json\n")
            data = b""
            while more := s.recv(1 << 16):
                data += more
        return json.loads(data)

    def counters(self):
        return self.stats()["counters"]

    def at_work(self, patience=5):
        try:
            return self.stats(patience)["at_work"]
        except (OSError, ValueError):       # it is not there, or has no time to say all of it
            return False

    def cpu(self):
        with open(f"/proc/{self.pid()}/stat", encoding="ascii") as f:
            fields = f.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def resident(self):
        with open(f"/proc/{self.pid()}/statm", encoding="ascii") as f:
            return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class Pair(Network):
    name = "pair"
    sysctl = {"net__ipv6__conf__all__forwarding": 1, "net__ipv6__conf__default__accept_dad": 0, "net__ipv6__conf__all__accept_dad": 0}

    def __init__(self, lab, rate=None, rtt=0, queue=300_000, mtu=1500, bad=(), delays=None, congestion="cubic", link=None, parent=None, child=None):
        """bad: options of fairgate-delay that make the link a bad one; delays: {address of a client: ms that its round trip takes beyond the child}.
        link: words of a program that is the link, in the place of a delay and of `rate` and `queue`, which are its own then."""
        super().__init__(lab, congestion)
        self.rate, self.rtt, self.queue, self.mtu, self.bad, self.beyond = rate, rtt, queue, mtu, bad, delays or {}
        self.link, self.linked = link, None
        self.servers = self.host("s", "10.8.1.2")
        self.near = self.host("p", "10.8.1.1")
        self.far = self.host("c", "10.8.3.1")
        self.clients = self.host("u", "10.8.3.2")
        self.secret = os.path.join(lab.dir, f"{self.base}.key")
        self.parent = Daemon(self, "parent", self.near, **(parent or {}))
        self.child = Daemon(self, "child", self.far, **(child or {}))

    def build(self):
        run(program("pktcache/fairgate-pktcache"), "keygen", self.secret)
        who = pwd.getpwnam("nobody")
        os.chown(self.secret, who.pw_uid, who.pw_gid)       # so that whom the daemon becomes can read it again
        self.wire(self.servers, "out0", self.near, "in0")
        self.ends(1, (self.servers, "out0", 2), (self.near, "in0", 1))
        if self.link:
            argv = [*self.link, "--near", f"{self.near.namespace}:link0", "--far", f"{self.far.namespace}:link0"]
            self.linked = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, start_new_session=True)
            if self.linked.stdout.readline() != "ready\n":
                raise LabError(f"{self.link[0]} did not start")
        elif self.delayed:
            self.delay(self.near, self.far, "link0", {a: self.rtt for a in ("10.8.2.2", "10.8.3.2", "fd08:2::2", "fd08:3::2", *self.beyond)}, self.bad)
        else:
            self.wire(self.near, "link0", self.far, "link0")
        self.ends(2, (self.near, "link0", 1), (self.far, "link0", 2))
        if self.beyond:
            self.delay(self.far, self.clients, "in0", self.beyond)
        else:
            self.wire(self.far, "out0", self.clients, "in0")
        self.ends(3, (self.far, "in0" if self.beyond else "out0", 1), (self.clients, "in0", 2))
        self.servers.ip("route add default via 10.8.1.1\nroute add default via fd08:1::1\n")
        self.clients.ip("route add default via 10.8.3.1\nroute add default via fd08:3::1\n")
        self.near.ip("route add 10.8.3.0/24 via 10.8.2.2\nroute add fd08:3::/64 via fd08:2::2\n")
        self.far.ip("route add 10.8.1.0/24 via 10.8.2.1\nroute add fd08:1::/64 via fd08:2::1\n")
        if self.rate and not self.link:
            self.near.bucket("link0", self.rate, "20kb", limit=self.queue)

    @property
    def delayed(self):
        """The link is a fairgate-delay, whose device carries packets without Ethernet."""
        return bool(not self.link and (self.rtt or self.bad))

    def ends(self, number, *ends):
        """(host, device, last part of its address) of both ends of the network of this number."""
        for host, device, n in ends:
            host.device(device, f"10.8.{number}.{n}/24", f"fd08:{number}::{n}/64", queue=10000, mtu=self.mtu)

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
        return int(out[0]) - (0 if self.delayed else 14 * int(out[1]))

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
        self.end_link()
        super().stop()
        for d in (self.parent, self.child):
            if d.process and "Sanitizer" in d.said():
                raise LabError(f"{d.role}: {d.said()[-4000:]}")
