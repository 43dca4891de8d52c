# SPDX-License-Identifier: BSD-2-Clause
"""Servers that are asked one thing after the other on a connection."""
import socketserver


class RequestByRequest(socketserver.StreamRequestHandler):
    """one() answers a request, and says whether the connection goes on."""

    disable_nagle_algorithm = True

    def handle(self):
        try:
            while self.one():
                pass
        except (OSError, ValueError):
            pass        # the client has gone, or makes no sense

    def one(self):
        raise NotImplementedError


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = daemon_threads = True
    request_queue_size = 100


def serve(address, port, handler):
    """A process that does nothing else: says "ready", and does not return."""
    with Server((address, int(port)), handler) as server:
        print("ready", flush=True)
        server.serve_forever()
