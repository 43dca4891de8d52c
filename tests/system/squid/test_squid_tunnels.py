# SPDX-License-Identifier: BSD-2-Clause
"""Tunnels: CONNECT waits as requests do, a tunnel brings its bytes turn by turn, and has no slot while nothing comes."""

import re
import socket
import subprocess
import threading
import time

import http1
import pytest
from lab import lab
from lab.field import RTTS_MIXED, Field
from lab.lab import Origin, wait_for
from lab.squid import Squid
from squid_downloads import Downloads
from squid_proxy import SLACK, scheduled
from squid_world import field_lab, which

MEGABYTE = 1 << 20
TURN = 64 << 10         # where no rate is known
CONFIG = scheduled(1, gold="weight=4", silver="weight=1", tiny="weight=1 queue=1", hasty="weight=1 wait=1", narrow="weight=1 queue=1 wait=3") + \
    "http_upgrade_request_protocols OTHER allow all\n"


@pytest.fixture
def proxy(proxy_with):
    """One slot.  After each test nobody has one, and no seat is taken."""
    p = proxy_with(CONFIG)
    p.settled()
    yield p
    p.until(lambda s: s["queued"] == s["outstanding"] == s["descriptors"] == 0, "nothing is left")


def connect(proxy, cls=None):
    c = proxy.connect()
    c.send("CONNECT", proxy.origin.authority, host=proxy.origin.authority, headers={"X-Class": cls} if cls else {})
    return c


def tunnel(proxy, cls=None):
    c = connect(proxy, cls)
    assert c.head().status == 200
    return c


def counters(proxy, cls):
    return proxy.status()["by_class"][cls]


# ---- CONNECT

def test_connect_waits_while_the_window_is_full(proxy):
    before = proxy.settled()
    with proxy.taken() as taken, connect(proxy, "gold") as c:
        proxy.until_queued(1, "gold")
        taken.release()
        assert c.head().status == 200
        c.send("GET", "/size/5000")
        assert len(c.receive().body) == 5000
    assert proxy.settled()["by_class"]["gold"]["bytes"] >= before["by_class"]["gold"]["bytes"] + 5000


def test_what_a_client_sends_early_is_not_lost(proxy):
    """Its request follows CONNECT at once, while that waits."""
    with proxy.taken() as taken, connect(proxy, "gold") as c:
        proxy.until_queued(1, "gold")
        c.send("POST", "/echo", body=b"e" * 200_000)
        taken.release()
        assert c.head().status == 200
        assert c.receive("POST").body == b"200000"


def test_connect_is_refused_as_requests_are(proxy):
    """A full queue, and a wait that is over; each with a word on when to come back."""
    with proxy.taken():
        with connect(proxy, "tiny") as waits, connect(proxy, "tiny") as c:
            proxy.until_queued(1, "tiny")
            response = c.receive("CONNECT")
            assert response.status == 503 and int(response.headers["retry-after"]) >= 1
            waits.reset()
            proxy.until_queued(0)
        with connect(proxy, "hasty") as c:
            assert c.receive("CONNECT").status == 503


def test_a_tunnel_to_nowhere_leaves_nothing(proxy):
    before = proxy.settled()
    with proxy.connect() as c:
        assert c.ask("CONNECT", f"127.0.0.1:{lab.free_port()}", host="x").status == 503
    assert proxy.moved(before) == {"submitted": 1, "released": 1, "aborted": 1}


def test_the_log_tells_of_connect(proxy):
    """Its wait, and how long the tunnel was open from then on."""
    count = len([line for line in proxy.access() if "method=CONNECT" in line])
    with proxy.taken() as taken, connect(proxy, "gold") as c:
        proxy.until_queued(1, "gold")
        began = time.monotonic()
        http1.until(lambda: time.monotonic() - began >= 0.3, 5)
        taken.release()
        assert c.head().status == 200

    def found():
        lines = [line for line in proxy.access() if "method=CONNECT" in line]
        return lines[count:] or None
    line = dict(word.split("=", 1) for word in http1.until(found, what="a log line of CONNECT")[-1].split())
    assert line["class"] == "gold" and int(line["wait"]) >= 300 and int(line["slot"]) >= 0


# ---- turns

def test_a_download_in_a_tunnel_has_turns(proxy):
    """Each is counted as a request is, and all bytes are their class's, once."""
    before = proxy.settled()
    size = 3 * MEGABYTE
    with tunnel(proxy, "gold") as c:
        c.send("GET", f"/size/{size}")
        assert len(c.receive().body) == size
    after = proxy.settled()
    assert size <= after["by_class"]["gold"]["bytes"] - before["by_class"]["gold"]["bytes"] <= size + 2000
    # what lies in the kernel's buffer when a turn begins comes on top of it; a busy machine ends some early
    assert 1 < after["submitted"] - before["submitted"] <= 2 * size // TURN


def test_a_large_download_in_a_tunnel_leaves_turns_to_others(proxy):
    """There is one slot, and a request is served long before the download ends."""
    with tunnel(proxy, "gold") as c:
        c.send("GET", f"/size/{500 * MEGABYTE}")
        c.until(b"\r\n\r\n")
        done = threading.Event()

        def drain():
            while not done.is_set() and c.socket.recv(1 << 20):
                pass
        reading = threading.Thread(target=drain)
        reading.start()
        try:
            before = counters(proxy, "gold")["bytes"]
            for _ in range(3):
                began = time.monotonic()
                assert proxy.ask("/size/10", cls="silver").status == 200
                assert time.monotonic() - began < (1 + SLACK) * proxy.world.patience
            proxy.until(lambda s: s["by_class"]["gold"]["bytes"] > before, "the download goes on")
        finally:
            done.set()
            reading.join(30)
            c.reset()


def test_clients_share_a_class_in_tunnels(new_proxy):
    """Four tunnels of one client beside one of another, many turns each, have one part, as four requests have; also in a class that has `within` only since
    a moment ago.  The kernel keeps little, so that a turn is small.
    """
    config = scheduled(1, gold="weight=1") + "tcp_recv_bufsize 256 KB\n"
    with new_proxy(config) as p:
        def connect():
            return http1.Connection(p.port, source="127.0.0.2")
        with Downloads(p, 4, "gold", p.connect) as many, Downloads(p, 1, "gold", connect) as one:
            p.until(lambda _: one.bytes() > 4 * MEGABYTE, "each tunnel has had turns", 30)
            p.again(config.replace("weight=1", "weight=1 within=client"))
            before = many.bytes(), one.bytes()
            p.until(lambda _: one.bytes() - before[1] > 20 * MEGABYTE, "many turns more", 60)
            shares = many.bytes() - before[0], one.bytes() - before[1]
        assert 0.5 <= shares[0] / shares[1] <= 2, shares


def test_a_tunnel_that_waits_for_its_turn_brings_nothing(proxy):
    """What came before is with the client; then nothing is read until it is the tunnel's turn, for ticks, half seconds without a byte, and whatever else
    goes by the clock.  The end comes whole.
    """
    size = 20 * MEGABYTE
    with tunnel(proxy, "gold") as c:
        with proxy.taken(cls="silver") as taken:
            c.send("GET", f"/size/{size}")
            proxy.until_queued(1, "gold")
            brought, began = counters(proxy, "gold")["bytes"], time.monotonic()
            while time.monotonic() - began < 1.5:
                assert counters(proxy, "gold")["bytes"] == brought
            taken.release()
        assert len(c.receive().body) == size


def test_what_a_client_sends_through_a_tunnel_is_not_delayed(proxy):
    """An upload comes whole while the tunnel waits for its turn to bring something."""
    with socket.create_server(("127.0.0.1", 0)) as listening, proxy.connect() as c:
        listening.settimeout(20)
        c.send("CONNECT", f"127.0.0.1:{listening.getsockname()[1]}", host="far", headers={"X-Class": "gold"})
        far, _ = listening.accept()
        assert c.head().status == 200
        with far, proxy.taken(cls="silver") as taken:
            far.settimeout(20)
            down = threading.Thread(target=far.sendall, args=(b"d" * 5 * MEGABYTE,))
            down.start()
            proxy.until_queued(1, "gold")
            up = threading.Thread(target=c.send, args=(b"u" * 5 * MEGABYTE,))
            up.start()
            got = 0
            while got < 5 * MEGABYTE:
                more = len(far.recv(65536))
                assert more
                got += more
            up.join(30)
            assert counters(proxy, "gold")["queued"] == 1
            taken.release()
            assert c.exactly(5 * MEGABYTE) == b"d" * 5 * MEGABYTE
            down.join(30)


def test_a_tunnel_without_a_place_in_the_queue_waits_for_one(proxy):
    """The class may have one request waiting.  Three tunnels of it download; none is broken off."""
    with tunnel(proxy, "tiny") as a, tunnel(proxy, "tiny") as b, tunnel(proxy, "tiny") as c:
        for each in (a, b, c):
            each.send("GET", f"/size/{2 * MEGABYTE}")
        bodies = {}

        def take(name, each):
            bodies[name] = len(each.receive().body)
        takers = [threading.Thread(target=take, args=pair) for pair in (("a", a), ("b", b), ("c", c))]
        for t in takers:
            t.start()
        for t in takers:
            t.join(60)
        assert bodies == dict.fromkeys("abc", 2 * MEGABYTE)


def test_tunnels_stand_in_line_before_new_requests(new_proxy):
    """The class may have one request waiting, and there are always some that want that place: an open tunnel has its turns all the same, and so have they."""
    with new_proxy(scheduled(1, tiny="weight=1 queue=1") + "tcp_recv_bufsize 256 KB\n") as p, Downloads(p, 1, "tiny", p.connect) as tunnels:
        done, statuses = threading.Event(), []

        def ask():
            while not done.is_set():
                statuses.append(p.ask("/takes/20?size=10", cls="tiny").status)
        threads = [threading.Thread(target=ask) for _ in range(4)]
        for t in threads:
            t.start()
        try:
            http1.until(lambda: statuses.count(503) > 10, 20, "the queue is full")
            before = tunnels.bytes(), statuses.count(200)
            http1.until(lambda: tunnels.bytes() - before[0] > 5 * MEGABYTE, 20 * p.world.patience, "the tunnel has its turns")
            http1.until(lambda: statuses.count(200) > before[1], 20 * p.world.patience, "requests have theirs")
        finally:
            done.set()
            for t in threads:
                t.join(30)
        assert set(statuses) == {200, 503}


def test_who_stands_in_line_waits_no_longer(proxy):
    """Of two tunnels one has the only place in the queue: both are closed when they have waited for as long as their class may, not one after the other."""
    before = counters(proxy, "narrow")["refused_by"]["too-long"]
    with tunnel(proxy, "narrow") as a, tunnel(proxy, "narrow") as b, proxy.taken(cls="silver"):
        began = time.monotonic()
        for c in (a, b):
            c.send("GET", f"/size/{5 * MEGABYTE}")
        for c in (a, b):
            with pytest.raises((http1.Cut, OSError)):
                c.receive()
        assert time.monotonic() - began < (3 + SLACK) * proxy.world.patience
        assert counters(proxy, "narrow")["refused_by"]["too-long"] == before + 2


def test_a_tunnel_whose_wait_is_over_is_closed(proxy):
    before = counters(proxy, "hasty")["refused_by"]["too-long"]
    with tunnel(proxy, "hasty") as c, proxy.taken(cls="silver"):
        c.send("GET", f"/size/{50 * MEGABYTE}")
        with pytest.raises((http1.Cut, OSError)):
            c.receive()
        assert counters(proxy, "hasty")["refused_by"]["too-long"] == before + 1


# ---- rest

def test_idle_tunnels_hold_no_slot(proxy):
    """Of ten tunnels, all of which have carried something, none holds one: there is a single slot, and requests go at once."""
    tunnels = [tunnel(proxy, "gold") for _ in range(10)]
    try:
        for c in tunnels:
            c.send("GET", "/size/3000")
            assert len(c.receive().body) == 3000
        proxy.until(lambda s: s["outstanding"] == s["parked"] == s["queued"] == 0, "all rest")
        before = proxy.settled()
        assert before["by_class"]["gold"]["descriptors"] == 20
        for _ in range(5):
            assert proxy.ask("/size/10", cls="silver").status == 200
        assert proxy.moved(before) == {"submitted": 5, "released": 5, "done": 5}
    finally:
        for c in tunnels:
            c.close()


def test_signs_of_life_take_no_turn(proxy):
    """A little now and then is charged, and never waits, be it several kilobytes in the end: the slot is taken meanwhile."""
    with tunnel(proxy, "gold") as c:
        before = proxy.settled()["by_class"]["gold"]
        with proxy.taken(cls="silver"):
            for _ in range(20):
                began = time.monotonic()
                c.send("GET", "/size/100")
                assert len(c.receive().body) == 100
                http1.until(lambda t=began: time.monotonic() - t >= 0.25, 5, "a quarter of a second")
            after = counters(proxy, "gold")
            assert after["bytes"] > before["bytes"] + 2000 and after["submitted"] == before["submitted"]


def test_an_upgraded_connection_is_a_tunnel(proxy):
    """After 101 its slot is free; what comes is its class's, and waits for its turns."""
    with proxy.connect() as c:
        before = proxy.settled()["by_class"]["gold"]["bytes"]
        proxy.send("/upgrade", connection=c, cls="gold", headers={"Connection": "Upgrade", "Upgrade": "websocket"})
        assert c.head().status == 101
        proxy.until(lambda s: s["outstanding"] == s["parked"] == 0, "the slot of a request that was upgraded is free", 2)
        with proxy.taken(cls="silver") as taken:
            sending = threading.Thread(target=c.send, args=(b"u" * MEGABYTE,))
            sending.start()
            proxy.until_queued(1, "gold")
            taken.release()
            assert c.exactly(MEGABYTE) == b"u" * MEGABYTE
            sending.join(30)
        proxy.until(lambda s: s["by_class"]["gold"]["bytes"] >= before + MEGABYTE, "the bytes charged to the class")


def test_tunnels_through_a_parent(new_proxy):
    """Their bytes come through the parent's connection, and wait for their turns there."""
    with new_proxy("unique_hostname parent\n") as parent:       # else it sees a loop
        config = CONFIG + f"cache_peer 127.0.0.1 parent {parent.port} 0 no-query default\nnever_direct allow all\nnonhierarchical_direct off\n"
        with new_proxy(config) as p:
            with tunnel(p, "gold") as c:
                with p.taken(cls="silver") as taken:
                    c.send("GET", f"/size/{3 * MEGABYTE}")
                    p.until_queued(1, "gold")
                    taken.release()
                assert len(c.receive().body) == 3 * MEGABYTE
            assert p.settled()["by_class"]["gold"]["bytes"] >= 3 * MEGABYTE


OPENING = scheduled("bytes", gold="weight=4", silver="weight=1") + "fqrs_link rate=20Mbit\n"


def test_tunnels_that_open_take_little_room(proxy_with):
    """At 20 Mbit/s 1.5 MB may be expected, and a tunnel that opens counts 22 kB: thirty to a server that says nothing go at once.  At an eighth each it would be
    eight, and the next ones half a second later, when those rest.
    """
    proxy = proxy_with(OPENING)
    before = len([line for line in proxy.access() if "method=CONNECT" in line])
    with socket.create_server(("127.0.0.1", 0), backlog=64) as silent:
        authority = f"127.0.0.1:{silent.getsockname()[1]}"
        tunnels = [proxy.connect() for _ in range(30)]
        for c in tunnels:
            c.send("CONNECT", authority, host=authority, headers={"X-Class": "gold"})
        for c in tunnels:
            assert c.head().status == 200
        for c in tunnels:
            c.close()

        def found():
            lines = [line for line in proxy.access() if "method=CONNECT" in line][before:]
            return lines if len(lines) == 30 else None
        lines = http1.until(found, what="log lines of thirty CONNECTs")
    waits = [int(dict(word.split("=", 1) for word in line.split())["wait"]) for line in lines]
    assert sum(wait < 400 for wait in waits) >= 20, sorted(waits)


# ---- on a link

SHARING = """
fqrs on
fqrs_link rate=1900kbit
acl heavy src 10.1.1.0/24
acl light src 10.1.2.0/24
fqrs_class heavy weight=3
fqrs_class light weight=1
fqrs_access heavy allow heavy
fqrs_access light allow light
"""
CROWD = 6


class Link:
    def __init__(self, made):
        self.field = Field(made, rate="2mbit", rtts=RTTS_MIXED).start()
        self.origin = Origin(made, address="0.0.0.0").on(self.field.servers).start()
        self.squid = Squid(made, which(), SHARING)
        self.squid.on(self.field.gateway)

    def download(self, source, server):
        """An endless one through a tunnel; the process."""
        return subprocess.Popen([*self.field.clients.prefix, "curl", "-s", "-o", "/dev/null", "--interface", source, "--proxytunnel",
                                 "-x", "http://10.1.0.1:3128", f"http://10.3.0.{server}:{self.origin.port}/size/100000000"], stdin=subprocess.DEVNULL)

    def bytes(self):
        return {c["name"]: c["bytes"] for c in self.squid.json()["classes"] if c["name"] != "other"}

    def connections(self):
        """What the kernel tells of Squid's connections to servers."""
        return self.field.gateway.run("ss", "-tnHm", "state", "established", f"( dport = :{self.origin.port} )")

    def unread(self):
        """Bytes that have come through each of them and wait to be read."""
        return [int(line.split()[0]) for line in self.connections().splitlines() if not line[0].isspace()]

    def buffers(self):
        """Squid's receive buffers of these."""
        text = self.connections()
        return sorted(int(size) for size in re.findall(r"skmem:\(r\d+,rb(\d+)", text))


@pytest.fixture
def link(request):
    with field_lab(request, "tunnels") as made:
        yield Link(made)


@pytest.mark.alone
def test_tunnels_share_the_link_by_weight(link):
    """Six endless downloads a class, 3 : 1, for half a minute.  A turn of the light class is 26 KB of the 1.7 MB that it is due: a few of them at the ends
    are 5 points.  What none of them may read is not sent: no more than the buffer lies there, and that is small.
    """
    with link.squid.start():
        processes = [link.download(f"10.1.{c}.{n + 1}", n + 1) for c in (1, 2) for n in range(CROWD)]
        try:
            wait_for(lambda: min(link.bytes().values()) > CROWD * 30_000, 60, "all are beyond their first turns")
            before, began = link.bytes(), time.monotonic()
            wait_for(lambda: time.monotonic() - began >= 30, 60, "half a minute")
            after = link.bytes()
            buffers = link.buffers()
        finally:
            for p in processes:
                p.kill()
                p.wait()
        brought = {c: after[c] - before[c] for c in ("heavy", "light")}
        assert abs(100 * brought["heavy"] / sum(brought.values()) - 75) <= 5, brought
        assert sum(brought.values()) >= 0.9 * 30 * 1_900_000 / 8
        assert len(buffers) == 2 * CROWD and buffers[CROWD] <= 2 * 40_000, buffers     # the kernel counts double


@pytest.mark.alone
def test_little_lies_unread_from_the_first_turn_on(link):
    """A tunnel that waits for its second turn has been opened with a small window and has a small buffer: what it brings meanwhile is that, and not the 64 KB
    and more that a kernel would offer it.
    """
    with link.squid.start():
        processes = [link.download(f"10.1.{c}.{n + 1}", n + 1) for c in (1, 2) for n in range(CROWD)]
        most, began = 0, time.monotonic()
        try:
            while time.monotonic() - began < 15:
                most = max(most, *link.unread(), 0)
        finally:
            for p in processes:
                p.kill()
                p.wait()
        assert min(link.bytes().values()) > 0
        assert 0 < most <= 48_000


@pytest.mark.alone
def test_off_gives_tunnels_their_windows_back(link):
    """Tunnels with small buffers, in their turns or waiting for them: with fqrs off these are the kernel's again."""
    usual = int(link.field.gateway.run("cat", "/proc/sys/net/ipv4/tcp_rmem").split()[1])
    with link.squid.start():
        processes = [link.download(f"10.1.{c}.{n + 1}", n + 1) for c in (1, 2) for n in range(CROWD)]
        try:
            wait_for(lambda: len(sizes := link.buffers()) == 2 * CROWD and sizes[CROWD] <= 2 * 40_000, 60, "small buffers")
            link.squid.reconfigure(SHARING.replace("fqrs on", "fqrs off"))
            # each finds out when something comes, as all do now
            wait_for(lambda: len(sizes := link.buffers()) == 2 * CROWD and sizes[0] >= usual, 60, "buffers as the kernel likes them")
        finally:
            for p in processes:
                p.kill()
                p.wait()
