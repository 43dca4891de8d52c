# SPDX-License-Identifier: BSD-2-Clause
"""A slot is given back exactly once, whatever becomes of the request.

Every case is one visit of a client.  It runs twice: with slots to spare, so that it passes at once, and with the only slot taken, so that
it has waited first.  Then the engine's own counts must show that each request that came in went out once: nothing waits, nothing
is outstanding, released = done + aborted.
"""

import pytest

import http1
from gateway import fresh

MEGABYTE = 1 << 20
PEOPLE = {"Cookie": "session=1"}     # the class that may block most threads


# Each case: (name, what the client does with a fresh connection to gateway g, requests that pass the engine).

def normal(g, c):
    response = c.ask("GET", "/static/2k.txt")
    assert (response.status, len(response.body)) == (200, 2048)


def proxied(g, c):
    response = c.ask("GET", "/b/size/5000")
    assert (response.status, response.body) == (200, b"s" * 5000)


def proxied_without_length(g, c):
    response = c.ask("GET", "/b/size/70000?chunked")
    assert (response.status, response.body) == (200, b"c" * 70000)


def missing_with_error_document(g, c):
    response = c.ask("GET", "/static/no-such-page")
    assert (response.status, response.body) == (404, b"this site's own 404\n")


def missing_error_document_by_cgi(g, c):
    response = c.ask("GET", "/cgi-error/no-such-page")
    assert response.status == 404 and response.body.startswith(b"cgi ")


def directory_index(g, c):
    response = c.ask("GET", "/static/")
    assert (response.status, response.body) == (200, b"index\n")


def rewritten_in_directory(g, c):
    response = c.ask("GET", "/static/rewritten/2k.txt")
    assert (response.status, len(response.body)) == (200, 2048)


def redirected_by_cgi(g, c):
    response = c.ask("GET", "/cgi/page?location=/static/2k.txt")
    assert (response.status, len(response.body)) == (200, 2048)


def subrequests(g, c):
    response = c.ask("GET", "/static/included.shtml")
    assert response.status == 200 and response.body.count(b"index\n") == 3


def not_modified(g, c):
    tag = c.ask("HEAD", "/static/2k.txt").headers["etag"]
    response = c.ask("GET", "/static/2k.txt", headers={"If-None-Match": tag})
    assert (response.status, response.body) == (304, b"")


def head(g, c):
    response = c.ask("HEAD", "/static/2k.txt")
    assert (response.status, response.headers["content-length"]) == (200, "2048")
    response = c.ask("HEAD", "/b/size/100")
    assert (response.status, response.headers["content-length"]) == (200, "100")


def part(g, c):
    response = c.ask("GET", "/static/2k.txt", headers={"Range": "bytes=100-299"})
    assert (response.status, len(response.body)) == (206, 200)


def post(g, c):
    response = c.ask("POST", "/b/echo", body=b"p" * MEGABYTE)
    assert (response.status, response.body) == (200, str(MEGABYTE).encode())


def post_to_cgi(g, c):
    response = c.ask("POST", "/cgi/page", body=b"p" * MEGABYTE)
    assert response.status == 200 and f"read {MEGABYTE}".encode() in response.body


def expect_continue(g, c):
    c.send(http1.request_bytes("POST", "/b/echo", headers={"Expect": "100-continue", "Content-Length": "5000"}))
    interim = c.until(b"\r\n\r\n")
    assert interim.startswith(b"HTTP/1.1 100")
    c.send(b"e" * 5000)
    response = c.receive()
    assert (response.status, response.body) == (200, b"5000")


def pipelined(g, c):
    sizes = (10, 2000, 1, 70000, 300)
    c.send(b"".join(http1.request_bytes("GET", f"/b/size/{n}") for n in sizes))
    for n in sizes:
        response = c.receive()
        assert (response.status, len(response.body)) == (200, n)


def kept_alive(g, c):
    for n in range(20):
        response = c.ask("GET", f"/b/size/{n}")
        assert (response.status, len(response.body)) == (200, n)


def closed_after(g, c):
    response = c.ask("GET", "/b/size/9000", headers={"Connection": "close"})
    assert (response.status, len(response.body)) == (200, 9000)
    assert not c.more()


def http_1_0(g, c):
    c.send(http1.request_bytes("GET", "/static/2k.txt", version="1.0"))
    assert len(c.receive().body) == 2048
    assert not c.more()


def backend_dies_in_answer(g, c):
    c.send("GET", "/b/cut/100000")
    with pytest.raises(http1.Cut):
        c.receive()


def backend_never_answers(g, c):
    assert c.ask("GET", "/impatient/x").status in (502, 504)


def backend_not_there(g, c):
    assert c.ask("GET", "/dead/").status == 503


def forbidden(g, c):
    assert c.ask("GET", "/forbidden/x").status == 403


def moved(g, c):
    response = c.ask("GET", "/static")
    assert (response.status, response.headers["location"].endswith("/static/")) == (301, True)


def method_not_allowed(g, c):
    assert c.ask("DELETE", "/static/2k.txt").status == 405


CASES = [
    (normal, 1), (proxied, 1), (proxied_without_length, 1), (missing_with_error_document, 1), (missing_error_document_by_cgi, 1),
    (directory_index, 1), (rewritten_in_directory, 1), (redirected_by_cgi, 1), (subrequests, 1), (not_modified, 2), (head, 2), (part, 1),
    (post, 1), (post_to_cgi, 1), (expect_continue, 1), (pipelined, 5), (kept_alive, 20), (closed_after, 1), (http_1_0, 1),
    (backend_dies_in_answer, 1), (backend_never_answers, 1), (backend_not_there, 1),
]
# Answered before a handler would run: whether these take a slot is the module's business, but they must not keep one.
EARLY = [forbidden, moved, method_not_allowed]


def case_name(case):
    return case.__name__ if callable(case) else None


@pytest.mark.parametrize("case, requests", CASES, ids=case_name)
def test_at_once(gateway, case, requests):
    before = gateway.settled()
    with gateway.connect() as c:
        case(gateway, c)
    gateway.assert_each_once(before, requests)


@pytest.mark.parametrize("case, requests", CASES, ids=case_name)
def test_after_waiting(gateway, case, requests):
    before = gateway.settled()
    with gateway.window_taken() as taken, gateway.connect() as c:
        with gateway.in_background(case, gateway, c) as visit:
            gateway.until_queued(1)
            taken.release()
            visit.result()
    gateway.assert_each_once(before, requests + taken.count)


@pytest.mark.parametrize("case", EARLY, ids=case_name)
def test_answered_early(gateway, case):
    gateway.settled()
    with gateway.connect() as c:
        case(gateway, c)
    gateway.settled()


def test_gone_while_queued(gateway):
    """Who hangs up while waiting frees the place at once: not only when its turn comes."""
    before = gateway.settled()
    with gateway.window_taken() as taken:
        waiting = [gateway.connect() for _ in range(6)]
        for c in waiting:
            c.send("GET", "/b/size/100", headers=PEOPLE)
        gateway.until_queued(6)
        for i, c in enumerate(waiting[:4]):
            c.reset() if i % 2 else c.close()
        gateway.until_queued(2)
        taken.release()
        for c in waiting[4:]:
            assert c.receive().status == 200
            c.close()
    after = gateway.settled()
    assert after["cancelled"] - before["cancelled"] == 4
    assert after["released"] - before["released"] == 2 + taken.count


def test_gone_while_served(gateway):
    """A client that leaves in the middle of its answer gives the slot back when httpd or the backend notices."""
    before = gateway.settled()
    c, gate = gateway.connect(), fresh("half")
    c.send("GET", f"/b/half/{gate}?size=2000000")
    http1.until(lambda: c.more() and len(c.buffer) > 1000, what="the first half of the answer")
    assert gateway.status()["outstanding"] == 1
    c.reset()
    gateway.backend.open(gate)
    gateway.assert_each_once(before, 1)


def test_gone_before_answer(gateway):
    before = gateway.settled()
    c, gate = gateway.connect(), fresh("gone")
    c.send("GET", f"/b/gate/{gate}")
    gateway.until_outstanding(1)
    c.reset()
    gateway.backend.open(gate)
    gateway.assert_each_once(before, 1)
