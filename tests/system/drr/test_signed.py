# SPDX-License-Identifier: BSD-2-Clause
"""Crawlers that sign (Web Bot Auth): who signs with a key that counts is known, and nobody else is."""
import base64
import concurrent.futures
import itertools
import json
import pathlib
import re
import time

import pytest

import http1
from gateway import Gateway, fresh
from lab import lab
from lab.signer import WELL_KNOWN, Directory, Signer
from test_tls import curl

AGENT = "https://bot.example"
CLASSES = """\
QosClass bots weight=3
QosClass others weight=1 default
QosRule bots crawler goodbot
"""
FIGURES = ("verified", "cached", "wrong", "expired", "replayed", "unknown", "unjudged")
nonces = (f"nonce-{n}" for n in itertools.count())


def write_keys(path, *signers, text=None):
    """The file as a whole, at once."""
    new = path.with_suffix(".new")
    new.write_text(text if text is not None else json.dumps({"keys": [s.jwk() for s in signers]}))
    new.chmod(0o644)
    new.replace(path)


class Signed(Gateway):
    """A gateway that knows `bot` by a file of keys; trusted: certificates that it trusts, in place of the system's."""

    def __init__(self, parts, bot=None, directives=None, trusted=None, **words):
        super().__init__(parts, classes=CLASSES, **words)
        self.bot, self.trusted = bot, trusted
        self.keys = pathlib.Path(self.path("keys.json"))
        if bot:
            write_keys(self.keys, bot)
        self.directives = directives or f"QosSigned goodbot {AGENT} keys={self.keys}\n"
        self.config += f"ServerName localhost\n{self.directives}"

    def argv(self):
        if not self.trusted:
            return super().argv()
        return ["unshare", "--mount", "sh", "-c", 'mount --bind "$0" /etc/ssl/certs/ca-certificates.crt && exec "$@"', self.trusted, *super().argv()]

    @property
    def authority(self):
        return f"localhost:{self.port}"

    def sign(self, signer=None, target="/static/2k.txt", **words):
        return (signer or self.bot).sign(self.authority, target=target, **words)

    def figures(self):
        s = self.status()
        return {name: s[f"signed_{name}"] for name in FIGURES}

    def class_of(self, headers, target="/static/2k.txt", source=None):
        """Asks for it, and the class that the access log has for it.  target: with a query of its own, if it has one."""
        if "?" not in target:
            target += "?" + fresh("signed")
        with self.connect(source=source) as c:
            answer = c.ask("GET", target, headers={"Host": self.authority, **headers})
        assert answer.status == 200
        return self.logged(target.partition("?")[2], 1)[0]["class"]

    def until_known(self, signer=None, seconds=20):
        """Each try has a signature of its own."""
        http1.until(lambda: self.class_of(self.sign(signer, nonce=next(nonces))) == "bots", seconds, "the key counts")


@pytest.fixture
def new_signed(parts):
    made = []

    def make(bot=None, **words):
        made.append(Signed(parts, bot, **words))
        return made[-1]
    yield make
    for g in made:
        g.stop()
        g.assert_no_crash()


@pytest.fixture(scope="module", params=("event", "worker", "prefork"))
def signed(parts, request):
    with Signed(parts, Signer(AGENT), mpm=request.param, window=8) as g:
        g.until_known()
        yield g
    g.assert_no_crash()


@pytest.fixture(scope="module")
def event_signed(parts):
    with Signed(parts, Signer(AGENT)) as g:
        g.until_known()
        yield g
    g.assert_no_crash()


def moved(g, before):
    return {name: n - before[name] for name, n in g.figures().items() if n != before[name]}


# ---- who is known

def test_who_signs_is_known(signed):
    g, before = signed, signed.figures()
    assert g.class_of({}) == "others"
    assert g.class_of({"User-Agent": "goodbot", "Signature-Agent": f'sig1="{AGENT}"'}) == "others"
    assert g.class_of(g.sign(nonce=next(nonces))) == "bots"
    assert moved(g, before) == {"verified": 1}


@pytest.mark.parametrize("words", [
    {},
    {"string": True},
    {"covers": ("@target-uri", "agent")},
    {"covers": ("@method", "@authority", "@path", "@query", "@scheme", "@target-uri", "agent")},
    {"covers": ("@authority", "x-why", "agent"), "fields": {"X-Why": "because"}},
    {"alg": None},
    {"label": "another"},
    {"agent": AGENT + "/"},
    {"agent": AGENT.upper().replace("HTTPS", "https") + ":443" + WELL_KNOWN},
    {"lasts": 7 * 86400},
], ids=str)
def test_ways_to_sign(event_signed, words):
    target = f"/static/2k.txt?{fresh('way')}"
    assert event_signed.class_of(event_signed.sign(target=target, **words), target=target) == "bots"


def altered(headers, name, old, new):
    assert old in headers[name], headers[name]
    return {**headers, name: headers[name].replace(old, new, 1)}


def flipped(headers):
    at = headers["Signature"].index(":") + 5
    letter = "A" if headers["Signature"][at] != "A" else "B"
    return {**headers, "Signature": headers["Signature"][:at] + letter + headers["Signature"][at + 1:]}


NOW = time.time
# What is wrong with a request, and as what it counts: a function of the gateway and a stranger with a key of his own.
WRONG = {
    "flipped bit": ("wrong", lambda g, s: flipped(g.sign())),
    "for another site": ("wrong", lambda g, s: g.sign(signed_authority="other.example")),
    "for a site that is not here": ("wrong", lambda g, s: {"Host": "other.example", **g.bot.sign("other.example", target="/static/2k.txt")}),
    "for another page": ("wrong", lambda g, s: g.sign(target="/elsewhere", covers=("@authority", "@path", "agent"))),
    "for another method": ("wrong", lambda g, s: g.sign(method="POST", covers=("@authority", "@method", "agent"))),
    "for TLS": ("wrong", lambda g, s: g.sign(scheme="https", covers=("@authority", "@scheme", "agent"))),
    "another field": ("wrong", lambda g, s: {**g.sign(covers=("@authority", "x-why", "agent"), fields={"X-Why": "one"}), "X-Why": "two"}),
    "a field that is not there": ("wrong", lambda g, s: {k: v for k, v in g.sign(covers=("@authority", "x-why", "agent"), fields={"X-Why": "one"}).items() if k != "X-Why"}),
    "a component that is not known": ("wrong", lambda g, s: altered(g.sign(), "Signature-Input", '"@authority"', '"@authority" "@request-target"')),
    "later expiry": ("wrong", lambda g, s: (lambda h: {**h, "Signature-Input": re.sub(r"expires=(\d+)", lambda m: f"expires={int(m[1]) + 60}", h["Signature-Input"])})(g.sign())),
    "no site": ("wrong", lambda g, s: g.sign(covers=("agent",))),
    "no agent": ("wrong", lambda g, s: g.sign(covers=("@authority",))),
    "no expiry": ("wrong", lambda g, s: g.sign(lasts=None)),
    "another algorithm": ("wrong", lambda g, s: g.sign(alg="rsa-pss-sha512")),
    "signed by a stranger": ("wrong", lambda g, s: g.sign(s, keyid=g.bot.keyid)),
    "no signature": ("wrong", lambda g, s: {k: v for k, v in g.sign().items() if k != "Signature"}),
    "an empty signature": ("wrong", lambda g, s: {**g.sign(), "Signature": "sig1=::"}),
    "a list without an end": ("wrong", lambda g, s: altered(g.sign(), "Signature-Input", ");", ";")),
    "twice": ("wrong", lambda g, s: (lambda h: {**h, "Signature-Input": h["Signature-Input"] + ", " + h["Signature-Input"]})(g.sign())),
    "too old": ("expired", lambda g, s: g.sign(created=int(NOW()) - 310)),
    "older than a day": ("expired", lambda g, s: g.sign(created=int(NOW()) - 86410, lasts=7 * 86400)),
    "of a time to come": ("expired", lambda g, s: g.sign(created=int(NOW()) + 120)),
    "a stranger's": ("unknown", lambda g, s: g.sign(s)),
    "a stranger's agent": ("unknown", lambda g, s: g.sign(agent="https://stranger.example")),
    "a stranger's path": ("unknown", lambda g, s: g.sign(agent=AGENT + "/keys.json")),
    "for another use": (None, lambda g, s: g.sign(tag="other")),
    "without a tag": (None, lambda g, s: g.sign(tag=None)),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_signatures_are_nobodys(event_signed, name):
    g, before = event_signed, event_signed.figures()
    counts, make = WRONG[name]
    stranger = Signer("https://bot.example")
    for _ in range(3):
        assert g.class_of(make(g, stranger)) == "others"
    assert moved(g, before) == ({counts: 3} if counts else {})


def test_garbage_in_the_fields(event_signed):
    """Whatever stands there: an answer, and nobody is known by it."""
    g = event_signed
    before = g.figures()
    h = g.sign()
    for name in ("Signature-Input", "Signature", "Signature-Agent"):
        for bad in ("", "(", "=", "a", "a=", ",", '"', ":", "a=(;;;", "\xff" * 100, "a=1," * 1500, "a=(" + '"x" ' * 1500 + ")", "a" + ";b" * 3000, ":" * 8000):
            assert g.class_of({**h, name: bad}) == "others"
    after = moved(g, before)
    assert "verified" not in after and "cached" not in after


# ---- replays

def test_a_nonce_counts_once(signed):
    """In whichever child, and when 20 come at the same time."""
    g, before = signed, signed.figures()
    headers = g.sign(nonce=next(nonces))
    names = [fresh("nonce") for _ in range(20)]
    with concurrent.futures.ThreadPoolExecutor(20) as pool:
        classes = list(pool.map(lambda name: g.class_of(headers, target=f"/static/2k.txt?{name}"), names))
    assert sorted(classes) == ["bots"] + ["others"] * 19
    after = moved(g, before)
    assert after == {"verified": 1, "replayed": 19}
    # The same nonce in another signature is no better.
    used = re.search(r'nonce="([^"]*)"', headers["Signature-Input"])[1]
    assert g.class_of(g.sign(nonce=used, created=int(time.time()) + 1)) == "others"


def test_without_a_nonce_it_counts_for_one_address(signed):
    g, before = signed, signed.figures()
    headers = g.sign(lasts=299)
    assert [g.class_of(headers, source=a) for a in ("127.0.0.2", "127.0.0.3", "127.0.0.2", "127.0.0.1", "127.0.0.2")] == \
        ["bots", "others", "bots", "others", "bots"]
    assert moved(g, before) == {"verified": 1, "cached": 2, "replayed": 2}


def test_a_restart_forgets_nothing(new_signed):
    """Neither nonces and addresses that were seen, nor keys."""
    with new_signed(Signer(AGENT)) as g:
        g.until_known()
        once, often = g.sign(nonce=next(nonces)), g.sign()
        assert g.class_of(once) == g.class_of(often) == "bots"
        g.graceful()
        assert g.class_of(once) == "others"
        assert g.class_of(often, source="127.0.0.2") == "others"
        assert g.class_of(often) == "bots"
        assert g.class_of(g.sign(nonce=next(nonces))) == "bots"


@pytest.mark.parametrize("mpm", ["event", "prefork"])
def test_a_child_that_dies_with_the_lock_of_signatures(new_signed, mpm):
    """Killed in the middle of what it writes there: the others go on, keys are had again, and nothing that was shown counts a second time."""
    bot = Signer(AGENT)
    with new_signed(bot, mpm=mpm, more="<Location /scribble>\n    SetHandler lab-scribble\n    QosEngine Off\n</Location>\n") as g:
        g.load["scribble"] = lab.program("tests/lab/.libs/mod_scribble.so")
        g.graceful()
        g.until_known()
        once, often = g.sign(nonce=next(nonces)), g.sign()
        assert g.class_of(once) == g.class_of(often) == "bots"
        thumbprint = base64.urlsafe_b64decode(bot.keyid + "=").hex()
        with g.connect() as c, pytest.raises((OSError, http1.Cut)):
            c.ask("GET", f"/scribble?what=signatures&thumbprint={thumbprint}&die=1")
        def counts_nothing():
            return g.class_of({}) == g.class_of(once) == g.class_of(often) == g.class_of(often, source="127.0.0.2") == "others"
        assert counts_nothing() and counts_nothing()
        # With the key that is read again as well.  What is made from a minute later on counts (unit test of bots_seen).
        http1.until(lambda: counts_nothing() and g.figures()["replayed"] >= 6, 20, "the key counts again")
        assert all(counts_nothing() for _ in range(5))
        g.settled()
        assert not any("damaged" in line for line in g.error_log())


def test_signatures_from_before_the_start(new_signed):
    """Nobody can know any more whether they were used, or who was first."""
    with new_signed(Signer(AGENT)) as g:
        g.until_known()
        before = g.figures()
        assert g.class_of(g.sign(nonce=next(nonces), created=int(time.time()) - 250)) == "others"
        assert g.class_of(g.sign(created=int(time.time()) - 250)) == "others"
        assert moved(g, before) == {"replayed": 2}


def test_the_client_behind_a_proxy(new_signed):
    """The address is that of mod_remoteip; of IPv6 its /64."""
    with new_signed(Signer(AGENT), modules=("remoteip",), more="RemoteIPHeader X-Client\nRemoteIPInternalProxy 127.0.0.1\n") as g:
        g.until_known()
        headers = g.sign()
        rows = [("2001:db8:1:2::3", "bots"), ("2001:db8:1:2:3:4:5:6", "bots"), ("2001:db8:1:3::3", "others"), ("192.0.2.1", "others")]
        assert [g.class_of({**headers, "X-Client": address}) for address, _ in rows] == [what for _, what in rows]


def test_keys_stay_when_lines_change(new_signed, directory, parts):
    """A line more in front of it, and a directory that is down just then."""
    bot = Signer(directory.url)
    directory.keys, directory.cache_control = [bot], "max-age=3600"
    with new_signed(bot, directives=of_directory(directory), trusted=parts.certificate[0]) as g:
        g.until_known()
        directory.status = 500
        keys = pathlib.Path(g.path("others.json"))
        write_keys(keys, Signer("https://other.example"))
        g.graceful(g.config.replace("QosSigned", f"QosSigned otherbot other.example keys={keys}\nQosSigned", 1))
        http1.until(lambda: any("otherbot: 1 key" in line for line in g.error_log()), 20, "the new line is in force")
        assert g.class_of(g.sign(nonce=next(nonces))) == "bots"
        assert len(directory.asked) == 1


def test_a_crowd_of_wrong_ones_is_not_verified(new_signed):
    """Of one address no more than 64 at once, then 20 a second.  Of many no more than 128, then 500 a second in each child; and who signed right lately is
    known all the while."""
    with new_signed(Signer(AGENT), window=8) as g:
        g.until_known()
        headers = {"Host": g.authority, **flipped(g.sign())}

        def ask(source, n):
            with g.connect(source=source) as c:
                for _ in range(n):
                    assert c.ask("GET", "/static/2k.txt", headers=headers).status == 200

        began = time.monotonic()
        ask("127.0.0.9", 1000)
        took, f = time.monotonic() - began, g.figures()
        # The connection was one child's.
        assert f["wrong"] + f["unjudged"] == 1000 and 64 <= f["wrong"] <= 64 + 20 * (took + 1), (f, took)
        query, classes = fresh("honest"), []
        with g.connect() as honest, concurrent.futures.ThreadPoolExecutor(16) as pool:
            assert honest.ask("GET", "/static/2k.txt", headers={"Host": g.authority, **g.sign(nonce=next(nonces))}).status == 200
            began = time.monotonic()
            crowd = [pool.submit(ask, f"127.0.{1 + n // 100}.{1 + n % 100}", 20) for n in range(300)]
            while not all(c.done() for c in crowd):
                assert honest.ask("GET", f"/static/2k.txt?{query}", headers={"Host": g.authority, **g.sign(nonce=next(nonces))}).status == 200
                classes.append("bots")
            for c in crowd:
                c.result()
            took = time.monotonic() - began
        assert [line["class"] for line in g.logged(query, len(classes))] == classes
        wrong = g.figures()["wrong"] - f["wrong"]
        assert wrong <= 2 * (128 + 500 * (took + 1)), (wrong, took)


# ---- keys

def test_keys_file_is_live(new_signed):
    """A key that is added counts, one that is taken out does not, one that is over neither; a damaged file changes nothing and is said once."""
    bot, other = Signer(AGENT), Signer(AGENT)
    with new_signed(bot) as g:
        g.until_known()
        assert g.class_of(g.sign(other, nonce=next(nonces))) == "others"
        write_keys(g.keys, bot, other)
        g.until_known(other)
        write_keys(g.keys, text='{"keys": [')
        http1.until(lambda: any("not JSON" in line for line in g.error_log()), what="a word about it")
        assert g.class_of(g.sign(nonce=next(nonces))) == "bots"
        write_keys(g.keys, other)
        http1.until(lambda: g.class_of(g.sign(nonce=next(nonces))) == "others", 20, "the key is gone")
        assert g.class_of(g.sign(other, nonce=next(nonces))) == "bots"
        write_keys(g.keys, text=json.dumps({"keys": [other.jwk(exp=int(time.time()) - 5), bot.jwk(nbf=int(time.time()) - 5)]}))
        g.until_known(bot)
        assert g.class_of(g.sign(other, nonce=next(nonces))) == "others"
        assert len([line for line in g.error_log() if "not JSON" in line]) == 1


def test_keys_that_anybody_has(new_signed):
    """The example key of RFC 9421, and one that stands there with its private half."""
    bot = Signer(AGENT)
    with new_signed(bot) as g:
        g.until_known()
        write_keys(g.keys, text=json.dumps({"keys": [bot.jwk(d=bot.x), {**bot.jwk(), "x": "JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs"}]}))
        http1.until(lambda: any("the example of RFC 9421" in line or "private half" in line for line in g.error_log()), what="a word about it")
        http1.until(lambda: g.class_of(g.sign(nonce=next(nonces))) == "others", 20, "it does not count")


@pytest.fixture
def directory(parts):
    with Directory(parts.certificate, lab.free_port()) as d:
        yield d


def of_directory(d, name="goodbot", path=""):
    return f"QosSigned {name} {d.url}{path} private=127.0.0.1:{d.port}\n"


@pytest.mark.parametrize("path", ["", "/keys.json"])
def test_directory_is_fetched_in_the_background(new_signed, directory, parts, path):
    bot = Signer(directory.url + path)
    directory.keys = [bot]
    directory.media_type = "application/json" if path else directory.media_type
    directory.cache_control = "max-age=3600"
    with new_signed(bot, directives=of_directory(directory, path=path), trusted=parts.certificate[0]) as g:
        g.until_known()
        assert directory.asked == [path or WELL_KNOWN]
        s = g.status()
        assert s["key_directories_fetched"] == 1 and s["key_directories_failed"] == 0


def test_directory_that_fails_is_asked_again(new_signed, directory, parts):
    """After some 15 s; it is said once."""
    bot = Signer(directory.url)
    directory.keys, directory.status = [bot], 503
    with new_signed(bot, directives=of_directory(directory), trusted=parts.certificate[0]) as g:
        g.until(lambda s: s["key_directories_failed"] == 1, "asked")
        assert g.class_of(g.sign(nonce=next(nonces))) == "others"
        directory.status = 200
        g.until_known(seconds=40)
        assert len(directory.asked) == 2
        assert len([line for line in g.error_log() if "status 503" in line]) == 1


@pytest.mark.parametrize("what, said", [
    ({"media_type": "application/json"}, "media type"),
    ({"body": b"<html>"}, "not JSON"),
    ({"body": b" " * 70000}, "more than 65536 bytes"),
    ({"status": 302, "location": "/elsewhere"}, "redirect"),
    ({"status": 404}, "status 404"),
])
def test_what_is_no_directory_is_refused(new_signed, directory, parts, what, said):
    bot = Signer(directory.url)
    directory.keys = [bot]
    for name, value in what.items():
        setattr(directory, name, value)
    with new_signed(bot, directives=of_directory(directory), trusted=parts.certificate[0]) as g:
        http1.until(lambda: any(said in line for line in g.error_log() if "QosSigned" in line), 20, "a word about it")
        assert g.class_of(g.sign(nonce=next(nonces))) == "others"
        assert directory.asked == [WELL_KNOWN]


def test_only_named_and_trusted_directories_are_asked(new_signed, directory, parts):
    """None that a request names; none at a private address that the line does not name; none whose certificate nobody vouches for."""
    with Directory(parts.certificate, lab.free_port()) as strangers:
        bot, stranger = Signer(directory.url), Signer(strangers.url)
        directory.keys, strangers.keys = [bot], [stranger]
        with new_signed(bot, directives=f"QosSigned goodbot {directory.url}\n", trusted=parts.certificate[0]) as g:
            http1.until(lambda: any("address" in line for line in g.error_log() if "QosSigned" in line), 20, "a word about it")
            assert g.class_of(stranger.sign(g.authority)) == "others"
            assert g.class_of(g.sign()) == "others"
        with new_signed(bot, directives=of_directory(directory)) as g:
            http1.until(lambda: any("certificate" in line for line in g.error_log() if "QosSigned" in line), 20, "a word about it")
            assert g.class_of(g.sign()) == "others"
        assert strangers.asked == [] and directory.asked == []


def test_directory_is_not_fetched_again_at_once(new_signed, directory, parts):
    """Whatever it says of itself, not within a minute."""
    bot = Signer(directory.url)
    directory.keys, directory.cache_control = [bot], "no-store"
    with new_signed(bot, directives=of_directory(directory), trusted=parts.certificate[0]) as g:
        g.until_known()
        for _ in range(3):
            g.graceful()
            assert g.class_of(g.sign(nonce=next(nonces))) == "bots"
        assert len(directory.asked) == 1


@pytest.mark.may_skip("takes two minutes")
def test_directory_is_fetched_again(new_signed, directory, parts, request):
    """After a minute: what can't be fetched then changes nothing; what is gone there does not count any more."""
    if not request.config.getoption("--long"):
        pytest.skip("only with --long")
    bot, newer = Signer(directory.url), Signer(directory.url)
    directory.keys, directory.cache_control = [bot], "max-age=1"
    with new_signed(bot, directives=of_directory(directory), trusted=parts.certificate[0]) as g:
        g.until_known()
        directory.status = 500
        g.until(lambda s: s["key_directories_failed"] == 1, "asked again", 90)
        assert g.class_of(g.sign(nonce=next(nonces))) == "bots"
        directory.status, directory.keys = 200, [newer]
        g.until_known(newer, 60)
        assert g.class_of(g.sign(nonce=next(nonces))) == "others"


# ---- every way in

@pytest.mark.parametrize("mpm", ["event", "worker"])
@pytest.mark.parametrize("http", ["--http1.1", "--http2"])
def test_signed_over_tls(new_signed, mpm, http):
    """By the name that TLS or HTTP/2 has for the site, and the scheme https."""
    with new_signed(Signer(AGENT), mpm=mpm, tls=True) as g:
        g.until_known()
        target, authority = f"/static/2k.txt?{fresh('tls')}", f"localhost:{g.tls_port}"
        covers = ("@method", "@authority", "@scheme", "@target-uri", "agent")
        right = g.bot.sign(authority, target=target, scheme="https", covers=covers, nonce=next(nonces))
        before = g.figures()
        for headers in (right, right, g.bot.sign(authority, target=target, scheme="http", covers=covers)):
            assert curl(g, target, http=http, headers=[f"{k}: {v}" for k, v in headers.items()])[0][0] == 200
        assert [line["class"] for line in g.logged(target.partition("?")[2], 3)] == ["bots", "others", "others"]
        assert moved(g, before) == {"verified": 1, "replayed": 1, "wrong": 1}


@pytest.mark.parametrize("line, cure", [
    ("QosSigned goodbot\n", "its agent"),
    ("QosSigned Good/bot bot.example\n", "lower-case letters"),
    ("QosSigned goodbot http://bot.example\n", "https URL"),
    ("QosSigned goodbot https://bot.example/keys?x=1\n", "without a query"),
    ("QosSigned goodbot bot.example color=red\n", "keys=FILE"),
    ("QosSigned goodbot bot.example private=here\n", "ADDRESS:PORT"),
    ("QosSigned goodbot bot.example\nQosSigned badbot https://BOT.example/\n", "already"),
    ("<VirtualHost *:1>\nQosSigned goodbot bot.example\n</VirtualHost>\n", "cannot occur within"),
])
def test_bad_lines_are_refused(new_signed, line, cure):
    said = new_signed(Signer(AGENT), directives=line).refused_to_start()
    assert re.search(cure, said), said


def test_the_parent_reads_no_keys(new_signed):
    """A file that httpd's user may not read counts for nothing, though the parent is root."""
    g = new_signed(Signer(AGENT))
    g.keys.chmod(0o600)
    with g:
        http1.until(lambda: any("Permission denied" in line for line in g.error_log()), 20, "a word about it")
        assert g.class_of(g.sign()) == "others"
