# SPDX-License-Identifier: BSD-2-Clause
"""The peers among themselves, without a server of ours: what fails here is the lab's fault, and what others count on is seen here."""
import itertools
import random
import time

import pytest

from lab import ndn
from lab import ndn_wire as wire
from lab.lab import wait_for
from lab.ndn_face import Face, Listener, Producer, serving
from lab.path import Path

SEGMENTS = (1, 2, 100, 2000)
CLIENTS = {
    "ndnd": lambda client, name: client.cat(name),
    "python-ndn": lambda client, name: client.python_get(name),
    "NDNts": lambda client, name: client.ndnts_get(name),
    "NDNts, window 16": lambda client, name: client.ndnts_get(name, window=16),
}
each_client = pytest.mark.parametrize("fetch", CLIENTS.values(), ids=CLIENTS)


def octets(n, seed=0):
    return random.Random(seed).randbytes(n)


def same(got, content):
    """Without their bytes in a report."""
    return got.content == content


@pytest.fixture(scope="module")
def put(ndn_lab, forwarder):
    """{number of segments: content} of what ndnd put has published as /put/NUMBER."""
    contents = {n: octets(n * ndn.Put.SEGMENT - 17, n) for n in SEGMENTS}
    for n, content in contents.items():
        ndn.Put(ndn_lab, forwarder, f"/put/{n}", content).start()
    return contents


numbers = itertools.count(7000)     # of ports and prefixes, so that no two tests share one


@pytest.fixture
def producer(path, forwarder):
    """producer(answer): a Producer on the server's host, and the prefix of which the forwarder sends it all."""
    made = []

    def make(answer):
        n = next(numbers)
        made.append(Producer(n, answer, host=path.server))
        forwarder.route(f"/{n}", made[-1].uri)
        return made[-1], f"/{n}"
    yield make
    for p in made:
        p.close()


@each_client
def test_what_ndnd_put_has_comes_whole(put, client, fetch):
    for n, content in put.items():
        got = fetch(client, f"/put/{n}")
        assert got.error is None
        assert same(got, content), f"{n} segments"
        assert wire.name(got.name)[:-1] == wire.name(f"/put/{n}") and wire.name(got.name)[-1][0] == wire.VERSION


@each_client
def test_what_the_lab_itself_produces_comes_whole(producer, client, fetch):
    """So its packets are right."""
    content = octets(50_000)
    packets = {}
    p, prefix = producer(serving(packets))
    packets.update(wire.published(prefix + "/a", content))
    got = fetch(client, prefix + "/a")
    assert got.error is None
    assert same(got, content)
    assert len({q.uri for q in p.seen}) >= 14, "13 segments and the metadata"


class Wrong(wire.Digest):
    def sign(self, *covered):
        return bytes(32)


def test_who_looks_at_checksums(producer, client):
    """python-ndn and NDNts do, so that theirs are worth something; ndnd does not."""
    packets = {}
    _, prefix = producer(serving(packets))
    packets.update(wire.published(prefix, b"text", sign=Wrong()))
    assert client.python_get(prefix).error == "not valid"
    assert "bad signature value" in client.ndnts_get(prefix).error
    assert client.cat(prefix).content == b"text"


def test_what_there_is_not_times_out(client):
    assert client.python_ask("/nobody/has/it", lifetime=200).error == "timeout"
    assert "expire" in client.ndnts_ask("/nobody/has/it", lifetime=200).error


def test_a_forwarder_that_is_killed_and_comes_back(producer, forwarder, client):
    """It has forgotten all; with its routes all works as before."""
    packets = {}
    _, prefix = producer(serving(packets))
    packets.update(wire.published(prefix, b"text"))
    assert client.python_get(prefix).content == b"text"
    forwarder.restart(kill=True)
    assert client.python_get(prefix).content == b"text"
    assert client.ndnts_get(prefix).content == b"text"


def test_a_permanent_face_finds_a_producer_that_was_away(path, forwarder, client):
    packets, port = wire.published("/away", b"text"), next(numbers)
    with Producer(port, serving(packets), host=path.server) as p:
        forwarder.route("/away", p.uri)
        assert client.python_get("/away").content == b"text"
    # What the forwarder has kept counts for a moment.
    wait_for(lambda: client.python_get("/away", lifetime=200).error == "timeout", 10, "the producer to be missed")
    with Producer(port, serving(packets), host=path.server):
        wait_for(lambda: client.python_get("/away", lifetime=200).error is None, 10, "the forwarder's next try to connect")


def test_a_nack_is_swallowed(producer, forwarder, client):
    """The forwarder takes it for an Interest, and drops that since it knows its nonce: the client waits for nothing."""
    p, prefix = producer(lambda packet: wire.lp(packet.wire, token=packet.token, nack=wire.NO_ROUTE))
    assert client.python_ask(prefix, lifetime=300).error == "timeout"
    assert p.asked() == 1 and forwarder.faces()[p.uri]["in_interests"] == 1


def test_equal_interests_are_joined(path, forwarder, producer):
    """Also when they come from two clients: a plain name can't hold what is private."""
    answers = []
    p, prefix = producer(answers.append)
    with Face.tcp(forwarder.host, forwarder.port, path.clients) as one, Face.tcp(forwarder.host, forwarder.port, path.clients) as two:
        one.send(wire.interest(prefix + "/x"))
        wait_for(lambda: answers, 4, "the first Interest at the producer")
        two.send(wire.interest(prefix + "/x"))
        wait_for(lambda: forwarder.faces()[uri_of(two)]["in_interests"] == 1, 4, "the second at the forwarder")
        p.faces[0].send(wire.lp(wire.data(prefix + "/x", b"text"), token=answers[0].token))
        assert (one.receive().content, two.receive().content) == (b"text", b"text")
    assert p.asked() == 1


def uri_of(face):
    """What the forwarder calls a face from the other side."""
    address, port = face.connection.getsockname()
    return f"tcp4://{address}:{port}"


def test_what_the_forwarder_sends(producer, path, forwarder):
    """Every packet is wrapped; an Interest has a token of six octets, and comes only if it has a nonce.  A client's own token must have six, too: another ends it."""
    p, prefix = producer(lambda packet: wire.lp(wire.data(packet.name, b"text", freshness=1), token=packet.token))
    with Face.tcp(forwarder.host, forwarder.port, path.clients) as face:
        got = face.ask(prefix + "/1", lifetime=500)
        assert got.wrapped and got.content == b"text" and got.token is None and got.signed_by(wire.Digest())
        face.send(wire.lp(wire.interest(prefix + "/2"), token=b"mytown"))
        assert face.receive().token == b"mytown"
        assert face.ask(prefix + "/3", seconds=0.3, nonce=None) is None
    assert [(q.uri, q.wrapped, len(q.token)) for q in p.seen] == [(f"{prefix}/{n}", True, 6) for n in (1, 2)]
    assert p.seen[0].lifetime == 500


def test_data_without_a_token_is_found_by_its_whole_name_only(producer, path, forwarder):
    """From a face that is not local: an Interest for a prefix may wait in another thread of the forwarder than the one that gets the Data."""
    p, prefix = producer(lambda packet: wire.data((*packet.name, wire.segment(0)) if packet.prefix else packet.name, b"text"))
    with Face.tcp(forwarder.host, forwarder.port, path.clients) as face:
        assert all(face.ask(f"{prefix}/{n}").content == b"text" for n in range(8))
        got = []
        for n in range(8, 24):      # each has its thread by chance: all in the right one is one in 65,536
            face.send(wire.interest(f"{prefix}/{n}", prefix=True))
        while (packet := face.receive(0.5)) is not None:
            got.append(packet)
        assert len(got) < 16
    assert p.asked() == 24


def test_parameters_and_signatures_arrive(producer, client):
    """Of both libraries; and who only adds a checksum can be told from who has a key."""
    key = wire.Hmac(b"secret", "/me/KEY/1")
    p, prefix = producer(lambda packet: wire.lp(wire.data(packet.name, packet.params or b"none", kind=3), token=packet.token))
    asked = [
        (client.python_ask(prefix, params=b"1", key=key.key, key_name=key.key_name), key),
        (client.python_ask(prefix, params=b"2"), wire.Digest()),
        (client.ndnts_ask(prefix, params=b"3", signed=True), wire.Digest()),
        (client.ndnts_ask(prefix, params=b"4"), None),
    ]
    for (got, who), packet in zip(asked, p.seen, strict=True):
        assert (got.error, got.content, got.answer["kind"]) == (None, packet.params, 3)
        assert packet.params_match() and wire.name(got.name) == packet.name
        assert packet.signed_by(who) if who else packet.signature_type is None
        if who:
            assert len(packet.signature[wire.SIGNATURE_NONCE]) == 8
            assert abs(wire.read_integer(packet.signature[wire.SIGNATURE_TIME]) / 1000 - time.time()) < 60


def test_the_lab_signs_as_they_do(producer, path, forwarder):
    """And a wrong digest of the parameters passes the forwarder: the producer must look."""
    p, prefix = producer(lambda packet: wire.lp(wire.data(packet.name), token=packet.token))
    with Face.tcp(forwarder.host, forwarder.port, path.clients) as face:
        assert face.ask(prefix, params=b"x", sign=wire.Hmac(b"k")) and face.ask(prefix, params=b"x", digest=bytes(32))
    right, wrong = p.seen
    assert right.params_match() and right.signed_by(wire.Hmac(b"k")) and not right.signed_by(wire.Hmac(b"other"))
    assert not wrong.params_match()


def test_a_producer_that_registers(forwarder, client):
    """A local one; its route goes with its connection.  Who is not local is not heard."""
    with Face.unix(forwarder.socket) as face:
        assert face.register("/registered") == 200
        assert "/registered" in forwarder.prefixes()
    wait_for(lambda: "/registered" not in forwarder.prefixes(), 4, "the route gone")
    with Face.tcp(forwarder.host, forwarder.port, client.host) as face:
        assert face.register("/registered", seconds=0.3) is None
    assert "/registered" not in forwarder.prefixes()


def test_the_lab_as_a_forwarder(path):
    """For a server that connects to one: what it sends can be looked at."""
    port = next(numbers)
    with Listener(port, path.router) as listener, Face.tcp(listener.address, port, path.server) as server:
        with listener.accept() as face:
            server.send(wire.interest("/a"), wire.data("/b", b"x" * 8000))
            assert (face.receive().uri, face.receive().uri, face.receive(0.05)) == ("/a", "/b", None)
        assert server.closed()


@pytest.mark.alone
def test_one_at_a_time_takes_a_round_trip_each(ndn_lab, peers):
    """20 ms: what waits for each takes at least that, what has all of them outstanding a few of them; the delay is on the clients' side of the forwarder."""
    content = octets(20 * ndn.Put.SEGMENT)
    far = Path(ndn_lab, rtt=20).start()
    forwarder = ndn.Forwarder(ndn_lab).on(far.router).start()
    ndn.Put(ndn_lab, forwarder, "/far", content).start()
    with ndn.Client(ndn_lab, forwarder, far.clients) as distant, ndn.Client(ndn_lab, forwarder) as near:
        slow = distant.python_get("/far")
        fast = [distant.cat("/far"), distant.ndnts_get("/far", window=20)]
        beside = near.python_get("/far")
    far.stop()
    assert all(same(got, content) for got in (slow, beside, *fast))
    assert slow.interests >= 21 and slow.seconds >= slow.interests * 0.02
    for got in fast:
        assert 2 * 0.02 <= got.seconds < slow.seconds / 2
    assert beside.seconds < slow.seconds / 4
