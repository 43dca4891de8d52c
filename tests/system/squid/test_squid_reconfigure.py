# SPDX-License-Identifier: BSD-2-Clause
"""squid.conf read again while requests wait and responses are on their way: nobody is lost, no counter goes back, no slot leaks."""

import contextlib
import re

import http1
import pytest
from squid_oracle import Oracle
from squid_proxy import COUNTERS, fresh, scheduled

TWO = dict(gold="weight=4", silver="weight=2")


@pytest.fixture(scope="module")
def times(request):
    return 1000 if request.config.getoption("--long") else 100


def assert_forward(before, after):
    """No counter of a class that is in both has gone back."""
    for name, c in after["by_class"].items():
        for key in COUNTERS:
            assert c[key] >= before["by_class"].get(name, c)[key], (name, key)


def test_a_hundred_times_under_load(new_proxy, times):
    """30 clients ask all the time while weights, windows, orders and classes change: each request that Squid has taken has its response, whole.

    Any Squid that reads its configuration again closes its ports for a moment: connections that it has not accepted are refused or reset.
    """
    configs = [scheduled(4, **TWO), scheduled(8, gold="weight=1", silver="weight=5 queue=100"), scheduled("none", silver="weight=1"),
               scheduled("bytes", **TWO) + "fqrs_link rate=500Mbit\n", scheduled("wrc", **TWO, bronze="weight=9") + "fqrs_link rate=500Mbit\nfqrs_order drr\n",
               scheduled(2, bronze="weight=3", gold="weight=3") + "fqrs_order rfq-paper\n"]
    with new_proxy(configs[0]) as p:
        crowd = [{"name": name, "clients": 10, "url": f"/size/{n}", "header": f"X-Class: {name}"}
                 for name, n in (("gold", 500), ("silver", 20000), ("bronze", 3000))]
        with p.load(crowd, seconds=3600, timeout=20) as run:
            p.until(lambda s: s["submitted"] > 100, "requests under way")
            seen, memory = p.status(), 0
            for i in range(times):
                p.again(configs[i % len(configs)])
                status = p.status()
                assert_forward(seen, status)
                seen = status
                if i == times // 5:
                    memory = p.memory()
            more = p.memory() - memory
            run.stop()
            result = run.result()
        assert not [kind for kind, n in result["total"]["errors"].items() if n and kind not in ("connect", "reset")], result["total"]
        assert set(result["total"]["status"]) == {"200"} and result["total"]["requests"] > 10 * times
        if p.world.patience == 1:       # a sanitizer keeps what was freed
            assert more < 5 << 20, f"{more} bytes more after {times} times"
        p.settled()


@contextlib.contextmanager
def full(p, **queued):
    """One slot taken, and so many requests of each class wait: (who holds it, {class: connections})."""
    with p.taken(cls=next(iter(queued))) as taken:
        waiting = {cls: [p.send(f"/size/100?{cls}", cls=cls) for _ in range(n)] for cls, n in queued.items()}
        p.until_queued(sum(queued.values()))
        yield taken, waiting
    for connections in waiting.values():
        for c in connections:
            c.close()


def test_queue_and_outstanding_survive(new_proxy):
    with new_proxy(scheduled(1, **TWO)) as p, full(p, gold=5, silver=3) as (taken, waiting):
        for weight in (1, 7, 3):
            before = p.status()
            p.again(scheduled(1, gold=f"weight={weight}", silver="weight=2"))
            after = p.status()
            assert (after["queued"], after["outstanding"]) == (before["queued"], before["outstanding"]) == (8, 1)
            assert after["by_class"]["gold"]["weight"] == weight
            assert_forward(before, after)
        taken.release()
        for c in waiting["gold"] + waiting["silver"]:
            assert len(c.receive().body) == 100
        s = p.settled()
        assert (s["by_class"]["gold"]["done"], s["by_class"]["silver"]["done"]) == (6, 3)


def test_a_class_is_removed(new_proxy):
    """Its requests that wait are served; it is shown as retired as long as it has any; new ones are of class other."""
    with new_proxy(scheduled(1, **TWO)) as p:
        with full(p, gold=3, silver=3) as (taken, waiting):
            p.again(scheduled(1, silver="weight=2"))
            s = p.status()
            assert (s["by_class"]["gold"]["retired"], s["by_class"]["gold"]["queued"], s["by_class"]["gold"]["outstanding"]) == (True, 3, 1)
            assert not s["by_class"]["silver"]["retired"]
            assert re.search(r"^gold .*\(retired\)$", p.page("fqrs"), re.M)
            late = p.send("/size/100?late", cls="gold")
            assert p.until_queued(7)["by_class"]["other"]["queued"] == 1
            taken.release()
            for c in waiting["gold"] + waiting["silver"] + [late]:
                assert len(c.receive().body) == 100
            late.close()
        assert p.log_lines("late")[0]["class"] == "other"
        assert "gold" not in p.settled()["by_class"]


def test_refusals_of_a_class_that_is_gone_still_count(new_proxy):
    """A sum that went back would be read as refusals that nobody met."""
    with new_proxy(scheduled(1, tiny="weight=1 queue=1", **TWO)) as p:
        with p.taken():
            first = p.send("/size/10", cls="tiny")
            p.until_queued(1)
            assert p.ask("/size/10", cls="tiny").status == 503
        assert first.receive().status == 200
        p.settled()
        p.again(scheduled(1, **TWO))
        s = p.status()
        assert "tiny" not in s["by_class"]
        assert s["refused_by"]["class-full"] == 1


def test_a_removed_class_comes_back(new_proxy):
    """While it is still being served: with its queue, its outstanding response and its counters."""
    with new_proxy(scheduled(1, **TWO)) as p, full(p, gold=3, silver=1) as (taken, waiting):
        before = p.status()["by_class"]["gold"]
        p.again(scheduled(1, silver="weight=2"))
        p.again(scheduled(1, silver="weight=2", gold="weight=9"))
        after = p.status()["by_class"]["gold"]
        assert (after["retired"], after["weight"], after["queued"], after["outstanding"]) == (False, 9, 3, 1)
        assert all(after[key] >= before[key] for key in COUNTERS)
        taken.release()
        for c in waiting["gold"] + waiting["silver"]:
            assert len(c.receive().body) == 100
        assert p.settled()["by_class"]["gold"]["done"] == 4


def test_a_removed_class_comes_back_later(new_proxy):
    """When it was empty in between it begins anew, and works."""
    with new_proxy(scheduled(1, **TWO)) as p:
        for i in range(20):
            assert p.ask("/size/100", cls="gold").status == 200
            p.again(scheduled(1, silver="weight=2", **{f"new{i}": "weight=1"}))
            assert p.ask("/size/100", cls=f"new{i}").status == 200
            assert "gold" not in p.status()["by_class"]
            p.again(scheduled(1, **TWO))
        s = p.settled()
        assert set(s["by_class"]) == {"gold", "silver", "other"}


@pytest.mark.parametrize("path", ["/gate/", "/part/"])
def test_a_class_is_removed_while_its_response_is_parked(new_proxy, path):
    with new_proxy(scheduled(1, **TWO)) as p:
        gate = fresh("parked")
        c = p.send(f"{path}{gate}?size=1000", cls="gold")
        p.until_outstanding(1)
        assert p.ask("/size/10", cls="silver").status == 200
        p.again(scheduled(1, silver="weight=2"))
        gold = p.status()["by_class"]["gold"]
        assert (gold["retired"], gold["parked"]) == (True, 1)
        p.origin.open(gate)
        assert c.receive().status == 200
        c.close()
        assert "gold" not in p.settled()["by_class"]


def test_off_lets_everybody_go(new_proxy):
    """fqrs on, then off: who waits goes at once, and nobody new waits; then on again: the window holds as before."""
    with new_proxy(scheduled(1, **TWO)) as p:
        with full(p, gold=10, silver=10) as (taken, waiting):
            p.again(scheduled(1, **TWO).replace("fqrs on", "fqrs off"))
            for c in waiting["gold"] + waiting["silver"]:
                assert len(c.receive().body) == 100
            s = p.status()
            assert (s["state"], s["queued"], s["outstanding"]) == ("off", 0, 1)
            assert "Scheduling: off" in p.page("fqrs")
            assert p.ask("/size/100", cls="gold").status == 200
            p.again(scheduled(1, **TWO))
            s = p.status()
            assert (s["state"], s["outstanding"]) == ("on", 1)
            late = p.send("/size/100", cls="gold")
            p.until_queued(1)
            taken.release()
            assert late.receive().status == 200
            late.close()
        s = p.settled()
        assert (s["submitted"], s["done"]) == (22, 22)      # the one that came while it was off is not among them


def test_off_and_on_while_a_tunnel_is_open(new_proxy):
    """Its bytes count for its class when fqrs is on again, and while it is off for none."""
    with new_proxy(scheduled(1, **TWO)) as p, p.connect() as c:
        c.send("CONNECT", p.origin.authority, host=p.origin.authority, headers={"X-Class": "gold"})
        assert c.head().status == 200

        def carry():
            before = p.status()["by_class"]["gold"]["bytes"]
            c.send("GET", "/size/10000")
            assert len(c.receive().body) == 10000
            return p.status()["by_class"]["gold"]["bytes"] - before
        assert carry() >= 10000
        p.settled()             # its turn is over
        p.again(scheduled(1, **TWO).replace("fqrs on", "fqrs off"))
        assert carry() == 0
        p.again(scheduled(1, new="weight=1", **TWO))
        assert carry() >= 10000


def test_a_tunnel_whose_class_is_removed(new_proxy):
    """Its bytes go to class other, and back to its own when that comes back."""
    with new_proxy(scheduled(1, **TWO)) as p, p.connect() as c:
        c.send("CONNECT", p.origin.authority, host=p.origin.authority, headers={"X-Class": "gold"})
        assert c.head().status == 200

        def carry(cls):
            before = p.status()["by_class"][cls]["bytes"]
            c.send("GET", "/size/10000")
            assert len(c.receive().body) == 10000
            return p.status()["by_class"][cls]["bytes"] - before
        assert carry("gold") >= 10000
        p.settled()             # a turn is its class's to its end
        p.again(scheduled(1, silver="weight=2"))
        assert carry("other") >= 10000
        p.settled()
        p.again(scheduled(1, silver="weight=1", gold="weight=2"))
        assert carry("gold") >= 10000


# Kinds of window, and whether a request goes while one response is on its way.
WINDOWS = [("3", True), ("1", False), ("none", True), ("1", False), ("bytes", True), ("1", False), ("wrc most=2", None), ("2", True), ("bytes horizon=1", None),
           ("1", False), ("wrc", None), ("none", True)]


def test_windows_change(new_proxy):
    """Each kind of window follows each; a request that comes then goes or waits as the new one says, and none is lost."""
    link = "fqrs_link rate=100Mbit\n"
    with new_proxy(scheduled(1, **TWO) + link) as p:
        visits = []
        with p.taken():
            for i, (window, goes) in enumerate(WINDOWS):
                p.again(scheduled(window, **TWO) + link)
                if goes:
                    p.until_queued(0)
                visits.append(p.send(f"/size/100?{window.split()[0]}", cls="gold"))
                if goes:
                    assert len(visits[-1].receive().body) == 100
                    visits.pop().close()
                else:
                    queued = p.until(lambda s, i=i: s["submitted"] == i + 2, "the request has come")["queued"]
                    assert queued >= 1 or goes is None
        for c in visits:
            assert len(c.receive().body) == 100
            c.close()
        s = p.settled()
        assert s["submitted"] == s["done"] == len(WINDOWS) + 1


def test_a_larger_window_lets_go_at_once(new_proxy):
    with new_proxy(scheduled(1, **TWO)) as p:
        gate = fresh("larger")
        with p.taken():
            waiting = [p.send(f"/gate/{gate}") for _ in range(6)]
            p.until_queued(6)
            p.again(scheduled(4, **TWO))
            http1.until(lambda: p.origin.count(gate) >= 3, what="three more go")
            p.origin.open(gate)
            for c in waiting:
                assert c.receive().status == 200
                c.close()
        p.settled()


def test_bounds_change(new_proxy):
    """A shorter queue refuses who comes; a shorter wait counts for who waits already."""
    with new_proxy(scheduled(1, **TWO)) as p:
        with full(p, gold=4, silver=1) as (taken, waiting):
            p.again(scheduled(1, gold="weight=4 queue=2", silver="weight=2"))
            assert p.ask("/size/100", cls="gold").status == 503
            p.again(scheduled(1, gold="weight=4 queue=2 wait=1", silver="weight=2"))
            for c in waiting["gold"]:
                assert c.receive().status == 503
            assert p.until_queued(1)["by_class"]["gold"]["refused"] == 1
            taken.release()
            assert waiting["silver"][0].receive().status == 200
        s = p.settled()
        assert (s["cancelled"], s["timed_out"]) == (4, 4)


# ---- slow ACLs

@pytest.fixture
def oracle(world):
    return Oracle(world.lab, fresh("oracle"))


def asking(oracle, *names):
    """Classes in this order, to the one called slow of which an ACL leads that answers when told."""
    return "fqrs on\nfqrs_window 1\n" + oracle.config + "".join(
        f"fqrs_class {name} weight=1\n" + ("fqrs_access slow allow asks oracle\n" if name == "slow" else "") for name in names)


@pytest.mark.parametrize("after", [("slow",), ("first", "slow"), ("first", "second", "slow", "third"), ("first",), ()])
def test_while_a_slow_acl_is_asked(new_proxy, oracle, after):
    """Classes come, move and go while the ACL has not answered: the request is served, as one of a class that there is then."""
    with new_proxy(asking(oracle, "zero", "slow", "last")) as p:
        keys = [fresh("key") for _ in range(10)]
        waiting = [p.send(f"/size/100?{key}", headers={"X-Ask": key}) for key in keys]
        oracle.until_asked(*keys)
        p.again(asking(oracle, *after))
        for key in keys:
            oracle.answer(key, True)
        for c in waiting:
            assert len(c.receive().body) == 100
            c.close()
        s = p.settled()
        assert s["submitted"] == s["done"] == 10
        classes = {p.log_lines(key)[0]["class"] for key in keys}
        assert classes <= {*after, "other"}
        if "slow" in after:
            assert classes == {"slow"}


def test_off_while_a_slow_acl_is_asked(new_proxy, oracle):
    """The request goes on, without the scheduler; on again, another waits."""
    with new_proxy(asking(oracle, "slow")) as p:
        key = fresh("key")
        c = p.send("/size/100", headers={"X-Ask": key})
        oracle.until_asked(key)
        p.again(asking(oracle, "slow").replace("fqrs on", "fqrs off"))
        oracle.answer(key, True)
        assert len(c.receive().body) == 100
        c.close()
        p.again(asking(oracle, "slow"))
        with p.taken() as taken:
            key = fresh("key")
            oracle.answer(key, True)
            c = p.send("/size/100", headers={"X-Ask": key})
            assert p.until_queued(1)["by_class"]["slow"]["queued"] == 1
            taken.release()
            assert c.receive().status == 200
            c.close()
        p.settled()


def test_many_reconfigurations_while_a_slow_acl_is_asked(new_proxy, oracle):
    """Ten times, and clients leave meanwhile."""
    with new_proxy(asking(oracle, "zero", "slow")) as p:
        keys, waiting = [], []
        for i in range(10):
            keys += [fresh("key"), fresh("key")]
            waiting += [p.send(f"/size/100?{key}", headers={"X-Ask": key}) for key in keys[-2:]]
            oracle.until_asked(*keys[-2:])
            p.again(asking(oracle, *(("slow", "zero") if i % 2 else ("zero", "slow"))))
            waiting[-2].reset()
        for key in keys:
            oracle.answer(key, True)
        for c in waiting[1::2]:
            assert len(c.receive().body) == 100
            c.close()
        s = p.settled()
        assert s["submitted"] == s["done"] == 10
