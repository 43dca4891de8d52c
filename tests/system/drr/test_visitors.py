# SPDX-License-Identifier: BSD-2-Clause
"""Known people: who is signed in is what the application says, who returns has a cookie of the gateway's, and nobody else is either."""

import hashlib
import hmac
import json
import os
import re
import secrets
import subprocess
import time
from urllib.parse import urlencode

import pytest

from gateway import Gateway, fresh
from lab.load import Load, errors

POLICY = """<?xml version="1.0"?>
<classification>
  <class id="1" name="members" quantum="6"><visitor class="member"/></class>
  <class id="2" name="returning" quantum="3"><visitor age="10m"/></class>
  <class id="3" name="rest" quantum="1" default="yes"/>
</classification>
"""
WORD_ONLY = POLICY.replace('<visitor age="10m"/>', '<visitor class="guest"/>')
WEEK = 7 * 86400
HTML = {"Content-Type": "text/html"}


class Keys:
    """A file of keys, and what such a key can write."""

    def __init__(self, path):
        self.path, self.keys = path, []
        self.turn()

    def turn(self, keep=1):
        """A new first key; of those before so many stay."""
        self.keys = [secrets.token_hex(32), *self.keys[:keep]]
        with open(self.path, "w", opener=lambda path, flags: os.open(path, flags, 0o600)) as f:
            f.write("".join(f"{key}\n" for key in self.keys))

    def cookie(self, word="member", first=-1000, issued=-100, life=WEEK, host="localhost", key=None, version="2", network="7f000000"):
        now = int(time.time())
        text = f"{version}.{word}.{now + first}.{now + issued}.{now + issued + life}.{secrets.token_hex(16)}."
        sealed = hmac.new(bytes.fromhex(key or self.keys[0]), f"fairgate visitor 2\n{host}\n{'' if word else network + chr(10)}{text}".encode(), hashlib.sha256)
        return text + sealed.hexdigest()[:32]


@pytest.fixture(scope="module")
def keys(parts):
    return Keys(os.path.join(parts.lab.dir, fresh("visitors") + ".keys"))


@pytest.fixture
def new_gateway(new_gateway):
    """Of the name that the tests ask for: only so an application's word is believed."""
    return lambda more="", **kwargs: new_gateway(more="ServerName localhost\n" + more, **kwargs)


@pytest.fixture(scope="module")
def visited(parts, keys):
    with Gateway(parts, mpm="event", policy=POLICY, window=4, more=f"""
            ServerName localhost
            QosVisitors {keys.path}
            Header set X-Visitor "%{{qos-visitor}}e"
            <Location /static>
                Header set Fairgate-Class "%{{said}}e" env=said
                SetEnvIf X-Said (.+) said=$1
            </Location>
            <Location /errors>
                Header always set Fairgate-Class member
            </Location>
            """) as g:
        yield g
    g.assert_no_crash()


def answered(g, target, cookie=None, headers=None, method="GET", **kwargs):
    """The answer to a request for `target`; `cookie` is the value of the gateway's."""
    fields = {**({"Cookie": f"fairgate={cookie}"} if cookie is not None else {}), **(headers or {})}
    with g.connect() as c:
        answer = c.ask(method, target, headers=fields, **kwargs)
    assert "fairgate-class" not in answer.headers, answer.headers
    return answer


def ask(g, target, *args, **kwargs):
    """(class, answer), likewise."""
    mark = fresh("n")
    target += ("&" if "?" in target else "?") + mark
    answer = answered(g, target, *args, **kwargs)
    return g.logged(target.split("?", 1)[1], 1)[0]["class"], answer


def says(word=None, /, **fields):
    """The backend's page that says so, with other fields, too (Cache_Control for Cache-Control)."""
    said = {**({"Fairgate-Class": word} if word else {}), **{name.replace("_", "-"): value for name, value in fields.items()}}
    return "/b/says?" + urlencode(said)


def page(**fields):
    return says(Content_Type="text/html", **fields)


def given(answer):
    """(value, attributes) of the cookie that an answer sets, or None."""
    if "set-cookie" not in answer.headers:
        return None
    cookie, *attributes = answer.headers["set-cookie"].split("; ")
    name, value = cookie.split("=", 1)
    assert name == "fairgate"
    return value, attributes


def value_of(answer):
    found = given(answer)
    assert found, answer.headers
    return found[0]


def counts(g):
    return {name: n for name, n in g.status().items() if name.startswith("visitors_")}


def moved(g, before):
    return {name.removeprefix("visitors_"): n - before[name] for name, n in counts(g).items() if n != before[name]}


# ---- signed in -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mpm", ("event", "worker", "prefork"))
def test_who_is_signed_in_is_known_at_the_next_request(new_gateway, keys, mpm):
    with new_gateway(mpm=mpm, policy=POLICY, more=f"QosVisitors {keys.path}\n") as g:
        before = counts(g)
        cls, answer = ask(g, says("member"))
        assert cls == "rest"
        value, attributes = given(answer)
        assert attributes == [f"Max-Age={WEEK}", "Path=/", "HttpOnly", "SameSite=Lax"]
        assert answer.headers["cache-control"] == "private"
        assert re.fullmatch(r"2\.member\.\d+\.\d+\.\d+\.[0-9a-f]{32}\.[0-9a-f]{32}", value)
        for _ in range(2):
            cls, answer = ask(g, says("member"), value)
            assert (cls, given(answer)) == ("members", None)
        assert ask(g, says(), value)[0] == "members"
        assert moved(g, before) == {"given": 1, "verified": 3}


@pytest.mark.parametrize("way, kwargs", [
    ("/cgi/page?class=member", {}), ("/cgi/page?class=member&location=/static/2k.txt", {}), ("/php/page.php?size=10&class=member", {}),
    ("/cgi/page?class=member&location=/off/2k.txt", {}), ("/static/", {"headers": {"X-Said": "member"}}),
    ("/static/2k.txt", {"headers": {"X-Said": "member"}}), ("/nothing/there", {}), (says("member", status="403"), {}),
    (says("member", status="302", Location="/"), {}), (says("member"), {"method": "HEAD"}), (says("member"), {"method": "POST", "body": b"name=x"}),
])
def test_whoever_makes_the_answer_may_say_it(visited, way, kwargs):
    """A CGI program, PHP, mod_headers, an error's page; after a redirect inside the server, too."""
    value = value_of(answered(visited, way, **kwargs))
    assert ask(visited, says(), value)[0] == "members"


def test_another_class_is_another_visitor(visited):
    """His cookie of before may be known to others; for how long he is known stays."""
    first = value_of(ask(visited, says("guest"))[1]).split(".")
    second = value_of(ask(visited, says("member"), ".".join(first))[1]).split(".")
    assert second[1] == "member" and second[2] == first[2] and second[5] != first[5]


def test_sign_out_ends_it(visited, keys):
    member = value_of(ask(visited, says("member"))[1])
    cls, answer = ask(visited, says("-"), member)
    assert cls == "members"
    assert given(answer) == ("", ["Max-Age=0", "Path=/", "HttpOnly", "SameSite=Lax"])
    # Of somebody who is not signed in most applications will say that with every page: that costs him nothing.
    assert given(ask(visited, says("-"))[1]) is None
    anybody = value_of(ask(visited, page())[1])
    assert given(ask(visited, says("-"), anybody)[1]) is None
    for ended in ("junk", keys.cookie(key=secrets.token_hex(32)), keys.cookie(issued=-WEEK - 1, first=-WEEK - 1)):
        assert given(ask(visited, says("-"), ended)[1]) == ("", ["Max-Age=0", "Path=/", "HttpOnly", "SameSite=Lax"])


@pytest.mark.parametrize("words", (dict(network="7f000100"), dict(first=-WEEK - 1, issued=-WEEK - 1), dict(key="77" * 32)))
def test_who_is_nobody_where_the_application_says_so_ripens_all_the_same(visited, keys, words):
    """Out of another network, or after a long time, with a cookie without a class, to applications that say "-" with each page: he begins anew with the first one."""
    value = value_of(ask(visited, page(**{"Fairgate-Class": "-"}), keys.cookie("", **words))[1])
    assert value.startswith("2..") and given(ask(visited, page(**{"Fairgate-Class": "-"}), value)[1]) is None
    assert given(ask(visited, says("-"), keys.cookie("", **words))[1]) is None


@pytest.mark.parametrize("word, right", [("Member", False), ("member, member", False), ("member;x", False), ("a" * 31, True), ("a" * 32, False), ("--", True),
                                         ("m\xe4mber", False), ("<b>", False)])
def test_what_is_no_word_is_nobody(visited, word, right):
    _, answer = ask(visited, says(word))
    assert answer.status == 200 and bool(given(answer)) == right


def test_two_words_are_none(visited):
    _, answer = ask(visited, "/b/says?Fairgate-Class=member&fairgate-class=guest")
    assert given(answer) is None
    assert any(re.search("says Fairgate-Class: member, ?guest, which is no word", line) for line in visited.error_log())


@pytest.mark.parametrize("more", ("", "<Location /b>\nQosEngine Off\n</Location>\n"))
def test_the_word_stays_inside_without_visitors_too(new_gateway, more):
    """Where the engine is off nothing is touched."""
    with new_gateway(policy=POLICY, more=more) as g:
        assert any("without QosVisitors nobody is known" in line for line in g.error_log())
        with g.connect() as c:
            answer = c.ask("GET", says("member"), headers={"Fairgate-Class": "member", "Cookie": "a=b"})
        assert given(answer) is None
        assert answer.headers.get("fairgate-class") == ("member" if more else None)
        assert json.loads(answer.body).get("fairgate-class") == ("member" if more else None)


@pytest.mark.parametrize("fields", ["Fairgate-Class: member", "Fairgate-Class: member\r\nLink: </x>", "Link: </x>\r\nfairgate-class:member",
                                    "FAIRGATE-CLASS: a\r\nLink: </x>\r\nFairgate-Class: b", "Link: </x>"])
def test_an_interim_answer_does_not_say_it_either(visited, fields):
    """Those go past all filters of an answer; they are heard of nobody."""
    with visited.connect() as c:
        c.send("GET", f"/b/says?{urlencode({'interim': fields})}")
        head = c.head()
        assert head.status == 103 and head.headers == ({"link": "</x>"} if "Link" in fields else {})
        answer = c.receive()
    assert answer.status == 200 and given(answer) is None and "host" in json.loads(answer.body)


def test_a_long_interim_answer_does_not_say_it_either(visited):
    """Of ten kilobytes: httpd writes its head in pieces."""
    with visited.connect() as c:
        c.send("GET", f"/b/says?{urlencode({'interim': 'X-Last: 1' + chr(13) + chr(10) + 'Fairgate-Class: member' + chr(13) + chr(10) + 'X-End: 2', 'links': 10})}")
        head = c.head()
        assert head.status == 103 and head.headers["x-last"] == "1" and head.headers["x-end"] == "2" and len(head.headers["link"]) > 10000
        assert "fairgate-class" not in head.headers
        answer = c.receive()
    assert answer.status == 200 and given(answer) is None and "host" in json.loads(answer.body)


def test_the_client_says_nothing_and_what_stands_behind_gets_no_cookie_of_ours(visited, keys):
    """Caches there take whoever has a cookie for somebody of his own."""
    for sent, left in ((f"fairgate={keys.cookie()}", None), (f"a=b; fairgate={keys.cookie()}; c=d", "a=b; c=d"), ("fairgate=x; fairgate=y; fairgate=z", None),
                       ("a=b;c=d", "a=b;c=d"), ("xfairgate=1", "xfairgate=1")):
        _, answer = ask(visited, says(), headers={"Cookie": sent, "Fairgate-Class": "member"})
        got = json.loads(answer.body)
        assert got.get("cookie") == left and "fairgate-class" not in got


def test_where_the_engine_is_off_the_cookie_stays_here_too(new_gateway, keys):
    """And who is sent on from there to where it is on is known."""
    with new_gateway(policy=POLICY, more=f"""QosVisitors {keys.path}
            <Location /b/says>
                QosEngine Off
            </Location>
            <Location /static/off>
                QosEngine Off
                ErrorDocument 404 /b/size/10?sent-on
            </Location>
            """) as g:
        for sent, left in ((f"fairgate={keys.cookie()}", None), (f"a=b; fairgate={keys.cookie()}; c=d", "a=b; c=d"), ("a=b;c=d", "a=b;c=d"), ("xfairgate=1", "xfairgate=1")):
            with g.connect() as c:
                assert json.loads(c.ask("GET", "/b/says", headers={"Cookie": sent}).body).get("cookie") == left
        with g.connect() as c:
            assert len(c.ask("GET", "/static/off", headers={"Cookie": f"a=b; fairgate={keys.cookie()}"}).body) == 10
        assert g.logged("sent-on", 1)[0]["class"] == "members"


def test_who_is_observed_is_known_and_nothing_changes(new_gateway, keys):
    """By a cookie that he has of where the engine is on."""
    with new_gateway(engine="observe", policy=POLICY, more=f"QosVisitors {keys.path}\n") as g:
        mark, cookie = fresh("observed"), f"a=b; fairgate={keys.cookie()}"
        with g.connect() as c:
            answer = c.ask("GET", f"{page()}&Fairgate-Class=guest&{mark}", headers={"Cookie": cookie, "Fairgate-Class": "x"})
        assert answer.headers["fairgate-class"] == "guest" and given(answer) is None and "cache-control" not in answer.headers
        got = json.loads(answer.body)
        assert got["cookie"] == cookie and got["fairgate-class"] == "x"
        assert g.logged(f"Content-Type=text%2Fhtml&Fairgate-Class=guest&{mark}", 1)[0]["class"] == "members"


def test_a_part_of_a_page_says_nothing(visited, parts):
    """What is included by a subrequest has no header of its own."""
    (parts.root / "static/says.shtml").write_text('<!--#include virtual="/b/says?Fairgate-Class=member" -->\n')
    cls, answer = ask(visited, "/static/says.shtml", keys_of(visited).cookie(""))
    assert cls == "returning" and b'"host"' in answer.body
    assert given(answer) is None


# ---- nobody else ---------------------------------------------------------------------------------------------------


def keys_of(g):
    """What its configuration names."""
    keys = Keys.__new__(Keys)
    keys.path = re.search(r"QosVisitors (\S+)", g.config)[1]
    with open(keys.path) as f:
        keys.keys = f.read().split()
    return keys


def test_a_cookie_with_any_bit_changed_is_nobodys(visited, keys):
    """Each byte, each bit that a cookie may have there."""
    value, mark, n = keys.cookie(), fresh("bits"), 0
    before = counts(visited)
    with visited.connect() as c:
        for i, letter in enumerate(value):
            for bit in range(8):
                other = chr(ord(letter) ^ 1 << bit)
                if ord(other) < 0x21 or ord(other) == 0x7f or other in ';,':
                    continue
                c.send(f"GET {says()}{mark} HTTP/1.1\r\nHost: localhost\r\nCookie: fairgate={value[:i]}{other}{value[i + 1:]}\r\n\r\n".encode("latin-1"))
                assert c.receive().status == 200
                n += 1
        c.ask("GET", f"{says()}{mark}", headers={"Cookie": f"fairgate={value}"})
    lines = visited.logged(mark, n + 1)
    assert n > 700 and [line["class"] for line in lines] == ["rest"] * n + ["members"]
    assert moved(visited, before) == {"forged": n, "verified": 1}


def test_forged_cookies_of_other_kinds(visited, keys):
    other = secrets.token_hex(32)
    forged = [keys.cookie(key=other), keys.cookie(host="www.example.org"), keys.cookie(version="1"), keys.cookie("", version="1"), keys.cookie("Member"), keys.cookie("-"), "member", "",
              "2.member", "2..", keys.cookie()[:-1], keys.cookie() + "0", f'"{keys.cookie()}"', "x" * 4000, keys.cookie().upper()]
    before = counts(visited)
    for value in forged:
        assert ask(visited, says(), value)[0] == "rest", value
    assert moved(visited, before) == {"forged": len(forged)}
    # The cookies of that name after the second are not looked at.
    assert ask(visited, says(), f"x; fairgate=y; fairgate={keys.cookie()}")[0] == "rest"
    assert ask(visited, says(), f"x; fairgate={keys.cookie()}")[0] == "members"


def test_a_cookie_ends_and_none_is_of_a_time_to_come(visited, keys):
    """Clocks of gateways may differ by an hour."""
    before = counts(visited)
    for issued, life in ((-1000, 999), (-WEEK - 1, 2 * WEEK), (3700, WEEK), (365 * 86400, WEEK)):
        assert ask(visited, says(), keys.cookie(first=min(-1000, issued), issued=issued, life=life))[0] == "rest"
    assert ask(visited, says(), keys.cookie(issued=3500))[0] == "members"
    assert moved(visited, before) == {"expired": 4, "verified": 1}


SHOP = """
    <VirtualHost *>
        ServerName localhost
        ServerAlias shop.example.org *.shops.example.org
        ProxyPass /b/ http://127.0.0.1:{backend}/
    </VirtualHost>
    <VirtualHost *>
        ServerName strangers.example.org
    </VirtualHost>
    """


def test_another_host_knows_nobody(new_gateway, keys, parts):
    """Virtual hosts may be of strangers to each other: what one application says holds for its own."""
    with new_gateway(policy=POLICY, more=f"QosVisitors {keys.path}\n" + SHOP.format(backend=parts.backend.port)) as g:
        value = value_of(ask(g, says("member"), host="shop.example.org")[1])
        assert ask(g, says(), value, host="Shop.Example.org:80")[0] == "members"
        assert ask(g, says(), value)[0] == "rest"
        value = value_of(ask(g, says("member"), host="a.shops.example.org")[1])
        assert ask(g, says(), value, host="a.shops.example.org")[0] == "members"


def test_a_word_holds_for_no_name_that_is_not_its_hosts(new_gateway, keys, parts):
    """The first virtual host answers to any name that a client writes: who is a member here gets no cookie for another's site by it.  What has no word is anybody's."""
    with new_gateway(policy=POLICY, more=f"QosVisitors {keys.path}\n" + SHOP.format(backend=parts.backend.port)) as g:
        for host in ("unknown.example.org", "127.0.0.1", "xshop.example.org"):
            assert given(ask(g, says("member"), host=host)[1]) is None
            assert value_of(ask(g, page(), host=host)[1]).startswith("2..")
        assert [line for line in g.error_log() if "no ServerName or ServerAlias here is the host that was asked for: not believed" in line]
        assert given(ask(g, says("member"), host="localhost")[1])


# ---- keys ----------------------------------------------------------------------------------------------------------


def test_keys_turn_without_anybody_signed_out(new_gateway, parts):
    keys = Keys(os.path.join(parts.lab.dir, fresh("turning") + ".keys"))
    with new_gateway(policy=POLICY, more=f"QosVisitors {keys.path}\n") as g:
        old = value_of(ask(g, says("member"))[1])
        keys.turn()
        g.graceful()
        assert ask(g, says(), old)[0] == "members"
        new = value_of(ask(g, says("member"))[1])
        keys.turn(keep=0)
        g.graceful()
        assert ask(g, says(), old)[0] == ask(g, says(), new)[0] == "rest"


def test_a_broken_file_leaves_the_keys_of_before(new_gateway, parts):
    """At a graceful restart; httpd would end else."""
    keys = Keys(os.path.join(parts.lab.dir, fresh("broken") + ".keys"))
    with new_gateway(policy=POLICY, more=f"QosVisitors {keys.path}\n") as g:
        for text in ("", "secret\n"):
            with open(keys.path, "w") as f:
                f.write(text)
            g.graceful()
            assert ask(g, says(), keys.cookie())[0] == "members"
        assert [line for line in g.error_log() if "QosVisitors: the keys of before stay in force" in line]
        assert [line for line in g.error_log() if f"QosVisitors: {keys.path}: line 1: has 6 characters" in line]
        old = keys.cookie()
        keys.turn(keep=0)
        g.graceful()
        assert ask(g, says(), old)[0] == "rest" and ask(g, says(), keys.cookie())[0] == "members"


def test_gateways_with_one_file_know_each_others(new_gateway, keys):
    with new_gateway(policy=POLICY, more=f"QosVisitors {keys.path}\n") as a, new_gateway(policy=POLICY, more=f"QosVisitors {keys.path}\n") as b:
        value = value_of(ask(a, says("member"))[1])
        assert ask(b, says(), value)[0] == "members"


@pytest.mark.parametrize("text, mode, said", [
    ("{key}\n", 0o644, "holds a secret that others may read or change; chmod 600 it"), ("{key}\n", 0o620, "holds a secret that others may read or change"),
    ("", 0o600, "holds no key; write one with `openssl rand -hex 32`"), ("secret\n", 0o600, "line 1: has 6 characters"),
    ("{key}\n{key}\n{key}\n{key}\n{key}\n", 0o600, "line 5: is one more than 4 keys"), ("#" * 17000, 0o600, "is larger than 16384 bytes"),
    (None, 0o600, "No such file"), ("fifo", 0o600, "is no regular file"),
])
def test_a_file_of_keys_that_is_not_one_is_refused(new_gateway, open_path, text, mode, said):
    path = open_path / "keys"
    if text == "fifo":
        os.mkfifo(path, mode)
    elif text is not None:
        path.write_text(text.replace("{key}", secrets.token_hex(32)))
        path.chmod(mode)
    right, why = new_gateway(policy=POLICY, more=f"QosVisitors {path}\n").check()
    assert not right and f"QosVisitors: {path}: {said}" in why


@pytest.mark.parametrize("words, said", [
    ("age=59", "QosVisitors age 59: must be a number of seconds from 60 to 34560000"), ("cookie=a;b", "a cookie's name has 1 to 63 letters"),
    ("cookie=__Host-x", "such a name needs `secure`"), ("frob", "frob is not one of cookie=NAME, age=SECONDS, secure"),
    ("secure cookie=__Host-x age=30d", None),
])
def test_words_of_the_directive(new_gateway, keys, words, said):
    right, why = new_gateway(policy=POLICY, more=f"QosVisitors {keys.path} {words}\n").check()
    assert right == (said is None) and (said or "Syntax OK") in why


# ---- who returns ---------------------------------------------------------------------------------------------------


def test_who_keeps_a_cookie_for_ten_minutes_is_returning(visited, keys):
    cls, answer = ask(visited, page())
    assert cls == "rest" and answer.headers["cache-control"] == "private"
    value = value_of(answer)
    assert value.startswith("2..")
    assert ask(visited, page(), value)[0] == "rest"
    assert ask(visited, page(), keys.cookie("", first=-590))[0] == "rest"
    assert ask(visited, page(), keys.cookie("", first=-610))[0] == "returning"
    assert ask(visited, page(), keys.cookie("guest", first=-610))[0] == "returning"


@pytest.mark.parametrize("target, gives", [
    (page(), True), (page(Cache_Control="no-cache"), True), (page(Cache_Control="max-age=0"), True), (page(Cache_Control="private, max-age=60"), True),
    (page(Expires="Thu, 19 Nov 1981 08:52:00 GMT"), True), (page(Last_Modified="Thu, 19 Nov 1981 08:52:00 GMT"), True),
    (says(Content_Type="text/html; charset=utf-8"), True),
    (page(Cache_Control="public"), False), (page(Cache_Control="s-maxage=60"), False), (page(Cache_Control="max-age=60"), False),
    (page(Cache_Control="public, no-cache"), False), (page(Expires="Thu, 19 Nov 2076 08:52:00 GMT"), False), (page(Surrogate_Control="max-age=60"), False),
    (page(status="404"), False), (page(status="302", Location="/"), False), (says(Content_Type="image/png"), False), (says(), False),
    (says(Content_Type="text/html5"), False),
])
def test_only_pages_that_nobody_keeps_for_others_have_a_cookie(visited, target, gives):
    _, answer = ask(visited, target)
    assert bool(given(answer)) == gives
    if gives:
        assert "private" in answer.headers["cache-control"]


def test_other_methods_and_policies_without_age_give_none(visited, new_gateway, keys):
    assert given(ask(visited, page(), method="HEAD")[1]) is None
    assert given(ask(visited, page(), method="POST", body=b"x")[1]) is None
    with new_gateway(policy=WORD_ONLY, more=f"QosVisitors {keys.path}\n") as g:
        assert given(ask(g, page())[1]) is None


SOON = POLICY.replace('age="10m"', 'age="1s"')


def refused(g, *args, **kwargs):
    """The answer to one more request than there is room for."""
    with g.window_taken() as taken, g.connect() as first:
        first.send("GET", "/b/size/10")
        g.until_queued(1)
        answer = answered(g, *args, **kwargs)
        taken.release()
        assert first.receive().status == 200
    assert answer.status == 503 and answer.headers["retry-after"] == answer.headers.get("refresh", answer.headers["retry-after"])
    return answer


@pytest.mark.parametrize("more", ("", "ErrorDocument 503 /static/2k.txt\n"))
def test_who_comes_back_after_a_refusal_is_somebody(new_gateway, keys, more):
    """The refusal gives the cookie, and says when to show it; a browser does so by itself."""
    with new_gateway(policy=SOON, queue=1, more=f"QosVisitors {keys.path}\n{more}") as g:
        answer = refused(g, "/b/size/20")
        value = value_of(answer)
        assert value.startswith("2..") and answer.headers["cache-control"] == "private"
        assert answer.headers["retry-after"] == answer.headers["refresh"] == "1"
        began = time.monotonic()
        while ask(g, says(), value)[0] != "returning":
            assert time.monotonic() - began < 10
        # Who is known already, or signed in, keeps what he has, and is told as everybody.
        for known in (value, keys.cookie()):
            answer = refused(g, "/b/size/20", known)
            assert given(answer) is None and int(answer.headers["refresh"]) >= 5


def test_who_will_be_somebody_soon_is_told_when(new_gateway, keys):
    """By the cookie that he has: what is left of the least age, and up to half of that more."""
    with new_gateway(policy=POLICY.replace('age="10m"', 'age="40s"'), queue=1, more=f"QosVisitors {keys.path}\nQosRetryAfter 100\n") as g:
        for age, least, most in ((0, 30, 60), (30, 4, 15), (39, 1, 1), (41, 100, 100)):
            answer = refused(g, "/b/size/20", keys.cookie("", first=-age, issued=-age))
            assert given(answer) is None and least <= int(answer.headers["refresh"]) <= most, (age, answer.headers)


AGENTS = POLICY.replace('age="10m"', 'age="1s"').replace('name="rest" quantum="1" default="yes"/>', 'name="robots" quantum="1"><user_agent>GPTBot</user_agent></class>\n'
                                                         '  <class id="4" name="rest" quantum="1" default="yes"/>')


@pytest.mark.parametrize("mpm", ("event", "prefork"))
def test_who_comes_back_without_a_cookie_is_told_to_come_later(new_gateway, keys, mpm):
    """So is he who shows one that does not count, and whoever has a class of his own: neither a crawler nor a browser without cookies asks each second for ever."""
    with new_gateway(mpm=mpm, policy=AGENTS, queue=1, more=f"QosVisitors {keys.path}\nSetEnvIf X-Chosen . qos-class=rest\n") as g:
        def told(agent, cookie=None, **headers):
            return int(refused(g, "/b/size/20", cookie, headers={"User-Agent": agent, **headers}).headers["retry-after"])
        assert all(told(f"a/{i}", cookie) >= 5 for i, cookie in enumerate(("junk", keys.cookie("", network="7f000100"), keys.cookie(key="77" * 32), keys.cookie("", first=-2 * WEEK, issued=-2 * WEEK))))
        assert told("GPTBot/1.2") >= 5 and told("b") == 1 and told("c", **{"X-Chosen": "1"}) >= 5
        assert told("Mozilla/5.0") == 1
        began = time.monotonic()
        while told("Mozilla/5.0") == 1:
            assert time.monotonic() - began < 20
        assert [told("Mozilla/5.0") >= 5 for _ in range(3)] == [True] * 3
        assert told("Mozilla/6.0") == 1, "another browser at the same address is somebody else"


@pytest.mark.parametrize("fields", ("Surrogate-Control: max-age=60", "CDN-Cache-Control: max-age=60", "Cache-Control: public, max-age=60", "Cache-Control: max-age=60"))
def test_a_refusal_is_for_one_whatever_its_page_says(new_gateway, keys, fields):
    """It has a cookie, and when to come back: a cache must not give that to all."""
    name, value = fields.split(": ")
    more = f'QosVisitors {keys.path}\nErrorDocument 503 /static/2k.txt\n<Location /static>\nHeader always set {name} "{value}"\n</Location>\n'
    with new_gateway(policy=SOON, queue=1, more=more) as g:
        for cookie in (None, keys.cookie()):
            answer = refused(g, "/b/size/20", cookie)
            assert bool(given(answer)) == (not cookie) and answer.headers["cache-control"] == "private"
            assert not {"surrogate-control", "cdn-cache-control"} & set(answer.headers), answer.headers
        assert ask(g, "/static/2k.txt")[1].headers[name.lower()] == value


def test_a_refusal_says_nothing_that_nobody_asks_for(new_gateway, keys):
    """What is no GET is not loaded again; where no age is asked for, or nobody is known, refusals are as ever."""
    with new_gateway(policy=SOON, queue=1, more=f"QosVisitors {keys.path}\n") as g:
        answer = refused(g, "/b/size/20", method="POST", body=b"x")
        assert "refresh" not in answer.headers and answer.headers["retry-after"] == "1" and given(answer)
    for policy, more in ((WORD_ONLY, f"QosVisitors {keys.path}\n"), (SOON, "")):
        with new_gateway(policy=policy, queue=1, more=more) as g:
            answer = refused(g, "/b/size/20")
            assert given(answer) is None and "refresh" not in answer.headers and int(answer.headers["retry-after"]) >= 5


def test_who_returns_does_so_from_his_network(visited, keys):
    """A cookie that came back once does not do for a hundred thousand addresses that never do; one of a member holds wherever he goes."""
    before = counts(visited)
    for source, network, word, cls in (("127.0.0.77", "7f000000", "", "returning"), ("127.0.1.1", "7f000000", "", "rest"), ("127.0.1.1", "7f000100", "", "returning"),
                                       ("127.0.1.1", "7f000000", "member", "members")):
        mark = fresh("from")
        with visited.connect(source=source) as c:
            assert c.ask("GET", f"/b/says?{mark}", headers={"Cookie": f"fairgate={keys.cookie(word, network=network)}"}).status == 200
        assert visited.logged(mark, 1)[0]["class"] == cls, (source, network, word)
    assert moved(visited, before) == {"verified": 3, "elsewhere": 1}, "who moves forges nothing"


@pytest.mark.parametrize("word, target", (("", page()), ("member", says("member"))))
def test_a_cookie_is_renewed_at_half_of_its_life(visited, keys, word, target):
    assert given(ask(visited, target, keys.cookie(word, first=-WEEK, issued=-WEEK // 2 + 60))[1]) is None
    old = keys.cookie(word, first=-WEEK, issued=-WEEK // 2 - 60)
    new = value_of(ask(visited, target, old)[1])
    assert (new.split(".")[1:3], new.split(".")[5]) == (old.split(".")[1:3], old.split(".")[5])
    assert abs(int(new.split(".")[4]) - time.time() - WEEK) < 60


def test_nobody_stays_signed_in_without_the_applications_word(visited, keys):
    """So a stolen cookie ends, however often it is shown."""
    assert given(ask(visited, page(), keys.cookie("member", first=-WEEK, issued=-WEEK + 60))[1]) is None


def test_a_visitor_has_an_id_for_other_rules(visited, keys):
    """As an environment variable, for within=."""
    value = keys.cookie()
    assert ask(visited, says(), value)[1].headers["x-visitor"] == value.split(".")[5]
    assert ask(visited, says(), keys.cookie(key=secrets.token_hex(32)))[1].headers["x-visitor"] == "(null)"


MEMBERS = """
QosClass members weight=6 within=WITHIN
QosClass rest weight=1 default
QosRule members visitor class=member
"""


@pytest.mark.alone
@pytest.mark.measures
@pytest.mark.parametrize("within", ("visitor", "%{reqenv:qos-visitor}"))
def test_a_stolen_cookie_has_one_visitors_part(new_gateway, keys, within):
    """200 connections show one, from ten addresses, beside nine members with four each: they have a tenth.  2,400 answers come, 240 of each."""
    stolen, *others = (f"Cookie: fairgate={keys.cookie(host='127.0.0.1')}" for _ in range(10))
    loads = [dict(name=f"thief-{i}", clients=20, url="/o/size/4096", header=stolen, source=f"127.0.{30 + i}.1") for i in range(10)]
    loads += [dict(name=f"other-{i}", clients=4, url="/o/size/4096", header=header) for i, header in enumerate(others)]
    with new_gateway(window=8, classes=MEMBERS.replace("WITHIN", within), more=f"QosVisitors {keys.path}\n") as g:
        with Load(g.address, loads, seconds=6, warmup=2) as run:
            result = run.result()
        assert errors(result) == 0, result
        assert not g.status()["by_class"]["rest"]["submitted"]
        bytes_of = {name: c["bytes"] for name, c in result["classes"].items()}
        thief = sum(n for name, n in bytes_of.items() if name.startswith("thief"))
        assert 0.85 <= 10 * thief / sum(bytes_of.values()) <= 1.15, bytes_of


# ---- caches and protocols ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("store_private, quick", ((False, True), (True, True), (True, False)))
def test_mod_cache_makes_nobody_somebody_else(new_gateway, keys, parts, store_private, quick):
    """What the application said of one, and his cookie, are not given to the next; told to keep private answers, it has the page alone."""
    more = f"""QosVisitors {keys.path}
        CacheRoot {parts.lab.dir}/{fresh("cache")}
        CacheEnable disk /b/
        CacheQuickHandler {"On" if quick else "Off"}
        CacheStorePrivate {"On" if store_private else "Off"}
        """
    with new_gateway(policy=POLICY, more=more, modules=("cache", "cache_disk")) as g:
        os.makedirs(re.search(r"CacheRoot (\S+)", g.config)[1])
        os.chmod(re.search(r"CacheRoot (\S+)", g.config)[1], 0o777)
        for target in (says("member", Cache_Control="max-age=60", Content_Type="text/html"), page(Cache_Control="max-age=60")):
            target += "&" + fresh("cached")
            answers, seen = [], parts.backend.seen
            with g.connect() as c:
                for _ in range(3):
                    answers.append(c.ask("GET", target))
                    assert "fairgate-class" not in answers[-1].headers
            asked = parts.backend.seen - seen
            assert asked == (3 if "member" in target and not store_private else 1)
            # Whoever is answered by the application is signed in, each with a cookie of his own; who has it of the cache is not.
            values = [value_of(a) for a in answers if given(a)]
            assert len(set(values)) == len(values) == (asked if "member" in target else 0)


def curl(port, target, *words):
    """The head of the answer, lower case."""
    done = subprocess.run(["curl", "--silent", "--show-error", "--insecure", "--max-time", "60", "--dump-header", "-", "--output", "/dev/null", *words,
                           target.replace("PORT", str(port))], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True, timeout=90)
    return done.stdout.lower()


@pytest.mark.parametrize("http", ("--http1.1", "--http2"))
def test_over_tls_the_cookie_is_for_tls_alone(new_gateway, keys, http):
    with new_gateway(policy=POLICY, tls=True, more=f"QosVisitors {keys.path}\n") as g:
        head = curl(g.tls_port, "https://localhost:PORT" + says("member"), http)
        assert head.startswith("http/2 200" if http == "--http2" else "http/1.1 200") and "fairgate-class" not in head
        value, attributes = re.search(r"set-cookie: fairgate=(\S+); (.*)", head).groups()
        assert attributes.rstrip() == f"max-age={WEEK}; path=/; httponly; samesite=lax; secure"
        mark = fresh("tls")
        head = curl(g.tls_port, f"https://localhost:PORT/b/says?{mark}", http, "--cookie", f"fairgate={value}")
        assert "set-cookie" not in head
        assert g.logged(mark, 1)[0]["class"] == "members"


def test_streams_without_tls_and_a_proxy_that_has_it(new_gateway, keys):
    """Behind a proxy that ends TLS `secure` says so."""
    with new_gateway(policy=POLICY, http2=True, more=f"QosVisitors {keys.path} secure cookie=__Host-seen age=1d\n") as g:
        head = curl(g.port, "http://localhost:PORT" + page(), "--http2-prior-knowledge")
        value, attributes = re.search(r"set-cookie: __host-seen=(\S+); (.*)", head).groups()
        assert attributes.rstrip() == "max-age=86400; path=/; httponly; samesite=lax; secure"
        mark = fresh("h2")
        head = curl(g.port, f"http://localhost:PORT/b/says?{mark}", "--http2-prior-knowledge", "--cookie", f"__Host-seen={value}")
        assert "set-cookie" not in head and g.logged(mark, 1)[0]["class"] == "rest"
        assert counts(g) == {"visitors_given": 1, "visitors_verified": 1, "visitors_forged": 0, "visitors_elsewhere": 0, "visitors_expired": 0}


def test_the_status_page_tells(visited):
    with visited.connect() as c:
        assert b"Known by a cookie: " in c.ask("GET", "/qos-status").body
        assert b"\nfairgate_qos_visitors_forged_total " in c.ask("GET", "/qos-status?prometheus").body
