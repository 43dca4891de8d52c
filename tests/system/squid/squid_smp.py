# SPDX-License-Identifier: BSD-2-Clause
"""A Squid of several workers, each with a port of its own beside those that they share, so that a test says who serves what."""

import contextlib
import os
import re
import signal

import http1
from lab import lab
from squid_proxy import Proxy


class Workers(Proxy):
    """config: as for Proxy.  .ports[n - 1] is worker n's own."""

    def __init__(self, world, config="", workers=2, **kwargs):
        self.ports = [lab.free_port() for _ in range(workers)]
        super().__init__(world, config, workers=workers, **kwargs)
        self.configured = 0         # how often workers have said so, when the last configuration was in force

    @property
    def always(self):
        own = "".join(f"if ${{process_number}} = {n}\nhttp_port 127.0.0.1:{port}\nendif\n" for n, port in enumerate(self.ports, 1))
        return super().always + own

    def start(self, seconds=40):
        super().start(seconds)
        if "fqrs on" in self.config:
            self.until_configured(self.workers)
        return self

    def until_configured(self, times):
        """Until workers have said so many times more that they have a configuration."""
        self.configured += times
        http1.until(lambda: len(re.findall(r"kid\d+\| fqrs (?:on|off): ", self.log())) >= self.configured, 40 * self.world.patience,
                    lambda: f"{self.configured} configurations of workers:\n{self.log_end()}")

    def reconfigure(self, config=None, seconds=40):
        """Each worker closes its ports for a moment, but their sockets stay open with the coordinator."""
        if config is not None:
            self.config = config
        self.configure()
        self.process.send_signal(signal.SIGHUP)
        self.until_configured(self.workers)
        http1.until(self.ready, seconds, "the ports open again")

    def ready(self):
        def takes(port):
            with contextlib.suppress(OSError), http1.Connection(port, deadline=2) as c:
                return c.ask("GET", "/squid-internal-mgr/menu", host=f"127.0.0.1:{self.port}").status == 200
            return False
        return super().ready() and all(takes(port) for port in self.ports)

    def at(self, worker):
        """A connection that this worker serves."""
        return http1.Connection(self.ports[worker - 1])

    def kill(self, worker):
        """Ends a worker at once, and returns its pid."""
        pid = self.pid_of(f"squid-{worker}")
        os.kill(pid, signal.SIGKILL)
        return pid

    def until_back(self, worker, pid):
        """Until there is another process for the worker whose pid was that, and it serves."""
        http1.until(lambda: self.pid_of(f"squid-{worker}") not in (None, pid), 40 * self.world.patience, f"worker {worker} started again")
        self.until_configured(1)

    def stop(self, seconds=40):
        super().stop(seconds)
