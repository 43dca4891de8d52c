# SPDX-License-Identifier: BSD-2-Clause
"""etc/iptables/fairgate-transparent: start, stop and status.  What others have set up stays; a start that fails or is ended leaves nothing; what
is wrong is said before anything is touched.
"""

import os
import re
import shutil
import subprocess

import pytest
from transparent import HTB_WORDS, HTTPS_WORDS, SCRIPT, SERVER, UPLINK_WORDS, client, get

pytestmark = pytest.mark.usefixtures("stopped")

FOREIGN = """
iptables -t nat -A PREROUTING -i down0 -p tcp --dport 8022 -j DNAT --to-destination 10.1.1.1:22
iptables -t nat -A POSTROUTING -o down0 -s 10.1.9.0/24 -j MASQUERADE
iptables -t mangle -A PREROUTING -i lan0 -p udp -j MARK --set-mark 0x5
iptables -t mangle -N THEIRS
iptables -t mangle -A POSTROUTING -j THEIRS
ip6tables -t mangle -A PREROUTING -i lan0 -p udp -j MARK --set-mark 0x5
ip6tables -t filter -A FORWARD -p tcp --dport 25 -j DROP
ip rule add fwmark 0x5 lookup 55
ip rule add from 10.1.9.0/24 lookup 56 protocol 42
ip route add local default dev lo table 55
ip route add 10.99.0.0/16 via 10.2.0.1
ip -6 rule add fwmark 0x5 lookup 55
"""


@pytest.fixture
def foreign(router):
    """What somebody else has set up on this router."""
    lines = [line.split() for line in FOREIGN.strip().splitlines()]
    for words in lines:
        router.field.gateway.run(*words)
    yield router.state()
    opposite = {"-A": "-D", "-N": "-X", "add": "del"}
    router.stop()
    for words in reversed(lines):
        router.field.gateway.run(*(opposite.get(w, w) for w in words))


@pytest.mark.parametrize("words", ((), UPLINK_WORDS, HTB_WORDS, HTTPS_WORDS), ids=("plain", "priority", "htb", "https"))
@pytest.mark.parametrize("mode", ("redirect", "tproxy"))
def test_start_start_stop_stop(router, foreign, mode, words):
    router.stop()
    assert router.state() == foreign
    router.start(*words, mode=mode)
    once = router.state()
    assert once != foreign and set(filter(re.compile("DNAT|MASQ|MARK|THEIRS|DROP|55|56|10.99").search, foreign)) <= set(once)
    router.start(*words, mode=mode)
    # The kernel numbers the classes' own queues anew each time.
    new = re.compile(r"leaf \w+: |bfifo \w+: |direct_packets_stat \d+")
    again, first = (sorted(new.sub("", line) for line in lines) for lines in (router.state(), once))
    assert again == first
    router.stop()
    assert router.state() == foreign
    router.stop()
    assert router.state() == foreign


def test_another_start_replaces_the_one_before(router, foreign):
    router.start("--table", "80", "--mark", "0x40", *UPLINK_WORDS, mode="tproxy")
    router.start("--families", "4", mode="redirect")
    alone = router.state()
    router.stop()
    router.start("--families", "4", mode="redirect")
    assert router.state() == alone
    assert router.script("status").stdout.count("IPv") == 1
    for mode in ("tproxy", "redirect"):
        router.start(*HTTPS_WORDS, mode=mode)
        router.start("--families", "4", mode="redirect")
        assert router.state() == alone


STATUS = {
    "redirect": (r"redirect: what lan0 sends to port 80 goes to port 3129\n  IPv4: 0 .*\n  IPv6: 0 .*\n$",
                 ["iptables -t nat -F FAIRGATE-WEB",
                  "ip6tables -t nat -D PREROUTING -m comment --comment fairgate-transparent -j FAIRGATE"]),
    "tproxy": (r"tproxy: what lan0 sends to port 80 goes to port 3129\n",
               ["ip rule del fwmark 0x1000000/0x1000000 lookup 70", "ip -6 route flush table 70",
                "ip6tables -t mangle -D PREROUTING -m comment --comment fairgate-transparent -j FAIRGATE"]),
}


@pytest.mark.parametrize("mode", STATUS)
def test_status(router, mode):
    says, losses = STATUS[mode]
    nothing = router.script("status", check=False)
    assert (nothing.returncode, nothing.stdout) == (3, "fairgate-transparent: nothing is there\n")
    for loss in losses:
        router.start(mode=mode)
        whole = router.script("status", check=False)
        assert whole.returncode == 0 and re.search(says, whole.stdout), whole.stdout
        router.field.gateway.run(*loss.split())
        part = router.script("status", check=False)
        assert part.returncode == 3 and "missing: " in part.stdout, (loss, part.stdout)
        router.stop()
    for loss in ("iptables -t filter -D FORWARD -m comment --comment fairgate-transparent -j FAIRGATE", "ip6tables -t filter -F FAIRGATE-QUIC"):
        router.start(*HTTPS_WORDS, mode=mode)
        whole = router.script("status").stdout
        assert re.search(r"port 443 goes to port 3130\n  UDP to port 443 is refused\n", whole) and whole.count("connections to port 443 taken") == 2
        router.field.gateway.run(*loss.split())
        part = router.script("status", check=False)
        assert part.returncode == 3 and "missing: " in part.stdout, (loss, part.stdout)
        router.stop()
    router.start(*UPLINK_WORDS, mode=mode)
    assert re.search(r"uplink down0: priority\n    class fa17:10: .*\n    class fa17:20: ", router.script("status").stdout)
    router.field.gateway.run("tc", "qdisc", "del", "dev", "down0", "root")
    assert "missing: the qdisc" in router.script("status", check=False).stdout


def disguise(directory, tool, text):
    """A shell script in place of the tool, which it knows as $real."""
    fake = directory / tool
    fake.write_text(f"#!/bin/sh\nreal={shutil.which(tool)}\n{text}\n")
    fake.chmod(0o755)


TOOLS = {"redirect": ("iptables-restore", "ip6tables-restore", "tc"), "tproxy": ("iptables-restore", "ip6tables-restore", "tc", "ip")}


@pytest.mark.parametrize("mode, tool", [(mode, tool) for mode in TOOLS for tool in TOOLS[mode]])
def test_a_start_that_fails_half_way_leaves_nothing(router, foreign, tmp_path, mode, tool):
    """One of the tools fails, those that change something late: tc for the second class, ip for a route of IPv6."""
    when = {"tc": "*'classid fa17:20'*", "ip": "'-6 route add'*"}.get(tool, "*")
    disguise(tmp_path, tool, f'case "$*" in *--test*) ;; {when}) echo "{tool} fails" >&2; exit 1 ;; esac\nexec "$real" "$@"')
    r = router.script("--lan", "lan0", "--mode", mode, *UPLINK_WORDS, "start", check=False, path=tmp_path)
    assert r.returncode == 1 and f"{tool} fails" in r.stderr and "not started; what had been made is removed" in r.stderr
    assert router.state() == foreign


# How many calls of tools in a first start change something; status is whole after the last.
CHANGES = {"redirect": 8, "tproxy": 12}


@pytest.mark.parametrize("signal", ("TERM", "KILL"))
@pytest.mark.parametrize("mode", CHANGES)
def test_a_start_that_is_ended_half_way(router, foreign, tmp_path, mode, signal):
    """After each of its changes.  TERM, and more of them while it cleans up: nothing is left, of an earlier start neither; KILL: stop
    cleans up."""
    for tool in ("iptables", "ip6tables", "iptables-restore", "ip6tables-restore", "ip", "tc"):
        # One that cleans up counts too: it comes after the change at which the first signal was.
        disguise(tmp_path, tool, f"""
            case "$*" in
                *--test*) exec "$real" "$@" ;;
                *--noflush*|*' add '*) changes=$(($(cat {tmp_path}/changes) + 1)); echo $changes > {tmp_path}/changes ;;
                *' -D '*|*' -F '*|*' -X '*|*' del '*|*' flush '*) changes=$(cat {tmp_path}/changes) ;;
                *) exec "$real" "$@" ;;
            esac
            "$real" "$@"
            status=$?
            [ $changes -lt $AT ] || kill -{signal} $SCRIPT_PID 2> /dev/null
            exit $status""")
    words = ("--lan", "lan0", "--mode", mode, *UPLINK_WORDS, "start")

    def start(at):
        (tmp_path / "changes").write_text("0")
        environment = dict(os.environ, PATH=f"{tmp_path}:{os.environ['PATH']}", AT=str(at))
        return subprocess.run([*router.field.gateway.prefix, "sh", "-c", 'export SCRIPT_PID=$$; exec "$@"', "sh", SCRIPT, *words],
                              capture_output=True, text=True, timeout=60, env=environment)
    for at in range(1, CHANGES[mode] + 1):
        if at % 2 == 0 and signal == "TERM":
            router.start(mode="tproxy" if mode == "redirect" else "redirect")
        r = start(at)
        if signal == "KILL":
            assert r.returncode == -9, (at, r)
            assert router.state() != foreign
            router.stop()
        else:
            assert r.returncode == 130 and "not started; what had been made is removed" in r.stderr, (at, r)
        assert router.state() == foreign, at
    assert start(CHANGES[mode] + 1).returncode == 0
    assert router.script("status").returncode == 0


MANY_PORTS = ",".join(str(60000 + i) for i in range(15))
MANY_DEVICES = ",".join(f"long-device-{i:03}" for i in range(10))


REFUSED = {
    "no-lan": (["start"], 2, "where are the clients"),
    "no-command": (["--lan", "lan0"], 2, "start, stop or status"),
    "unknown": (["--lna", "lan0", "start"], 2, 'no setting "lna"'),
    "no-value": (["start", "--lan"], 2, "--lan needs a value"),
    "no-device": (["--lan", "lan7", "start"], 1, "no device lan7"),
    "mode": (["--lan", "lan0", "--mode", "dnat", "start"], 2, "redirect, tproxy and site"),
    "port": (["--lan", "lan0", "--port", "70000", "start"], 2, "not a port"),
    "ports": (["--lan", "lan0", "--ports", "80;reboot", "start"], 2, "not a port"),
    "except": (["--lan", "lan0", "--except", "www.example.org", "start"], 2, "neither an address nor CIDR"),
    "https": (["--lan", "lan0", "--https", "x", "start"], 2, "not a port"),
    "https-port": (["--lan", "lan0", "--https", "3129", "start"], 2, "two ports of Squid"),
    "https-twice": (["--lan", "lan0", "--https", "3130", "--ports", "80,443", "start"], 2, "not to both"),
    "https-site": (["--mode", "site", "--https", "3130", "start"], 2, "no meaning"),
    "quic": (["--lan", "lan0", "--refuse-quic", "please", "start"], 2, "neither yes nor no"),
    "note": (["--lan", MANY_DEVICES, "--ports", MANY_PORTS, "start"], 2, "too many ports and devices"),
    "mark": (["--lan", "lan0", "--mark", "0x3", "start"], 2, "not one bit"),
    "rate": (["--lan", "lan0", "--uplink", "down0", "--uplink-rate", "fast", "start"], 2, "write 512kbit"),
    "no-rate": (["--lan", "lan0", "--uplink", "down0", "start"], 2, "needs --uplink-rate"),
    "no-classes": (["--lan", "lan0", *UPLINK_WORDS, "--uplink-mode", "htb", "start"], 2, "needs --uplink-classes"),
    "classes": (["--lan", "lan0", *UPLINK_WORDS, "--uplink-mode", "htb", "--uplink-classes", "a=4", "start"], 2, "neither a network"),
    "one-arm": (["--lan", "down0", "--mode", "tproxy", "start"], 1, "need devices of their own"),
    "table": (["--lan", "lan0", "--mode", "tproxy", "--table", "55", "start"], 1, "somebody's already"),
}


def test_what_is_wrong_is_said_before_anything_is_touched(router, foreign):
    for case, (words, status, says) in REFUSED.items():
        r = router.script(*words, check=False)
        assert r.returncode == status and says in r.stderr, (case, r.stderr)
    assert router.state() == foreign


NO_ADDRESSES = """
1.2.3.4.5 1.2.3 1.2.3.256 01.2.3.4 1.2.3. 1..3.4 10.0.0.0/33 10.0.0.0/99 10.0.0.0/ 10.0.0.0/8/8 /8 dead de.ad.be.ef 1.2.3.4: * :
fd01:::1 fd01::1::1 fd01::12345 fd01::g fd01:1 1:2:3:4:5:6:7:8:9 1:2:3:4:5:6:7:8: :1:2:3:4:5:6:7:8 1:2:3:4::5:6:7:8 ::1/129 ::1/ ::1%lan0
::1.2.3.256 ::1.2.3.4:5 1:2:3:4:5:6:7:1.2.3.4
""".split()
ADDRESSES = """
1.2.3.4 10.0.0.0/8 255.255.255.255/32 :: ::1 FD01::/16 fd01::1:0/112 1:2:3:4:5:6:7:8/128 1:2:3:4:5:6:7:: ::2:3:4:5:6:7:8 ::ffff:1.2.3.4
1:2:3:4:5:6:1.2.3.4
""".split()


def test_addresses(router):
    for word in NO_ADDRESSES:
        r = router.script("--except", word, "status", check=False)
        assert r.returncode == 2 and f'"{word}" is neither an address nor CIDR' in r.stderr, word
    router.start("--except", ",".join(ADDRESSES))
    assert router.field.gateway.run("iptables-save", "-t", "nat").count("-A FAIRGATE-WEB -s ") == 3
    assert router.field.gateway.run("ip6tables-save", "-t", "nat").count("-A FAIRGATE-WEB -s ") == len(ADDRESSES) - 3


@pytest.mark.parametrize("mode", ("redirect", "tproxy"))
def test_a_start_with_wrong_settings_leaves_the_one_before(router, echo, tmp_path, mode):
    router.squid(mode)
    router.start(*UPLINK_WORDS, mode=mode)

    def state():
        return [re.sub(r"direct_packets_stat \d+", "", line) for line in router.state()]
    before = state()
    other = {"redirect": "tproxy", "tproxy": "redirect"}[mode]

    def refused(*words, path=None):
        r = router.script("--lan", "lan0", "--mode", other, *words, "start", check=False, path=path)
        assert r.returncode in (1, 2) and r.stderr, words
        assert state() == before, words
        return r.stderr
    for words in (("--except", "1.2.3.4.5"), ("--except", "10.0.0.0/99"), ("--except", "de.ad.be.ef"), ("--lan", "lan7"),
                  ("--lan", MANY_DEVICES, "--ports", MANY_PORTS), ("--uplink", "down0"),
                  (*HTB_WORDS[:-1], "10.1.1.0/40=3")):
        refused(*words)
    for tool in ("iptables-restore", "ip6tables-restore"):
        directory = tmp_path / tool
        directory.mkdir()
        disguise(directory, tool, 'sed "s/-j RETURN/-j RETURN --no-such-thing/" | "$real" "$@"')
        assert "nothing was touched" in refused(path=directory)
    for version in 4, 6:
        assert get(router.field, client(version, 1), SERVER[version])["via"]
    assert router.script("status").returncode == 0


def test_a_note_of_255_bytes(router):
    """What is noted for status has room in a comment of iptables, up to its last byte."""
    noted = f"mode=redirect port=3129 ports={MANY_PORTS} lan= families=4,6 uplink= uplink-mode=priority"
    room = 255 - len(noted)
    names = [f"long-device-{i:03}" for i in range(room // 16)]
    names.append("d" * (room - 16 * len(names)))
    gateway = router.field.gateway
    gateway.ip("".join(f"link add {n} type veth peer name p{i}\n" for i, n in enumerate(names)))
    try:
        router.script("--lan", ",".join(names), "--ports", MANY_PORTS, "start")
        assert f"what {','.join(names)} sends to port {MANY_PORTS} goes to port 3129" in router.script("status").stdout
        r = router.script("--lan", ",".join(names), "--ports", MANY_PORTS, "--port", "10000", "start", check=False)
        assert r.returncode == 2 and "these need 256" in r.stderr
    finally:
        gateway.ip("".join(f"link del {n}\n" for n in names))


def test_a_qdisc_of_somebody_else_stays(router):
    tc = router.field.gateway.tc
    tc("qdisc", "add", "dev", "down0", "root", "handle", "7:", "tbf", "rate", "5mbit", "burst", "10kb", "limit", "50000")
    try:
        before = router.state()
        r = router.script("--lan", "lan0", *UPLINK_WORDS, "start", check=False)
        assert r.returncode == 1 and "a qdisc of somebody else (tbf 7:)" in r.stderr
        router.stop()
        assert router.state() == before
    finally:
        tc("qdisc", "del", "dev", "down0", "root")


def test_settings_in_a_file(router, tmp_path):
    file = tmp_path / "transparent.conf"
    file.write_text("# a comment\n\n lan = lan0 # the office\nmode=tproxy\n\tports = 80, 8080\nexcept =\n")
    router.script("start", "--config", str(file))
    assert "tproxy: what lan0 sends to port 80,8080" in router.script("status").stdout
    router.script("--mode", "redirect", "--config", str(file), "start")
    assert "redirect: what lan0" in router.script("status").stdout
    file.write_text("lan = lan0\nmode tproxy\n")
    r = router.script("--config", str(file), "start", check=False)
    assert r.returncode == 2 and f'{file}:2: "mode tproxy" is not of the form' in r.stderr
    router.script("stop", "--config", str(file))        # it must be able to go nevertheless
    assert router.script("status", check=False).returncode == 3
