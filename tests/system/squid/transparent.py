# SPDX-License-Identifier: BSD-2-Clause
"""What the tests of etc/iptables/fairgate-transparent stand on: the namespaces of lab/field.py with the script and a real Squid on the gateway,
clients that know of no proxy, and hosts that tell who asked them.
"""

import http.server
import json
import os
import re
import socket
import subprocess

from background import Background
from lab.field import RTTS_NONE, Field
from lab.lab import ROOT, wait_for
from lab.squid import Squid
from squid_world import which

SCRIPT = os.path.join(ROOT, "etc", "iptables", "fairgate-transparent")
PORT = 3129
WEIGHTS = {"class1": 4, "class2": 2, "class3": 1}
CONFIG = "fqrs on\nfqrs_link rate=10Mbit\n" + "".join(
    f"acl {c} src 10.1.{i}.0/24 fd01::{i}:0/112\nfqrs_class {c} weight={w}\nfqrs_access {c} allow {c}\n"
    for i, (c, w) in enumerate(WEIGHTS.items(), 1))
SERVER = {4: "10.3.0.1", 6: "fd03::1"}
SPARED = {4: "10.3.0.2", 6: "fd03::2"}
GATEWAY_OUT = {4: "10.2.0.2", 6: "fd02::2"}
GATEWAY_IN = {4: "10.1.0.1", 6: "fd01::1"}
HTTPS_WORDS = ("--https", "3130", "--refuse-quic", "yes")
UPLINK_WORDS = ("--uplink", "down0", "--uplink-rate", "1mbit")
HTB_WORDS = (*UPLINK_WORDS, "--uplink-mode", "htb", "--uplink-classes", "10.1.1.0/24+fd01::1:0/112=3,10.1.2.0/24+fd01::2:0/112=1")


def client(version, of_class, host=1):
    return f"10.1.{of_class}.{host}" if version == 4 else f"fd01::{of_class}:{host}"


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


class Echo(Background, http.server.ThreadingHTTPServer):
    """Port 80 of a host, both versions of IP: who asked, through which proxy.  A context manager."""

    address_family = socket.AF_INET6

    def __init__(self, host):
        self.name, self.asked = host.namespace, []
        host.inside(lambda: super(Echo, self).__init__(("::", 80), Handler))


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


class TransparentRouter:
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

    def forget_squids(self):
        """Another one may have their ports."""
        for squid in self.squids.values():
            squid.stop()
        self.squids = {}

    def squid(self, mode, https=""):
        """A running Squid that takes what this mode brings; https: the words of an https_port that looks at what comes and leaves it closed."""
        if (mode, https) not in self.squids:
            self.forget_squids()
            flavour = {"redirect": "intercept", "tproxy": "tproxy"}[mode]
            # A connection that outlives its test would meet the next one's address translation in its middle, and the server resets it.
            config = f"http_port {PORT} {flavour}\n{CONFIG}server_persistent_connections off\n"
            if https:
                config += f"https_port {HTTPS_WORDS[1]} {flavour} ssl-bump {https}\nacl step1 at_step SslBump1\nssl_bump peek step1\nssl_bump splice all\n"
            made = Squid(self.lab, which(), config, name=f"squid-{mode}")
            self.squids = {(mode, https): made.on(self.field.gateway).start()}
        return self.squids[mode, https]

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
