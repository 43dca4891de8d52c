# SPDX-License-Identifier: BSD-2-Clause
"""Modules of others beside mod_ccn: what they may do with the connection of a page that an Interest asks for (docs/mod_ccn.md: a page is what HTTP would bring)."""
import contextlib

import pytest

from lab import lab
from lab import ndn_wire as wire
from lab.ccn import site
from lab.lab import module, program
from lab.ndn_face import Face

NAME = "/example/site"
FACES = 8       # as many as CcnThreads: pages are made at the same time
ROUNDS = 40


@pytest.fixture(name="made_lab")
def a_lab(request):
    with lab.kept_lab("others", lambda: request.session.testsfailed > 0) as made:
        yield made


def statuses(served, rounds=ROUNDS):
    """Asks for pages over several connections at one time; {HTTP status: how many}."""
    counts = {}
    with contextlib.ExitStack() as stack:
        faces = [stack.enter_context(Face.tcp("127.0.0.1", served.ndn_port)) for _ in range(FACES)]
        for n in range(rounds):
            for i, face in enumerate(faces):
                face.send(wire.interest(f"{NAME}/index.html%3F{n}-{i}", prefix=True, fresh=True, lifetime=10000))
            for face in faces:
                meta = {kind: value for kind, value, _, _ in wire.elements(face.receive(10).fields[wire.META_INFO])}
                status = wire.read_integer(meta[0xF522])
                counts[status] = counts.get(status, 0) + 1
    return counts


@pytest.mark.parametrize("mpm", ("event", "worker", "prefork"))
def test_an_interest_beside_a_module_that_asks_the_master_connection_for_its_socket_ends_no_child(made_lab, mpm):
    """What the module finds at the master connection is the request's own, though pages are made side by side."""
    settings = f"LoadModule lab_master_module {program('tests/lab/.libs/mod_master.so')}\nLabMaster On\nCcnConnections {FACES}\n"
    with site(made_lab, mpm=mpm, children=2 if mpm != "prefork" else 2 * FACES, settings=settings, access_log="%r %>s %{lab-master}n") as s:
        children = s.children()
        assert statuses(s) == {200: FACES * ROUNDS}
        assert s.children() == children
        lines = [line.rsplit(" ", 2)[1:] for line in s.access_log() if "index.html" in line]
        assert lines == [["200", "own"]] * (FACES * ROUNDS)


def test_an_interest_with_qostransparent_at_server_level_ends_no_child(made_lab):
    """Its page was not redirected here, and is refused as over HTTP."""
    settings = (f"LoadModule qos_drr_module {module()}\nQosTransparent On\n"
                "<Location /ccn-status>\nQosTransparent Off\n</Location>\n")
    with site(made_lab, children=2, settings=settings) as s:
        children = s.children()
        assert statuses(s, rounds=5) == {403: FACES * 5}
        assert s.children() == children
