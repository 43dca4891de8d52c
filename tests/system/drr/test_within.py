# SPDX-License-Identifier: BSD-2-Clause
"""Fair inside a class: keys share it equally (within), whatever each of them asks."""

import re

import pytest

from gateway import fresh
from lab.load import Load, errors

OTHERS = 10
PAGE = "/o/size/4096"       # 20 ms: 400 a second of a window of 8


def source(i):
    return f"127.0.0.{2 + i}"


def had(gateway, loads, seconds=6):
    """Bytes of each load, while all of them ask."""
    with Load(gateway.address, loads, seconds=seconds, warmup=2) as run:
        result = run.result()
    assert errors(result) == 0, result
    return {name: c["bytes"] for name, c in result["classes"].items()}


def part_of_the_crowd(gateway, loads):
    bytes_of = had(gateway, loads)
    return sum(n for name, n in bytes_of.items() if name.startswith("crowd")) / sum(bytes_of.values())


@pytest.mark.alone
@pytest.mark.measures
@pytest.mark.parametrize("within, least, most", [
    ("within=client", 0.85, 1.15),
    ("", 5, 11),
])
def test_many_connections_have_one_part(new_gateway, within, least, most):
    """One address with 300 connections beside ten with four each: it has an eleventh.  2,400 answers come, 218 of each key; what a slow moment of
    the machine keeps from the others is some of these.  In order of arrival it has what its connections make of it."""
    loads = [dict(name="crowd", clients=300, source=source(0), url=PAGE)]
    loads += [dict(name=f"other-{i}", clients=4, source=source(i), url=PAGE) for i in range(1, OTHERS + 1)]
    with new_gateway(window=8, classes=f"QosClass all weight=1 {within} default\n") as g:
        part = part_of_the_crowd(g, loads)
        assert least <= part * (OTHERS + 1) <= most, part


@pytest.mark.alone
@pytest.mark.measures
@pytest.mark.parametrize("within, least, most", [
    ("within=%{req:X-Network} within=client", 0.85, 1.15),
    ("within=client/24/48 within=client", 0.85, 1.15),
    ("within=client", 4, 11),
])
def test_many_addresses_are_one_network(new_gateway, within, least, most):
    """A network of two hundred addresses, a connection each, beside ten networks of one address with four: by network and address it has an
    eleventh.  By address alone it has as many parts as it has addresses."""
    loads = [dict(name=f"crowd-{i}", clients=1, source=f"127.0.1.{i}", url=PAGE, header="X-Network: crowd") for i in range(1, 201)]
    loads += [dict(name=f"other-{i}", clients=4, source=f"127.0.{10 + i}.1", url=PAGE, header=f"X-Network: other-{i}")
              for i in range(1, OTHERS + 1)]
    with new_gateway(window=8, classes=f"QosClass all weight=1 {within} default\n") as g:
        part = part_of_the_crowd(g, loads)
        assert least <= part * (OTHERS + 1) <= most, part


def waiting(gateway, order, target, **fields):
    """A request that waits; its answer's place will be in `order`."""
    c = gateway.connect()
    c.send("GET", f"/b/order/{order}/{target}", headers=fields)
    return c


@pytest.mark.parametrize("classes, policy", [
    ("QosClass all weight=1 within=%{req:X-Key} default\n", None),
    (None, '<classification><class id="1" name="all" quantum="1" default="yes" within="client"/></classification>'),
])
def test_a_first_page_is_not_behind_a_crowd(new_gateway, classes, policy):
    """Twenty of one key wait, then one of another comes: it is the next but one at most.  All of one address are one key in the second row."""
    with new_gateway(**(dict(classes=classes) if classes else dict(policy=policy))) as g:
        name, taken = fresh("first"), g.window_taken()
        with taken:
            crowd = [waiting(g, name, f"crowd-{i}", **{"X-Key": "crowd"}) for i in range(20)]
            g.until_queued(20)
            late = waiting(g, name, "late", **{"X-Key": "late"})
            g.until_queued(21)
            assert g.status()["by_class"]["all"]["keys"] == (2 if classes else 1)
        for c in crowd + [late]:
            assert c.receive().status == 200
            c.close()
        order = [said.split("/")[-1] for said in g.backend.order if said.startswith(name)]
        assert len(order) == 21
        assert (order.index("late") <= 1) == bool(classes), order


@pytest.mark.parametrize("within", ["within=%{req:X-Key}", ""])
def test_a_key_leaves_places_to_others(new_gateway, within):
    """Of twenty places a crowd has ten, and ten others find theirs; in order of arrival it has all."""
    with new_gateway(classes=f"QosClass all weight=1 queue=20 {within} default\n") as g:
        name, connections = fresh("places"), []
        with g.window_taken():
            for i in range(30):
                connections.append(waiting(g, name, f"crowd-{i}", **{"X-Key": "crowd"}))
                g.until(lambda s, n=i + 1: s["submitted"] + s["refused"] == 1 + n, "another one is there")
            for i in range(10):
                connections.append(waiting(g, name, f"other-{i}", **{"X-Key": f"other-{i}"}))
            s = g.until(lambda s: s["submitted"] + s["refused"] == 1 + 40, "all are there")
            assert s["queued"] == 20
        status = [c.receive().status for c in connections]
        for c in connections:
            c.close()
        assert status[:30].count(200) == (10 if within else 20), status
        assert status[30:].count(200) == (10 if within else 0), status


def test_who_has_no_key_is_known_by_address(new_gateway):
    """A cookie that is not there: each address is a key of its own.  On the first of two levels all of them are one."""
    for within, keys in (("within=%{req:X-Key}", 3), ("within=%{req:X-Key} within=client", 1)):
        with new_gateway(classes=f"QosClass all weight=1 {within} default\n") as g:
            with g.window_taken():
                run = Load(g.address, [dict(name=f"from-{i}", clients=2, source=source(i), url="/b/size/10") for i in range(3)], seconds=60)
                with run:
                    g.until(lambda s: s["queued"] == 6, "all of them wait")
                    assert g.status()["by_class"]["all"]["keys"] == keys


def test_keys_come_and_go_with_graceful_restarts(new_gateway):
    """There is room for them from the start; who waits meanwhile has no key, and is not lost."""
    with new_gateway(classes="QosClass all weight=1 default\n") as g:
        with g.window_taken():
            connections = [waiting(g, fresh("before"), "x")]
            g.until_queued(1)
            for within, keys in (("within=%{req:X-Key}", 3), ("", None)):
                g.scheduling["classes"] = f"QosClass all weight=1 {within} default\n"
                g.graceful(g.whole_config())
                connections += [waiting(g, fresh("after"), "x", **{"X-Key": key}) for key in ("a", "b")]
                s = g.until_queued(len(connections))
                assert s["by_class"]["all"].get("keys") == keys, s["by_class"]["all"]
        for c in connections:
            assert c.receive().status == 200
            c.close()


def test_an_expression_adds_no_vary(new_gateway):
    with new_gateway(classes="QosClass all weight=1 within=%{req:X-Key} default\n") as g, g.connect() as c:
        answer = c.ask("GET", "/static/2k.txt", headers={"X-Key": "a"})
        assert answer.status == 200
        assert "X-Key" not in answer.headers.get("vary", "")


@pytest.mark.parametrize("words, cure", [
    ("within=address", r"must be client, client/24/56, visitor, or an expression like %\{reqenv:MM_ASN\}"),
    ("within=client/24", r'write within="client", or within="client/24/56"'),
    ("within=client/24,56", r'write within="client", or within="client/24/56"'),
    ("within=%{req:A} within=%{req:B} within=client", "two levels of keys at most"),
    ("within=%{nothing:A}", "within=%.nothing:A"),
    ("within=%{req:A", "within=%.req:A"),
    ("within=client order=shortest", "exclude each other; leave out within or order"),
])
def test_a_bad_key_is_refused(new_gateway, words, cure):
    said = new_gateway(classes=f"QosClass people weight=6 {words}\n").refused_to_start()
    assert re.search(cure, said), said
