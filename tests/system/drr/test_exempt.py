# SPDX-License-Identifier: BSD-2-Clause
"""What is exempt never waits, and is no hole: as many at one time as may, and its class pays."""

import os
import signal

import pytest

import http1
from gateway import fresh

PEOPLE = {"Cookie": "session=1"}
EXEMPT = "QosExempt path /b/size/ /healthz /.well-known/acme-challenge/\nQosExempt method OPTIONS\nQosExempt limit=3\nErrorDocument 404 default\n"


def exempting(new_gateway, text=EXEMPT, **words):
    g = new_gateway(**words)
    g.config += text
    return g


def outcome(g, target, method="GET", **words):
    mark = fresh("exempt")
    with g.connect() as c:
        answer = c.ask(method, f"{target}?{mark}", **words)
    return g.logged(mark, 1)[0]["outcome"], answer.status


@pytest.mark.parametrize("mpm", ["event", "worker", "prefork"])
def test_what_is_exempt_does_not_wait(new_gateway, mpm):
    with exempting(new_gateway, mpm=mpm, window=1) as g, g.window_taken() as taken:
        assert outcome(g, "/b/size/10") == ("exempt", 200)
        assert outcome(g, "/healthz") == ("exempt", 404)
        assert outcome(g, "/.well-known/acme-challenge/x") == ("exempt", 404)
        assert outcome(g, "/static/2k.txt", method="OPTIONS")[0] == "exempt"
        assert g.status()["exempt"] == 4
        taken.release()
    # and no slot was lost or won


@pytest.mark.parametrize("target, is_exempt", [
    ("/%68ealthz", True), ("//healthz", True), ("/x/../healthz", True), ("/./healthz", True), ("/x/%2e%2E/healthz", True), ("/healthz/", True),
    ("/healthz/below", True), ("http://localhost/healthz", True), ("/healthz2", False), ("/static/healthz", False), ("/index.php/healthz", False),
    ("/Healthz", False), ("/healthz/../static/2k.txt", False), ("/healthz/%2e%2e/static/2k.txt", False), ("/.well-known/acme-challenge", False),
    # A server behind may take these for /static/2k.txt.
    ("/healthz/..;/static/2k.txt", False), ("/healthz/..%3B/static/2k.txt", False), ("/healthz/..%2Fstatic/2k.txt", False), ("/healthz/a%2F../../static/2k.txt", False),
    ("/healthz/..%5Cstatic/2k.txt", False), ("/healthz/..\\static/2k.txt", False),
])
def test_spellings_lead_neither_in_nor_out(event_gateway_exempt, target, is_exempt):
    assert (outcome(event_gateway_exempt, target)[0] == "exempt") == is_exempt


@pytest.fixture(scope="module")
def event_gateway_exempt(parts):
    from gateway import Gateway

    g = Gateway(parts, window=4, more=EXEMPT)
    with g:
        yield g
    g.assert_no_crash()


def test_a_query_is_no_path(event_gateway_exempt):
    mark = fresh("exempt")
    with event_gateway_exempt.connect() as c:
        c.ask("GET", f"/static/2k.txt?{mark}/healthz")
    assert event_gateway_exempt.logged(f"{mark}/healthz", 1)[0]["outcome"] == "passed"


def test_a_swarm_has_no_more_than_the_limit(new_gateway):
    """Ten at a page that is exempt: three pass, the others take the window's slot or wait as the class that they are."""
    name = fresh("swarm")
    g = exempting(new_gateway, f"QosExempt path /b/gate/{name}\nQosExempt limit=3\n", window=1)
    with g:
        swarm = [g.connect() for _ in range(10)]
        for c in swarm:
            c.send("GET", f"/b/gate/{name}", headers={"User-Agent": "GPTBot"})
        g.until(lambda s: s["queued"] == 6, "six wait")
        http1.until(lambda: g.backend.count(name) == 4, what="three that are exempt and one by the window are at the server")
        s = g.status()
        assert (s["exempt"], s["exempt_beyond"], s["outstanding"]) == (3, 7, 1)
        g.backend.open(name)
        assert [c.receive().status for c in swarm] == [200] * 10
        g.settled()
        assert outcome(g, f"/b/gate/{name}")[0] == "exempt"


def test_its_class_pays(new_gateway):
    with exempting(new_gateway, window=1) as g:
        before = g.settled()["by_class"]["people"]
        http1.get(g.port, "/b/size/50000", headers=PEOPLE)
        after = g.until(lambda s: s["by_class"]["people"]["bytes"] > before["bytes"], "it is charged")["by_class"]["people"]
        assert 50_000 < after["bytes"] - before["bytes"] < 51_000
        assert (after["submitted"], after["slot_s"] > before["slot_s"]) == (before["submitted"], True)


@pytest.mark.parametrize("mpm", ["event", "prefork"])
def test_a_child_that_dies_gives_its_places_back(new_gateway, mpm):
    name = fresh("dies")
    g = exempting(new_gateway, f"QosExempt path /b/gate/{name}\nQosExempt limit=1\n", mpm=mpm, window=1)
    with g:
        with g.connect() as c:
            pid = g.child_of(c)
            c.send("GET", f"/b/gate/{name}")
            http1.until(lambda: g.backend.count(name) == 1, what="it is at the server")
            os.kill(pid, signal.SIGKILL)
        g.backend.open(name)

        def passes():
            try:
                return outcome(g, f"/b/gate/{name}")[0] == "exempt"
            except (OSError, http1.Cut):
                return False
        http1.until(passes, 20, "its place is free again")


def test_an_address(new_gateway):
    with exempting(new_gateway, "QosExempt address 127.0.0.0/8\n", window=1) as g, g.window_taken() as taken:
        assert outcome(g, "/static/2k.txt") == ("exempt", 200)
        taken.release()
    with exempting(new_gateway, "QosExempt address 192.0.2.1 2001:db8::/32\n", window=1) as g:
        assert outcome(g, "/static/2k.txt") == ("passed", 200)


POLICY = """<classification>
  <exempt limit="2">
    <path>/healthz</path>
    <path>/b/gate/{name}</path>
    <method>OPTIONS</method>
    <address>192.0.2.0/24</address>
  </exempt>
  <class id="1" name="people" quantum="1" default="yes"/>
</classification>
"""


def test_what_the_policy_exempts(new_gateway):
    """As the directive, beside which it counts; its limit holds where no directive says one."""
    name = fresh("exempt")
    with exempting(new_gateway, "QosExempt path /static/\nErrorDocument 404 default\n", policy=POLICY.format(name=name), window=1) as g:
        with g.window_taken() as taken:
            assert outcome(g, "/healthz/a") == ("exempt", 404)
            assert outcome(g, "/%68ealthz") == ("exempt", 404)
            assert outcome(g, "/static/2k.txt") == ("exempt", 200)
            assert outcome(g, "/b/size/10", method="OPTIONS")[0] == "exempt"
            taken.release()
        assert outcome(g, "/healthz/..;/static2")[0] == "passed"
        assert outcome(g, "/healthz2")[0] == "passed"
        with g.connect() as a, g.connect() as b, g.connect() as c:
            for n, connection in enumerate((a, b, c), 1):
                connection.send("GET", f"/b/gate/{name}")
                http1.until(lambda n=n: g.backend.count(name) == n, what="it is at the server")
            http1.until(lambda: g.status()["exempt_beyond"] == 1, what="the third one had a slot")
            g.backend.open(name)
            assert [connection.receive().status for connection in (a, b, c)] == [200] * 3


def test_a_directive_s_limit_goes_before_the_policy_s(new_gateway):
    name = fresh("exempt")
    with exempting(new_gateway, "QosExempt limit=3\n", policy=POLICY.format(name=name), window=1) as g:
        with g.connect() as a, g.connect() as b, g.connect() as c:
            for n, connection in enumerate((a, b, c), 1):
                connection.send("GET", f"/b/gate/{name}")
                http1.until(lambda n=n: g.backend.count(name) == n, what="it is at the server")
            assert g.status()["exempt_beyond"] == 0
            g.backend.open(name)
            assert [connection.receive().status for connection in (a, b, c)] == [200] * 3


def test_where_requests_are_observed(new_gateway):
    with exempting(new_gateway, engine="observe") as g:
        assert outcome(g, "/healthz") == ("exempt", 404)
        assert sum(c["requests"] for c in g.status()["observed"]["classes"]) == 0


@pytest.mark.parametrize("line, sentence", [
    ("QosExempt path healthz", "must begin with a slash"), ("QosExempt path /", "is all of the server"), ("QosExempt path /a?b", "have no ?"),
    ("QosExempt path /a/../b", "for a segment of its path"), ("QosExempt method get", "capital letters"), ("QosExempt address 10.1.2.3/8", "bits set behind"),
    ("QosExempt limit=0", "from 1 to 256"), ("QosExempt colour red", "must be path, method, address or limit=N"), ("QosExempt path", "write limit=N"),
])
def test_what_is_wrong_is_said(new_gateway, line, sentence):
    ok, said = exempting(new_gateway, line + "\n").check()
    assert not ok and sentence in said, said


@pytest.mark.parametrize("mpm", ["event", "worker"])
def test_who_sends_no_body_keeps_no_place(new_gateway, mpm):
    """Five whose bodies do not come leave the two places to others; when they come, each is answered in its turn."""
    g = exempting(new_gateway, "QosExempt path /b/echo /b/size/\nQosExempt limit=2\n", mpm=mpm, window=1)
    with g, g.window_taken() as taken:
        slow = [g.connect() for _ in range(5)]
        for n, c in enumerate(slow, 1):
            c.send(http1.request_bytes("POST", "/b/echo", headers={"Content-Length": "10"}))
            g.until(lambda s, n=n: s["exempt"] == n, "it is exempt")
        assert outcome(g, "/b/size/10") == ("exempt", 200)
        for c in slow:
            c.socket.sendall(b"0123456789")
        assert [c.receive().status for c in slow] == [200] * 5
        assert g.status()["exempt_beyond"] == 0
        taken.release()


@pytest.mark.parametrize("engine, status", [("On", 503), ("observe", 200)])
def test_a_place_when_the_body_has_come(new_gateway, engine, status):
    """The one place is taken by who is at the server: whose body has come waits for it, and is refused after a second; but who only looks on refuses nobody."""
    name = fresh("place")
    g = exempting(new_gateway, f"QosExempt path /b/echo /b/gate/{name}\nQosExempt limit=1\n", window=1, engine=engine)
    with g:
        late, other = g.connect(), g.connect()
        late.send(http1.request_bytes("POST", "/b/echo", headers={"Content-Length": "10"}))
        g.until(lambda s: s["exempt"] == 1, "it is exempt")
        other.send("GET", f"/b/gate/{name}")
        http1.until(lambda: g.backend.count(name) == 1, what="the other has the place")
        late.socket.sendall(b"0123456789")
        assert late.receive().status == status
        g.backend.open(name)
        assert other.receive().status == 200
