# SPDX-License-Identifier: BSD-2-Clause
"""The rate of a link that nobody tells: learnt from what comes through it, followed when it changes, kept over a reconfiguration."""

import contextlib
import random
import statistics
import time

from lab.field import Field
from lab.lab import Origin, wait_for
from lab.load import Load, errors
from lab.site import deck_sizes
from lab.squid import Squid
from squid_world import field_lab, which

LEARNING = "fqrs on\nfqrs_link auto\n"


class Learning:
    """Clients that always wait for pages of servers near and far, behind a link of which Squid knows nothing."""

    def __init__(self, lab, kbit=2_000):
        self.lab, self.kbit = lab, kbit
        self.field = Field(lab, rate=f"{kbit}kbit").start()
        origin = Origin(lab, address="0.0.0.0").on(self.field.servers)
        origin.port = 80
        origin.start()
        self.squid = Squid(lab, which(), LEARNING, intercept=True).on(self.field.gateway).start()
        self.field.redirect(self.squid.extra_port)

    def load(self):
        """It goes on until it is stopped."""
        sizes, servers = deck_sizes(), self.field.server_addresses
        random.Random(1).shuffle(sizes)
        path = f"{self.lab.dir}/urls"
        with open(path, "w", encoding="utf-8") as f:
            f.writelines(f"http://{servers[i % len(servers)]}/size/{n}\n" for i, n in enumerate(sizes))
        return Load(f"{self.field.servers.address}:80", [dict(name="all", urls=path, deck=True, close=True, source="10.1.1.1", clients=20)], 900,
                    timeout=300, prefix=self.field.clients.prefix)

    def becomes(self, kbit):
        self.field.isp.bucket("down0", f"{kbit}kbit", "10kb", limit=self.field.limit)
        self.kbit = kbit

    def believed(self, part=0.15):
        return abs(self.squid.json()["rate"] * 8 / 1000 / self.kbit - 1) <= part

    def settle(self, responses=60):
        """So many more are over: of the first ones, which come all at once, nobody knows how large they are."""
        over = self.squid.json()["done"] + responses
        wait_for(lambda: self.squid.json()["done"] >= over, 60, f"{responses} more responses")

    def measure(self, seconds):
        """Use of the link, and the median of what stands in the queue."""
        begun, sent, standing = time.monotonic(), self.field.queue()[0], []
        while time.monotonic() - begun < seconds:
            standing.append(self.field.queue()[2])
            time.sleep(0.05)
        took = time.monotonic() - begun
        return (self.field.queue()[0] - sent) * 8 / 1000 / self.kbit / took, statistics.median(standing)


@contextlib.contextmanager
def learning(request):
    with field_lab(request, "learning") as lab:
        here = Learning(lab)
        with here.load() as load:
            yield here, load


def test_a_link_is_learnt_and_followed(request):
    """2 Mbit/s, then a half, then four times that; each is believed within seconds, used, and its queue short.  Nobody's request fails for it."""
    with learning(request) as (here, load):
        for kbit in (2_000, 1_000, 4_000):
            here.becomes(kbit)
            wait_for(here.believed, 60, f"{kbit} kbit/s believed")
            here.settle()
            use, standing = here.measure(10)
            assert use >= 0.85, f"{kbit} kbit/s: {use}"
            assert standing <= max(60_000, 0.3 * kbit * 1000 / 8), f"{kbit} kbit/s: {standing} bytes"
        load.stop()
        assert errors(load.result()) == 0


def test_it_says_what_it_believes(request):
    with learning(request) as (here, _):
        wait_for(here.believed, 60, "2 Mbit/s believed")
        status = here.squid.json()
        assert status["link_learnt"] is True
        assert 0 <= status["link_rate_age_s"] < 120
        assert 0 <= status["link_queue_s"] < 2
        assert 0.015 <= status["link_round_trip_s"] <= 0.1     # the nearest server is 20 ms away
        text = here.squid.manager("fqrs")
        assert "Link is learnt: as it is for " in text and "Shortest round trip: " in text
        assert "\nfairgate_fqrs_link_learnt 1\n" in here.squid.manager("fqrs_prometheus")


def test_what_was_learnt_stays_over_a_reconfiguration(request):
    """Within the bounds of the new one: a rate that is told counts at once."""
    with learning(request) as (here, _):
        wait_for(here.believed, 60, "2 Mbit/s believed")
        here.squid.reconfigure()
        assert here.believed(0.3)
        here.squid.reconfigure(LEARNING.replace("auto", "auto max=1500kbit"))
        assert here.squid.json()["rate"] <= 1_500_000 / 8
        here.squid.reconfigure(LEARNING.replace("auto", "rate=3Mbit"))
        status = here.squid.json()
        assert (status["rate"], status["link_learnt"]) == (3_000_000 / 8, False)
        here.squid.reconfigure(LEARNING)
        wait_for(here.believed, 60, "2 Mbit/s believed again")
