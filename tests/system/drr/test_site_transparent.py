# SPDX-License-Identifier: BSD-2-Clause
"""The website-gateway paper's Fig. 8: iptables brings what comes for a site's port 80 to the gateway, which finds out where it was going.

Clients and servers know of nothing.  The gateway's own host has a server on port 80, and another one stands behind it.
"""

import configparser
import http.server
import json
import os
import shutil
import socket
import subprocess
import threading

import pytest

import http1
from background import Background
from lab import lab
from lab.frames import FrameClient
from lab.httpd import HTTPD, Httpd, sanitizer_environment
from lab.net import Network

SCRIPT = os.path.join(lab.ROOT, "etc", "iptables", "fairgate-transparent")
CLIENT, GATE, BEHIND = {4: "10.9.1.1", 6: "fd09:1::1"}, {4: "10.9.1.2", 6: "fd09:1::2"}, {4: "10.9.2.1", 6: "fd09:2::1"}
GATE_INSIDE = {4: "10.9.2.2", 6: "fd09:2::2"}
# The gateway's connections to servers of its own host come from here (docs/mod_qos_drr.md, "Transparent").
SOURCE = {4: "192.0.0.8", 6: "100:0:0:1::8"}
# A client with an address of its own in frames, and addresses at which no client may reach the gateway's host.
FRAMES = {4: "10.9.1.77", 6: "fd09:1::77"}
OWN_ALONE = ("0.0.0.0", "127.0.0.1", "169.254.169.254", "::", "::ffff:127.0.0.1", "::ffff:169.254.169.254")
CONFIG = """
Listen 880
<VirtualHost *:880>
    QosEngine On
    QosTransparent On
    ProxyPreserveHost On
    AllowEncodedSlashes NoDecode
    ErrorDocument 503 /busy.txt
    <Location /qos-status>
        QosTransparent Off
        SetHandler qos-status
    </Location>
</VirtualHost>
Listen 81
<VirtualHost *:81>
    <Location /server-status>
        SetHandler server-status
        Require local
    </Location>
    <Location /qos-status>
        SetHandler qos-status
        Require local
    </Location>
</VirtualHost>
Listen 82
<VirtualHost *:82>
    RemoteIPHeader X-Forwarded-For
    RemoteIPInternalProxy 192.0.0.8 100:0:0:1::8
    <Location /server-status>
        SetHandler server-status
        Require local
    </Location>
    <Location /client>
        Require ip 10.9.1.1 fd09:1::1
        SetHandler server-status
    </Location>
</VirtualHost>
QosWindow 2
QosRetryAfter 7
QosClass behind weight=1
QosClass here weight=1 queue=1
QosRule behind dst_ip_addr 10.9.2.1
QosRule behind dst_ip_addr fd09:2::1
QosRule here dst_port 80
"""


class Field(Network):
    name = "site"
    sysctl = {"net__ipv6__conf__all__forwarding": 1}

    def __init__(self, of):
        super().__init__(of, congestion="cubic")
        self.client, self.gate, self.behind = self.host("client", CLIENT[4]), self.host("gate", GATE[4]), self.host("behind", BEHIND[4])

    def build(self):
        self.wire(self.client, "out0", self.gate, "in0")
        self.wire(self.gate, "out0", self.behind, "in0")
        self.client.device("out0", f"{CLIENT[4]}/24", f"{CLIENT[6]}/64")
        self.gate.device("in0", f"{GATE[4]}/24", f"{GATE[6]}/64")
        self.gate.device("out0", f"{GATE_INSIDE[4]}/24", f"{GATE_INSIDE[6]}/64")
        self.behind.device("in0", f"{BEHIND[4]}/24", f"{BEHIND[6]}/64")
        for host, way in ((self.client, GATE), (self.behind, GATE_INSIDE)):
            host.ip(f"route add default via {way[4]}\nroute add default via {way[6]}\n")


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.server.asked.append(self.path)
        if self.path == "/held":
            self.server.hold.wait(20)
        text = json.dumps({"name": self.server.name, "peer": self.client_address[0].removeprefix("::ffff:"), "path": self.path,
                           "host": self.headers["Host"], "forwarded": self.headers.get("X-Forwarded-For")}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


class Site(Background, http.server.ThreadingHTTPServer):
    """A real server on port 80 of a host, both versions of IP."""

    address_family = socket.AF_INET6

    def __init__(self, host, name):
        self.name, self.asked, self.hold = name, [], threading.Event()
        host.inside(lambda: super(Site, self).__init__(("::", 80), Handler))


class Gate(Httpd):
    def ready(self):
        return self.generations() > 0


class World:
    def __init__(self, parts):
        self.field = Field(parts.lab).start()

    def script(self, *words):
        return self.field.gate.run(SCRIPT, *words)

    def connect(self, host, port=80):
        def make():
            return socket.create_connection((host, port), timeout=20)
        return self.field.client.inside(make)

    def get(self, host, path="/", name="www.example.org", port=80):
        with self.connect(host, port) as s:
            s.sendall(f"GET {path} HTTP/1.1\r\nHost: {name}\r\nConnection: close\r\n\r\n".encode())
            data = b""
            while more := s.recv(65536):
                data += more
        head, _, body = data.partition(b"\r\n\r\n")
        return int(head.split()[1]), body

    def frames(self, version):
        return FrameClient(self.field.client, "out0", self.field.gate, "in0", FRAMES[version])

    def classes(self):
        return {c["name"]: c["released"] for c in json.loads(self.get(GATE[4], "/qos-status?json")[1])["classes"]}


@pytest.fixture(scope="module")
def world(parts):
    w = World(parts)
    with Site(w.field.gate, "here") as w.here, Site(w.field.behind, "behind") as w.behind:
        with Gate(parts.lab, name="gate", config=CONFIG, modules=("authz_host", "remoteip"), load={"qos_drr": lab.module()}, log_level="info", environment=sanitizer_environment()).on(w.field.gate) as w.gate:
            w.script("--mode", "site", "--lan", "in0", "start")
            yield w
            w.script("stop")
    w.field.stop()


@pytest.mark.parametrize("version", (4, 6))
@pytest.mark.parametrize("where", ("here", "behind"))
def test_requests_go_where_they_were_going(world, version, where):
    """To the address that the client connected to, whatever it names, written as it wrote it; its class by that address."""
    address = {"here": GATE, "behind": BEHIND}[where][version]
    before = world.classes()
    status, body = world.get(address, "/a%2Fb/../c?d=%20e&f", name="evil.example")
    said = json.loads(body)
    assert status == 200
    assert (said["name"], said["host"], said["forwarded"]) == (where, "evil.example", CLIENT[version])
    assert said["path"].endswith("c?d=%20e&f")
    assert said["peer"] == {"here": SOURCE, "behind": GATE_INSIDE}[where][version]
    after = world.classes()
    assert after[where] == before[where] + 1
    assert sum(after.values()) == sum(before.values()) + 1, (before, after)


LAN = ("--lan", "in0")


@pytest.mark.parametrize("lan", (LAN, ()))
@pytest.mark.parametrize("version", (4, 6))
def test_server_status_for_local_clients_stays_403_for_a_client_outside(world, version, lan):
    """Debian's /server-status is for "Require local": the gateway's connection must not have the server's own address."""
    def status(port, path="/server-status"):
        return world.get(GATE[version], path, port=port)[0]
    world.script("stop")
    assert [status(81), status(82)] == [403, 403]
    world.script("--mode", "site", *lan, "--ports", "80,81,82", "start")
    try:
        world.field.gate.sysctl(net__ipv4__conf__all__rp_filter=1, net__ipv4__conf__lo__rp_filter=1)
        before = sum(world.classes().values())
        assert [status(81), status(82)] == [403, 403]
        # mod_remoteip, that is told the gateway's address, believes the gateway.
        assert status(82, "/client") == 200
        assert sum(world.classes().values()) == before + 3
    finally:
        world.field.gate.sysctl(net__ipv4__conf__all__rp_filter=0, net__ipv4__conf__lo__rp_filter=0)
        world.script("--mode", "site", *LAN, "start")


@pytest.mark.parametrize("version", (4, 6))
def test_request_without_the_source_address_is_refused_and_the_log_names_the_cure(world, version):
    """Without that address the kernel would choose the server's own as the connection's source."""
    with world.field.client.inside(lambda: http1.Connection(80, GATE[version])) as c:
        def ask(path):
            c.send("GET", path)
            return c.receive().status
        assert ask("/1") == 200
        world.field.gate.ip(f"address del {SOURCE[version]}/{32 if version == 4 else 128} dev lo\n")
        try:
            assert ask("/2") == 503
            assert world.here.asked[-1] == "/1"
            said = [line for line in world.gate.error_log().splitlines() if SOURCE[version] in line and "fairgate-transparent" in line]
            assert said, world.gate.error_log()[-2000:]
            # The server behind is not concerned.
            assert json.loads(world.get(BEHIND[version])[1])["name"] == "behind"
        finally:
            world.script("--mode", "site", *LAN, "start")
    assert world.get(GATE[version], "/3")[0] == 200


@pytest.mark.parametrize("address", (*OWN_ALONE, *SOURCE.values()))
def test_client_that_addresses_loopback_or_link_local_is_not_served_by_the_gateway(world, address):
    """The rules do not redirect it; and if other rules do, the module refuses: the kernel's answer counts, however the address is written."""
    version = 6 if ":" in address else 4
    tool = {4: "iptables", 6: "ip6tables"}[version]
    rule = ("PREROUTING", "-i", "in0", "-p", "tcp", "--dport", "80", "-j", "REDIRECT", "--to-ports", "880")
    request = b"GET / HTTP/1.1\r\nHost: www.example.org\r\nConnection: close\r\n\r\n"

    def released():
        return sum(world.classes().values())
    with world.frames(version) as c:
        assert b"200 OK" in c.fetch(GATE[version], 80, request)
        before = released()
        c.fetch(address, 80, request)
        assert released() == before
        world.field.gate.run(tool, "-t", "nat", "-I", *rule)
        try:
            assert b" 403 " in c.fetch(address, 80, request).splitlines()[0]
        finally:
            world.field.gate.run(tool, "-t", "nat", "-D", *rule)
        assert released() == before


@pytest.mark.parametrize("target", ("/a%3Fb//x%252e/?q=%26", "/caf%C3%A9/%7Eme;v=1", "/a%2520b%23c"))
@pytest.mark.parametrize("site", ("", "http://x"))
def test_path_reaches_the_server_as_the_client_wrote_it(world, site, target):
    """The gateway sent the decoded path: /a%3Fb became /a with a query."""
    with world.connect(GATE[4], 80) as s:
        s.sendall(f"GET {site}{target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
        answer = s.makefile("rb").read()
    assert json.loads(answer.partition(b"\r\n\r\n")[2])["path"] == target, answer


@pytest.mark.parametrize("target", ("http://x", "http://x?y"))
def test_request_target_without_a_path_is_forwarded_or_refused_like_any_other(world, target):
    """Only the address that the client connected to counts: such a target is no way past the 403 of a connection that was not redirected."""
    def ask(port):
        with world.connect(GATE[4], port) as s:
            s.sendall(f"GET {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
            answer = s.makefile("rb").read()
        return int(answer.split()[1]), answer.partition(b"\r\n\r\n")[2]
    status, body = ask(80)
    assert (status, json.loads(body)["path"], json.loads(body)["name"]) == (200, "/?y" if "?" in target else "/", "here")
    world.script("stop")
    try:
        assert ask(880)[0] == 403
    finally:
        world.script("--mode", "site", *LAN, "start")


def test_the_gateway_itself_is_no_way(world):
    """Its port can't be connected to; should the rules be gone, it refuses: it would pass the request on to itself."""
    with pytest.raises(OSError):
        world.field.client.inside(lambda: socket.create_connection((GATE[4], 880), timeout=1))
    world.script("stop")
    try:
        for version in (4, 6):
            assert world.get(GATE[version], port=880)[0] == 403
        # And without it, all is as it was: straight to the servers.
        assert json.loads(world.get(BEHIND[4])[1])["peer"] == CLIENT[4]
    finally:
        world.script("--mode", "site", "--lan", "in0", "start")


@pytest.mark.skipif(bool(sanitizer_environment()), reason="a sanitizer keeps what was freed")
@pytest.mark.may_skip("a sanitizer keeps what was freed")
@pytest.mark.parametrize("port, status", ((80, 200), (880, 403)))
def test_a_connection_that_lasts_keeps_nothing_of_its_requests(world, port, status):
    """Each request left the text of the address that it was going to in its connection's memory; and of one to the gateway itself, where a firewall tracks connections, the address."""
    requests, track = 3000, ("INPUT", "-m", "conntrack", "--ctstate", "NEW")

    def ask(c, times):
        for _ in range(times):
            c.send("GET", "/")
            assert c.receive().status == status
        return world.gate.own_memory()
    if port == 880:
        world.script("stop")
        world.field.gate.run("ip6tables", "-A", *track)
    try:
        with world.field.client.inside(lambda: http1.Connection(port, GATE[6])) as c:
            before = ask(c, 1000)
            assert ask(c, requests) - before < 20 * requests
    finally:
        if port == 880:
            world.field.gate.run("ip6tables", "-D", *track)
            world.script("--mode", "site", "--lan", "in0", "start")


def test_nobody_gets_by_it_where_he_could_not_get_himself(world):
    """httpd asks from an address of its own host, and what it takes never met the rules for what is passed on: a host behind, an address that is for this host's own use."""
    own = "169.254.9.9"
    world.field.gate.ip(f"address add {own}/32 dev lo\n")
    world.field.client.ip(f"route add {own} via {GATE[4]}\n")
    try:
        assert json.loads(world.get(own)[1])["forwarded"] is None
        world.script("--mode", "site", "start")
        said = {address: json.loads(world.get(address)[1]) for address in (GATE[4], GATE[6], BEHIND[4], BEHIND[6], own)}
        assert [said[address]["forwarded"] is not None for address in said] == [True, True, False, False, False]
        assert said[BEHIND[4]]["peer"] == CLIENT[4]
    finally:
        world.script("--mode", "site", "--lan", "in0", "start")


def test_its_own_requests_go_straight(world):
    """What the gateway's host asks for is not redirected again."""
    before = world.classes()
    for address in (GATE[4], BEHIND[4], GATE[6], BEHIND[6]):
        done = world.field.gate.run("curl", "-sg", f"http://[{address}]/" if ":" in address else f"http://{address}/")
        assert json.loads(done)["forwarded"] is None
    assert world.classes() == before


def test_start_status_stop(world):
    state = ("iptables-save", "ip6tables-save")

    def rules():
        return [line.partition(" [")[0] for tool in state for line in world.field.gate.run(tool).splitlines() if not line.startswith("#")]
    world.script("stop")
    nothing = [line for line in rules() if "FAIRGATE" in line]
    assert not nothing
    world.script("--mode", "site", "--lan", "in0", "start")
    assert "site: what in0 sends to port 80 goes to port 880" in world.script("status")
    world.script("--mode", "site", "start")
    once = rules()
    world.script("--mode", "site", "start")
    assert rules() == once
    assert "site: what anybody sends to port 80 goes to port 880" in world.script("status")


def addresses(host):
    return set(host.run("ip", "-o", "address", "show").replace("/32", "").replace("/128", "").split()) & set(SOURCE.values())


def test_source_addresses_are_on_lo_from_start_to_stop(world):
    gate = world.field.gate
    try:
        assert addresses(gate) == set(SOURCE.values())
        for version, length in ((4, 32), (6, 128)):
            gate.ip(f"address del {SOURCE[version]}/{length} dev lo\n")
            done = subprocess.run([*gate.prefix, SCRIPT, "status"], capture_output=True, text=True, check=False)
            assert done.returncode == 3 and f"missing: the address {SOURCE[version]}/{length} of lo" in done.stdout
        world.script("--mode", "site", *LAN, "start")
        assert addresses(gate) == set(SOURCE.values())
        world.script("--mode", "site", "--families", "4", "start")
        assert addresses(gate) == {SOURCE[4]}
        world.script("--mode", "redirect", *LAN, "start")
        assert not addresses(gate)
        world.script("--mode", "site", "start")
        world.script("stop")
        assert not addresses(gate)
        # The administrator's own address stays; on another device a server has it.
        gate.ip(f"address add {SOURCE[4]}/32 dev lo\n")
        world.script("--mode", "site", "start")
        world.script("stop")
        assert addresses(gate) == {SOURCE[4]}
        gate.ip(f"address del {SOURCE[4]}/32 dev lo\naddress add {SOURCE[4]}/32 dev out0\n")
        with pytest.raises(lab.LabError, match="is for lo alone"):
            world.script("--mode", "site", "start")
        gate.ip(f"address del {SOURCE[4]}/32 dev out0\n")
    finally:
        world.script("--mode", "site", *LAN, "start")


@pytest.mark.parametrize("version", (4, 6))
def test_request_in_progress_at_stop_is_answered(world, version):
    """Its connection to the server has the address that stop takes away."""
    world.here.hold.clear()
    with world.field.client.inside(lambda: http1.Connection(80, GATE[version])) as c:
        c.send("GET", "/held")
        http1.until(lambda: "/held" in world.here.asked, what="the request at the server")
        with subprocess.Popen([*world.field.gate.prefix, SCRIPT, "stop"]) as stopping:
            try:
                http1.until(lambda: json.loads(world.get(GATE[version])[1])["forwarded"] is None, what="new connections go straight")
                assert stopping.poll() is None
                world.here.hold.set()
                assert c.receive().status == 200
                assert stopping.wait(10) == 0
                assert not addresses(world.field.gate)
            finally:
                world.here.hold.set()
                stopping.wait()
                world.script("--mode", "site", *LAN, "start")
                world.here.asked.clear()


def doctor(world, text=None):
    """What it says of the gate's httpd, or of one with that configuration."""
    config = world.gate.config_file if text is None else world.gate.write("other.conf", text)
    words = [f"{k}={v.replace(' ', ':')}" for k, v in (sanitizer_environment() or {}).items()]
    path = f"PATH={os.path.dirname(SCRIPT)}:{os.environ['PATH']}"
    done = subprocess.run([*world.field.gate.prefix, "env", path, lab.program("doctor/fairgate"), "doctor", "httpd", "--seconds", "1", "--status",
                           f"http://{GATE[4]}:81/qos-status", "--httpd", " ".join(["env", *words, HTTPD, "-d", world.gate.dir, "-f", config])],
                          capture_output=True, text=True, check=False)
    assert not done.stderr
    return done.returncode, done.stdout


def test_doctor_names_a_missing_source_address(world):
    good = "ok    httpd     fairgate-transparent brings requests here, and the gateway connects from addresses that no server has"
    assert good in doctor(world)[1]
    world.field.gate.ip(f"address del {SOURCE[6]}/128 dev lo\n")
    try:
        status, said = doctor(world)
        assert status == 2 and f"FAIL  httpd     fairgate-transparent: missing: the address {SOURCE[6]}/128 of lo" in said
        assert good not in said
    finally:
        world.script("--mode", "site", *LAN, "start")
    world.script("stop")
    try:
        assert "fairgate-transparent" not in doctor(world)[1]
    finally:
        world.script("--mode", "site", *LAN, "start")


@pytest.mark.parametrize("named, is_warned", (("", True), ("RemoteIPInternalProxy 192.0.0.8\n", True), ("RemoteIPInternalProxy 192.0.0.0/24 100:0:0:1::8\n", False)))
def test_doctor_warns_if_sites_of_the_gateways_httpd_do_not_see_their_clients(world, named, is_warned):
    """What configtest says; an httpd that has no site on port 80 may stand before others."""
    without = "\n".join(line for line in world.gate.text().splitlines() if "RemoteIPInternalProxy" not in line)
    warning = "see the gateway's address in place of their clients'"
    assert warning not in doctor(world, without)[1]
    said = doctor(world, without + f"\nListen 80\nRemoteIPHeader X-Forwarded-For\n{named}")[1]
    assert (warning in said) == is_warned, said
    assert not is_warned or "RemoteIPInternalProxy 192.0.0.8 100:0:0:1::8" in said


def test_not_without_mod_proxy(new_gateway):
    g = new_gateway()
    text = g.text().replace("LoadModule proxy_http_module", "#LoadModule").replace("ProxyPass", "#ProxyPass")
    g.write("httpd.conf", text + "QosTransparent On\n")
    done = subprocess.run([*g.argv(), "-t"], env={**os.environ, **(sanitizer_environment() or {})}, capture_output=True, text=True, check=False)
    assert done.returncode and "load it before" in done.stderr


UNIT = os.path.join(lab.ROOT, "etc", "systemd", "fairgate-transparent-site.service.in")


def unit_here(folder):
    """The unit with the script and the settings where they are here; these are the shipped ones, with a device."""
    settings = folder / "transparent-site.conf"
    with open(os.path.join(lab.ROOT, "etc", "iptables", "transparent-site.conf")) as shipped:
        settings.write_text(shipped.read() + "lan = in0\n")
    with open(UNIT) as f:
        text = f.read()
    assert "@sbindir@/fairgate-transparent " in text and "/etc/fairgate/transparent-site.conf" in text
    here = folder / os.path.basename(UNIT).removesuffix(".in")
    here.write_text(text.replace("@sbindir@/fairgate-transparent ", f"{SCRIPT} ").replace("/etc/fairgate/transparent-site.conf", str(settings)))
    return here


def test_the_unit_comes_and_goes_with_httpd(world, tmp_path):
    """What it starts brings requests to the gateway, and what it stops leaves them as they were; a host that stops httpd still has its site."""
    unit = configparser.ConfigParser(strict=False, delimiters="=", interpolation=None)
    unit.optionxform = str
    unit.read(unit_here(tmp_path), encoding="utf-8")
    assert unit["Unit"]["BindsTo"] == unit["Install"]["WantedBy"] == "apache2.service"
    assert "apache2.service" in unit["Unit"]["After"].split()
    assert unit["Unit"]["Conflicts"] == "fairgate-transparent.service"
    assert unit["Service"]["RemainAfterExit"] == "yes"
    world.script("stop")
    try:
        for act, is_taken in (("ExecStart", True), ("ExecReload", True), ("ExecStop", False)):
            world.field.gate.run(*unit["Service"][act].split())
            for address in (GATE[4], BEHIND[6]):
                assert (json.loads(world.get(address)[1])["forwarded"] is not None) == is_taken, (act, address)
    finally:
        world.script("--mode", "site", "--lan", "in0", "start")


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="no systemd here")
def test_systemd_takes_the_unit(tmp_path):
    said = subprocess.run(["systemd-analyze", "verify", unit_here(tmp_path)], capture_output=True, text=True, check=False)
    ours = [line for line in (said.stdout + said.stderr).splitlines() if os.path.basename(UNIT) in line]
    assert not ours, "\n".join(ours)
