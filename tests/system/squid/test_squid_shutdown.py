# SPDX-License-Identifier: BSD-2-Clause
"""Squid ends while requests wait and responses are on their way."""

import signal
import time

import http1
import pytest
from squid_oracle import Oracle
from squid_proxy import SLACK, fresh, scheduled

LIFETIME = 3            # seconds that Squid gives its clients
MORE = 4                # what it takes itself for its end, at most: Squid counts the second that has begun, and looks once a second


@pytest.fixture
def oracle(world):
    return Oracle(world.lab, fresh("oracle"))


def end(p, how=signal.SIGTERM):
    """Tells it to end; returns when it did."""
    began = time.monotonic()
    p.told = True
    p.process.send_signal(how)
    return began


def ended(p, began, within):
    http1.until(lambda: not p.alive(), (within - (time.monotonic() - began)) * p.world.patience, f"Squid ended within {within} s")
    p.ended = p.process.poll()
    p.assert_well()


def test_with_a_full_queue(new_proxy):
    """Who waits has 503 at once; the response on its way may come to its end; Squid ends within its lifetime and a little."""
    p = new_proxy(scheduled(1, gold="weight=4") + f"shutdown_lifetime {LIFETIME} seconds\n").start()
    path = "/" + fresh("order/shutdown")
    with p.taken() as taken:
        waiting = [p.send(path, cls=cls) for cls in ("gold", None) for _ in range(100)]
        p.until_queued(200)
        began = end(p)
        for c in waiting:
            assert c.receive().status == 503
        assert time.monotonic() - began < (1 + SLACK) * p.world.patience
        assert p.alive()
        taken.release()                 # and comes whole
        for c in waiting:
            c.close()
    assert p.origin.paths[path] == 0
    assert {line["detail"] for line in p.log_lines(path, 200)} == {"FQRS_SHUTDOWN"}
    ended(p, began, LIFETIME + MORE)


def test_with_responses_that_do_not_end(new_proxy):
    """Released, parked and tunnelled: all end with Squid."""
    p = new_proxy(scheduled(2, gold="weight=4") + f"shutdown_lifetime {LIFETIME} seconds\n").start()
    gate = fresh("shutdown")
    clients = [p.send(f"/gate/{gate}"), p.send(f"/part/{gate}?size=1000")]
    tunnel = p.connect()
    tunnel.send("CONNECT", p.origin.authority, host=p.origin.authority)
    assert tunnel.head().status == 200
    p.until(lambda s: s["parked"] == 2, "two are parked")
    with p.connect() as drip:
        p.send("/drip/100000", connection=drip)
        drip.head()
        began = end(p)
        for c in (*clients, tunnel, drip):
            while c.more():
                pass
            c.close()
    ended(p, began, LIFETIME + MORE)
    p.origin.open(gate)


def test_at_once(new_proxy):
    """SIGINT does not wait for anybody; who waits is told all the same."""
    p = new_proxy(scheduled(1, gold="weight=4") + "shutdown_lifetime 60 seconds\n").start()
    with p.connect() as drip:
        p.send("/drip/100000", connection=drip)
        drip.head()
        waiting = [p.send("/size/10") for _ in range(50)]
        p.until_queued(50)
        began = end(p, signal.SIGINT)
        assert {c.receive().status for c in waiting} == {503}
        for c in waiting:
            c.close()
        ended(p, began, MORE)


def test_while_slow_acls_are_asked(new_proxy, oracle):
    """The ACL answers during the shutdown, or not at all: no request is sent on, and Squid ends."""
    p = new_proxy(oracle.config + scheduled(1, slow="weight=1") + f"fqrs_access slow allow asks oracle\nshutdown_lifetime {LIFETIME} seconds\n").start()
    path, key = "/" + fresh("order/acl"), fresh("key")
    answered, never = p.send(path, headers={"X-Ask": key}), p.send(path, headers={"X-Ask": fresh("never")})
    oracle.until_asked(key)
    began = end(p)
    http1.until(lambda: "Preparing for shutdown" in p.log(), what="Squid knows that it is to end")
    oracle.answer(key, True)
    for c in (answered, never):
        try:
            assert c.receive().status == 503
        except (http1.Cut, ConnectionResetError):
            pass
        c.close()
    ended(p, began, LIFETIME + MORE)
    assert p.origin.paths[path] == 0


def test_reconfigured_then_ended(new_proxy):
    """With a class that is gone and still has requests waiting."""
    p = new_proxy(scheduled(1, gold="weight=4", silver="weight=1") + "shutdown_lifetime 1 second\n").start()
    with p.taken(cls="gold") as taken:
        waiting = [p.send("/size/10", cls="gold") for _ in range(10)]
        p.until_queued(10)
        p.again(scheduled(1, silver="weight=1") + "shutdown_lifetime 1 second\n")
        began = end(p)
        assert {c.receive().status for c in waiting} == {503}
        taken.release()
        for c in waiting:
            c.close()
    ended(p, began, 1 + MORE)
