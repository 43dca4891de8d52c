# SPDX-License-Identifier: BSD-2-Clause
"""Inside a class: the shortest goes first, by what is learnt of sizes; or its clients share it, by address, network or name."""

import select
import time

import http1
import pytest
from squid_origin import Origin
from squid_proxy import fresh, scheduled

SIZES = {"large": 60_000, "middle": 8_000, "small": 500}


def page(name, size, more=""):
    return f"/order/{name}?size={size}{more}"


def order_of(p, visits, statuses=frozenset({200})):
    """Requests of [(target, what else is said to send)] that wait together, in this order; the names in the order in which the origin saw them."""
    with p.taken() as taken:
        connections = []
        for i, (target, words) in enumerate(visits):
            connections.append(p.send(target, **words))
            p.until_queued(i + 1)
        before = len(p.origin.order)
        taken.release()
        for c in connections:
            assert c.receive().status in statuses
            c.close()
    return p.origin.order[before:]


# ---- the shortest first

def teach(p, *targets):
    for target in targets:
        assert p.ask(target, cls="gold").status == 200
    p.settled()


@pytest.mark.parametrize("words, first", [("", "large"), (" order=fifo", "large"), (" order=shortest", "small")])
def test_the_shortest_goes_first(new_proxy, words, first):
    """Pages that have been asked for once: by size, in a class that goes so, and in order of arrival in any other."""
    with new_proxy(scheduled(1, gold="weight=1" + words)) as p:
        names = {size: fresh(size) for size in SIZES}
        targets = [page(names[size], SIZES[size]) for size in SIZES]
        teach(p, *targets)
        order = order_of(p, [(t, {"cls": "gold"}) for t in targets])
        expected = ["large", "middle", "small"] if first == "large" else ["small", "middle", "large"]
        assert order == [names[size] for size in expected]
        p.settled()


@pytest.mark.parametrize("suffix, query", [(".iso", ""), ("", "&id={}")], ids=["kind", "pattern"])
def test_what_is_like_it_tells_of_a_new_page(new_proxy, suffix, query):
    """A page that nobody has asked for is expected to be as large as others with its ending from the same server, or with its query's names."""
    with new_proxy(scheduled(1, gold="weight=1 order=shortest")) as p:
        large, small = fresh("large"), fresh("small")
        names = [large + (f"-{i}" if suffix else "") + suffix for i in range(2)]
        teach(p, page(names[0], 60_000, query.format(0)), page(small + "-0.txt", 500))
        new, other = page(names[1], 60_000, query.format(1)), page(small + "-1.txt", 500)
        assert order_of(p, [(new, {"cls": "gold"}), (other, {"cls": "gold"})]) == [small + "-1.txt", names[1]]


def test_a_page_that_may_not_have_changed_is_another_one(new_proxy):
    """A client that has the page asks whether it is new; 304 is small, whatever else has that ending."""
    with new_proxy(scheduled(1, gold="weight=1 order=shortest")) as p:
        name, tagged = fresh("middle"), fresh("tagged")
        words = {"cls": "gold", "headers": {"If-None-Match": '"v1"'}}
        teach(p, page(name, 2_000))
        assert p.ask(f"/cached/{tagged}", **words).status == 304
        p.settled()
        assert order_of(p, [(page(name, 2_000), {"cls": "gold"}), (f"/cached/{tagged}", words)], {200, 304}) == [tagged, name]


def test_what_a_tunnel_carried_tells_of_the_next(new_proxy):
    """Tunnels to one server carry much, to another little: of two CONNECTs that wait the latter goes first, though it came later."""
    with new_proxy(scheduled(1, gold="weight=1 order=shortest")) as p, Origin() as other:
        def connect(origin):
            c = p.connect()
            c.send("CONNECT", origin.authority, host=origin.authority, headers={"X-Class": "gold"})
            return c
        for origin, size in ((p.origin, 50_000), (other, 3_000)):
            with connect(origin) as c:
                assert c.head().status == 200
                c.send("GET", f"/size/{size}")
                assert len(c.receive().body) == size
            p.settled()
        with p.taken() as taken:
            large = connect(p.origin)
            p.until_queued(1)
            small = connect(other)
            p.until_queued(2)
            taken.release()
            assert small.head().status == 200
            assert not select.select([large.socket], [], [], 0)[0]      # which has no turn while the other has its first one
            small.close()
            assert large.head().status == 200
            large.close()


def test_what_one_class_fetches_says_nothing_of_another(new_proxy):
    """Gold fetches large ones of a pattern; a page of it that silver has never seen is expected to be as silver's others are."""
    with new_proxy(scheduled(1, gold="weight=1 order=shortest", silver="weight=1 order=shortest")) as p:
        pattern, middle = fresh("pattern"), fresh("middle")
        teach(p, *(page(pattern, 60_000, f"&id={i}") for i in range(8)))
        for _ in range(5):
            assert p.ask(page(fresh("little"), 1_000), cls="silver").status == 200
        assert p.ask(page(middle, 30_000), cls="silver").status == 200
        p.settled()
        visits = [(page(middle, 30_000), {"cls": "silver"}), (page(pattern, 500, "&id=new"), {"cls": "silver"})]
        assert order_of(p, visits) == [pattern, middle]
        teach(p, page(middle, 30_000))
        visits = [(page(pattern, 500, "&id=newer"), {"cls": "gold"}), (page(middle, 30_000), {"cls": "gold"})]
        assert order_of(p, visits) == [middle, pattern]        # to gold it is a large one


def test_who_has_waited_half_of_the_wait_goes_first(new_proxy):
    with new_proxy(scheduled(1, gold="weight=1 order=shortest wait=20")) as p:
        large, small = page(fresh("large"), 60_000), page(fresh("small"), 500)
        teach(p, large, small)
        with p.taken() as taken:
            begun = time.monotonic()
            waits = p.send(large, cls="gold")
            p.until_queued(1)
            later = p.send(small, cls="gold")
            p.until_queued(2)
            http1.until(lambda: time.monotonic() > begun + 10.5, 12, "half of the wait")
            before = len(p.origin.order)
            taken.release()
            for c in (waits, later):
                assert c.receive().status == 200
                c.close()
        assert p.origin.order[before].startswith("large")


def test_only_what_get_brings_teaches(new_proxy):
    """What HEAD and POST bring says nothing of a page."""
    with new_proxy(scheduled(1, gold="weight=1 order=shortest")) as p:
        large, small = page(fresh("large"), 60_000), page(fresh("small"), 500)
        teach(p, large, small)
        for _ in range(20):
            assert p.ask(large, "HEAD", cls="gold").status == 200
            assert p.ask(large.replace("60000", "1"), "POST", cls="gold", body=b"x").status == 200
        p.settled()
        assert [name[0] for name in order_of(p, [(large, {"cls": "gold"}), (small, {"cls": "gold"})])] == ["s", "l"]


# ---- one client's part

def two_clients(p, connections):
    """Six requests of the one and then two of the other client wait; where in the order the other's are, from 0."""
    mark = fresh("client")
    visits = [(page(f"{mark}-{who}{i}", 1000), {"cls": "gold", "connection": connect()})
              for who, connect in zip(("a", "b"), connections) for i in range(6 if who == "a" else 2)]
    return [i for i, name in enumerate(order_of(p, visits)) if name.startswith(f"{mark}-b")]


@pytest.mark.parametrize("words, shared", [("", False), (" within=client", True), (" within=client/32/64", True), (" within=client/8/64", False)])
def test_clients_share_a_class(new_proxy, words, shared):
    """By address one with many connections has one part; neighbours are one where so few bits count."""
    with new_proxy(scheduled(1, gold="weight=1" + words)) as p:
        places = two_clients(p, (p.connect, lambda: http1.Connection(p.port, source="127.0.0.2")))
        assert (max(places) <= 4) if shared else places == [6, 7], places
        p.settled()


NAMES = """import sys
for line in sys.stdin:
    name = line.split()[0]
    print("ERR" if name == "-" else "OK user=" + name, flush=True)
"""


def test_users_share_a_class(new_proxy):
    """By the name that an external ACL says; all come from one address.  Who has no name is his address."""
    p = new_proxy()
    p.write("names.py", NAMES)
    p.config = p.always + "fqrs on\nfqrs_window 1\n" \
        f"external_acl_type names ttl=0 negative_ttl=0 children-startup=1 children-max=1 %{{X-User}}>ha /usr/bin/python3 -B {p.path('names.py')}\n" \
        "acl named external names\nfqrs_class gold weight=1 within=user\nfqrs_access gold allow named\n"
    with p:
        mark = fresh("user")
        visits = [(page(f"{mark}-{who}{i}", 1000), {"headers": {"X-User": who}}) for who, n in (("ann", 6), ("bob", 2)) for i in range(n)]
        order = order_of(p, visits)
        assert max(i for i, name in enumerate(order) if name.startswith(f"{mark}-bob")) <= 4, order
        p.settled()


def test_a_policy_says_so(new_proxy):
    """`order` and `within` of a policy's file."""
    p = new_proxy()
    p.write("policy.xml", '<classification>\n <class id="1" name="gold" quantum="1" order="shortest"><user_agent>gold</user_agent></class>\n'
                          ' <class id="2" name="silver" quantum="1" within="client"><user_agent>silver</user_agent></class>\n</classification>\n')
    p.config = p.always + f"fqrs on\nfqrs_window 1\nfqrs_policy {p.path('policy.xml')}\n"
    with p:
        large, small = page(fresh("large"), 60_000), page(fresh("small"), 500)
        gold, silver = {"headers": {"User-Agent": "gold"}}, {"headers": {"User-Agent": "silver"}}
        for target in (large, small):
            assert p.ask(target, **gold).status == 200
        p.settled()
        assert [name[0] for name in order_of(p, [(large, gold), (small, gold)])] == ["s", "l"]
        mark = fresh("client")
        visits = [(page(f"{mark}-a{i}", 1000), silver) for i in range(6)]
        visits += [(page(f"{mark}-b{i}", 1000), {**silver, "connection": http1.Connection(p.port, source="127.0.0.2")}) for i in range(2)]
        order = order_of(p, visits)
        assert max(i for i, name in enumerate(order) if name.startswith(f"{mark}-b")) <= 4, order


def test_one_client_takes_no_more_than_half_of_the_places(new_proxy):
    """Of the places that a class has left, others find some: his next request is refused, and theirs is not."""
    with new_proxy(scheduled(1, gold="weight=1 queue=10 within=client")) as p, p.taken():
        waiting = []
        for i in range(5):
            waiting.append(p.send(f"/size/10?{i}", cls="gold"))
            p.until_queued(i + 1)
        refused = p.ask("/size/10?more", cls="gold")
        assert refused.status == 503
        waiting.append(p.send("/size/10?other", cls="gold", connection=http1.Connection(p.port, source="127.0.0.2")))
        p.until_queued(6)
        for c in waiting:
            c.close()
        p.until_queued(0)
