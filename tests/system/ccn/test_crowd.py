# SPDX-License-Identifier: BSD-2-Clause
"""A crowd on few processors: who waits long for what all children share is late, and nothing is damaged."""
import contextlib
import os
import select
import signal
import socket
import time

import pytest

from lab import lab
from lab import ndn_wire as wire
from lab.ccn import site
from lab.lab import wait_for
from lab.ndn_face import Face

NAME = "/example/site"
CROWD = 200         # connections, each with a thread of its own; half of httpd's are for others
CHILDREN = 4
SECONDS = 8
PATIENCE = 90       # with a sanitizer all that a crowd has asked for takes long


@pytest.fixture(scope="module")
def served(request):
    with lab.kept_lab("ccn", lambda: request.session.testsfailed > 0) as made_lab, \
            site(made_lab, children=CHILDREN, threads=2 * CROWD // CHILDREN + 20, spare=2, settings=f"CcnConnections {CROWD + 4}") as s:
        yield s


class Crowd:
    """When the one before has gone: asks for names that nobody knows, as fast as they are taken; what comes back is not looked at."""

    def __init__(self, served):
        wait_for(lambda: served.status()["faces"] == 0, PATIENCE, "the end of other connections")
        port = served.ndn_port
        self.connections, self.at = [socket.create_connection(("127.0.0.1", port), 10) for _ in range(CROWD)], {}
        packets = [wire.interest(f"{NAME}/x{i:06}", prefix=True, fresh=True) for i in range(15 * CROWD)]
        self.packets, size = b"".join(packets), len(packets[0])
        self.poll = select.epoll()
        for i, c in enumerate(self.connections):
            c.setblocking(False)
            self.at[c.fileno()] = [c, 15 * i * size]     # each asks for other names than the rest
            self.poll.register(c, select.EPOLLIN | select.EPOLLOUT)
        self.answered = 0

    def step(self):
        for fd, events in self.poll.poll(0.1):
            c, at = self.at[fd]
            with contextlib.suppress(BlockingIOError):
                if events & select.EPOLLIN:
                    got = c.recv(1 << 18)
                    assert got, "a connection was closed"
                    self.answered += len(got)
                if events & select.EPOLLOUT:
                    self.at[fd][1] = (at + c.send(self.packets[at:at + 4096])) % len(self.packets)

    def ask(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.step()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for c in self.connections:
            c.close()


def left(served):
    return served.log().count("the memory that children share is damaged")


def no_harm(served, children):
    assert left(served) == 0
    assert set(served.children()) >= set(children)
    with Face.tcp("127.0.0.1", served.ndn_port) as f:
        wait_for(lambda: (got := f.ask(NAME + "/index.html", prefix=True, fresh=True)) and got.content == b"hello\n", PATIENCE, "a page for a visitor")


def test_nobody_leaves(served):
    children = served.children()
    with Crowd(served) as crowd:
        wait_for(lambda: crowd.step() or crowd.answered, PATIENCE, "an answer to one of the crowd")
        crowd.ask(SECONDS)
        assert left(served) == 0
    no_harm(served, children)


def test_all_are_paused(served):
    """As a machine is that its host stops: time goes by and nobody does anything."""
    children = served.children()
    with Crowd(served) as crowd:
        crowd.ask(2)
        for _ in range(3):
            for what, then in ((signal.SIGSTOP, 1.2), (signal.SIGCONT, 1)):
                for child in children:
                    os.kill(child, what)
                crowd.ask(then)
    no_harm(served, children)
