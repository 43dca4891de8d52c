# SPDX-License-Identifier: BSD-2-Clause
"""Servers that serve from a thread of their own, beside the test."""

import socketserver
import threading


class Background:
    """Stands before a class of socketserver.  A context manager; start() is for those that never end."""

    daemon_threads = True

    def start(self):
        threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True).start()
        return self

    def let_go(self):
        """Before the end: no handler may wait any longer."""

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.let_go()
        self.shutdown()
        self.server_close()


class GatedServer(Background, socketserver.ThreadingTCPServer):
    """Its handlers wait at gates until a test opens them; the lock covers what they count."""

    allow_reuse_address = True
    request_queue_size = 1024

    def __init__(self, address, handler):
        super().__init__(address, handler)
        self.port = self.server_address[1]
        self.lock, self.opened, self.closing = threading.Condition(), set(), False

    def let_go(self):
        with self.lock:
            self.closing = True
            self.lock.notify_all()

    def handle_error(self, request, client_address):
        pass    # a peer that hung up is what tests do

    def wait(self, name):
        """Whether the gate is open, or opens within ten minutes."""
        with self.lock:
            self.lock.wait_for(lambda: name in self.opened or self.closing, 600)
            return name in self.opened

    def open(self, name):
        with self.lock:
            self.opened.add(name)
            self.lock.notify_all()
