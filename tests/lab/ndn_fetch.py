# SPDX-License-Identifier: BSD-2-Clause
"""
ndn_fetch.py - many fetches at one time over one connection, each segment after segment, with patience: what got lost is asked for again.

    fetches = Fetches(face, [(name, content), ...], lifetime=1)
    fetches.run(seconds=30)         # fetches.done: {index: content}; fetches.again: Interests that were sent once more

A fetch whose version is gone (status 410) begins anew.
"""
import time

from . import ndn_wire as wire

STATUS = 0xF522


def status_of(packet):
    about = {kind: value for kind, value, _, _ in wire.elements(packet.fields.get(wire.META_INFO, b""))}
    return wire.read_integer(about[STATUS]) if STATUS in about else 200


class Fetches:
    def __init__(self, face, names, lifetime=1.0, renew=None):
        """renew: a new face when the other side has ended this one; None: that is an error."""
        self.face, self.names, self.lifetime, self.renew = face, [wire.name(n) for n in names], lifetime, renew
        self.version = [None] * len(names)      # the name up to its version
        self.last, self.next, self.content = [None] * len(names), [0] * len(names), [b""] * len(names)
        self.due = {n: 0 for n in range(len(names))}
        self.done, self.again, self.anew, self.answers = {}, 0, 0, {}
        self.asked = {}                         # {name that was asked for: index}

    def ask(self, n, now):
        name = self.version[n] + (wire.segment(self.next[n]),) if self.version[n] else self.names[n]
        self.again += self.due[n] != 0
        self.due[n] = now + self.lifetime
        self.asked[name] = n
        self.face.send(wire.interest(name, prefix=not self.version[n], fresh=not self.version[n], lifetime=int(self.lifetime * 1000)))

    def index_of(self, packet):
        for cut in (len(packet.name), len(packet.name) - 2):
            if packet.name[:cut] in self.asked:
                return self.asked.pop(packet.name[:cut])
        return None

    def take(self, packet, now):
        n = self.index_of(packet)
        if n is None or n in self.done:
            return
        if status_of(packet) == 410:
            self.version[n], self.next[n], self.content[n] = None, 0, b""
            self.anew += 1
        elif status_of(packet) == 503:
            self.due[n] = now + 0.1             # later
            return
        else:
            if self.next[n] == 0:
                self.version[n], self.last[n] = packet.name[:-1], int.from_bytes(packet.final[1], "big")
                self.answers[n] = status_of(packet)
            self.content[n] += packet.content
            self.next[n] += 1
            if self.next[n] > self.last[n]:
                self.done[n] = self.content[n]
                del self.due[n]
                return
        self.due[n] = 0
        self.ask(n, now)

    def step(self, wait):
        from .ndn_face import Closed
        now = time.monotonic()
        try:
            for n in [n for n, due in self.due.items() if due <= now]:
                self.ask(n, now)
            packet = self.face.receive(wait)
            while packet is not None:
                self.take(packet, time.monotonic())
                packet = self.face.receive(0)
        except Closed:
            if not self.renew:
                raise
            self.face = self.renew()

    def run(self, seconds):
        end = time.monotonic() + seconds
        while self.due and time.monotonic() < end:
            self.step(0.02)
        return not self.due
