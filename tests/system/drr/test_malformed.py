# SPDX-License-Identifier: BSD-2-Clause
"""Smuggled and malformed requests, more than ten thousand: httpd with the module and without it gives the same answers, keeps and closes the same connections, and asks the server behind
for the same, byte by byte, but for the module's own field (Fairgate-Outer).

Three httpds stand in network namespaces of their own, so that all have the same address and port, with a client and an origin beside each: one without the module; one with a narrow window,
where many of them wait; one with a wide one, where nobody does.  What came must be the same but for the date, the order of methods in "Allow" (that of a table with a secret of each
process), and in HTTP/2 the order of frames of different streams.
"""

import json
import os
import pathlib
import re

import pytest

from lab import lab
from lab.httpd import CRASH, Httpd, sanitizer_environment
from lab.raw import PORT, Side, compare
from lab.raw_cases_web import KINDS, cases

BATCH = 130
CONFIG = """
Protocols h2c http/1.1
H2MaxWorkers 200
ServerName localhost:80
Alias /files/ {root}/static/
ScriptAlias /cgi/ {programs}/
Alias /closed/ {root}/forbidden/
Redirect /old/ /new/
<Directory {root}>
    Require all granted
</Directory>
<Directory {root}/forbidden>
    Require all denied
</Directory>
<Directory {programs}>
    Require all granted
    SetEnv ap_trust_cgilike_cl 1
</Directory>
ErrorDocument 404 /files/index.html
ProxyPass /files/ !
ProxyPass /cgi/ !
ProxyPass /closed/ !
ProxyPass /old/ !
ProxyPass /qos-status !
ProxyPass / http://127.0.0.1:8080/ disablereuse=On
"""
# What a site would have: rules of all kinds, keys, exemptions, slots given back, cookies off.
WITH = """
QosEngine On
QosWindow {window}
QosPark time=30
QosExempt path /healthz
QosExempt method PROPFIND
QosClass people weight=6 within=client
QosClass search weight=3 within=client/24/56 within=%{{HTTP_USER_AGENT}}
QosClass crawlers weight=1 order=shortest
QosClass other weight=1 within=%{{HTTP_HOST}} default
QosRule people cookie prefix session=
QosRule search user_agent substring bot
QosRule crawlers url prefix /hidden
QosRule crawlers user_agent regex "^[^a-z]+$"
SetEnvIf X-Class (.+) qos-class=$1
<Location /qos-status>
    SetHandler qos-status
</Location>
"""
ASSERTED = re.compile(r"\[pid (\d+)[:\]].*\bfile (h2_\w+\.c, line \d+, assertion .*) failed")
DATE = re.compile(rb"\r\nDate: [^\r\n]*")
ALLOW = re.compile(rb"\r\nAllow: ([^\r\n]*)")
# The name in the static table (RFC 7541), then 29 characters in Huffman's code, of which digits have 5 or 6 bits.
H2_DATE = re.compile(rb"(?:\x0f\x12|\x61)(?:\x94.{20}|\x95.{21}|\x96.{22}|\x97.{23})", re.S)


# It says how long its answer is: else httpd does, if the program has ended soon enough.
PROGRAM = """#!/bin/sh
read=$(wc -c)
text="$REQUEST_METHOD $PATH_INFO, read $read"
printf 'Content-Type: text/plain\\nContent-Length: %d\\n\\n%s' ${#text} "$text"
"""


class Plain(Httpd):
    """With files, programs, a proxy and HTTP/2."""

    def __init__(self, parts, programs, config, **words):
        super().__init__(parts.lab, htdocs=str(parts.root), cgi=True, modules=("http2", "log_config"), config=CONFIG.format(root=parts.root, programs=programs) + config, threads=75,
                         timeout=60, environment=sanitizer_environment(), **words)

    def ready(self):
        return self.generations() > 0


def told(side):
    """The status page's figures."""
    return json.loads(side.host.run("curl", "-s", f"http://127.0.0.1:{PORT}/qos-status?json"))


def crashes(side):
    """What its server's log tells of them.  mod_http2 has assertions that frames break, with the module or without: such an end is known by its assertion."""
    lines = [line for line in side.server.log().splitlines() if CRASH.search(line)]
    asserted = dict(m.groups() for m in map(ASSERTED.search, lines) if m)
    ended = [line for line in lines if not ASSERTED.search(line) and not any(f"child pid {pid} exit signal Abort" in line for pid in asserted)]
    return {*asserted.values(), *ended}


def frames_of(data):
    while len(data) >= 9:
        end = 9 + int.from_bytes(data[:3], "big")
        if len(data) < end:
            break
        yield data[3], data[4], int.from_bytes(data[5:9], "big"), data[9:end]
        data = data[end:]
    if data:
        yield -1, 0, 0, data


def by_stream(data):
    """What each stream has received, in order.  How a body is cut into frames, and what is said between of the connection itself, depends on time."""
    streams = {}
    for kind, flags, number, payload in frames_of(data):
        told = streams.setdefault(number, [])
        if kind == 0 and told and told[-1][0] == 0:
            told[-1] = (0, told[-1][1] | flags, told[-1][2] + payload)
        else:
            told.append((kind, flags, H2_DATE.sub(b"DATE", payload) if kind == 1 else payload))
    streams[0] = sorted(streams.get(0, []))
    return repr(sorted(streams.items())).encode()


def plain(text):
    return ALLOW.sub(lambda m: b"\r\nAllow: " + b",".join(sorted(m[1].split(b","))), DATE.sub(b"\r\nDate: -", text))


def normal(got):
    """What counts of what came."""
    head, upgraded, rest = got.partition(b"Upgrade: h2c\r\nConnection: Upgrade\r\n\r\n")
    if upgraded:
        return plain(head) + upgraded + by_stream(rest)
    # HTTP/2 begins with the settings.
    return by_stream(got) if got[3:9] == b"\x04\0\0\0\0\0" else plain(got)


@pytest.fixture(scope="module")
def sides(parts):
    """Without, narrow, wide."""
    if os.geteuid():
        pytest.skip("network namespaces need root")
    programs = pathlib.Path(parts.lab.dir, "programs")
    programs.mkdir(0o755)
    (programs / "page").write_text(PROGRAM)
    (programs / "page").chmod(0o755)
    load = {"qos_drr": lab.module()}
    made = [Side("without", lambda: Plain(parts, programs, "", name="httpd-without")),
            Side("narrow", lambda: Plain(parts, programs, WITH.format(window=16), name="httpd-narrow", load=load)),
            Side("wide", lambda: Plain(parts, programs, WITH.format(window=1000), name="httpd-wide", load=load))]
    with made[0], made[1], made[2]:
        yield made
    without = crashes(made[0])
    for s in made[1:]:
        assert crashes(s) <= without, f"{s.name}: " + "\n".join(sorted(crashes(s) - without)[:20])


@pytest.mark.parametrize("kind", KINDS)
def test_answers_are_those_without_it(sides, request, kind):
    """Who closes his half of a connection while he waits counts as gone (mod_qos_drr.md): such requests are for the wide window alone."""
    count = 4000 if request.config.getoption("--long") else 520
    compared = (sides[0], sides[2]) if kind == "halves" else sides
    made = cases(kind, count)
    for at in range(0, count, BATCH):
        compare(compared, made[at:at + BATCH], normal=normal)


def test_nothing_is_left_of_them(sides):
    """They are scheduled, many wait, and each gives back what it had."""
    def idle(side):
        s = told(side)
        return s if s["queued"] == s["outstanding"] == s["parked"] == 0 else None

    before = [lab.wait_for(lambda side=side: idle(side), 20, "idle") for side in sides[1:]]
    compare(sides, [case for kind in KINDS if kind != "halves" for case in cases(kind, 40, seed=3)], normal=normal)
    for side, b in zip(sides[1:], before):
        s = lab.wait_for(lambda side=side: idle(side), 20, "idle")
        had = {c["name"]: c["submitted"] for c in b["classes"]}
        assert {"people", "search", "other"} <= {c["name"] for c in s["classes"] if c["submitted"] > had[c["name"]]}, s
        for c in s["classes"]:
            assert c["submitted"] == c["done"] + c["aborted"] + c["cancelled"] + c["refused"], c
    assert max(c["wait_ms_max"] for c in told(sides[1])["classes"]) > 0


def test_there_are_ten_thousand():
    assert 520 * len(KINDS) > 10000
    assert len({request for kind in KINDS for request in cases(kind, 520)}) > 9000
    assert cases("frames", 50) == cases("frames", 50) != cases("frames", 50, seed=2)
