# SPDX-License-Identifier: BSD-2-Clause
"""An ICAP server that does what the request says in its X-Icap-Req field (REQMOD) and its X-Icap-Resp field (RESPMOD); those without are not asked
about.

    pass        204: as it is
    modify      a field X-Adapted more, and "!" behind the body
    shorten     the body becomes "short"
    answer      REQMOD only: answers itself, with 200 and "answered"
    NAME        waits until open(NAME), then passes
    half        half of an answer, then closes
    half-open   half of an answer, then nothing until the server or Squid closes
    die         closes without an answer
    kill        closes without an answer, and before it has read the body

`seen` counts requests by method and field.
"""

import collections

from background import GatedServer
from lab.by_request import RequestByRequest

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n"


class Handler(RequestByRequest):
    def one(self):
        line = self.rfile.readline().split()
        if not line:
            return False
        fields = self.fields()
        method = line[0].decode()
        if method == "OPTIONS":
            self.wfile.write(b"ICAP/1.0 200 OK\r\nMethods: " + (b"REQMOD" if b"req" in line[1] else b"RESPMOD") +
                             b"\r\nISTag: \"fg\"\r\nAllow: 204\r\nMax-Connections: 1000\r\nEncapsulated: null-body=0\r\n\r\n")
            return True
        parts = [part.strip().split("=") for part in fields["encapsulated"].split(",")]
        heads = {}
        for (name, start), (_, end) in zip(parts, parts[1:]):
            heads[name] = self.rfile.read(int(end) - int(start))
        how = self.wanted(heads.get("req-hdr", b""), method)
        with self.server.lock:
            self.server.seen[method, how] += 1
        if how == "kill":
            return False
        body = None if parts[-1][0] == "null-body" else self.chunks()
        return self.answer(method, how, heads["req-hdr" if method == "REQMOD" else "res-hdr"], body, "204" in fields.get("allow", ""))

    def fields(self):
        fields = {}
        while line := self.rfile.readline().strip():
            name, value = line.decode("latin-1").split(":", 1)
            fields[name.lower()] = value.strip()
        return fields

    @staticmethod
    def wanted(head, method):
        name = b"\r\nx-icap-req:" if method == "REQMOD" else b"\r\nx-icap-resp:"
        at = head.lower().find(name)
        return "pass" if at < 0 else head[at + len(name):].split(b"\r\n", 1)[0].strip().decode()

    def chunks(self):
        body = b""
        while size := int(self.rfile.readline().split(b";")[0], 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def answer(self, method, how, head, body, may_pass):
        if how in ("half", "half-open"):
            self.wfile.write(b"ICAP/1.0 200 OK\r\nISTag: \"fg\"\r\nEncapsulated: " + (b"req" if method == "REQMOD" else b"res") + b"-hdr=0, ")
            return how == "half-open" and self.server.wait(None)
        if how == "die":
            return False
        if how == "answer":
            return self.adapted("res", ANSWER, b"answered")
        if how == "shorten":
            return self.adapted("req" if method == "REQMOD" else "res", without_length(head), b"short")
        if how not in ("pass", "modify") and not self.server.wait(how):
            return False
        if how == "modify" or not may_pass:
            head = without_length(head)
            head = head[:-2] + b"X-Adapted: yes\r\n\r\n" if how == "modify" else head
            return self.adapted("req" if method == "REQMOD" else "res", head, None if body is None else body + (b"!" if how == "modify" else b""))
        self.wfile.write(b"ICAP/1.0 204 No Content\r\nISTag: \"fg\"\r\nEncapsulated: null-body=0\r\n\r\n")
        return True

    def adapted(self, kind, head, body):
        part = "null-body" if body is None else f"{kind}-body"
        self.wfile.write(f"ICAP/1.0 200 OK\r\nISTag: \"fg\"\r\nEncapsulated: {kind}-hdr=0, {part}={len(head)}\r\n\r\n".encode() + head)
        if body is not None:
            self.wfile.write((b"%x\r\n%s\r\n" % (len(body), body) if body else b"") + b"0\r\n\r\n")
        return True


def without_length(head):
    return b"\r\n".join(line for line in head.split(b"\r\n") if not line.lower().startswith(b"content-length:"))


class Icap(GatedServer):
    """A context manager: listens on a free port of 127.0.0.1; config is what squid.conf says to use it."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.seen = collections.Counter()
        self.config = "icap_enable on\nicap_service_failure_limit -1\n" + "".join(
            f"acl icap_{kind} req_header X-Icap-{kind} .\n"
            f"icap_service {kind} {kind}mod_precache bypass=off icap://127.0.0.1:{self.port}/{kind}\nadaptation_access {kind} allow icap_{kind}\n"
            for kind in ("req", "resp"))
