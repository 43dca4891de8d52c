# SPDX-License-Identifier: BSD-2-Clause
"""A child of httpd dies, whatever it was at: every fetch ends whole without help, and nothing stays taken."""
import os
import signal

import pytest

from lab.ccn import made, site
from lab.lab import wait_for
from lab.ndn_face import Face
from lab.ndn_fetch import Fetches

CLIENTS = 100
SIZE = 30 * 4096
WHOLE_AGAIN = 1.5


@pytest.fixture(scope="module", params=("it connects", "the forwarder connects"))
def served(request, ndn_lab, path, forwarder):
    prefix = f"/kill{len(request.param)}/site"
    dials = request.param == "it connects"
    with site(ndn_lab, path.router if dials else path.server, prefix=prefix, children=3, listens=not dials,
              speak=f"CcnForwarder unix:{forwarder.socket}" if dials else "") as s:
        if not dials:
            forwarder.route(prefix, s.uri)
        wait_for(lambda: prefix in forwarder.prefixes(), 10, "the prefix")
        yield s


@pytest.mark.parametrize("kill", range(3))
def test_every_fetch_ends_whole(served, forwarder, path, kill):
    names = [f"{served.prefix_name}/page.cgi%3Fn={SIZE}&wait=0.1&c={kill}.{n}" for n in range(CLIENTS)]
    with Face.tcp(forwarder.host, forwarder.port, host=path.clients) as face:
        fetches = Fetches(face, names)
        wait_for(lambda: fetches.step(0.01) or len(fetches.answers) > 20 + 10 * kill, 30, "fetches under way")
        before = served.status()["lost_children"]
        for child in served.children():
            os.kill(child, signal.SIGKILL)
        # Nothing is given back by who held nothing.
        wait_for(lambda: (lambda t: t["lost_children"] > before or t["outstanding"] == 0)(served.status()), WHOLE_AGAIN, "what the dead held given back")
        assert fetches.run(30), f"{len(fetches.done)} of {CLIENTS} ended: {fetches.due}"
    assert all(fetches.done[n] == made(SIZE) for n in range(CLIENTS))
    wait_for(lambda: (lambda t: t["queued"] == 0 and t["outstanding"] == 0)(served.status()), WHOLE_AGAIN, "slots free again")
