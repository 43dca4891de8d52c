# SPDX-License-Identifier: BSD-2-Clause
"""
path.py - a server and its clients with a path between them, in network namespaces of their own, and a look at every segment on it.

    server ── router ──delay── clients
           out       rate, loss

    path = Path(lab, rate="100mbit", rtt=20, loss=0, congestion="cubic").start()
    Httpd(lab, ...).on(path.server).start()
    with path.capture("sent") as sent, path.capture("wire") as wire: ...
    segments(wire.file)

`sent` is what the server's kernel hands to its device: with offload (the default) several segments in one piece, every copy of each.
`wire` is what comes to the clients: one segment each, what is lost on the last step (the `loss`, in percent) included.  Needs root.
"""
import os
import random
import re
import signal
import struct
import subprocess

from .lab import LabError, wait_for
from .net import Network


class Path(Network):
    name = "path"
    sysctl = {"net__ipv6__conf__all__disable_ipv6": 1}

    def __init__(self, lab, rate=None, rtt=0, loss=0, congestion="cubic", offload=True, queue=300_000):
        super().__init__(lab, congestion)
        self.rate, self.rtt, self.loss, self.offload, self.queue = rate, rtt, loss, offload, queue
        self.server = self.host("server", "10.5.0.2")
        self.router = self.host("router", "10.5.0.1")
        self.clients = self.host("clients", "10.6.0.2")

    def build(self):
        self.wire(self.server, "out0", self.router, "in0")
        if self.rtt:
            self.delay(self.router, self.clients, "far0", {self.clients.address: self.rtt})
        else:
            self.wire(self.router, "far0", self.clients, "far0")
            self.router.run("ethtool", "-K", "far0", "tso", "off", "gso", "off")    # so that each segment is seen by itself
        if not self.offload:
            self.server.run("ethtool", "-K", "out0", "tso", "off", "gso", "off", "sg", "off")
        self.server.device("out0", "10.5.0.2/24", queue=10000)
        self.router.device("in0", "10.5.0.1/24")
        self.router.device("far0", "10.6.0.1/24", queue=10000)
        self.clients.device("far0", "10.6.0.2/24", queue=10000)
        self.server.ip("route add default via 10.5.0.1\n")
        self.clients.ip("route add default via 10.6.0.1\n")
        if self.rate:
            self.router.bucket("far0", self.rate, "20kb", limit=self.queue)
        if self.loss:
            self.clients.run("iptables", "-t", "raw", "-A", "PREROUTING", "-m", "statistic", "--mode", "random", "--probability", str(self.loss / 100),
                             "-j", "DROP")

    def capture(self, where, bytes_of_each=0):
        host, device = {"sent": (self.server, "out0"), "wire": (self.clients, "far0")}[where]
        return Capture(self.lab, host, device, self.server.address, bytes_of_each)


class Missed(LabError):
    """A capture that is not whole: the machine had too much to do."""


class Capture:
    """What a server sends over TCP, as tcpdump sees it on a device.  A context manager; afterwards, file."""

    def __init__(self, lab, host, device, source, bytes_of_each):
        self.file = os.path.join(lab.dir, f"{host.namespace}-{device}-{random.randrange(1 << 32):08x}.pcap")
        self.argv = [*host.prefix, "tcpdump", "-n", "-i", device, "-s", str(bytes_of_each), "-B", "131072", "-U", "-w", self.file,
                     f"tcp and src host {source}"]

    def __enter__(self):
        self.process = subprocess.Popen(self.argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        wait_for(lambda: os.path.exists(self.file) and os.path.getsize(self.file) >= 24, 10, "tcpdump at work")
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGINT)
        said = self.process.communicate(timeout=60)[1]
        lost = re.search(r"(\d+) packets dropped by kernel", said)
        if not lost or int(lost[1]):
            raise Missed(f"tcpdump has not seen all: {said}")

    def remove(self):
        os.unlink(self.file)


def segments(path):
    """(flow, sequence number, flags, payload, its length on the wire) of each packet of a capture of IPv4; a flow is both its ports."""
    with open(path, "rb") as f:
        head = f.read(24)
        order = "<" if head[:4] in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1") else ">"
        link = {1: 14, 101: 0, 12: 0, 228: 0}[struct.unpack(order + "I", head[20:24])[0] & 0xffff]
        record = struct.Struct(order + "IIII")
        tcp = struct.Struct("!HHIIBB")
        data = f.read(1 << 22)
        at = 0
        while True:
            if len(data) - at < 16 + 262144:
                data, at = data[at:] + f.read(1 << 22), 0
            if len(data) - at < 16:
                return
            _, _, n, _ = record.unpack_from(data, at)
            ip = at + 16 + link
            at += 16 + n
            if at > len(data):
                return
            header = (data[ip] & 15) * 4
            total = data[ip + 2] << 8 | data[ip + 3]
            source, target, sequence, _, offset, flags = tcp.unpack_from(data, ip + header)
            begin = ip + header + (offset >> 4) * 4
            # Offload makes packets whose length does not fit into the field of IPv4.
            end = min(at, ip + total) if total else at
            yield (source, target), sequence, flags, data[begin:end], (total or at - ip) - (begin - ip)


class Flow:
    """One direction of a connection: every copy of every segment, as (place in the stream, payload, length), in the order in which they came."""

    def __init__(self, first):
        self.first, self.pieces = first, []

    def stream(self):
        """The bytes from the first on, as far as they are without a gap."""
        out = bytearray()
        for at, payload, _ in sorted(self.pieces, key=lambda p: p[0]):
            if at > len(out):
                break
            out += payload[len(out) - at:]
        return bytes(out)


def flows(path):
    """Every connection of a capture that has its beginning there."""
    found, live = [], {}
    for ports, sequence, flags, payload, length in segments(path):
        if flags & 2:
            if ports not in live or live[ports].first != (sequence + 1) & 0xffffffff:
                live[ports] = Flow((sequence + 1) & 0xffffffff)
                found.append(live[ports])
        elif length > 0 and ports in live:
            at = (sequence - live[ports].first) & 0xffffffff
            if at < 1 << 31:
                live[ports].pieces.append((at, payload, length))
    return found
