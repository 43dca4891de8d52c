# SPDX-License-Identifier: BSD-2-Clause
"""Room for those who want little: what idle connections, slow names and full queues leave to the others."""
import signal
import socket
import urllib.request

import pytest

from lab import lab
from lab import ndn_wire as wire
from lab.ccn import site
from lab.lab import wait_for
from lab.ndn_face import Closed, Face

NAME = "/example/site"
STATUS = 0xF522
OF_ONE, OF_ALL = 4, 8       # of 2 x 8 threads: a quarter, and half


@pytest.fixture(scope="module")
def room_lab(request):
    with lab.kept_lab("ccn", lambda: request.session.testsfailed > 0) as made:
        yield made


def status_of(packet):
    for kind, value, _, _ in wire.elements(packet.fields[wire.META_INFO]):
        if kind == STATUS:
            return wire.read_integer(value)
    return None


def page(face, name, **options):
    return face.ask(name, prefix=True, fresh=True, **options)


def wanted(name):
    return wire.interest(name, prefix=True, fresh=True, lifetime=60000)


def face_from(address, s):
    return Face(socket.create_connection(("127.0.0.1", s.ndn_port), 10, source_address=(address, 0)))


def silent_face(s, address="127.0.0.1"):
    """It says no more than a packet's first octets, without which it would not be httpd's yet."""
    face = face_from(address, s)
    face.send(b"\x05\xfd")
    return face


def answers(face):
    """Its page comes: the connection has a thread."""
    try:
        return page(face, NAME + "/index.html").content == b"hello\n"
    except Closed:
        return False


def leave(s, *faces):
    """All of them end, and httpd has seen it: its event MPM may crash if it is stopped at the moment in which a connection ends."""
    for f in faces:
        f.close()
    wait_for(lambda: s.status()["faces"] == 0, 10, "no connection")


def get(s):
    with urllib.request.urlopen(s.url + "/index.html", timeout=10) as answer:
        return answer.status


@pytest.fixture(scope="module")
def small(room_lab):
    with site(room_lab, children=2, threads=8) as s:
        yield s


def test_idle_connections_leave_threads_to_others(small):
    """Of 16 threads 40 silent connections of one address have four; HTTP and another address find theirs."""
    before = small.status()["turned_away"]
    idle = [silent_face(small) for _ in range(40)]
    wait_for(lambda: small.status()["turned_away"] == before + 40 - OF_ONE, 10, "36 turned away")
    assert small.status()["faces"] == OF_ONE
    assert get(small) == 200
    with face_from("127.0.0.2", small) as other:
        assert answers(other)
    assert sum(f.closed(0.05) for f in idle) == 40 - OF_ONE
    assert "its address has 4 already" in small.log()
    leave(small, *idle)


def test_all_connections_have_half(small):
    faces = [face_from(f"127.0.1.{n}", small) for n in range(OF_ALL)]
    assert all(answers(f) for f in faces)
    with silent_face(small, "127.0.2.1") as late:
        assert late.closed()
    assert get(small) == 200
    faces.pop().close()
    wait_for(lambda: small.status()["faces"] == OF_ALL - 1, 10, "a free seat")
    with face_from("127.0.2.1", small) as late:
        assert answers(late)
    leave(small, *faces)


def test_an_address_without_a_seat_finds_one_among_those_that_have_several(small):
    """Two addresses have all of them, and each connection asks now and then."""
    faces = [face_from(f"127.0.1.{1 + n % 2}", small) for n in range(OF_ALL)]
    assert all(answers(f) for f in faces)
    with face_from("127.0.2.1", small) as late:
        assert answers(late)
        wait_for(lambda: small.status()["faces"] == OF_ALL, 5, "one made room")
    assert sum(f.closed(0.05) for f in faces) == 1
    leave(small, *faces)


def test_what_asks_for_nothing_is_silence(small):
    """Empty packets hold no place."""
    silent, *talking = [Face.tcp("127.0.0.1", small.ndn_port) for _ in range(OF_ONE)]
    assert answers(silent)

    def finds_a_seat():
        silent.send(bytes((0x64, 0)))
        assert all(answers(f) for f in talking)
        with Face.tcp("127.0.0.1", small.ndn_port) as late:
            return answers(late)
    wait_for(finds_a_seat, 13, "a seat")
    assert silent.closed(1)
    leave(small, silent, *talking)


def test_a_unix_socket_has_room_for_who_comes_late(room_lab):
    """A user has 32 connections, which ask once and are silent then; the next one waits until one of them is silent for long."""
    path = f"{room_lab.dir}/room.sock"
    with site(room_lab, children=1, speak=f"CcnListen unix:{path}\n") as s:
        idle = [Face.unix(path) for _ in range(32)]
        assert all(answers(f) for f in idle)

        def finds_a_place():
            with Face.unix(path) as late:
                return answers(late)
        wait_for(finds_a_place, 15, "a place")
        wait_for(lambda: s.status()["faces"] == 31, 5, "one made room")
        leave(s, *idle)


def test_the_silent_one_makes_room(small):
    """A forwarder that lost its connections without a word gets a new one, at the cost of the one that is silent longest."""
    silent, *talking = [Face.tcp("127.0.0.1", small.ndn_port) for _ in range(OF_ONE)]
    assert answers(silent)

    def finds_a_seat():
        assert all(answers(f) for f in talking)
        new = Face.tcp("127.0.0.1", small.ndn_port)
        if answers(new):
            return new
        new.close()
        return None

    with wait_for(finds_a_seat, 20, "a seat"):
        assert silent.closed()
        assert all(answers(f) for f in talking)
    leave(small, *talking)


def test_who_waits_for_a_page_is_not_silent(small):
    """Its page takes longer than anybody may be silent."""
    waiting, *silent = [Face.tcp("127.0.0.1", small.ndn_port) for _ in range(OF_ONE)]
    waiting.send(wanted(NAME + "/page.cgi%3Fn=9&wait=14"))
    assert all(answers(f) for f in silent)

    def all_replaced():
        for n, f in enumerate(silent):
            if f.closed(0.01):
                f.close()
                silent[n] = Face.tcp("127.0.0.1", small.ndn_port)
        new = Face.tcp("127.0.0.1", small.ndn_port)
        if answers(new):
            return new
        new.close()
        return None

    with wait_for(all_replaced, 20, "a seat"):
        assert status_of(waiting.receive(20)) == 200
    leave(small, waiting, *silent)


def test_as_many_connections_as_are_configured(room_lab):
    with site(room_lab, children=2, threads=8, settings="CcnConnections 2") as s:
        with face_from("127.0.0.1", s) as one, face_from("127.0.0.1", s) as two:
            assert answers(one) and answers(two)
            with silent_face(s) as three:
                assert three.closed()
            leave(s, one, two)


def test_slow_names_that_nobody_knows_leave_a_thread(room_lab):
    """Eight of them for four threads: three are made at one time, and a page that is known finds the fourth at once."""
    with site(room_lab, settings="CcnThreads 4\n") as s, Face.tcp("127.0.0.1", s.ndn_port) as slow, Face.tcp("127.0.0.1", s.ndn_port) as visitor:
        assert answers(visitor) and answers(visitor)        # what came once is known
        slow.send(*(wanted(f"{NAME}/page.cgi%3Fn=9&wait=3&of={n}") for n in range(8)))
        wait_for(lambda: (lambda t: t["queued"] == 5 and t["outstanding"] == 3)(s.status()), 2, "three at work, five waiting")
        for _ in range(10):
            assert answers(visitor)
        assert s.status()["queued"] == 5, "a slow one ended, and nothing was shown"
        assert all(status_of(slow.receive(15)) == 200 for _ in range(8))
        leave(s, slow, visitor)


def test_names_that_nobody_knows_have_what_is_idle(room_lab):
    """Nobody asks for pages that are known: nothing is left for them."""
    with site(room_lab, settings="CcnThreads 4\n") as s, Face.tcp("127.0.0.1", s.ndn_port) as slow:
        slow.send(*(wanted(f"{NAME}/page.cgi%3Fn=9&wait=1&of={n}") for n in range(8)))
        wait_for(lambda: (lambda t: t["queued"] == 4 and t["outstanding"] == 4)(s.status()), 2, "four at work, four waiting")
        assert all(status_of(slow.receive(15)) == 200 for _ in range(8))
        leave(s, slow)


def test_who_waits_for_much_still_gets_what_is_kept(room_lab):
    """A forwarder is one connection for all behind it: one client's slow pages do not keep its segments from another."""
    with site(room_lab, settings="CcnThreads 1\n") as s, Face.tcp("127.0.0.1", s.ndn_port) as forwarder:
        first = page(forwarder, NAME + "/page.cgi%3Fn=9000")
        forwarder.send(*(wire.interest(f"{NAME}/page.cgi%3Fn=9&wait=4&of={n}", prefix=True, fresh=True, lifetime=6000) for n in range(2300)))
        wait_for(lambda: s.status()["queued"] == 2299, 10, "all of them wait")
        second = (*first.name[:-1], (wire.SEGMENT, b"\x01"))
        assert len(forwarder.ask(second, seconds=1).content) == 4096
        wait_for(lambda: s.status()["queued"] == s.status()["outstanding"] == 0, 15, "nobody waits")
        leave(s, forwarder)


def test_a_crowd_larger_than_a_page_has_waiters_for(room_lab):
    """1,100 ask for one page: 1,024 wait for one that is made, and the others for the next one."""
    with site(room_lab) as s, Face.tcp("127.0.0.1", s.ndn_port) as face:
        face.send(*(wanted(f"{NAME}/page.cgi%3Fn=9&wait=1") for _ in range(1100)))
        assert all(status_of(face.receive(10)) == 200 for _ in range(1100))
        assert s.status()["pages"] == 2
        leave(s, face)


def test_in_prefork_a_child_has_one_turn(room_lab):
    """Two turns, and one child's connection wants ten slow pages: the other turn is another child's."""
    with site(room_lab, mpm="prefork", children=4, settings="CcnThreads 2\n") as s, \
            Face.tcp("127.0.0.1", s.ndn_port) as slow, Face.tcp("127.0.0.1", s.ndn_port) as visitor:
        assert answers(visitor) and answers(slow)
        slow.send(*(wanted(f"{NAME}/page.cgi%3Fn=9&wait=1&of={n}") for n in range(10)))
        wait_for(lambda: s.status()["outstanding"] == 1, 2, "one at work")
        for _ in range(10):
            assert answers(visitor)
        assert all(status_of(slow.receive(5)) == 200 for _ in range(3))
        # Whoever goes leaves nothing behind that takes a turn.
        slow.close()
        wait_for(lambda: (lambda t: t["outstanding"] == 0 and t["queued"] == 0 and t["faces"] == 1)(s.status()), 4, "its pages forgotten")
        assert answers(visitor)
        leave(s, visitor)


def test_in_prefork_a_stop_waits_for_one_page(room_lab):
    """Not for all that wait behind it, which nobody will get."""
    with site(room_lab, mpm="prefork", children=2) as s, Face.tcp("127.0.0.1", s.ndn_port) as face:
        face.send(*(wanted(f"{NAME}/page.cgi%3Fn=9&wait=0.2&of={n}") for n in range(200)))
        assert status_of(face.receive(5)) == 200
        s.process.send_signal(signal.SIGTERM)
        s.process.wait(5)
        assert "still did not exit" not in s.log()


@pytest.mark.parametrize("alike, faces", (("a", 2), ("b", 1)), ids=("another address's", "another pattern's"))
@pytest.mark.parametrize("children", (1, 3))
def test_who_holds_most_of_a_full_queue_makes_room(room_lab, alike, faces, children):
    """A visitor with few Interests, whose pages are of another pattern or who comes from another address: none is refused when the queue is full of one's."""
    with site(room_lab, children=children, settings="CcnThreads 2\nCcnQueue 64\n") as s, Face.tcp("127.0.0.1", s.ndn_port) as flood:
        visitor = face_from("127.0.0.2", s) if faces == 2 else flood
        flood.send(*(wanted(f"{NAME}/page.cgi%3Fn=9&wait=0.1&a={n}") for n in range(400)))
        wait_for(lambda: s.status()["refused"] > 300, 5, "a full queue")
        few = {wire.name(f"{NAME}/page.cgi%3Fn=9&wait=0.1&{alike}={n}") for n in range(1000, 1005)}
        visitor.send(*(wire.interest(n, prefix=True, fresh=True, lifetime=60000) for n in few))
        statuses = []
        while len(statuses) < len(few) and (packet := visitor.receive(30)) is not None:
            if packet.name[:-2] in few:
                statuses.append(status_of(packet))
            elif packet.name in few:
                statuses.append(packet.content)
        assert statuses == [200] * len(few)
        assert s.status()["displaced"] > 0
        leave(s, visitor, flood)


def test_flood_over_many_connections_of_one_address_counts_as_one_client(room_lab):
    """Each of its connections has fewer pages in the queue than the visitor's one connection, all of one pattern: the visitor is served."""
    with site(room_lab, children=1, threads=64, settings="CcnThreads 2\nCcnQueue 64\nCcnConnections 30\n") as s:
        faces = [Face.tcp("127.0.0.1", s.ndn_port) for _ in range(25)]
        assert status_of(page(faces[0], f"{NAME}/page.cgi%3Fn=9&wait=0.1&a=0")) == 200
        for n, face in enumerate(faces):
            face.send(*(wanted(f"{NAME}/page.cgi%3Fn=9&wait=0.1&a={4 * n + k + 1}") for k in range(4)))
        wait_for(lambda: s.status()["refused"] > 25, 5, "a full queue")
        few = {wire.name(f"{NAME}/page.cgi%3Fn=9&wait=0.1&a={n}") for n in range(1000, 1010)}
        visitor = face_from("127.0.0.2", s)
        visitor.send(*(wire.interest(n, prefix=True, fresh=True, lifetime=60000) for n in few))
        statuses = [status_of(packet) for packet in (visitor.receive(30) for _ in few)]
        assert statuses == [200] * len(few)
        leave(s, visitor, *faces)


@pytest.mark.parametrize("restart", (False, True))
def test_who_says_nothing_at_first_is_heard(room_lab, restart):
    """A forwarder connects and may be silent for long: it is there from the beginning, and not when it has said something; after a restart, too."""
    with site(room_lab) as s:
        if restart:
            s.graceful()
        with Face.tcp("127.0.0.1", s.ndn_port):
            wait_for(lambda: s.status()["faces"] == 1, 5, "the connection")
