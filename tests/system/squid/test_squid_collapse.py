# SPDX-License-Identifier: BSD-2-Clause
"""Several clients wait for one answer: its turn is that of whichever of their classes comes first."""

import random

import http1
import pytest
from squid_proxy import fresh, scheduled

CONFIG = scheduled(1, staff="weight=1000", guests="weight=1", hasty="weight=1 wait=1", tiny="weight=1 queue=1") + \
    "collapsed_forwarding on\ncollapsed_forwarding_access deny manager\n"


@pytest.fixture
def proxy(proxy_with):
    """One slot, a cache, and requests for one page collapsed."""
    p = proxy_with(CONFIG, cache=True)
    p.settled()
    yield p
    assert p.settled()["descriptors"] == 0


def queued(p):
    """How many places each class has in its queue, those without one left out."""
    return {c["name"]: c["queued"] for c in p.status()["classes"] if c["queued"]}


def until_queued(p, **places):
    http1.until(lambda: queued(p) == places, 15, lambda: f"{places} queued; at last {queued(p)}")


def close(connections):
    for c in connections:
        c.close()


class Crowded:
    """A guest's answer holds the slot, and five more of theirs wait, each of which will hold it when it is its turn."""

    def __init__(self, proxy):
        self.proxy, self.names = proxy, [fresh("crowd") for _ in range(5)]

    def __enter__(self):
        self.taken = self.proxy.taken(cls="guests")
        self.slot = self.taken.__enter__()
        self.waiting = [self.proxy.send(f"/hold/{name}", cls="guests") for name in self.names]
        until_queued(self.proxy, guests=5)
        return self

    def free_one(self):
        self.slot.release()

    def __exit__(self, *why):
        for name in self.names:
            self.proxy.origin.open(name)
        self.taken.__exit__(*why)
        close(self.waiting)


def test_staff_do_not_wait_for_the_page_that_a_guest_queues_for(proxy):
    """They have it as soon as a slot is free, before the guests who came first; the guest who asked for it has it with them, and staff have paid."""
    page = "/" + fresh("cached/both")
    before = proxy.settled()["by_class"]
    with Crowded(proxy) as crowd:
        guest = proxy.send(page, cls="guests")
        until_queued(proxy, guests=6)
        staff = proxy.send(page, cls="staff")
        until_queued(proxy, guests=6, staff=1)
        crowd.free_one()
        assert staff.receive().body == guest.receive().body == b"cached"
        assert proxy.status()["by_class"]["guests"]["released"] - before["guests"]["released"] <= 2
    close((guest, staff))
    assert proxy.origin.paths[page] == 1
    after = proxy.settled()["by_class"]

    def moved(cls, key):
        return after[cls][key] - before[cls][key]
    assert [moved("staff", key) for key in ("submitted", "released", "done", "cancelled")] == [1, 1, 1, 0]
    assert moved("staff", "bytes") > 0
    assert [moved("guests", key) for key in ("submitted", "released", "cancelled")] == [7, 6, 1]
    lines = {line["class"]: line for line in proxy.log_lines(page, 2)}
    assert set(lines) == {"staff", "guests"} and int(lines["staff"]["wait"]) >= 0 and int(lines["guests"]["wait"]) >= int(lines["staff"]["wait"])
    assert lines["staff"]["slot"] == "-"


def test_staff_do_not_wait_for_a_guests_revalidation(proxy):
    page = "/" + fresh("cached/old")
    assert proxy.ask(page).body == b"cached"
    again = {"Cache-Control": "max-age=0"}
    with Crowded(proxy) as crowd:
        guest = proxy.send(page, cls="guests", headers=again)
        until_queued(proxy, guests=6)
        staff = proxy.send(page, cls="staff", headers=again)
        until_queued(proxy, guests=6, staff=1)
        crowd.free_one()
        assert staff.receive().body == guest.receive().body == b"cached"
    close((guest, staff))
    assert (proxy.origin.paths[page], proxy.origin.tags[page]) == (2, 1)


def test_a_class_has_one_place_for_one_page_and_gives_it_up_with_its_last_client(proxy):
    """Who leaves takes nothing along that others of the class wait for; when the last has left, those of the other class wait as before."""
    page = "/" + fresh("cached/left")
    with proxy.taken():
        guest = proxy.send(page, cls="guests")
        until_queued(proxy, guests=1)
        staff = [proxy.send(page, cls="staff") for _ in range(3)]
        until_queued(proxy, guests=1, staff=1)
        proxy.until(lambda s: s["descriptors"] == 6, "all of them there")     # two for what holds the slot
        for left, c in enumerate(staff, 1):
            c.reset()
            proxy.until(lambda s, left=left: s["descriptors"] == 6 - left, "one less")
            assert queued(proxy) == ({"guests": 1, "staff": 1} if left < 3 else {"guests": 1})
    assert guest.receive().body == b"cached"
    guest.close()
    assert proxy.origin.paths[page] == 1


def test_the_class_of_who_asked_first_gives_its_place_up_when_he_leaves(proxy):
    page = "/" + fresh("cached/first")
    with proxy.taken():
        guest = proxy.send(page, cls="guests")
        until_queued(proxy, guests=1)
        staff = proxy.send(page, cls="staff")
        until_queued(proxy, guests=1, staff=1)
        guest.reset()
        until_queued(proxy, staff=1)
    assert staff.receive().body == b"cached"
    staff.close()
    assert proxy.origin.paths[page] == 1


def test_a_page_is_waited_for_while_the_wait_of_one_class_is_not_over(proxy):
    """Class hasty waits for a second, but staff want the page, too: both have it."""
    page = "/" + fresh("cached/patient")
    before = proxy.status()["timed_out"]
    with proxy.taken():
        hasty = proxy.send(page, cls="hasty")
        until_queued(proxy, hasty=1)
        staff = proxy.send(page, cls="staff")
        until_queued(proxy, hasty=1, staff=1)
        until_queued(proxy, staff=1)
    assert hasty.receive().body == staff.receive().body == b"cached"
    close((hasty, staff))
    assert proxy.status()["timed_out"] == before


def test_who_joins_with_a_full_queue_waits_with_those_who_were_there(proxy):
    """Class tiny's only place is taken; its second client joins a guest's page and is not refused, nor counted so."""
    page = "/" + fresh("cached/tiny")
    before = proxy.status()["by_class"]["tiny"]["refused"]
    with proxy.taken():
        first = proxy.send("/size/10", cls="tiny")
        until_queued(proxy, tiny=1)
        guest = proxy.send(page, cls="guests")
        until_queued(proxy, tiny=1, guests=1)
        second = proxy.send(page, cls="tiny")
        proxy.until(lambda s: s["descriptors"] == 5, "all of them there")
    assert first.receive().status == 200
    assert guest.receive().body == second.receive().body == b"cached"
    close((first, guest, second))
    assert proxy.status()["by_class"]["tiny"]["refused"] == before


def test_whoever_comes_and_goes_nothing_is_left(proxy):
    """A random walk: clients of all classes ask for a few pages, some leave, now and then the slot is free; in the end all who stayed have their pages."""
    seed = random.randrange(1 << 32)
    rng = random.Random(seed)
    waiting = []
    for _ in range(12):
        pages = ["/" + fresh("cached/walk") for _ in range(3)]
        with proxy.taken():
            for _ in range(30):
                if waiting and rng.random() < 0.3:
                    waiting.pop(rng.randrange(len(waiting))).reset()
                else:
                    waiting.append(proxy.send(rng.choice(pages), cls=rng.choice(("staff", "guests", "hasty", "tiny"))))
        for c in waiting:
            assert c.receive().status in (200, 503), seed
            if rng.random() < 0.5:
                c.reset()
            else:
                c.close()
        waiting.clear()
        assert proxy.settled()["descriptors"] == 0, seed
