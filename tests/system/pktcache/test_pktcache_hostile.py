# SPDX-License-Identifier: BSD-2-Clause
"""pktcache: what strangers send, and what other programs on the machine do to it."""

import configparser
import contextlib
import hmac
import json
import os
import signal
import socket
import struct
import subprocess
import threading
import time

import pytest

from lab.lab import ROOT, program, wait_for
from lab.net import inside
from lab.pair_paths import helpers_of, streams

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs network namespaces")


# ---- forged ICMP -------------------------------------------------------------------------------------------------------------

def checksum(data):
    total = sum(struct.unpack(f"!{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return 0xffff & ~total


class Forger(threading.Thread):
    """A stranger: says to `victim` so many times a second, as a router would, that its datagrams to `peer` can't get there."""

    def __init__(self, host, victim, peer, rate, port=4754):
        super().__init__(daemon=True)
        self.rate = rate
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
        begun = time.monotonic()
        while not self.ended.wait(min(0.1, 10 / self.rate)):
            while self.sent < (time.monotonic() - begun) * self.rate:
                self.socket.sendto(self.message(*lies[self.sent % len(lies)]), (self.victim, 0))
                self.sent += 1

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.ended.set()
        self.join()
        self.socket.close()


@pytest.mark.parametrize("rate", (10, 1000))
@pytest.mark.parametrize("version", (4, 6))
def test_forged_icmp_does_not_turn_the_cache_off(lab, version, rate):
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
        with Forger(pair.servers, near, far, rate) as one, Forger(pair.clients, far, near, rate) as other:
            wait_for(lambda: s.fetch(10) and min(one.sent, other.sent) > 4 * rate, 60, "four seconds of it")
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


# ---- the lease -----------------------------------------------------------------------------------------------------------------

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
def test_a_daemon_that_is_stopped_is_no_black_hole(lab, how, role):
    """Together with its helper, nobody is left to do anything: the kernel lets packets pass by itself when the threads do not renew their lease."""
    pair, s = streams(lab, rtt=4, rate="200mbit")
    with s:
        pair.both()
        side = getattr(pair, role)
        s.fetch(20)
        fetch = s.begin(60)
        wait_for(lambda: pair.child.counters()["trains"] > 0, 20, "trains")
        with how([side.pid(), *helpers_of(side)]):
            s.end(fetch, 60)            # what was there goes on
            s.fetch(10)                 # and what begins
            assert "fgpktcache0" in side.host.run("ip", "link")
        wait_for(lambda: pair.parent.at_work() and pair.child.at_work(), 10, "a session again")
        s.fetch(10)
        trains = pair.child.counters()["trains"]
        wait_for(lambda: s.fetch(10) and pair.child.counters()["trains"] > trains, 20, "trains again")


def test_a_machine_that_takes_no_program_is_told_so(lab):
    """A container without CAP_BPF: the daemon says what it lacks and ends, and leaves nothing; packets go on."""
    pair, s = streams(lab)
    with s:
        pair.near.prefix = [*pair.near.prefix, "setpriv", "--bounding-set=-sys_admin,-bpf"]
        pair.parent.start(wait=False)
        assert pair.parent.process.wait(10) == 1
        assert "takes no programs" in pair.parent.said() and "Operation not permitted" in pair.parent.said()
        assert "fgpktcache" not in pair.near.run("ip", "link") and not pair.parent.hooks()
        s.fetch(4)


# ---- other programs ------------------------------------------------------------------------------------------------------------

def filters_go(side):
    """All at once, as somebody who sets up traffic shaping takes them; and one by one."""
    yield side.host.run("tc", "qdisc", "del", "dev", "link0", "clsact")
    yield side.host.run("tc", "filter", "del", "dev", "link0", "ingress", "pref", "4754")


@pytest.mark.parametrize("role", ("parent", "child"))
def test_filters_that_others_take_away_are_put_back(lab, role):
    pair, s = streams(lab, rtt=4)
    with s:
        pair.both()
        side = getattr(pair, role)
        whole = side.hooks()
        s.fetch(20)
        for _ in range(3):
            for _ in filters_go(side):
                wait_for(lambda: side.hooks() == whole, 3, "the filters")
        assert side.said().count("may have taken our filters") == 1         # not a line for each time
        trains = pair.child.counters()["trains"]
        wait_for(lambda: s.fetch(10) and pair.child.counters()["trains"] > trains, 20, "trains again")


def test_filters_of_others_stay(lab):
    """What they count, ours leaves to them; what they do not have, neither."""
    pair, s = streams(lab, rtt=4)
    with s:
        for side in (pair.near, pair.far):
            side.run("tc", "qdisc", "add", "dev", "link0", "clsact")
            for way in ("ingress", "egress"):
                side.run("tc", "filter", "add", "dev", "link0", way, "pref", "9000", "protocol", "ip", "u32", "match", "ip", "protocol", "6", "0xff", "classid", "1:1")

        def others():
            return [side.run("tc", "filter", "show", "dev", "link0", way).count("u32 chain 0 fh 800::800") for side in (pair.near, pair.far) for way in ("ingress", "egress")]
        before = others()
        assert all(before)
        pair.both()
        s.fetch(10)
        s.fetch(10)
        assert pair.child.counters()["hits"] > 1000
        assert pair.parent.stop() == 0 and pair.child.stop() == 0
        assert others() == before and not pair.parent.hooks() + pair.child.hooks()


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
            assert "version" not in side.said() and side.stats()["peer_version"] == side.stats()["version"] == 5
            for _ in range(50):
                peer.sendto(word(secret, kind, 7), (there, 4754))
            wait_for(lambda: side.stats()["peer_version"] == 7, 5, "the version")
        assert "another version" in side.stats()["why"] and not side.stats()["at_work"]
        assert side.said().count("another version") == 1 and ": 7)" in side.said()
        s.fetch(4)


# ---- a new secret ----------------------------------------------------------------------------------------------------------------

def test_a_new_secret_under_load(lab):
    """One end after the other takes it; no connection stands still, what is stored stays, and in the end the former one is good for nothing."""
    pair, s = streams(lab, rtt=4, rate="200mbit")
    with s:
        pair.both()
        s.fetch(20)
        fetch = s.begin(200)
        stored = pair.parent.counters()["stored"]
        assert not subprocess.run([program("pktcache/fairgate-pktcache"), "keygen", "--rotate", pair.secret], check=False).returncode
        with open(pair.secret, encoding="ascii") as f:
            newest, former = f.read().split()

        def reload(side, what):
            before = side.said().count("was read again")
            side.signal(signal.SIGHUP)
            wait_for(lambda: side.said().count("was read again") > before, 5, "the secret, read again")
            assert what in side.said().splitlines()[-1]
        reload(pair.child, "a new one, and the former one")
        hits = pair.child.counters()["hits"]
        wait_for(lambda: pair.child.counters()["hits"] > hits, 10, "trains")
        assert pair.child.counters()["sessions"] == pair.parent.counters()["sessions"] == 1
        pair.child.stop()
        pair.child.start()          # it has both, the parent has the former one
        wait_for(lambda: pair.parent.at_work() and pair.child.at_work(), 10, "a session")
        reload(pair.parent, "a new one, and the former one")
        pair.child.stop()
        pair.child.start()
        wait_for(lambda: pair.parent.at_work() and pair.child.at_work(), 10, "a session")
        # Nobody has the former one any more.
        with open(pair.secret, "w", encoding="ascii") as f:
            f.write(newest + "\n")
        reload(pair.parent, "one;")
        pair.child.stop()
        pair.child.start()
        wait_for(lambda: pair.parent.at_work() and pair.child.at_work(), 10, "a session")
        assert pair.parent.counters()["stored"] >= stored
        fetch.terminate()
        s.end(fetch)
        with open(pair.secret, "w", encoding="ascii") as f:
            f.write(former + "\n")
        pair.child.stop()
        pair.child.start()
        refused = pair.parent.counters()["refused"]
        wait_for(lambda: pair.parent.counters()["refused"] > refused + 3, 10, "a stranger")
        assert not pair.child.at_work()
        # What is wrong is said, and what was good stays so.
        with open(pair.secret, "w", encoding="ascii") as f:
            f.write("0\n")
        pair.parent.signal(signal.SIGHUP)
        wait_for(lambda: "64 hexadecimal digits" in pair.parent.said(), 5, "what is wrong")
        s.fetch(4)


# ---- the service -----------------------------------------------------------------------------------------------------------------

def test_the_unit_is_started_again_until_the_address_is_there():
    """With RestartSec=1 and the usual limit of five starts in ten seconds, an address that came later found the unit failed for good."""
    unit = configparser.ConfigParser(strict=False, delimiters="=", interpolation=None)
    unit.optionxform = str
    unit.read(os.path.join(ROOT, "etc/systemd/fairgate-pktcache@.service.in"), encoding="utf-8")
    assert unit["Service"]["Restart"] == "always"
    assert unit["Unit"]["StartLimitIntervalSec"] == "0"
    assert unit["Unit"]["Wants"] == unit["Unit"]["After"] == "network-online.target"
    # What power it has: test_pktcache_power.py.


ESCAPES = "\x1b]0;owned\x07 \x9b2J \u202e sent"


def untrusted_daemon(path, answers):
    """A control socket as a daemon that was taken over answers it."""
    s = socket.socket(socket.AF_UNIX)
    s.bind(str(path))
    s.listen(8)

    def serve():
        with contextlib.suppress(OSError):
            while True:
                c, _ = s.accept()
                with c:
                    c.sendall(answers[c.recv(64).decode().strip()].encode())
    threading.Thread(target=serve, daemon=True).start()
    return s


@pytest.mark.parametrize("words", [("stats",), ("stats", "--prometheus"), ("top",), ("test", "--seconds", "1")], ids=" ".join)
def test_text_of_the_daemon_cannot_control_the_terminal_of_root(tmp_path, words):
    """`top`, `stats` and `test` printed whatever a daemon of less privilege sent, escape sequences as well."""
    report = {"role": ESCAPES, "at_work": False, "why": ESCAPES, "flows": 1, "counters": {},
              "connections": [{"from": ESCAPES, "from_port": 1, "to": "::ffff:192.0.2.1", "to_port": 80}]}
    with contextlib.closing(untrusted_daemon(tmp_path / "control", {"json": json.dumps(report, ensure_ascii=False), "prometheus": f"# {ESCAPES}\n"})):
        command = subprocess.Popen([program("pktcache/fairgate-pktcache"), *words, tmp_path / "control"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   text=True, errors="surrogateescape")
        try:
            printed = command.communicate(timeout=4)[0]
        except subprocess.TimeoutExpired:       # top goes on
            command.kill()
            printed = command.communicate()[0]
    assert "owned" in printed, printed
    printed = printed.replace("\x1b[H\x1b[2J", "")      # top's own
    assert all(c in "\n\t" or c.isprintable() for c in printed), ascii(printed)
