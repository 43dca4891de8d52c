# SPDX-License-Identifier: BSD-2-Clause
"""TLS on either side of Squid, and inside tunnels that it opens: requests are classified, wait, are charged and end as without it."""

import pathlib
import ssl
import subprocess
import tempfile

import http1
import pytest
from lab import lab
from squid_origin import Origin
from squid_proxy import fresh, scheduled
from squid_world import certificate

CLASSES = scheduled(1, gold="weight=4", silver="weight=1")


@pytest.fixture(scope="module")
def open_folder():
    """What stands there Squid's user may read.  Not tmp_path: each run of pytest that begins closes the folder in which those of all runs lie."""
    with tempfile.TemporaryDirectory(prefix="fairgate-tls-") as name:
        directory = pathlib.Path(name)
        directory.chmod(0o755)
        yield directory


@pytest.fixture(scope="module")
def certificates(open_folder):
    """{name: (certificate, key)}: the origin's, Squid's own, and that of the authority with which it opens tunnels."""
    made = {name: certificate(open_folder, name, "127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1") for name in ("origin", "proxy")}
    made["authority"] = certificate(open_folder, "authority", "authority", "-addext", "keyUsage=critical,keyCertSign,cRLSign")
    for _, key in made.values():
        subprocess.run(["chmod", "644", key], check=True)
    return made


@pytest.fixture(scope="module")
def secure_origin(certificates):
    """An origin that speaks TLS."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificates["origin"])
    with Origin() as origin:
        # the handshake is its connection's own thread's
        origin.socket = context.wrap_socket(origin.socket, server_side=True, do_handshake_on_connect=False)
        yield origin


def trusting(*files, oldest=None, **options):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    for certificate_file, _ in files:
        context.load_verify_locations(certificate_file)
    for name, value in options.items():
        setattr(context, name, value)
    return context


def secured(c, context):
    """The connection, which speaks TLS from now on."""
    c.socket = context.wrap_socket(c.socket, server_hostname="127.0.0.1")
    c.buffer.clear()
    return c


@pytest.fixture
def proxy(new_proxy, certificates):
    """Squid with a port that speaks TLS, and one where it opens all tunnels but those to ports below."""
    cert, key = certificates["proxy"]
    authority, authority_key = certificates["authority"]
    tls_port, bump_port = lab.free_port(), lab.free_port()
    config = CLASSES + f"""
https_port 127.0.0.1:{tls_port} tls-cert={cert} tls-key={key}
http_port 127.0.0.1:{bump_port} ssl-bump generate-host-certificates=on tls-cert={authority} tls-key={authority_key}
tls_outgoing_options cafile={certificates['origin'][0]}
acl spliced req_header X-Splice .
acl step1 at_step SslBump1
acl plain localport {bump_port}
ssl_bump splice spliced
ssl_bump peek step1 plain
ssl_bump bump plain
"""
    with new_proxy(config) as p:
        p.tls_port, p.bump_port = tls_port, bump_port
        yield p
        assert p.settled()["descriptors"] == 0


def proxied(p, certificates, **options):
    """A connection to the port that speaks TLS."""
    return secured(http1.Connection(p.tls_port), trusting(certificates["proxy"], **options))


def opened(p, origin, certificates, cls="gold", headers=None, authority="authority"):
    """A connection through a tunnel that Squid opens, or leaves as it is."""
    c = http1.Connection(p.bump_port)
    c.send("CONNECT", origin.authority, host=origin.authority, headers={"X-Class": cls, **(headers or {})})
    assert c.head().status == 200
    return secured(c, trusting(certificates[authority]))


def ask(c, origin, path, cls="gold", absolute=False):
    c.send("GET", origin.url(path) if absolute else path, host=origin.authority, headers={"X-Class": cls})
    return c


def test_requests_through_a_port_that_speaks_tls_wait_and_are_charged(proxy, certificates):
    before = proxy.settled()
    with proxied(proxy, certificates) as c:
        with proxy.taken(cls="silver"):
            ask(c, proxy.origin, "/size/50000", absolute=True)
            proxy.until_queued(1, "gold")
        assert len(c.receive().body) == 50000
    after = proxy.settled()
    assert after["by_class"]["gold"]["bytes"] - before["by_class"]["gold"]["bytes"] > 50000
    assert after["by_class"]["gold"]["done"] == 1


def test_who_leaves_such_a_port_while_he_waits_leaves_nothing(proxy, certificates):
    with proxy.taken():
        c = ask(proxied(proxy, certificates), proxy.origin, "/size/10", absolute=True)
        proxy.until_queued(1)
        c.reset()
        proxy.until_queued(0)
    assert proxy.settled()["cancelled"] == 1


def test_an_origin_that_speaks_tls(proxy, secure_origin):
    """Squid itself speaks TLS for a client that does not; the answer, larger than a window, comes whole, and its bytes are charged."""
    with proxy.connect() as c:
        c.deadline = 60
        ask(c, secure_origin, "/size/3000000", absolute=True)
        first = c.socket.recv(10)
        assert first.startswith(b"HTTP/1.1 5") or first.startswith(b"HTTP/1.1 2")
    with proxy.connect() as c:
        c.send("GET", f"https://{secure_origin.authority}/size/3000000", host=secure_origin.authority, headers={"X-Class": "silver"})
        assert len(c.receive().body) == 3000000
    assert proxy.settled()["by_class"]["silver"]["bytes"] >= 3000000


def test_requests_in_an_opened_tunnel_are_of_their_own_class_and_wait(proxy, secure_origin, certificates):
    """The tunnel was of class silver; what is asked in it is looked at request by request."""
    with opened(proxy, secure_origin, certificates, cls="silver") as c:
        for _ in range(2):
            with proxy.taken(cls="silver"):
                ask(c, secure_origin, "/size/50000")
                proxy.until_queued(1, "gold")
            assert len(c.receive().body) == 50000
    after = proxy.settled()
    assert after["by_class"]["gold"]["done"] == 2 and after["by_class"]["gold"]["bytes"] > 100000


def test_who_leaves_an_opened_tunnel_while_he_waits_leaves_nothing(proxy, secure_origin, certificates):
    with proxy.taken():
        c = ask(opened(proxy, secure_origin, certificates), secure_origin, "/size/10")
        proxy.until_queued(1)
        c.reset()
        proxy.until_queued(0)
    assert proxy.settled()["by_class"]["gold"]["cancelled"] == 1


def test_a_tunnel_that_is_looked_into_and_left_closed_is_charged_to_its_class(proxy, secure_origin, certificates):
    """Spliced: it holds seats while it is open, what it carries is its class's, and it waits for its turns."""
    before = proxy.settled()
    with opened(proxy, secure_origin, certificates, cls="silver", headers={"X-Splice": "1"}, authority="origin") as c:
        assert len(ask(c, secure_origin, "/size/50000").receive().body) == 50000
        s = proxy.until(lambda s: s["by_class"]["silver"]["bytes"] - before["by_class"]["silver"]["bytes"] > 50000, "its bytes")
        assert s["by_class"]["silver"]["descriptors"] == 2
        with proxy.taken(cls="gold") as taken:
            ask(c, secure_origin, "/size/3000000")
            proxy.until_queued(1, "silver")
            taken.release()
        assert len(c.receive().body) == 3000000


def test_a_handshake_that_fails_leaves_nothing(proxy, secure_origin, certificates):
    """With Squid, or in an opened tunnel: bytes that are no TLS, and a client that trusts nobody."""
    for port in (proxy.tls_port, proxy.bump_port):
        with http1.Connection(port) as c:
            if port == proxy.bump_port:
                c.send("CONNECT", secure_origin.authority, host=secure_origin.authority, headers={"X-Class": "gold"})
                assert c.head().status == 200
            c.socket.sendall(b"\x16\x03\x01\x00\x05hello GET / HTTP/1.1\r\n\r\n")
            with pytest.raises((http1.Cut, OSError)):
                while c.more():
                    pass
                raise http1.Cut("closed")
        with http1.Connection(port) as c:
            if port == proxy.bump_port:
                c.send("CONNECT", secure_origin.authority, host=secure_origin.authority, headers={"X-Class": "gold"})
                assert c.head().status == 200
            with pytest.raises((ssl.SSLError, OSError)):
                secured(c, ssl.create_default_context())
    assert proxy.ask("/size/10", cls="gold").status == 200


def test_a_class_by_the_id_of_the_tls_session(proxy, certificates, open_folder):
    """A policy's ssl_id.  The connection stays while Squid takes the policy that knows its session."""
    mark = fresh("session")
    with proxied(proxy, certificates, maximum_version=ssl.TLSVersion.TLSv1_2, options=ssl.OP_NO_TICKET | ssl.OP_NO_SSLv3) as c:
        assert ask(c, proxy.origin, f"/size/10?{mark}-one", cls="", absolute=True).receive().status == 200
        name = c.socket.session.id.hex().upper()
        assert len(name) >= 8
        policy = open_folder / "policy.xml"
        policy.write_text(f'<classification><class id="1" name="session" quantum="10"><ssl_id>{name}</ssl_id></class></classification>')
        policy.chmod(0o644)
        proxy.reconfigure(proxy.config + f"fqrs_policy {policy}\n")
        assert ask(c, proxy.origin, f"/size/10?{mark}-two", cls="", absolute=True).receive().status == 200
    with proxied(proxy, certificates, maximum_version=ssl.TLSVersion.TLSv1_2, options=ssl.OP_NO_TICKET | ssl.OP_NO_SSLv3) as c:
        assert ask(c, proxy.origin, f"/size/10?{mark}-three", cls="", absolute=True).receive().status == 200
    assert [proxy.log_lines(f"{mark}-{n}")[0]["class"] for n in ("one", "two", "three")] == ["other", "session", "other"]
