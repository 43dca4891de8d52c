# SPDX-License-Identifier: BSD-2-Clause
"""Which crawler is it really: by published addresses, by reverse names confirmed forward, and never by what it says of itself."""
import ipaddress
import json
import os
import pathlib
import random
import socket
import socketserver
import struct
import time

import pytest

import http1
from background import Background
from dns_question import AAAA, A, question
from gateway import Gateway
from lab import bots

CLASSES = """\
QosClass people weight=6 default
QosClass search weight=3
QosClass others weight=1
QosRule search crawler GoogleBot
QosRule others crawler *
"""
# Of each that etc/bots-example.conf knows, and what browsers send.
EXAMPLE = pathlib.Path(__file__).parents[3] / "etc" / "bots-example.conf"
GOOGLE, OTHER = "127.0.0.200", "127.0.0.201"


def agents():
    found = []
    for line in EXAMPLE.read_text().splitlines():
        words = line.split("#")[0].split()
        if words:
            own = [word[6:] for word in words if word.startswith("agent=")]
            found += [f"Mozilla/5.0 (compatible; {name}/2.1; +https://www.example.com/bot)" for name in own or words[:1]]
    assert len(found) > 15
    return found


class Lists:
    """A configuration of local lists and the table made of them; lists: {crawler: networks}, more: {crawler: words of its line}."""

    def __init__(self, folder):
        self.folder, self.table, self.config = folder, folder / "table", folder / "bots.conf"

    def write(self, lists, more=None, words=()):
        lines = []
        for name in dict.fromkeys([*lists, *(more or {})]):
            path = self.folder / f"{name}.txt"
            path.write_text("\n".join(lists.get(name, ())))
            lines.append(f"{name} {f'{path} private' if name in lists else ''} {(more or {}).get(name, '')}\n")
        self.config.write_text("".join(lines))
        return bots.fetch(self.config, self.table, *words)


@pytest.fixture
def lists(open_path):
    made = Lists(open_path)
    made.write({"googlebot": [GOOGLE], "gptbot": [OTHER, "2001:db8::/32"]})
    return made


@pytest.fixture
def crawler_gateway(new_gateway, lists):
    def make(**words):
        g = new_gateway(classes=CLASSES, window=8, **words)
        g.config = f"QosBots {lists.table}\n" + g.config
        g.lists = lists
        return g
    return make


def submitted(g):
    return {name: c["submitted"] for name, c in g.status()["by_class"].items() if not c["retired"]}


def moved(g, before):
    """Requests by class since then; those that were asked are answered, so that they are counted."""
    return {name: n - before.get(name, 0) for name, n in submitted(g).items() if n != before.get(name, 0)}


def ask(g, source, agent="curl/8.0", **headers):
    with g.connect(source=source) as c:
        r = c.ask("GET", "/static/2k.txt", headers={"User-Agent": agent, **{k.replace("_", "-"): v for k, v in headers.items()}})
        assert r.status == 200
    return r


def class_of(g, source, agent="curl/8.0", **headers):
    """The class in which a request of this client is."""
    before = submitted(g)
    ask(g, source, agent, **headers)
    found = moved(g, before)
    assert list(found.values()) == [1], found
    return next(iter(found))


@pytest.mark.parametrize("mpm", ["event", "worker", "prefork"])
def test_forged_crawlers(crawler_gateway, mpm):
    """50 addresses with every known crawler's user agent: none is in a crawler's class.  An address of a list is, whatever it says."""
    with crawler_gateway(mpm=mpm) as g:
        # 10,000 requests once, and in the other MPMs each claim of each address.
        rounds = 10 if mpm == "event" else 1
        claims = agents() * rounds
        before = submitted(g)
        for i in range(2, 52):
            with g.connect(source=f"127.0.0.{i}") as c:
                for agent in claims:
                    assert c.ask("GET", "/static/2k.txt", headers={"User-Agent": agent}).status == 200
        assert moved(g, before) == {"people": 50 * len(claims)}
        assert class_of(g, GOOGLE, "Mozilla/5.0 (compatible; Googlebot/2.1)") == "search"
        assert class_of(g, GOOGLE) == "search"
        assert class_of(g, GOOGLE, "GPTBot/1.0") == "search"
        assert class_of(g, OTHER) == "others"
        status = g.status()
        assert status["crawler_by_list"] == 4 and status["crawler_by_name"] == 0
        # Only of those that the table knows can one say that they claim to be one.
        assert status["crawler_claims"] == 50 * sum("googlebot" in a.lower() or "gptbot" in a.lower() for a in claims)
        assert status["bots_networks"] == 3 and status["bots_table_refused"] is False


def test_a_changed_list_is_live(crawler_gateway):
    """Within seconds and without a restart; requests go on."""
    with crawler_gateway() as g:
        generations = g.generations()
        assert class_of(g, "127.0.0.9") == "people"
        g.lists.write({"googlebot": [GOOGLE, "127.0.0.8/30"], "gptbot": [OTHER, "2001:db8::/32"]})
        begun = time.monotonic()
        http1.until(lambda: class_of(g, "127.0.0.9") == "search", 60, "the new address in force in every child")
        # Each child reads it for itself: none is left that has not.
        g.until(lambda s: s["bots_networks"] == 4, "the new table read")
        time_taken = time.monotonic() - begun
        assert time_taken < 60
        g.lists.write({"googlebot": ["127.0.0.100"], "gptbot": [OTHER, "2001:db8::/32"]})
        http1.until(lambda: all(class_of(g, GOOGLE) == "people" for _ in range(20)), 60, "the address that was taken out is nobody's in any child")
        assert g.generations() == generations


def refusals(g):
    return [line for line in g.error_log() if "the crawlers of before stay in force" in line]


def replace(path, content):
    new = path.with_suffix(".new")
    new.write_bytes(content)
    new.chmod(0o644)
    os.replace(new, path)


def test_a_damaged_table_is_refused(crawler_gateway):
    """With file, line and reason, said once; what was in force stays."""
    with crawler_gateway() as g:
        g.until(lambda s: s["bots_networks"] == 3, "the good table read")
        whole = g.lists.table.read_bytes()
        for damaged, reason in ((whole[:whole.rindex(b"end")], ":11: the file ends before"), (whole.replace(b"127.0.0.200", b"127.0.0.199"), "checksum"),
                                (b"", ":1: the file ends"), (b"\0" * 100, ":1: not a line"), (whole.replace(b"bots\t1", b"bots\t9"), ":1: a table of crawlers of another version")):
            before = len(refusals(g))
            replace(g.lists.table, damaged)
            g.until(lambda s, n=before: s["bots_table_refused"] and len(refusals(g)) > n, "refused")
            assert [reason in line and str(g.lists.table) in line for line in refusals(g)[before:]] == [True]
            assert class_of(g, GOOGLE) == "search" and class_of(g, "127.0.0.199") == "people"
        # Children that begin now, too, have what was in force.
        g.graceful()
        before = submitted(g)
        for _ in range(20):
            ask(g, GOOGLE)
        assert moved(g, before) == {"search": 20}
        os.unlink(g.lists.table)
        http1.until(lambda: any("No such file" in line for line in refusals(g)), what="a word about it")
        assert class_of(g, GOOGLE) == "search"
        said = len(refusals(g))
        replace(g.lists.table, whole)
        g.until(lambda s: not s["bots_table_refused"], "the good table in force")
        assert len(refusals(g)) == said


def test_no_table_yet(new_gateway, lists):
    """Nobody is a crawler; when the table comes it is read."""
    g = new_gateway(classes=CLASSES, window=8)
    g.config = f"QosBots {lists.table}.later\n" + g.config
    with g:
        assert class_of(g, GOOGLE, "Googlebot/2.1") == "people"
        http1.until(lambda: "nobody is known for a crawler" in "".join(g.error_log()), what="a word about it")
        os.rename(lists.table, f"{lists.table}.later")
        http1.until(lambda: class_of(g, GOOGLE) == "search", 60, "the table in force")


def test_rules_that_match_nobody_are_said(new_gateway, crawler_gateway):
    with new_gateway(classes=CLASSES) as g:
        assert "rules about crawlers match nobody: set QosBots" in "".join(g.error_log())
        assert class_of(g, GOOGLE, "Googlebot/2.1") == "people"
    with crawler_gateway() as g:
        assert "match nobody" not in "".join(g.error_log())


def test_in_force_when_a_child_begins(crawler_gateway):
    """A graceful restart loses no crawler its class, not even for a moment; one without the directive does."""
    with crawler_gateway() as g:
        for _ in range(3):
            g.graceful()
            before = submitted(g)
            for _ in range(20):
                ask(g, GOOGLE)
            assert moved(g, before) == {"search": 20}
        g.graceful(g.config.replace("QosBots", "#QosBots"))
        http1.until(lambda: all(class_of(g, GOOGLE) == "people" for _ in range(10)), what="children of before gone")


def test_client_address_by_mod_remoteip(crawler_gateway):
    """What a proxy of ours says counts, what anybody else says does not."""
    g = crawler_gateway(modules=("remoteip",))
    g.config = "RemoteIPHeader X-Forwarded-For\nRemoteIPInternalProxy 127.0.0.1\n" + g.config
    with g:
        assert class_of(g, "127.0.0.1", X_Forwarded_For=GOOGLE) == "search"
        assert class_of(g, "127.0.0.1", X_Forwarded_For="2001:db8::17") == "others"
        assert class_of(g, "127.0.0.1", X_Forwarded_For="8.8.8.8") == "people"
        assert class_of(g, "127.0.0.2", X_Forwarded_For=GOOGLE) == "people"
        # It came through Google's address, but who asked it is another.
        assert class_of(g, GOOGLE, X_Forwarded_For="8.8.8.8") == "search"
        assert class_of(g, "127.0.0.1", X_Forwarded_For=f"{GOOGLE}, 8.8.8.8") == "people"


def test_client_address_by_the_proxy_protocol(crawler_gateway):
    g = crawler_gateway(modules=("remoteip",))
    g.config = "RemoteIPProxyProtocol On\nRemoteIPProxyProtocolExceptions 127.0.0.1\n" + g.config
    with g:
        for client, expected in ((GOOGLE, "search"), ("127.0.0.7", "people")):
            before = submitted(g)
            with g.connect(source="127.0.0.3") as c:
                c.socket.sendall(f"PROXY TCP4 {client} 127.0.0.1 4711 {g.port}\r\n".encode())
                assert c.ask("GET", "/static/2k.txt", headers={"User-Agent": "Googlebot"}).status == 200
            assert moved(g, before) == {expected: 1}


def test_the_log_says_who_it_is(crawler_gateway):
    g = crawler_gateway()
    g.access_format += "crawler=%{qos-crawler}n "
    with g:
        for source, name in ((GOOGLE, "googlebot"), ("127.0.0.4", "-")):
            with g.connect(source=source) as c:
                c.ask("GET", f"/static/2k.txt?{name}", headers={"User-Agent": "Googlebot"})
            assert g.logged(name, 1)[0]["crawler"] == name


# ---- by name ----------------------------------------------------------------------------------------------------------------------------

PTR = 12


def labels(name):
    return b"".join(bytes([len(part)]) + part.encode() for part in name.split(".")) + b"\0"


class Answers(socketserver.BaseRequestHandler):
    def handle(self):
        data, sock = self.request
        name, kind, asked = question(data)
        self.server.asked.append((name, kind))
        if self.server.deaf:
            return
        found = self.server.names.get((name, kind), ())
        answer = b"".join(b"\xc0\x0c" + struct.pack(">HHIH", kind, 1, 60, len(d)) + d for d in found)
        status = 0x8180 | (0 if found else 3)
        sock.sendto(data[:2] + struct.pack(">HHHHH", status, 1, len(found), 0, 0) + asked + answer, self.client_address)


class NameServer(Background, socketserver.ThreadingUDPServer):
    """A context manager.  Answers for names of addresses and addresses of names; deaf: not at all."""

    def __init__(self, deaf=False):
        self.names, self.asked, self.deaf = {}, [], deaf
        for _ in range(100):
            self.address = f"127.{random.randrange(1, 255)}.{random.randrange(256)}.{random.randrange(2, 255)}"
            try:
                super().__init__((self.address, 53), Answers)
                return
            except OSError:
                continue
        raise OSError("no free address in 127/8 for a name server")

    def reverse(self, address, *names):
        self.names[ipaddress.ip_address(address).reverse_pointer, PTR] = [labels(name) for name in names]

    def forward(self, name, *addresses):
        for kind, family in ((A, socket.AF_INET), (AAAA, socket.AF_INET6)):
            self.names[name, kind] = [socket.inet_pton(family, a) for a in addresses if (":" in a) == (kind == AAAA)]


class NamedGateway(Gateway):
    """With a resolv.conf of its own, in a namespace of mounts."""

    resolver = None

    def argv(self):
        path = self.write("resolv.conf", f"nameserver {self.resolver}\n")
        return ["unshare", "--mount", "sh", "-c", 'mount --bind "$0" /etc/resolv.conf && exec "$@"', path, *super().argv()]

    def write(self, name, text):
        super().write(name, text)
        os.chmod(self.path(name), 0o644)
        return self.path(name)


@pytest.fixture
def named_gateway(parts, lists):
    made = []

    def make(server, **words):
        g = NamedGateway(parts, classes=CLASSES, window=8, modules=("remoteip",), **words)
        g.resolver, g.lists = server.address, lists
        g.config = f"QosBots {lists.table}\nRemoteIPHeader X-Forwarded-For\nRemoteIPInternalProxy 127.0.0.1\n" + g.config
        made.append(g)
        return g
    lists.write({"gptbot": [OTHER, "2001:db8::/32"]}, {"googlebot": "names=googlebot.com,google.com", "bingbot": "names=search.msn.com"})
    yield make
    for g in made:
        g.stop()
        g.assert_no_crash()


def looked_up(g, n):
    return g.until(lambda s: s["crawler_lookups"] >= n and s["crawler_lookups_waiting"] == 0, f"{n} look-ups made", 30)


def test_names_confirmed_forward(named_gateway):
    """The name must end in the crawler's at a dot, and lead back; until that is known a claimant is in the default class."""
    good, better = "66.249.66.1", "2001:4860:4801:10::7"
    liars = {"203.0.113.1": ("crawl.evilgooglebot.com", True), "203.0.113.2": ("googlebot.com.evil.net", True),
             "203.0.113.3": ("crawl-66-249-66-1.googlebot.com", False), "203.0.113.4": ("msnbot.search.msn.com", True)}
    with NameServer() as names:
        for address in (good, better):
            name = f"crawl-{address.replace(':', '-').replace('.', '-')}.googlebot.com"
            names.reverse(address, name)
            names.forward(name, address)
        for address, (name, forward) in liars.items():
            names.reverse(address, name)
            if forward:
                names.forward(name, address)
        with named_gateway(names) as g:
            def who(address, agent="Mozilla/5.0 (compatible; Googlebot/2.1)"):
                return class_of(g, "127.0.0.1", agent, X_Forwarded_For=address)
            assert who(good) == "people", "nobody has been asked yet"
            http1.until(lambda: who(good) == "search", 150, "the name confirmed")
            assert who(better) == "people"
            http1.until(lambda: who(better) == "search", 150, "the name of an IPv6 address confirmed")
            done = looked_up(g, 2)["crawler_lookups"]
            for address in liars:
                assert who(address) == "people"
            looked_up(g, done + len(liars))
            for address in liars:
                assert who(address) == "people", liars[address]
            # What nobody claims is not asked for; and it is by the name of the one whom it claims to be.
            asked = len(names.asked)
            assert who("198.51.100.1", "Mozilla/5.0 (Windows)") == "people" and who(good, "Mozilla/5.0 (Windows)") == "people"
            http1.until(lambda: who("203.0.113.4", "bingbot/2.0") == "others", 150, "the other crawler's name confirmed")
            assert {name for name, _ in names.asked[asked:]} == {"4.113.0.203.in-addr.arpa", "msnbot.search.msn.com"}
            # What is known is not asked for again, in whichever child.
            asked = len(names.asked)
            for _ in range(50):
                assert who(good) == "search"
            assert len(names.asked) == asked
            status = g.status()
            assert status["crawler_by_name"] > 50 and status["crawler_claims"] > len(liars)


@pytest.mark.parametrize("mpm", ["event", "prefork"])
def test_a_flood_of_claims(named_gateway, mpm):
    """10,000 addresses that claim to be Googlebot before a name server that does not answer: no request waits, look-ups are few, restarts and the end are quick."""
    with NameServer(deaf=True) as names:
        with named_gateway(names, mpm=mpm) as g:
            begun, slow = time.monotonic(), 0
            with g.connect() as c:
                for i in range(10000):
                    asked = time.monotonic()
                    r = c.ask("GET", "/static/index.html", headers={"User-Agent": "Googlebot", "X-Forwarded-For": f"11.{i >> 8}.{i & 255}.1"})
                    assert r.status == 200
                    slow += time.monotonic() - asked > 0.9
            seconds = time.monotonic() - begun
            status = g.status()
            assert slow < 10, "a name server's time-out is 1 s, and requests do not wait for it, whatever else this machine does"
            assert status["crawler_lookups_waiting"] <= 256 and status["crawler_lookups_dropped"] > 1000
            assert status["crawler_lookups"] <= 20 * (seconds + 2)
            assert status["by_class"]["people"]["submitted"] >= 10000 and status["crawler_by_name"] == 0
            # Threads of before that wait for an answer keep nothing up.
            old = set(g.workers())
            begun = time.monotonic()
            g.graceful()
            http1.until(lambda: not old & set(g.children()), 20, "the children of before gone")
            assert class_of(g, OTHER) == "others"
        assert time.monotonic() - begun < 60


# ---- fairgate-bots ----------------------------------------------------------------------------------------------------------------------

def test_the_policy_command_says_whose_an_address_is(lists, tmp_path):
    import subprocess

    from lab.lab import program
    policy = tmp_path / "policy.xml"
    policy.write_text('<classification><class id="1" name="people" quantum="6" default="yes"/>'
                      '<class id="2" name="search" quantum="3"><crawler>googlebot</crawler></class></classification>')

    def explain(*words):
        return subprocess.run([program("policy/fairgate-policy"), "explain", policy, *words], capture_output=True, text=True, check=False)
    assert 'class 2 "search" by line 1: crawler exact "googlebot"' in explain("--crawler", "Googlebot").stdout
    assert 'class 2 "search"' in explain("--bots", lists.table, "--src", GOOGLE).stdout
    assert 'class 1 "people" by default' in explain("--bots", lists.table, "--src", OTHER, "--header", "User-Agent: Googlebot").stdout
    assert 'class 1 "people" by default' in explain("--header", "User-Agent: Googlebot").stdout
    assert explain("--bots", lists.table).returncode == 2
    log = tmp_path / "log"
    log.write_text("".join(f'{source} - - [24/Nov/2026:10:00:0{i} +0000] "GET / HTTP/1.1" 200 1000 "-" "Googlebot/2.1"\n' for i, source in enumerate((GOOGLE, OTHER, "8.8.8.8"))))
    for words, expected in ((("--bots", lists.table), {"people": 2, "search": 1}), ((), {"people": 3, "search": 0})):
        r = subprocess.run([program("policy/fairgate-policy"), "replay", "--json", *words, policy, log], capture_output=True, text=True, check=True)
        assert {c["name"]: c["requests"] for c in json.loads(r.stdout)["classes"]} == expected
    assert explain("--bots", policy, "--src", GOOGLE).returncode == 1
