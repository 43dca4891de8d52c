# SPDX-License-Identifier: BSD-2-Clause
"""pktcache: DSCP and ECN of what goes through it, and what a queue of the link says by them; real TCP, IPv4 and IPv6 through a link of either."""

import os

import pytest

from lab.lab import wait_for
from test_pktcache import FOUR, PORT, SIX, streams

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs network namespaces")

DOWN, UP = 26, 10
TOOL = {FOUR: "iptables", SIX: "ip6tables"}
LINKS = {4: ("10.8.2.1:4754", "10.8.2.2:4754"), 6: ("[fd08:2::1]:4754", "[fd08:2::2]:4754")}


class Counted:
    """A rule that counts packets and does nothing else."""

    def __init__(self, host, chain, *words, tool="iptables"):
        self.host, self.tool, self.chain = host, tool, chain
        self.number = sum(line.startswith(f"-A {chain} ") for line in host.run(tool, "-t", "mangle", "-S", chain).splitlines()) + 1
        host.run(tool, "-t", "mangle", "-A", chain, *words)

    def seen(self):
        return int(self.host.run(self.tool, "-t", "mangle", "-L", self.chain, str(self.number), "-v", "-n", "-x").split()[0])


def paired(lab, link, **options):
    pair, s = streams(lab, **options)
    near, far = LINKS[link]
    pair.parent.settings.update(local=near, peer=far)
    pair.child.settings.update(local=far, peer=near)
    return pair, s


def set_dscp(host, address, number, *words):
    host.run(TOOL[address], "-t", "mangle", "-A", "POSTROUTING", "-p", "tcp", *words, "-j", "DSCP", "--set-dscp", str(number))


def datagrams(pair, link, *words):
    """Of the parent's, as they come to the child."""
    return Counted(pair.far, "PREROUTING", "-p", "udp", "--sport", "4754", *words, tool="iptables" if link == 4 else "ip6tables")


def hits_of(pair, s, address, megabytes=20):
    before = pair.child.counters()["hits"]
    s.fetch(megabytes, 8, (address,))
    wait_for(lambda: pair.child.counters()["hits"] > before + 1000, 5, "fingerprints")


@pytest.mark.parametrize("link", (4, 6))
@pytest.mark.parametrize("address", (FOUR, SIX))
def test_dscp_survives_both_ways(lab, address, link):
    """Of trains and of plain packets; the datagram of a train has that of its packets."""
    pair, s = paired(lab, link)
    with s:
        tool = TOOL[address]
        set_dscp(pair.servers, address, DOWN, "--sport", str(PORT))
        set_dscp(pair.clients, address, UP, "--dport", str(PORT))
        down = [Counted(pair.clients, "PREROUTING", "-p", "tcp", "--sport", str(PORT), "-m", "dscp", *words, "--dscp", str(DOWN), tool=tool) for words in ((), ("!",))]
        up = [Counted(pair.servers, "PREROUTING", "-p", "tcp", "--dport", str(PORT), "-m", "dscp", *words, "--dscp", str(UP), tool=tool) for words in ((), ("!",))]
        pair.both()
        trains = datagrams(pair, link, "-m", "dscp", "--dscp", str(DOWN))
        other = datagrams(pair, link, "-m", "dscp", "!", "--dscp", str(DOWN), "-m", "length", "--length", "200:1399")
        hits_of(pair, s, address)       # new ones, and known ones
        hits_of(pair, s, address)
        assert down[0].seen() > 1000 and up[0].seen() > 100
        assert not down[1].seen() and not up[1].seen()
        assert trains.seen() > 100
        # Words about the session are short, probes of full size; what a child lacks there is none of.
        assert not other.seen() or pair.child.counters()["recovered"]


@pytest.mark.parametrize("link", (4, 6))
@pytest.mark.parametrize("address", (FOUR, SIX))
def test_a_mark_of_the_link_reaches_the_client(lab, address, link):
    """A queue marks trains (and nothing else) as congested: the client's TCP hears it, and tells the server (RFC 3168, 6040)."""
    pair, s = paired(lab, link)
    with s:
        tool = TOOL[address]
        for host in (pair.servers, pair.clients):
            host.sysctl(net__ipv4__tcp_ecn=1)
        pair.both()
        hits_of(pair, s, address)
        echoes = Counted(pair.servers, "PREROUTING", "-p", "tcp", "--dport", str(PORT), "--tcp-flags", "SYN", "NONE", "-m", "ecn", "--ecn-tcp-ece", tool=tool)
        marked = Counted(pair.clients, "PREROUTING", "-p", "tcp", "--sport", str(PORT), "-m", "ecn", "--ecn-ip-ect", "3", tool=tool)
        able = datagrams(pair, link, "-m", "ecn", "--ecn-ip-ect", "2")
        hits_of(pair, s, address)
        assert able.seen() > 100 and not marked.seen() and not echoes.seen()
        outer = "iptables" if link == 4 else "ip6tables"
        pair.far.run(outer, "-t", "mangle", "-A", "PREROUTING", "-p", "udp", "--sport", "4754", "-m", "ecn", "--ecn-ip-ect", "2", "-m", "statistic", "--mode", "nth", "--every", "10", "--packet", "0",
                     "-j", "TOS", "--set-tos", "0x03/0x03")
        dropped = pair.child.counters()["dropped"]
        hits_of(pair, s, address)
        assert marked.seen() > 10 and echoes.seen() > 10
        assert pair.child.counters()["dropped"] == dropped


@pytest.mark.parametrize("link", (4, 6))
def test_what_has_no_ecn_is_not_marked(lab, link):
    """A queue that marks what it may mark leaves the trains of connections without ECN alone: it must lose them instead."""
    pair, s = paired(lab, link)
    with s:
        for host in (pair.servers, pair.clients):
            host.sysctl(net__ipv4__tcp_ecn=0)
        pair.both()
        able = datagrams(pair, link, "-m", "ecn", "!", "--ecn-ip-ect", "0")
        hits_of(pair, s, FOUR)
        hits_of(pair, s, SIX)
        assert not able.seen()
