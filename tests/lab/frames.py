# SPDX-License-Identifier: BSD-2-Clause
"""
frames.py - a TCP client that writes its own Ethernet frames, for destinations that the kernel of a client never sends: 0.0.0.0, ::ffff:127.0.0.1.

    with FrameClient(client, "out0", gate, "in0", "10.9.1.77") as c:
        c.fetch("0.0.0.0", 80, b"GET / HTTP/1.1\r\n...")      # all that the peer sends until it closes; None: no connection

The client has an Ethernet address and an IP address that no host has, so no kernel answers in its place.  It sends no retransmission: a veth loses nothing.
"""
import ipaddress
import random
import socket
import struct
import time

ETHERNET = bytes.fromhex("02fa17000077")
FIN, SYN, RST, PSH, ACK = 1, 2, 4, 8, 16


def checksum(data):
    total = sum(struct.unpack(f"!{len(data) // 2 + len(data) % 2}H", data + b"\0" * (len(data) % 2)))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def address_of(host, device):
    """The Ethernet address of a host's device."""
    return bytes.fromhex(host.run("cat", f"/sys/class/net/{device}/address").strip().replace(":", ""))


class FrameClient:
    """A context manager; `gate` is the next hop, and knows the client's address as long as it lasts."""

    def __init__(self, client, device, gate, gate_device, address):
        self.client, self.device, self.gate, self.gate_device = client, device, gate, gate_device
        self.address = ipaddress.ip_address(address)

    def __enter__(self):
        self.hop = address_of(self.gate, self.gate_device)
        self.gate.ip(f"neigh replace {self.address} lladdr {':'.join(f'{b:02x}' for b in ETHERNET)} nud permanent dev {self.gate_device}\n")
        self.kind = 0x0800 if self.address.version == 4 else 0x86dd

        def make():
            s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(self.kind))
            s.bind((self.device, self.kind))
            return s
        self.socket = self.client.inside(make)
        return self

    def __exit__(self, *_):
        self.socket.close()
        self.gate.ip(f"neigh del {self.address} dev {self.gate_device}\n")

    def send(self, target, ports, sequence, acknowledged, flags, data=b""):
        source, to = self.address.packed, target.packed
        segment = struct.pack("!HHIIBBHHH", *ports, sequence, acknowledged, 0x50, flags, 65535, 0, 0) + data
        pseudo = source + to + (struct.pack("!BBH", 0, 6, len(segment)) if len(to) == 4 else struct.pack("!IHBB", len(segment), 0, 0, 6))
        segment = segment[:16] + struct.pack("!H", checksum(pseudo + segment)) + segment[18:]
        if len(to) == 4:
            head = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(segment), 0, 0x4000, 64, 6, 0, source, to)
            head = head[:10] + struct.pack("!H", checksum(head)) + head[12:]
        else:
            head = struct.pack("!IHBB16s16s", 6 << 28, len(segment), 6, 64, source, to)
        self.socket.send(self.hop + ETHERNET + struct.pack("!H", self.kind) + head + segment)

    def receive(self, target, ports, until):
        """The next segment from there to this client: (sequence, flags, data); None: none came in time."""
        while (left := until - time.monotonic()) > 0:
            self.socket.settimeout(left)
            try:
                packet = self.socket.recv(1 << 17)[14:]
            except TimeoutError:
                return None
            if self.kind == 0x0800:
                source, to, transport = packet[12:16], packet[16:20], packet[9]
                segment = packet[(packet[0] & 15) * 4:struct.unpack("!H", packet[2:4])[0]]
            else:
                source, to, transport = packet[8:24], packet[24:40], packet[6]
                segment = packet[40:40 + struct.unpack("!H", packet[4:6])[0]]
            if (source, to, transport) != (target.packed, self.address.packed, 6) or struct.unpack("!HH", segment[:4]) != ports[::-1]:
                continue
            return struct.unpack("!I", segment[4:8])[0], segment[13], segment[(segment[12] >> 4) * 4:]
        return None

    def fetch(self, target, port, request, seconds=10):
        """What the peer sends until it closes; None: it accepts no connection within a second."""
        target, ports, mine = ipaddress.ip_address(target), (random.randrange(20000, 60000), port), random.randrange(1 << 31)
        self.send(target, ports, mine, 0, SYN)
        got = self.receive(target, ports, time.monotonic() + 1)
        if not got or got[1] & RST:
            return None
        mine, theirs, data, until = mine + 1, (got[0] + 1) & 0xffffffff, b"", time.monotonic() + seconds
        self.send(target, ports, mine, theirs, ACK | PSH, request)
        mine += len(request)
        while got := self.receive(target, ports, until):
            sequence, flags, more = got
            if flags & RST:
                break
            if sequence != theirs:
                continue
            data += more
            theirs = (theirs + len(more) + bool(flags & FIN)) & 0xffffffff
            self.send(target, ports, mine, theirs, ACK | (flags & FIN))
            if flags & FIN:
                break
        return data
