# SPDX-License-Identifier: BSD-2-Clause
"""etc/iptables/fairgate-transparent with a real Squid, in the namespaces of lab/field.py: clients that know of no proxy are scheduled in
their class, by REDIRECT and TPROXY, over IPv4 and IPv6; what others have set up stays; the uplink's two orders do what they say.
"""

import http.server
import json
import os
import re
import shutil
import socket
import statistics
import subprocess
import threading
import time
from pathlib import Path

import pytest
from lab.field import RTTS_NONE, Field, Host
from lab.lab import Lab, wait_for
from lab.squid import Squid
from squid_world import which

SCRIPT = str(Path(__file__).resolve().parents[2] / "etc" / "iptables" / "fairgate-transparent")
PORT = 3129
WEIGHTS = {"class1": 4, "class2": 2, "class3": 1}
CONFIG = "fqrs on\nfqrs_link rate=10Mbit\n" + "".join(
    f"acl {c} src 10.1.{i}.0/24 fd01::{i}:0/112\nfqrs_class {c} weight={w}\nfqrs_access {c} allow {c}\n"
    for i, (c, w) in enumerate(WEIGHTS.items(), 1))
SERVER = {4: "10.3.0.1", 6: "fd03::1"}
SPARED = {4: "10.3.0.2", 6: "fd03::2"}
GATEWAY_OUT = {4: "10.2.0.2", 6: "fd02::2"}
GATEWAY_IN = {4: "10.1.0.1", 6: "fd01::1"}
UPLINK = 1_000_000      # bit/s


def client(version, of_class, host=1):
    return f"10.1.{of_class}.{host}" if version == 4 else f"fd01::{of_class}:{host}"


# ---- places ------------------------------------------------------------------------------------------------------------------------------


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.server.asked.append(self.path)
        peer = self.client_address[0].removeprefix("::ffff:")
        text = json.dumps({"peer": peer, "port": self.client_address[1], "via": self.headers.get("Via"), "name": self.server.name}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


class Echo(http.server.ThreadingHTTPServer):
    """Port 80 of a host, both versions of IP: who asked, through which proxy.  A context manager."""

    address_family = socket.AF_INET6
    daemon_threads = True

    def __init__(self, host):
        self.name, self.asked = host.namespace, []
        host.inside(lambda: super(Echo, self).__init__(("::", 80), Handler))

    def __enter__(self):
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()


def connect(host, source, target, port, seconds=5, source_port=0):
    def make():
        s = socket.socket(socket.AF_INET6 if ":" in target else socket.AF_INET)
        s.settimeout(seconds)
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        s.bind((source, source_port))
        try:
            s.connect((target, port))
        except OSError:
            s.close()
            raise
        return s
    return host.inside(make)


class Client:
    """A connection of a client that believes it talks to that server.  A context manager."""

    def __init__(self, field, source, target, source_port=0):
        self.socket = connect(field.clients, source, target, 80, source_port=source_port)
        self.file = self.socket.makefile("rb")
        self.target = f"[{target}]" if ":" in target else target

    def get(self, path="/"):
        self.socket.sendall(f"GET {path} HTTP/1.1\r\nHost: {self.target}\r\n\r\n".encode())
        status = self.file.readline().split()
        length = 0
        while (line := self.file.readline().strip()):
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        body = self.file.read(length)
        assert status[1] == b"200", (status, body)
        return json.loads(body)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()
        self.socket.close()


def get(field, source, target, path="/", source_port=0):
    with Client(field, source, target, source_port) as c:
        return c.get(path)


class Gateway:
    """The field, its script, and what is on it."""

    def __init__(self, lab):
        self.lab = lab
        self.field = Field(lab, rate="10mbit", rtts=RTTS_NONE).start()
        self.squids = {}
        # Link-local addresses come with a route each, and late: state() is not to change by itself.
        wait_for(lambda: "tentative" not in self.field.gateway.run("ip", "-6", "addr")
                 and self.field.gateway.run("ip", "-6", "route").count("fe80::/64 dev") == 2, 20, "link-local addresses")

    def script(self, *words, check=True, path=None):
        environment = dict(os.environ, PATH=f"{path}:{os.environ['PATH']}") if path else None
        r = subprocess.run([*self.field.gateway.prefix, SCRIPT, *words], capture_output=True, text=True, timeout=60, env=environment)
        if check:
            assert r.returncode == 0, r.stderr
        return r

    def start(self, *words, mode="redirect"):
        return self.script("--lan", "lan0", "--mode", mode, *words, "start")

    def stop(self):
        return self.script("stop")

    def squid(self, mode):
        """A running Squid that takes what this mode brings."""
        if mode not in self.squids:
            for other in self.squids.values():
                other.stop()
            flavour = {"redirect": "intercept", "tproxy": "tproxy"}[mode]
            made = Squid(self.lab, which(), f"http_port {PORT} {flavour}\n{CONFIG}", name=f"squid-{mode}")
            self.squids = {mode: made.on(self.field.gateway).start()}
        return self.squids[mode]

    def state(self):
        """All that the script could have touched, without counters and without tables of iptables in which there is nothing."""
        out = []
        for tool in ("iptables-save", "ip6tables-save"):
            for table in re.split(r"^(?=\*)", self.field.gateway.run(tool), flags=re.M):
                lines = [re.sub(r"\[\d+:\d+\]", "", line) for line in table.splitlines() if line and not line.startswith("#")]
                if any(line.startswith("-A") or line.startswith(":") and " - " in line for line in lines):
                    out += [tool, *lines]
        for words in ("ip rule", "ip -6 rule", "ip route show table all", "ip -6 route show table all", "tc qdisc",
                      "tc class show dev down0"):
            out += [words, *self.field.gateway.run(*words.split()).splitlines()]
        return out


@pytest.fixture(scope="module")
def router(request):
    if os.geteuid():
        pytest.skip("network namespaces need root")
    which()
    lab = Lab("transparent")
    try:
        yield Gateway(lab)
    finally:
        lab.close(keep=request.session.testsfailed > 0)


@pytest.fixture(scope="module")
def echo(router):
    with Echo(router.field.servers) as e:
        yield e


@pytest.fixture(autouse=True)
def stopped(router):
    """No test leaves anything on the router: what was there before is there again after a stop."""
    before = router.state()
    yield
    router.stop()
    assert router.state() == before


# ---- interception ------------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", (4, 6))
@pytest.mark.parametrize("mode", ("redirect", "tproxy"))
def test_a_request_is_scheduled_in_its_class(router, echo, mode, version):
    squid = router.squid(mode)
    router.start(mode=mode)
    for number, name in enumerate(WEIGHTS, 1):
        before = {c["name"]: c["done"] for c in squid.json()["classes"]}
        source, path = client(version, number), f"/{mode}-{version}-{number}"
        answer = get(router.field, source, SERVER[version], path)
        assert "squid" in answer["via"]
        assert answer["peer"] == (source if mode == "tproxy" else GATEWAY_OUT[version])
        assert echo.asked.count(path) == 1

        def done(name=name, before=before):
            after = {c["name"]: c["done"] for c in squid.json()["classes"]}
            return after[name] - before[name] == 1 and sum(after.values()) - sum(before.values()) == 1
        wait_for(done, 5, f"one response of {name}")
    assert re.search(rf"IPv{version}: [1-9]", router.script("status").stdout)


@pytest.mark.parametrize("version", (4, 6))
@pytest.mark.parametrize("mode", ("redirect", "tproxy"))
def test_what_is_left_alone(router, echo, mode, version):
    """The gateway's own pages, servers and clients that are excepted, other ports; and nobody speaks to Squid's port directly."""
    field = router.field
    router.squid(mode)
    router.start("--except", f"{SPARED[version]},{client(version, 3)}", mode=mode)
    with Echo(field.gateway):
        own = get(field, client(version, 1), GATEWAY_IN[version])
    assert own["via"] is None and own["name"] == field.gateway.namespace
    assert get(field, client(version, 1), SPARED[version])["via"] is None
    assert get(field, client(version, 3), SERVER[version])["via"] is None
    assert get(field, client(version, 1), SERVER[version])["via"]
    with pytest.raises(TimeoutError):
        connect(field.clients, client(version, 1), GATEWAY_IN[version], PORT, seconds=0.5)


@pytest.mark.parametrize("version", (4, 6))
@pytest.mark.parametrize("mode", ("redirect", "tproxy"))
def test_a_masqueraded_client_may_have_squids_port(router, echo, mode, version):
    """Answers to it come to the gateway's address and Squid's port; all the same nobody opens a connection to that."""
    field = router.field
    router.squid(mode)
    # A server of its own for each: what one left in conntrack would have the next's port changed.
    server = SERVER[version][:-1] + {"redirect": "3", "tproxy": "4"}[mode]
    masquerade = ["iptables" if version == 4 else "ip6tables", "-t", "nat", "-A", "POSTROUTING", "-o", "down0", "-j", "MASQUERADE"]
    field.gateway.run(*masquerade)
    try:
        router.start("--except", server, mode=mode)
        answer = get(field, client(version, 1), server, source_port=PORT)
        assert (answer["via"], answer["peer"], answer["port"]) == (None, GATEWAY_OUT[version], PORT)
        for target in GATEWAY_IN[version], GATEWAY_OUT[version]:
            with pytest.raises(TimeoutError):
                connect(field.clients, client(version, 1), target, PORT, seconds=0.5)
        assert get(field, client(version, 1), SERVER[version])["via"]
    finally:
        masquerade[masquerade.index("-A")] = "-D"
        field.gateway.run(*masquerade)


@pytest.fixture
def inner(router):
    """A second device of the LAN, lan1, and behind it a router inside with networks and hosts of its own."""
    field = router.field
    host = Host(field.gateway.namespace.replace("gateway", "inner"), "10.50.0.2")
    subprocess.run(["ip", "netns", "add", host.namespace], check=True)
    field.all_hosts.append(host)
    field._wire(field.gateway, "lan1", host, "lan1")
    field.gateway.ip("addr add 10.50.0.1/24 dev lan1\naddr add fd50::1/64 dev lan1 nodad\nlink set lan1 up\n")
    host.ip("addr add 10.50.0.2/24 dev lan1\naddr add 10.50.0.3/24 dev lan1\n"
            "addr add fd50::2/64 dev lan1 nodad\naddr add fd50::3/64 dev lan1 nodad\nlink set lo up\nlink set lan1 up\n"
            "route add default via 10.50.0.1\nroute add default via fd50::1\n"
            + "".join(f"addr add 10.{n}.0.1/32 dev lo\naddr add fd{n}::1/128 dev lo\n" for n in (51, 52, 53)))
    field.gateway.ip("route add 10.51.0.0/24 via 10.50.0.2\nroute add 10.52.0.1 via 10.50.0.2\n"
                     "route add 10.53.0.0/24 nexthop via 10.50.0.2 nexthop via 10.50.0.3\n"
                     "route add fd51::/64 via fd50::2\nroute add fd52::1 via fd50::2\n"
                     "route add fd53::/64 nexthop via fd50::2 nexthop via fd50::3\n")
    yield host
    field.gateway.ip("link del lan1\n")
    field.all_hosts.remove(host)
    subprocess.run(["ip", "netns", "del", host.namespace], check=True)


@pytest.mark.parametrize("version", (4, 6))
@pytest.mark.parametrize("mode", ("redirect", "tproxy"))
def test_networks_behind_a_router_inside_are_left_alone(router, echo, inner, mode, version):
    """Those with a static route through a device of the LAN, a host's and one of several ways too; a default route is no such network."""
    field = router.field
    router.squid(mode)
    if mode == "redirect":
        field.gateway.ip("route add default via 10.50.0.2 metric 9999\nroute add default via fd50::2 metric 9999\n"
                         "route add 0.0.0.0/1 via 10.50.0.2 metric 9999\nroute add 0.0.0.0/1 via 10.2.0.1\n"
                         "route add 2000::/3 via fd50::2 metric 9999\n")
    try:
        router.script("--lan", "lan0,lan1", "--mode", mode, "start")
        with Echo(inner):
            for n in (51, 52, 53):
                answer = get(field, client(version, 1), f"10.{n}.0.1" if version == 4 else f"fd{n}::1")
                assert answer["via"] is None and answer["name"] == inner.namespace, n
        assert get(field, client(version, 1), SERVER[version])["via"]
        rules = field.gateway.run("iptables-save" if version == 4 else "ip6tables-save")
        assert not re.search(r"-d (0\.0\.0\.0|2000::)/", rules)
    finally:
        if mode == "redirect":
            field.gateway.ip("route del 0.0.0.0/1 via 10.2.0.1\n")


def test_reverse_path_filters_do_no_harm(router, echo):
    """Advice to turn rp_filter off for TPROXY is old: loose and strict filters let everything through, unless they look at the mark too."""
    router.squid("tproxy")
    router.start(mode="tproxy")
    sysctl = router.field.gateway.run
    names = [f"net.ipv4.conf.{d}.rp_filter" for d in ("all", "lan0", "down0", "lo")]
    before = [sysctl("sysctl", "-n", n).strip() for n in names]
    try:
        for filtering in (0, 1, 2):
            sysctl("sysctl", "-qw", *(f"{n}={filtering}" for n in names))
            assert get(router.field, client(4, 1), SERVER[4])["via"], filtering
    finally:
        sysctl("sysctl", "-qw", *(f"{n}={v}" for n, v in zip(names, before)))
    router.stop()
    sysctl("sysctl", "-qw", "net.ipv4.conf.all.src_valid_mark=1")
    try:
        r = router.script("--lan", "lan0", "--mode", "tproxy", "start", check=False)
        assert r.returncode == 1 and "set it to 0" in r.stderr
    finally:
        sysctl("sysctl", "-qw", "net.ipv4.conf.all.src_valid_mark=0")


@pytest.mark.parametrize("mode", ("redirect", "tproxy"))
def test_a_connection_lives_through_another_start(router, echo, mode):
    router.squid(mode)
    router.start(mode=mode)
    with Client(router.field, client(4, 1), SERVER[4]) as c:
        for ports in ("80", "80,8080", "80"):
            assert c.get()["via"]
            router.start("--ports", ports, mode=mode)
        assert c.get()["via"]


# ---- start, stop, status -----------------------------------------------------------------------------------------------------------------

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


UPLINK_WORDS = ("--uplink", "down0", "--uplink-rate", "1mbit")
HTB_WORDS = (*UPLINK_WORDS, "--uplink-mode", "htb", "--uplink-classes", "10.1.1.0/24+fd01::1:0/112=3,10.1.2.0/24+fd01::2:0/112=1")


@pytest.mark.parametrize("words", ((), UPLINK_WORDS, HTB_WORDS), ids=("plain", "priority", "htb"))
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
    "mode": (["--lan", "lan0", "--mode", "dnat", "start"], 2, "redirect and tproxy"),
    "port": (["--lan", "lan0", "--port", "70000", "start"], 2, "not a port"),
    "ports": (["--lan", "lan0", "--ports", "80;reboot", "start"], 2, "not a port"),
    "except": (["--lan", "lan0", "--except", "www.example.org", "start"], 2, "neither an address nor CIDR"),
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


# ---- the uplink --------------------------------------------------------------------------------------------------------------------------


class Uploads:
    """Bulk uploads from these addresses to a port of the servers, normally one that is not the web's.  received: bytes by address."""

    def __init__(self, field, sources, port=5001):
        self.field, self.sources, self.port = field, sources, port
        self.received, self.sockets, self.lock, self.over = dict.fromkeys(sources, 0), [], threading.Lock(), False

    def __enter__(self):
        def listen():
            s = socket.create_server(("", self.port))
            s.settimeout(10)
            return s
        self.listener = self.field.servers.inside(listen)
        for source in self.sources:
            sender = connect(self.field.clients, source, SERVER[4], self.port)
            sender.settimeout(None)
            receiver, peer = self.listener.accept()
            self.sockets += [sender, receiver]
            threading.Thread(target=self.send, args=(sender,), daemon=True).start()
            threading.Thread(target=self.receive, args=(receiver, peer[0]), daemon=True).start()
        return self

    def send(self, s):
        try:
            while not self.over:
                s.sendall(b"u" * 65536)
        except OSError:
            pass

    def receive(self, s, source):
        try:
            while data := s.recv(65536):
                with self.lock:
                    self.received[source] += len(data)
        except OSError:
            pass

    def __exit__(self, *_):
        self.over = True
        for s in self.sockets:
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            s.close()
        self.listener.close()


def standing(router):
    """Bytes in all queues of the uplink."""
    found = json.loads(router.field.gateway.run("tc", "-s", "-j", "qdisc", "show", "dev", "down0"))
    return sum(q.get("backlog", 0) for q in found if q.get("root"))


def latency(router, n=9):
    """The median of n requests, in seconds, each on a connection of its own."""
    times = []
    for i in range(n):
        begun = time.monotonic()
        assert get(router.field, client(4, 3, 1 + i % 5), SERVER[4])["via"]
        times.append(time.monotonic() - begun)
    return statistics.median(times)


@pytest.mark.parametrize("mode", ("redirect", "tproxy"))
def test_priority_lets_requests_pass_uploads(router, echo, mode):
    """Beside two uploads, with one queue of 60 kB, as a modem has it, a request waits half a second; with priority a packet or two."""
    router.squid(mode)
    tc = router.field.gateway.tc
    tc("qdisc", "add", "dev", "down0", "root", "tbf", "rate", f"{UPLINK}bit", "burst", "3000", "limit", "60000")
    router.start(mode=mode)
    with Uploads(router.field, [client(4, 1), client(4, 2)]) as uploads:
        try:
            wait_for(lambda: standing(router) > 45000, 20, "a full queue")
            behind = latency(router)
        finally:
            tc("qdisc", "del", "dev", "down0", "root")
        router.start("--uplink", "down0", "--uplink-rate", f"{UPLINK}bit", mode=mode)
        sent = sum(uploads.received.values())
        wait_for(lambda: standing(router) > 20000 and sum(uploads.received.values()) > sent + 50000, 20, "uploads behind the requests")
        ahead = latency(router)
    print(f"median request: {behind * 1000:.0f} ms with one queue, {ahead * 1000:.0f} ms with priority")
    assert behind > 0.3 and ahead < behind / 4


def test_an_upload_to_a_web_port_is_no_request(router):
    """What sends large packets stands behind, whatever its port; what sends small ones stands first."""
    router.start(*UPLINK_WORDS)

    def sent():
        return {m[1]: int(m[2]) for m in re.finditer(r"class (\S+): .* (\d+) bytes sent", router.script("status").stdout)}
    with Uploads(router.field, [client(4, 1)], port=443):
        wait_for(lambda: sent()["fa17:20"] > 200_000, 20, "the upload in the second class")
        assert sent()["fa17:10"] < 10_000


def test_htb_shares_by_client_network(router, echo):
    """Two uploads of classes 3 : 1, with nobody in the rest: 75 % and 25 %; a queue's worth of either is 10 points of three seconds."""
    router.squid("redirect")
    router.start(*HTB_WORDS)
    with Uploads(router.field, [client(4, 1), client(4, 2)]) as uploads:
        wait_for(lambda: min(uploads.received.values()) > 30000, 20, "both at work")
        begun = dict(uploads.received)
        wait_for(lambda: sum(uploads.received.values()) - sum(begun.values()) > 3 * UPLINK / 8, 20, "three seconds of the link")
        first, second = (uploads.received[s] - begun[s] for s in uploads.sources)
        share = first / (first + second)
        print(f"shares {100 * share:.1f} % and {100 - 100 * share:.1f} %")
        assert 0.65 < share < 0.85
        alone = connect(router.field.clients, client(4, 3), SERVER[4], 80)     # the rest is served too
        alone.close()
