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

import pytest

import http1
from background import Background
from lab import lab
from lab.httpd import Httpd, sanitizer_environment
from lab.net import Network

SCRIPT = os.path.join(lab.ROOT, "etc", "iptables", "fairgate-transparent")
CLIENT, GATE, BEHIND = {4: "10.9.1.1", 6: "fd09:1::1"}, {4: "10.9.1.2", 6: "fd09:1::2"}, {4: "10.9.2.1", 6: "fd09:2::1"}
GATE_INSIDE = {4: "10.9.2.2", 6: "fd09:2::2"}
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
        self.name, self.asked = name, []
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

    def classes(self):
        return {c["name"]: c["released"] for c in json.loads(self.get(GATE[4], "/qos-status?json")[1])["classes"]}


@pytest.fixture(scope="module")
def world(parts):
    w = World(parts)
    with Site(w.field.gate, "here") as w.here, Site(w.field.behind, "behind") as w.behind:
        with Gate(parts.lab, name="gate", config=CONFIG, load={"qos_drr": lab.module()}, environment=sanitizer_environment()).on(w.field.gate) as w.gate:
            w.script("--mode", "site", "--lan", "in0", "start")
            yield w
            w.script("stop")
    w.field.stop()


@pytest.mark.parametrize("version", (4, 6))
@pytest.mark.parametrize("where", ("here", "behind"))
def test_requests_go_where_they_were_going(world, version, where):
    """To the address that the client connected to, whatever it names, spelt as it spelt it; its class by that address."""
    address = {"here": GATE, "behind": BEHIND}[where][version]
    before = world.classes()
    status, body = world.get(address, "/a%2Fb/../c?d=%20e&f", name="evil.example")
    said = json.loads(body)
    assert status == 200
    assert (said["name"], said["host"], said["forwarded"]) == (where, "evil.example", CLIENT[version])
    assert said["path"].endswith("c?d=%20e&f")
    assert said["peer"] in (GATE[version], GATE_INSIDE[version])
    after = world.classes()
    assert after[where] == before[where] + 1
    assert sum(after.values()) == sum(before.values()) + 1, (before, after)


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
