# SPDX-License-Identifier: BSD-2-Clause
"""What strangers write is data wherever it is shown: page, JSON, metrics, mod_status, logs.  And what a backend that dies leaves behind."""

import contextlib
import json

import pytest

import http1
from lab import lab, promtool
from promise import Promise
from test_seen import Page

PEOPLE = {"Cookie": "session=1"}
MARK = "hOsTiLe"
TEXTS = [MARK + text for text in (
    '"><script>alert(1)</script>', "' onmouseover='x", '"quoted"', "\\", "\\n", "\\u0000", '"} 1 # ', '",{"a":[', "&lt;&amp;&#60;", "\x1b[31m\x1b]0;x\x07", "\x01\x02\x7f", "\t\x0b\x0c", "\xff\xfe\xc3",
    "\xed\xa0\x80", "\xe2\x80\xae", "%0d%0aSet-Cookie: x=1", "%00", "%s%n%d", "]]>-->", "{{7*7}}${x}", "fairgate_requests_total 1", "x" * 4000)]
FIELDS = ("User-Agent", "Cookie", "X-Class", "X-Key", "Host", "Referer", "Authorization", "Signature", "Signature-Input", "Signature-Agent", "Range", "Accept-Encoding", "X-Forwarded-For",
          "Content-Type", "Fairgate-Class")
# All that shows text: keys, visitors, signatures, rules.
MORE = """
QosVisitors {keys}
QosSigned signer signer.example private=127.0.0.1:1
QosClass keyed weight=1 within=%{{HTTP:X-Key}} within=%{{HTTP_USER_AGENT}}
QosRule keyed user_agent prefix hOsTiLe
QosRule keyed url substring hOsTiLe
QosRule keyed crawler signer
LogFormat "%h %t \\"%r\\" %>s \\"%{{User-Agent}}i\\" \\"%{{Cookie}}i\\" %{{qos-class}}n %{{qos-outcome}}n %{{qos-reason}}n %{{qos-crawler}}n %{{qos-signature}}n %{{qos-visitor}}e" seen
CustomLog {log} seen
"""


def values(text):
    """As it may stand in a field, in one that has a form, and in one that is nearly right."""
    return text, f"session=1; fairgate={text}", f'sig1=("@authority" "{text}");created=1;keyid="{text}";tag="web-bot-auth"', f"sig1=:{text}:"


def requests():
    """What strangers send: each text in each place; and what an application says."""
    for text in TEXTS:
        for name in FIELDS:
            for value in values(text) if name[0] in "CS" else (text,):
                fields = {"Host": "a", "User-Agent": MARK, name: value}
                yield b"GET /static/2k.txt HTTP/1.1\r\n" + b"".join(f"{k}: {v}\r\n".encode("latin-1") for k, v in fields.items())
        escaped = "".join(c if c.isalnum() else f"%{ord(c):02x}" for c in text[:1000])
        yield f"GET /static/{escaped}?{escaped} HTTP/1.1\r\nHost: a\r\n".encode()
        yield f"GET /static/2k.txt?{text} HTTP/1.1\r\nHost: a\r\n".encode("latin-1")
        yield f"GET /{text} HTTP/1.1\r\nHost: a\r\n".encode("latin-1")
        yield f"{text[:20]} / HTTP/1.1\r\nHost: a\r\n".encode("latin-1")
        yield f"GET /b/says?Fairgate-Class={escaped} HTTP/1.1\r\nHost: a\r\n".encode()


def plain(name, text):
    """Bytes that no terminal, browser or parser takes for anything but text."""
    bad = [line for line in text.split(b"\n") if any(c < 32 or c > 126 for c in line)]
    assert not bad, (name, bad[:3])


@pytest.mark.parametrize("engine", ("On", "observe"))
def test_what_strangers_write_is_text(new_gateway, open_path, engine):
    keys, log = open_path / "visitors.key", open_path / "seen.log"
    keys.write_text("5a" * 32 + "\n")
    keys.chmod(0o600)
    with new_gateway(engine=engine, window=4, more=MORE.format(keys=keys, log=log), log_level="info") as g:
        sent = 0
        for head in requests():
            sent += 1
            with g.connect() as c, contextlib.suppress(OSError):
                c.socket.sendall(head + b"Connection: close\r\n\r\n")
                while c.more():
                    pass
        http1.until(lambda: len(log.read_bytes().splitlines()) >= sent, what="all in the log")
        by_name = g.status()["by_class"]
        assert engine == "observe" or by_name["keyed"]["submitted"] > 100, "they came where their texts are keys"
        shown = {form: http1.get(g.port, form).body for form in ("/qos-status", "/qos-status?json", "/qos-status?prometheus")}
        for form, body in shown.items():
            plain(form, body)
            assert b"<script" not in body and b"onmouseover" not in body, form
        Page(shown["/qos-status"].decode())
        json.loads(shown["/qos-status?json"])
        promtool.check(shown["/qos-status?prometheus"].decode())
        auto = http1.get(g.port, "/server-status?auto").body
        assert all(line.count(b"hOsTiLe") == 0 for line in auto.splitlines() if line.startswith(b"Qos"))
    lines = log.read_bytes()
    plain("access log", lines)
    assert sum(b"-status" not in line for line in lines.splitlines()) == sent, "no line was made by what stands in another"
    said = b"".join(open(path, "rb").read() for path in g.log_files())
    plain("error log", said)
    assert engine == "observe" or b"Fairgate-Class: hOsTiLe" in said, "what an application says is told"


@pytest.mark.parametrize("mpm", ("event", "worker", "prefork"))
def test_a_backend_that_dies_and_returns(new_gateway, parts, mpm):
    """With requests at it and requests that wait for it.  All are answered, no slot is kept, and the first one after its return is answered within a second."""
    origin = lab.Origin(parts.lab, name="origin-mortal", workers=64).start()
    try:
        with new_gateway(mpm=mpm, origin=origin, window=4) as g:
            for _ in range(3):
                with contextlib.ExitStack() as stack:
                    visits = [stack.enter_context(g.connect()) for _ in range(16)]
                    for c in visits:
                        c.send("GET", "/o/size/2048?never", headers=PEOPLE)
                    g.until(lambda s: (s["outstanding"], s["queued"]) == (4, 12), "four at the backend, twelve waiting")
                    origin.process.kill()
                    origin.process.wait()
                    assert {c.receive().status for c in visits} <= {502, 503}
                g.settled()
                assert http1.get(g.port, "/o/size/10", headers=PEOPLE).status == 503
                origin.stop()
                origin.start()
                with Promise(1) as soon:
                    soon.kept(lambda: http1.get(g.port, "/o/size/10", headers=PEOPLE).status == 200, "an answer after its return")
                g.settled()
    finally:
        origin.stop()
