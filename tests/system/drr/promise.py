# SPDX-License-Identifier: BSD-2-Clause
"""What is promised within a time is measured, on a machine that may be late itself."""

import threading
import time

import http1


class Lateness:
    """By how much this machine was late, in sum, where a thread only asked to be woken every 10 ms.  A context manager; .seconds."""

    def __enter__(self):
        self.seconds, self.over = 0.0, threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()
        return self

    def run(self):
        last = time.monotonic()
        while not self.over.wait(0.01):
            now = time.monotonic()
            self.seconds += max(0.0, now - last - 0.012)
            last = now

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()


class Promise:
    """with Promise(1.5) as p: (do it); p.kept(condition, "what"): within so many seconds of the beginning, and what the machine itself was late.

    That counts twice: what is waited for goes through several processes, one after the other, and each may be late.
    """

    def __init__(self, seconds):
        self.seconds = seconds

    def __enter__(self):
        self.late = Lateness().__enter__()
        self.began = time.monotonic()
        return self

    def __exit__(self, *_):
        self.late.__exit__()

    def kept(self, condition, what):
        value = http1.until(condition, 15, what)
        took = time.monotonic() - self.began
        assert took <= self.seconds + 2 * self.late.seconds, f"{what}: after {took:.2f} s, {self.late.seconds:.2f} of which the machine was late"
        return value
