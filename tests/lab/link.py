# SPDX-License-Identifier: BSD-2-Clause
"""
link.py - a host of its own behind a link of a given rate: a network namespace, a veth pair, and a token bucket on what the host sends.

    link = Link(lab, rate="400mbit").start()
    backend = Nginx(lab, htdocs=pages).on(link).start()

Needs root.  Stopping it removes the namespace, and with it the pair.  Addresses are from 198.18.0.0/15, the range for benchmarks.
"""
import os
import random
import subprocess


class Link:
    name = "link"

    def __init__(self, lab, rate="400mbit", latency="50ms"):
        self.lab, self.rate, self.latency = lab, rate, latency
        self.namespace = f"fairgate-{os.getpid()}-{random.randrange(1 << 16):04x}"
        block = random.randrange(1 << 15)
        net = f"198.{18 + (block >> 14)}.{(block >> 6) & 255}"
        self.near, self.address = (f"{net}.{(block & 63) * 4 + n}" for n in (1, 2))
        self.device = f"fg{random.randrange(1 << 32):08x}"
        self.prefix = ["ip", "netns", "exec", self.namespace]

    def start(self):
        self.lab.servers.append(self)
        inside = ["ip", "-n", self.namespace]
        for command in (["ip", "netns", "add", self.namespace],
                        ["ip", "link", "add", self.device, "type", "veth", "peer", "name", "up0", "netns", self.namespace],
                        ["ip", "addr", "add", f"{self.near}/30", "dev", self.device],
                        ["ip", "link", "set", self.device, "up"],
                        inside + ["addr", "add", f"{self.address}/30", "dev", "up0"],
                        inside + ["link", "set", "up0", "up"],
                        inside + ["link", "set", "lo", "up"],
                        ["tc", "-n", self.namespace, "qdisc", "add", "dev", "up0", "root", "tbf", "rate", self.rate, "burst", "256kb",
                         "latency", self.latency]):
            subprocess.run(command, check=True, capture_output=True, text=True)
        return self

    def stop(self):
        subprocess.run(["ip", "netns", "del", self.namespace], check=False, capture_output=True)
        if self in self.lab.servers:
            self.lab.servers.remove(self)
