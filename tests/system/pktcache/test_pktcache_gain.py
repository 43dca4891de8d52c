# SPDX-License-Identifier: BSD-2-Clause
"""fairgate-pktcache test: what a path gains, and what stands in the way."""

import os
import socket
import subprocess
import threading

import pytest

from lab.lab import program, wait_for
from lab.net import inside
from lab.pair import Pair
from lab.pair_paths import PORT, streams

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs network namespaces")


class Running(threading.Thread):
    """The command, while something else goes on."""

    def __init__(self, side, seconds=4):
        super().__init__()
        self.argv, self.done = [program("pktcache/fairgate-pktcache"), "test", "--seconds", str(seconds), side.control], None

    def run(self):
        self.done = subprocess.run(self.argv, capture_output=True, text=True, check=False)

    def ended(self):
        self.join()
        return self.done.returncode, self.done.stdout + self.done.stderr


def test_a_path_that_gains(lab):
    pair, s = streams(lab)
    with s:
        pair.both()
        s.fetch(20)
        tests = [Running(pair.parent), Running(pair.child)]
        for t in tests:
            t.start()
        s.fetch(40)
        status, said = tests[0].ended()
        assert status == 0 and said.startswith("parent, within 4 s: at work; of ") and "the link did not carry" in said, said
        status, said = tests[1].ended()
        assert status == 0 and said.startswith("child, within 4 s: at work; ") and "segments came as fingerprints" in said, said


def test_a_path_that_is_not_at_work_or_has_nothing_to_do(lab):
    pair, s = streams(lab)
    with s:
        pair.both()
        t = Running(pair.parent, 1)
        t.start()
        status, said = t.ended()
        assert status == 4 and "hardly anything came" in said, said
        pair.child.stop()
        wait_for(lambda: not pair.parent.at_work(), 5, "the child missed")
        t = Running(pair.parent, 1)
        t.start()
        status, said = t.ended()
        assert status == 1 and "NOT at work, packets go as they are: nothing is heard of" in said, said
        pair.parent.stop()
        t = Running(pair.parent, 1)
        t.start()
        assert t.ended()[0] == 1


BODY = os.urandom(400_000)
HELLO = b"\x16\x03\x03\x00\x7a"
HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: 400000\r\n"

OBSTACLES = {
    "of what came: TLS": HELLO + BODY,
    "connections that are not HTTP": b"220 mail.example.org\r\n" + BODY,
    "HTTP of which nothing may be kept": HEAD + b"\r\n" + BODY,
    "responses that say so (private": HEAD + b"Cache-Control: private\r\n\r\n" + BODY,
    "responses that are compressed": HEAD + b"Content-Encoding: gzip\r\n\r\n" + BODY,
    "0 of ": HEAD + b"Cache-Control: max-age=60\r\n\r\n",     # and a body that is another one each time
}


@pytest.mark.parametrize("what", OBSTACLES)
def test_what_stands_in_the_way(lab, what):
    pair = Pair(lab).start()
    pair.both(ports=PORT)
    with inside(pair.servers.namespace, lambda: socket.create_server(("10.8.1.2", PORT))) as door:
        t = Running(pair.parent, 3)
        t.start()
        while t.is_alive():
            with inside(pair.clients.namespace, lambda: socket.create_connection(("10.8.1.2", PORT), timeout=10)) as client, door.accept()[0] as server:
                client.sendall(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
                whole = OBSTACLES[what]
                if len(whole) < 1000:
                    whole += os.urandom(400_000)
                sender = threading.Thread(target=server.sendall, args=(whole,))
                sender.start()
                got = 0
                while got < len(whole):
                    got += len(client.recv(1 << 18))
                sender.join()
    status, said = t.ended()
    assert status == 3 and what in said, said


@pytest.mark.parametrize("words", (["--seconds", "0"], ["--seconds", "61"], ["--frob"]))
def test_wrong_usage(words):
    done = subprocess.run([program("pktcache/fairgate-pktcache"), "test", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "fairgate-pktcache" in done.stderr
