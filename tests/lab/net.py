# SPDX-License-Identifier: BSD-2-Clause
"""
net.py - hosts in network namespaces of their own and what is between them; field.py, path.py, pair.py and link.py are made of it.

    class Two(Network):
        name = "two"

        def __init__(self, lab):
            super().__init__(lab, congestion="cubic")
            self.server, self.client = self.host("server", "10.5.0.1"), self.host("client", "10.5.0.2")

        def build(self):
            self.wire(self.server, "out0", self.client, "in0")
            self.server.device("out0", "10.5.0.1/24")
            self.client.device("in0", "10.5.0.2/24")
            self.server.bucket("out0", "2mbit", "20kb", limit=300_000)

    two = Two(lab).start()
    Httpd(lab, ...).on(two.server).start()

Needs root.  Stopping a network removes its namespaces and all that is in them.
"""
import ctypes
import os
import random
import signal
import subprocess
import threading

from .lab import LabError, program


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


class Host:
    """A namespace, as Server.on() and the like want a place to run."""

    def __init__(self, namespace, address):
        self.namespace, self.address = namespace, address
        self.prefix = ["ip", "netns", "exec", namespace]

    def add(self):
        run("ip", "netns", "add", self.namespace)
        self.ip("link set lo up\n")

    def remove(self):
        """It, and what is in it."""
        subprocess.run(["ip", "netns", "del", self.namespace], check=False, capture_output=True)

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

    def device(self, name, *addresses, queue=None, mtu=None):
        """Sets it up, with these addresses, which count at once; queue: packets."""
        words = "".join(f" {key} {value}" for key, value in (("mtu", mtu), ("txqueuelen", queue)) if value)
        self.ip(f"link set {name}{words} up\n" + "".join(f"addr add {a} dev {name}{' nodad' if ':' in a else ''}\n" for a in addresses))

    def bucket(self, device, rate, burst, **bound):
        """What it sends there goes through a token bucket and one drop-tail queue; bound: limit=bytes or latency="50ms"."""
        self.tc("qdisc", "replace", "dev", device, "root", "handle", "1:", "tbf", "rate", rate, "burst", burst,
                *(str(word) for pair in bound.items() for word in pair))


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


class Network:
    """Its hosts, from start() to stop().  Subclasses name them, and build() what is between them."""

    name = "network"
    sysctl = {}             # what all of its hosts have besides

    def __init__(self, lab, congestion=None):
        """congestion: its hosts are routers with this congestion control; None: they are as the kernel makes them."""
        self.lab, self.congestion = lab, congestion
        self.base = f"fg{os.getpid()}-{random.randrange(1 << 16):04x}"
        self.hosts, self.delays = [], []

    def host(self, name, address):
        self.hosts.append(Host(f"{self.base}-{name}", address))
        return self.hosts[-1]

    def start(self):
        self.lab.servers.append(self)
        if self.congestion:
            allow_congestion(self.congestion)
        for h in self.hosts:
            h.add()
            if self.congestion:
                h.sysctl(net__ipv4__tcp_no_metrics_save=1, net__ipv4__tcp_congestion_control=self.congestion, net__ipv4__ip_forward=1, **self.sysctl)
        self.build()
        return self

    def build(self):
        raise NotImplementedError

    @staticmethod
    def wire(a, device_a, b, device_b):
        run("ip", "link", "add", device_a, "netns", a.namespace, "type", "veth", "peer", "name", device_b, "netns", b.namespace)

    def delay(self, near, far, device, milliseconds, options=()):
        """A wire that takes its time; see Delay."""
        self.delays.append(Delay(self.lab, near, far, device, milliseconds, options))

    def stop(self):
        for d in self.delays:
            d.stop()
        for h in self.hosts:
            h.remove()
        if self in self.lab.servers:
            self.lab.servers.remove(self)
