# SPDX-License-Identifier: BSD-2-Clause
"""What never ends gives its slot back (QosPark), and goes on being charged to its class."""

import contextlib

import pytest

import http1
from background import GatedServer
from gateway import fresh
from lab.by_request import RequestByRequest

PEOPLE = {"Cookie": "session=1"}
UPGRADE = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Key": "x" * 22 + "==", "Sec-WebSocket-Version": "13"}


class Endless(RequestByRequest):
    """/events/NAME: a head and an event; more when NAME is opened; it ends when the client goes.  /socket: 101, then every byte is sent back 1,000
    times.  /slow/NAME: nothing until NAME is opened."""

    def one(self):
        line = self.rfile.readline().decode().split()
        while self.rfile.readline().strip():
            pass
        _, kind, *rest = line[1].partition("?")[0].split("/")
        if kind == "socket":
            self.wfile.write(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n")
            while piece := self.connection.recv(4096):
                self.wfile.write(piece * 1000)
            return False
        if kind == "slow":
            opened = self.server.wait(rest[0])
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nslow")
            return opened
        event = b"data: " + b"e" * 4000 + b"\n\n"
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n" + b"%x\r\n%s\r\n" % (len(event), event))
        if not self.server.wait(rest[0]):
            return False
        for _ in range(50):
            self.wfile.write(b"%x\r\n%s\r\n" % (len(event), event))
        self.connection.recv(1)
        return False


@pytest.fixture
def endless():
    with GatedServer(("127.0.0.1", 0), Endless) as server:
        yield server


def site(endless, park):
    return (f"ProxyPass /e/ http://127.0.0.1:{endless.port}/ upgrade=websocket retry=0 flushpackets=on\n<Location />\n    {park}\n</Location>\n"
            "<Location /e/slow/never/>\n    QosPark Off\n</Location>\n")


def events(stack, g, n, name):
    streams = [stack.enter_context(g.connect(deadline=60)) for _ in range(n)]
    for c in streams:
        c.send("GET", f"/e/events/{name}?{name}", headers=PEOPLE)
    return streams


def test_the_window_is_unaffected(new_gateway, endless):
    """Fifty tunnels and fifty event streams are open all the while, through a window of four."""
    more = "QosCharge bytes\n" + site(endless, "QosPark time=1")
    with new_gateway(window=4, children=2, threads=75, classes="QosClass people weight=1 default\n", more=more) as g, \
            contextlib.ExitStack() as stack:
        name = fresh("events")
        tunnels = [stack.enter_context(g.connect(deadline=60)) for _ in range(50)]
        for c in tunnels:
            c.send(http1.request_bytes("GET", "/e/socket", headers={**UPGRADE, **PEOPLE}))
            assert c.head().status == 101
        streams = events(stack, g, 50, name)
        s = g.until(lambda s: s["parked"] == 50 and s["queued"] == s["outstanding"] == 0, "all streams without slots", 60)
        assert s["parked_time"] == 50
        for c in streams:
            assert c.head().status == 200
        # All slots are there for others.
        seen = g.backend.seen
        with g.window_taken() as taken:
            assert (taken.count, g.backend.seen - seen) == (4, 4)
            taken.release()
        # What goes through them is charged as it goes.
        before = g.status()["by_class"]["people"]["bytes"]
        for c in tunnels:
            c.send(b"x" * 100)
        for c in tunnels:
            c.exactly(100_000)
        g.until(lambda s: s["by_class"]["people"]["bytes"] - before >= 50 * 65_536, "tunnels charged")
        before = g.status()["by_class"]["people"]["bytes"]
        endless.open(name)
        g.until(lambda s: s["by_class"]["people"]["bytes"] - before >= 50 * 131_072, "streams charged")
        for c in tunnels:
            c.send(b"y")
            assert c.exactly(1000) == b"y" * 1000, "a tunnel is one still"


@pytest.mark.parametrize("mpm", ["event", "worker"])
def test_after_a_time(new_gateway, endless, mpm):
    """It had the only slot: who waits gets it, within the time and a little; what was parked is answered whole when it comes, and the log tells."""
    with new_gateway(mpm=mpm, window=1, more=site(endless, "QosPark time=1")) as g, g.connect() as slow, g.connect() as page:
        name = fresh("slow")
        slow.send("GET", f"/e/slow/{name}?{name}", headers=PEOPLE)
        g.until_outstanding(1)
        assert page.ask("GET", "/b/size/10", headers=PEOPLE).status == 200
        s = g.status()
        assert (s["parked"], s["parked_time"], s["parked_size"]) == (1, 1, 0)
        endless.open(name)
        assert slow.receive().body == b"slow"
        g.settled()
        assert g.logged(name, 1)[0]["parked"] == "time"


def test_not_where_it_is_off(new_gateway, endless):
    with new_gateway(window=1, wait=3, more=site(endless, "QosPark time=1")) as g, g.connect() as slow, g.connect() as page:
        slow.send("GET", "/e/slow/never/?", headers=PEOPLE)
        g.until_outstanding(1)
        assert page.ask("GET", "/b/size/10", headers=PEOPLE).status == 503
        assert g.status()["parked_time"] == 0
        endless.open("never")


@pytest.mark.parametrize("mpm", ["event", "worker"])
def test_after_a_size(new_gateway, mpm):
    """Half a megabyte of an answer that goes on gives the slot back; the rest is charged all the same."""
    with new_gateway(mpm=mpm, window=1, more="<Location /b/>\n    QosPark size=100000\n</Location>\n") as g, g.connect() as big, g.connect() as page:
        name = fresh("half")
        big.send("GET", f"/b/half/{name}?size=1000000&{name}", headers=PEOPLE)
        g.until(lambda s: s["parked"] == 1 and s["outstanding"] == 0, "the slot given back")
        assert page.ask("GET", "/b/size/10", headers=PEOPLE).status == 200
        g.backend.open(name)
        assert len(big.receive().body) == 1_000_000
        s = g.settled()
        assert (s["parked_time"], s["parked_size"]) == (0, 1)
        assert s["by_class"]["people"]["bytes"] >= 1_000_000


def test_time_goes_on_being_charged_until_the_answer_begins(new_gateway, endless):
    """With QosCharge time: a page that is worked at is no cheaper for having given its slot back; a stream that has begun costs nothing more."""
    with new_gateway(window=2, more="QosCharge time\n" + site(endless, "QosPark time=1")) as g, g.connect() as slow, contextlib.ExitStack() as stack:
        name = fresh("worked")
        slow.send("GET", f"/e/slow/{name}", headers=PEOPLE)
        g.until(lambda s: s["parked"] == 1, "parked")
        g.until(lambda s: s["by_class"]["people"]["slot_s"] >= 2.5, "two and a half seconds")
        endless.open(name)
        assert slow.receive().status == 200
        g.settled()
        events(stack, g, 5, fresh("begun"))
        s = g.until(lambda s: s["parked"] == 5, "streams parked")
        before = s["by_class"]["people"]["slot_s"]
        # Longer than it takes others to be parked.
        with g.connect() as c:
            c.send("GET", "/e/slow/later", headers=PEOPLE)
            after = g.until(lambda s: s["parked"] == 6, "one more parked")["by_class"]["people"]["slot_s"]
            assert after - before < 3, "five streams for a second or more"
            endless.open("later")
            assert c.receive().status == 200


def test_a_page_waits_by_what_its_own_url_took_and_not_by_its_directory(new_gateway, endless):
    """Long requests of one URL made each unknown page of its directory one that waits and takes no slot."""
    with new_gateway(window=2, classes="QosClass all weight=1 default\n", more=site(endless, "QosPark time=1")) as g, contextlib.ExitStack() as stack:
        known, other = fresh("known"), fresh("other")
        with g.connect() as c:
            c.send("GET", f"/e/slow/{known}")
            g.until(lambda s: s["parked_time"] == 1, "parked after its time")
            endless.open(known)
            assert c.receive().status == 200
        again, new = (stack.enter_context(g.connect()) for _ in range(2))
        again.send("GET", f"/e/slow/{known}/")
        new.send("GET", f"/e/slow/{other}")
        g.until(lambda s: s["outstanding"] == 1, "the unknown one has a slot", 0.9)
        endless.open(other)
        assert new.receive().status == 200


def test_backend_that_hangs_leaves_a_quarter_of_the_threads_to_others(new_gateway, endless):
    """Each request of it released its slot after QosPark's time and kept its thread: the next ones took all threads of the server."""
    url = f"http://127.0.0.1:{endless.port}/"
    more = f"ProxyPass /e/ {url} retry=0\n<Proxy {url}>\n    QosWindow 8\n    QosPark time=1\n</Proxy>\n"
    name = fresh("hangs")
    with new_gateway(window=8, threads=16, classes="QosClass all weight=1 default\n", more=more) as g, contextlib.ExitStack() as stack:
        hanging = [stack.enter_context(g.connect(deadline=60)) for _ in range(60)]
        for i, c in enumerate(hanging):
            c.send("GET", f"/e/slow/{name}?{i}")
        # Each window has 8 of 32 threads.
        g.until(lambda s: s["parked"] == 12, "three quarters of the other 16 serve parked requests")
        # Longer than it takes those that have slots to be parked.
        for _ in range(4):
            with g.connect() as c:      # A new one: the event MPM closes idle connections when threads are short.
                assert c.ask("GET", "/b/takes/500").status == 200
        s = g.status()
        assert (s["parked"], s["queued"]) == (12, 60 - 12 - 8), s
        endless.open(name)
        assert [c.receive().status for c in hanging] == [200] * 60


@pytest.mark.parametrize("mpm", ["event", "worker"])
def test_event_streams_after_a_start_leave_pages_their_window(new_gateway, endless, mpm):
    """Nothing is learned yet: each stream has begun, and a page is served while they last, long before `time` is over."""
    more = "QosCharge time\n" + site(endless, "QosPark time=600")
    with new_gateway(mpm=mpm, window=1, threads=25, more=more) as g, g.connect() as page, contextlib.ExitStack() as stack:
        for c in events(stack, g, 5, fresh("begun")):
            assert c.head().status == 200
        assert page.ask("GET", "/b/size/10", headers=PEOPLE).status == 200
        assert (g.status()["parked"], g.status()["parked_time"]) == (5, 5)


def test_event_stream_keeps_its_slot_where_parking_is_off(new_gateway, endless):
    with new_gateway(window=1, wait=3, more=f"QosCharge time\n{site(endless, 'QosPark Off')}") as g, g.connect() as page, contextlib.ExitStack() as stack:
        [c] = events(stack, g, 1, fresh("begun"))
        assert c.head().status == 200
        assert page.ask("GET", "/b/size/10", headers=PEOPLE).status == 503
        assert g.status()["parked"] == 0
