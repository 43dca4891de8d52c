# SPDX-License-Identifier: BSD-2-Clause
"""What is shared: bytes, time in which requests have slots, or both (QosCharge)."""

import contextlib
import threading

import pytest

from crowd import Crowd

CLASSES = """\
QosClass people weight=9
QosClass crawlers weight=1 default
QosRule people cookie session=
"""
PEOPLE = {"Cookie": "session=1"}
SECONDS = 4


class Clients(Crowd):
    """Of one kind in a closed loop, each on a connection of its own."""

    def __init__(self, gateway, clients, target, headers=None, method="GET"):
        super().__init__(clients)
        self.gateway, self.target, self.headers, self.method = gateway, target, headers or {}, method

    def run(self):
        with self.gateway.connect() as c:
            while not self.over.is_set():
                assert c.ask(self.method, self.target, headers=self.headers).status == 200


def shares(g, *crowds, key="slot_s", seconds=SECONDS):
    """What each class had of that in some seconds in which all of these crowds ask."""
    with contextlib.ExitStack() as stack:
        for crowd in crowds:
            stack.enter_context(crowd)
        # What crawlers took before anybody knew how long it takes is paid.
        g.until(lambda s: all(c["done"] > 20 and c["owed_bytes"] < 500_000 for c in s["classes"] if not c["retired"]), "some answers of each", 40)
        before = g.status()
        threading.Event().wait(seconds)
        after = g.status()
    had = {name: c[key] - before["by_class"][name][key] for name, c in after["by_class"].items()}
    return {name: n / sum(had.values()) for name, n in had.items()}


@pytest.mark.parametrize("method", ["GET", "HEAD"])
@pytest.mark.parametrize("charge,least,most", [("time", 0.85, 0.95), ("both", 0.85, 0.95), ("bytes", 0, 0.6)])
def test_short_answers_that_take_long(new_gateway, charge, least, most, method):
    """Eight people beside thirty crawlers of a tenth of the weight, whose answers of 200 bytes take fifteen times as long.  By bytes people
    have less than their part of the slots, and of everything.

    Due are 0.9.  A window of 8 that is full of crawlers' answers when people come back gives them a slot every 300 / 8 ms: 5 points.
    """
    with new_gateway(window=8, classes=CLASSES, more=f"QosCharge {charge}\n") as g:
        had = shares(g, Clients(g, 16, "/b/takes/20?size=2000", PEOPLE), Clients(g, 30, "/b/takes/300?size=200", method=method))
        assert least <= had["people"] <= most, had
