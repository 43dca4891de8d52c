# SPDX-License-Identifier: BSD-2-Clause
"""fqrs_link interface=: what a real interface receives and no response explains counts as nobody's; the interface may go and come back."""

import os
import socket

import pytest
from lab.field import RTTS_NONE, Field
from lab.lab import Lab, Origin, wait_for
from lab.squid import Squid
from squid_world import which

NEAR, FAR = "10.9.0.2", "10.9.0.1"
DATAGRAM = 1000
ON_THE_WIRE = DATAGRAM + 8 + 20 + 14        # UDP, IP, Ethernet


class Router:
    def __init__(self, lab):
        self.field = Field(lab, rate="100mbit", rtts=RTTS_NONE).start()
        self.origin = Origin(lab, address="0.0.0.0").on(self.field.servers).start()
        self.squid = Squid(lab, which(), "fqrs on\nfqrs_link rate=100Mbit interface=wan0\nacl here dst 10.1.0.0/16\nfqrs_access none allow here\n")
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
    if os.geteuid():
        pytest.skip("network namespaces need root")
    which()
    lab = Lab("link")
    try:
        yield Router(lab)
    finally:
        lab.close(keep=request.session.testsfailed > 0)


class Outstanding:
    """One response stays outstanding: the link is looked at while there is something to share.  A context manager."""

    def __init__(self, router):
        self.router = router

    def __enter__(self):
        self.router.gate("shut")
        self.socket = self.router.field.clients.inside(lambda: socket.create_connection(("10.1.0.1", 3128), 10))
        self.socket.sendall(f"GET {self.router.origin.url}/size/1000000?trickle=2000 HTTP/1.1\r\nHost: {self.router.origin.address}\r\n\r\n".encode())
        self.socket.recv(1)
        return self

    def __exit__(self, *_):
        self.socket.close()
        self.router.gate("open")


def test_foreign_bytes_are_counted(router):
    router.plug()
    with router.squid.start(), Outstanding(router):
        before = router.foreign()
        sent = router.send(500)
        wait_for(lambda: router.foreign() - before >= 0.9 * sent, 10, "the foreign bytes in the report")
        # Neighbours and the kernel say a little by themselves.
        assert router.foreign() - before <= 1.1 * sent


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
    with router.squid.start(), Outstanding(router):
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
