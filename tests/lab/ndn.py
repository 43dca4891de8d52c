# SPDX-License-Identifier: BSD-2-Clause
"""
ndn.py - a real forwarder of named data and real clients in the lab; tests/peers/build makes them.

    path = Path(lab, rtt=20).start()                        # path.py: server, router, clients
    forwarder = Forwarder(lab).on(path.router).start()
    forwarder.route("/site", f"tcp4://{path.server.address}:6363")
    Put(lab, forwarder, "/put/a", b"text").start()          # ndnd's own producer, beside the forwarder

    with Client(lab, forwarder, path.clients) as client:    # behind 20 ms, and `loss`, if the path has it
        client.cat("/put/a")                    # ndnd: 100 Interests outstanding
        client.python_get("/put/a")             # python-ndn: one at a time
        client.ndnts_get("/put/a", window=16)   # NDNts: a fixed window, or its own (cubic)
        client.python_ask("/site/x", params=b"x", key=b"secret")

Each gives a Fetched.  A forwarder listens on all addresses of where it runs, so it runs in a network namespace only.
"""
import dataclasses
import json
import os
import re
import select
import signal
import socket
import subprocess

from .lab import LabError, Server
from .peers import peer

PORT = 6363
HERE = os.path.dirname(os.path.abspath(__file__))


class Forwarder(Server):
    """ndnd fw.  cache: packets that each thread keeps, 0: none; reconnect: seconds between its tries to connect a permanent face; settings: more of its configuration,
    {"faces": {...}, "fw": {...}, "tables": {...}}."""

    name = "forwarder"

    def __init__(self, lab, name=None, threads=2, cache=1024, reconnect=1, log_level="WARN", settings=None):
        super().__init__(lab, name)
        self.threads, self.cache, self.reconnect, self.log_level, self.settings = threads, cache, reconnect, log_level, settings or {}
        self.ndnd = os.path.join(peer("ndnd"), "ndnd")
        self.socket = self.path("socket")
        self.place = None
        self.routes = []

    def on(self, host):
        super().on(host)
        self.place, self.port = host, PORT
        return self

    @property
    def uri(self):
        return f"tcp4://{self.address}"

    def configure(self):
        if not self.place:
            raise LabError("a forwarder listens on all addresses: .on() a host in a network namespace")
        config = {
            "core": {"log_level": self.log_level},
            "faces": {"udp": {"enabled_multicast": False, "port_unicast": PORT}, "tcp": {"port_unicast": PORT, "reconnect_interval": self.reconnect},
                      "unix": {"socket_path": self.socket}, "websocket": {"enabled": False}},
            "fw": {"threads": self.threads},
            "tables": {"content_store": {"capacity": self.cache, "admit": self.cache > 0, "serve": self.cache > 0}, "rib": {"readvertise_nlsr": False}},
        }
        for section, values in self.settings.items():
            for key, value in values.items():
                old = config.setdefault(section, {}).get(key)
                config[section][key] = {**old, **value} if isinstance(old, dict) else value
        self.write("forwarder.yml", json.dumps(config))     # which YAML holds

    def argv(self):
        return [self.ndnd, "fw", "run", self.path("forwarder.yml")]

    def reaches(self, family, address):
        def connect():
            with socket.socket(family) as s:
                s.settimeout(1)
                return s.connect_ex(address) == 0
        return self.place.inside(connect)

    def ready(self):
        return self.reaches(socket.AF_UNIX, self.socket) and self.reaches(socket.AF_INET, ("127.0.0.1", self.port))

    def environment(self):
        return {**os.environ, "NDN_CLIENT_TRANSPORT": f"unix://{self.socket}"}

    def control(self, *words):
        """ndnd fw WORDS, asked of it; what it says."""
        r = subprocess.run([self.ndnd, "fw", *words], env=self.environment(), capture_output=True, text=True, timeout=20, check=False)
        if r.returncode:
            raise LabError(f"ndnd fw {' '.join(words)}: {r.stderr.strip()} {r.stdout.strip()}")
        return r.stdout

    def route(self, prefix, face_uri, permanent=True, cost=0):
        """Interests of this prefix go there; a permanent face connects again after its other side was away, another one vanishes with its route."""
        self.routes.append((prefix, face_uri, permanent, cost))
        self.control("route-add", f"prefix={prefix}", f"persistency={'permanent' if permanent else 'persistent'}", f"cost={cost}", f"face={face_uri}")
        return self

    def prefixes(self):
        """Those that it has a route for."""
        return re.findall(r"prefix=(\S+)", self.control("route-list"))

    def faces(self):
        """{uri of the other side: {in_interests, in_data, in_bytes, out_interests, out_data, out_bytes, id}}"""
        found = {}
        for line in self.control("face-list").splitlines():
            numbers = re.search(r"faceid=(\d+) remote=(\S+) .*counters=\{in=\{(\d+)i (\d+)d \d+n (\d+)B\} out=\{(\d+)i (\d+)d \d+n (\d+)B\}\}", line)
            if numbers:
                keys = ("id", "in_interests", "in_data", "in_bytes", "out_interests", "out_data", "out_bytes")
                values = [int(numbers[n]) for n in (1, 3, 4, 5, 6, 7, 8)]
                found[numbers[2]] = dict(zip(keys, values))
        return found

    def status(self):
        """Its counters by their names: nPitEntries, nCsEntries, nInInterests, nOutInterests, nInData, nOutData, nSatisfiedInterests, ..."""
        return {key: int(value) for key, value in re.findall(r"^ *(n[A-Z]\w*)=(\d+)$", self.control("status"), re.M)}

    def kill(self):
        """As the kernel would, without a word to those that it talks to."""
        self.process.send_signal(signal.SIGKILL)
        self.stop()

    def restart(self, kill=False):
        """It forgets everything; its routes, which somebody's script would add again, come with it."""
        if kill:
            self.kill()
        self.stop()
        self.start()
        routes, self.routes = self.routes, []
        for route in routes:
            self.route(*route)
        return self


class Put(Server):
    """ndnd put: an object in memory, in segments of 8,000 bytes, with metadata; registered at the forwarder beside which it runs, whose end is its own."""

    name = "put"
    SEGMENT = 8000

    def __init__(self, lab, forwarder, prefix, content):
        super().__init__(lab)
        self.forwarder, self.published = forwarder, prefix
        self.prefix = forwarder.prefix
        with open(self.path("content"), "wb") as f:
            f.write(content)

    def argv(self):
        return ["sh", "-c", 'exec "$0" put "$1" < content', self.forwarder.ndnd, self.published]

    def environment(self):
        return self.forwarder.environment()

    def ready(self):
        return self.published in self.forwarder.prefixes()


@dataclasses.dataclass
class Fetched:
    """What came: the content, the name under which it came, how long that took from the first Interest to the last Data, without the connection, and how many
    Interests it took.  error: None, or what the client said instead."""
    content: bytes = b""
    name: str = None
    seconds: float = None
    interests: int = None
    error: str = None
    answer: dict = dataclasses.field(default_factory=dict)      # all that the client's script said


class Script:
    """A client that is a script of ours on somebody's library: it gets a line of JSON for each thing to do, and says a line of JSON and the content."""

    def __init__(self, argv, prefix, log):
        self.log = log
        self.said = bytearray()
        with open(log, "ab") as err:
            self.process = subprocess.Popen([*prefix, *argv], bufsize=0, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=err,
                                            start_new_session=True)

    def more(self, seconds):
        if select.select([self.process.stdout], [], [], seconds)[0] and (data := os.read(self.process.stdout.fileno(), 1 << 20)):
            self.said += data
            return
        self.stop()
        with open(self.log, encoding="utf-8", errors="replace") as f:
            raise LabError(f"a client has ended, or said nothing for {seconds} s:\n{f.read()[-4000:]}")

    def do(self, seconds, **what):
        self.process.stdin.write(json.dumps(what).encode() + b"\n")
        while b"\n" not in self.said:
            self.more(seconds)
        line, _, self.said = self.said.partition(b"\n")
        answer = json.loads(line)
        while len(self.said) < answer["length"]:
            self.more(seconds)
        content, self.said = bytes(self.said[:answer["length"]]), self.said[answer["length"]:]
        return Fetched(content, answer.get("name"), answer.get("seconds"), answer.get("interests"), answer.get("error"), answer)

    def stop(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


class Client:
    """All three of them on one host.  The scripts start when they are first asked, connect anew for each thing they do, and end with the client."""

    def __init__(self, lab, forwarder, host=None):
        self.lab, self.forwarder = lab, forwarder
        self.host = host or forwarder.place
        self.address = forwarder.host if host else "127.0.0.1"
        self.scripts = {}

    def cat(self, name, seconds=60):
        """ndnd cat; its seconds are from its metadata Interest on."""
        environment = {**os.environ, "NDN_CLIENT_TRANSPORT": f"tcp4://{self.address}:{self.forwarder.port}"}
        r = subprocess.run([*self.host.prefix, self.forwarder.ndnd, "cat", name], env=environment, capture_output=True, timeout=seconds, check=False)
        said = r.stderr.decode(errors="replace")
        if r.returncode:
            return Fetched(error=said.strip() or f"status {r.returncode}")
        found = re.search(r"^Object fetched (\S+)", said, re.M)
        took = re.search(r"^Time taken: ((?:\d+h)?(?:\d+m(?!s))?)([\d.]+)(s|ms|µs)$", said, re.M)
        whole = sum(int(n) * {"h": 3600, "m": 60}[unit] for n, unit in re.findall(r"(\d+)([hm])", took[1]))
        return Fetched(r.stdout, found[1], whole + float(took[2]) * {"s": 1, "ms": 1e-3, "µs": 1e-6}[took[3]])

    def script(self, part):
        if part in self.scripts and self.scripts[part].process.poll() is None:
            return self.scripts[part]
        folder = peer(part)
        argv = {"python": [os.path.join(folder, "bin", "python"), "-BP", os.path.join(HERE, "ndn_python.py")],
                "ndnts": [os.path.join(folder, "node"), os.path.join(HERE, "ndn_ndnts.mjs"), folder]}[part]
        self.scripts[part] = Script([*argv, self.address, str(self.forwarder.port)], self.host.prefix, os.path.join(self.lab.dir, f"client-{part}"))
        return self.scripts[part]

    def python_get(self, name, discover="metadata", lifetime=1000, seconds=60):
        """Segment after segment.  discover: how it learns the version: "metadata" (RDR), "prefix" (CanBePrefix), or None: the name has it."""
        return self.script("python").do(seconds, get=name, discover=discover, lifetime=lifetime)

    def python_ask(self, name, prefix=False, fresh=False, lifetime=1000, params=None, key=None, key_name="/key", seconds=60):
        """One Interest.  With params it is signed, as python-ndn does it: with a checksum or, if there is a key, by HMAC, with a nonce and the time.  The answer's "kind"
        is the Data's ContentType."""
        signed = {"params": None if params is None else params.hex(), "key": key and key.hex(), "key_name": key_name}
        return self.script("python").do(seconds, ask=name, prefix=prefix, fresh=fresh, lifetime=lifetime, **signed)

    def ndnts_get(self, name, window=None, discover="metadata", lifetime=1000, seconds=60):
        """window: so many Interests outstanding; None: NDNts' own, cubic.  Its "interests" are without those of the discovery."""
        return self.script("ndnts").do(seconds, get=name, window=window, discover=discover, lifetime=lifetime)

    def ndnts_ask(self, name, prefix=False, fresh=False, lifetime=1000, params=None, signed=False, seconds=60):
        """One Interest; signed: with a checksum, a nonce and the time."""
        return self.script("ndnts").do(seconds, ask=name, prefix=prefix, fresh=fresh, lifetime=lifetime, params=None if params is None else params.hex(), signed=signed)

    def stop(self):
        for s in self.scripts.values():
            s.stop()
        self.scripts = {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
