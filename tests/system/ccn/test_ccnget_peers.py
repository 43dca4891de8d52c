# SPDX-License-Identifier: BSD-2-Clause
"""fairgate-ccnget through a real forwarder: what others' producer has comes whole."""
import json
import subprocess

import pytest
from ccn_get import BODY, command

from lab import ndn
from lab import ndn_wire as wire
from lab.ndn_face import Producer, serving

SEGMENTS = (1, 2, 100, 250)


@pytest.fixture(scope="module")
def put(ndn_lab, forwarder):
    """{number of segments: content} of what ndnd put has published as /get/NUMBER."""
    contents = {n: BODY[:n * ndn.Put.SEGMENT - 17] for n in SEGMENTS}
    for n, content in contents.items():
        ndn.Put(ndn_lab, forwarder, f"/get/{n}", content).start()
    return contents


def fetch(host, forwarder, page, *words):
    """(exit status, content, figures)"""
    uri = f"unix://{forwarder.socket}" if host is forwarder.place else f"tcp4://{forwarder.host}"
    r = subprocess.run([*host.prefix, *command("--forwarder", uri, "--json", *words, page)], capture_output=True, timeout=60, check=False)
    return r.returncode, r.stdout, json.loads(r.stderr.decode().splitlines()[-1])


@pytest.mark.parametrize("window", ("hint", "cubic", "aimd", "1", "100"))
def test_what_ndnd_put_has(put, forwarder, path, window):
    for n, content in put.items():
        for host in (path.clients, forwarder.place):
            status, got, figures = fetch(host, forwarder, f"/get/{n}", "--window", window)
            assert status == 0 and got == content, f"{n} segments, {figures}"
            assert figures["segments"] == n and figures["status"] == 200 and figures["hint"] is None and figures["version"]


def test_what_nobody_has(forwarder, path):
    """This forwarder keeps a Nack to itself: nothing comes."""
    status, got, figures = fetch(path.clients, forwarder, "/nobody/has/this", "--tries", "2", "--lifetime", "200")
    assert (status, got, figures["segments"], figures["interests"]) == (28, b"", 0, 2)


def test_a_forwarder_that_starts_anew(ndn_lab, path):
    """In the middle of a page: the connection is made again, and the page is whole."""
    answer, killed = serving(wire.published("/anew/page", BODY, size=1000, stamp=1)), []

    def answer_until(packet):
        if packet.name[-1] == wire.segment(700) and not killed:
            killed.append(packet)
            forwarder.restart(kill=True)
            return None
        return answer(packet)

    forwarder = ndn.Forwarder(ndn_lab, "anew").on(path.server).start()      # of its own: others' producers end with theirs
    with Producer(7200, answer_until, host=path.server) as p:
        forwarder.route("/anew", p.uri)
        status, got, figures = fetch(path.clients, forwarder, "/anew/page", "--window", "50", "--tries", "20")
    assert killed and status == 0 and got == BODY and figures["retransmissions"] > 0
