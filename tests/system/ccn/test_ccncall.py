# SPDX-License-Identifier: BSD-2-Clause
"""fairgate-ccncall: named services as a command, over HTTP and on a named-data network; what it says when something is wrong."""
import http.server
import json
import os
import pty
import signal
import socket
import ssl
import subprocess
import threading

import pytest

from lab import lab
from lab.ccn import octets, site

WORK = """#!/bin/sh
wait= size=
IFS='&'
for word in $QUERY_STRING; do
    case $word in wait=*) wait=${word#wait=} ;; size=*) size=${word#size=} ;; esac
done
unset IFS
[ -z "$wait" ] || sleep "$wait"
echo "Content-Type: text/plain"
echo
[ -z "$size" ] || { yes result | head -c "$size"; exit 0; }
echo run >> "$(dirname "$SCRIPT_FILENAME")/runs"
echo "$REQUEST_METHOD $QUERY_STRING $CONTENT_TYPE"
cat
"""
SERVICES = """
CcnService /t/echo a=text b=int(1..9):5 c=text(x|y):x => /work.cgi?a={a}&b={b}&c={c} fresh=1h doc="Says what it got"
CcnService /t/file what=content(1M) => /work.cgi fresh=1h
CcnService /t/object a=text:x b=json(200) => /work.cgi fresh=1h
CcnService /t/slow wait=number(0..60) => /work.cgi?wait={wait} fresh=1h
CcnService /t/many size=int => /work.cgi?size={size} fresh=1h
"""


@pytest.fixture(scope="module")
def served(request):
    with lab.kept_lab("ccncall", lambda: request.session.testsfailed > 0) as made_lab:
        settings = f"CcnServices /ccn\nCcnResults {os.path.join(made_lab.dir, 'results')} max=16M\nCcnAnswerWithin 2\n{SERVICES}"
        with site(made_lab, files={"work.cgi": WORK.encode(), "runs": b"", "a.bin": octets(5_000)}, settings=settings) as s:
            os.chmod(os.path.join(s.htdocs, "work.cgi"), 0o755)
            os.chmod(os.path.join(s.htdocs, "runs"), 0o666)
            yield s


def command(*words):
    return [lab.program("ccnget/fairgate-ccncall"), *map(str, words)]


def run(*words, text=None):
    """(exit status, standard output, standard error)"""
    env = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy") and name != "NDN_CLIENT_TRANSPORT"}
    done = subprocess.run(command(*words), capture_output=True, input=text, timeout=60, check=False, env=env)
    return done.returncode, done.stdout, done.stderr.decode()


def over_http(served):
    return ("--http", f"http://127.0.0.1:{served.port}/ccn")


def by_name(served):
    return ("--forwarder", f"tcp://127.0.0.1:{served.ndn_port}")


WAYS = pytest.mark.parametrize("way", (over_http, by_name))


def runs(served):
    with open(os.path.join(served.htdocs, "runs"), encoding="utf-8") as f:
        return len(f.readlines())


# ---- results ---------------------------------------------------------------------------------------------------------------------

@WAYS
def test_words_are_parameters(served, way):
    assert run(*way(served), "/t/echo", "a=two words", "b=7", "c=y") == (0, b"GET a=two%20words&b=7&c=y \n", "")
    assert run(*way(served), "/t/echo", "a=:7")[:2] == (0, b"GET a=7&b=5&c=x \n")
    assert run(*way(served), "ndn:/t/object", 'b={"z":1,"y":[1.50]}')[:2] == (0, b'POST  application/json\n{"a":"x","b":{"y":[1.5],"z":1}}')
    assert run(*way(served), '/t/echo/!{"a":"whole"}')[:2] == (0, b"GET a=whole&b=5&c=x \n")
    assert run(*way(served), "ndn:/t/echo/%21%7B%22a%22%3A%22a%2Fb%22%7D")[:2] == (0, b"GET a=a%2Fb&b=5&c=x \n")


@WAYS
def test_a_file_is_a_parameter(served, way, tmp_path):
    content = bytes(range(256))
    (tmp_path / "file").write_bytes(content)
    expected = b"POST  application/octet-stream\n" + content
    assert run(*way(served), "/t/file", f"what=@{tmp_path}/file")[:2] == (0, expected)
    assert run(*way(served), "/t/file", "what=@-", text=content)[:2] == (0, expected)
    assert run(*way(served), "/t/file", "what=ccnx:/example/site/a.bin")[:2] == (0, b"POST  application/octet-stream\n" + octets(5_000))


def test_parameters_beside_the_name(served, tmp_path):
    """What is too long for a name."""
    (tmp_path / "file").write_bytes(octets(6_000))
    assert run(*by_name(served), "/t/file", f"what=@{tmp_path}/file") == (0, b"POST  application/octet-stream\n" + octets(6_000), "")
    status, out, said = run(*by_name(served), "/t/file", "none=" + "x" * 3000)
    assert status == 1 and out == b"" and "has no such parameter" in said
    assert run(*by_name(served), "--fresh", "/t/file", f"what=@{tmp_path}/file")[0] == 2
    status, out, said = run("--show-name", "/t/file", "what=" + "x" * 3000)
    assert status == 1 and out == f'/t/file/!{{"what":"{"x" * 3000}"}}\n'.encode() and "too long for a name" in said


def test_a_file_that_is_too_large(served, tmp_path):
    (tmp_path / "file").write_bytes(octets(49_000))
    status, out, said = run(*over_http(served), "/t/file", f"what=@{tmp_path}/file")
    assert status == 0 and out.endswith(octets(49_000)), said
    status, out, said = run(*by_name(served), "/t/file", f"what=@{tmp_path}/file")
    assert status == 1 and out == b"" and "--http" in said
    (tmp_path / "file").write_bytes(octets(70_000))
    status, out, said = run(*over_http(served), "/t/file", f"what=@{tmp_path}/file")
    assert status == 2 and out == b"" and "publish it" in said


@WAYS
def test_many_bytes_into_a_file(served, way, tmp_path):
    status, out, said = run(*way(served), "-o", tmp_path / "result", "--json", "/t/many", "size=300000")
    assert status == 0 and said == ""
    figures = json.loads(out)
    assert figures["status"] == 200 and figures["bytes"] == 300_000 and figures["content_type"] == "text/plain"
    assert (tmp_path / "result").read_bytes() == b"result\n" * 42857 + b"r"


@WAYS
def test_fresh(served, way):
    for _ in range(2):
        assert run(*way(served), "/t/echo", f"a=fresh {way.__name__}")[0] == 0
    before = runs(served)
    status, out, said = run(*way(served), "--fresh", "/t/echo", f"a=fresh {way.__name__}")
    assert status == 0, said
    assert out == f"GET a=fresh%20{way.__name__}&b=5&c=x \n".encode()
    assert runs(served) == before + 1


def test_a_slow_call_is_waited_for(served):
    status, out, said = run(*over_http(served), "--json", "/t/slow", "wait=5")
    assert status == 0 and out == b"GET wait=5 \n"
    assert json.loads(said)["looked"] >= 1
    status, out, said = run(*by_name(served), "/t/slow", "wait=6")
    assert status == 0 and out == b"GET wait=6 \n", said


def test_a_call_that_takes_too_long(served):
    status, out, said = run(*over_http(served), "--timeout", "3", "/t/slow", "wait=10")
    assert status == 28 and out == b"" and "no result within 3 s" in said and "/ccn/=/" in said
    assert run(*over_http(served), "--timeout", "1", "/t/slow", "wait=11")[0] == 28
    assert run(*by_name(served), "--timeout", "1", "/t/slow", "wait=12")[0] == 28


def test_nobody_is_there():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    assert run("--http", f"http://127.0.0.1:{port}/ccn", "/t/echo", "a=x")[0] == 7
    assert run("--forwarder", f"tcp://127.0.0.1:{port}", "/t/echo", "a=x")[0] == 7


# ---- what is wrong ---------------------------------------------------------------------------------------------------------------

@WAYS
def test_problems_are_sentences(served, way, tmp_path):
    """None of it is the output, and a file that was there stays."""
    (tmp_path / "result").write_text("before")
    for words, saying in (
            (("/t/none",), ("There is no such service", "/t/none")),
            (("/t/echo",), ("A parameter is missing", "service /t/echo, parameter a)")),
            (("/t/echo", "a=x", "b=10"), ("not within its bounds", "parameter b)")),
            (("/t/file", 'what=/t/echo/!{"a":1}'), ("could not be fetched", "parameter what)", "\n  within it: A parameter is of another type", "parameter a)"))):
        status, out, said = run(*way(served), "-o", tmp_path / "result", *words)
        assert status == 1 and out == b"" and said.startswith("fairgate-ccncall: "), said
        assert [s for s in saying if s not in said] == [], said
    assert (tmp_path / "result").read_text() == "before"


@WAYS
def test_the_papers_form_is_corrected(served, way):
    status, out, said = run(*way(served), '/t/file/!{ \u201cwhat\u201d : \u201c/t/echo/!{ \u201ca\u201d : \u201cpaper\u201d }\u201d }')
    assert status == 0 and out.endswith(b"GET a=paper&b=5&c=x \n")
    assert said == 'fairgate-ccncall: read as /t/file/!{"what":"/t/echo/!{\\"a\\":\\"paper\\"}"}\n'


@pytest.mark.parametrize("words", (
    ("t/echo",), ("/t//echo",), ("/t/echo", "a"), ("/t/echo", "=a"), ("/t/echo", "a=1", "a=2"), ('/t/echo/!{"a":1}', "b=1"), ("/t/echo/!{",), ("/t/echo", "a=@/none/such"),
    ("--http", "ftp://h/", "/t/echo"), ("--http", "http://h/?a", "/t/echo"), ("--http", "http://u@h/", "/t/echo"), ("--http", "http://h", "--forwarder", "tcp://h", "/t/echo"),
    ("--http", "http://h", "--header", "no field", "/t/echo"), ("--list",), ("--list", "/t/echo", "a=1"), ("--list", "--show-name", "/t/echo"), ("--list", "--http", "http://h", "/t/echo"), ("--forwarder", "nowhere", "/t/echo"),
    ("--list", "--http", "http://h", "-o", "/f"), ("--show-name", "-o", "/f", "/t/echo"), ("--http", "http://h"), ("--http", "http://h", "--verify", "/key", "/t/echo"), ("--cacert", "/c", "/t/echo")))
def test_wrong_usage(words):
    status, out, said = run(*words)
    assert status == 2 and out == b"" and said.startswith("fairgate-ccncall: ") and "--help" in said


# ---- without asking, and without a call ------------------------------------------------------------------------------------------

def test_show_name():
    expected = b'/a/b/!{"e":"\xc3\xa9","n":1.5,"t":"12"}\nndn:/a/b/%21%7B%22e%22%3A%22%C3%A9%22%2C%22n%22%3A1.5%2C%22t%22%3A%2212%22%7D\n'
    assert run("--show-name", "/a/b", "t=:12", "n=1.50", "e=\u00e9") == (0, expected, "")
    assert run("--show-name", expected.split(b"\n")[1].decode()) == (0, expected, "")


def test_list(served):
    status, out, said = run(*over_http(served), "--list")
    assert status == 0 and said == ""
    rows = out.decode().splitlines()
    assert len(rows) == SERVICES.count("CcnService")
    assert rows[0].split("  ")[0] == "/t/echo" and "a=text" in rows[0] and " b=int(1..9):5 c=text(x|y):x " in rows[0] and rows[0].endswith("Says what it got")
    assert next(r for r in rows if r.startswith("/t/file")).split() == ["/t/file", "what=content(1048576)"]
    status, out, said = run(*over_http(served), "--list", "--json")
    assert status == 0 and len(json.loads(out)["services"]) == len(rows)
    status, out, said = run("--http", f"http://127.0.0.1:{served.port}", "--list")
    assert status == 1 and out == b"" and "no list of services" in said


def test_list_by_name(served):
    """The same, less what is called over HTTP alone."""
    everything = run(*over_http(served), "--list", "--json")[1]
    status, out, said = run(*by_name(served), "--list", "/t/echo")
    assert status == 0 and said == ""
    assert {row.split()[0] for row in out.decode().splitlines()} == {s["name"] for s in json.loads(everything)["services"]} - {"/t/web"}
    assert json.loads(run(*by_name(served), "--list", "/t/echo", "--json")[1])["services"]
    status, out, said = run(*by_name(served), "--list", "/nobody")
    assert status == 1 and out == b"" and said.count("\n") == 1


# ---- strangers -------------------------------------------------------------------------------------------------------------------

EVIL = "\x1b]0;title\x07 \x9b31m \u202e \x7f"


class Stranger:
    """A server that answers each request with the next of (status, fields, body)."""

    def __init__(self, *answers):
        stranger, self.asked = self, []
        left = list(answers)

        class Handler(http.server.BaseHTTPRequestHandler):
            def answer(self):
                stranger.asked.append((self.command, self.path))
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                status, fields, body = left.pop(0)
                self.send_response_only(status)
                for name, value in fields.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_GET = do_POST = answer

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def with_tls(self, certificate, key):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        return self

    def __enter__(self):
        return self, ("--http", f"http://127.0.0.1:{self.server.server_port}/x/")

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


def harmless(text):
    return not [c for c in text if (ord(c) < 32 and c not in "\n\t\r") or 0x7f <= ord(c) < 0xa0 or c == "\u202e"]


def test_a_strangers_problem_is_text():
    deep = {"title": EVIL, "detail": EVIL, "service": EVIL, "parameter": EVIL, "corrected": EVIL}
    deep["within"] = dict(deep)
    for kind, body in (("application/problem+json", json.dumps(deep).encode()), ("application/problem+json", json.dumps(deep, ensure_ascii=False).encode()),
                       ("application/problem+json", b"{\x1b"), ("application/problem+json", b'{"title":1,"within":[]}'), ("text/plain", EVIL.encode()), (EVIL[8:20], b"")):
        with Stranger((400, {"Content-Type": kind.encode().decode("latin-1").replace("\x1b", "")}, body)) as (_, where):
            status, out, said = run(*where, "/t/echo")
        assert status == 1 and out == b"" and said.startswith("fairgate-ccncall: ") and harmless(said), said


def test_a_strangers_list_is_text():
    rows = {"services": [{"name": EVIL, "doc": EVIL, "parameters": [{"name": EVIL, "type": EVIL, "enum": [EVIL], "default": EVIL}]},
                         {"name": 1}, 1, {"name": "/a", "parameters": {"b": 1}}, {"name": "/b", "parameters": [1, {}]}]}
    with Stranger((200, {}, json.dumps(rows).encode()), (200, {}, json.dumps([rows] * 40).encode()), (200, {}, b"[" * 1000)) as (_, where):
        status, out, said = run(*where, "--list")
        assert status == 0 and harmless(out.decode()) and out.decode().splitlines()[1:] == [line for line in out.decode().splitlines() if line.startswith(("/a", "/b"))]
        assert run(*where, "--list")[0] == run(*where, "--list")[0] == 1


def test_certificates_to_trust(tmp_path):
    certificate, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost", "-out", certificate, "-keyout", key],
                   stdin=subprocess.DEVNULL, capture_output=True, check=True)
    with Stranger((200, {}, b"result")).with_tls(certificate, key) as (stranger, where):
        url = where[1].replace("http://127.0.0.1", "https://localhost")
        status, out, said = run("--http", url, "/t/echo")
        assert status in (1, 7) and out == b"" and "certificate" in said and not stranger.asked
        assert run("--http", url, "--cacert", certificate, "/t/echo") == (0, b"result", "")


def test_where_a_strangers_result_will_be():
    """On the same server, or nowhere."""
    goes_on = {"Location": "/x/=/1", "Retry-After": "1"}
    with Stranger((202, goes_on, b"later"), (202, {"Retry-After": "1"}, b""), (200, {}, b"result")) as (stranger, where):
        assert run(*where, "/t/echo")[:2] == (0, b"result")
        assert stranger.asked == [("POST", "/x/t/echo"), ("GET", "/x/=/1"), ("GET", "/x/=/1")]
    for elsewhere in ("file:///etc/passwd", "http://127.0.0.1:1/", "//192.0.2.1/", "gopher://127.0.0.1/", "https:/x", "/x/\x1b"):
        with Stranger((202, {"Location": elsewhere}, b"later")) as (stranger, where):
            status, out, said = run(*where, "/t/echo")
            assert status == 1 and out == b"" and len(stranger.asked) == 1 and "is not said" in said
    with Stranger((302, {"Location": "http://192.0.2.1/" + EVIL[8:13]}, b"moved")) as (stranger, where):
        status, out, said = run(*where, "/t/echo")
        assert status == 1 and out == b"" and len(stranger.asked) == 1 and "it leads to http://192.0.2.1/" in said


def test_a_result_on_a_terminal():
    """Its control characters are escaped there, and nowhere else."""
    body = EVIL.encode() + b"\xff\n" + "\u00e9".encode() * 3000
    with Stranger((200, {}, body), (200, {}, body)) as (_, where):
        assert run(*where, "/t/echo")[:2] == (0, body)
        ours, theirs = pty.openpty()
        with subprocess.Popen(command(*where, "/t/echo"), stdout=theirs, stderr=subprocess.DEVNULL) as child:
            os.close(theirs)
            seen = b""
            while True:
                try:
                    more = os.read(ours, 65536)
                except OSError:
                    break
                if not more:
                    break
                seen += more
            assert child.wait() == 0
        os.close(ours)
    assert harmless(seen.decode()) and "\\x1b]0;title\\x07 \\u009b31m \\u202e \\x7f\\xff" in seen.decode() and seen.count("\u00e9".encode()) == 3000


def test_progress_and_an_interrupt():
    """On a terminal it says how long the call is in work, and it ends by the signal, with its line cleared."""
    later = (202, {"Location": "/x/=/1", "Retry-After": "60"}, b"")
    with Stranger(later, later) as (_, where):
        ours, theirs = pty.openpty()
        with subprocess.Popen(command(*where, "/t/echo"), stdout=subprocess.PIPE, stderr=theirs) as child:
            os.close(theirs)
            seen = b""
            while b"in work, 1 s" not in seen:      # a read that fails ends the test
                seen += os.read(ours, 65536)
            child.send_signal(signal.SIGINT)
            assert child.wait(timeout=20) == -signal.SIGINT and child.stdout.read() == b""
        seen += os.read(ours, 65536)
        os.close(ours)
    assert seen.endswith(f"\r\x1b[Kfairgate-ccncall: {where[1]}: interrupted\r\n".encode())


def test_quiet_says_nothing():
    with Stranger((202, {"Location": "/x/=/1", "Retry-After": "1"}, b""), (200, {}, b"result")) as (_, where):
        ours, theirs = pty.openpty()
        done = subprocess.run(command(*where, "--quiet", "/t/echo"), stdout=subprocess.PIPE, stderr=theirs, timeout=60, check=False)
        os.write(theirs, b".")
        assert done.stdout == b"result" and os.read(ours, 100) == b"."
        os.close(ours)
        os.close(theirs)
