# SPDX-License-Identifier: BSD-2-Clause
"""With ICAP services before and behind the scheduler: what they do to requests and responses, and what they do not do, costs no slot."""

import time

import http1
import pytest
from squid_icap import Icap
from squid_proxy import SLACK, fresh, scheduled

# Squid 5.7, without the scheduler too, sometimes stops in a response of more than 64 KB that an ICAP server reads to its end before it answers.
LARGE = 50000
WHOLE, BROKEN = {"submitted": 1, "released": 1, "done": 1}, {"submitted": 1, "released": 1, "aborted": 1}


@pytest.fixture(scope="module")
def icap():
    with Icap() as i:
        yield i


@pytest.fixture
def proxy(proxy_with, icap):
    p = proxy_with(scheduled(1, gold="weight=4") + icap.config)
    p.settled()
    yield p
    began = time.monotonic()
    assert p.ask("/size/10").status == 200
    assert time.monotonic() - began < (1 + SLACK) * p.world.patience
    p.settled()


def fields(req=None, resp=None):
    return {name: value for name, value in (("X-Icap-Req", req), ("X-Icap-Resp", resp)) if value}


# (what the services do, the status, the body, what it costs)
CASES = [
    (fields("pass", "pass"), 200, b"s" * 3000, WHOLE),
    (fields("modify", "pass"), 200, b"s" * 3000, WHOLE),
    (fields("pass", "modify"), 200, b"s" * 3000 + b"!", WHOLE),
    (fields("modify", "modify"), 200, b"s" * 3000 + b"!", WHOLE),
    (fields("pass", "shorten"), 200, b"short", WHOLE),
    (fields("answer", "pass"), 200, b"answered", {}),
    (fields("answer", "modify"), 200, b"answered", {}),
    (fields("die", "pass"), 500, None, {}),
    (fields("half", "pass"), 500, None, {}),
    (fields("pass", "die"), 500, None, (WHOLE, BROKEN)),
    (fields("pass", "kill"), 500, None, (WHOLE, BROKEN)),
    (fields("pass", "half"), 500, None, (WHOLE, BROKEN)),
]


def name_of(value):
    return "-".join(value.values()) if isinstance(value, dict) and "X-Icap-Req" in value else ""


@pytest.mark.parametrize("waits", [False, True], ids=["at-once", "after-waiting"])
@pytest.mark.parametrize("how, status, body, costs", CASES, ids=name_of)
def test_adapted(proxy, how, status, body, costs, waits):
    before = proxy.settled()
    if waits and costs:
        with proxy.taken() as taken:
            c = proxy.send("/size/3000", headers=how)
            proxy.until_queued(1)
            taken.release()
            response = c.receive()
            c.close()
    else:
        response = proxy.ask("/size/3000", headers=how)
    assert response.status == status
    assert body is None or response.body == body
    moved = proxy.moved(before)
    if waits and costs:
        moved = {key: n - WHOLE.get(key, 0) for key, n in moved.items() if n != WHOLE.get(key, 0)}
    assert moved in (costs if isinstance(costs, tuple) else (costs,))


def test_a_body_both_ways(proxy):
    """A large body through REQMOD, while the request waits, and one back through RESPMOD."""
    before, body = proxy.settled(), b"b" * (1 << 20)
    with proxy.taken() as taken, proxy.connect() as c:
        proxy.send("/echo", "POST", connection=c, headers=fields("modify", "modify"), body=body)
        proxy.until_queued(1)
        taken.release()
        assert c.receive().body == str(len(body) + 1).encode() + b"!"
        assert proxy.ask(f"/size/{LARGE}", connection=c, headers=fields("pass", "modify")).body == b"s" * LARGE + b"!"
    assert proxy.moved(before) == {"submitted": 3, "released": 3, "done": 3}


def test_who_hangs_in_reqmod_holds_no_slot(proxy, icap):
    """It has not come to the scheduler yet; when it does, it is served; who leaves before never comes."""
    before, gate = proxy.settled(), fresh("reqmod")
    hang = [proxy.send("/size/10", headers=fields(gate)) for _ in range(10)]
    http1.until(lambda: icap.seen["REQMOD", gate] == 10, what="all of them with the ICAP server")
    assert proxy.status()["outstanding"] == 0
    assert proxy.ask("/size/10").status == 200
    for c in hang[:4]:
        c.reset()
    icap.open(gate)
    assert {c.receive().status for c in hang[4:]} == {200}
    for c in hang[4:]:
        c.close()
    assert proxy.moved(before) == {"submitted": 7, "released": 7, "done": 7}


@pytest.mark.parametrize("size", [10, LARGE])
def test_who_hangs_in_respmod_is_parked(proxy, icap, size):
    """The ICAP server keeps the response: after half a second the slot is another's; each is given back once."""
    before, gate = proxy.settled(), fresh("respmod")
    hang = [proxy.send(f"/size/{size}", headers=fields(None, gate)) for _ in range(3)]
    proxy.until(lambda s: s["released"] == before["released"] + 3 and s["queued"] == 0, "all three released, one after another")
    began = time.monotonic()
    assert proxy.ask("/size/10", cls="gold").status == 200
    assert time.monotonic() - began < (1 + SLACK) * proxy.world.patience
    hang[0].reset()
    proxy.until(lambda s: s["done"] + s["aborted"] >= before["done"] + before["aborted"] + 2, "the slot of who left")
    icap.open(gate)
    assert {len(c.receive().body) for c in hang[1:]} == {size}
    for c in hang[1:]:
        c.close()
    moved = proxy.moved(before)
    assert (moved["submitted"], moved["released"], moved["done"] + moved.get("aborted", 0)) == (4, 4, 4)


@pytest.mark.parametrize("where", ["X-Icap-Req", "X-Icap-Resp"])
def test_the_client_leaves_a_half_answer(proxy, icap, where):
    before = proxy.settled()
    seen = icap.seen.copy()
    c = proxy.send("/size/100000", headers={where: "half-open"})
    http1.until(lambda: sum(icap.seen[key] - seen[key] for key in icap.seen if key[1] == "half-open") == 1, what="the ICAP server asked")
    c.reset()
    moved = proxy.moved(before)
    assert moved.get("done", 0) + moved.get("aborted", 0) == (where == "X-Icap-Resp")


def test_a_server_that_dies(new_proxy):
    """The ICAP server goes away under 40 responses: each ends in an error, once; when none is there any more, requests fail and hold nothing."""
    with Icap() as dies:
        p = new_proxy(scheduled(10, gold="weight=4") + dies.config + "icap_connect_timeout 2 seconds\n").start()
        gate = fresh("dies")
        hang = [p.send("/size/1000", headers=fields(None, gate)) for _ in range(40)]
        p.until(lambda s: s["released"] == 40, "all released, as those that hang are parked")
    statuses = {c.receive().status for c in hang}
    assert statuses <= {500}, statuses
    for c in hang:
        c.close()
    s = p.settled()
    assert (s["submitted"], s["done"] + s["aborted"]) == (40, 40)
    assert p.ask("/size/10", headers=fields(None, "pass")).status == 500
    assert p.ask("/size/10").status == 200
    p.settled()
