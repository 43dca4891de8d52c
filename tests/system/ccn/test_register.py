# SPDX-License-Identifier: BSD-2-Clause
"""A site that connects to its forwarder: what it registers there, below which name, and what it says when nobody answers."""
import itertools
import os
import re
import signal
import urllib.request

import pytest

from lab import ndn
from lab import ndn_wire as wire
from lab.ccn import octets, site
from lab.lab import wait_for
from lab.ndn_face import Face, Listener

ports = itertools.count(7400)
PREFIX = "/reg/site"
NEAR, FAR = wire.name("/localhost/nfd/rib/register"), wire.name("/localhop/nfd/rib/register")


def answer_to(command, code):
    return wire.lp(wire.data(command.name, wire.tlv(0x65, wire.tlv(0x66, code.to_bytes(2, "big")) + wire.tlv(0x67, b"so be it"))))


def prefix_of(command):
    """What a command wants to have registered."""
    parameters = wire.only(command.name[4][1], 0x68)
    return next(value for kind, value, _, _ in wire.elements(parameters) if kind == wire.NAME)


def figures(s):
    return tuple(s.status()[key] for key in ("forwarders", "forwarders_connected", "prefixes", "prefixes_registered"))


def shown(s):
    """The rows of the status page's table of forwarders."""
    def get():
        with urllib.request.urlopen(s.url + "/ccn-status", timeout=10) as answer:
            return answer.read().decode()
    rows = re.findall(r"<tr><td>(.*?)</td><td>(.*?connected)</td><td>(.*?)</td><td>(.*?)</td></tr>", s.inside(get))
    return [tuple(row) for row in rows]


@pytest.fixture
def dialled(ndn_lab, path):
    """dialled(where, more): a site on the server's host whose forwarder is a Listener of ours on `where`; (site, the Face that it has opened, the Listener)."""
    ends = []

    def make(where, speak="", scheme="tcp"):
        listener = Listener(next(ports), where)
        s = site(ndn_lab, path.server, prefix=PREFIX, listens=False, log_level="info",
                 speak=f"CcnForwarder {scheme}://{listener.address}:{listener.port}\n{speak}")
        served = s.__enter__()      # pylint: disable=unnecessary-dunder-call
        ends.extend((lambda: s.__exit__(None, None, None), listener.close))
        face = listener.accept(10)
        ends.append(face.close)
        return served, face, listener
    yield make
    for end in reversed(ends):
        end()


def test_a_forwarder_on_another_host_that_allows_it(ndn_lab, path):
    """It hears who is not of its machine below /localhop, if it is set so."""
    page = octets(50000)
    forwarder = ndn.Forwarder(ndn_lab, name="allows", settings={"mgmt": {"allow_localhop": True}}).on(path.clients).start()
    with site(ndn_lab, path.server, prefix="/hop/site", files={"a": page}, speak=f"CcnForwarder tcp4://{forwarder.host}", listens=False) as s, \
            ndn.Client(ndn_lab, forwarder, path.clients) as client:
        wait_for(lambda: "/hop/site" in forwarder.prefixes(), 10, "the prefix")
        assert client.cat("/hop/site/a").content == page
        wait_for(lambda: "all prefixes are registered (1)" in s.log(), 5, "that it says so")
        assert "does not answer" not in s.log()
        assert figures(s) == (1, 1, 1, 1)
        wait_for(lambda: shown(s) == [(f"tcp4://{forwarder.host}", "connected", "1 of 1", "0")], 5, "the status page")
        forwarder.kill()
        assert wait_for(lambda: figures(s) == (1, 0, 1, 0), 5, "the figures without it")
        assert shown(s) == [(f"tcp4://{forwarder.host}", "not connected", "0 of 1", "0")]


def test_nobody_answers(path, dialled):
    """It says so, after five seconds, and what to do; it asks again, as whom a forwarder of this machine would hear, and keeps the connection."""
    s, face, _ = dialled(path.router, f"CcnMap {PREFIX}/two /")
    first = [face.receive() for _ in range(2)]
    assert all(c.name[:4] == FAR for c in first) and {prefix_of(c) for c in first} == {wire.name_value(wire.name(p)) for p in (PREFIX, PREFIX + "/two")}
    face.send(answer_to(first[1], 200))
    again = face.receive(15)
    assert again.name[:4] == NEAR and prefix_of(again) == prefix_of(first[0])
    line = next(line for line in s.log().splitlines() if "does not answer" in line)
    assert f"{PREFIX} is to be registered (1 of 2 prefixes)" in line and f"tcp://{path.router.address}" in line and "mgmt.allow_localhop: true" in line
    assert "localhop_security" in line and "all prefixes" not in s.log()
    face.send(answer_to(again, 200))
    wait_for(lambda: "all prefixes are registered (2)" in s.log(), 5, "what it says of both")
    # Longer than a stranger may be silent.
    assert not face.closed(32) and s.log().count("connected to the forwarder") == 1


def test_one_of_this_machine(path, dialled):
    """At a loopback address it is asked as a local one, and what it refuses is said by name."""
    class Loopback:
        address = "127.0.0.1"
        inside = staticmethod(path.server.inside)
    s, face, _ = dialled(Loopback, scheme="tcp4")
    command = face.receive()
    assert command.name[:4] == NEAR
    face.send(wire.lp(wire.data(command.name, b"none")), wire.lp(wire.data(NEAR, answer_to(command, 200))))
    face.send(answer_to(command, 403))
    wait_for(lambda: f"refuses the prefix {PREFIX} (403)" in s.log(), 5, "the refusal")
    assert s.status()["unregistered"] == 1 and figures(s) == (1, 1, 1, 0) and shown(s)[0][2:] == ("0 of 1", "1") and "all prefixes" not in s.log()


def test_a_child_that_dies_has_no_connection(path, dialled):
    """Whatever it said of itself last."""
    s, face, listener = dialled(path.router)
    face.send(answer_to(face.receive(), 200))
    wait_for(lambda: figures(s) == (1, 1, 1, 1), 5, "the prefix registered")
    listener.close()
    for child in s.children():
        os.kill(child, signal.SIGKILL)
    assert wait_for(lambda: figures(s) == (1, 0, 1, 0), 10, "figures of what is there")


def test_who_has_gone_without_a_word_is_found_out(ndn_lab, path, dialled):
    """The kernel asks, on connections that we open and on those that come, half a minute after the last packet."""
    def probed(port):
        lines = path.server.run("ss", "-tnoH", "state", "established", f"( sport = :{port} or dport = :{port} )")
        return [int(seconds) for seconds in re.findall(r"timer:\(keepalive,(\d+)sec,0\)", lines)]

    _, face, _ = dialled(path.router)
    port = face.connection.getsockname()[1]
    assert wait_for(lambda: [s for s in probed(port) if s <= 30], 5, "the kernel's timer")
    with site(ndn_lab, path.server) as s, Face.tcp(s.host, s.ndn_port, path.clients) as face:
        assert face.ask("/example/site/index.html", prefix=True).content == b"hello\n"
        assert wait_for(lambda: [n for n in probed(s.ndn_port) if n <= 30], 5, "the kernel's timer")
