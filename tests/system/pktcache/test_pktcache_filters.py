# SPDX-License-Identifier: BSD-2-Clause
"""pktcache beside filters, address translation and routing of all kinds, which it must not notice; and with a device on the link that follows TCP."""

import os
import socket
import struct
import subprocess
import sys
import time

import pytest

from lab.lab import wait_for
from lab.net import inside
from lab.pair_paths import (FOUR, PORT, SIX, STREAMS, Middle, drops_what_is_invalid, forward_drop, masquerade_the_clients, masquerade_to_the_servers, on_both, route_by_policy,
                            seconds_for_one, splits_tcp, streams, why)
from test_pktcache_hostile import checksum

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs network namespaces")


def stays_at_work(pair, s, address=FOUR):
    """What is new, what is known: nothing stands still, and what is known does not cross the link."""
    for _ in range(3):
        assert seconds_for_one(pair, 5, address) < 1
    before, plain = pair.child.counters()["hits"], pair.carried()
    for _ in range(5):
        assert seconds_for_one(pair, 5, address) < 1
    assert pair.child.counters()["hits"] > before + 250
    assert pair.carried() - plain < 5 * 400_000 * 0.5
    assert not why(pair.parent) and not why(pair.child)


# ---- filters -----------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("address", (FOUR, SIX))
@pytest.mark.parametrize("roles", (("parent",), ("child",), ("parent", "child")))
def test_filters_between_lan_and_wan(lab, roles, address):
    """FORWARD drops what does not go from the one to the other by name, and what is no part of a connection.  "0 bytes in 6 s", for good, while at_work stayed true:
    packets came from a device that no rule had."""
    pair, s = streams(lab, rtt=4)
    with s:
        for role in roles:
            forward_drop(getattr(pair, role).host, "in0" if role == "parent" else "out0", "link0")
        assert seconds_for_one(pair, 5, address) < 1         # without daemons
        pair.both()
        stays_at_work(pair, s, address)
        s.fetch(20)


# ---- address translation ------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("address", (FOUR, SIX))
def test_address_translation_towards_the_servers(lab, address):
    """MASQUERADE at the parent; the servers have no way back but to the parent.  Every connection died: its first packet was not translated."""
    pair, s = streams(lab, rtt=4)
    with s:
        masquerade_to_the_servers(pair)
        assert seconds_for_one(pair, 5, address) < 1
        pair.both()
        stays_at_work(pair, s, address)
        # Taken away while they are at work.
        on_both(pair.near, "-t", "nat", "-F", "POSTROUTING")
        pair.servers.ip("route add default via 10.8.1.1\nroute add default via fd08:1::1\n")
        stays_at_work(pair, s, address)


@pytest.mark.parametrize("address", (FOUR, SIX))
def test_address_translation_of_the_clients(lab, address):
    """MASQUERADE at the child: to the parent all clients are the child.  What was new crossed twice, since the child looked for it under another address."""
    pair, s = streams(lab, rtt=4)
    with s:
        seen = masquerade_the_clients(pair)
        assert seconds_for_one(pair, 5, address) < 1
        pair.both(**seen)
        stays_at_work(pair, s, address)
        assert not pair.child.counters()["wanted"]


def test_a_published_address_of_the_servers(lab):
    """DNAT at the parent: clients know its own address only."""
    pair, s = streams(lab, rtt=4)
    with s:
        pair.near.run("iptables", "-t", "nat", "-A", "PREROUTING", "-d", "10.8.2.1", "-p", "tcp", "--dport", str(PORT), "-j", "DNAT", "--to-destination", FOUR)
        assert seconds_for_one(pair, 5, "10.8.2.1") < 1
        pair.both(servers="10.8.2.1/32")
        stays_at_work(pair, s, "10.8.2.1")


# ---- routing -----------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("address", (FOUR, SIX))
def test_policy_routing(lab, address):
    pair, s = streams(lab, rtt=4)
    with s:
        route_by_policy(pair)
        assert seconds_for_one(pair, 5, address) < 1
        pair.both()
        stays_at_work(pair, s, address)


def test_a_server_on_the_parents_own_machine(lab):
    """A router or a host with everything on it: what it sends itself goes out by the link, too."""
    pair, s = streams(lab, rtt=4)
    with s, subprocess.Popen([*pair.near.prefix, sys.executable, STREAMS, "serve", str(PORT)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as own:
        try:
            assert own.stdout.readline() == "ready\n"
            pair.both(servers="10.8.2.1/32")
            stays_at_work(pair, s, "10.8.2.1")
        finally:
            own.kill()


def test_the_time_to_live_is_as_without(lab):
    pair, s = streams(lab, rtt=4)

    def hops():
        """Of what comes to the client of a new connection."""
        with inside(pair.clients.namespace, lambda: socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(0x0800))) as look:
            look.settimeout(5)
            assert seconds_for_one(pair, 5) < 1
            seen = set()
            look.settimeout(0.2)
            try:
                while True:
                    data = look.recv(64)
                    if data[12:16] == socket.inet_aton(FOUR) and data[9] == socket.IPPROTO_TCP:
                        seen.add(data[8])
            except TimeoutError:
                return seen
    with s:
        before = hops()
        assert len(before) == 1
        pair.both()
        assert hops() == before             # as they are
        assert hops() == before             # out of trains
        assert pair.child.counters()["hits"] > 50


def test_dead_servers_are_no_filter(lab):
    """Nothing answers: the caches stay at work, and have nothing to do with it."""
    pair, s = streams(lab, rtt=4)
    with s:
        pair.both()
        s.fetch(20)
        on_both(pair.servers, "-A", "INPUT", "-p", "tcp", "-j", "DROP")
        assert seconds_for_one(pair, 3) is None
        assert pair.parent.at_work() and pair.child.at_work()
        on_both(pair.servers, "-F", "INPUT")
        wait_for(lambda: seconds_for_one(pair, 5), 30, "servers")
        stays_at_work(pair, s)


# ---- a device that follows TCP ---------------------------------------------------------------------------------------------------

def stops_trains(pair, s, before):
    """Each session begins with trials: none of them stops a connection for longer than its server's timer, and after some there are no trains.  before: how long
    a connection takes without daemons."""
    pair.both()
    took = []

    def found():
        took.append(seconds_for_one(pair, 5))
        return "follows TCP" in why(pair.parent)
    wait_for(found, 30, f"the reason: {took}")
    wait_for(lambda: "follows TCP" in why(pair.child), 5, "the reason, at the other end")
    assert all(t is not None and t < before + 1 for t in took), took
    assert len(took) > 6 and "follows TCP" in pair.parent.said() and pair.parent.counters()["stopped"] == 1
    for _ in range(5):
        assert seconds_for_one(pair, 5) < before + 0.5
    s.fetch(20)
    # Not before a minute is over others are tried.
    assert not pair.parent.at_work()


def test_a_stateful_device_on_the_link(lab):
    """It throws away acknowledgements of bytes that it has not seen as TCP.  The first 3 MB took 0.02 s; what repeats stopped at 14 kB, with timeouts of 20 s."""
    pair, s = streams(lab)
    with s, Middle(pair) as middle:
        drops_what_is_invalid(middle)
        stops_trains(pair, s, seconds_for_one(pair, 5))


def test_a_device_on_the_link_that_splits_tcp(lab):
    pair, s = streams(lab)
    with s, Middle(pair) as middle, splits_tcp(middle, s):
        stops_trains(pair, s, seconds_for_one(pair, 5))


# ---- no false alarm --------------------------------------------------------------------------------------------------------------

def quiet(pair):
    """Neither end has stood aside, nor stopped trains."""
    for side in (pair.parent, pair.child):
        said = side.said()
        assert "stands aside" not in said and "stand still" not in said, said
    return not pair.parent.counters()["stopped"]


def test_a_lossy_link_is_no_filter(lab):
    """A tenth is lost, and a twentieth comes in another order; one connection after another, so that none tells of the others, and many at once."""
    pair, s = streams(lab, rtt=4, bad=["--loss", "100", "--reorder", "50"])
    with s:
        pair.both()
        for _ in range(4):
            s.fetch(3, parallel=1)
        s.fetch(20, parallel=16)
        assert quiet(pair) and pair.parent.counters()["hits"] > 500


def syn(source, destination, port, hops=64):
    """A client's first packet, whole: it is sent as it stands."""
    ends = socket.inet_aton(source) + socket.inet_aton(destination)
    tcp = struct.pack("!HHIIBBHHH", port, PORT, 1, 0, 5 << 4, 2, 1000, 0, 0)
    tcp = tcp[:16] + struct.pack("!H", checksum(ends + struct.pack("!HH", socket.IPPROTO_TCP, len(tcp)) + tcp)) + tcp[18:]
    return struct.pack("!BBHHHBBH", 0x45, 0, 20 + len(tcp), 1, 0, hops, socket.IPPROTO_TCP, 0) + ends + tcp


@pytest.mark.parametrize("queues", (1, 4))
def test_a_client_that_says_its_syn_again_and_again_is_no_filter(lab, queues):
    """Nobody answers it: it asks for a server that is not there, by the hundred, while others come about all the time.  It took them all from the device: three of
    its packets were enough, at any time, for half a minute of `connections come about without the device only`."""
    pair, s = streams(lab, rtt=4)
    with s, inside(pair.clients.namespace, lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)) as raw:
        pair.both(queues=queues)
        s.fetch(10)
        for number in range(200):
            packet = syn("10.8.3.2", "10.8.1.77", 3000 + number % 10)
            for _ in range(10):
                raw.sendto(packet, ("10.8.1.77", 0))
            with inside(pair.clients.namespace, socket.socket) as c:
                c.settimeout(5)
                c.connect((FOUR, PORT))
                c.sendall((7).to_bytes(8, "big"))
                assert c.recv(1)
        assert quiet(pair) and pair.parent.at_work()


def test_packets_that_go_no_further_are_no_filter(lab):
    """What tcptraceroute sends: it comes to the parent's machine, and not to its device, since it has no hop left.  At a time at which nothing else is asked for, three were enough."""
    pair, s = streams(lab, rtt=4)
    with s, inside(pair.clients.namespace, lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)) as raw:
        pair.both()
        s.fetch(4)
        end = time.monotonic() + 4
        while time.monotonic() < end:
            raw.sendto(syn("10.8.3.2", FOUR, 3000, hops=2), (FOUR, 0))
            time.sleep(0.1)         # what is tested is that they go on for a while
        assert quiet(pair) and pair.parent.at_work()


def test_clients_that_stop_reading_and_clients_that_go_away_are_no_filter(lab):
    pair, s = streams(lab, rtt=4)
    with s:
        pair.both()
        s.fetch(20)
        lazy = []
        for _ in range(6):
            c = inside(pair.clients.namespace, socket.socket)
            c.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 20_000)
            c.connect((FOUR, PORT))
            c.sendall((7).to_bytes(8, "big"))
            lazy.append(c)
        end = time.monotonic() + 4      # time for some retransmissions, if there were any
        wait_for(lambda: s.fetch(3) and time.monotonic() > end, 20, "four seconds")
        for c in lazy:
            c.close()
        # Another client goes away in the middle of what it gets: its packets, and those to it, are thrown away.
        fetch = s.begin(200)
        wait_for(lambda: pair.child.counters()["hits"] > 1000, 10, "fingerprints")
        pair.clients.run("iptables", "-A", "INPUT", "-p", "tcp", "-s", FOUR, "-j", "DROP")
        pair.clients.run("ip6tables", "-A", "INPUT", "-p", "tcp", "-s", "fd08:1::2", "-j", "DROP")
        fetch.kill()
        fetch.wait()
        fetch.stdout.close()
        end = time.monotonic() + 4
        wait_for(lambda: not quiet(pair) or time.monotonic() > end, 10, "four seconds")
        assert quiet(pair) and pair.parent.at_work()


def test_a_server_that_is_slow_is_no_filter(lab):
    """It takes connections and says nothing for seconds; it says a little now and then."""
    pair, s = streams(lab, rtt=4)
    with s:
        pair.both()
        s.fetch(10)
        slow = inside(pair.servers.namespace, lambda: socket.create_server(("10.8.1.2", PORT + 1)))
        pair.parent.stop()
        pair.child.stop()
        pair.both(ports=f"{PORT} {PORT + 1}")
        c = inside(pair.clients.namespace, lambda: socket.create_connection(("10.8.1.2", PORT + 1)))
        there = slow.accept()[0]
        c.sendall(b"?")
        for _ in range(6):
            time.sleep(0.7)     # what is tested is that this much time passes
            there.sendall(b"some")
            assert c.recv(4) == b"some"
        for end in (slow, there, c):
            end.close()
        assert quiet(pair) and pair.parent.at_work()


def test_requests_that_take_another_way_are_no_filter(lab):
    """The parent sees no request and no acknowledgement: clients reach the servers past it, on a link that loses things."""
    pair, s = streams(lab, rtt=4, bad=["--loss", "50"])
    with s:
        pair.wire(pair.clients, "past0", pair.servers, "past0")
        pair.clients.device("past0", "10.8.7.1/24", "fd08:7::1/64")
        pair.clients.ip("route add 10.8.1.2/32 via 10.8.7.2\nroute add fd08:1::2/128 via fd08:7::2\n")
        pair.servers.device("past0", "10.8.7.2/24", "fd08:7::2/64")
        # The address of the clients' own network, not of that way.
        pair.clients.ip("route replace 10.8.1.2/32 via 10.8.7.2 src 10.8.3.2\nroute replace fd08:1::2/128 via fd08:7::2 src fd08:3::2\n")
        pair.both()
        s.fetch(20)
        s.fetch(20)
        assert quiet(pair) and pair.parent.counters()["hits"] > 500
