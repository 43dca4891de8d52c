# SPDX-License-Identifier: BSD-2-Clause
"""On real interfaces: what comes through fqrs_link's interface and no response explains counts as nobody's, also when the interface goes and comes
back; the receive windows of responses are fitted to their part of the link, from the handshake on, and left as they were found.
"""

import re
import socket

import pytest
from lab.field import RTTS_NONE, Field
from lab.lab import Origin, wait_for
from lab.squid import Squid
from squid_world import field_lab, which

NEAR, FAR = "10.9.0.2", "10.9.0.1"
DATAGRAM = 1000
ON_THE_WIRE = DATAGRAM + 8 + 20 + 14        # UDP, IP, Ethernet

COUNTING = "fqrs on\nfqrs_link rate=100Mbit interface=wan0\nacl here dst 10.1.0.0/16\nfqrs_access none allow here\n"

# 75 ms of the link are 18,750 bytes, and the servers' round trips are next to nothing; a window that nobody fits begins at 64 KB.
FITTING = """
fqrs on
fqrs_link rate=2Mbit
acl heavy src 10.1.1.0/24
acl light src 10.1.2.0/24
acl free src 10.1.3.0/24
fqrs_class heavy weight=3
fqrs_class light weight=1
fqrs_access none allow free
fqrs_access heavy allow heavy
fqrs_access light allow light
"""
BOUND = 18_750
USUAL = 60_000
SEGMENTS = 3 * 1460
# With so short a horizon windows are what is allowed, and a small response needs nearly all of it.
SHORTEST = """
fqrs on
fqrs_link rate=2Mbit
fqrs_window bytes horizon=75
fqrs_class all weight=1 order=shortest
fqrs_access all allow all
"""


class Router:
    def __init__(self, lab):
        self.lab = lab
        self.field = Field(lab, rate="100mbit", rtts=RTTS_NONE).start()
        self.origin = Origin(lab, address="0.0.0.0").on(self.field.servers).start()
        self.squid = Squid(lab, which(), COUNTING)
        self.squid.on(self.field.gateway)

    def plug(self):
        self.field.gateway.ip(f"link add wan0 type veth peer name wan1 netns {self.field.isp.namespace}\naddr add {NEAR}/24 dev wan0\nlink set wan0 up\n")
        self.field.isp.ip(f"addr add {FAR}/24 dev wan1\nlink set wan1 up\n")
        self.field.isp.ip(f"neigh replace {NEAR} lladdr {self.lladdr()} dev wan1\n")

    def unplug(self):
        self.field.gateway.ip("link del wan0\n")

    def lladdr(self):
        return self.field.gateway.run("cat", "/sys/class/net/wan0/address").strip()

    def foreign(self):
        return self.squid.json()["foreign_bytes"]

    def send(self, datagrams):
        """To the interface, of nobody's class; as many bytes of the wire."""
        with self.field.isp.inside(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as s:
            for _ in range(datagrams):
                s.sendto(bytes(DATAGRAM), (NEAR, 9))
        return datagrams * ON_THE_WIRE

    def get(self, path):
        return self.field.clients.run("curl", "-sf", "--max-time", "60", "-o", "/dev/null", "-w", "%{size_download}", "-x", "http://10.1.0.1:3128", self.origin.url + path)

    def gate(self, word):
        self.field.gateway.run("curl", "-sf", "--max-time", "10", "-o", "/dev/null", f"{self.origin.url}/{word}")


@pytest.fixture
def router(request):
    with field_lab(request, "link") as lab:
        yield Router(lab)


class Slow:
    """A response of which so many bytes come every 100 ms, until the gate is open; it ends with the block."""

    def __init__(self, router, source="10.1.0.2", each=2_000, size=4_000_000, port=3128):
        self.router, self.source, self.each, self.size, self.port = router, source, each, size, port

    def __enter__(self):
        self.router.gate("shut")
        self.socket = self.router.field.clients.inside(lambda: socket.create_connection(("10.1.0.1", self.port), 10, (self.source, 0)))
        self.socket.sendall(f"GET {self.router.origin.url}/size/{self.size}?trickle={self.each} HTTP/1.1\r\nHost: 10.3.0.250\r\n\r\n".encode())
        self.socket.recv(1)
        return self

    def rest(self):
        """All that is still to come, with the gate open."""
        self.router.gate("open")
        got = 0
        while got < self.size:
            more = len(self.socket.recv(65536))
            assert more
            got += more

    def __exit__(self, *_):
        self.socket.close()
        self.router.gate("open")


def test_foreign_bytes_are_counted(router):
    router.plug()
    with router.squid.start(), Slow(router):
        before = router.foreign()
        sent = router.send(500)
        wait_for(lambda: router.foreign() - before >= 0.9 * sent, 10, "the foreign bytes in the report")
        # Neighbours and the kernel say a little by themselves.
        assert router.foreign() - before <= 1.1 * sent


def test_what_came_while_nobody_asked_is_of_no_interest(router):
    """20 MB arrive while nothing is outstanding; the response that comes then is not taken for one of a link that is full."""
    router.plug()
    with router.squid.start():
        assert router.get("/size/10") == "10"
        router.send(20_000)
        before = router.foreign()
        with Slow(router):
            for _ in range(5):
                assert router.get("/size/10") == "10"
        assert router.foreign() - before < 10_000


def test_hardly_a_byte_of_a_response_is_foreign(router):
    """The downlink's own interface: 20 MB of responses, of which hardly anything is foreign."""
    router.squid.config = router.squid.config.replace("interface=wan0", "interface=down0")
    with router.squid.start():
        for _ in range(4):
            assert router.get("/size/5000000") == "5000000"
        status = router.squid.json()
        assert status["bytes"] > 20_000_000
        assert status["foreign_bytes"] < 0.02 * status["bytes"]


def test_an_interface_that_goes_and_comes_back(router):
    """As a dialled link does: said once each time, and counted again when another interface has the name."""
    with router.squid.start(), Slow(router):
        log = router.squid.log
        assert log().count("cannot count the interface wan0") == 1
        for times in (1, 2):
            router.plug()
            wait_for(lambda n=times: log().count("the interface wan0 is there") == n, 10, "the interface noticed")
            before = router.foreign()
            sent = router.send(300)
            wait_for(lambda b=before, s=sent: router.foreign() - b >= 0.9 * s, 10, "the foreign bytes in the report")
            router.unplug()
            wait_for(lambda n=times: log().count("the interface wan0 is gone") == n, 10, "its end noticed")
            assert router.foreign() >= before + 0.9 * sent     # a counter never falls
        assert router.get("/size/10") == "10"


def test_workers_that_know_of_different_interfaces(router):
    """As they do while squid.conf is read again by one after the other: one of the two interfaces is counted, and what the other received is not taken
    for what came.
    """
    router.plug()
    router.send(20_000)
    config = ("fqrs on\nif ${process_number} = 1\nhttp_port 3131\nendif\n"
              "if ${process_number} = 2\nhttp_port 3132\nfqrs_link auto interface=down0\nelse\nfqrs_link auto interface=wan0\nendif\n")
    squid = Squid(router.lab, which(), config, name="two", workers=2).on(router.field.gateway)
    with squid.start(), Slow(router, port=3131), Slow(router, port=3132):
        before = squid.json()["bytes"]
        wait_for(lambda: squid.json()["bytes"] - before > 100_000, 30, "some seconds of both responses")
        status = squid.json()
        assert status["rate"] < 2_000_000 and status["foreign_bytes"] < 1_000_000, status


# ---- receive windows


def windows(router):
    """What Squid lets the origin send, by Squid's port of each connection."""
    text = router.field.servers.run("ss", "-tnHi", "state", "established", f"( sport = :{router.origin.port} )")
    return {int(port): int(window) for port, window in re.findall(r"10\.2\.0\.2\]?:(\d+)\s.*?snd_wnd:(\d+)", text, re.S)}


def test_one_response_has_the_bound(router):
    router.squid.config = FITTING
    with router.squid.start(), Slow(router, "10.1.1.1", each=20_000):
        wait_for(lambda: (w := windows(router)) and all(0.6 * BOUND <= x <= 1.3 * BOUND for x in w.values()), 10, "a window of the whole bound")


def test_the_handshake_offers_little(router):
    """Before the first byte: 150 ms of the link for those that are outstanding.  What is not scheduled begins with little, too, and then grows."""
    def offered():
        with Slow(router, "10.1.1.1", each=100):
            return max(windows(router).values())
    router.squid.config = FITTING
    with router.squid.start():
        assert offered() <= 1.2 * 2 * BOUND
        with Slow(router, "10.1.3.1", each=20_000):
            wait_for(lambda: max(windows(router).values()) >= USUAL, 10, "a window as the kernel likes it")
    for config in (FITTING + "fqrs_window 8\n", FITTING.replace("fqrs on", "fqrs off"), FITTING + "tcp_recv_bufsize 128 KB\n"):
        router.squid.config = config
        with router.squid.start():
            assert offered() >= 0.9 * USUAL


def test_two_classes_share_by_weight(router):
    def shared():
        w = sorted(windows(router).values())
        return len(w) == 2 and 0.15 * BOUND <= w[0] <= 0.35 * BOUND and 0.5 * BOUND <= w[1] <= 1.0 * BOUND
    router.squid.config = FITTING
    with router.squid.start(), Slow(router, "10.1.1.1", each=20_000), Slow(router, "10.1.2.1", each=20_000):
        wait_for(shared, 10, "windows of 3 : 1")


def test_a_large_one_shrinks_while_a_small_one_comes(router):
    """In a class that goes shortest first: a download alone has seven eighths of the bound, and three segments beside a smaller one."""
    router.squid.config = SHORTEST
    with router.squid.start(), Slow(router, each=20_000):
        wait_for(lambda: 0.4 * BOUND <= max(windows(router).values(), default=0) <= 1.0 * BOUND, 10, "seven eighths of the bound for a download")
        port, = windows(router)
        with Slow(router, size=70_000):
            wait_for(lambda: windows(router).get(port, BOUND) <= 1.5 * SEGMENTS, 10, "three segments for the download")


def test_a_connection_is_left_as_it_was(router):
    """After its end the next response on the same connection, which is not scheduled, has as large a window as TCP gives."""
    router.squid.config = FITTING
    with router.squid.start():
        with Slow(router, "10.1.1.1", each=20_000) as slow:
            wait_for(lambda: (w := windows(router)) and all(x <= 1.3 * BOUND for x in w.values()), 10, "a small window")
            port, = windows(router)
            slow.rest()
        wait_for(lambda: router.squid.json()["outstanding"] == 0, 10, "the end of it")
        with Slow(router, "10.1.3.1", each=20_000):
            wait_for(lambda: windows(router).get(port, 0) >= 3 * BOUND, 10, "a large window on the same connection")
            assert list(windows(router)) == [port]
