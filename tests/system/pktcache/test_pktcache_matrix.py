# SPDX-License-Identifier: BSD-2-Clause
"""pktcache: what can happen to a pair, in each of the networks that others have (pair_matrix.py).  All hundred cells with --long, otherwise some: each row, family and fault at least once."""
import os
import socket
import time

import pytest

from lab.lab import wait_for
from lab.pair import Pair
from lab.pair_matrix import every, failed, some
from lab.pair_paths import PORT, Middle, on_both
from lab.streams import timer_of

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs network namespaces")


def pytest_generate_tests(metafunc):
    if "faults" not in metafunc.fixturenames:
        return
    cells = every() if metafunc.config.getoption("--long") else some()
    metafunc.parametrize("row, family, faults", cells, ids=["-".join((row, family, *(faults if len(faults) == 1 else ()))) for row, family, faults in cells])


def test_matrix(lab, row, family, faults):
    wrong = failed(lab, row, family, faults)
    assert not wrong, "\n".join(f"{cell}: {what}" for cell, what in wrong.items())


def test_how_long_tcp_itself_stands_still_after_a_cut(lab):
    """
    There are no caches here.  Of what the server sent before the cut all has come but the last piece; its client's words have not.  Behind the cut it sends the first piece again, and is told of
    those that have come: so the way has taken seconds, TCP believes (RFC 6298), and nothing is lost (F-RTO, RFC 5682).  What is lost waits for one more timer, of that length.
    """
    pair = Pair(lab).start()
    with Middle(pair) as middle:
        rules = (("far0", "-p", "tcp"), ("near0", "-p", "tcp", "-m", "length", "--length", "900:1000"))
        listener = pair.servers.inside(lambda: socket.create_server(("10.8.1.2", PORT)))
        client = pair.clients.inside(lambda: socket.create_connection(("10.8.1.2", PORT), 5))
        with listener, client, listener.accept()[0] as server:
            server.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            server.sendall(bytes(28960))
            assert len(client.recv(28960, socket.MSG_WAITALL)) == 28960
            wait_for(lambda: timer_of(server) == (0, False), 5, "all of that acknowledged")
            for device, *which in rules:
                on_both(middle.host, "-t", "raw", "-I", "PREROUTING", "-i", device, *which, "-j", "DROP")
            began = time.monotonic()
            server.sendall(bytes(14480))
            assert len(client.recv(14480, socket.MSG_WAITALL)) == 14480
            server.sendall(bytes(880))
            wait_for(lambda: timer_of(server)[0] > 1.5, 10, "timers that were doubled")
            for device, *which in rules:
                on_both(middle.host, "-t", "raw", "-D", "PREROUTING", "-i", device, *which, "-j", "DROP")
            cut = time.monotonic() - began
            client.settimeout(0.01)
            measured, came = 0.0, b""
            while not came:
                try:
                    came = client.recv(880)
                except TimeoutError:
                    seconds, undoubled = timer_of(server)
                    measured = max(measured, seconds if undoubled else 0)
            stood = time.monotonic() - began
    assert stood > 2 * cut + 1 and stood - 2 * cut - measured < 1, (cut, measured, stood)
