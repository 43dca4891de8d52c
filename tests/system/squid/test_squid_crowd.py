# SPDX-License-Identifier: BSD-2-Clause
"""A crowd of one class, with as many connections as Squid has descriptors: the others still have theirs."""

import contextlib

import http1
import pytest
from squid_proxy import fresh, scheduled

DESCRIPTORS = 256
CROWD = 400
CONFIG = f"max_filedescriptors {DESCRIPTORS}\n" + scheduled(1, staff="weight=3", crowd="weight=1")


def seats(p):
    return {c["name"]: c["descriptors"] for c in p.status()["classes"]}


@contextlib.contextmanager
def crowd_of(p, send):
    """So many connections, of each of which send(connection) has been called; some may be refused or closed."""
    made = []
    try:
        for _ in range(CROWD):
            made.append(p.connect())
            send(made[-1])
        yield made
    finally:
        for c in made:
            c.close()


def answered(connections):
    """Those that have had an answer by now, as (status, headers, whether the connection was closed after it)."""
    answers = []
    for c in connections:
        c.socket.settimeout(0.01)
        with contextlib.suppress(OSError, http1.Cut):
            response = c.receive()
            closed = False
            with contextlib.suppress(TimeoutError):
                closed = not c.more()
            answers.append((response.status, response.headers, closed))
    return answers


def test_one_class_can_not_take_all_descriptors(new_proxy):
    """Four hundred requests of the crowd come to a Squid of 256 descriptors while the slot is taken: staff's connections are accepted, their requests
    wait and are served; of the crowd those beyond its part are told when to come back, and do not keep their connections.
    """
    mark = fresh("crowd")
    with new_proxy(CONFIG) as p:
        def ask(c):
            c.send("GET", p.origin.url(f"/size/10?{mark}"), host=p.origin.authority, headers={"X-Class": "crowd"})
        with p.taken(cls="crowd") as taken, crowd_of(p, ask) as crowd:
            staff = [p.send("/size/10", cls="staff") for _ in range(10)]
            s = p.until(lambda s: s["by_class"]["staff"]["queued"] == 10, "staff's requests wait")
            assert s["by_class"]["crowd"]["refused_by"]["no-descriptor"] == s["by_class"]["crowd"]["refused"] > 0
            # the crowd's own reserve, and what is nobody's but for an eighth of all
            most = s["descriptors_max"]
            assert most == DESCRIPTORS - 2 * 64
            assert most * 5 // 8 <= seats(p)["crowd"] <= most - most // 4 * 3 // 5
            refused = answered(crowd)
            assert refused and {status for status, _, _ in refused} == {503}
            assert all(int(headers["retry-after"]) >= 1 and headers["connection"] == "close" and closed for _, headers, closed in refused)
            assert "FQRS_NO_DESCRIPTOR" in {line["detail"] for line in log_of(p, mark)}
            taken.release()
            for c in staff:
                assert c.receive().status == 200
                c.close()
        p.until(lambda s: s["queued"] == s["outstanding"] == s["descriptors"] == 0, "nothing is left")


def test_who_was_let_in_to_wait_is_not_thrown_out_for_want_of_a_descriptor(new_proxy):
    """Its class has as many requests waiting as it can have descriptors for: they are served, one by one, when the slot is free."""
    with new_proxy(CONFIG) as p:
        def ask(c):
            c.send("GET", p.origin.url("/size/10"), host=p.origin.authority, headers={"X-Class": "crowd"})
        with p.taken(cls="crowd") as taken, crowd_of(p, ask):
            before = p.until(lambda s: s["queued"] > 20 and s["by_class"]["crowd"]["submitted"] + s["refused"] > CROWD, "all of them there")["by_class"]["crowd"]
            assert before["refused_by"]["no-descriptor"] > 0
            taken.release()
            after = p.until(lambda s: s["queued"] == s["outstanding"] == 0, "nobody waits")["by_class"]["crowd"]
            assert after["done"] - before["done"] == before["queued"] + 1 and after["aborted"] == before["aborted"], after
            assert after["refused_by"]["no-descriptor"] == before["refused_by"]["no-descriptor"]


def test_who_joined_is_served_when_the_class_of_who_asked_first_has_no_descriptor(new_proxy):
    """The crowd has all that it can have, and one of it asked for the page; staff, who have some, want it too."""
    page = "/" + fresh("cached/first")
    config = CONFIG + "collapsed_forwarding on\ncollapsed_forwarding_access deny manager\n"
    with new_proxy(config, cache=True) as p:
        def ask(c):
            c.send("GET", p.origin.url(f"/size/10?{fresh('other')}"), host=p.origin.authority, headers={"X-Class": "crowd"})
        with p.taken(cls="crowd") as taken:
            first = p.send(page, cls="crowd")
            p.until_queued(1, "crowd")
            with crowd_of(p, ask):
                p.until(lambda s: s["by_class"]["crowd"]["refused_by"]["no-descriptor"] > 0, "the crowd has what it can have")
                staff = p.send(page, cls="staff")
                p.until_queued(1, "staff")
                taken.release()
                assert staff.receive().body == first.receive().body == b"cached"
        for c in (first, staff):
            c.close()


def log_of(p, mark):
    return [line for line in (dict(word.split("=", 1) for word in text.split()) for text in p.access()) if mark in line["url"]]


@pytest.mark.parametrize("kind", ["page", "revalidation"])
def test_one_class_can_not_take_all_descriptors_by_asking_for_the_same(new_proxy, kind):
    """With collapsed forwarding the crowd makes one request only; each client's connection waits with it all the same.  Who wanted to know whether a
    page is still good has the old one.
    """
    page = "/" + fresh("cached/crowd")
    again = {"Cache-Control": "max-age=0"} if kind == "revalidation" else {}
    config = CONFIG + "collapsed_forwarding on\ncollapsed_forwarding_access deny manager\n"
    with new_proxy(config, cache=True) as p:
        def ask(c):
            c.send("GET", p.origin.url(page), host=p.origin.authority, headers={"X-Class": "crowd", **again})
        if again:
            assert p.ask(page, cls="crowd").body == b"cached"
        with p.taken(cls="crowd") as taken, crowd_of(p, ask) as crowd:
            staff = [p.send(f"/size/{10 + i}", cls="staff") for i in range(10)]
            s = p.until(lambda s: s["by_class"]["staff"]["queued"] == 10, "staff's requests wait")
            assert s["by_class"]["crowd"]["queued"] == 1 and s["by_class"]["crowd"]["refused_by"]["no-descriptor"] > 0
            assert {status for status, _, _ in answered(crowd)} == {200 if again else 503}
            taken.release()
            for c in staff:
                assert c.receive().status == 200
                c.close()
            http1.until(lambda: p.origin.paths[page] == (2 if again else 1), what="the crowd's one request")
        p.until(lambda s: s["queued"] == s["outstanding"] == s["descriptors"] == 0, "nothing is left")


def test_idle_tunnels_of_one_class_leave_descriptors_to_the_others(new_proxy):
    with new_proxy(CONFIG.replace("fqrs_window 1\n", "fqrs_window none\n")) as p:
        def open_tunnel(c):
            c.send("CONNECT", p.origin.authority, host=p.origin.authority, headers={"X-Class": "crowd"})
        with crowd_of(p, open_tunnel) as crowd:
            assert p.ask("/size/10", cls="staff").status == 200
            with p.connect() as c:
                c.send("CONNECT", p.origin.authority, host=p.origin.authority, headers={"X-Class": "staff"})
                assert c.head().status == 200
                c.send("GET", "/size/10")
                assert c.receive().status == 200
            s = p.status()
            assert s["by_class"]["crowd"]["refused_by"]["no-descriptor"] > 0
            statuses = set()
            for c in crowd:
                with contextlib.suppress(OSError, http1.Cut):
                    statuses.add(c.head().status)
            assert statuses == {200, 503}
        p.until(lambda s: s["descriptors"] == 0, "all seats are free")


def test_silent_servers_do_not_keep_descriptors_from_the_others(new_proxy):
    """Answers that stall give their slots back, so a class could let go ever more requests to servers that say nothing."""
    with new_proxy(CONFIG) as p:
        def ask(c):
            c.send("GET", p.origin.url("/mute"), host=p.origin.authority, headers={"X-Class": "crowd"})
        with crowd_of(p, ask):
            p.until(lambda s: s["by_class"]["crowd"]["parked"] > 1 and s["by_class"]["crowd"]["refused_by"]["no-descriptor"] > 0, "some are stalled", 30)
            assert p.ask("/size/10", cls="staff").status == 200
        p.until(lambda s: s["descriptors"] == 0, "all seats are free", 30)


def test_a_refused_request_is_told_when_to_come_back(new_proxy):
    """Each reason has its counter, and an answer with Retry-After that is not Squid's page about parents and firewalls."""
    with new_proxy(scheduled(1, tiny="weight=1 queue=1", hasty="weight=1 wait=1")) as p:
        with p.taken():
            first = p.send("/size/10", cls="tiny")
            p.until_queued(1)
            full, over = p.ask("/size/10", cls="tiny"), p.ask("/size/10", cls="hasty")
            for response in (full, over):
                assert response.status == 503 and 1 <= int(response.headers["retry-after"]) <= 60
                assert len(response.body) == int(response.headers["content-length"]) and b"try again in" in response.body and b"parent" not in response.body
            by = p.status()["by_class"]
            assert (by["tiny"]["refused_by"]["class-full"], by["tiny"]["refused_by"]["too-long"]) == (1, 0)
            assert (by["hasty"]["refused_by"]["class-full"], by["hasty"]["refused_by"]["too-long"], by["hasty"]["refused"]) == (0, 1, 0)
            assert "class full 1" in p.page("fqrs")
            assert 'fairgate_class_refused_total{class="hasty",reason="too-long"} 1' in p.page("fqrs_prometheus")
        assert first.receive().status == 200
        first.close()
