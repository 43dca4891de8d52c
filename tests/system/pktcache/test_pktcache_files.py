# SPDX-License-Identifier: BSD-2-Clause
"""pktcache: files that are fetched again, from servers that cut what they write otherwise each time."""

import os
import shutil
import subprocess
import sys
import time

import pytest

from lab.httpd import Httpd, Nginx
from lab.lab import wait_for
from lab.pair import Pair

PIECES = os.path.join(os.path.dirname(__file__), "pieces.py")
PORT = 80

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs network namespaces")


class Files:
    """A folder of files, served behind a pair by nginx, httpd or pieces.py; `pieces?` sends chunks."""

    def __init__(self, lab, server, **options):
        self.pair = Pair(lab, **options).start()
        self.folder = os.path.join(lab.dir, "files")
        os.makedirs(self.folder)
        os.chmod(self.folder, 0o755)
        self.query = "?" if server == "pieces?" else ""
        self.process = self.server = None
        if server.startswith("pieces"):
            self.process = subprocess.Popen([*self.pair.servers.prefix, sys.executable, PIECES, "10.8.1.2", str(PORT), self.folder],
                                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
            assert self.process.stdout.readline() == "ready\n"
            address, port = "10.8.1.2:80", PORT
        else:
            self.server = {"nginx": Nginx, "httpd": Httpd}[server](lab, htdocs=self.folder).on(self.pair.servers).start()
            address, port = self.server.address, self.server.port
        self.url = f"http://{address}"
        self.pair.both(ports=port)

    def write(self, name, data):
        path = os.path.join(self.folder, name)
        with open(path, "wb") as f:
            f.write(data)
        os.chmod(path, 0o644)

    def get(self, name, *words):
        target = f"{self.url}/{name}{self.query and '?chunked'}"
        return subprocess.run([*self.pair.clients.prefix, "curl", "-sS", "--max-time", "300", *words, target], capture_output=True, check=True).stdout

    def fetch(self, name, *words):
        """(what came, the bytes that the link carried for it, the share of segments that were sent again, seconds)"""
        wait_for(self.pair.parent.at_work, 20, "the parent at work")
        before, carried, began = self.counters(), self.pair.carried(), time.monotonic()
        body = self.get(name, *words)
        seconds, carried = time.monotonic() - began, self.pair.carried() - carried
        after = self.counters()
        segments = (after["bytes_in"] - before["bytes_in"]) / 1500
        return body, carried, (after["again"] - before["again"]) / segments, seconds

    def counters(self):
        time.sleep(0.25)        # they are shown ten times a second
        return self.pair.parent.counters()

    def stop(self):
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process.stdout.close()
        self.pair.stop()
        if self.server:
            self.server.stop()


@pytest.fixture
def files(lab):
    made = []

    def make(*words, **options):
        made.append(Files(lab, *words, **options))
        return made[-1]
    yield make
    for f in made:
        f.stop()


SERVERS = [pytest.param("nginx", marks=pytest.mark.skipif(not shutil.which("nginx"), reason="there is no nginx")), "httpd", "pieces", "pieces?"]


@pytest.mark.parametrize("server", SERVERS)
def test_a_file_is_not_carried_twice(files, server):
    """However the server cuts it: 3 % of its bytes; fingerprints are 0.8, headers of trains the rest."""
    f = files(server, rate="50mbit", rtt=20)
    data = os.urandom(8_000_000)
    f.write("file", data)
    body, carried, _, first = f.fetch("file")
    assert body == data and carried > len(data)
    for _ in range(2):
        body, carried, again, seconds = f.fetch("file")
        assert body == data
        assert carried <= 0.03 * len(data), f"{carried / len(data):.1%} of the file's bytes"
        assert again <= 0.02, f"{again:.1%} of the segments"
        assert seconds <= 1.1 * first


@pytest.mark.parametrize("server", ("httpd", "pieces"))
def test_a_bad_link(files, server):
    """It loses 1 % of what it carries: also blocks of which something was lost are there the next time."""
    f = files(server, rtt=10, bad=["--loss", "10"])
    data = os.urandom(5_000_000)
    f.write("file", data)
    for i in range(3):
        body, carried, _, _ = f.fetch("file")
        assert body == data
    # Each train that is lost comes again as packets: about 1 % of the file, and what the server sends again for nothing.
    assert carried <= 0.06 * len(data), f"{carried / len(data):.1%} of the file's bytes"


@pytest.mark.parametrize("server", ("httpd", "pieces?"))
def test_an_edit_costs_what_it_changes(files, server):
    f = files(server, rtt=10)
    data = bytearray(os.urandom(2_000_000))
    f.write("file", data)
    f.fetch("file")
    data[1_000_000:1_000_003] = b"new"
    f.write("file", data)
    body, carried, _, _ = f.fetch("file")
    assert body == data and carried <= 0.03 * len(data) + 20_000
    # It comes as it is until its block was gathered once; then all is known.
    f.fetch("file")
    body, carried, _, _ = f.fetch("file")
    assert body == data and carried <= 0.03 * len(data)
