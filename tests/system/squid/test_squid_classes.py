# SPDX-License-Identifier: BSD-2-Clause
"""Which class a request is of, and whose request is next."""

import collections
import socket
import time

import http1
import pytest
from squid_names import Names
from squid_oracle import Oracle
from squid_origin import Origin
from squid_proxy import fresh, scheduled


@pytest.fixture(scope="module")
def names():
    with Names(www=["127.0.0.1"], there=["127.0.0.9"], shop=["127.0.0.1"]) as n:
        yield n


def class_of(p, target="/size/10", **kwargs):
    """The class of one such request, as the log and the counters tell it."""
    mark, before = fresh("class"), p.settled()["by_class"]
    assert p.ask(f"{target}{'&' if '?' in target else '?'}{mark}", **kwargs).status in (200, 404, 503, 502)
    after = p.settled()["by_class"]
    counted = [name for name in after if after[name]["submitted"] != before[name]["submitted"]]
    logged, = p.log_lines(mark)
    assert counted == ([] if logged["class"] == "-" else [logged["class"]])
    return logged["class"]


# ---- fqrs_access

ACCESS = """
fqrs on
fqrs_window 10
acl a req_header X-A .
acl b req_header X-B .
acl c req_header X-C .
acl posts method POST
fqrs_class first weight=1
fqrs_class second weight=1
fqrs_class third weight=1
fqrs_class nobody weight=1
fqrs_access third allow a
fqrs_access first deny c
fqrs_access first allow a b
fqrs_access second deny c
fqrs_access second allow a
fqrs_access second allow b
fqrs_access third allow posts
"""


@pytest.mark.parametrize("fields, method, cls", [
    ("", "GET", "other"), ("A", "GET", "second"), ("B", "GET", "second"), ("AB", "GET", "first"), ("C", "GET", "other"), ("AC", "GET", "third"),
    ("ABC", "GET", "third"), ("BC", "GET", "other"), ("", "POST", "third"), ("C", "POST", "third"), ("AB", "POST", "first"),
])
def test_access(proxy_with, fields, method, cls):
    """Classes are asked in the order in which they are defined, whatever that of fqrs_access; "deny" only passes the request on to the next."""
    p = proxy_with(ACCESS)
    assert class_of(p, method=method, headers={f"X-{f}": "1" for f in fields}) == cls


@pytest.mark.parametrize("last, cls", [("fqrs_access one deny a\n", "one"), ("fqrs_access one allow a\n", "other")])
def test_what_no_rule_decides(new_proxy, last, cls):
    """As with any list of Squid's: what no line matches is the opposite of the last line."""
    with new_proxy("fqrs on\nfqrs_window 10\nacl a req_header X-A .\nfqrs_class one weight=1\n" + last) as p:
        assert class_of(p) == cls


@pytest.mark.parametrize("line, field, cls", [
    ("acl x src 127.0.0.0/8", {}, "one"), ("acl x src 192.0.2.0/24", {}, "other"), ("acl x port 80", {}, "other"), ("acl x proto HTTP", {}, "one"),
    ("acl x url_regex -i /SIZE/1", {}, "one"), ("acl x urlpath_regex ^/size/10", {}, "one"), ("acl x browser Firefox", {"User-Agent": "Firefox/1"}, "one"),
    ("acl x browser Firefox", {"User-Agent": "Lynx"}, "other"), ("acl x dst 127.0.0.1", {}, "one"), ("acl x dstdomain 127.0.0.1", {}, "one"),
    ("acl x time 00:00-23:59", {}, "one"), ("acl x maxconn 100", {}, "other"), ("acl x myportname none", {}, "other"),
])
def test_kinds_of_acls(new_proxy, line, field, cls):
    with new_proxy(f"fqrs on\nfqrs_window 10\n{line}\nfqrs_class one weight=1\nfqrs_access one allow x\n") as p:
        assert class_of(p, headers=field) == cls


def test_an_acl_that_asks_dns(new_proxy, names):
    """dst of a name: slow, as the first request needs the answer of a name server."""
    with new_proxy("fqrs on\nfqrs_window 10\nacl there dst 127.0.0.9\nfqrs_class one weight=1\nfqrs_access one allow there\n", dns=names.address) as p, \
            Origin("127.0.0.9") as there:
        assert class_of(p, f"http://there.test:{there.port}/size/10", origin=there) == "one"
        assert class_of(p, f"http://www.test:{p.origin.port}/size/10") == "other"
        assert "there.test" in names.asked


def test_slow_acls(new_proxy, world):
    """Two classes ask a slow ACL each, a third a fast one; yes and no lead to the right one; nobody waits for another's answer."""
    oracle = Oracle(world.lab, fresh("oracle"))
    config = oracle.config + """
fqrs on
fqrs_window 10
acl b req_header X-B .
acl second req_header X-Second .
fqrs_class first weight=1
fqrs_class second weight=1
fqrs_class third weight=1
fqrs_access first allow asks oracle
fqrs_access second allow second oracle
fqrs_access third allow b
"""
    with new_proxy(config) as p:
        yes, no, later = fresh("yes"), fresh("no"), fresh("later")
        oracle.answer(yes, True)
        oracle.answer(no, False)
        waits = p.send("/size/10?later", headers={"X-Ask": later, "X-B": "1"})
        oracle.until_asked(later)
        assert class_of(p, headers={"X-Ask": yes}) == "first"
        assert class_of(p, headers={"X-Ask": no}) == "other"
        assert class_of(p, headers={"X-Ask": no, "X-B": "1"}) == "third"
        assert class_of(p, headers={"X-B": "1"}) == "third"
        oracle.answer(later, False)
        assert waits.receive().status == 200
        waits.close()
        assert p.log_lines("later")[0]["class"] == "third"


def test_not_scheduled(new_proxy):
    """What "fqrs_access none" allows goes while the window is full, tunnels too, and is of no class; what it denies is scheduled."""
    with new_proxy(scheduled(1, gold="weight=1") + "acl free req_header X-Free .\nfqrs_access none allow free\n") as p:
        before = p.settled()
        with p.taken(cls="gold"):
            waits = p.send("/size/10", cls="gold")
            p.until_queued(1)
            assert p.ask("/size/50000?free", cls="gold", headers={"X-Free": "1"}).status == 200
            with p.connect() as c:
                c.send("CONNECT", p.origin.authority, host=p.origin.authority, headers={"X-Free": "1", "X-Class": "gold"})
                assert c.head().status == 200
                bytes_before = p.status()["by_class"]["gold"]["submitted"]
                c.send("GET", "/size/50000")
                assert len(c.receive().body) == 50000
            assert p.status()["by_class"]["gold"]["submitted"] == bytes_before
        assert waits.receive().status == 200
        waits.close()
        line, = p.log_lines("free")
        assert (line["class"], line["wait"], line["slot"]) == ("-", "-", "-")
        assert p.moved(before) == {"submitted": 2, "released": 2, "done": 2}


def test_not_scheduled_by_a_slow_acl(new_proxy, world):
    oracle = Oracle(world.lab, fresh("oracle"))
    with new_proxy(oracle.config + scheduled(1, gold="weight=1") + "fqrs_access none allow asks oracle\n") as p:
        yes, no = fresh("yes"), fresh("no")
        oracle.answer(no, False)
        with p.taken():
            free = p.send("/size/10", cls="gold", headers={"X-Ask": yes})
            oracle.until_asked(yes)
            held = p.send("/size/10", cls="gold", headers={"X-Ask": no})
            p.until_queued(1)
            oracle.answer(yes, True)
            assert free.receive().status == 200
        assert held.receive().status == 200
        free.close()
        held.close()
        assert p.settled()["by_class"]["gold"]["submitted"] == 1


def test_what_squid_wants_for_itself_is_not_scheduled(new_proxy):
    """The networks of an AS, of which Squid asks a whois server when it starts."""
    with socket.create_server(("127.0.9.43", 43)) as whois:
        whois.settimeout(20)
        with new_proxy("fqrs on\nfqrs_window 1\nas_whois_server 127.0.9.43\nacl net src_as 64500\nhttp_access deny net\n") as p:
            with whois.accept()[0] as c:
                assert b"64500" in c.recv(100)
                assert p.status()["submitted"] == p.status()["outstanding"] == 0
                assert p.ask("/size/10").status == 200      # the window of one is free
            assert p.settled()["submitted"] == 1


# ---- fqrs_policy

POLICY = """<classification>
 <class id="1" name="office" quantum="6"><src_ip_addr>127.0.0.2</src_ip_addr><src_ip_addr>::1</src_ip_addr></class>
 <class id="2" name="people" quantum="6"><cookie>session=</cookie></class>
 <class id="3" name="robots" quantum="2" queue="5" wait="2"><user_agent>Bot</user_agent></class>
 <class id="4" name="big" quantum="1"><url match="suffix">.iso</url><url match="regex">/size/7\\d+</url></class>
 <class id="5" name="shop" quantum="1"><dst_dn>shop.test</dst_dn></class>
 <class id="6" name="odd" quantum="1"><dst_port>{port}</dst_port></class>
 <class id="7" name="secure" quantum="1"><prot_type>https</prot_type></class>
 <class id="8" name="nine" quantum="1"><dst_ip_addr>127.0.0.9</dst_ip_addr></class>
 <class id="10" name="six" quantum="1"><dst_ip_addr>2001:db8::/32</dst_ip_addr></class>
 <class id="9" name="rest" quantum="1"{rest}><prot_type>gopher</prot_type></class>
</classification>
"""


@pytest.fixture(scope="module")
def odd():
    with Origin("127.0.0.1") as o:
        yield o


@pytest.fixture(scope="module")
def nine():
    with Origin("127.0.0.9") as o:
        yield o


@pytest.fixture(scope="module", params=["default", "no-default"])
def by_policy(request, world, ending, names, odd):
    """A Squid with the policy, and the name of the class of what nothing matches."""
    p = world.proxy(dns=names.address)
    ending.append(p)
    p.write("policy.xml", POLICY.format(port=odd.port, rest=' default="yes"' if request.param == "default" else ""))
    p.config = p.always + f"fqrs on\nfqrs_window 10\nfqrs_policy {p.path('policy.xml')}\nacl a req_header X-A .\nfqrs_access shop allow a\n"
    p.start()
    p.rest = "rest" if request.param == "default" else "other"
    return p


@pytest.mark.parametrize("fields, cls", [
    ({}, None), ({"Cookie": "a=b; session=1"}, "people"), ({"Cookie": "nosession=1"}, None), ({"User-Agent": "GoodBot/1"}, "robots"),
    ({"User-Agent": "GoodBot/1", "Cookie": "session=1"}, "people"), ({"X-A": "1"}, "shop"), ({"X-A": "1", "Cookie": "session=1"}, "shop"),
    ({"Cookie": "x" * 20000 + "; session=2"}, "people"),
])
def test_policy_by_field(by_policy, fields, cls):
    """fqrs_access of a class is asked before all rules of the policy, of which the first class's are."""
    assert class_of(by_policy, headers=fields) == (cls or by_policy.rest)


def test_policy_by_url_and_server(by_policy, odd, nine):
    p = by_policy
    assert class_of(p, "/size/70") == "big"
    assert class_of(p, "/size/8") == p.rest
    assert class_of(p, f"http://shop.test:{p.origin.port}/size/10") == "shop"
    assert class_of(p, f"http://www.shop.test:{p.origin.port}/size/10") == "shop"
    assert class_of(p, f"http://workshop.test:{p.origin.port}/size/10") == p.rest
    assert class_of(p, origin=odd) == "odd"
    assert class_of(p, origin=nine) == "nine"
    assert class_of(p, "http://[2001:db8::1]/") == "six"
    assert class_of(p, "http://[2001:db9::1]/") == p.rest


SPELLED = """<classification>
 <class id="1" name="sizes" quantum="6"><url>/size/70</url></class>
 <class id="2" name="shop" quantum="1"><url>/checkout/</url><url>?page=2</url></class>
</classification>
"""


@pytest.fixture(scope="module")
def spelled(world, ending):
    p = world.proxy()
    ending.append(p)
    p.write("policy.xml", SPELLED)
    p.config = p.always + f"fqrs on\nfqrs_window 10\nfqrs_policy {p.path('policy.xml')}\n"
    p.start()
    return p


@pytest.mark.parametrize("target, cls", [
    ("/size/70", "sizes"), ("/%73ize/70", "sizes"), ("/./size/70", "sizes"), ("/x/../size/70", "sizes"), ("//size//70", "sizes"),
    ("/checkout//../size/70", "sizes"), ("/size/8?x=/size/70", "other"), ("/size/8?x=/checkout/", "other"), ("/size/8?page=2", "shop"),
    ("/size/8?a?page=2", "other"),
])
def test_rules_of_urls_see_one_spelling(spelled, target, cls):
    """The origin gets the URL as its client wrote it, and may know no page of that name; the class is that of the page."""
    assert class_of(spelled, target) == cls


def test_policy_by_client(by_policy):
    for host in ("127.0.0.1", "::1"):
        with by_policy.connect(host) as c:
            assert class_of(by_policy, connection=c) == ("office" if host == "::1" else by_policy.rest)
    with http1.Connection(by_policy.port, source="127.0.0.2") as c:
        assert class_of(by_policy, connection=c) == "office"


def test_policy_sets_the_classes(by_policy):
    """Weights are the quanta; `queue` and `wait` are bounds as those of fqrs_class."""
    by_class = by_policy.status()["by_class"]
    assert {name: c["weight"] for name, c in by_class.items() if name != "other"} == {
        "office": 6, "people": 6, "robots": 2, "big": 1, "shop": 1, "odd": 1, "secure": 1, "nine": 1, "six": 1, "rest": 1}
    with by_policy.taken(10):
        waiting = [by_policy.send("/size/10", headers={"User-Agent": "Bot"}) for _ in range(5)]
        by_policy.until_queued(5, "robots")
        assert by_policy.ask("/size/10", headers={"User-Agent": "Bot"}).status == 503
        assert {c.receive().status for c in waiting} == {503}       # after two seconds
    for c in waiting:
        c.close()
    by_policy.settled()


def test_policy_is_read_again(new_proxy):
    """On reconfigure the file is read: classes of both keep their counters."""
    p = new_proxy()
    file = p.path("policy.xml")

    def policy(agent, weight):
        p.write("policy.xml", f'<classification><class id="1" name="one" quantum="{weight}"><user_agent>{agent}</user_agent></class></classification>')
    policy("Mozilla", 3)
    config = f"fqrs on\nfqrs_window 10\nfqrs_policy {file}\n"
    p.config = p.always + config
    with p:
        assert class_of(p, headers={"User-Agent": "Mozilla"}) == "one"
        policy("Lynx", 5)
        p.again(config)
        assert class_of(p, headers={"User-Agent": "Mozilla"}) == "other"
        assert class_of(p, headers={"User-Agent": "Lynx"}) == "one"
        one = p.status()["by_class"]["one"]
        assert (one["weight"], one["done"]) == (5, 2)


def test_default_class_is_as_light_as_the_lightest(new_proxy):
    with new_proxy(scheduled(1, gold="weight=9", silver="weight=5")) as p:
        assert class_of(p) == "other"
        assert p.status()["by_class"]["other"]["weight"] == 5


def test_other_may_be_defined(new_proxy):
    with new_proxy(scheduled(1, gold="weight=9", other="weight=7")) as p:
        assert class_of(p) == "other"
        assert p.status()["by_class"]["other"]["weight"] == 7


# ---- whose request is next

WEIGHTS = {"gold": 4, "silver": 2, "bronze": 1}
ORDERED = dict(gold="weight=4", silver="weight=2", bronze="weight=1")


def released(p, visits):
    """Requests of [(class, size)] wait together behind one slot; the classes in the order in which the origin saw them."""
    mark = fresh("turn")
    with p.taken(cls="other") as taken:
        connections = [p.send(f"/order/{mark}:{cls}?size={size}&n={i}", cls=cls) for i, (cls, size) in enumerate(visits)]
        p.until_queued(len(visits))
        before = len(p.origin.order)
        taken.release()
        for c in connections:
            assert c.receive().status == 200
            c.close()
    order = [name.split(":")[1] for name in p.origin.order[before:] if name.startswith(mark)]
    assert len(order) == len(visits)
    return order


def learnt(p, sizes):
    """Each class has had so many responses of its size that it knows what to expect."""
    for _ in range(64):
        for cls, size in sizes.items():
            assert p.ask(f"/order/learn?size={size}", cls=cls).status == 200


def while_all_wait(order):
    """What each class has had, for each prefix of the order in which all still wait."""
    left, had = collections.Counter(order), collections.Counter(dict.fromkeys(WEIGHTS, 0))
    for cls in order:
        had[cls] += 1
        if had[cls] == left[cls]:
            return
        yield had


@pytest.mark.parametrize("scheduler", ["rfq", "rfq-paper"])
@pytest.mark.parametrize("sizes", [(4000, 4000, 4000), (4000, 16000, 1000), (64000, 1000, 8000)], ids=["equal", "mixed", "large-first"])
def test_released_by_weight(new_proxy, scheduler, sizes):
    """Class i has had b_i bytes for its weight w_i.  The class that is least served goes, so two that wait differ by no more than one response:
    |b_i / w_i - b_j / w_j| <= max(s_i / w_i, s_j / w_j).  They may begin as far from each other as the last of what they learnt from leaves them:
    once more as much.  The bytes are those of the header too: 63 and the digits of its length.
    """
    size = dict(zip(WEIGHTS, sizes))
    with new_proxy(scheduled(1, **ORDERED) + f"fqrs_order {scheduler}\n") as p:
        learnt(p, size)
        order = released(p, [(cls, size[cls]) for i in range(40) for cls in WEIGHTS])
        step = {cls: (size[cls] + 63 + len(str(size[cls]))) / WEIGHTS[cls] for cls in WEIGHTS}
        seen = 0
        for had in while_all_wait(order):
            seen += 1
            served = {cls: had[cls] * step[cls] for cls in WEIGHTS}
            for i in WEIGHTS:
                for j in WEIGHTS:
                    assert abs(served[i] - served[j]) <= 2 * max(step[i], step[j]) + 1, (had, order)
        assert seen >= 40
        p.settled()


def test_equal_sizes_go_four_two_one(new_proxy):
    """Of any seven in a row while all wait, four, two and one: rfq's order of equal responses repeats every seven."""
    with new_proxy(scheduled(1, **ORDERED)) as p:
        learnt(p, dict.fromkeys(WEIGHTS, 4000))
        order = released(p, [(cls, 4000) for cls in WEIGHTS for i in range(10 * WEIGHTS[cls])])
        for start in range(7, 56, 7):       # the first seven depend on how the classes stood before
            assert collections.Counter(order[start:start + 7]) == WEIGHTS, order
        p.settled()


def test_drr_by_weight(new_proxy):
    """In rounds; a round gives the lightest class one response at least, so that each class is within two rounds of its due."""
    with new_proxy(scheduled(1, **ORDERED) + "fqrs_order drr\n") as p:
        learnt(p, dict.fromkeys(WEIGHTS, 4000))
        ended = time.monotonic()        # who is back within a tenth of a second has what it saved (sched_drr.c)
        http1.until(lambda: time.monotonic() - ended > 0.2, what="a pause")
        order = released(p, [(cls, 4000) for cls in WEIGHTS for i in range(10 * WEIGHTS[cls])])
        for had in while_all_wait(order):
            for i in WEIGHTS:
                for j in WEIGHTS:
                    assert abs(had[i] / WEIGHTS[i] - had[j] / WEIGHTS[j]) <= 2, (had, order)
        p.settled()


def test_fifo_is_the_order_of_arrival(new_proxy):
    with new_proxy(scheduled(1, **ORDERED) + "fqrs_order fifo\n") as p:
        visits = [(cls, 1000) for i in range(10) for cls in WEIGHTS]
        mark = fresh("turn")
        with p.taken() as taken:
            connections = []
            for i, (cls, size) in enumerate(visits):
                connections.append(p.send(f"/order/{mark}:{cls}?size={size}", cls=cls))
                p.until_queued(i + 1)
            taken.release()
            for c in connections:
                assert c.receive().status == 200
                c.close()
        assert [name.split(":")[1] for name in p.origin.order if name.startswith(mark)] == [cls for cls, _ in visits]


@pytest.mark.parametrize("scheduler", ["rfq", "rfq-paper", "drr", "fifo"])
def test_inside_a_class_in_the_order_of_arrival(new_proxy, scheduler):
    with new_proxy(scheduled(1, gold="weight=1") + f"fqrs_order {scheduler}\n") as p:
        mark = fresh("first")
        with p.taken() as taken:
            connections = []
            for i in range(20):
                connections.append(p.send(f"/order/{mark}:{i}", cls="gold"))
                p.until_queued(i + 1)
            taken.release()
            for c in connections:
                assert c.receive().status == 200
                c.close()
        assert [int(name.split(":")[1]) for name in p.origin.order if name.startswith(mark)] == list(range(20))


def test_who_comes_later_has_its_share_at_once(new_proxy):
    """Gold waits alone, forty of them; when silver comes in their middle it has its part at once, and not what it has missed."""
    with new_proxy(scheduled(1, **ORDERED)) as p:
        learnt(p, dict.fromkeys(WEIGHTS, 4000))
        with p.taken():
            first = [p.send(f"/order/early?{i}&size=4000", cls="gold") for i in range(20)]
            p.until_queued(20)
        for c in first:
            assert c.receive().status == 200
            c.close()
        order = released(p, [("gold", 4000)] * 20 + [("silver", 4000)] * 20)
        gold, silver = order[:12].count("gold"), order[:12].count("silver")
        assert 6 <= gold <= 10 and silver == 12 - gold, order
        p.settled()
