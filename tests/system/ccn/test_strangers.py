# SPDX-License-Identifier: BSD-2-Clause
"""What others' Interests do to a visitor: nobody sees another one's page, and a flood of names that nobody knows takes no one's turn."""
import os
import random
import time

import pytest

from lab.ccn import made, octets, site
from lab import ndn_wire as wire
from lab.httpd import PhpFpm
from lab.lab import wait_for
from lab.ndn_face import Face
from lab.ndn_seal import SEAL, STATUS, Caller

# A site whose one program makes all its pages, in 20 ms.
INDEX = b"""<?php
if (isset($_COOKIE['session'])) { setcookie('seen', '1'); echo 'for ', $_COOKIE['session'], "\\n"; return; }
usleep(20000);
if (strpos($_SERVER['REQUEST_URI'], 'known') === false) http_response_code(%d);
echo "page\\n";
"""
FRONT = "RewriteEngine On\nRewriteCond %{REQUEST_URI} !^/index\\.php\nRewriteRule ^ /index.php [L]\n"
TIMES = 10000       # that each of two visitors asks
SECRET = bytes(range(32))


@pytest.fixture(scope="module")
def php(ndn_lab, path):
    with PhpFpm(ndn_lab, workers=8).on(path.server).start() as fpm:
        yield fpm


@pytest.fixture(scope="module")
def served(ndn_lab, path, forwarder, php):
    with site(ndn_lab, path.server, prefix="/strangers/site", files={"index.php": INDEX % 404}, php=php.address, speak=FRONT) as s:
        forwarder.route("/strangers/site", s.uri)
        yield s


class Visitor:
    """Asks for one URL with a session of its own, `window` at a time, each time with another nonce and another key."""

    def __init__(self, face, url, session, window=16):
        self.face, self.url, self.session, self.window = face, wire.name(url), session, window
        self.outstanding, self.callers, self.sent, self.right, self.wrong = {}, {}, 0, 0, []

    def ask(self):
        caller = Caller()
        params = b"Cookie: session=%s\nCcn-Nonce: %s\n" % (self.session.encode(), os.urandom(16).hex().encode()) + caller.line
        packet = wire.interest(self.url, prefix=True, fresh=True, params=params, lifetime=4000)
        name = wire.read(packet).name
        self.outstanding[name], self.callers[name] = (time.monotonic() + 4, caller), caller
        self.face.send(packet)
        self.sent += 1

    def step(self):
        while len(self.outstanding) < self.window and self.sent < TIMES:
            self.ask()
        packet = self.face.receive(0.01)
        while packet is not None:
            name = packet.name[:-2]
            if name in self.outstanding:
                _, caller = self.outstanding.pop(name)
                self.right += caller.open(packet) == b"for %s\n" % self.session.encode()
            else:
                self.wrong.append(packet)
            packet = self.face.receive(0)
        now = time.monotonic()
        for name in [n for n, (due, _) in self.outstanding.items() if due < now]:
            del self.outstanding[name]


class Stranger:
    """Asks for the same URL by its beginning, for whatever a forwarder has or is waiting for, and looks into all that comes."""

    def __init__(self, face, url):
        self.face, self.url, self.sent, self.came, self.sealed = face, wire.name(url), 0, 0, []
        self.again = 0

    def step(self):
        now = time.monotonic()
        if self.sent - self.came < 4 or now > self.again:
            self.again = now + 1        # what was lost is not waited for
            # Without MustBeFresh what is kept counts; with it, what is on its way to somebody else.
            self.face.send(wire.interest(self.url, prefix=True, fresh=self.sent % 2 == 0, lifetime=1000))
            self.sent += 1
        packet = self.face.receive(0)
        while packet is not None:
            self.came += 1
            assert b"for one" not in packet.wire and b"for two" not in packet.wire, packet
            if any(kind == wire.PARAMS_DIGEST or (kind, value) == (wire.KEYWORD, b"result") for kind, value in packet.name):
                self.sealed.append(packet)
            packet = self.face.receive(0)


def test_two_sessions_never_see_each_other(served, forwarder, path):
    """Nor does a third one, who asks by prefix and is given theirs: sealed for who asked, and without a word of the page."""
    with Face.tcp(forwarder.host, forwarder.port, host=path.clients) as one, Face.tcp(forwarder.host, forwarder.port, host=path.clients) as two, \
            Face.tcp(forwarder.host, forwarder.port, host=path.clients) as three:
        visitors = [Visitor(one, "/strangers/site/known", "one"), Visitor(two, "/strangers/site/known", "two")]
        stranger = Stranger(three, "/strangers/site/known")
        end = time.monotonic() + 120
        while any(v.outstanding or v.sent < TIMES for v in visitors) and time.monotonic() < end:
            for v in (*visitors, stranger):
                v.step()
    for v in visitors:
        assert v.sent == TIMES and not v.wrong
        assert v.right > 0.99 * TIMES
    assert stranger.sealed, "the forwarder gives it what others asked for"
    for packet in stranger.sealed[:100]:
        assert SEAL in packet.meta
        # It is the page of one of the two, whole, and the key that opens it is his: Stranger.step looked for its text.
        whose = [v for v in visitors if packet.name[:-2] in v.callers]
        assert len(whose) == 1 and whose[0].callers[packet.name[:-2]].open(packet) == b"for %s\n" % whose[0].session.encode()


@pytest.fixture(scope="module")
def guarded(ndn_lab, path):
    """A site some of whose pages are for the clients' address alone, or for who signs; the router has another one."""
    key = os.path.join(ndn_lab.dir, "key")
    with open(key, "w", encoding="ascii") as f:
        f.write(SECRET.hex() + "\n")
    os.chmod(key, 0o600)
    rules = f"CcnTrust {key} /me/key\n<Location /big>\nRequire ip {path.clients.address}\n</Location>\n<Location /page.cgi>\nRequire env CCN_SIGNER\n</Location>\n"
    with site(ndn_lab, path.server, prefix="/guarded/site", files={"big": octets(9000)}, speak=rules, privacy="open", modules=("authz_host",)) as s:
        with Face.tcp(s.host, s.ndn_port, host=path.clients) as face:   # the first seconds after a start no signed Interest is obeyed
            wait_for(lambda: status_of(face.ask("/guarded/site/page.cgi%3Fn=1", prefix=True, fresh=True, params=b"Cookie: a=b\n",
                                                sign=wire.Hmac(SECRET, "/me/key"))) == 200, 20, "signed Interests to be obeyed")
        yield s


@pytest.fixture
def staff(guarded, path):
    with Face.tcp(guarded.host, guarded.ndn_port, host=path.clients) as face:
        yield face


@pytest.fixture
def thief(guarded, path):
    with Face.tcp(guarded.host, guarded.ndn_port, host=path.router) as face:
        yield face


def status_of(packet):
    return wire.read_integer(packet.meta[STATUS])


def test_who_may_not_have_a_page_has_no_segment_of_it(staff, thief):
    assert status_of(thief.ask("/guarded/site/big", prefix=True, fresh=True)) == 403
    first = staff.ask("/guarded/site/big", prefix=True, fresh=True)
    assert first.content == octets(9000)[:len(first.content)]
    for n in (0, 1, 2):
        stolen = thief.ask(first.name[:-1] + (wire.segment(n),))
        assert status_of(stolen) == 410 and len(stolen.content) < 200
    assert first.content + b"".join(staff.ask(first.name[:-1] + (wire.segment(n),)).content for n in (1, 2)) == octets(9000)


def test_a_signed_interest_brings_its_page_to_who_sent_it(staff, thief):
    """Whoever saw it on its way can send it again, and gets nothing, though the page is kept."""
    signed = wire.interest("/guarded/site/page.cgi%3Fn=50", prefix=True, fresh=True, params=b"Cookie: a=b\n", sign=wire.Hmac(SECRET, "/me/key"))
    staff.send(signed)
    assert staff.receive().content == made(50)
    thief.send(signed)
    got = thief.receive()
    assert status_of(got) == 409 and made(50) not in got.content
    staff.send(signed)      # what was lost is asked for again
    assert staff.receive().content == made(50)


def test_signed_interest_obeyed_before_a_stop_is_refused_after_the_next_start(guarded, path):
    """Also one by a clock that is ahead; a new Interest is obeyed after some seconds."""
    def signed(ahead_ms):
        return wire.interest("/guarded/site/page.cgi%3Fn=60", prefix=True, fresh=True, params=b"Cookie: a=b\n", sign=wire.Hmac(SECRET, "/me/key"),
                             sign_time=time.time_ns() // 1_000_000 + ahead_ms)

    def answer(face, interest):
        face.send(interest)
        return face.receive()

    with Face.tcp(guarded.host, guarded.ndn_port, host=path.clients) as face:
        wait_for(lambda: answer(face, signed(0)).content == made(60), 20, "signed Interests to be obeyed")
        obeyed = [signed(ahead) for ahead in (0, 4500)]
        assert [answer(face, i).content == made(60) for i in obeyed] == [True, True]
    guarded.stop()
    guarded.start()
    with Face.tcp(guarded.host, guarded.ndn_port, host=path.clients) as face:
        end = time.monotonic() + 7
        while time.monotonic() < end:
            for interest in obeyed:
                got = answer(face, interest)
                assert status_of(got) in (409, 503) and made(60) not in got.content
            time.sleep(0.2)
        assert answer(face, signed(0)).content == made(60)


def test_who_fills_the_store_leaves_room(ndn_lab, path):
    """One address asks for large pages and fetches little of them; another one's pages are made, kept, and whole."""
    with site(ndn_lab, path.server, prefix="/full/site", files={"large": octets(200_000), "page": octets(20_000)}, settings="CcnPages 4M\n") as s:
        with Face.tcp(s.host, s.ndn_port, host=path.clients) as visitor, Face.tcp(s.host, s.ndn_port, host=path.router) as filler:
            full = 0
            for turn in range(10):
                for name in ("large", "page"):      # and what room is left behind the large ones
                    filler.send(*(wire.interest(f"/full/site/{name}%3Fx={turn}.{n}", prefix=True, fresh=True) for n in range(30)))
                    full += 503 in [status_of(filler.receive()) for n in range(30)]
                first = visitor.ask(f"/full/site/page%3Fx={turn}", prefix=True, fresh=True)
                body = first.content + b"".join(visitor.ask(first.name[:-1] + (wire.segment(n),)).content for n in range(1, 5))
                assert body == octets(20_000), (turn, first, s.status())
            assert full, "there was no room left"


@pytest.mark.parametrize("status", (404, 200))
def test_a_flood_of_names_that_nobody_knows(ndn_lab, path, forwarder, php, status):
    """Ten times as many as the visitor's own, and together more than the server can make: of the visitor's 95 % are answered within their lifetime."""
    prefix = f"/flood{status}/site"
    with site(ndn_lab, path.server, prefix=prefix, files={"index.php": INDEX % status}, php=php.address, speak=FRONT, settings="CcnThreads 8\nCcnQueue 512\n") as s:
        forwarder.route(prefix, s.uri)
        rng = random.Random(status)
        with Face.tcp(forwarder.host, forwarder.port, host=path.clients) as visitor, Face.tcp(forwarder.host, forwarder.port, host=path.clients) as flood:
            names = [f"{prefix}/known{n}" for n in range(20)]
            for n in names:      # they are known
                # The forwarder connects when it is first asked, and loses what it was asked for.
                assert wait_for(lambda n=n: visitor.ask(n, seconds=1, prefix=True, fresh=True), 10, "a page").content == b"page\n"
            memory = s.memory()
            asked, answered, sent, begin = {}, 0, 0, time.monotonic()
            while (now := time.monotonic()) < begin + 10:
                while sent < (now - begin) * 440:
                    if sent % 11 == 0:
                        name = wire.name(names[sent // 11 % 20])
                        asked.setdefault(name, []).append(now)
                        visitor.send(wire.interest(name, prefix=True, fresh=True, lifetime=4000))
                    else:
                        flood.send(wire.interest(f"{prefix}/{rng.randbytes(8).hex()}", prefix=True, fresh=True, lifetime=4000))
                    sent += 1
                while flood.receive_wire(0) is not None:
                    pass
                packet = visitor.receive(0.002)
                while packet is not None:
                    answered += len(asked.pop(packet.name[:-2], ())) if packet.content == b"page\n" else 0
                    packet = visitor.receive(0)
            end = time.monotonic() + 4
            while asked and time.monotonic() < end:
                packet = visitor.receive(0.05)
                if packet is not None and packet.content == b"page\n":
                    answered += len(asked.pop(packet.name[:-2], ()))
        total = answered + sum(map(len, asked.values()))
        assert total > 350
        assert answered >= 0.95 * total, (answered, total, s.status())
        assert s.memory() - memory < 200 << 20
        wait_for(lambda: s.status()["queued"] == 0, 10, "an empty queue")
