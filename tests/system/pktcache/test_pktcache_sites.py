# SPDX-License-Identifier: BSD-2-Clause
"""pktcache: a hub with several sites, each with a daemon of its own there; a site that nobody knows the address of; a hub that is known by its name."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest

from lab.hub import Hub, Streams, changes
from lab.lab import ROOT, program, wait_for
from lab.net import inside
from lab.pair import Daemon
from lab.streams import PROGRAM
from lab.pair_paths import PORT, streams
from test_pktcache_hostile import holds
from test_pktcache_power import power_of, sanitized, threads

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs network namespaces")


def whole(s, fetch):
    result, longer = s.end(fetch)
    assert not result["errors"], result["errors"][:3]
    assert not longer, f"connections stood still for a second and more beyond their own timers: {longer}"
    return result


def hits(site):
    return site.child.counters()["hits"]


def hits_at_rest(site):
    """Counters are shown ten times a second."""
    seen = []

    def at_rest():
        seen.append(hits(site))
        time.sleep(0.1)
        return len(seen) > 5 and len(set(seen[-5:])) == 1
    wait_for(at_rest, 10, "counters at rest")
    return seen[-1]


def repeats(s, site):
    """What is known comes as fingerprints."""
    before = hits(site)
    wait_for(lambda: whole(s, s.begin(site, 8)) and hits(site) > before + 500, 30, f"fingerprints at site {site.number}")


# ---- daemons beside each other ---------------------------------------------------------------------------------------------------

def test_sites_side_by_side(lab):
    """Three parents at one device.  One is killed, ended, and its child is killed, while all carry: the others do not notice."""
    hub = Hub(lab, translated=False).start()
    with Streams(hub) as s:
        one, two, three = hub.sites
        for site in hub.sites:
            site.both()
        for site in hub.sites:
            repeats(s, site)
        assert [site.parent.hooks() for site in hub.sites] == [3, 3, 3]
        others = [s.begin(site, 2000) for site in (two, three)]
        for end in (one.parent.kill, one.parent.stop, one.child.kill):
            end()
            assert whole(s, s.begin(one, 4))        # as they are
            assert one.parent.hooks() == (0 if end == one.parent.stop else 3)
            for side in (one.parent, one.child):
                if side.process.poll() is not None:
                    side.start()
            wait_for(one.works, 10, "a session again")
            assert two.works() and three.works()
        for fetch in others:
            assert fetch.poll() is None
            fetch.terminate()
            whole(s, fetch)
        for site in (two, three):
            assert "put there again" not in site.parent.said() and site.parent.stats()["clashes"] == 0 and site.parent.counters()["sessions"] == 1, site.parent.said()
        repeats(s, one)


@pytest.mark.parametrize("first", (0, 1))
def test_what_two_daemons_want_neither_has(lab, first):
    """The networks of two daemons at one device have site 1 in common.  A packet went from the one to the other for ever.  Both say so; what only one of them wants it has."""
    hub = Hub(lab, translated=False).start()
    with Streams(hub) as s:
        one, two, _ = hub.sites
        for side in (two.parent, two.child):
            side.settings["clients"] = "10.8.0.0/16 fd08::/16"
        for site in (one, two) if first == 0 else (two, one):
            site.both()
        repeats(s, two)
        before = hits_at_rest(one), hits_at_rest(two)
        for _ in range(2):
            whole(s, s.begin(one, 8))
        assert (hits_at_rest(one), hits_at_rest(two)) == before
        for site, other in ((one, "fgpk2"), (two, "fgpk1")):
            wait_for(lambda: site.parent.stats()["clashes"] > 1000, 5, "it has counted that")         # pylint: disable=cell-var-from-loop
            said = [line for line in site.parent.said().splitlines() if "of another daemon" in line]
            assert len(said) == 1 and "packets at link0" in said[0] and "give each client to one daemon" in said[0]
            assert f"of another daemon, that of {other} have" in said[0]
        repeats(s, two)
        two.end()
        repeats(s, one)


def test_a_device_that_another_daemon_has(lab):
    hub = Hub(lab, translated=False).start()
    one, two, _ = hub.sites
    for queues in (1, 2):
        one.parent.start(queues=queues)
        two.parent.start(wait=False, device="fgpk1", queues=queues)
        assert two.parent.process.wait(10) == 1 and "fgpk1: there is such a device" in two.parent.said()
        assert one.parent.hooks() == 3 and one.parent.stats()
        one.parent.stop()


def test_a_machine_with_a_child_and_a_parent(lab):
    """The provider's machine is the far end of one link and the near end of another one: what passes both is taken twice, and comes whole."""
    hub = Hub(lab, translated=False).start()
    with Streams(hub) as s:
        one, two, _ = hub.sites
        two.router = hub.provider       # of the link from the hub to the provider
        two.child.host = hub.provider
        two.child.settings.update(local="10.8.2.2:4754", clients=one.child.settings["clients"])
        two.parent.settings.update(peer="10.8.2.2:4754", clients=one.child.settings["clients"])
        one.parent.host = hub.provider
        one.parent.settings.update(local="10.8.21.1:4754")
        one.child.settings.update(peer="10.8.21.1:4754")
        two.child.settings.update(device="fgpk2")
        two.parent.start()
        two.child.start(wait=False)
        one.parent.start(wait=False)
        one.child.start()
        wait_for(lambda: one.works() and two.works(), 10, "sessions")
        assert two.child.hooks("hub0") == 2 and one.parent.hooks("site1") == 3
        fetched = s.begin(one, 40)
        whole(s, fetched)
        before = hits(one), hits(two)
        whole(s, s.begin(one, 20))
        assert hits(one) > before[0] + 2000 and hits(two) > before[1] + 2000
        assert not any(side.stats()["clashes"] for side in (two.child, one.parent))


def test_both_ways_over_one_link(lab):
    """There are servers at both ends, and so a parent and a child on each machine, at the same device."""
    pair, s = streams(lab)
    with s, subprocess.Popen([*pair.clients.prefix, sys.executable, PROGRAM, "serve", str(PORT)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as back:
        try:
            assert back.stdout.readline() == "ready\n"
            common = dict(servers="10.8.3.0/24 fd08:3::/64", clients="10.8.1.0/24 fd08:1::/64", ports=PORT, keep="all", device="fgback0")
            parent = Daemon(pair, "parent", pair.far, name="back", local="10.8.2.2:4755", peer="10.8.2.1:4755", **common)
            child = Daemon(pair, "child", pair.near, name="back", local="10.8.2.1:4755", peer="10.8.2.2:4755", **common)
            pair.both()
            parent.start()
            child.start()
            wait_for(lambda: parent.at_work() and child.at_work(), 10, "the other session")

            def both_ways():
                there = s.begin(20)
                here = subprocess.run([*pair.servers.prefix, sys.executable, PROGRAM, "fetch", str(PORT), "20000000", "8", "10.8.3.2", "fd08:3::2"], capture_output=True, text=True, check=False)
                s.end(there)
                assert not here.returncode, here.stdout
            both_ways()
            before = pair.child.counters()["hits"], child.counters()["hits"]
            both_ways()
            assert pair.child.counters()["hits"] > before[0] + 2000 and child.counters()["hits"] > before[1] + 2000
            assert child.stop() == 0 and parent.stop() == 0
            assert pair.parent.hooks() == 3 and pair.child.hooks() == 2
            s.fetch(10)
        finally:
            back.kill()


def test_three_sites_while_all_changes(lab):
    """One is behind a router whose address changes, one gets a new secret: nothing stands still, and what is known does not cross the links."""
    hub = Hub(lab).start()
    hub.begin()
    with Streams(hub) as s:
        for number, (result, longer, known) in changes(hub, s, 12).items():
            assert not result["errors"] and not longer, (number, result["errors"][:3], longer)
            assert result["bytes"] > 20e6 and known > 1000, number
        assert "a new one, and the former one" in hub.sites[0].parent.said() and hub.sites[2].parent.said().count("the other end is at") > 4
        assert [site.parent.counters()["sessions"] for site in hub.sites] == [1, 1, 1]


# ---- a site that nobody knows the address of -------------------------------------------------------------------------------------

def peer(site):
    return (site.parent.stats()["peer"] or "").rpartition(":")[0]


def translated(lab):
    """A hub whose third site is to say itself where it is."""
    hub = Hub(lab).start()
    return hub, hub.sites[2]


def test_a_site_whose_address_changes(lab):
    """What its child says comes from another address and port, and then from yet others.  Nothing stands still, and no session begins anew."""
    hub, site = translated(lab)
    with Streams(hub) as s:
        site.parent.start(wait=False)
        wait_for(lambda: os.path.exists(site.parent.control) and site.parent.stats()["peer"] is None and "not known yet" in site.parent.said(), 5, "a word of it")
        assert not site.parent.hooks()
        whole(s, s.begin(site, 4))
        site.child.start()
        wait_for(site.works, 10, "a session")
        assert peer(site) == "10.8.40.2" and site.parent.stats()["peer"].rpartition(":")[2] != "4754"
        repeats(s, site)
        fetch = s.begin(site, 2000)
        for _ in range(4):
            trains = site.child.counters()["trains"]
            wait_for(lambda: site.child.counters()["trains"] > trains + 50, 10, "trains")           # pylint: disable=cell-var-from-loop
            now = hub.moves()
            wait_for(lambda: peer(site) == now, 2, "the new address")           # pylint: disable=cell-var-from-loop
            wait_for(site.works, 3, "both at work")
        trains = site.child.counters()["trains"]
        wait_for(lambda: site.child.counters()["trains"] > trains + 50, 10, "trains")
        assert fetch.poll() is None
        fetch.terminate()
        whole(s, fetch)
        assert site.parent.counters()["sessions"] == site.child.counters()["sessions"] == 1


def test_a_hub_that_begins_anew_is_found(lab):
    """It does not know where the site is, and can't ask it."""
    hub, site = translated(lab)
    with Streams(hub) as s:
        site.both(wait=False)
        fetch = s.begin(site, 2000)
        for end in (site.parent.kill, site.parent.stop):
            end()
            site.parent.start(wait=False)
            wait_for(site.works, 10, "a session")
        fetch.terminate()
        whole(s, fetch)


def test_the_way_to_a_site_that_moves(lab):
    """The hub has two uplinks, and the site's new address is reached by the other one: packets are taken there."""
    hub, site = translated(lab)
    with Streams(hub) as s:
        site.both(wait=False)
        wait_for(lambda: site.parent.hooks() == 3, 5, "filters")
        repeats(s, site)
        hub.wired(3, hub.near, "link1", hub.provider, "hub1")
        hub.near.ip("route add 10.8.40.3/32 via 10.8.3.2\n")
        assert hub.moves() == "10.8.40.3"
        hub.near.ip("route add 10.8.13.0/24 via 10.8.3.2\nroute add fd08:13::/64 via fd08:3::2\n")
        wait_for(lambda: site.parent.hooks("link1") == 3 and not site.parent.hooks("link0"), 5, "filters at the other device")
        wait_for(site.works, 5, "both at work")
        repeats(s, site)


def test_what_is_replayed_moves_nobody(lab):
    """Who sees what a site says sends it from elsewhere, as it was and changed: the hub answers a HELLO with no more than it has, and goes on to speak to the site."""
    hub, site = translated(lab)
    said = []

    def look():
        made = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(0x0800))
        made.bind(("link0", 0))
        made.settimeout(0.2)
        return made

    def hear(n):
        """What goes to the hub's daemon, as its payload."""
        while len(said) < n:
            try:
                packet, where = seen.recvfrom(65536)
            except TimeoutError:
                continue
            if packet[9] == socket.IPPROTO_UDP and packet[22:24] == (4753).to_bytes(2, "big") and where[2] == socket.PACKET_HOST:
                said.append(packet[28:])
    with Streams(hub) as s, inside(hub.near.namespace, look) as seen, inside(hub.servers.namespace, lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as stranger:
        site.parent.start(wait=False)
        site.child.start()
        hear(2)
        wait_for(site.works, 10, "a session")
        fetch = s.begin(site, 2000)
        hear(40)
        stranger.settimeout(0.5)
        here, refused = site.parent.stats()["peer"], site.parent.counters()["refused"]
        for _ in range(10):
            for datagram in said:
                stranger.sendto(datagram, ("10.8.2.1", 4753))
                stranger.sendto(datagram[:-1] + bytes([datagram[-1] ^ 1]), ("10.8.2.1", 4753))
        wait_for(lambda: site.parent.counters()["refused"] >= refused + 700, 5, "them refused")
        answers = []
        try:
            while True:
                answers.append(stranger.recv(65536))
        except TimeoutError:
            pass
        hello = [d for d in said if d[0] == 1]
        assert hello and len(answers) <= 10 * len(hello) and all(a[0] == 2 and len(a) <= len(hello[0]) for a in answers) and answers
        assert site.parent.stats()["peer"] == here and site.works() and site.parent.counters()["sessions"] == 1
        fetch.terminate()
        whole(s, fetch)


def test_a_child_must_know_where_its_parent_is(lab):
    hub = Hub(lab).start()
    child = hub.sites[0].child
    child.start(wait=False, peer="any")
    assert child.process.wait(10) == 1 and "peer any: a child must know" in child.said()


# ---- what is in etc/ ---------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("name", ("pktcache-example.conf", "pktcache-site-example.conf"))
def test_the_examples_are_right(name):
    done = subprocess.run([program("pktcache/fairgate-pktcache"), "check", os.path.join(ROOT, "etc", name)], capture_output=True, text=True, check=False)
    assert not done.returncode and "of clients" in done.stdout, done.stdout + done.stderr


def test_a_sites_unit_has_nothing_in_common_with_anothers(tmp_path):
    """systemd takes RuntimeDirectory away with the daemon: of all sites, if they had one."""
    unit, more = tmp_path / "fairgate-pktcache-site@.service", tmp_path / "fairgate-pktcache-site@.service.d"
    more.mkdir()
    with open(os.path.join(ROOT, "etc/systemd/fairgate-pktcache@.service.in"), encoding="utf-8") as f:
        unit.write_text(f.read().replace("@sbindir@/fairgate-pktcache", program("pktcache/fairgate-pktcache")))
    with open(os.path.join(ROOT, "etc/systemd/fairgate-pktcache-site@.service.d/site.conf"), encoding="utf-8") as f:
        text = f.read()
    (more / "site.conf").write_text(text.replace("/usr/local/sbin/fairgate-pktcache", program("pktcache/fairgate-pktcache")))
    assert text.count("%i") == 3 and "\nRuntimeDirectory=\nRuntimeDirectory=fairgate-pktcache-%i\n" in text and "\nExecStart=\nExecStart=" in text
    with open(os.path.join(ROOT, "etc/pktcache-site-example.conf"), encoding="utf-8") as f:
        assert re.search("^control +/run/fairgate-pktcache-school/control$", f.read(), re.M)
    if not shutil.which("systemd-analyze"):
        return
    r = subprocess.run(["systemd-analyze", "verify", "--man=no", "fairgate-pktcache-site@school.service"], env={**os.environ, "SYSTEMD_UNIT_PATH": f"{tmp_path}:"}, capture_output=True, text=True,
                       check=False)
    assert not [line for line in r.stderr.splitlines() if "fairgate-pktcache" in line], r.stderr


# ---- a hub that is known by its name ---------------------------------------------------------------------------------------------

NAME = "hub.example.org"


class Names(threading.Thread):
    """A server of names on a site's router: `addresses` are those of NAME, of IPv4; none, there is no such name."""

    def __init__(self, site):
        super().__init__(daemon=True)
        self.addresses, self.asked = [], 0
        self.socket = inside(site.router.namespace, lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        self.socket.bind(("127.0.0.1", 53))
        path = os.path.join(site.lab.dir, "resolv.conf")
        with open(path, "w", encoding="ascii") as f:
            f.write("nameserver 127.0.0.1\noptions timeout:1 attempts:1\n")
        os.chmod(path, 0o644)
        site.router.prefix = [*site.router.prefix, "sh", "-c", 'mount --bind "$0" /etc/resolv.conf && exec "$@"', path]

    def run(self):
        while True:
            question, whom = self.socket.recvfrom(1024)
            if not question:
                return          # the end
            assert question[12:].startswith(b"\x03hub\x07example\x03org\x00\x00\x01")
            self.asked += 1
            there = list(self.addresses)
            answer = question[:2] + (b"\x81\x80" if there else b"\x81\x83") + question[4:6] + len(there).to_bytes(2, "big") + bytes(4) + question[12:12 + 17 + 4]
            for address in there:
                answer += b"\xc0\x0c\x00\x01\x00\x01\x00\x00\x00\x01\x00\x04" + socket.inet_aton(address)
            self.socket.sendto(answer, whom)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.socket.sendto(b"", ("127.0.0.1", 53))
        self.join()
        self.socket.close()


def asks_names(side):
    """The process of a daemon that asks for names."""
    found = []
    for name in os.listdir("/proc"):
        try:
            with open(f"/proc/{name}/stat", encoding="ascii", errors="replace") as f:
                text = f.read()
        except OSError:
            continue
        if "(pktcache-names)" in text and int(text.rpartition(")")[2].split()[1]) == side.pid():
            found.append(int(name))
    return found[0]


def test_a_hub_with_a_name(lab):
    """The name is not there yet; it comes; it has several addresses, of which one is the hub's; the hub moves while the site carries."""
    hub = Hub(lab).start()
    site = hub.sites[0]
    with Streams(hub) as s, Names(site) as names:
        site.child.settings["peer"] = f"{NAME}:4751"
        site.parent.start()
        site.child.start(wait=False)
        wait_for(lambda: names.asked > 2, 20, "the name, asked for again and again")
        assert site.child.said().count(f"peer {NAME}: ") == 1 and "it is asked for again" in site.child.said(), site.child.said()
        assert site.child.process.poll() is None and not site.child.hooks() and site.child.stats()["peer"] is None
        whole(s, s.begin(site, 4))
        names.addresses = ["10.8.2.1"]
        wait_for(site.works, 15, "a session")
        assert site.child.stats()["peer"] == "10.8.2.1:4751" and site.child.hooks() == 2
        repeats(s, site)
        asked = names.asked
        fetch = s.begin(site, 4000)
        hub.near.ip("addr add 10.8.2.9/24 dev link0\n")
        names.addresses = ["10.8.2.7", "10.8.2.9"]
        site.parent.stop()
        assert names.asked == asked         # nobody asks while all is well
        site.parent.start(local="10.8.2.9:4751")
        wait_for(site.works, 30, "a session with the hub elsewhere")
        assert site.child.stats()["peer"] == "10.8.2.9:4751"
        trains = site.child.counters()["trains"]
        wait_for(lambda: site.child.counters()["trains"] > trains + 50, 10, "trains")
        assert fetch.poll() is None
        fetch.terminate()
        whole(s, fetch)


def test_an_address_that_no_machine_has(lab):
    hub = Hub(lab).start()
    site = hub.sites[0]
    with Names(site) as names:
        names.addresses = ["0.0.0.0", "224.0.0.1", "255.255.255.255"]
        site.parent.start()
        site.child.start(wait=False, peer=f"{NAME}:4751")
        wait_for(lambda: names.asked > 3, 20, "each of them")
        assert site.child.stats()["peer"] is None
        names.addresses = ["10.8.2.1"]
        wait_for(site.works, 15, "a session")


def test_who_asks_for_names_has_no_power(lab):
    """Nor the secret, nor anything else of the daemon's; without it the daemon ends, to be started again."""
    hub = Hub(lab).start()
    site = hub.sites[0]
    with Streams(hub) as s, Names(site) as names:
        names.addresses = ["10.8.2.1"]
        site.child.settings["peer"] = f"{NAME}:4751"
        site.both()
        asks = asks_names(site.child)
        for status in threads(asks):
            assert set(power_of(status).values()) == {0} and status["NoNewPrivs"].strip() == "1" and status["Uid"].split() != ["0"] * 4, status
        with open(site.secret, encoding="ascii") as f:
            digits = f.read().strip()
        assert not holds(asks, {"secret": bytes.fromhex(digits), "its digits": digits.encode()})
        held = [os.readlink(f"/proc/{asks}/fd/{fd}") for fd in os.listdir(f"/proc/{asks}/fd")]
        assert sanitized() or len([h for h in held if h.startswith("socket:")]) == 1 and not [h for h in held if "tun" in h or "bpf" in h], held
        assert site.child.stop() == 0
        wait_for(lambda: not os.path.exists(f"/proc/{asks}"), 5, "its end")
        site.child.start()
        os.kill(asks_names(site.child), signal.SIGKILL)
        assert site.child.process.wait(10) == 1 and "nobody would ask" in site.child.said()
        whole(s, s.begin(site, 4))


@pytest.mark.parametrize("wrong", ("hub:0", "192.0.2.300:4754", "-hub.example.org:4754", "a..b:4754", ":4754", "[hub]:4754", "hub", "h" * 64 + ":4754"))
def test_a_name_that_is_none(lab, wrong):
    hub = Hub(lab).start()
    child = hub.sites[0].child
    child.start(wait=False, peer=wrong)
    assert child.process.wait(10) == 1 and "peer" in child.said()
