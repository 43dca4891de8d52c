# SPDX-License-Identifier: BSD-2-Clause
"""Look before you leap: QosEngine observe changes nothing and says what would happen; so does a log of the day before."""

import contextlib
import gzip
import json
import os
import re
import signal
import subprocess

import pytest

import http1
import http2
from gateway import fresh, three_classes
from lab import lab
from lab.load import Load
from test_scribble import new_victim  # noqa: F401
from test_seen import Page, prometheus

PEOPLE, SEARCH, CRAWLERS = {"Cookie": "session=1"}, {"User-Agent": "Googlebot"}, {"User-Agent": "GPTBot"}
POLICY = """<?xml version="1.0"?>
<classification>
  <class id="1" name="people" quantum="6"><cookie>session=</cookie></class>
  <class id="2" name="search" quantum="3"><user_agent>Googlebot</user_agent></class>
  <class id="3" name="crawlers" quantum="1" default="yes"><user_agent>GPTBot</user_agent></class>
</classification>
"""
LOG = r'%h %l %u %{sec}t.%{usec_frac}t \"%r\" %>s %O %D \"%{User-Agent}i\" \"%{Cookie}i\"'


def observed(g):
    s = g.status()["observed"]
    s["by_class"] = {c["name"]: c for c in s["classes"]}
    return s


@contextlib.contextmanager
def busy_origin(parts):
    """As many workers as the window lets through, 10 ms each: with more at it it is slower for all."""
    origin = lab.Origin(parts.lab, workers=8, delay_ms=10).start()
    try:
        yield origin
    finally:
        origin.stop()


def crowds(g, clients=12):
    return Load(g.address, three_classes(clients, "/o/size/4096"), seconds=3600)


def shares_with_on(new_gateway, origin, more=""):
    """Percent of the bytes that each class then has."""
    g = new_gateway(engine="On", window=8, policy=POLICY, origin=origin)
    g.config += more
    with g, crowds(g):
        before = g.until(lambda s: all(c["done"] > 50 for c in s["classes"]), "some answers of each", 60)
        after = g.until(lambda s: s["done"] > before["done"] + 3000, "many more", 60)
    had = {name: c["bytes"] - before["by_class"][name]["bytes"] for name, c in after["by_class"].items() if not c["retired"]}
    return {name: 100 * n / sum(had.values()) for name, n in had.items()}


# ---- nothing changes -------------------------------------------------------------------------------------------------------------------

def test_a_crowd_that_is_observed_neither_waits_nor_is_refused(new_gateway):
    """40 requests stand at the server at one time with a window of 1 and places for 4: all get there, and are answered in the order that the server chose."""
    name = fresh("observed")
    with new_gateway(engine="observe", window=1, queue=4, policy=POLICY) as g:
        crowd = [g.connect() for _ in range(40)]
        for i, c in enumerate(crowd):
            c.send("GET", f"/b/gate/{name}?number{i}", headers=CRAWLERS)
        http1.until(lambda: g.backend.count(name) == 40, what="all at the server")
        s = observed(g)
        assert s["at_server"] == 40
        crawlers = s["by_class"]["crawlers"]
        assert (crawlers["requests"], crawlers["released"]) == (40, 1)
        assert 0 < crawlers["queued"] <= 4 and sum(crawlers["refused_by"].values()) == 39 - crawlers["queued"]
        g.backend.open(name)
        assert [c.receive().status for c in crowd] == [200] * 40
        line, = g.logged("number39", 1)
        assert (line["outcome"], line["class"], line["reason"]) == ("observed", "crawlers", "-")
        s = g.status()
        assert (s["state"], s["submitted"], s["queued"], s["outstanding"], s["refused"]) == ("observe", 0, 0, 0, 0)


def test_of_a_crowd_all_are_counted_and_pages_learnt(new_gateway):
    """More than a thousand requests a second in one child, of which it looks up and learns few pages, and a part is on paper: each is counted, and all three pages are known by their
    sizes."""
    sizes = {"people": 3000, "search": 30_000, "crawlers": 9000}
    groups = [dict(g, url=f"/o/size/{sizes[g['name']]}?{g['name']}") for g in three_classes(10, "/")]

    def logged(name):
        return [line for line in g.access_log() if f"query=?{name} " in line]
    with new_gateway(engine="observe", window=8, policy=POLICY, children=1) as g:
        with Load(g.address, groups, 2) as run:
            result = run.result()
        s = g.until(lambda s: s["observed"]["at_server"] == 0, "all over")["observed"]
        assert s["one_in"] > 1
        answered = {c["name"]: result["classes"][c["name"]]["requests"] for c in s["classes"]}
        for c in s["classes"]:
            assert answered[c["name"]] <= c["requests"] <= answered[c["name"]] + 10, "the last of each client may have been cut off"
        assert sum(r["requests"] for r in s["rules"]) == sum(c["requests"] for c in s["classes"])
        for name, headers in (("people", PEOPLE), ("search", SEARCH), ("crawlers", CRAWLERS)):
            before = len(logged(name))
            assert http1.get(g.port, f"/o/size/{sizes[name]}?{name}", headers={**headers, "Host": g.address}).status == 200
            http1.until(lambda: len(logged(name)) == before + 1, what="it is logged")
            estimate = int(dict(word.split("=", 1) for word in logged(name)[-1].split())["estimate"])
            assert sizes[name] < estimate < sizes[name] + 1000


def test_of_a_crowd_that_only_passes_all_is_counted(new_gateway):
    """No log tells of the notes: so what is neither on paper nor looked at closely is counted when it comes and when it is over, with what was written to its connection."""
    g = new_gateway(engine="observe", window=8, policy=POLICY, children=1)
    g.access_format = "%h"
    with g:
        with Load(g.address, three_classes(10, "/o/size/20000"), 3) as run:
            result = run.result()
        s = g.until(lambda s: s["observed"]["at_server"] == 0, "all over")["observed"]
        assert s["one_in"] > 1
        for c in s["classes"]:
            answered = result["classes"][c["name"]]["requests"]
            assert answered <= c["requests"] <= answered + 10, "the last of each client may have been cut off"
            assert 20_000 * answered <= c["bytes"] <= 20_500 * c["requests"]
        assert sum(r["requests"] for r in s["rules"]) == sum(c["requests"] for c in s["classes"])
        assert abs(sum(c["share_was"] for c in s["classes"]) - 1) < 0.001


def dechunked(body):
    whole = b""
    while (size := int(body.partition(b"\r\n")[0], 16)) > 0:
        body = body.partition(b"\r\n")[2]
        whole, body = whole + body[:size], body[size + 2:]
    return whole


def test_answers_are_those_without_the_module(new_gateway):
    """Byte by byte but for the date, of files, errors, CGI, proxy, ranges, HEAD and what is no HTTP.  Whether httpd tells a program's length depends on whether that has
    ended when its first bytes are there."""
    asked = [
        b"GET /static/2k.txt HTTP/1.1\r\nHost: a\r\n\r\n", b"HEAD /static/2k.txt HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET /static/2k.txt HTTP/1.1\r\nHost: a\r\nRange: bytes=5-9\r\n\r\n", b"GET /none HTTP/1.1\r\nHost: a\r\n\r\n",
        b"GET /forbidden/x HTTP/1.1\r\nHost: a\r\n\r\n", b"GET /b/size/5000 HTTP/1.1\r\nHost: a\r\n\r\n", b"GET /cgi/page?size=700 HTTP/1.0\r\n\r\n",
        b"POST /cgi/page HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello", b"OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n", b"GET\r\n\r\n",
        b"GET /static/2k.txt HTTP/1.1\r\n\r\n", b"GET /php/page.php?size=3000 HTTP/1.1\r\nHost: a\r\n\r\n", b"GET /static/ HTTP/1.1\r\nHost: a\r\n\r\n",
    ]

    def answers(g):
        found = []
        for text in asked:
            with g.connect() as c:
                c.socket.sendall(text.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n", 1) if b"HTTP/1.1" in text else text)
                while c.more():
                    pass
                answer = bytes(c.buffer)
                if b"/cgi/" in text or b"/php/" in text:
                    head, _, body = answer.partition(b"\r\n\r\n")
                    if b"\r\nTransfer-Encoding: chunked" in head:
                        body = dechunked(body)
                    answer = re.sub(rb"\r\n(Content-Length|Transfer-Encoding): [^\r]*", b"", head) + b"\r\n\r\n" + body
                found.append(b"\r\n".join(line for line in answer.split(b"\r\n") if not line.startswith(b"Date:")).replace(str(g.port).encode(), b"PORT"))
        return found
    with new_gateway(engine="Off") as off, new_gateway(engine="observe") as on:
        before, after = answers(off), answers(on)
        assert before == after
        assert sum(c["requests"] for c in observed(on)["classes"]) >= 8


def test_who_is_on_keeps_its_slots(new_gateway):
    """Beside what is observed: that takes no slot, and needs none."""
    g, name = new_gateway(window=1), fresh("aside")
    g.config += "<LocationMatch ^/b/gate/aside>\n    QosEngine observe\n</LocationMatch>\n"
    with g, g.window_taken() as taken:
        aside = [g.connect() for _ in range(5)]
        for c in aside:
            c.send("GET", f"/b/gate/{name}", headers=PEOPLE)
        http1.until(lambda: g.backend.count(name) == 5, what="what is observed is at the server while the slot is taken")
        taken.release()
        assert http1.get(g.port, "/b/size/10", headers=PEOPLE).status == 200, "and the slot is free while that stands there"
        g.backend.open(name)
        assert [c.receive().status for c in aside] == [200] * 5
        s = g.settled()
        assert s["submitted"] == 2 and s["observed"]["classes"][0]["requests"] == 5


@pytest.mark.parametrize("mpm", ["event", "worker", "prefork"])
def test_a_child_that_dies_leaves_nothing_at_the_server(new_gateway, mpm):
    name = fresh("observed-death")
    with new_gateway(engine="observe", mpm=mpm, policy=POLICY) as g:
        with g.connect() as c:
            pid = g.child_of(c)
            c.send("GET", f"/b/gate/{name}", headers=PEOPLE)
            http1.until(lambda: g.backend.count(name) == 1, what="it is at the server")
            assert observed(g)["at_server"] == 1
            os.kill(pid, signal.SIGKILL)
        g.backend.open(name)

        def forgotten():
            s = g.status_if_served()
            return s and s["observed"]["at_server"] == 0
        http1.until(forgotten, 30, "what the dead child had is over")


@pytest.mark.parametrize("mpm", ["event", "worker"])
def test_streams_are_observed(new_gateway, mpm):
    """HTTP/2: none waits for a window of one."""
    with new_gateway(engine="observe", mpm=mpm, http2=True, window=1, queue=2, policy=POLICY) as g, http2.Connection(g.port) as c:
        for _ in range(40):
            c.send("GET", "/o/size/2000?delay=50", headers={"user-agent": "GPTBot"})
        assert c.statuses() == [200] * 40
        assert observed(g)["by_class"]["crawlers"]["requests"] == 40
        g.until(lambda s: s["observed"]["at_server"] == 0, "all over")


def test_what_a_child_writes_over_is_made_anew(new_victim):
    """One writes over the memory that all share; the parent lives, fresh memory comes, and what is asked for is answered and observed again."""
    g = new_victim("event", engine="observe")
    with g:
        http1.get(g.port, "/static/2k.txt", headers=PEOPLE)
        pid, canary = g.pid, g.canary()
        with contextlib.suppress(OSError, http1.Cut):
            g.scribble("what=all&seed=3")

        def well():
            try:
                return http1.get(g.port, "/static/2k.txt", headers=PEOPLE).status == 200 and g.fresh_status() and "observed" in g.status()
            except (OSError, http1.Cut, KeyError, AssertionError):
                return False
        http1.until(well, 30, "answered and observed again")
        assert g.alive() and g.pid == pid and g.canary_lives(canary)


# ---- what is said is what comes --------------------------------------------------------------------------------------------------------

@pytest.mark.alone
@pytest.mark.measures
@pytest.mark.parametrize("charge", ["bytes", "time", "both"])
def test_what_is_said_is_what_comes(new_gateway, parts, charge):
    """Three crowds in closed loops.  On gives about 60 / 30 / 10; that is not asked here, but that it was said before: within 8 points on a machine that
    may do other things (5 is what a bench measures)."""
    more = f"QosCharge {charge}\n"
    with busy_origin(parts) as origin:
        g = new_gateway(engine="observe", window=8, policy=POLICY, origin=origin)
        g.config += more
        with g, crowds(g):
            s = g.until(lambda s: sum(c["requests"] for c in s["observed"]["classes"]) > 3000, "many requests", 60)["observed"]
        came = shares_with_on(new_gateway, origin, more)
    said = {c["name"]: 100 * c["share_would"] for c in s["classes"]}
    print(charge, said, came, s)
    assert all(abs(said[name] - share) < 8 for name, share in came.items()), (said, came)
    assert all(abs(100 * c["share_was"] - 33) < 8 for c in s["classes"]), "and nothing is so yet"
    waits = {c["name"]: c["wait_ms_mean"] for c in s["classes"]}
    assert waits["people"] < waits["search"] < waits["crawlers"]


@pytest.mark.alone
@pytest.mark.measures
def test_a_log_says_what_comes(new_gateway, parts, open_path):
    """httpd's own log of three crowds without the module, replayed, gives the shares that httpd then has with it."""
    log = open_path / "crowds.log"
    with busy_origin(parts) as origin:
        with new_gateway(engine="Off", window=8, policy=POLICY, origin=origin, more=f'CustomLog {log} "{LOG}"\n') as g, crowds(g):
            http1.until(lambda: log.exists() and len(log.read_bytes().splitlines()) > 4000, 60, "a log of many requests")
        (open_path / "policy.xml").write_text(POLICY)
        words = [lab.program("policy/fairgate-policy"), "replay", "--window", "8", "--format", LOG.replace(r'\"', '"'), open_path / "policy.xml", log]
        said = json.loads(subprocess.run([*words, "--json"], capture_output=True, text=True, check=True).stdout)
        came = shares_with_on(new_gateway, origin)
    print(subprocess.run(words, capture_output=True, text=True, check=True).stdout, came)
    assert said["bad_lines"] == 0 and said["requests"] > 4000
    would = {c["name"]: 100 * c["share_would"] for c in said["classes"]}
    assert all(abs(would[name] - share) < 8 for name, share in came.items()), (would, came)
    assert {r["class"] for r in said["rules"]} == {"people", "search", "crawlers"}


def test_a_hostile_log_is_counted_and_escaped(open_path):
    """Visitors write escape sequences, quotes and any bytes into it; a line may be long, and the last one cut."""
    good = b'192.0.2.1 - - [10/Oct/2000:13:55:%02d -0700] "GET /a HTTP/1.1" 200 2326 "-" "%s"\n'
    bad = [b"\x1b]0;owned\x07\n", b"\n", b"x" * 200_000 + b"\n", b'192.0.2.1 - - [10/Oct/2000:13:55:36 -0700] "GET /a HTTP/1.1" 200 2326 "-" "\\\n', b"\0\xff\n",
           b'192.0.2.1 - - [32/Oct/2000:13:55:36 -0700] "GET / HTTP/1.1" 200 1 "-" "-"\n', b"192.0.2.1 - - [10/Oct/2000"]
    log, policy = open_path / "hostile.log", open_path / "policy.xml"
    policy.write_text(POLICY)
    log.write_bytes(b"".join(good % (i, agent) for i, agent in enumerate((b"GPTBot", b"\\x1b[31m", b"\x1b[31m\xff", b"x" * 5000))) + b"".join(bad))
    done = subprocess.run([lab.program("policy/fairgate-policy"), "replay", policy, log], capture_output=True, check=True)
    assert b"4 requests" in done.stdout and b"7 lines are not of the format" in done.stdout, done.stdout
    assert len(done.stderr.splitlines()) == 5 and b":5: " in done.stderr.splitlines()[0]
    assert all(c == 10 or 32 <= c < 127 for c in done.stdout + done.stderr)
    log.write_bytes(b"nothing\n")
    done = subprocess.run([lab.program("policy/fairgate-policy"), "replay", policy, log], capture_output=True, check=False)
    assert done.returncode == 1 and b"no line is of the format" in done.stderr


def test_a_log_from_a_pipe_and_packed(open_path):
    policy, log = open_path / "policy.xml", open_path / "access.log.gz"
    policy.write_text(POLICY)
    text = b"".join(b'192.0.2.1 - - [10/Oct/2000:13:55:%02d +0000] "GET /a HTTP/1.1" 200 1000\n' % i for i in range(60))
    log.write_bytes(gzip.compress(text))
    words = [lab.program("policy/fairgate-policy"), "replay", "--json", "--format", "common", policy]
    packed = json.loads(subprocess.run([*words, log], capture_output=True, check=True).stdout)
    piped = json.loads(subprocess.run([*words, "-"], input=text, capture_output=True, check=True).stdout)
    assert packed["requests"] == piped["requests"] == 60 and packed["classes"] == piped["classes"]
    assert packed["classes"][2]["bytes"] == 60_000 and packed["classes"][2]["share_was"] == 1


# ---- seeing it -------------------------------------------------------------------------------------------------------------------------

def test_it_is_seen_in_all_forms(new_gateway):
    with new_gateway(engine="observe", policy=POLICY) as g:
        for headers in (PEOPLE, PEOPLE, {"User-Agent": "<b>GPTBot"}):
            http1.get(g.port, "/static/2k.txt", headers=headers)
        # An answer is counted at its end, which its client may see before.
        g.until(lambda s: s["observed"]["at_server"] == 0, "all over")
        s = observed(g)
        assert (s["by_class"]["people"]["requests"], s["by_class"]["crawlers"]["requests"]) == (2, 1)
        assert [(r["class"], r["requests"]) for r in s["rules"]] == [("people", 2), ("crawlers", 1)]
        assert s["rules"][0]["rule"] == 'line 3: cookie prefix "session="' and s["rules"][0]["bytes"] > 4000
        page = Page(http1.get(g.port, "/qos-status").body.decode())
        assert "On paper" in page.text and 'cookie prefix "session="' in page.text
        samples = prometheus(http1.get(g.port, "/qos-status?prometheus").body.decode())
        assert samples[("fairgate_qos_observed_requests_total", '{class="people"}')] == 2
        assert samples[("fairgate_state", '{state="observe"}')] == 1


def test_a_graceful_restart_begins_anew(new_gateway):
    with new_gateway(engine="observe") as g:
        http1.get(g.port, "/static/2k.txt", headers=PEOPLE)
        assert observed(g)["by_class"]["people"]["requests"] == 1
        g.graceful(g.whole_config())
        assert observed(g)["by_class"]["people"]["requests"] == 0
        g.graceful(g.config.replace("QosEngine observe", "QosEngine On"))
        assert "observed" not in g.status()
        g.graceful(g.config.replace("QosEngine On", "QosEngine observe"))
        http1.get(g.port, "/static/2k.txt", headers=PEOPLE)
        assert observed(g)["by_class"]["people"]["requests"] == 1


def test_a_word_that_is_none(new_gateway):
    ok, said = new_gateway(engine="perhaps").check()
    assert not ok and "QosEngine perhaps: must be On, Off or observe" in said


LINE = '192.0.2.%d - - [10/Oct/2000:13:55:%02d +0000] "GET /a HTTP/1.1" 200 1000 "-" "%s"%s\n'


def replayed(open_path, ends, *words):
    """What replay prints of a log of 90 lines, each of which took a second, with so much at the end of each."""
    policy, log = open_path / "policy.xml", open_path / "access.log"
    policy.write_text(POLICY)
    log.write_text("".join(LINE % (i % 50, i % 3, "GPTBot", ends(i)) for i in range(90)))
    done = subprocess.run([lab.program("policy/fairgate-policy"), "replay", "--window", "8", *words, policy, log], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout


def format_of(said):
    """The LogFormat that it asks for, as httpd has it, and as replay takes it."""
    directive = re.search(r'^    LogFormat "(.*)" fairgate$', said, re.M)
    return directive[1].replace(r'\"', '"'), re.search(r"^    --format '(.*)'$", said, re.M)[1]


@pytest.mark.parametrize("ends, words", (
    (lambda i: "", ()),
    (lambda i: " 1", ("--format", '%h %l %u %t "%r" %>s %b "%{Referer}i" "%{User-agent}i" %T')),
    (lambda i: " -" if i % 10 == 0 else " 1000000", ("--format", '%h %l %u %t "%r" %>s %b "%{Referer}i" "%{User-agent}i" %D')),
), ids=("combined", "whole-seconds", "some-lines"))
def test_replay_of_a_log_without_times_prints_no_waits(open_path, ends, words):
    """It printed "at most 2 at one time, waits 0" for a log of which 45 wait."""
    said = replayed(open_path, ends, *words)
    assert "90 requests" in said and "crawlers" in said
    assert not re.search(r"wait ms|would|at one time|refused +too", said), said
    assert format_of(said)[0] == format_of(said)[1]
    told = json.loads(replayed(open_path, ends, "--json", *words))
    assert "%D" in told["needs"] and "at_server_max" not in told
    assert {c["name"]: c["requests"] for c in told["classes"]}["crawlers"] == 90 and not [key for c in told["classes"] for key in c if "wait" in key or "would" in key]


def test_replay_by_the_format_that_it_asks_for_prints_waits(open_path):
    words = "--format", format_of(replayed(open_path, lambda i: ""))[1]
    said = replayed(open_path, lambda i: " 1000000", *words)
    assert "wait ms" in said and "LogFormat" not in said
    told = json.loads(replayed(open_path, lambda i: " 1000000", "--json", *words))
    assert told["at_server_max"] > 8 and told["classes"][2]["wait_ms_max"] > 100 and "needs" not in told
