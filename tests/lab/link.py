# SPDX-License-Identifier: BSD-2-Clause
"""
link.py - a host of its own behind a link of a given rate: a network namespace, a veth pair, and a token bucket on what the host sends.

    link = Link(lab, rate="400mbit").start()
    backend = Nginx(lab, htdocs=pages).on(link).start()

Needs root.  Stopping it removes the namespace, and with it the pair.  Addresses are from 198.18.0.0/15, the range for benchmarks.
"""
import random

from .net import Network, run


class Link(Network):
    name = "link"

    def __init__(self, lab, rate="400mbit", latency="50ms"):
        super().__init__(lab)
        self.rate, self.latency = rate, latency
        block = random.randrange(1 << 15)
        net = f"198.{18 + (block >> 14)}.{(block >> 6) & 255}"
        self.near, self.address = (f"{net}.{(block & 63) * 4 + n}" for n in (1, 2))
        self.device = f"fg{random.randrange(1 << 32):08x}"
        self.behind = self.host("behind", self.address)
        self.prefix = self.behind.prefix

    def build(self):
        """Its near end is in nobody's namespace."""
        run("ip", "link", "add", self.device, "type", "veth", "peer", "name", "up0", "netns", self.behind.namespace)
        run("ip", "addr", "add", f"{self.near}/30", "dev", self.device)
        run("ip", "link", "set", self.device, "up")
        self.behind.device("up0", f"{self.address}/30")
        self.behind.bucket("up0", self.rate, "256kb", latency=self.latency)
