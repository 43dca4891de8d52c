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
from test_pktcache import FOUR, PORT, SIX, STREAMS, streams
from test_pktcache_hostile import checksum

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs network namespaces")


def seconds_for_one(pair, limit, address=FOUR, length=400_000):
    """How long a new connection takes for a stream; None: longer than the limit."""
    before = time.monotonic()
    with inside(pair.clients.namespace, lambda: socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET)) as s:
        s.settimeout(limit)
        try:
            s.connect((address, PORT))
            s.sendall((7).to_bytes(8, "big"))
            got = 0
            while got < length:
                s.settimeout(max(0.01, before + limit - time.monotonic()))
                part = s.recv(1 << 18)
                assert part
                got += len(part)
        except TimeoutError:
            return None
    return time.monotonic() - before


def why(side):
    stats = side.stats()
    assert stats["at_work"] == (not stats["why"])
    return stats["why"]


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

def forward_drop(host, lan, wan):
    """What a router's FORWARD has usually, and what one that follows connections adds."""
    for tool in ("iptables", "ip6tables"):
        host.run(tool, "-P", "FORWARD", "DROP")
        host.run(tool, "-A", "FORWARD", "-m", "conntrack", "--ctstate", "INVALID", "-j", "DROP")
        host.run(tool, "-A", "FORWARD", "-i", lan, "-o", wan, "-j", "ACCEPT")
        host.run(tool, "-A", "FORWARD", "-i", wan, "-o", lan, "-m", "conntrack", "--ctstate", "NEW,ESTABLISHED,RELATED", "-j", "ACCEPT")


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
        pair.servers.ip("route del default via 10.8.1.1\nroute del default via fd08:1::1\n")
        for tool in ("iptables", "ip6tables"):
            pair.near.run(tool, "-t", "nat", "-A", "POSTROUTING", "-o", "in0", "-j", "MASQUERADE")
        assert seconds_for_one(pair, 5, address) < 1
        pair.both()
        stays_at_work(pair, s, address)
        # Taken away while they are at work.
        for tool in ("iptables", "ip6tables"):
            pair.near.run(tool, "-t", "nat", "-F", "POSTROUTING")
        pair.servers.ip("route add default via 10.8.1.1\nroute add default via fd08:1::1\n")
        stays_at_work(pair, s, address)


@pytest.mark.parametrize("address", (FOUR, SIX))
def test_address_translation_of_the_clients(lab, address):
    """MASQUERADE at the child: to the parent all clients are the child.  What was new crossed twice, since the child looked for it under another address."""
    pair, s = streams(lab, rtt=4)
    with s:
        pair.near.ip("route del 10.8.3.0/24 via 10.8.2.2\nroute del fd08:3::/64 via fd08:2::2\n")
        for tool in ("iptables", "ip6tables"):
            pair.far.run(tool, "-t", "nat", "-A", "POSTROUTING", "-o", "link0", "-p", "tcp", "-j", "MASQUERADE")
        assert seconds_for_one(pair, 5, address) < 1
        pair.both(clients="10.8.2.2/32 fd08:2::2/128")
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

def test_policy_routing(lab):
    """At both ends the way between LAN and link is in a table of its own, which a rule with a device chooses; the main table leads elsewhere."""
    pair, s = streams(lab, rtt=4)
    with s:
        for side, device, home, other in ((pair.near, "in0", 3, "2::2"), (pair.far, "out0", 1, "2::1")):
            side.ip(f"route del 10.8.{home}.0/24\nroute add blackhole 10.8.{home}.0/24\nroute add 10.8.{home}.0/24 via 10.8.{other.replace('::', '.')} table 77\n"
                    f"rule add iif {device} lookup 77 pref 500\n")
        assert seconds_for_one(pair, 5) < 1
        pair.both()
        stays_at_work(pair, s)


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
        for tool in ("iptables", "ip6tables"):
            pair.servers.run(tool, "-A", "INPUT", "-p", "tcp", "-j", "DROP")
        assert seconds_for_one(pair, 3) is None
        assert pair.parent.at_work() and pair.child.at_work()
        for tool in ("iptables", "ip6tables"):
            pair.servers.run(tool, "-F", "INPUT")
        wait_for(lambda: seconds_for_one(pair, 5), 30, "servers")
        stays_at_work(pair, s)


# ---- a device that follows TCP ---------------------------------------------------------------------------------------------------

class Middle:
    """A router in the middle of the link, without an address of that; its rules are the test's."""

    def __init__(self, pair):
        self.pair, self.host = pair, pair.host("m", "10.8.9.9")

    def __enter__(self):
        near, far, m = self.pair.near, self.pair.far, self.host
        m.add()
        near.ip("link del link0\n")
        m.device("lo", "10.8.9.9/32", "fd08:9::9/128")
        m.sysctl(net__ipv4__ip_forward=1, net__ipv6__conf__all__forwarding=1)
        for host, device, own, other, beyond in ((near, "near0", "2::1", "2::2", "3"), (far, "far0", "2::2", "2::1", "1")):
            self.pair.wire(host, "link0", m, device)
            four = (f"10.8.{own.replace('::', '.')}", f"10.8.{other.replace('::', '.')}")
            six = (f"fd08:{own}", f"fd08:{other}")
            host.device("link0", f"{four[0]}/24", f"{six[0]}/64", mtu=self.pair.mtu)
            host.ip(f"route add 10.8.{beyond}.0/24 via {four[1]}\nroute add fd08:{beyond}::/64 via {six[1]}\n")
            home = "1" if device == "near0" else "3"
            m.device(device, mtu=self.pair.mtu)
            m.ip(f"route add {four[0]}/32 dev {device}\nroute add 10.8.{home}.0/24 via {four[0]} dev {device} onlink\n"
                 f"route add {six[0]}/128 dev {device}\nroute add fd08:{home}::/64 via {six[0]} dev {device} onlink\nneigh add proxy {six[1]} dev {device}\n")
            m.sysctl(**{f"net__ipv4__conf__{device}__proxy_arp": 1, f"net__ipv6__conf__{device}__proxy_ndp": 1,
                        f"net__ipv4__neigh__{device}__proxy_delay": 0, f"net__ipv6__neigh__{device}__proxy_delay": 0})
        return self

    def __exit__(self, *_):
        self.host.remove()


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
        for tool in ("iptables", "ip6tables"):
            middle.host.run(tool, "-A", "FORWARD", "-m", "conntrack", "--ctstate", "INVALID", "-j", "DROP")
        stops_trains(pair, s, seconds_for_one(pair, 5))


SPLIT = """
import select, socket, sys, threading
port = int(sys.argv[1])
def transparent():
    s = socket.socket()
    s.setsockopt(socket.SOL_IP, 19, 1)          # IP_TRANSPARENT
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    return s
def split(client, source):
    server = transparent()
    server.bind(source)
    server.connect(client.getsockname())
    ends = [client, server]
    while ends:
        for a in select.select(ends, [], [])[0]:
            b = server if a is client else client
            data = a.recv(1 << 16)
            if data:
                b.sendall(data)
            else:
                ends.remove(a)
                b.shutdown(socket.SHUT_WR)
def safely(*args):
    try:
        split(*args)
    except OSError:
        args[0].close()
door = transparent()
door.bind(("", port))
door.listen(100)
print("ready", flush=True)
while True:
    client, source = door.accept()
    threading.Thread(target=safely, args=(client, source), daemon=True).start()
"""


def test_a_device_on_the_link_that_splits_tcp(lab):
    """As accelerators of satellite lines do: it is the server to the client and the client to the server, with sequence numbers of its own."""
    pair, s = streams(lab)
    with s, Middle(pair) as middle:
        m = middle.host
        m.ip("rule add fwmark 1 lookup 100\nroute add local 0.0.0.0/0 dev lo table 100\n")
        m.run("iptables", "-t", "mangle", "-A", "PREROUTING", "-p", "tcp", "-m", "socket", "--transparent", "-j", "MARK", "--set-mark", "1")
        m.run("iptables", "-t", "mangle", "-A", "PREROUTING", "-p", "tcp", "--dport", str(PORT), "-m", "mark", "!", "--mark", "1", "-j", "TPROXY", "--on-port", "3129",
              "--tproxy-mark", "1")
        with subprocess.Popen([*m.prefix, sys.executable, "-c", SPLIT, "3129"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as split:
            try:
                assert split.stdout.readline() == "ready\n"
                stops_trains(pair, s, seconds_for_one(pair, 5))
            finally:
                split.kill()


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
