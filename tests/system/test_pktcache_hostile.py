# SPDX-License-Identifier: BSD-2-Clause
"""pktcache: what strangers send, and what other programs on the machine do to it."""

import configparser
import os
import socket
import struct
import threading

import pytest

from lab.field import inside
from lab.lab import ROOT, kept_lab, wait_for
from test_pktcache import streams

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs network namespaces")


@pytest.fixture
def lab(request):
    with kept_lab("pktcache", lambda: request.session.testsfailed > 0) as made:
        yield made


# ---- forged ICMP -------------------------------------------------------------------------------------------------------------

def checksum(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return 0xffff & ~total


class Forger(threading.Thread):
    """A stranger: says to `victim` ten times a second, as a router would, that its datagrams to `peer` can't get there."""

    def __init__(self, host, victim, peer, port=4754):
        super().__init__(daemon=True)
        self.six = ":" in victim
        self.victim, self.peer, self.port, self.ended, self.sent = victim, peer, port, threading.Event(), 0
        family, what = (socket.AF_INET6, socket.IPPROTO_ICMPV6) if self.six else (socket.AF_INET, socket.IPPROTO_ICMP)
        self.socket = inside(host.namespace, lambda: socket.socket(family, socket.SOCK_RAW, what))

    def message(self, kind, code, word):
        udp = struct.pack("!HHHH", self.port, self.port, 108, 0)
        if self.six:
            quoted = struct.pack("!IHBB", 6 << 28, 108, 17, 64) + socket.inet_pton(socket.AF_INET6, self.victim) + socket.inet_pton(socket.AF_INET6, self.peer) + udp
            return struct.pack("!BBHI", kind, code, 0, word) + quoted
        quoted = struct.pack("!BBHHHBBH", 0x45, 0, 128, 1, 0x4000, 64, 17, 0) + socket.inet_aton(self.victim) + socket.inet_aton(self.peer) + udp
        head = struct.pack("!BBHI", kind, code, 0, word)
        return struct.pack("!BBHI", kind, code, checksum(head + quoted), word) + quoted

    def run(self):
        # Port, host and network unreachable, forbidden; too large; no time left.
        lies = [(1, 4, 0), (1, 3, 0), (1, 0, 0), (1, 1, 0), (2, 0, 1280), (3, 0, 0)] if self.six else [(3, 3, 0), (3, 1, 0), (3, 0, 0), (3, 13, 0), (3, 4, 552), (11, 0, 0)]
        while not self.ended.wait(0.1):
            self.socket.sendto(self.message(*lies[self.sent % len(lies)]), (self.victim, 0))
            self.sent += 1

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.join()
        self.socket.close()


@pytest.mark.parametrize("version", (4, 6))
def test_forged_icmp_does_not_turn_the_cache_off(lab, version):
    """Who can't even see the link says that nobody listens at its other end, or that it takes small packets only.  Whether the child hears, only the child says."""
    near, far = ("10.8.2.1", "10.8.2.2") if version == 4 else ("fd08:2::1", "fd08:2::2")
    pair, s = streams(lab, rtt=4)
    with s:
        ends = (near, far) if version == 4 else (f"[{near}]", f"[{far}]")
        pair.parent.settings.update(local=f"{ends[0]}:4754", peer=f"{ends[1]}:4754")
        pair.child.settings.update(local=f"{ends[1]}:4754", peer=f"{ends[0]}:4754")
        pair.both()
        s.fetch(20)
        before = pair.parent.stats()["counters"]
        with Forger(pair.servers, near, far) as one, Forger(pair.clients, far, near) as other:
            wait_for(lambda: s.fetch(10) and min(one.sent, other.sent) > 40, 60, "four seconds of it")
        after = pair.parent.stats()["counters"]
        assert after["outages"] == before["outages"], pair.parent.said()
        assert after["hits"] > before["hits"] and pair.parent.at_work()
        assert "nobody listens" not in pair.parent.said()
        # Nothing of it goes in pieces: those could be forged, too.
        if version == 4:
            words = [line.split() for line in pair.near.run("cat", "/proc/net/snmp").splitlines() if line.startswith("Ip:")]
            assert dict(zip(*words))["FragCreates"] == "0"
        else:
            assert "Ip6FragCreates                  \t0" in pair.near.run("cat", "/proc/net/snmp6")
