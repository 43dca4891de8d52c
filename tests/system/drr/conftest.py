# SPDX-License-Identifier: BSD-2-Clause
"""Gateways that all tests of a file use; one of a test's own is new_gateway() of the folder above."""
import os
import sys

import pytest

from gateway import running
from lab import examples, lab

sys.path.append(os.path.join(lab.ROOT, "bench", "lib"))     # wiki.py


@pytest.fixture
def etc(open_path):
    """A copy of etc/examples."""
    return examples.copied(open_path / "fairgate")


@pytest.fixture(scope="module", params=("event", "worker", "prefork"))
def gateway(parts, request):
    """The gateway with one slot, in each MPM."""
    yield from running(parts, mpm=request.param)


@pytest.fixture(scope="module")
def event_gateway(parts):
    """The gateway with one slot in the event MPM."""
    yield from running(parts, mpm="event")


@pytest.fixture(scope="module", params=("event", "worker"))
def tls_gateway(parts, request):
    """The same with TLS and HTTP/2 on .tls_port (mod_http2 does not work in prefork)."""
    yield from running(parts, mpm=request.param, tls=True)


@pytest.fixture(scope="module", params=("event", "worker"))
def h2_gateway(parts, request):
    """The gateway with eight slots and HTTP/2 without TLS."""
    yield from running(parts, mpm=request.param, http2=True, window=8)


@pytest.fixture(autouse=True)
def idle_afterwards(request):
    """Whatever a test did: in the end nothing waits and no slot is taken."""
    yield
    for name in ("gateway", "event_gateway", "tls_gateway", "h2_gateway"):
        if name in request.fixturenames:
            request.getfixturevalue(name).settled()
