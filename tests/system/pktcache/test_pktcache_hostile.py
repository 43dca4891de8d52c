# SPDX-License-Identifier: BSD-2-Clause
"""pktcache: what strangers send, and what other programs on the machine do to it."""

import configparser
import hmac
import os
import signal
import socket
import struct
import subprocess
import threading
import time

import pytest

from lab.lab import ROOT, wait_for
from lab.net import inside
from test_pktcache import streams

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs network namespaces")


# ---- forged ICMP -------------------------------------------------------------------------------------------------------------

def checksum(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return 0xffff & ~total


class Forger(threading.Thread):
    """A stranger: says to `victim` ten times a second, as a router would, that its datagrams to `peer` can't get there."""

    def __init__(self, host, victim, peer, port=4754):
        super().__init__(daemon=True)
        self.six = ":" in victim
        self.victim, self.peer, self.port, self.ended, self.sent = victim, peer, port, threading.Event(), 0
        family, what = (socket.AF_INET6, socket.IPPROTO_ICMPV6) if self.six else (socket.AF_INET, socket.IPPROTO_ICMP)
        self.socket = inside(host.namespace, lambda: socket.socket(family, socket.SOCK_RAW, what))

    def message(self, kind, code, word):
        udp = struct.pack("!HHHH", self.port, self.port, 108, 0)
        if self.six:
            quoted = struct.pack("!IHBB", 6 << 28, 108, 17, 64) + socket.inet_pton(socket.AF_INET6, self.victim) + socket.inet_pton(socket.AF_INET6, self.peer) + udp
            return struct.pack("!BBHI", kind, code, 0, word) + quoted
        quoted = struct.pack("!BBHHHBBH", 0x45, 0, 128, 1, 0x4000, 64, 17, 0) + socket.inet_aton(self.victim) + socket.inet_aton(self.peer) + udp
        head = struct.pack("!BBHI", kind, code, 0, word)
        return struct.pack("!BBHI", kind, code, checksum(head + quoted), word) + quoted

    def run(self):
        # Port, host and network unreachable, forbidden; too large; no time left.
        lies = [(1, 4, 0), (1, 3, 0), (1, 0, 0), (1, 1, 0), (2, 0, 1280), (3, 0, 0)] if self.six else [(3, 3, 0), (3, 1, 0), (3, 0, 0), (3, 13, 0), (3, 4, 552), (11, 0, 0)]
        while not self.ended.wait(0.1):
            self.socket.sendto(self.message(*lies[self.sent % len(lies)]), (self.victim, 0))
            self.sent += 1

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.join()
        self.socket.close()


@pytest.mark.parametrize("version", (4, 6))
def test_forged_icmp_does_not_turn_the_cache_off(lab, version):
    """Who can't even see the link says that nobody listens at its other end, or that it takes small packets only.  Whether the child hears, only the child says."""
    near, far = ("10.8.2.1", "10.8.2.2") if version == 4 else ("fd08:2::1", "fd08:2::2")
    pair, s = streams(lab, rtt=4)
    with s:
        ends = (near, far) if version == 4 else (f"[{near}]", f"[{far}]")
        pair.parent.settings.update(local=f"{ends[0]}:4754", peer=f"{ends[1]}:4754")
        pair.child.settings.update(local=f"{ends[1]}:4754", peer=f"{ends[0]}:4754")
        pair.both()
        s.fetch(20)
        before = pair.parent.stats()["counters"]
        with Forger(pair.servers, near, far) as one, Forger(pair.clients, far, near) as other:
            wait_for(lambda: s.fetch(10) and min(one.sent, other.sent) > 40, 60, "four seconds of it")
        after = pair.parent.stats()["counters"]
        assert after["outages"] == before["outages"], pair.parent.said()
        assert after["hits"] > before["hits"] and pair.parent.at_work()
        assert "nobody listens" not in pair.parent.said()
        # Nothing of it goes in pieces: those could be forged, too.
        if version == 4:
            words = [line.split() for line in pair.near.run("cat", "/proc/net/snmp").splitlines() if line.startswith("Ip:")]
            assert dict(zip(*words))["FragCreates"] == "0"
        else:
            assert "Ip6FragCreates                  \t0" in pair.near.run("cat", "/proc/net/snmp6")


# ---- the guard ---------------------------------------------------------------------------------------------------------------

def guards_of(side):
    """Processes of the daemon that guard it."""
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", encoding="ascii", errors="replace") as f:
                text = f.read()
        except OSError:
            continue
        if "(pktcache-guard)" in text and int(text.rpartition(")")[2].split()[1]) == side.pid():
            found.append(int(name))
    return found


def derived(secret, label, n):
    """HKDF-SHA-256 (RFC 5869) without a salt."""
    key, out, block = hmac.digest(bytes(32), secret, "sha256"), b"", b""
    while len(out) < n:
        block = hmac.digest(key, block + label.encode() + bytes([len(out) // 32 + 1]), "sha256")
        out += block
    return out[:n]


def holds(pid, wanted):
    """Which of these bytes are in the memory of a process."""
    found = set()
    with open(f"/proc/{pid}/maps", encoding="ascii") as maps, open(f"/proc/{pid}/mem", "rb", 0) as memory:
        for line in maps:
            first, last = (int(x, 16) for x in line.split()[0].split("-"))
            if "r" not in line.split()[1] or last - first > 1 << 32:
                continue
            try:
                memory.seek(first)
                data = memory.read(last - first)
            except (OSError, ValueError):
                continue
            found |= {name for name, value in wanted.items() if value in data}
    return found


def test_the_guard_does_not_know_the_secret(lab):
    """Neither the first one nor the one that takes its place while the daemon is at work."""
    pair, s = streams(lab)
    with s:
        pair.both()
        with open(pair.secret, encoding="ascii") as f:
            digits = f.read().strip()
        secret = bytes.fromhex(digits)
        wanted = {"secret": secret, "its digits": digits.encode(), "key of fingerprints": derived(secret, "fairgate pktcache fingerprint", 64)[:32],
                  "key of the handshake": derived(secret, "fairgate pktcache handshake", 32)}
        assert "key of the handshake" in holds(pair.parent.pid(), wanted)       # this is how it would be found
        for side in (pair.parent, pair.child):
            first, = wait_for(lambda: guards_of(side), 5, "a guard")            # pylint: disable=cell-var-from-loop
            assert not holds(first, wanted)
            os.kill(first, signal.SIGKILL)
            second, = wait_for(lambda: [g for g in guards_of(side) if g != first], 5, "another guard")      # pylint: disable=cell-var-from-loop
            assert not holds(second, wanted)
        # The second one guards as the first one did.
        pair.child.signal(signal.SIGSTOP)
        wait_for(lambda: "does not go on" in pair.child.said(), 3, "the guard's word")
        pair.child.signal(signal.SIGCONT)
        wait_for(lambda: "goes on again" in pair.child.said(), 3, "the guard's word")
        s.fetch(4)


class Frozen:
    """A control group of processes that do not run; version 1 or 2, whichever there is."""

    def __init__(self, pids):
        name = f"fairgate-test-{os.getpid()}"
        self.home = next((d for d in ("/sys/fs/cgroup/freezer", "/sys/fs/cgroup/unified", "/sys/fs/cgroup") if os.path.exists(f"{d}/cgroup.procs")), None)
        if not self.home:
            pytest.skip("no control groups here")
        self.path, self.pids = f"{self.home}/{name}", pids
        self.file, self.words = ("freezer.state", ("FROZEN", "THAWED")) if self.home.endswith("freezer") else ("cgroup.freeze", ("1", "0"))

    def put(self, path, value):
        with open(path, "w", encoding="ascii") as f:
            f.write(str(value))

    def __enter__(self):
        os.mkdir(self.path)
        for pid in self.pids:
            self.put(f"{self.path}/cgroup.procs", pid)
        self.put(f"{self.path}/{self.file}", self.words[0])

    def __exit__(self, *_):
        self.put(f"{self.path}/{self.file}", self.words[1])
        for pid in self.pids:
            self.put(f"{self.home}/cgroup.procs", pid)
        wait_for(self.gone, 5, "the control group's end")

    def gone(self):
        try:
            os.rmdir(self.path)
            return True
        except OSError:
            return False


class Stopped:
    def __init__(self, pids):
        self.pids = pids

    def __enter__(self):
        for pid in self.pids:
            os.kill(pid, signal.SIGSTOP)

    def __exit__(self, *_):
        for pid in self.pids:
            os.kill(pid, signal.SIGCONT)


@pytest.mark.parametrize("role", ("parent", "child"))
@pytest.mark.parametrize("how", (Stopped, Frozen))
def test_daemon_and_guard_that_are_stopped_together_are_no_black_hole(lab, how, role):
    """Nobody is left to take the device down: the kernel lets packets pass by itself when the threads do not renew their lease."""
    pair, s = streams(lab, rtt=4, rate="200mbit")
    with s:
        pair.both()
        side = getattr(pair, role)
        s.fetch(20)
        fetch = s.begin(60)
        wait_for(lambda: pair.child.counters()["trains"] > 0, 20, "trains")
        with how([side.pid(), *guards_of(side)]):
            s.end(fetch, 60)            # what was there goes on
            s.fetch(10)                 # and what begins
            assert "fgpktcache0" in side.host.run("ip", "link")
        wait_for(lambda: pair.parent.at_work() and pair.child.at_work(), 10, "a session again")
        s.fetch(10)
        trains = pair.child.counters()["trains"]
        wait_for(lambda: s.fetch(10) and pair.child.counters()["trains"] > trains, 20, "trains again")


def test_a_kernel_that_takes_no_program_is_told_as_it_is(lab):
    """A machine that lets the daemon load none (a container without CAP_BPF): all else is as ever, and the log says which part is not.  It said "Bad file descriptor"."""
    pair, s = streams(lab)
    with s:
        pair.near.prefix = [*pair.near.prefix, "setpriv", "--bounding-set=-sys_admin,-bpf"]
        pair.both()
        assert "when daemon and guard are both stopped; then they would wait: Operation not permitted" in pair.parent.said()
        s.fetch(4)


# ---- other programs ------------------------------------------------------------------------------------------------------------

def rules_of(side):
    return sorted((side.host.run("ip", "rule") + side.host.run("ip", "-6", "rule")).splitlines())


def rules_go(side):
    """As systemd-networkd does, which takes away what it has not made."""
    for family in ("-4", "-6"):
        for line in side.host.run("ip", family, "rule").splitlines():
            priority = line.split(":")[0]
            if priority not in ("0", "32766", "32767"):
                # It may be gone by itself: the daemon takes away what is left before it sets all again.
                subprocess.run([*side.host.prefix, "ip", family, "rule", "del", "pref", priority], stderr=subprocess.DEVNULL, check=False)


@pytest.mark.parametrize("role", ("parent", "child"))
def test_rules_and_routes_that_others_delete_are_set_again(lab, role):
    pair, s = streams(lab, rtt=4)
    with s:
        pair.both()
        side = getattr(pair, role)
        before = rules_of(side)
        s.fetch(20)
        for _ in range(3):
            rules_go(side)
            wait_for(lambda: rules_of(side) == before, 3, "the rules")
        assert side.said().count("deleted routing rules of ours") == 1          # not a line for each time
        for family in ("-4", "-6"):
            side.host.run("ip", family, "route", "flush", "table", "4754")
        wait_for(side.route, 3, "the route")
        trains = pair.child.counters()["trains"]
        wait_for(lambda: s.fetch(10) and pair.child.counters()["trains"] > trains, 20, "trains again")
        # Who takes the device down wants it so.
        side.host.ip("link set fgpktcache0 down\n")
        rules_go(side)
        end = time.monotonic() + 2.5        # twice and more as long as it takes to set them again
        wait_for(lambda: rules_of(side) != before and time.monotonic() > end, 5, "time without rules")
        s.fetch(10)
        side.host.ip("link set fgpktcache0 up\n")
        wait_for(lambda: rules_of(side) == before and side.route(), 3, "all again")


# ---- versions --------------------------------------------------------------------------------------------------------------------

def word(secret, kind, version):
    """A HELLO (1) or WHO (4) as the other end would say it, of any version."""
    text = bytes([kind, version, 0, 1, 0]) + os.urandom(32)
    return text + hmac.digest(derived(secret, "fairgate pktcache handshake", 32), text, "sha256")[:16]


@pytest.mark.parametrize("role", ("parent", "child"))
def test_another_version_at_the_other_end_is_told(lab, role):
    """Who knows the secret is believed; of others nothing is said, whatever they send."""
    pair, s = streams(lab)
    with s:
        side, other = (pair.parent, pair.far) if role == "parent" else (pair.child, pair.near)
        here, there = ("10.8.2.2", "10.8.2.1") if role == "parent" else ("10.8.2.1", "10.8.2.2")
        side.start()
        with open(pair.secret, encoding="ascii") as f:
            secret = bytes.fromhex(f.read().strip())

        def open_socket():
            made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            made.bind((here, 4754))
            return made
        kind = 1 if role == "parent" else 4
        with inside(other.namespace, open_socket) as peer:
            refused = side.counters()["refused"]
            for _ in range(50):
                peer.sendto(word(os.urandom(32), kind, 7), (there, 4754))
            wait_for(lambda: side.counters()["refused"] >= refused + 50, 5, "strangers refused")
            assert "version" not in side.said() and side.stats()["peer_version"] == side.stats()["version"] == 4
            for _ in range(50):
                peer.sendto(word(secret, kind, 7), (there, 4754))
            wait_for(lambda: side.stats()["peer_version"] == 7, 5, "the version")
        assert "another version" in side.stats()["why"] and not side.stats()["at_work"]
        assert side.said().count("another version") == 1 and ": 7)" in side.said()
        s.fetch(4)


# ---- the service -----------------------------------------------------------------------------------------------------------------

def test_the_unit_is_started_again_until_the_address_is_there():
    """With RestartSec=1 and the usual limit of five starts in ten seconds, an address that came later found the unit failed for good."""
    unit = configparser.ConfigParser(strict=False, delimiters="=", interpolation=None)
    unit.optionxform = str
    unit.read(os.path.join(ROOT, "etc/systemd/fairgate-pktcache@.service"), encoding="utf-8")
    assert unit["Service"]["Restart"] == "always"
    assert unit["Unit"]["StartLimitIntervalSec"] == "0"
    assert unit["Unit"]["Wants"] == unit["Unit"]["After"] == "network-online.target"
    # What it needs to look after filters, too.
    assert "CAP_NET_RAW" in unit["Service"]["CapabilityBoundingSet"] and "AF_PACKET" in unit["Service"]["RestrictAddressFamilies"]
