# SPDX-License-Identifier: BSD-2-Clause
"""pktcache: what power the daemon's processes have, and what becomes of one that wants more."""

import ctypes
import mmap
import os
import platform
import pwd
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
import time

import pytest

from lab.lab import ROOT, program, wait_for
from lab.pair_paths import helpers_of, streams
from test_pktcache_hostile import derived, holds

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs network namespaces")

UNIT = os.path.join(ROOT, "etc/systemd/fairgate-pktcache@.service.in")
NET_ADMIN = 1 << 12
NOBODY = pwd.getpwnam("nobody")


def sanitized():
    with open(program("pktcache/fairgate-pktcache"), "rb") as f:
        return b"__asan_init" in f.read()


def threads(pid):
    """Each thread's status, as words by their names."""
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/status", encoding="ascii") as f:
            yield dict(line.split(":", 1) for line in f.read().splitlines())


def power_of(status):
    return {name: int(status[name], 16) for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")}


def nobody_can(what):
    """Whether a process of the daemon's user can do that."""
    pid = os.fork()
    if not pid:
        os.setgroups([])
        os.setresgid(NOBODY.pw_gid, NOBODY.pw_gid, NOBODY.pw_gid)
        os.setresuid(NOBODY.pw_uid, NOBODY.pw_uid, NOBODY.pw_uid)
        try:
            what()
            os._exit(0)
        except OSError:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


# ---- what each has -----------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("queues", (1, 3))
def test_each_process_has_what_it_needs_and_no_more(lab, queues):
    """It was root, with CAP_SYS_ADMIN, that parsed what strangers send."""
    pair, s = streams(lab)
    with s:
        pair.both(queues=queues, user="nobody")
        s.fetch(20)
        for side in (pair.parent, pair.child):
            seen = list(threads(side.pid()))
            assert len(seen) == 1 + queues
            for status in seen:
                assert set(power_of(status).values()) == {0} and status["NoNewPrivs"].strip() == "1", status
                assert sanitized() or status["Seccomp"].strip() == "2", status
                assert status["Uid"].split() == [str(NOBODY.pw_uid)] * 4 and status["Gid"].split() == [str(NOBODY.pw_gid)] * 4 and not status["Groups"].strip()
            helper, = helpers_of(side)
            for status in threads(helper):
                assert set(power_of(status).values()) == {NET_ADMIN} and status["NoNewPrivs"].strip() == "1", status
                assert status["Uid"].split() == [str(NOBODY.pw_uid)] * 4 and not status["Groups"].strip()
            # Nor can another process of that user look into one of them: the secret is there, or CAP_NET_ADMIN.
            for pid in (side.pid(), helper):
                if not sanitized():
                    with open(f"/proc/{pid}/mem", "rb"):
                        pass        # root can
                    assert not nobody_can(lambda: open(f"/proc/{pid}/mem", "rb").close())        # pylint: disable=cell-var-from-loop,consider-using-with
            # The device's descriptors are the first process's alone: it goes when that does.  Those of programs for the kernel are the other's.
            for pid, lacks in ((helper, "/dev/net/tun"), (side.pid(), "anon_inode:bpf-prog")):
                held = [os.readlink(f"/proc/{pid}/fd/{fd}") for fd in os.listdir(f"/proc/{pid}/fd")]
                assert lacks not in held and "anon_inode:bpf-map" not in held, held


def test_started_as_its_user_as_by_systemd(lab):
    """With the capabilities that the unit gives it, and no more: all works, the programs in the kernel too."""
    with open(UNIT, encoding="utf-8") as f:
        words = re.search("^AmbientCapabilities=(.*)$", f.read(), re.M).group(1).lower().replace("cap_", "").split()
    some = ",".join(f"+{w}" for w in words)
    pair, s = streams(lab, rtt=4)
    with s:
        os.chown(pair.secret, NOBODY.pw_uid, NOBODY.pw_gid)
        tun = os.path.join(lab.dir, "tun")
        os.mknod(tun, stat.S_IFCHR | 0o666, os.stat("/dev/net/tun").st_rdev)
        os.chmod(tun, 0o666)
        for side in (pair.parent, pair.child):
            os.mkdir(os.path.dirname(side.control))     # systemd: RuntimeDirectory
            os.chown(os.path.dirname(side.control), NOBODY.pw_uid, NOBODY.pw_gid)
            # udev: anybody may open it, and needs CAP_NET_ADMIN to make a device
            side.host.prefix = [*side.host.prefix, "sh", "-c", 'mount --bind "$0" /dev/net/tun && exec "$@"', tun, "setpriv", f"--reuid={NOBODY.pw_uid}", f"--regid={NOBODY.pw_gid}", "--clear-groups", "--no-new-privs",
                                f"--inh-caps=-all,{some}", f"--ambient-caps=-all,{some}", f"--bounding-set=-all,{some}"]
        pair.both(queues=2, user="no-such-user-here")       # that is for root
        s.fetch(20)
        for side in (pair.parent, pair.child):
            assert all(set(power_of(status).values()) - {power_of(status)["CapBnd"]} <= {0} and not power_of(status)["CapEff"] for status in threads(side.pid()))
        trains = pair.child.counters()["trains"]
        wait_for(lambda: s.fetch(10) and pair.child.counters()["trains"] > trains, 20, "trains")
        assert pair.child.stop() == 0 and pair.parent.stop() == 0
        assert not os.path.exists(pair.parent.control)


@pytest.mark.may_skip("where the packages have made that user")
def test_without_a_user_of_its_own_it_says_so(lab):
    try:
        pwd.getpwnam("fairgate-pktcache")
        pytest.skip("there is that user here")
    except KeyError:
        pass
    pair, s = streams(lab)
    with s:
        pair.parent.start(user="fairgate-pktcache")
        assert "no user fairgate-pktcache, so it is nobody" in pair.parent.said()
        pair.child.write(user="no-such-user-here")
        done = subprocess.run([*pair.far.prefix, program("pktcache/fairgate-pktcache"), "--child", pair.child.config], capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 1 and "user no-such-user-here: there is no such user" in done.stderr
        assert "fgpktcache" not in pair.far.run("ip", "link")


# ---- who wants more -------------------------------------------------------------------------------------------------------------

class Registers(ctypes.Structure):
    """user_regs_struct of x86-64."""
    _fields_ = [(name, ctypes.c_ulonglong) for name in
                ("r15 r14 r13 r12 rbp rbx r11 r10 r9 r8 rax rcx rdx rsi rdi orig_rax rip cs eflags rsp ss fs_base gs_base ds es fs gs").split()]


def makes(thread, number, *arguments):
    """A thread that has been taken over: it is in the kernel, and makes this system call then.  Whether it was there."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]

    def trace(what, data=None):
        if libc.ptrace(what, thread, None, data) < 0:
            raise OSError(ctypes.get_errno(), f"ptrace {what}")
    registers = Registers()
    trace(16)                                                       # PTRACE_ATTACH
    os.waitpid(thread, 0x40000000)                                  # __WALL
    trace(12, ctypes.addressof(registers))                          # PTRACE_GETREGS
    registers.rip -= 2                                              # the instruction that it went into the kernel by
    with open(f"/proc/{thread}/mem", "rb", 0) as memory:
        memory.seek(registers.rip)
        there = memory.read(2) == b"\x0f\x05"
    if there:
        registers.orig_rax = (1 << 64) - 1                          # which is not begun again
        registers.rax = number
        for name, value in zip(("rdi", "rsi", "rdx", "r10", "r8", "r9"), arguments):
            setattr(registers, name, value & (1 << 64) - 1)
        trace(13, ctypes.addressof(registers))                      # PTRACE_SETREGS
    trace(17)                                                       # PTRACE_DETACH
    return there


GETPID = (39,)
WANTED = {
    "a program": (59, 0, 0, 0), "a process": (57,), "a file": (257, -100, 0, 0), "to look into another": (101, 16, 1, 0, 0), "to end another": (62, 1, 9),
    "to end a thread of another": (234, 1, 1, 9), "code": (9, 0, 4096, mmap.PROT_READ | mmap.PROT_EXEC, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0),
    "its memory as code": (10, 0, 4096, mmap.PROT_EXEC), "a raw socket": (41, socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW),
    "a packet socket": (41, socket.AF_PACKET, socket.SOCK_RAW, 0), "a way to the packet filter": (41, socket.AF_NETLINK, socket.SOCK_RAW, 12),
    "to connect": (42, 0, 0, 0), "a program in the kernel": (321, 5, 0, 0), "the device down": (16, 0, 0x8914, 0), "another filter": (54, 0, 1, 26, 0, 0),
    "to be root": (105, 0), "another namespace": (272, 0x10000000),
}


@pytest.mark.skipif(platform.machine() != "x86_64", reason="registers of x86-64")
@pytest.mark.may_skip("the registers are those of x86-64; a sanitizer needs calls that nobody else does")
@pytest.mark.parametrize("role", ("parent", "child"))
def test_who_has_taken_it_over_gets_no_further(lab, role):
    """A thread that reads packets makes a system call that it should not: that is its end, and packets take their plain way."""
    if sanitized():
        pytest.skip("a sanitizer makes those calls")
    pair, s = streams(lab, rate="200mbit", rtt=4)
    with s:
        pair.both()
        side = getattr(pair, role)
        fetch = s.begin(400)

        def lane():
            return max(int(thread) for thread in os.listdir(f"/proc/{side.pid()}/task"))

        def goes_on():
            trains = pair.child.counters()["trains"]
            wait_for(lambda: pair.child.counters()["trains"] > trains + 10, 20, "trains")
        wait_for(lambda: pair.child.counters()["trains"] > 100, 20, "trains")
        wait_for(lambda: makes(lane(), *GETPID), 10, "a moment in the kernel")      # this is how it is done
        goes_on()
        for what, call in WANTED.items():
            wait_for(lambda: makes(lane(), *call), 10, "a moment in the kernel")        # pylint: disable=cell-var-from-loop
            assert side.process.wait(10) == -signal.SIGSYS, what
            side.start()
            wait_for(lambda: pair.parent.at_work() and pair.child.at_work(), 10, "a session again")
        fetch.terminate()
        s.end(fetch)


def pidfd_getfd(pid, fd):
    libc = ctypes.CDLL(None, use_errno=True)
    got = libc.syscall(438, os.pidfd_open(pid), fd, 0)
    if got < 0:
        raise OSError(ctypes.get_errno(), "pidfd_getfd")
    return socket.socket(fileno=got)


def way_to_helper(side):
    """The descriptor by which the daemon asks its helper."""
    for fd in sorted(int(fd) for fd in os.listdir(f"/proc/{side.pid()}/fd")):
        if os.readlink(f"/proc/{side.pid()}/fd/{fd}").startswith("socket:"):
            found = pidfd_getfd(side.pid(), fd)
            if found.family == socket.AF_UNIX and found.type & 15 == socket.SOCK_SEQPACKET:
                return found
            found.close()
    raise AssertionError("no way to the helper")


def test_what_can_be_asked_of_the_helper(lab):
    """All that a process which has been taken over can have done: the secret's file is opened once more, or packets are led no longer.  What is no question ends it."""
    pair, s = streams(lab, rtt=4)
    with s:
        pair.both()
        side = pair.parent
        links = side.host.run("ip", "-o", "link", "show", "up")
        with way_to_helper(side) as way:
            way.send(b"\x00")
            data, fds, _, _ = socket.recv_fds(way, 1024, 4)
            assert not data[0] and len(fds) == 1 and os.path.samestat(os.fstat(fds[0]), os.stat(pair.secret))
            os.close(fds[0])
        assert side.at_work() and side.hooks() == 3
        with way_to_helper(side) as way:
            way.send(b"\x01")
        assert side.process.wait(10) == 1 and "the helper is gone" in side.said()
        assert not side.hooks() and side.host.run("ip", "-o", "link", "show", "up") == "".join(line for line in links.splitlines(True) if "fgpktcache0" not in line)
        s.fetch(10)
        for question in (b"\x02", b"\xff", b"\x00\x00", b"\x00" * 4000):
            side.start()
            with way_to_helper(side) as way:
                way.send(question)
            assert side.process.wait(10) == -signal.SIGKILL, question
        assert side.said().count("is not itself any more") == 4
        s.fetch(10)


class Told:
    """What a daemon that has been taken over tells its helper of where the other end is (pk_lead.h, pk_shared)."""
    ADDRESS = 24

    def __init__(self, side, known):
        """known: the address that is there."""
        self.side, wanted = side, self.bytes_of(known)
        with open(f"/proc/{side.pid()}/maps", encoding="ascii") as f:
            regions = [int(line.split("-")[0], 16) for line in f if re.match(r"\S+ rw-s .*/dev/zero", line)]
        with open(f"/proc/{side.pid()}/mem", "rb", 0) as memory:
            self.at, = (at for at in regions if os.pread(memory.fileno(), 16, at + self.ADDRESS) == wanted)

    @staticmethod
    def bytes_of(address):
        return bytes(10) + b"\xff\xff" + socket.inet_aton(address) if "." in address else socket.inet_pton(socket.AF_INET6, address)

    def tell(self, address):
        with open(f"/proc/{self.side.pid()}/mem", "r+b", 0) as memory:
            moved = int.from_bytes(os.pread(memory.fileno(), 4, self.at + self.ADDRESS - 8), sys.byteorder)
            os.pwrite(memory.fileno(), self.bytes_of(address), self.at + self.ADDRESS)
            os.pwrite(memory.fileno(), (moved + 2).to_bytes(4, sys.byteorder), self.at + self.ADDRESS - 8)


def test_who_is_everywhere_is_followed_now_and_then(lab):
    """A daemon that has been taken over names other addresses as fast as it can: its helper takes packets from other devices some times, says so in some lines, and goes back in the end."""
    pair, s = streams(lab, rtt=4)
    with s:
        side = pair.parent.start(wait=False, peer="any")
        wait_for(lambda: os.path.exists(side.control), 10, "who answers")
        assert not side.at_work()       # it said so before its first turn
        pair.child.start(wait=False)
        wait_for(lambda: side.at_work() and pair.child.at_work(), 10, "a session")
        told = Told(side, "10.8.2.2")
        before = len(side.said().splitlines())
        told.tell("fd08:2::2")      # of another family than `local`
        time.sleep(0.5)
        assert side.said().count("packets are taken from") == 1
        end, last = time.monotonic() + 10, "10.8.2.2"
        while time.monotonic() < end:
            last = "10.8.1.2" if last == "10.8.2.2" else "10.8.2.2"
            told.tell(last)
            time.sleep(0.25)        # it looks ten times a second
        assert 4 <= side.said().count("packets are taken from") <= 1 + 16 + 3
        assert side.said().count("said to be elsewhere too often; that is believed once in 5 s now") == 1
        assert len(side.said().splitlines()) - before <= 24, side.said()
        told.tell("10.8.2.2")
        wait_for(lambda: re.findall(r"packets are taken from (\S+)", side.said())[-1] == "link0", 15, "the link's device")
        wait_for(pair.parent.at_work, 10, "the parent at work")
        s.fetch(10)


def test_the_helper_does_not_know_the_secret(lab):
    pair, s = streams(lab)
    with s:
        pair.both()
        with open(pair.secret, encoding="ascii") as f:
            digits = f.read().strip()
        secret = bytes.fromhex(digits)
        wanted = {"secret": secret, "its digits": digits.encode(), "key of the handshake": derived(secret, "fairgate pktcache handshake", 32)}
        assert "key of the handshake" in holds(pair.parent.pid(), wanted)       # this is how it would be found
        for side in (pair.parent, pair.child):
            side.signal(signal.SIGHUP)
            wait_for(lambda: "was read again" in side.said(), 5, "the secret, once more")           # pylint: disable=cell-var-from-loop
            assert not holds(helpers_of(side)[0], wanted)
        s.fetch(4)


def test_a_helper_that_ends_is_the_daemons_end(lab):
    """Nobody would lead packets.  Who started the daemon starts it again."""
    pair, s = streams(lab, rtt=4, rate="200mbit")
    with s:
        pair.both()
        fetch = s.begin(60)
        for side in (pair.parent, pair.child):
            helper, = helpers_of(side)
            os.kill(helper, signal.SIGKILL)
            assert side.process.wait(10) == 1 and "the helper is gone" in side.said()
            side.start()
        wait_for(lambda: pair.parent.at_work() and pair.child.at_work(), 10, "a session again")
        s.end(fetch)


def test_a_helper_that_is_stopped_stops_nothing(lab):
    """It is not there for packets; who has stopped it lets it go on, or the daemon ends when it is asked for something in vain."""
    pair, s = streams(lab, rtt=4)
    with s:
        pair.both()
        helper, = helpers_of(pair.parent)
        os.kill(helper, signal.SIGSTOP)
        s.fetch(10)
        s.fetch(10)
        assert pair.parent.at_work()
        os.kill(helper, signal.SIGCONT)


# ---- the unit --------------------------------------------------------------------------------------------------------------------

def test_the_unit_gives_what_is_needed_and_no_more(tmp_path):
    """`systemd-analyze security` counted 6.6 ("MEDIUM")."""
    with open(UNIT, encoding="utf-8") as f:
        text = f.read()
    have = [line.split("=", 1) for line in text.splitlines() if "=" in line and line[0] not in "#["]
    settings = dict(have)
    assert set(settings["AmbientCapabilities"].split()) == set(settings["CapabilityBoundingSet"].split()) == {"CAP_NET_ADMIN", "CAP_BPF"}
    assert settings["User"] == settings["Group"] == "fairgate-pktcache" and settings["NoNewPrivileges"] == "yes"
    with open(os.path.join(ROOT, "etc/sysusers.d/fairgate-pktcache.conf"), encoding="utf-8") as f:
        assert re.search(r"^u\s+fairgate-pktcache\s", f.read(), re.M)
    if not shutil.which("systemd-analyze"):
        return
    unit = tmp_path / "fairgate-pktcache@parent.service"
    unit.write_text(text.replace("@sbindir@/fairgate-pktcache", program("pktcache/fairgate-pktcache")))
    r = subprocess.run(["systemd-analyze", "verify", "--man=no", unit], capture_output=True, text=True, check=False)
    assert not [line for line in r.stderr.splitlines() if "fairgate-pktcache" in line], r.stderr
    r = subprocess.run(["systemd-analyze", "security", "--offline=true", "--no-pager", unit], capture_output=True, text=True, check=False)
    exposure = re.search(r"Overall exposure level for \S+: ([0-9.]+)", r.stdout)
    assert exposure and float(exposure.group(1)) <= 2.0, r.stdout + r.stderr
