# SPDX-License-Identifier: BSD-2-Clause
"""Named services with parameters: over HTTP, on a named-data network, in each other; what is kept, joined, refused (nextserve paper)."""
import concurrent.futures
import hashlib
import http.client
import json
import os
import socket
import subprocess
import time
import urllib.parse

import pytest

from lab import lab
from lab import ndn_wire as wire
from lab.ccn import Site, octets, site
from lab.lab import wait_for
from lab.ndn_face import Face

# Says how it was asked, and takes its time; runs/NAME counts its runs.
WORK = """#!/bin/sh
here=$(dirname "$SCRIPT_FILENAME")
wait= exit= size= more= private= status= as=
IFS='&'
for word in $QUERY_STRING; do
    case $word in wait=*) wait=${word#wait=} ;; crash=*) exit=${word#crash=} ;; size=*) size=${word#size=} ;; private=true) private=yes ;; more=*) more=${word#more=} ;;
        status=*) status=${word#status=} ;; as=*) as=${word#as=} ;; esac
done
unset IFS
echo "$QUERY_STRING" >> "$here/runs/$(basename "$SCRIPT_FILENAME")"
[ -z "$wait" ] || sleep "$wait"
[ "$exit" != true ] || kill -SEGV $$
case $as in
    plain) printf 'Status: %s\r\nContent-Type: text/plain\r\n\r\nWhy\033 it\n\tis not.\n' "$status"; exit ;;
    json) printf 'Status: %s\r\nContent-Type: application/problem+json\r\n\r\n{"detail":"Why it is not."}' "$status"; exit ;;
    html) printf 'Status: %s\r\nContent-Type: text/html\r\n\r\n<p>Why it is not.' "$status"; exit ;;
    private) printf 'Status: %s\r\nContent-Type: text/plain\r\nSet-Cookie: a=b\r\n\r\nWhy it is not.' "$status"; exit ;;
esac
[ "$more" != garbage ] || { head -c 3000 /dev/urandom | tr -d ':\\n\\r'; exit 0; }
echo "Content-Type: text/plain"
[ -z "$private" ] || echo "Set-Cookie: a=b"
[ "$more" != nostore ] || echo "Cache-Control: no-store"
echo
[ -z "$size" ] || { yes result | head -c "$size"; exit 0; }
echo "$REQUEST_METHOD $QUERY_STRING $CONTENT_TYPE $REMOTE_ADDR"
cat
"""
NUMBER = "#!/bin/sh\necho Content-Type: text/plain\necho\ncat > /dev/null\necho 42\n"
SERVICES = """
CcnService /t/echo a=text => /work.cgi?a={a} fresh=1h
CcnService /t/echo a=text b=int(1..9):5 c=bool => /work.cgi?a={a}&b={b}&c={c}
CcnService /t/file what=content(1M) => /work.cgi fresh=1h
CcnService /t/two one=content two=content more=text:x => /work.cgi
CcnService /t/object a=text b=json(200) => /work.cgi
CcnService /t/slow wait=number(0..60) n=int:0 => /work.cgi?wait={wait}&n={n} fresh=1h
CcnService /t/never n=int => /work.cgi?n={n}
CcnService /t/private n=int wait=number:0 => /work.cgi?private=true&n={n}&wait={wait} fresh=1h
CcnService /t/nostore n=int => /work.cgi?more=nostore&n={n} fresh=1h
CcnService /t/crash n=int => /work.cgi?crash=true&n={n} fresh=1h
CcnService /t/garbage n=int => /work.cgi?more=garbage&n={n} fresh=1h
CcnService /t/large size=int => /work.cgi?size={size} result=100K
CcnService /t/many size=int => /work.cgi?size={size} fresh=1h
CcnService /t/rejects status=int as=text => /work.cgi?status={status}&as={as} fresh=1h
CcnService /t/number of=content => /number.cgi
CcnService /t/needs n=int(1..50) => /work.cgi?n={n}
CcnService /t/missing => /nothing
CcnService /t/secret n=int => /work.cgi?n={n} fresh=1h
CcnService /t/web n=int => /work.cgi?n={n} over=http
CcnService /t/net n=int => /work.cgi?n={n} over=ndn
CcnService /t/hangs wait=number n=int => /work.cgi?wait={wait}&n={n} timeout=2s
"""


@pytest.fixture(scope="module")
def served(request):
    with lab.kept_lab("services", lambda: request.session.testsfailed > 0) as made_lab:
        results = os.path.join(made_lab.dir, "results")
        settings = f"""CcnServices /ccn
CcnResults {results} max=16M
CcnAnswerWithin 3
{SERVICES}
<Location /ccn/t/secret>
Require all denied
</Location>
"""
        with site(made_lab, files={"work.cgi": WORK.encode(), "number.cgi": NUMBER.encode(), "img/a.bin": octets(50_000), "img/big.bin": octets(2_000_000)},
                  settings=settings) as s:
            for name in ("work.cgi", "number.cgi"):
                os.chmod(os.path.join(s.htdocs, name), 0o755)
            os.makedirs(os.path.join(s.htdocs, "runs"))
            os.chmod(os.path.join(s.htdocs, "runs"), 0o777)
            s.results = results
            yield s


def runs(served, query):
    path = os.path.join(served.htdocs, "runs", "work.cgi")
    if not os.path.exists(path):
        return 0
    with open(path, encoding="utf-8") as f:
        return f.read().splitlines().count(query)


def text_of(service, arguments):
    return f"{service}/!{json.dumps(arguments, separators=(',', ':'), sort_keys=True, ensure_ascii=False)}"


def ask(served, method, path, body=None, **fields):
    c = http.client.HTTPConnection("127.0.0.1", served.port, timeout=30)
    c.request(method, path, body=body, headers={name.replace("_", "-"): value for name, value in fields.items()})
    answer = c.getresponse()
    content = answer.read()
    c.close()
    return answer.status, content, answer.headers


def call(served, service, arguments, **fields):
    """GET of the whole name."""
    return ask(served, "GET", "/ccn" + urllib.parse.quote(text_of(service, arguments), safe="/!"), **fields)


def posted(served, service, arguments):
    return ask(served, "POST", "/ccn" + service, json.dumps(arguments), Content_Type="application/json")


def by_name(served, service, arguments, *options):
    """The same on the named-data network: (exit status, result)."""
    escaped = service + "/" + urllib.parse.quote("!" + json.dumps(arguments, separators=(",", ":"), sort_keys=True, ensure_ascii=False), safe="")
    done = subprocess.run([lab.program("ccnget/fairgate-ccnget"), "--forwarder", f"tcp://127.0.0.1:{served.ndn_port}", *options, "ndn:" + escaped],
                          capture_output=True, timeout=60, check=False)
    return done.returncode, done.stdout, done.stderr.decode()


# ---- one call ---------------------------------------------------------------------------------------------------------------------

def test_three_ways_are_one_call(served):
    """Over HTTP by name and by a body, and by name on NDN: one run, one result."""
    expected = b"GET a=one%20way  127.0.0.1\n"
    status, content, headers = call(served, "/t/echo", {"a": "one way"})
    assert (status, content) == (200, expected)
    assert headers["Content-Type"] == "text/plain" and headers["Cache-Control"] == "max-age=3600"
    assert posted(served, "/t/echo", {"a": "one way"})[:2] == (200, expected)
    assert by_name(served, "/t/echo", {"a": "one way"})[:2] == (0, expected)
    assert runs(served, "a=one%20way") == 1


def test_overloads(served):
    assert call(served, "/t/echo", {"a": "x", "c": True})[1] == b"GET a=x&b=5&c=true  127.0.0.1\n"
    assert call(served, "/t/echo", {"a": "x", "c": "false", "b": "7"})[1] == b"GET a=x&b=7&c=false  127.0.0.1\n"


def test_equal_however_it_is_written(served):
    for path in ('/ccn/t/echo/!{"a":"same"}', "/ccn/t/echo/!%7B%20%22a%22%20%3A%20%22s%5Cu0061me%22%7D"):
        assert ask(served, "GET", path.replace('"', "%22"))[0] == 200
    assert runs(served, "a=same") == 1


def test_text_is_a_text_whatever_it_holds(served):
    """Two slashes, dots, quotes, what a shell reads: they reach the service as they were written, escaped."""
    for text in ("http://a/../b", "a//b", "/../../etc/passwd", "$(id)`id`;id|id&id>x'\"", "?a=b#c", "/t/echo/!{}", "e\u0301 \u00e9", "100%", "\n\r\t"):
        status, content, _ = call(served, "/t/echo", {"a": text})
        assert status == 200, text
        assert content == f"GET a={urllib.parse.quote(text, safe='')}  127.0.0.1\n".encode()


def test_bodies(served):
    assert call(served, "/t/file", {"what": "hello"})[1] == b"POST  text/plain;charset=utf-8 127.0.0.1\nhello"
    assert call(served, "/t/file", {"what": "data:image/png;base64,aGVsbG8="})[1] == b"POST  image/png 127.0.0.1\nhello"
    assert call(served, "/t/object", {"b": {"z": 1, "y": [1.5]}, "a": "x"})[1] == b'POST  application/json 127.0.0.1\n{"a":"x","b":{"y":[1.5],"z":1}}'
    content = call(served, "/t/two", {"one": "data:a/b,first", "two": "second"})[1].decode()
    head, body = content.split("\n", 1)
    boundary = head.split("boundary=")[1].split()[0]
    assert head.startswith("POST  multipart/form-data; boundary=fairgate-")
    assert body == (f'--{boundary}\r\nContent-Disposition: form-data; name="one"; filename="content"\r\nContent-Type: a/b\r\n\r\nfirst\r\n'
                    f'--{boundary}\r\nContent-Disposition: form-data; name="two"; filename="content"\r\nContent-Type: text/plain;charset=utf-8\r\n\r\nsecond\r\n'
                    f'--{boundary}\r\nContent-Disposition: form-data; name="more"\r\n\r\nx\r\n--{boundary}--\r\n')


def test_many_segments(served):
    content = call(served, "/t/many", {"size": 300_000})[1]
    assert len(content) == 300_000
    assert by_name(served, "/t/many", {"size": 300_000})[:2] == (0, content)
    assert runs(served, "size=300000") == 1


def test_parameters_beside_the_name(served):
    """ApplicationParameters hold them: what is too long for a name; the result is found below a name of its own."""
    text = "x" * 4000
    arguments = json.dumps({"a": text}).encode()
    with Face.tcp("127.0.0.1", served.ndn_port) as face:
        face.send(wire.interest("/t/echo", prefix=True, lifetime=4000, params=arguments))
        first = face.receive(5)
        assert first.content.startswith(b"GET a=xxxx")
        got, last = first.content, int.from_bytes(first.final[1], "big")
        digest = dict(first.name)[wire.PARAMS_DIGEST]
        version = dict(first.name)[wire.VERSION]
        stored = wire.name("/t/echo") + ((wire.KEYWORD, b"result"), (wire.GENERIC, digest.hex().encode()), (wire.VERSION, version))
        for n in range(1, last + 1):
            face.send(wire.interest(stored + (wire.segment(n),)))
            got += face.receive(5).content
    assert got == f"GET a={text}  127.0.0.1\n".encode()


def test_a_kept_result_is_fresh_by_name(served):
    """What is left of its freshness, however it came to be kept."""
    assert call(served, "/t/echo", {"a": "left"})[0] == 200
    with Face.tcp("127.0.0.1", served.ndn_port) as face:
        face.send(wire.interest(wire.name("/t/echo") + ((wire.GENERIC, b'!{"a":"left"}'),), prefix=True, fresh=True, lifetime=4000))
        assert 3_000_000 < face.receive(5).freshness <= 3_600_000


# ---- parameters that are elsewhere -----------------------------------------------------------------------------------------------

def test_content_by_name(served):
    expected = b"POST  application/octet-stream 127.0.0.1\n" + octets(50_000)
    for name in ("ccnx:/example/site/img/a.bin", "ndn:/example/site/img/a.bin", "/example/site/img/a.bin"):
        status, content, _ = call(served, "/t/file", {"what": name})
        assert status == 200, content
        assert hashlib.sha256(content).digest() == hashlib.sha256(expected).digest()


def test_calls_in_calls(served):
    inner = text_of("/t/file", {"what": "ccnx:/example/site/img/a.bin"})
    status, content, _ = call(served, "/t/file", {"what": inner})
    assert status == 200, content
    assert content == b"POST  text/plain 127.0.0.1\nPOST  application/octet-stream 127.0.0.1\n" + octets(50_000)
    # on the other network, and a value that is no content
    assert by_name(served, "/t/needs", {"n": text_of("/t/number", {"of": "x"})})[1] == b"GET n=42  127.0.0.1\n"


def test_branches_run_side_by_side(served):
    """Depth 3, two branches: as long as the longer one takes."""
    def branch(n):
        return text_of("/t/file", {"what": text_of("/t/slow", {"wait": 1, "n": n})})
    began = time.monotonic()
    status, content, _ = call(served, "/t/two", {"one": branch(1), "two": branch(2)})
    assert status == 200, content
    assert time.monotonic() - began < 1.8
    assert b"wait=1&n=1" in content and b"wait=1&n=2" in content


# ---- what is kept, and joined ----------------------------------------------------------------------------------------------------

def test_equal_calls_in_work_run_once(served):
    """Whichever way they come."""
    with concurrent.futures.ThreadPoolExecutor(9) as pool:
        http_calls = [pool.submit(call, served, "/t/slow", {"wait": 1.5, "n": 77}) for _ in range(4)]
        ndn_calls = [pool.submit(by_name, served, "/t/slow", {"wait": 1.5, "n": 77}) for _ in range(4)]
        assert {f.result()[1] for f in http_calls + ndn_calls} == {b"GET wait=1.5&n=77  127.0.0.1\n"}
    assert runs(served, "wait=1.5&n=77") == 1


def test_a_fresh_run_can_be_demanded(served):
    for _ in range(2):
        call(served, "/t/echo", {"a": "fresh"})
    assert runs(served, "a=fresh") == 1
    call(served, "/t/echo", {"a": "fresh"}, Cache_Control="no-cache")
    assert runs(served, "a=fresh") == 2
    assert by_name(served, "/t/echo", {"a": "fresh"})[0] == 0       # MustBeFresh: what is kept is
    assert runs(served, "a=fresh") == 2
    assert by_name(served, "/t/echo", {"a": "fresh"}, "--header", "Cache-Control: no-cache")[::2] == (0, "")
    assert runs(served, "a=fresh") == 3
    assert "Age" in call(served, "/t/echo", {"a": "fresh"})[2]


def test_what_says_no_freshness_is_not_kept(served):
    for _ in range(2):
        assert call(served, "/t/never", {"n": 1})[0] == 200
        assert call(served, "/t/nostore", {"n": 2})[0] == 200
    assert runs(served, "n=1") == 2 and runs(served, "more=nostore&n=2") == 2


def test_private_results_are_not_kept_or_joined(served):
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        calls = [pool.submit(call, served, "/t/private", {"n": 5, "wait": 0.4}) for _ in range(4)]
        assert {f.result()[0] for f in calls} == {200}
    assert runs(served, "private=true&n=5&wait=0.4") == 4
    status, content, _ = by_name(served, "/t/private", {"n": 6})
    assert status and b"private=true" not in content
    kept = b"".join(open(os.path.join(served.results, name), "rb").read() for name in os.listdir(served.results))
    assert b"private=true" not in kept


# ---- what is wrong ---------------------------------------------------------------------------------------------------------------

def problem(answer):
    status, content, headers = answer
    assert headers["Content-Type"] == "application/problem+json", content
    said = json.loads(content)
    assert said["status"] == status and said["title"] and said["detail"]
    return said["type"].rsplit(":", 1)[1], said.get("parameter"), status


@pytest.mark.parametrize("service,arguments,kind,parameter,status", (
    ("/t/none", {}, "no-such-service", None, 404),
    ("/t/echo", {}, "missing-parameter", "a", 400),
    ("/t/echo", {"a": "x", "d": 1}, "unknown-parameter", "d", 400),
    ("/t/echo", {"a": 1}, "wrong-type", "a", 400),
    ("/t/echo", {"a": "x", "c": True, "b": 10}, "out-of-bounds", "b", 400),
    ("/t/file", {"what": "file:/etc/passwd"}, "not-allowed", "what", 403),
    ("/t/file", {"what": "http://169.254.169.254/"}, "not-there", "what", 424),
    ("/t/file", {"what": "/example/site/none"}, "not-there", "what", 424),
    ("/t/file", {"what": "/example/site/img/big.bin"}, "not-there", "what", 424),
    ("/t/file", {"what": "/elsewhere/x"}, "not-there", "what", 424),
    ("/t/file", {"what": '/t/none/!{}'}, "not-there", "what", 424),
    ("/t/file", {"what": '/t/echo/!{"a":1}'}, "not-there", "what", 424),
    ("/t/needs", {"n": '/t/echo/!{"a":"x"}'}, "wrong-type", "n", 400),
    ("/t/crash", {"n": 1}, "failed", None, 502),
    ("/t/garbage", {"n": 1}, "failed", None, 502),
    ("/t/missing", {}, "failed", None, 502),
    ("/t/large", {"size": 200_000}, "too-much", None, 413),
))
def test_a_problem_says_what_is_wrong(served, service, arguments, kind, parameter, status):
    """The same object over HTTP and in Data."""
    assert problem(call(served, service, arguments)) == (kind, parameter, status)
    exit_status, content, _ = by_name(served, service, arguments)
    assert exit_status and json.loads(content)["type"].endswith(kind)


@pytest.mark.parametrize("status,content,kind", (
    (404, "plain", "rejected"), (422, "json", "rejected"),
    (401, "plain", "failed"), (403, "json", "failed"), (429, "plain", "failed"), (500, "plain", "failed"), (404, "html", "failed"), (422, "private", "failed"),
))
def test_a_service_says_why_it_rejects(served, status, content, kind):
    """Its own sentence comes with the problem, and the next call runs again; of any other answer only the status does."""
    for n in (1, 2):
        answer = call(served, "/t/rejects", {"status": status, "as": content})
        assert problem(answer) == (kind, None, 422 if kind == "rejected" else 502)
        said = json.loads(answer[1])["detail"]
        assert str(status) in said and ("Why it is not." in said) == (kind == "rejected"), said
        assert answer[2]["Cache-Control"] == "no-cache" and runs(served, f"status={status}&as={content}") == n
    inner = json.loads(call(served, "/t/file", {"what": text_of("/t/rejects", {"status": status, "as": content})})[1])
    assert inner["type"].endswith(":not-there") and inner["within"]["type"].endswith(kind)
    assert by_name(served, "/t/rejects", {"status": status, "as": content})[1] == answer[1]


def test_many_calls_in_one(served):
    """Who may make each of them is asked about as many as there may be, however many stand there."""
    many = {f"x{n}": text_of("/t/echo", {"a": str(n)}) for n in range(70)}
    answer = call(served, "/t/two", many)
    assert problem(answer) == ("too-deep", None, 400) and b"64 calls" in answer[1]
    few = {f"x{n}": text_of("/t/echo", {"a": str(n)}) for n in range(60)}
    assert problem(call(served, "/t/two", few))[0] == "unknown-parameter"


@pytest.mark.parametrize("path,status", (
    ("/ccn/t/echo/!", 400), ("/ccn/t/echo/!{", 400), ('/ccn/t/echo/!{"a":1,"a":2}', 400), ("/ccn/t/echo/!%ff", 400), ("/ccn/t/echo/!%00", 400),
    ("/ccn/t/echo/!%7", 400), ('/ccn/t/echo/!{"a":"%5Cud800"}', 400), ("/ccn/t/echo/!" + "[" * 1000, 400), ('/ccn/t/echo/!{"a":' + "[" * 4000, 400),
    ("/ccn/../ccn/t/echo/!{}", 404), ("/ccn//!{}", 404), ("/ccn/!{}", 404), ("/ccn/=/0", 404), ("/ccn/t", 405),
))
def test_what_is_no_call(served, path, status):
    assert ask(served, "GET", path.replace('"', "%22"))[0] == status


def test_bodies_that_are_none(served):
    for body, fields, status in (("{}", {}, 415), ("{}", {"Content_Type": "text/plain"}, 415), ("", {"Content_Type": "application/json"}, 400),
                                 ("[]", {"Content_Type": "application/json"}, 400), ("{", {"Content_Type": "application/json"}, 400),
                                 ('{"a":"' + "x" * 70000 + '"}', {"Content_Type": "application/json"}, 413)):
        assert ask(served, "POST", "/ccn/t/echo", body, **fields)[0] == status, body[:20]
    # it is enough to say that so much comes
    with socket.create_connection(("127.0.0.1", served.port), timeout=10) as s:
        s.sendall(b"POST /ccn/t/echo HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 100000000\r\n\r\n")
        assert s.recv(1000).startswith(b"HTTP/1.1 413 ")
    assert ask(served, "DELETE", "/ccn/t/echo")[0] == 405
    assert ask(served, "GET", "/ccn/t/echo/!{%22a%22:%22alive%22}")[0] == 200


def test_what_is_no_call_is_told_like_a_problem(served):
    """The first call of a newcomer is a form, or a GET: he gets a sentence, not a page of httpd's."""
    for method, path, fields, status, said in (("POST", "/ccn/t/echo", {"Content_Type": "application/x-www-form-urlencoded"}, 415, "application/json"),
                                               ("GET", "/ccn/t/echo", {}, 405, "POST"), ("PUT", "/ccn/t/echo/!{}", {}, 405, "GET")):
        got, body = ask(served, method, path, "" if method == "GET" else "{}", **fields)[:2]
        told = json.loads(body)
        assert (got, told["status"], told["type"]) == (status, status, "about:blank") and said in told["detail"]


def test_a_result_that_can_not_be_written_is_told(served):
    """The call is answered, and the log says that nothing is kept."""
    os.chmod(served.results, 0o500)
    try:
        assert call(served, "/t/echo", {"a": "nowhere to write"})[0] == 200
        lab.wait_for(lambda: "could not be written to the directory of CcnResults" in served.error_log(), 5, "a warning")
    finally:
        os.chmod(served.results, 0o700)


def test_the_papers_form_is_corrected(served):
    paper = '/t/file/!{ \u201cwhat\u201d : \u201c/t/echo/!{ \u201ca\u201d : \u201cx\u201d }\u201d }'
    status, content, _ = ask(served, "GET", "/ccn" + urllib.parse.quote(paper, safe="/!"))
    assert status == 400
    corrected = json.loads(content)["corrected"]
    assert ask(served, "GET", "/ccn" + urllib.parse.quote(corrected, safe="/!"))[0] == 200


# ---- who may ---------------------------------------------------------------------------------------------------------------------

def test_location_says_who_may_call(served):
    """Also where the call stands in another one, or its URL is dressed up."""
    inner = text_of("/t/secret", {"n": 911})
    assert call(served, "/t/secret", {"n": 911})[0] == 403
    assert posted(served, "/t/secret", {"n": 911})[0] == 403
    assert call(served, "/t/file", {"what": inner})[0] == 403
    assert call(served, "/t/file", {"what": text_of("/t/file", {"what": inner})})[0] == 403
    for path in ("/ccn/t/secre%74/!{%22n%22:911}", "/ccn/t/secret/!{%22n%22:%22/../../../../%22}", "/ccn/t/./secret/!{%22n%22:911}", "/ccn/t//secret/!{%22n%22:911}"):
        assert ask(served, "GET", path)[0] in (403, 404), path
    assert not runs(served, "n=911")


def test_over_says_which_way(served):
    assert call(served, "/t/web", {"n": 501})[0] == 200
    assert by_name(served, "/t/net", {"n": 502})[0] == 0
    assert problem(call(served, "/t/net", {"n": 503}))[0] == "no-such-service"
    assert b"no-such-service" in by_name(served, "/t/web", {"n": 504})[1]
    # nor in a call that came another way
    assert problem(call(served, "/t/file", {"what": text_of("/t/net", {"n": 505})}))[0] == "not-there"
    assert b"not-there" in by_name(served, "/t/file", {"what": text_of("/t/web", {"n": 506})})[1]
    assert not any(runs(served, f"n={n}") for n in (503, 504, 505, 506))
    # nor when the result is kept of who may
    outer = {"what": text_of("/t/web", {"n": 507})}
    assert call(served, "/t/file", outer)[0] == 200
    assert b"not-there" in by_name(served, "/t/file", outer)[1]


def test_results_are_not_the_sites_own(served):
    headers = call(served, "/t/file", {"what": "data:text/html,<script>alert(1)</script>"})[2]
    assert headers["Content-Security-Policy"] == "sandbox" and headers["X-Content-Type-Options"] == "nosniff"


# ---- what is published -----------------------------------------------------------------------------------------------------------

def test_the_listing(served):
    status, content, headers = ask(served, "GET", "/ccn/")
    assert status == 200 and headers["Content-Type"] == "application/json"
    listed = json.loads(content)["services"]
    assert len(listed) == SERVICES.count("CcnService") - 1      # one is not called over HTTP
    assert listed[0]["name"] == "/t/crash" and listed[0]["parameters"] == [{"name": "n", "required": True, "type": "int"}]
    assert b".cgi" not in content
    said = json.loads(ask(served, "GET", "/ccn/openapi.json")[1])
    assert said["openapi"] == "3.1.0" and len(said["paths"]) == len({s["name"] for s in listed})


def test_the_listing_by_name(served):
    """Behind any service's name; with those that are called over HTTP alone left out."""
    done = subprocess.run([lab.program("ccnget/fairgate-ccnget"), "--forwarder", f"tcp://127.0.0.1:{served.ndn_port}", "ndn:/t/echo/32=services"],
                          capture_output=True, timeout=60, check=False)
    names = [s["name"] for s in json.loads(done.stdout)["services"]]
    assert len(names) == SERVICES.count("CcnService") - 1 and "/t/net" in names and "/t/web" not in names


# ---- slow ones -------------------------------------------------------------------------------------------------------------------

def test_a_slow_call_is_answered_at_once(served):
    began = time.monotonic()
    status, content, headers = call(served, "/t/slow", {"wait": 5})
    assert status == 202 and 2.5 < time.monotonic() - began < 4.5
    assert json.loads(content)["result"] == headers["Location"] and headers["Retry-After"] == "2"
    assert ask(served, "GET", headers["Location"])[0] == 202
    wait_for(lambda: ask(served, "GET", headers["Location"])[0] == 200, 10, "the result")
    _, content, headers = ask(served, "GET", headers["Location"])
    assert content == b"GET wait=5&n=0  127.0.0.1\n" and headers["Cache-Control"] == "max-age=3600"


# ---- services that hang ------------------------------------------------------------------------------------------------------------

def test_a_service_that_hangs_costs_its_own_callers(served):
    """More hanging calls than there are threads: others are answered as before, and those who hang are told when its time is over."""
    with concurrent.futures.ThreadPoolExecutor(40) as pool:
        began = time.monotonic()
        hanging = [pool.submit(call, served, "/t/hangs", {"wait": 6, "n": n}) for n in range(30)]
        wait_for(lambda: sum(runs(served, f"wait=6&n={n}") for n in range(30)) > 1, 5, "runs that hang")
        took = []
        for n in range(40):
            before = time.monotonic()
            assert call(served, "/t/never", {"n": 1000 + n})[0] == 200
            took.append(time.monotonic() - before)
        assert sorted(took)[-3] < 0.5, took
        answers = [f.result() for f in hanging]
        assert time.monotonic() - began < 5
    # told, or told where they will be, when too many threads wait
    assert {status for status, _, _ in answers} <= {202, 503, 504}
    assert {json.loads(content)["type"].rsplit(":", 1)[1] for status, content, _ in answers if status != 202} <= {"too-slow", "busy"}
    # the runs end, and it is as before
    wait_for(lambda: call(served, "/t/hangs", {"wait": 0, "n": 99})[0] == 200, 30, "the service")


# ---- other MPMs --------------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("mpm", ("prefork", "worker"))
def test_another_mpm(request, mpm):
    """With prefork no other request is served by a process while a service runs in it: who calls waits."""
    with lab.kept_lab("services", lambda: request.session.testsfailed > 0) as made_lab:
        settings = f"CcnServices /ccn\nCcnResults {made_lab.dir}/results\nCcnAnswerWithin 1\n{SERVICES}"
        with site(made_lab, mpm=mpm, children=4, files={"work.cgi": WORK.encode(), "number.cgi": NUMBER.encode()}, settings=settings) as s:
            for name in ("work.cgi", "number.cgi"):
                os.chmod(os.path.join(s.htdocs, name), 0o755)
            os.makedirs(os.path.join(s.htdocs, "runs"))
            os.chmod(os.path.join(s.htdocs, "runs"), 0o777)
            assert call(s, "/t/needs", {"n": text_of("/t/number", {"of": "x"})})[:2] == (200, b"GET n=42  127.0.0.1\n")
            assert by_name(s, "/t/echo", {"a": "y"})[:2] == (0, b"GET a=y  127.0.0.1\n")
            assert call(s, "/t/slow", {"wait": 2})[0] == (202 if mpm == "worker" else 200)
            with concurrent.futures.ThreadPoolExecutor(3) as pool:
                assert {f.result()[0] for f in [pool.submit(call, s, "/t/slow", {"wait": 0.5, "n": 5}) for _ in range(3)]} == {200}
            assert runs(s, "wait=0.5&n=5") == 1
            # what is handed to another process is no fresher there
            with concurrent.futures.ThreadPoolExecutor(3) as pool:
                answers = [f.result() for f in [pool.submit(call, s, "/t/hangs", {"wait": 0.5, "n": 6}) for _ in range(3)]]
            assert {(status, headers["Cache-Control"]) for status, _, headers in answers} == {(200, "no-cache")}
            assert runs(s, "wait=0.5&n=6") == 1


def test_other_lines_make_other_results(request):
    """What a line of before has made is not given for it once the line is another one; and again if that comes back."""
    with lab.kept_lab("services", lambda: request.session.testsfailed > 0) as made_lab:
        before = f"CcnServices /ccn\nCcnResults {made_lab.dir}/results\nCcnService /t/number => /number.cgi fresh=1h\n"
        with site(made_lab, files={name: f"#!/bin/sh\necho Content-Type: text/plain\necho\necho {name}\n".encode() for name in ("number.cgi", "other.cgi")},
                  settings=before) as s:
            for name in ("number.cgi", "other.cgi"):
                os.chmod(os.path.join(s.htdocs, name), 0o755)
            assert [call(s, "/t/number", {})[1] for _ in range(2)] == [b"number.cgi\n"] * 2
            for settings, expected in ((before.replace("number.cgi", "other.cgi"), b"other.cgi\n"), (before, b"number.cgi\n")):
                s.settings = settings
                s.graceful()
                wait_for(lambda expected=expected: call(s, "/t/number", {})[1] == expected, 10, "the new generation alone")


def test_a_directory_that_can_not_be_made_is_told_by_configtest(request):
    with lab.kept_lab("services", lambda: request.session.testsfailed > 0) as made_lab:
        nowhere = os.path.join(made_lab.dir, "nowhere", "results")
        accepted, said = Site(made_lab, settings=f"CcnResults {nowhere}").check()
        assert not accepted and f"there is no directory {os.path.dirname(nowhere)}" in said


def test_status_and_log_are_in_order(served):
    assert served.status()["pages"] >= 0
    assert "AddressSanitizer" not in served.error_log() and "exit signal" not in served.log()
