# SPDX-License-Identifier: BSD-2-Clause
"""httpd with mod_eeod and the lab's pages: /on, /strip and /off are the same site, each of its random pages (lab-random) one number."""

import json
import os
import random
import socket
import subprocess
import time
import urllib.request
import zlib

from lab.httpd import CRASH, Httpd, sanitizer_environment
from lab.lab import free_port, module, program, wait_for
from lab.marks import CLOSE, OPEN

RANDOM = """
<Location /on/random>
SetHandler lab-random
</Location>
<Location /off/random>
SetHandler lab-random
</Location>
<Location /strip/random>
SetHandler lab-random
</Location>
<Location /on/page>
SetHandler lab-page
</Location>
"""


class Pages(Httpd):
    """
    The server under test.  root: the directory behind /on, /off, /strip and /files; tls: (certificate, key) for a second port, tls_port; keys: marks have keys,
    as they have unless told otherwise.
    """

    def __init__(self, lab, root, config="", tls=None, keys=False, **options):
        self.root = root
        aliases = "".join(f"Alias /{where} {root}\n" for where in ("on", "off", "strip", "files"))
        text = (aliases + ("" if keys else "EeodKey Off\n") + f"<Directory {root}>\nRequire all granted\nOptions +ExecCGI +Includes\nEnableSendfile On\n</Directory>\n"
                "<Location /on>\nEeodEngine On\n</Location>\n<Location /strip>\nEeodEngine On\nEeodStrip On\n</Location>\n"
                "<Location /files>\nEeodEngine On\nEeodFiles On\n</Location>\n<Location /eeod-status>\nSetHandler eeod-status\n</Location>\n"
                "<Location /server-status>\nSetHandler server-status\n</Location>\n" + RANDOM + config)
        self.tls_port = free_port() if tls else None
        if tls:
            text += (f"Listen 127.0.0.1:{self.tls_port} https\nProtocols h2 http/1.1\n<VirtualHost 127.0.0.1:{self.tls_port}>\nSSLEngine On\n"
                     f"SSLCertificateFile {tls[0]}\nSSLCertificateKeyFile {tls[1]}\n</VirtualHost>\n")
        options.setdefault("children", 2)
        options.setdefault("log_level", "info")
        options["modules"] = ("include", "deflate", "log_config", "filter", *options.get("modules", ()), *(("ssl", "http2") if tls else ()))
        super().__init__(lab, config=text, environment=sanitizer_environment(), htdocs=root,
                         load={"eeod": module("mod_eeod"), "lab_pages": program("tests/lab/.libs/mod_pages.so")}, **options)

    def counters(self):
        with urllib.request.urlopen(self.url + "/eeod-status?json", timeout=20) as r:
            return json.load(r)

    def settled(self):
        """The counters at rest: what belongs to a response is counted until a moment after its client has it."""
        seen = []

        def at_rest():
            seen.append(self.counters())
            time.sleep(0.03)
            return len(seen) > 8 and all(s == seen[-1] for s in seen[-9:])
        wait_for(at_rest, 10, "counters at rest")
        return seen[-1]

    def assert_no_crash(self):
        bad = [line for line in self.log().splitlines() if CRASH.search(line)]
        assert not bad, "\n".join(bad[:20])

    def assert_well(self):
        self.assert_no_crash()
        assert self.settled()["missed"] == 0


def write(root, name, data, executable=False):
    path = os.path.join(root, name)
    with open(path, "wb") as f:
        f.write(data if isinstance(data, bytes) else data.encode())
    os.chmod(path, 0o755 if executable else 0o644)
    os.utime(path, (1, 1))      # old enough to be remembered
    return path


def page(seed, blocks=6, cacheable=(200, 5000), unique=(10, 2000)):
    """A page with marks."""
    r = random.Random(seed)
    out = b"<html>"
    for _ in range(blocks):
        out += bytes(r.choices(b"abcdefghij \n", k=r.randint(*cacheable))) + OPEN + bytes(r.choices(b"ABCDEFGHIJ", k=r.randint(*unique))) + CLOSE
    return out + b"the end" * 50 + b"</html>\n"


def stripped(data):
    return data.replace(OPEN, b"").replace(CLOSE, b"")


def curl(url, *words):
    """(status line, {header: value}, body)"""
    done = subprocess.run(["curl", "-sS", "-i", "--http1.1", "--max-time", "60", *words, url], stdin=subprocess.DEVNULL, capture_output=True, timeout=90,
                          check=True)
    head, body = done.stdout.split(b"\r\n\r\n", 1)
    lines = head.decode("latin-1").split("\r\n")
    return lines[0], dict((k.lower(), v.strip()) for k, v in (line.split(":", 1) for line in lines[1:])), body


class Visitor:
    """Asks for random pages and holds each against what the handler says it is: pipelined, in ranges, over HTTP/1.0, broken off in the middle."""

    def __init__(self, port, seed):
        self.port, self.random = port, random.Random(seed)
        self.socket = None
        self.whole = self.cut = self.ranges = 0

    def connect(self):
        self.close()
        self.socket = socket.create_connection(("127.0.0.1", self.port), 60)
        self.file = self.socket.makefile("rb", 1 << 18)

    def close(self):
        if self.socket:
            self.file.close()
            self.socket.close()
            self.socket = None

    def head(self):
        status = int(self.file.readline().split()[1])
        fields = {}
        while (line := self.file.readline().strip()):
            name, value = line.split(b":", 1)
            fields[name.lower().decode()] = value.strip().decode()
        return status, fields

    def body(self, fields):
        if "content-length" in fields:
            n = int(fields["content-length"])
            data = self.file.read(n)
            assert len(data) == n
            return data
        if fields.get("transfer-encoding") != "chunked":
            return self.file.read()
        parts = []
        while (n := int(self.file.readline(), 16)):
            parts.append(self.file.read(n))
            assert self.file.read(2) == b"\r\n" and len(parts[-1]) == n
        assert self.file.readline() == b"\r\n"
        return b"".join(parts)

    def check(self, where, status, fields, body, asked=None):
        assert status in (200, 206), status
        told = fields["x-stripped" if where == "strip" else "x-page"]
        if status == 206:
            begin, end = asked
            whole = int(told.split("-")[1])
            end = min(end, whole - 1)
            assert fields["content-range"] == f"bytes {begin}-{end}/{whole}" and len(body) == end - begin + 1
            self.ranges += 1
            return body
        assert told == f"{zlib.crc32(body):08x}-{len(body)}"
        self.whole += 1
        return None

    def visit(self, first, count):
        """So many pages from this number on."""
        n = first
        while n < first + count:
            kind = self.random.random()
            if self.socket is None:
                self.connect()
            if kind < 0.05:
                self.break_off(n)
                n += 1
            elif kind < 0.1:
                self.old(n)
                n += 1
            elif kind < 0.2:
                self.range(n)
                n += 1
            else:
                n += self.pipeline(n, min(self.random.randint(1, 12), first + count - n))
        self.close()

    def request(self, where, n, version="1.1", more="", steady=False):
        # Of a type that can't be split httpd loses bytes by itself, when a client is slow or asks for a range.
        stiff = "&stiff=1" if where != "off" and not more else ""
        return f"GET /{where}/random?seed={n}{stiff}{'&steady=1' if steady else ''} HTTP/{version}\r\nHost: x\r\n{more}\r\n".encode()

    def pipeline(self, n, count):
        wheres = [self.random.choice(("on", "on", "on", "off", "strip")) for _ in range(count)]
        self.socket.sendall(b"".join(self.request(w, n + i) for i, w in enumerate(wheres)))
        for where in wheres:
            status, fields = self.head()
            self.check(where, status, fields, self.body(fields))
        return count

    def old(self, n):
        where = self.random.choice(("on", "strip"))
        self.connect()
        self.socket.sendall(self.request(where, n, "1.0"))
        status, fields = self.head()
        self.check(where, status, fields, self.body(fields))
        self.close()

    def range(self, n):
        """A range, and the same from the whole page."""
        where = self.random.choice(("on", "strip"))
        begin = self.random.choice((0, self.random.randint(0, 3000)))
        asked = begin, begin + self.random.choice((0, 10, 500, 5000, 10 ** 6))
        self.socket.sendall(self.request(where, n, more=f"Range: bytes={asked[0]}-{asked[1]}\r\n", steady=True)
                            + self.request(where, n, steady=True))
        status, fields = self.head()
        body = self.body(fields)
        part = self.check(where, status, fields, body, asked) if status != 416 else None
        status, fields = self.head()
        whole = self.body(fields)
        self.check(where, status, fields, whole)
        if part is not None:
            assert part == whole[asked[0]:asked[1] + 1]

    def break_off(self, n):
        """Hangs up before the end of several; what comes until then is not looked at."""
        self.socket.sendall(b"".join(self.request("on", n + i) for i in range(self.random.randint(1, 4))))
        self.socket.recv(self.random.choice((1, 1000, 30000)))
        self.close()
        self.cut += 1
