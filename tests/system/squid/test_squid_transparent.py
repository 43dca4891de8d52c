# SPDX-License-Identifier: BSD-2-Clause
"""etc/iptables/fairgate-transparent with a real Squid: clients that know of no proxy are scheduled in their class, by REDIRECT and TPROXY, over IPv4
and IPv6, and what is not for the proxy is left alone.
"""

import pathlib
import re
import socket
import ssl
import subprocess
import tempfile
import threading

import pytest
from lab.frames import FrameClient
from lab.lab import ROOT, wait_for
from lab.squid import Squid
from squid_world import certificate, which
from transparent import CONFIG, GATEWAY_IN, GATEWAY_OUT, HTTPS_WORDS, PORT, SERVER, SPARED, WEIGHTS, Client, Echo, client, connect, get

pytestmark = pytest.mark.usefixtures("stopped")


@pytest.mark.parametrize("version", (4, 6))
@pytest.mark.parametrize("mode", ("redirect", "tproxy"))
def test_a_request_is_scheduled_in_its_class(router, echo, mode, version):
    squid = router.squid(mode)
    router.start(mode=mode)
    for number, name in enumerate(WEIGHTS, 1):
        before = {c["name"]: c["done"] for c in squid.json()["classes"]}
        source, path = client(version, number), f"/{mode}-{version}-{number}"
        answer = get(router.field, source, SERVER[version], path)
        assert "squid" in answer["via"]
        assert answer["peer"] == (source if mode == "tproxy" else GATEWAY_OUT[version])
        assert echo.asked.count(path) == 1

        def done(name=name, before=before):
            after = {c["name"]: c["done"] for c in squid.json()["classes"]}
            return after[name] - before[name] == 1 and sum(after.values()) - sum(before.values()) == 1
        wait_for(done, 5, f"one response of {name}")
    assert re.search(rf"IPv{version}: [1-9]", router.script("status").stdout)


@pytest.mark.parametrize("version", (4, 6))
@pytest.mark.parametrize("mode", ("redirect", "tproxy"))
def test_what_is_left_alone(router, echo, mode, version):
    """The gateway's own pages, servers and clients that are excepted, other ports; and nobody speaks to Squid's port directly."""
    field = router.field
    router.squid(mode)
    router.start("--except", f"{SPARED[version]},{client(version, 3)}", mode=mode)
    with Echo(field.gateway):
        own = get(field, client(version, 1), GATEWAY_IN[version])
    assert own["via"] is None and own["name"] == field.gateway.namespace
    assert get(field, client(version, 1), SPARED[version])["via"] is None
    assert get(field, client(version, 3), SERVER[version])["via"] is None
    assert get(field, client(version, 1), SERVER[version])["via"]
    with pytest.raises(TimeoutError):
        connect(field.clients, client(version, 1), GATEWAY_IN[version], PORT, seconds=0.5)


OWN_ALONE = ("0.0.0.0", "127.0.0.1", "169.254.169.254", "::", "::ffff:127.0.0.1", "::ffff:169.254.169.254")
FRAMES = {4: "10.1.1.77", 6: "fd01::1:77"}


def own_service_seen_by(router, address):
    """What a client of the LAN gets from that address of port 80, while a service on the gateway listens everywhere; and what the service was asked for."""
    field, version = router.field, 6 if ":" in address else 4

    def request(target):
        # Squid would look up a name.
        return f"GET /secret HTTP/1.1\r\nHost: {f'[{target}]' if ':' in target else target}\r\nConnection: close\r\n\r\n".encode()
    with Echo(field.gateway) as service, FrameClient(field.clients, "lan0", field.gateway, "lan0", FRAMES[version]) as c:
        assert b"200" in c.fetch(SERVER[version], 80, request(SERVER[version])).split(b"\r\n")[0]
        return c.fetch(address, 80, request(address), seconds=3), service.asked


@pytest.mark.parametrize("address", OWN_ALONE)
@pytest.mark.parametrize("mode", ("redirect", "tproxy"))
def test_client_that_addresses_loopback_or_link_local_is_not_intercepted(router, echo, mode, address):
    """Squid would connect to a service of its own host, or to a cloud's metadata."""
    router.squid(mode)
    router.start(mode=mode)
    assert own_service_seen_by(router, address) == (None, [])


class Denying(Squid):
    """With the rules of the shipped example for what no client may reach through Squid."""

    def configure(self):
        super().configure()
        with open(f"{ROOT}/etc/squid-fqrs-example.conf", encoding="ascii") as f:
            rules = "".join(line for line in f if re.match("(acl|http_access deny) to_", line)).replace("192.0.2.1 2001:db8:1::1", " ".join(GATEWAY_IN.values()))
        assert rules.count("http_access deny") == 3
        with open(self.path("squid.conf"), encoding="ascii") as f:
            text = f.read()
        assert "http_access allow all\n" in text
        self.write("squid.conf", text.replace("http_access allow all\n", f"{rules}http_access allow all\n"))


def test_squid_with_the_examples_rules_denies_its_own_hosts_addresses(router, echo):
    """Redirected by rules that are not ours, or asked by a client that knows of the proxy."""
    field, rule = router.field, ("PREROUTING", "-i", "lan0", "-p", "tcp", "--dport", "80", "-j", "REDIRECT", "--to-ports", str(PORT))
    router.forget_squids()
    with Denying(router.lab, which(), f"http_port {PORT} intercept\n{CONFIG}", name="squid-denying").on(field.gateway):
        for tool in ("iptables", "ip6tables"):
            field.gateway.run(tool, "-t", "nat", "-I", *rule)
        try:
            for address in OWN_ALONE:
                answer, asked = own_service_seen_by(router, address)
                assert not asked and (answer is None or b" 403 " in answer.split(b"\r\n")[0]), (address, answer)
            with Echo(field.gateway) as service:
                for name in (GATEWAY_IN[4], f"[{GATEWAY_IN[6]}]", "127.0.0.1", "[::1]", "0.0.0.0", "[::ffff:127.0.0.1]"):
                    with connect(field.clients, client(4, 1), GATEWAY_IN[4], 3128) as s:
                        s.sendall(f"GET http://{name}/secret HTTP/1.1\r\nHost: {name}\r\nConnection: close\r\n\r\n".encode())
                        assert b" 403 " in s.makefile("rb").readline(), name
                assert not service.asked
        finally:
            for tool in ("iptables", "ip6tables"):
                field.gateway.run(tool, "-t", "nat", "-D", *rule)


@pytest.mark.parametrize("version", (4, 6))
@pytest.mark.parametrize("mode", ("redirect", "tproxy"))
def test_a_masqueraded_client_may_have_squids_port(router, echo, mode, version):
    """Answers to it come to the gateway's address and Squid's port; all the same nobody opens a connection to that."""
    field = router.field
    router.squid(mode)
    # A server of its own for each: what one left in conntrack would have the next's port changed.
    server = SERVER[version][:-1] + {"redirect": "3", "tproxy": "4"}[mode]
    masquerade = ["iptables" if version == 4 else "ip6tables", "-t", "nat", "-A", "POSTROUTING", "-o", "down0", "-j", "MASQUERADE"]
    field.gateway.run(*masquerade)
    try:
        router.start("--except", server, mode=mode)
        answer = get(field, client(version, 1), server, source_port=PORT)
        assert (answer["via"], answer["peer"], answer["port"]) == (None, GATEWAY_OUT[version], PORT)
        for target in GATEWAY_IN[version], GATEWAY_OUT[version]:
            with pytest.raises(TimeoutError):
                connect(field.clients, client(version, 1), target, PORT, seconds=0.5)
        assert get(field, client(version, 1), SERVER[version])["via"]
    finally:
        masquerade[masquerade.index("-A")] = "-D"
        field.gateway.run(*masquerade)


@pytest.fixture
def inner(router):
    """A second device of the LAN, lan1, and behind it a router inside with networks and hosts of its own."""
    field = router.field
    host = field.host("inner", "10.50.0.2")
    host.add()
    field.wire(field.gateway, "lan1", host, "lan1")
    field.gateway.device("lan1", "10.50.0.1/24", "fd50::1/64")
    host.device("lan1", "10.50.0.2/24", "10.50.0.3/24", "fd50::2/64", "fd50::3/64")
    host.device("lo", *(a for n in (51, 52, 53) for a in (f"10.{n}.0.1/32", f"fd{n}::1/128")))
    host.ip("route add default via 10.50.0.1\nroute add default via fd50::1\n")
    field.gateway.ip("route add 10.51.0.0/24 via 10.50.0.2\nroute add 10.52.0.1 via 10.50.0.2\n"
                     "route add 10.53.0.0/24 nexthop via 10.50.0.2 nexthop via 10.50.0.3\n"
                     "route add fd51::/64 via fd50::2\nroute add fd52::1 via fd50::2\n"
                     "route add fd53::/64 nexthop via fd50::2 nexthop via fd50::3\n")
    yield host
    field.gateway.ip("link del lan1\n")
    field.hosts.remove(host)
    host.remove()


@pytest.mark.parametrize("version", (4, 6))
@pytest.mark.parametrize("mode", ("redirect", "tproxy"))
def test_networks_behind_a_router_inside_are_left_alone(router, echo, inner, mode, version):
    """Those with a static route through a device of the LAN, a host's and one of several ways too; a default route is no such network."""
    field = router.field
    router.squid(mode)
    if mode == "redirect":
        field.gateway.ip("route add default via 10.50.0.2 metric 9999\nroute add default via fd50::2 metric 9999\n"
                         "route add 0.0.0.0/1 via 10.50.0.2 metric 9999\nroute add 0.0.0.0/1 via 10.2.0.1\n"
                         "route add 2000::/3 via fd50::2 metric 9999\n")
    try:
        router.script("--lan", "lan0,lan1", "--mode", mode, "start")
        with Echo(inner):
            for n in (51, 52, 53):
                answer = get(field, client(version, 1), f"10.{n}.0.1" if version == 4 else f"fd{n}::1")
                assert answer["via"] is None and answer["name"] == inner.namespace, n
        assert get(field, client(version, 1), SERVER[version])["via"]
        rules = field.gateway.run("iptables-save" if version == 4 else "ip6tables-save")
        assert not re.search(r"-d (0\.0\.0\.0/[01] |2000::/)", rules)
    finally:
        if mode == "redirect":
            field.gateway.ip("route del 0.0.0.0/1 via 10.2.0.1\n")


def test_reverse_path_filters_do_no_harm(router, echo):
    """Advice to turn rp_filter off for TPROXY is old: loose and strict filters let everything through, unless they look at the mark too."""
    router.squid("tproxy")
    router.start(mode="tproxy")
    sysctl = router.field.gateway.run
    names = [f"net.ipv4.conf.{d}.rp_filter" for d in ("all", "lan0", "down0", "lo")]
    before = [sysctl("sysctl", "-n", n).strip() for n in names]
    try:
        for filtering in (0, 1, 2):
            sysctl("sysctl", "-qw", *(f"{n}={filtering}" for n in names))
            assert get(router.field, client(4, 1), SERVER[4])["via"], filtering
    finally:
        sysctl("sysctl", "-qw", *(f"{n}={v}" for n, v in zip(names, before)))
    router.stop()
    sysctl("sysctl", "-qw", "net.ipv4.conf.all.src_valid_mark=1")
    try:
        r = router.script("--lan", "lan0", "--mode", "tproxy", "start", check=False)
        assert r.returncode == 1 and "set it to 0" in r.stderr
    finally:
        sysctl("sysctl", "-qw", "net.ipv4.conf.all.src_valid_mark=0")


@pytest.mark.parametrize("mode", ("redirect", "tproxy"))
def test_a_connection_lives_through_another_start(router, echo, mode):
    router.squid(mode)
    router.start(mode=mode)
    with Client(router.field, client(4, 1), SERVER[4]) as c:
        for ports in ("80", "80,8080", "80"):
            assert c.get()["via"]
            router.start("--ports", ports, mode=mode)
        assert c.get()["via"]


# ---- port 443

class Closed:
    """Port 443 of the servers: TLS with this certificate, and datagrams; sends back what comes.  A context manager."""

    def __init__(self, host, files):
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(*files)
        self.listening = host.inside(lambda: socket.create_server(("::", 443), family=socket.AF_INET6, dualstack_ipv6=True))
        self.datagrams = host.inside(lambda: socket.socket(socket.AF_INET6, socket.SOCK_DGRAM))
        self.datagrams.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_RECVPKTINFO, 1)
        self.datagrams.bind(("::", 443))
        for work in (self.accept, self.answer):
            threading.Thread(target=work, daemon=True).start()

    def accept(self):
        while True:
            try:
                s, _ = self.listening.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(s,), daemon=True).start()

    def serve(self, s):
        try:
            with self.context.wrap_socket(s, server_side=True) as t:
                while data := t.recv(65536):
                    t.sendall(data)
        except OSError:
            pass

    def answer(self):
        while True:
            try:
                data, asked, _, peer = self.datagrams.recvmsg(2000, 100)
            except OSError:
                return
            if data == b"end":
                return
            self.datagrams.sendmsg([data], [(level, kind, value[:16] + bytes(4)) for level, kind, value in asked], 0, peer)      # from where it was asked

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listening.shutdown(socket.SHUT_RDWR)
        self.listening.close()
        self.datagrams.sendto(b"end", ("::1", 443))
        self.datagrams.close()


@pytest.fixture(scope="module")
def certificates():
    """The servers', and the one that Squid's port must have though it shows it to nobody; Squid's user may read them."""
    with tempfile.TemporaryDirectory(prefix="fairgate-https-") as name:
        directory = pathlib.Path(name)
        directory.chmod(0o755)
        made = {who: certificate(directory, who, who) for who in ("server", "own")}
        for _, key in made.values():
            subprocess.run(["chmod", "644", key], check=True)
        yield made


@pytest.fixture(scope="module")
def closed(router, certificates):
    with Closed(router.field.servers, certificates["server"]) as c:
        yield c


@pytest.mark.usefixtures("closed")
@pytest.mark.parametrize("version", (4, 6))
@pytest.mark.parametrize("mode", ("redirect", "tproxy"))
def test_https_is_scheduled_and_stays_closed(router, certificates, mode, version):
    """The client sees the server's own certificate; what comes is its class's."""
    squid = router.squid(mode, "tls-cert={} tls-key={}".format(*certificates["own"]))
    router.start(*HTTPS_WORDS, mode=mode)

    def brought():
        return next(c["bytes"] for c in squid.json()["classes"] if c["name"] == "class1")
    before = brought()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with connect(router.field.clients, client(version, 1), SERVER[version], 443, seconds=20) as s, context.wrap_socket(s) as t:
        with open(certificates["server"][0], encoding="ascii") as f:
            assert t.getpeercert(binary_form=True) == ssl.PEM_cert_to_DER_cert(f.read())
        t.sendall(b"s" * 100_000)
        got = 0
        while got < 100_000:
            more = len(t.recv(65536))
            assert more
            got += more
    wait_for(lambda: brought() - before >= 100_000, 5, "its bytes")
    assert re.search(rf"IPv{version}: [1-9]\d* connections to port 443 taken", router.script("status").stdout)


@pytest.mark.usefixtures("closed")
@pytest.mark.parametrize("version", (4, 6))
def test_quic_is_refused_if_asked(router, version):
    """At once, so that a browser need not wait; for who is left alone it passes."""
    def ask(target):
        with router.field.clients.inside(lambda: socket.socket(socket.AF_INET if version == 4 else socket.AF_INET6, socket.SOCK_DGRAM)) as s:
            s.settimeout(5)
            s.bind((client(version, 1), 0))
            s.connect((target, 443))
            s.send(b"hello")
            return s.recv(100)
    router.start()
    assert ask(SERVER[version]) == b"hello"
    router.start("--except", SPARED[version], *HTTPS_WORDS)
    with pytest.raises(ConnectionRefusedError):
        ask(SERVER[version])
    assert ask(SPARED[version]) == b"hello"
