# SPDX-License-Identifier: BSD-2-Clause
"""
instructions.py - how many instructions a proxied page costs httpd, by callgrind: the same number on a machine that does other things, too.

What one client's requests cost on one connection, user code of the child that serves them; what the kernel does for it is not counted, nor what processors wait for.  One run in which so many
requests are made is taken off one with more, so that start and end count nothing.
"""
import glob
import os
import re
import socket

FEW, MORE = 100, 600


class Counted:
    """A server as bench.gateway() makes it, that is to run under callgrind."""

    def __init__(self, make):
        self.make = make

    def count(self, requests):
        server = self.make()
        usual = server.argv
        server.argv = lambda: ["valgrind", "--tool=callgrind", "--trace-children=yes", f"--callgrind-out-file={server.dir}/callgrind.%p", *usual()]
        os.chmod(server.dir, 0o777)
        server.start(120)
        with socket.create_connection((server.host, server.port)) as s, s.makefile("rb") as answers:
            for _ in range(requests):
                ask(s, answers)
        server.stop(60)
        return max(map(sum_of, glob.glob(f"{server.dir}/callgrind.*")))

    def per_request(self):
        return (self.count(FEW + MORE) - self.count(FEW)) / MORE


def ask(s, answers):
    s.sendall(b"GET /size/2048 HTTP/1.1\r\nHost: example.org\r\nX-Class: people\r\n\r\n")
    status, length = answers.readline(), 0
    while (line := answers.readline()).strip():
        if line.lower().startswith(b"content-length:"):
            length = int(line.partition(b":")[2])
    if b" 200 " not in status or len(answers.read(length)) != length:
        raise RuntimeError(f"a page was answered with {status!r}")


def sum_of(path):
    """All instructions of a process that served requests; of others 0."""
    with open(path) as f:
        text = f.read()
    found = re.findall(r"^(?:summary|totals): (\d+)", text, re.M)
    return int(found[-1]) if found and "ap_process_async_request" in text else 0


def tell(bench, what, bare, with_module):
    """Prints it; what is measured is CPU time."""
    a, b = (Counted(make).per_request() for make in (bare, with_module))
    bench.say(f"{what}: {a:.0f} instructions of user code a request without the module, {b:.0f} with it: {b / a:.3f} times")
