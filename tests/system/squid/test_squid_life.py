# SPDX-License-Identifier: BSD-2-Clause
"""A miss waits for a slot and gives it back exactly once, whatever becomes of it; what does not use the link does not wait.

Every case is one visit of a client.  It runs twice: with the window free, so that it passes at once, and with the only slot taken, so that it
has waited first.  Then Squid's own counts must show that each request that came in went out once.
"""

import re
import socket
import threading
import time

import http1
import pytest
from squid_names import Names
from squid_origin import Origin
from squid_proxy import fresh, scheduled

MEGABYTE = 1 << 20
# Without the second line Squid would collapse, and keep, its own status pages too.
COLLAPSING = "collapsed_forwarding on\ncollapsed_forwarding_access deny manager\n"
CONFIG = scheduled(1, gold="weight=4", tiny="weight=1 queue=2", hasty="weight=1 wait=1")


@pytest.fixture(scope="module")
def names():
    with Names(here=["127.0.0.1"], nowhere=[], both=["127.0.0.2", "127.0.0.1"]) as n:
        yield n


@pytest.fixture(scope="module")
def dead_port():
    """A port of 127.0.0.1 that refuses connections."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        yield s.getsockname()[1]


@pytest.fixture
def proxy(proxy_with, names):
    """One slot, nothing cached."""
    p = proxy_with(CONFIG, dns=names.address)
    p.settled()
    yield p
    p.settled()


@pytest.fixture
def caching(proxy_with):
    """One slot, a cache, and requests for one page collapsed."""
    p = proxy_with(CONFIG + COLLAPSING, cache=True)
    p.settled()
    yield p
    p.settled()


# Each case: what the client does with proxy p and a fresh connection, and what it costs: {counter: by how much}.

def normal(p, c):
    response = p.ask("/size/5000", connection=c)
    assert (response.status, response.body) == (200, b"s" * 5000)


def empty(p, c):
    assert p.ask("/size/0", connection=c).body == b""


def chunked(p, c):
    assert p.ask("/size/70000?chunked", connection=c).body == b"c" * 70000


def without_length(p, c):
    assert p.ask("/close/30000", connection=c).body == b"c" * 30000


def large(p, c):
    assert len(p.ask(f"/size/{3 * MEGABYTE}", connection=c).body) == 3 * MEGABYTE


def head(p, c):
    response = p.ask("/size/100", "HEAD", connection=c)
    assert (response.status, response.headers["content-length"]) == (200, "100")


def no_content(p, c):
    assert p.ask("/status/204", connection=c).status == 204


def not_modified(p, c):
    assert p.ask("/etag", connection=c, headers={"If-None-Match": '"v1"'}).status == 304


def not_found(p, c):
    assert p.ask("/nothing/here", connection=c).status == 404


def server_error(p, c):
    assert p.ask("/status/500", connection=c).status == 500


def post(p, c):
    assert p.ask("/echo", "POST", connection=c, body=b"p" * MEGABYTE).body == str(MEGABYTE).encode()


def post_in_chunks(p, c):
    p.send("/echo", "POST", connection=c, headers={"Transfer-Encoding": "chunked"})
    c.send(b"5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n")
    assert c.receive().body == b"11"


def expect_continue(p, c):
    p.send("/echo", "POST", connection=c, headers={"Expect": "100-continue", "Content-Length": "5000"})
    assert c.until(b"\r\n\r\n").startswith(b"HTTP/1.1 100")
    c.send(b"e" * 5000)
    assert c.receive().body == b"5000"


def pipelined(p, c):
    sizes = (10, 2000, 1, 70000, 300)
    for n in sizes:
        p.send(f"/size/{n}", connection=c)
    assert [len(c.receive().body) for _ in sizes] == list(sizes)


def kept_alive(p, c):
    for n in range(20):
        assert len(p.ask(f"/size/{n}", connection=c).body) == n


def http_1_0(p, c):
    p.send("/size/2000", connection=c, version="1.0")
    assert len(c.receive().body) == 2000
    assert not c.more()


def by_name(p, c):
    response = p.ask(f"http://here.test:{p.origin.port}/size/10", connection=c)
    assert (response.status, len(response.body)) == (200, 10)


def no_such_name(p, c):
    assert p.ask("http://nowhere.test/", connection=c).status in (502, 503)


def refused_connection(p, c):
    assert p.ask(f"http://127.0.0.1:{p.dead_port}/", connection=c).status == 503


def second_address(p, c):
    """The first address refuses, the second answers: one slot, once."""
    with Origin("127.0.0.1") as origin:
        response = p.ask(f"http://both.test:{origin.port}/size/10", connection=c)
    assert (response.status, len(response.body)) == (200, 10)


def origin_says_nothing(p, c):
    assert p.ask("/gone", connection=c).status == 502


def origin_resets(p, c):
    with pytest.raises(http1.Cut):
        p.ask("/reset/100000", connection=c)


def origin_cuts(p, c):
    with pytest.raises(http1.Cut):
        p.ask("/cut/100000", connection=c)


def broken_chunk(p, c):
    p.send("/broken", connection=c)
    assert c.head().status in (200, 502)
    while c.more():
        pass


WHOLE, BROKEN = {"submitted": 1, "released": 1, "done": 1}, {"submitted": 1, "released": 1, "aborted": 1}


def times(n):
    return {key: n for key in WHOLE}


CASES = [
    (normal, WHOLE), (empty, WHOLE), (chunked, WHOLE), (without_length, WHOLE), (large, WHOLE), (head, WHOLE), (no_content, WHOLE),
    (not_modified, WHOLE), (not_found, WHOLE), (server_error, WHOLE), (post, WHOLE), (post_in_chunks, WHOLE), (expect_continue, WHOLE),
    (pipelined, times(5)), (kept_alive, times(20)), (http_1_0, WHOLE), (by_name, WHOLE), (no_such_name, BROKEN), (refused_connection, BROKEN),
    (second_address, WHOLE), (origin_says_nothing, BROKEN), (origin_resets, BROKEN), (origin_cuts, BROKEN), (broken_chunk, BROKEN),
]


def case_name(case):
    return case.__name__ if callable(case) else ""


@pytest.mark.parametrize("case, costs", CASES, ids=case_name)
def test_at_once(proxy, dead_port, case, costs):
    proxy.dead_port = dead_port
    before = proxy.settled()
    with proxy.connect() as c:
        case(proxy, c)
    assert proxy.moved(before) == costs


@pytest.mark.parametrize("case, costs", CASES, ids=case_name)
def test_after_waiting(proxy, dead_port, case, costs):
    proxy.dead_port = dead_port
    before, failed = proxy.settled(), []

    def visit():
        try:
            with proxy.connect() as c:
                case(proxy, c)
        except BaseException as e:
            failed.append(e)
    with proxy.taken() as taken:
        client = threading.Thread(target=visit)
        client.start()
        proxy.until_queued(1)
        taken.release()
        client.join(30)
        assert not client.is_alive()
    if failed:
        raise failed[0]
    moved = proxy.moved(before)
    for key in WHOLE:
        moved[key] = moved.get(key, 0) - 1      # who held the slot
    assert {key: n for key, n in moved.items() if n} == costs


# ---- waiting

def test_a_miss_waits_until_a_slot_is_free(proxy):
    """With the only slot taken, of many requests none reaches the origin; then one does, and the others when that is over."""
    name = fresh("wait")
    path = f"/hold/{name}"
    with proxy.taken() as taken:
        visits = [proxy.send(path) for _ in range(8)]
        proxy.until_queued(8)
        assert proxy.origin.paths[path] == 0
        taken.release()
        http1.until(lambda: proxy.origin.paths[path], what="the first at the origin")
        status = proxy.status()
        assert (status["queued"], status["outstanding"], proxy.origin.paths[path]) == (7, 1, 1)
        proxy.origin.open(name)
        for c in visits:
            c.head()
            c.chunks()
            c.close()
    assert proxy.origin.paths[path] == 8


def test_two_slots_are_two(proxy_with):
    p = proxy_with(scheduled(2, gold="weight=4"))
    gate = fresh("two")
    with p.taken():
        first, second = p.send(f"/gate/{gate}"), None
        http1.until(lambda: p.origin.count(gate) == 1, what="the second slot used")
        second = p.send(f"/size/1?{gate}")
        p.until_queued(1)
        p.origin.open(gate)
        assert first.receive().status == second.receive().status == 200
    first.close()
    second.close()
    p.settled()


def test_the_log_tells_class_wait_and_slot(proxy):
    """%fqrs::class, %fqrs::wait and %fqrs::slot of one that waited 0.4 s, of one that did not, of one that was refused, and of a tunnel."""
    mark = fresh("log")
    with proxy.taken() as taken:
        c = proxy.send(f"/size/10?{mark}-waited", cls="gold")
        proxy.until_queued(1)
        began = time.monotonic()
        http1.until(lambda: time.monotonic() - began >= 0.4, 5)
        taken.release()
        assert c.receive().status == 200
        took = 1000 * (time.monotonic() - began)
        c.close()
    line, = proxy.log_lines(f"{mark}-waited")
    assert (line["class"], line["status"]) == ("gold", "200")
    assert 400 <= int(line["wait"]) <= took + 500
    assert 0 <= int(line["slot"]) <= 1000

    began = time.monotonic()
    assert proxy.ask(f"/drip/5?{mark}-slot").status == 200
    took = 1000 * (time.monotonic() - began)
    line, = proxy.log_lines(f"{mark}-slot")
    assert line["class"] == "other" and int(line["wait"]) <= 200
    assert 400 <= int(line["slot"]) <= took + 1

    with proxy.taken():
        assert proxy.ask(f"/size/10?{mark}-refused", cls="hasty").status == 503
    line, = proxy.log_lines(f"{mark}-refused")
    assert (line["class"], line["wait"], line["slot"], line["status"], line["detail"]) == ("hasty", "-", "-", "503", "FQRS_WAIT_OVER")



def test_manager_pages_do_not_wait(proxy):
    """mgr:fqrs, mgr:fqrs_json, mgr:fqrs_prometheus and mgr:info answer while the window is full, and are not counted."""
    before = proxy.settled()
    with proxy.taken():
        c = proxy.send("/size/10")
        proxy.until_queued(1)
        assert re.search(r"^Requests waiting: 1\s+Outstanding: 1\s", proxy.page("fqrs"), re.M)
        assert 'fairgate_class_queued{class="other"} 1\n' in proxy.page("fqrs_prometheus")
        assert "Squid Object Cache" in proxy.page("info")
    c.receive()
    c.close()
    assert proxy.moved(before) == times(2)


def test_prometheus_page_is_well_formed(proxy):
    """Every metric has its HELP and TYPE once, before its samples; every sample is a number; counters agree with the JSON."""
    proxy.ask("/size/1000", cls="gold")
    status, typed, compared = proxy.settled(), {}, set()
    for line in proxy.page("fqrs_prometheus").splitlines():
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split()
            assert name not in typed and kind in ("gauge", "counter")
            typed[name] = kind
        elif not line.startswith("# HELP "):
            name, label, value = re.fullmatch(r'(\w+)(?:\{(?:class="([\w.-]+)",?)?(?:\w+="[\w.-]+")?\})? (\S+)', line).groups()
            assert name in typed and float(value) >= 0
            key = name.removeprefix("fairgate_class_").removeprefix("squid_fqrs_").removesuffix("_total")
            if label and key in ("submitted", "done", "aborted", "weight"):
                assert float(value) == status["by_class"][label][key]
                compared.add(name)
    assert {"fairgate_class_done_total", "squid_fqrs_done_total"} < compared    # the name of the version before, too


# ---- who does not wait

def test_hits_do_not_wait(caching):
    page = "/" + fresh("cached/hit")
    before = caching.settled()
    assert caching.ask(page).body == b"cached"
    with caching.taken():
        waits = caching.send("/size/10")
        caching.until_queued(1)
        assert caching.ask(page).body == b"cached"
        assert caching.status()["queued"] == 1
    assert waits.receive().status == 200
    waits.close()
    assert caching.origin.paths[page] == 1
    assert caching.moved(before) == times(3)
    miss, hit = caching.log_lines(page, 2)
    assert "MISS" in miss["tag"] and int(miss["wait"]) >= 0
    assert "HIT" in hit["tag"] and (hit["class"], hit["wait"], hit["slot"]) == ("-", "-", "-")


def test_only_if_cached_does_not_wait(caching):
    """Such a request is never forwarded."""
    with caching.taken():
        assert caching.ask("/cached/" + fresh("absent"), headers={"Cache-Control": "only-if-cached"}).status == 504


def test_a_revalidation_waits(caching):
    page = "/" + fresh("cached/old") + "?age=0"
    path = page.split("?")[0]
    before = caching.settled()
    assert caching.ask(page).body == b"cached"
    with caching.taken() as taken:
        c = caching.send(page, headers={"Cache-Control": "max-age=0"})
        caching.until_queued(1)
        assert caching.origin.paths[path] == 1
        taken.release()
        assert c.receive().body == b"cached"
        c.close()
    assert (caching.origin.paths[path], caching.origin.tags[path]) == (2, 1)
    assert caching.moved(before) == times(3)


def test_a_refused_revalidation_serves_what_is_there(caching):
    """The class's wait is over before a slot is free: the client has the old page rather than an error."""
    page = "/" + fresh("cached/kept") + "?age=0"
    assert caching.ask(page, cls="hasty").body == b"cached"
    with caching.taken():
        response = caching.ask(page, cls="hasty", headers={"Cache-Control": "max-age=0"})
    assert (response.status, response.body) == (200, b"cached")
    assert caching.origin.paths[page.split("?")[0]] == 1


def test_collapsed_requests_wait_once(caching):
    """Twenty clients ask for one page while it is not there: one request waits, takes one slot, and all have the page."""
    name = fresh("flock")
    page = f"/cached/{name}"
    before = caching.settled()
    with caching.taken() as taken:
        flock = [caching.send(page, cls="gold") for _ in range(20)]
        caching.until_queued(1)
        http1.until(lambda: clients_of(caching) >= 21, what="all of them asked")
        assert caching.status()["queued"] == 1
        taken.release()
        assert {c.receive().body for c in flock} == {b"cached"}
    for c in flock:
        c.close()
    assert caching.origin.paths[page] == 1
    assert caching.moved(before) == times(2)


def clients_of(proxy):
    """How many requests Squid has in hand, the asking one not counted."""
    return proxy.page("active_requests").count("Connection: ") - 1


def test_collapsed_requests_are_refused_each(caching):
    """Whoever waits for a request that is refused asks for himself, as with any error of which Squid keeps no copy, and is refused in his turn."""
    page = "/cached/" + fresh("flock")
    before = caching.settled()
    with caching.taken():
        flock = [caching.send(page, cls="hasty") for _ in range(5)]
        assert {c.receive().status for c in flock} == {503}
    for c in flock:
        c.close()
    assert caching.origin.paths[page] == 0
    assert caching.moved(before) == {"submitted": 6, "released": 1, "done": 1, "cancelled": 5}


def test_the_first_of_a_flock_may_leave(caching):
    """Who began the collapsed request leaves while it waits; the others still have their page, by one request."""
    page = "/cached/" + fresh("flock")
    before = caching.settled()
    with caching.taken() as taken:
        first = caching.send(page)
        caching.until_queued(1)
        others = [caching.send(page) for _ in range(5)]
        http1.until(lambda: clients_of(caching) >= 7, what="all of them asked")
        first.reset()
        http1.until(lambda: clients_of(caching) == 6, what="the first has left")
        assert caching.status()["queued"] == 1
        taken.release()
        assert {c.receive().body for c in others} == {b"cached"}
    for c in others:
        c.close()
    assert caching.origin.paths[page] == 1
    assert caching.moved(before) == times(2)


# ---- IPv6

@pytest.fixture(scope="module")
def origin6():
    with Origin("::1") as o:
        yield o


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_ipv6(proxy, origin6, host):
    """A client and an origin of IPv6: at once, after waiting, and in a tunnel."""
    before = proxy.settled()
    with proxy.connect(host) as c:
        assert len(proxy.ask("/size/3000", origin=origin6, connection=c, cls="gold").body) == 3000
        with proxy.taken() as taken:
            proxy.send("/size/4000", origin=origin6, connection=c, cls="gold")
            proxy.until_queued(1, "gold")
            taken.release()
            assert len(c.receive().body) == 4000
        assert proxy.moved(before) == times(3)
        c.send("CONNECT", origin6.authority, host=origin6.authority, headers={"X-Class": "gold"})
        assert c.head().status == 200
        c.send("GET", "/size/5000")
        assert len(c.receive().body) == 5000


# ---- a body while waiting

def test_a_body_that_waits_comes_whole(proxy):
    """More than Squid takes in at one time, sent while the request waits."""
    body = bytes(range(256)) * (8 * MEGABYTE // 256)
    with proxy.taken() as taken, proxy.connect() as c:
        sending = threading.Thread(target=proxy.send, args=("/echo", "POST"), kwargs=dict(connection=c, body=body))
        sending.start()
        proxy.until_queued(1)
        taken.release()
        sending.join(30)
        assert c.receive().body == str(len(body)).encode()


def test_a_body_that_stops_while_waiting(proxy):
    """The client promises more than it sends, and leaves while it waits."""
    before = proxy.settled()
    with proxy.taken():
        c = proxy.send("/echo", "POST", headers={"Content-Length": "100000"})
        c.send(b"x" * 70000)
        proxy.until_queued(1)
        c.reset()
        proxy.until_queued(0)
    assert proxy.moved(before) == {"submitted": 2, "released": 1, "done": 1, "cancelled": 1}


# ---- bounds

def test_queue_limit(proxy):
    """Two of class tiny may wait; a third has 503 at once, and those two their pages."""
    before = proxy.settled()
    with proxy.taken() as taken:
        waiting = [proxy.send("/size/10", cls="tiny") for _ in range(2)]
        proxy.until_queued(2)
        third = fresh("third")
        assert proxy.ask(f"/size/10?{third}", cls="tiny").status == 503
        assert proxy.log_lines(third)[0]["detail"] == "FQRS_CLASS_FULL"
        status = proxy.status()
        assert (status["queued"], status["by_class"]["tiny"]["refused"] - before["by_class"]["tiny"]["refused"]) == (2, 1)
        other = proxy.send("/size/10", cls="gold")      # the bound is the class's own
        proxy.until_queued(3)
        taken.release()
        for c in (*waiting, other):
            assert c.receive().status == 200
            c.close()
    assert proxy.moved(before) == {"submitted": 4, "released": 4, "done": 4, "refused": 1}
    assert proxy.ask("/size/10", cls="tiny").status == 200


def test_wait_limit(proxy):
    """Class hasty waits for a second: then 503, and no request reaches the origin."""
    before, path = proxy.settled(), "/" + fresh("order/hasty")
    with proxy.taken():
        began = time.monotonic()
        late = [proxy.send(path, cls="hasty") for _ in range(3)]
        patient = proxy.send("/size/10", cls="gold")
        for c in late:
            assert c.receive().status == 503
            c.close()
        took = time.monotonic() - began
        assert 1 <= took < 1.5 + proxy.world.patience, took
        assert (proxy.status()["queued"], proxy.status()["timed_out"] - before["timed_out"]) == (1, 3)
    assert patient.receive().status == 200
    patient.close()
    assert proxy.origin.paths[path] == 0
    assert proxy.moved(before) == {"submitted": 5, "released": 2, "done": 2, "cancelled": 3}


def test_a_refused_client_keeps_its_connection(proxy):
    with proxy.connect() as c:
        with proxy.taken():
            assert proxy.ask("/size/10", cls="hasty", connection=c).status == 503
        assert proxy.ask("/size/10", cls="hasty", connection=c).status == 200
