# SPDX-License-Identifier: BSD-2-Clause
"""
files.py - files that are fetched through a pair of packet caches, more than once, by real programs.

    files = Files(lab, "nginx", rate="8mbit", rtt=20)
    files.write("file", data)
    got = files.fetch(curl(files, "file"))        # got.body, got.part, got.seconds, ...

    curl        the file, or what its options say of it: ranges, the rest of one
    Apt         packages of a repository: apt-get, whose requests stand in a pipeline
    Hls         a film in segments: streamlink, as a player asks for it

Each of these is called and returns the bytes that it got.  Servers: nginx, httpd, eeod (httpd with mod_eeod), pieces (which writes as it comes to its mind), pieces? (in chunks).
"""
import dataclasses
import functools
import hashlib
import os
import shutil
import subprocess
import sys
import time

from .httpd import Httpd, Nginx, sanitizer_environment
from .lab import module, wait_for
from .pair import Pair

PIECES = os.path.join(os.path.dirname(__file__), "pieces.py")
PORT = 80
EEOD = "<Location />\nEeodEngine On\nEeodFiles On\n</Location>\n"
LONG = 900      # seconds that nothing takes


@dataclasses.dataclass(frozen=True)
class Got:
    """body; bytes of IP: carried, on the link, served, by servers; again: of their segments, the share that came again; seconds."""
    body: bytes
    carried: int
    served: int
    again: float
    seconds: float

    @property
    def part(self):
        """What the link carried, of what it was for."""
        return self.carried / len(self.body)


class Files:
    """A folder of files, served behind a pair."""

    def __init__(self, lab, server, cache="256M", **options):
        self.lab, self.pair = lab, Pair(lab, **options).start()
        self.folder = os.path.join(lab.dir, f"files-{self.pair.base}")
        os.makedirs(self.folder)
        os.chmod(self.folder, 0o755)
        self.query = "?chunked" if server == "pieces?" else ""
        self.process = self.server = None
        if server.startswith("pieces"):
            self.process = subprocess.Popen([*self.pair.servers.prefix, sys.executable, PIECES, "10.8.1.2", str(PORT), self.folder],
                                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
            assert self.process.stdout.readline() == "ready\n"
            address, port = "10.8.1.2:80", PORT
        else:
            make = {"nginx": Nginx, "httpd": Httpd, "eeod": functools.partial(Httpd, load={"eeod": module("mod_eeod")}, config=EEOD, environment=sanitizer_environment())}[server]
            self.server = make(lab, htdocs=self.folder).on(self.pair.servers).start()
            address, port = self.server.address, self.server.port
        self.url = f"http://{address}"
        self.pair.both(ports=port, cache=cache)

    def write(self, name, data):
        path = os.path.join(self.folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as f:
            f.write(data)
        os.chmod(path, 0o644)
        return path

    def run(self, *words, **options):
        """A command among the clients; what it wrote."""
        environment = {k: v for k, v in os.environ.items() if not k.lower().endswith("_proxy")} | options.pop("env", {})
        return subprocess.run([*self.pair.clients.prefix, *words], stdin=subprocess.DEVNULL, capture_output=True, check=True, timeout=LONG, env=environment, **options).stdout

    def fetch(self, get):
        wait_for(self.pair.parent.at_work, 20, "the parent at work")
        before, carried, began = self.counters(), self.pair.carried(), time.monotonic()
        body = get()
        seconds, carried = time.monotonic() - began, self.pair.carried() - carried
        after = self.counters()
        served = after["bytes_in"] - before["bytes_in"]
        return Got(body, carried, served, (after["again"] - before["again"]) / (served / 1500), seconds)

    def counters(self):
        time.sleep(0.25)        # they are shown ten times a second
        return self.pair.parent.counters()

    def stop(self):
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process.stdout.close()
        self.pair.stop()
        if self.server:
            self.server.stop()


def read(paths):
    """All that is in each of them."""
    got = []
    for path in paths:
        with open(path, "rb") as f:
            got.append(f.read())
    return got


def curl(files, name, *words):
    return functools.partial(files.run, "curl", "-sS", "--max-time", str(LONG), *words, f"{files.url}/{name}{files.query}")


class Apt:
    """data: of so many packages, in parts as equal as can be.  begun: bytes of each that a call before it has left behind."""

    def __init__(self, files, data, packages=5):
        self.files, self.root, self.begun, self.calls = files, os.path.join(files.lab.dir, f"apt-{files.pair.base}"), 0, 0
        self.names = [f"fairgate-lab-{i}" for i in range(packages)]
        index, size = [], -(-len(data) // packages)
        for i, name in enumerate(self.names):
            index.append(self.package(name, data[i * size:(i + 1) * size]))
        files.write("repository/Packages", "\n".join(index).encode())

    def package(self, name, data):
        """Its entry of the index."""
        tree = os.path.join(self.root, "trees", name)
        os.makedirs(os.path.join(tree, "DEBIAN"))
        control = f"Package: {name}\nVersion: 1\nArchitecture: all\nMaintainer: the lab <lab@example.org>\nDescription: bytes\n"
        with open(os.path.join(tree, "DEBIAN", "control"), "w", encoding="ascii") as f:
            f.write(control)
        with open(os.path.join(tree, name), "wb") as f:
            f.write(data)
        there = self.there(name)
        os.makedirs(os.path.dirname(there), exist_ok=True)
        subprocess.run(["dpkg-deb", "-Znone", "--root-owner-group", "--build", tree, there], check=True, capture_output=True)
        whole, = read([there])
        return f"{control}Filename: ./{name}.deb\nSize: {len(whole)}\nSHA256: {hashlib.sha256(whole).hexdigest()}\n"

    def __call__(self):
        """A client that has nothing, but the beginnings of packages; what it got."""
        self.calls += 1
        client = os.path.join(self.root, f"client{self.calls}")
        archives = os.path.join(client, "cache", "archives")
        for d in ("state/lists/partial", "cache/archives/partial", "etc"):
            os.makedirs(os.path.join(client, d))
        with open(os.path.join(client, "sources.list"), "w", encoding="ascii") as f:
            f.write(f"deb [trusted=yes] {self.files.url}/repository ./\n")
        with open(os.path.join(client, "status"), "w", encoding="ascii"):
            pass
        for name in self.names if self.begun else ():
            partial = os.path.join(archives, "partial", f"{name}_1_all.deb")
            with open(self.there(name), "rb") as a, open(partial, "wb") as b:
                b.write(a.read(self.begun))
            shutil.copystat(self.there(name), partial)      # its time is that of If-Range
        settings = {"Dir::State": f"{client}/state", "Dir::State::status": f"{client}/status", "Dir::Cache": f"{client}/cache", "Dir::Etc": f"{client}/etc",
                    "Dir::Etc::sourcelist": f"{client}/sources.list", "Dir::Etc::sourceparts": "/dev/null", "APT::Sandbox::User": "root",
                    "Acquire::Languages": "none", "Acquire::http::Proxy": "DIRECT", "Debug::NoLocking": "true"}
        options = [w for k, v in settings.items() for w in ("-o", f"{k}={v}")]
        self.files.run("apt-get", *options, "update")
        self.files.run("apt-get", *options, "--yes", "--download-only", "install", *self.names)
        got = read(f"{archives}/{name}_1_all.deb" for name in self.names)
        shutil.rmtree(client)
        return b"".join(package[self.begun:] for package in got)

    def there(self, name):
        return os.path.join(self.files.folder, "repository", f"{name}.deb")

    def wants(self):
        """What a call is to get."""
        return b"".join(package[self.begun:] for package in read(map(self.there, self.names)))


class Hls:
    """data as a film in so many segments, or, ranges: as ranges of one file."""

    def __init__(self, files, data, segments=10, ranges=False):
        self.files, size, lines = files, -(-len(data) // segments), []
        for i in range(segments):
            part, name = data[i * size:(i + 1) * size], "film.ts" if ranges else f"film{i}.ts"
            if not ranges:
                files.write(name, part)
            lines += ["#EXTINF:6.0,", *([f"#EXT-X-BYTERANGE:{len(part)}@{i * size}"] if ranges else []), name]
        if ranges:
            files.write("film.ts", data)
        files.write("film.m3u8", "\n".join(["#EXTM3U", "#EXT-X-VERSION:4", "#EXT-X-TARGETDURATION:6", "#EXT-X-MEDIA-SEQUENCE:0", *lines, "#EXT-X-ENDLIST", ""]).encode())

    def __call__(self):
        return self.files.run("streamlink", "--stdout", f"hls://{self.files.url}/film.m3u8", "best", env={"HOME": self.files.lab.dir})
