# SPDX-License-Identifier: BSD-2-Clause
"""Connections that are no HTTP go by the parent's daemon, in the kernel."""

import contextlib
import os
import socket
import threading
import time

import pytest

from lab.lab import wait_for
from lab.net import inside
from lab.pair import Pair
from lab.pair_paths import FOUR, PORT, SIX

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs network namespaces")

ADDRESSES = pytest.mark.parametrize("address", (FOUR, SIX))
PACKETS = 50
FEW = 12        # packets until the daemon knows, both directions, and those that end a connection
STILL = 0.3     # seconds

# What the client and its server say first, by turns.
TALKS = {
    "tls": (b"\x16\x03\x01\x00\x7a" + b"c" * 122, b"\x16\x03\x03\x00\x7a" + b"s" * 122),
    "websocket": (b"GET /chat HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
                  b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"),
    "speaks first": (b"", b"220 mail.example.org\r\n"),
    "HTTP/2": (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"\x00\x00\x00\x04\x00\x00\x00\x00\x00"),
}


@contextlib.contextmanager
def connection(pair, address, port=0):
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    with inside(pair.servers.namespace, lambda: socket.create_server((address, PORT), family=family)) as door, \
            inside(pair.clients.namespace, lambda: socket.create_connection((address, PORT), timeout=10, source_address=("", port) if port else None)) as client, \
            door.accept()[0] as server:
        for s in (client, server):
            s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        yield client, server


def says(source, target, what):
    source.sendall(what)
    got = b""
    while len(got) < len(what):
        part = target.recv(len(what) - len(got))
        assert part
        got += part
    assert got == what


def exchange(client, server, rounds):
    for i in range(rounds):
        says(client, server, b"question %d" % i)
        says(server, client, b"answer %d" % i)


def settled(side):
    """Its counters, when what is shown (each tenth of a second) has stood still for longer than that."""
    since, before = time.monotonic(), None

    def still():
        nonlocal since, before
        now = side.counters()
        seen = now["pieces"], now["bypassed_bytes"]
        if seen != before:
            since, before = time.monotonic(), seen
        return now if time.monotonic() > since + STILL else None
    return wait_for(still, 10, "counters that stand still")


def pair_of(lab):
    pair = Pair(lab).start()
    pair.both(ports=PORT)
    return pair


@ADDRESSES
@pytest.mark.parametrize("talk", TALKS)
def test_what_is_no_http_goes_by(lab, talk, address):
    pair = pair_of(lab)
    before = settled(pair.parent)
    with connection(pair, address) as (client, server):
        if TALKS[talk][0]:
            says(client, server, TALKS[talk][0])
        says(server, client, TALKS[talk][1])
        exchange(client, server, PACKETS)
        now = settled(pair.parent)
    assert now["pieces"] - before["pieces"] < FEW
    moved = {name: now[name] - before[name] for name in ("bypassed_bytes", "unfollowed_bytes", "tls_bytes", "native_bytes", "bytes_in")}
    assert moved["bypassed_bytes"] > PACKETS * 50
    assert moved["unfollowed_bytes"] >= moved["bypassed_bytes"] and moved["native_bytes"] >= moved["bypassed_bytes"] <= moved["bytes_in"]
    assert (moved["tls_bytes"] >= moved["bypassed_bytes"]) is (talk == "tls")


@ADDRESSES
def test_http_does_not(lab, address):
    pair = pair_of(lab)
    before = settled(pair.parent)
    with connection(pair, address) as (client, server):
        for _ in range(PACKETS):
            says(client, server, b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
            says(server, client, b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody")
        now = settled(pair.parent)
    assert now["bypassed_bytes"] == before["bypassed_bytes"]
    assert now["pieces"] - before["pieces"] >= 2 * PACKETS


@ADDRESSES
def test_another_connection_of_the_same_ports_is_led(lab, address):
    pair = pair_of(lab)
    number = 40000
    with connection(pair, address, number) as (client, server):
        exchange(client, server, PACKETS)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")     # RST, so that its ports are free at once
    before = settled(pair.parent)
    assert before["bypassed_bytes"] > 0
    with connection(pair, address, number) as (client, server):
        for _ in range(PACKETS):
            says(client, server, b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
            says(server, client, b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody")
        now = settled(pair.parent)
    assert now["pieces"] - before["pieces"] >= 2 * PACKETS
    assert now["bypassed_bytes"] - before["bypassed_bytes"] < 500       # a FIN or RST of the connection before


def test_a_daemon_that_is_killed_changes_nothing_for_them(lab):
    pair = pair_of(lab)
    with connection(pair, FOUR) as (client, server):
        exchange(client, server, PACKETS)
        pair.parent.kill()
        exchange(client, server, PACKETS)
        pair.parent.start()
        exchange(client, server, PACKETS)


def test_a_large_one_is_whole(lab):
    """The daemon has some of it, and the kernel takes the rest over while it comes as fast as it can."""
    pair = pair_of(lab)
    body = os.urandom(8_000_000)
    with connection(pair, FOUR) as (client, server):
        sender = threading.Thread(target=server.sendall, args=(b"\x16\x03\x03\x00\x7a" + body,))
        sender.start()
        got = bytearray()
        while len(got) < len(body) + 5:
            part = client.recv(1 << 18)
            assert part
            got += part
        sender.join()
        now = settled(pair.parent)
    assert got[5:] == body
    assert now["bypassed_bytes"] > len(body) / 2 and now["tls_bytes"] > len(body)
