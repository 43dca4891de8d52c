# SPDX-License-Identifier: BSD-2-Clause
"""The client leaves, in every state of its request: its slot or its place in the queue is free at once, and the next request is served."""

import random
import socket
import time

import http1
import pytest
from squid_names import Deaf, Names
from squid_oracle import Oracle
from squid_origin import Origin
from squid_proxy import SLACK, fresh, scheduled

CONFIG = scheduled(1, gold="weight=4", slow="weight=1") + "connect_timeout 2 seconds\nfqrs_access slow allow asks oracle\n"
GONE = {"submitted": 1, "released": 1, "aborted": 1}


@pytest.fixture(scope="module")
def names():
    with Names(silent=None, both=["127.0.0.2", "127.0.0.1"]) as n:
        yield n


@pytest.fixture(scope="module")
def oracle(world):
    return Oracle(world.lab, fresh("oracle"))


@pytest.fixture
def proxy(proxy_with, names, oracle):
    """One slot; class slow asks the oracle.  After each test nobody has a slot, and a request is served within a second."""
    p = proxy_with(oracle.config + CONFIG, dns=names.address)
    p.settled()
    yield p
    soon(p)
    p.settled()


@pytest.fixture
def leave(proxy):
    """leave(connection): the client resets it; within a second nothing must be left of its request."""
    def leave(c, queued=0):
        c.reset()
        proxy.until(lambda s: s["outstanding"] == s["parked"] == 0 and s["queued"] == queued, "no trace of who left", 1 + SLACK)
    return leave


def soon(proxy, **kwargs):
    """A request now is answered within a second."""
    began = time.monotonic()
    assert proxy.ask("/size/10", **kwargs).status == 200
    assert time.monotonic() - began < (1 + SLACK) * proxy.world.patience


def counted(proxy, before, expected):
    """The counters moved by so much since then."""
    assert proxy.moved(before) == expected


def test_while_a_slow_acl_is_asked(proxy, oracle, leave):
    """The ACL's answer comes when nobody waits for it any more."""
    before, key, path = proxy.settled(), fresh("left"), "/" + fresh("order/acl")
    c = proxy.send(path, headers={"X-Ask": key})
    oracle.until_asked(key)
    assert proxy.status()["queued"] == 0
    leave(c)
    soon(proxy)
    oracle.answer(key, True)
    later = fresh("later")
    oracle.answer(later, True)
    soon(proxy, headers={"X-Ask": later})       # the one program answers in order: it has answered the first too
    assert proxy.log_lines(path)[0]["class"] == "-"
    assert proxy.origin.paths[path] == 0
    counted(proxy, before, {"submitted": 2, "released": 2, "done": 2})


def test_while_a_slow_acl_never_answers(proxy, oracle, leave):
    """Fifty leave; nobody else is kept."""
    before, keys = proxy.settled(), [fresh("never") for _ in range(50)]
    left = [proxy.send("/size/10", headers={"X-Ask": key}) for key in keys]
    oracle.until_asked(*keys)
    soon(proxy)
    for c in left:
        c.reset()
    soon(proxy)
    counted(proxy, before, {"submitted": 2, "released": 2, "done": 2})
    for key in keys:
        oracle.answer(key, False)


def test_while_queued(proxy, leave):
    """Who leaves while it waits costs the origin no request, and those behind it move up."""
    before, path = proxy.settled(), "/" + fresh("order/queued")
    with proxy.taken() as taken:
        left = [proxy.send(path) for _ in range(6)]
        proxy.until_queued(6)
        stays = proxy.send("/size/10")
        proxy.until_queued(7)
        for c in left:
            c.reset()
        proxy.until(lambda s: s["queued"] == 1, "only one waits", 1 + SLACK)
        taken.release()
        assert stays.receive().status == 200
        stays.close()
    assert proxy.origin.paths[path] == 0
    counted(proxy, before, {"submitted": 8, "released": 2, "done": 2, "cancelled": 6})


def test_while_queued_in_good_order(proxy):
    """The same with FIN instead of RST."""
    before = proxy.settled()
    with proxy.taken():
        c = proxy.send("/size/10")
        proxy.until_queued(1)
        c.close()
        proxy.until(lambda s: s["queued"] == 0, "nobody waits", 1 + SLACK)
    counted(proxy, before, {"submitted": 2, "released": 1, "done": 1, "cancelled": 1})


def test_while_queued_with_a_cache(proxy_with):
    """A page that could be kept is not fetched for nobody either."""
    p = proxy_with(CONFIG.replace("fqrs_access slow allow asks oracle\n", "quick_abort_min -1 KB\n"), cache=True)
    before, page = p.settled(), "/cached/" + fresh("left")
    with p.taken():
        c = p.send(page)
        p.until_queued(1)
        c.reset()
        p.until(lambda s: s["queued"] == 0, "nobody waits", 1 + SLACK)
    assert p.origin.paths[page] == 0
    counted(p, before, {"submitted": 2, "released": 1, "done": 1, "cancelled": 1})


def test_while_a_kept_page_comes(proxy_with):
    """quick_abort_min -1: Squid fetches the page to its end for its cache; so long it has its slot, and then it is free."""
    p = proxy_with(CONFIG.replace("fqrs_access slow allow asks oracle\n", "quick_abort_min -1 KB\n"), cache=True)
    before, gate = p.settled(), fresh("kept")
    c = p.send(f"/part/{gate}?size=1000")
    c.until(b"\r\n\r\n")
    c.reset()
    http1.until(lambda: p.page("active_requests").count("Connection: ") == 1, what="Squid knows that the client left")
    assert p.status()["outstanding"] == 1
    p.origin.open(gate)
    counted(p, before, {"submitted": 1, "released": 1, "done": 1})


def test_while_the_name_is_looked_up(proxy, names, leave):
    before = proxy.settled()
    c = proxy.send("http://silent.test/")
    http1.until(lambda: "silent.test" in names.asked, what="the name server asked")
    assert proxy.status()["outstanding"] == 1
    leave(c)
    counted(proxy, before, GONE)


def test_while_connecting(proxy, leave):
    """The origin's port accepts nobody."""
    before = proxy.settled()
    with Deaf() as deaf:
        c = proxy.send(deaf.url("/"), origin=deaf)
        proxy.until_outstanding(1)
        leave(c)
        counted(proxy, before, GONE)


def test_while_the_origin_has_not_answered(proxy, leave):
    before, gate = proxy.settled(), fresh("gate")
    c = proxy.send(f"/gate/{gate}")
    http1.until(lambda: proxy.origin.count(gate) == 1, what="the origin has the request")
    leave(c)
    counted(proxy, before, GONE)
    proxy.origin.open(gate)
    line, = proxy.log_lines(gate)
    assert int(line["wait"]) >= 0 and int(line["slot"]) >= 0


def test_in_the_middle_of_the_header(proxy, leave):
    before, gate = proxy.settled(), fresh("head")
    c = proxy.send(f"/head/{gate}")
    proxy.until(lambda s: s["bytes"] > before["bytes"], "half a header")
    leave(c)
    counted(proxy, before, GONE)
    proxy.origin.open(gate)


@pytest.mark.parametrize("end", ["reset", "close"])
def test_in_the_middle_of_the_body(proxy, end):
    before, gate = proxy.settled(), fresh("body")
    c = proxy.send(f"/part/{gate}?size=100000")
    http1.until(lambda: c.more() and len(c.buffer) > 50000, what="half of the body")
    assert proxy.status()["outstanding"] == 1
    getattr(c, end)()
    proxy.until(lambda s: s["outstanding"] == s["parked"] == 0, "no trace of who left", 1 + SLACK)
    counted(proxy, before, GONE)
    proxy.origin.open(gate)


def test_while_it_reads_nothing(proxy, leave):
    """Squid stops reading from the origin when the client does; the slot is free when it leaves."""
    before = proxy.settled()
    c = proxy.connect(receive_buffer=4096)
    proxy.send("/size/50000000", connection=c)
    c.until(b"\r\n\r\n")
    read = [0, 0]

    def stands():
        read.append(proxy.status()["bytes"])
        return read[-1] == read[-2] > before["bytes"]
    http1.until(stands, what="nothing comes any more")
    leave(c)
    counted(proxy, before, GONE)


def test_while_its_own_body_is_on_its_way(proxy, leave):
    before = proxy.settled()
    c = proxy.send("/echo", "POST", headers={"Content-Length": "1000000"})
    c.send(b"x" * 300000)
    proxy.until_outstanding(1)
    leave(c)
    counted(proxy, before, GONE)


@pytest.mark.parametrize("path", ["/gate/", "/head/", "/part/"])
def test_while_parked(proxy, leave, path):
    """Nothing came for half a second and somebody waited: the slot is another's.  Who leaves then takes nothing away from that one."""
    before, gate = proxy.settled(), fresh("parked")
    c = proxy.send(f"{path}{gate}?size=1000")
    proxy.until_outstanding(1)
    began = time.monotonic()
    assert proxy.ask("/size/10", cls="gold").status == 200
    assert time.monotonic() - began < (1 + SLACK) * proxy.world.patience
    with proxy.taken() as taken:
        behind = proxy.send("/size/10", cls="gold")
        proxy.until(lambda s: (s["outstanding"], s["parked"], s["queued"]) == (1, 1, 1), "one taken, one parked, one waiting")
        c.reset()
        s = proxy.until(lambda s: s["parked"] == 0, "nothing parked", 1 + SLACK)
        assert (s["outstanding"], s["queued"]) == (1, 1)
        taken.release()
        assert behind.receive().status == 200
        behind.close()
    counted(proxy, before, {"submitted": 4, "released": 4, "done": 3, "aborted": 1})
    proxy.origin.open(gate)


def test_a_parked_response_goes_on(proxy):
    """What was parked comes after all: whole, and counted once; until its end it has a slot again."""
    before, gate = proxy.settled(), fresh("late")
    c = proxy.send(f"/part/{gate}?size=1000")
    proxy.until_outstanding(1)
    assert proxy.ask("/size/10", cls="gold").status == 200
    proxy.origin.open(gate)
    assert len(c.receive().body) == 2000
    c.close()
    counted(proxy, before, {"submitted": 2, "released": 2, "done": 2})


def test_in_a_tunnel(proxy):
    """Open, and in the middle of what comes through it."""
    before, gate = proxy.settled(), fresh("tunnel")
    for ask in (False, True):
        c = proxy.connect()
        c.send("CONNECT", proxy.origin.authority, host=proxy.origin.authority)
        assert c.head().status == 200
        if ask:
            c.send("GET", f"/part/{gate}?size=1000")
            c.until(b"\r\n\r\n")
        c.reset()
        http1.until(lambda: "CONNECT" not in proxy.page("active_requests"), what="Squid knows that the client left")
        soon(proxy)
    assert proxy.moved(before)["submitted"] >= 4        # a tunnel's turns are counted as requests are
    proxy.origin.open(gate)


@pytest.mark.parametrize("go", ["reset", "close"])
def test_while_a_tunnel_waits_to_be_opened(proxy, go):
    """Nobody else looks at its client then.  What it sends early waits with it."""
    before = proxy.settled()
    with proxy.taken():
        c = proxy.connect()
        c.send("CONNECT", proxy.origin.authority, host=proxy.origin.authority)
        proxy.until_queued(1)
        c.socket.sendall(b"e" * 10000)
        getattr(c, go)()
        proxy.until_queued(0)
    counted(proxy, before, {"submitted": 2, "released": 1, "done": 1, "cancelled": 1})


def test_in_a_tunnel_that_waits_for_its_turn(proxy):
    before = proxy.settled()
    c = proxy.connect()
    c.send("CONNECT", proxy.origin.authority, host=proxy.origin.authority)
    assert c.head().status == 200
    with proxy.taken():
        c.send("GET", "/size/50000000")
        proxy.until_queued(1)
        c.reset()
        proxy.until_queued(0)
    assert proxy.moved(before)["cancelled"] == 1


def test_in_a_tunnel_that_connects(proxy):
    before = proxy.settled()
    with Deaf() as deaf:
        c = proxy.connect()
        c.send("CONNECT", deaf.authority, host=deaf.authority)
        http1.until(lambda: deaf.authority in proxy.page("active_requests"), what="Squid connects")
        c.reset()
        soon(proxy)
        # Squid does not look at the client before the tunnel is open, or has failed.
        http1.until(lambda: deaf.authority not in proxy.page("active_requests"), what="the request has ended")
    counted(proxy, before, {"submitted": 2, "released": 2, "done": 1, "aborted": 1})


def test_in_a_tunnel_whose_class_is_asked_for(proxy, oracle):
    """The tunnel waits for its class, and ends before."""
    before, key = proxy.settled(), fresh("tunnel")
    c = proxy.connect()
    c.send("CONNECT", proxy.origin.authority, host=proxy.origin.authority, headers={"X-Ask": key})
    oracle.until_asked(key)
    c.reset()
    http1.until(lambda: "CONNECT" not in proxy.page("active_requests"), what="Squid knows that the client left")
    oracle.answer(key, True)
    soon(proxy)
    counted(proxy, before, {"submitted": 1, "released": 1, "done": 1})


def test_a_tunnel_waits_for_its_class(proxy, oracle):
    """And is then of the one that the slow ACL says."""
    key = fresh("tunnel")
    before = proxy.settled()["by_class"]["slow"]["bytes"]
    with proxy.connect() as c:
        c.send("CONNECT", proxy.origin.authority, host=proxy.origin.authority, headers={"X-Ask": key})
        oracle.until_asked(key)
        oracle.answer(key, True)
        assert c.head().status == 200
        c.send("GET", "/size/1000000")
        assert len(c.receive().body) == 1000000
        proxy.until(lambda s: s["by_class"]["slow"]["bytes"] >= before + 1000000, "the tunnel's bytes")


# ---- retries

def test_a_retry_keeps_its_slot(proxy):
    """The connection was closed under it while idle: Squid asks again on another, within the same slot."""
    before, name = proxy.settled(), fresh("once")
    assert proxy.ask("/size/10").status == 200          # now there is an idle connection
    assert proxy.ask(f"/once/{name}").body == b"ok"
    assert proxy.origin.paths[f"/once/{name}"] == 2
    counted(proxy, before, {"submitted": 2, "released": 2, "done": 2})


def test_a_second_origin_keeps_its_slot(proxy):
    """The first address answers 504, so Squid asks the second: one slot, given back once."""
    before, path = proxy.settled(), "/status/504"
    with Origin("127.0.0.1") as second, Origin("127.0.0.2", second.port) as first:
        response = proxy.ask(f"http://both.test:{second.port}{path}", origin=second)
        assert response.status == 504, response.body
        assert first.paths[path] + second.paths[path] == 2
    counted(proxy, before, {"submitted": 1, "released": 1, "done": 1})


def test_leaving_between_two_tries(proxy, leave):
    """The first address refuses, the second hangs in the middle; the client leaves."""
    before, gate = proxy.settled(), fresh("second")
    with Origin("127.0.0.1") as second:
        c = proxy.send(f"http://both.test:{second.port}/gate/{gate}", origin=second)
        http1.until(lambda: second.count(gate) == 1, what="the second origin has the request")
        leave(c)
    counted(proxy, before, GONE)


# ---- all at once

def test_many_leave_at_any_time(proxy, oracle):
    """400 clients ask for all kinds of pages and leave after 0 to 150 ms, others come; nothing is left of them, and each sum agrees."""
    dice, before = random.Random(1), proxy.settled()
    kinds = ["/size/1000", "/size/1000000", "/drip/30", "/gate/never-opened", "/head/never-opened", "/part/never-opened?size=20000", "/silent/10",
             "/reset/1000", "/cut/1000", "/close/1000", "/broken", "/gone"]
    here, end = [], time.monotonic() + 60
    for i in range(400):
        path = dice.choice(kinds)
        fields = {"X-Ask": f"many-{i}"} if dice.random() < 0.2 else {}
        if fields and dice.random() < 0.5:
            oracle.answer(f"many-{i}", dice.random() < 0.5)
        c = proxy.send(path, cls=dice.choice((None, "gold")), headers=fields)
        here.append((time.monotonic() + dice.random() * 0.15, dice.choice((c.reset, c.close))))
        for leaving in [h for h in here if h[0] < time.monotonic()]:
            leaving[1]()
            here.remove(leaving)
        assert time.monotonic() < end
    for _, go in here:
        go()
    moved = proxy.moved(before)
    assert moved["submitted"] == moved.get("done", 0) + moved.get("aborted", 0) + moved.get("cancelled", 0) <= 400
    for i in range(400):
        oracle.answer(f"many-{i}", False)


def test_a_port_that_was_never_there(proxy):
    """A client that resets before Squid has accepted it, and one that says nothing."""
    before = proxy.settled()
    for _ in range(20):
        proxy.connect().reset()
        with socket.create_connection(("127.0.0.1", proxy.port)) as s:
            s.sendall(b"GET http://")
    counted(proxy, before, {})
