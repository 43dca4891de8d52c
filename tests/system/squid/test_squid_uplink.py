# SPDX-License-Identifier: BSD-2-Clause
"""etc/iptables/fairgate-transparent on the way up: the uplink's two orders do what they say."""

import json
import re
import socket
import statistics
import threading
import time

import pytest
from lab.lab import wait_for
from transparent import HTB_WORDS, SERVER, UPLINK_WORDS, client, connect, get

pytestmark = pytest.mark.usefixtures("stopped")

UPLINK = 1_000_000      # bit/s


class Uploads:
    """Bulk uploads from these addresses to a port of the servers, normally one that is not the web's.  received: bytes by address."""

    def __init__(self, field, sources, port=5001):
        self.field, self.sources, self.port = field, sources, port
        self.received, self.sockets, self.lock, self.over = dict.fromkeys(sources, 0), [], threading.Lock(), False

    def __enter__(self):
        def listen():
            s = socket.create_server(("", self.port))
            s.settimeout(10)
            return s
        self.listener = self.field.servers.inside(listen)
        for source in self.sources:
            sender = connect(self.field.clients, source, SERVER[4], self.port)
            sender.settimeout(None)
            receiver, peer = self.listener.accept()
            self.sockets += [sender, receiver]
            threading.Thread(target=self.send, args=(sender,), daemon=True).start()
            threading.Thread(target=self.receive, args=(receiver, peer[0]), daemon=True).start()
        return self

    def send(self, s):
        try:
            while not self.over:
                s.sendall(b"u" * 65536)
        except OSError:
            pass

    def receive(self, s, source):
        try:
            while data := s.recv(65536):
                with self.lock:
                    self.received[source] += len(data)
        except OSError:
            pass

    def __exit__(self, *_):
        self.over = True
        for s in self.sockets:
            try:
                s.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            s.close()
        self.listener.close()


def standing(router):
    """Bytes in all queues of the uplink."""
    found = json.loads(router.field.gateway.run("tc", "-s", "-j", "qdisc", "show", "dev", "down0"))
    return sum(q.get("backlog", 0) for q in found if q.get("root"))


def latency(router, n=9):
    """The median of n requests, in seconds, each on a connection of its own."""
    times = []
    for i in range(n):
        begun = time.monotonic()
        assert get(router.field, client(4, 3, 1 + i % 5), SERVER[4])["via"]
        times.append(time.monotonic() - begun)
    return statistics.median(times)


@pytest.mark.parametrize("mode", ("redirect", "tproxy"))
def test_priority_lets_requests_pass_uploads(router, echo, mode):
    """Beside two uploads, with one queue of 60 kB, as a modem has it, a request waits half a second; with priority a packet or two."""
    router.squid(mode)
    # The first start with an uplink switches it on, and a connection that was there before, as Squid's to the server, is never counted.
    router.field.gateway.sysctl(net__netfilter__nf_conntrack_acct=1)
    tc = router.field.gateway.tc
    tc("qdisc", "add", "dev", "down0", "root", "tbf", "rate", f"{UPLINK}bit", "burst", "3000", "limit", "60000")
    router.start(mode=mode)
    with Uploads(router.field, [client(4, 1), client(4, 2)]) as uploads:
        try:
            wait_for(lambda: standing(router) > 45000, 20, "a full queue")
            behind = latency(router)
        finally:
            tc("qdisc", "del", "dev", "down0", "root")
        router.start("--uplink", "down0", "--uplink-rate", f"{UPLINK}bit", mode=mode)
        sent = sum(uploads.received.values())
        wait_for(lambda: standing(router) > 20000 and sum(uploads.received.values()) > sent + 50000, 20, "uploads behind the requests")
        ahead = latency(router)
    print(f"median request: {behind * 1000:.0f} ms with one queue, {ahead * 1000:.0f} ms with priority")
    assert behind > 0.3 and ahead < behind / 4


def test_an_upload_to_a_web_port_is_no_request(router):
    """What sends large packets stands behind, whatever its port; what sends small ones stands first."""
    router.start(*UPLINK_WORDS)

    def sent():
        return {m[1]: int(m[2]) for m in re.finditer(r"class (\S+): .* (\d+) bytes sent", router.script("status").stdout)}
    with Uploads(router.field, [client(4, 1)], port=443):
        wait_for(lambda: sent()["fa17:20"] > 200_000, 20, "the upload in the second class")
        assert sent()["fa17:10"] < 10_000


def test_htb_shares_by_client_network(router, echo):
    """Two uploads of classes 3 : 1, with nobody in the rest: 75 % and 25 %; a queue's worth of either is 10 points of three seconds."""
    router.squid("redirect")
    router.start(*HTB_WORDS)
    with Uploads(router.field, [client(4, 1), client(4, 2)]) as uploads:
        wait_for(lambda: min(uploads.received.values()) > 30000, 20, "both at work")
        begun = dict(uploads.received)
        wait_for(lambda: sum(uploads.received.values()) - sum(begun.values()) > 3 * UPLINK / 8, 20, "three seconds of the link")
        first, second = (uploads.received[s] - begun[s] for s in uploads.sources)
        share = first / (first + second)
        print(f"shares {100 * share:.1f} % and {100 - 100 * share:.1f} %")
        assert 0.65 < share < 0.85
        alone = connect(router.field.clients, client(4, 3), SERVER[4], 80)     # the rest is served too
        alone.close()
