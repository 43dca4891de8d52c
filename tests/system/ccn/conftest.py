# SPDX-License-Identifier: BSD-2-Clause
"""What the tests of named data stand on: a forwarder between a server's host and that of its clients, and three kinds of clients."""
import os

import pytest

from lab import lab, ndn
from lab.path import Path
from lab.peers import peer


@pytest.fixture(scope="session")
def peers():
    """The forwarder and the clients are made, and network namespaces may be."""
    if os.geteuid():
        pytest.skip("network namespaces need root")
    try:
        for part in ("ndnd", "python", "ndnts"):
            peer(part)
    except (lab.LabError, OSError) as why:
        pytest.skip(str(why))


@pytest.fixture(scope="module")
def ndn_lab(request, peers):
    """Kept when a test failed."""
    with lab.kept_lab("ccn", lambda: request.session.testsfailed > 0) as made:
        yield made


@pytest.fixture(scope="module")
def path(ndn_lab):
    """server ── router, where the forwarder runs ── clients"""
    return Path(ndn_lab).start()


@pytest.fixture(scope="module")
def forwarder(ndn_lab, path):
    return ndn.Forwarder(ndn_lab).on(path.router).start()


@pytest.fixture(scope="module")
def client(ndn_lab, forwarder, path):
    with ndn.Client(ndn_lab, forwarder, path.clients) as c:
        yield c
