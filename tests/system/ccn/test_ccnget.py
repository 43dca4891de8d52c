# SPDX-License-Identifier: BSD-2-Clause
"""fairgate-ccnget: pages, what HTTP and people are told of them, private requests, signatures."""
import os
import pty
import select
import subprocess
import time

import pytest
from ccn_get import BODY, command, figures, get
from ccn_producer import Pages, Producer, data, segment_of

from lab import lab
from lab import ndn_wire as wire
from lab.ndn_seal import Server
from lab.ndn_wire import lp, name, name_tlv, tlv

SECRET = bytes(range(32))


@pytest.fixture
def secret(tmp_path):
    def write(content=SECRET, file="secret"):
        (tmp_path / file).write_text(content.hex() + "\n")
        (tmp_path / file).chmod(0o600)
        return tmp_path / file
    return write


# ---- whole pages -----------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("segments", (1, 2, 3, 10, 150, 2000))
@pytest.mark.parametrize("window", ("hint", "cubic", "aimd", "1", "100"))
def test_whole(tmp_path, segments, window):
    pages = Pages().add("/example/page", BODY[:segments * 1000 - 7], status=200, window=max(1, segments // 5), version=99)
    with Producer(pages.answer) as p:
        status, out, said = get(p, "--output", tmp_path / "page", "--window", window, "--json")
    assert (status, said) == (0, "")
    assert (tmp_path / "page").read_bytes() == BODY[:segments * 1000 - 7]
    assert set(pages.segments()) == set(range(1, segments)), "but the first, which the page's name brings"
    assert len(pages.asked) == segments + figures(out)["retransmissions"]
    first, *others = pages.asked
    assert first.prefix and first.fresh and first.name == name("/example/page")
    assert not any(i.prefix or i.fresh or i.params for i in others)
    assert len({i.nonce for i in pages.asked}) > len(pages.asked) - 3, "random ones"


@pytest.mark.parametrize("kind", ("tcp", "unix", "wrapped"))
def test_to_standard_output(tmp_path, kind):
    pages = Pages().add("/example/page", BODY[:30000], window=7, version=1 << 40)
    with Producer(pages.answer, (lambda all: [lp(p, mark=1) for p in all]) if kind == "wrapped" else lambda all: all,
                  str(tmp_path / "socket") if kind == "unix" else None) as p:
        status, out, said = get(p, "--json", page="ndn:/example/page")
    assert status == 0 and out == BODY[:30000]
    f = figures(said)
    assert (f["status"], f["segments"], f["bytes"], f["interests"], f["retransmissions"], f["losses"]) == (200, 30, 30000, 30, 0, 0)
    assert (f["hint"], f["version"], f["marks"]) == (7, 1 << 40, 30 if kind == "wrapped" else 0)
    assert f["window"] < 7 if kind == "wrapped" else f["window"] >= 7     # it grows by one each round trip
    assert 0 < f["connected_seconds"] < f["first_segment_seconds"] < f["seconds"]


def test_whom_to_ask(tmp_path):
    pages = Pages().add("/example/page", b"here")
    with Producer(pages.answer) as p:
        assert get(p, env={"NDN_CLIENT_TRANSPORT": p.uri.replace("tcp:", "tcp4:")}) == (0, b"here", "")
        assert get(p, page="ccnx:/example/page") == (0, b"here", "")
        assert get(p, "-o", tmp_path / "page") == (0, b"", "") and (tmp_path / "page").read_bytes() == b"here"
        dead = lab.free_port()
        status, out, said = get(None, "--forwarder", f"tcp://127.0.0.1:{dead}", env={"NDN_CLIENT_TRANSPORT": p.uri})
        assert (status, out) == (7, b"") and said == f"fairgate-ccnget: 127.0.0.1 port {dead}: Connection refused\n"
        status, out, said = get(None, "--forwarder", f"unix://{tmp_path}/none")
        assert (status, out) == (7, b"") and said == f"fairgate-ccnget: {tmp_path}/none: No such file or directory\n"


WRONG = ((), ("/a", "/b"), ("--frob", "/a"), ("-x", "/a"), ("-o",), ("no-name",), ("/",), ("--window", "some", "/a"), ("--window", "0", "/a"), ("--window", "1025", "/a"), ("--header", "no field", "/a"),
         ("--header", "A: b\nC: d", "/a"), ("--header", "Ccn-Nonce: 0", "/a"), ("--header", "ccn-key: 0", "/a"), ("--header", "A: " + "b" * 4096, "/a"), ("--resume", "/a"), ("--key", "x", "/a"),
         ("--verify-name", "/x", "/a"), ("--forwarder", "udp://127.0.0.1", "/a"), ("--forwarder", "tcp://", "/a"), ("--forwarder", "tcp://h:0", "/a"),
         ("--forwarder", "unix://" + "x" * 200, "/a"), ("--verify", "/nowhere", "/a"), ("--tries", "101", "/a"), ("/a/params-sha256=" + "00" * 32,))


@pytest.mark.parametrize("words", WRONG)
def test_wrong_usage(words):
    r = subprocess.run(command(*words), capture_output=True, text=True, check=False, env={**os.environ, "NDN_CLIENT_TRANSPORT": ""})
    assert r.returncode == 2 and r.stdout == "" and r.stderr.startswith("fairgate-ccnget: " if words else "usage: fairgate-ccnget"), r.stderr
    assert r.stderr.count("--help") == 1, r.stderr


# ---- what HTTP says --------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("segments", (1, 5))
@pytest.mark.parametrize("status,kind,exits,by_status", ((200, None, 0, 2), (204, 0, 0, 2), (None, None, 0, 2), (304, None, 1, 3), (404, 3, 22, 4), (410, 3, 22, 4),
                                                                 (503, None, 22, 5), (None, 3, 1, 1)))
def test_status(status, kind, exits, by_status, segments):
    body = BODY[:segments * 1000]
    first = {k: v for k, v in (("status", status), ("kind", kind)) if v is not None}
    pages = Pages().add("/example/page", body, **first)
    with Producer(pages.answer) as p:
        code, out, said = get(p, "--json")
        assert (code, out) == (exits, body)
        assert figures(said)["status"] == (status if status or kind else 200)
        sentence = f"status {status}" if status else "the producer says that there is no such thing"
        assert exits == 0 or said.startswith(f"fairgate-ccnget: /example/page: {sentence}\n")
        assert get(p, "--status-exit")[0] == by_status


@pytest.mark.parametrize("private", (False, True))
def test_how_the_bytes_are_encoded(private):
    """It is said, and they are written as they came."""
    words = ("--header", "Cookie: a") if private else ()
    pages = Pages().add("/example/page", BODY[:5000], status=200, media_type=b"text/css", encoding=b"gzip")
    pages.add("/example/odd", b"", encoding=b"\x1b[0m\xff").add("/example/plain", b"")
    pages.add("/example/moved", b"", status=302, location="/example/plain", encoding=b"br", media_type=b"text/html")
    with Producer(pages.answer) as p:
        status, out, said = get(p, *words, "--json", "--timings")
        f = figures(said)
        assert (status, out) == (0, BODY[:5000]) and (f["content_type"], f["content_encoding"]) == ("text/css", "gzip") and "\nContent-Encoding gzip\n" in said
        status, _, said = get(p, *words, "--json", "--timings", page="/example/odd")
        assert status == 0 and figures(said)["content_encoding"] == "\x1b[0m\ufffd" and "\x1b" not in said
        for page in ("/example/plain", "/example/moved"):
            f = figures(get(p, *words, "--json", "--location", page=page)[2])
            assert f["content_type"] is f["content_encoding"] is None


def test_redirects():
    pages = Pages().add("/example/page", b"moved", status=302, location="ndn:/example/there").add("/example/there", b"no, there", status=301, location="/example/end")
    pages.add("/example/end", BODY[:5000], status=200).add("/loop", b"", status=302, location="/loop").add("/out", b"out", status=302, location="http://h/\x1b[0m")
    with Producer(pages.answer) as p:
        assert get(p, "--location") == (0, BODY[:5000], "")
        status, out, said = get(p)
        assert (status, out) == (1, b"moved") and said.endswith(": status 302, it leads to ndn:/example/there; --location goes there\n")
        pages.asked.clear()
        status, out, said = get(p, "--location", page="/loop")
        assert (status, out) == (47, b"") and said == "fairgate-ccnget: /loop: more than 10 redirects\n" and len(pages.asked) == 11
        status, out, said = get(p, "--location", page="/out")
        assert (status, out) == (1, b"") and "status 302, it leads to what is no name: " in said and "\x1b" not in said


def test_a_version_that_is_gone(tmp_path):
    """It is fetched anew, three times at most, and not if some of it was given away."""
    class Changing(Pages):
        changes, version = 2, 1

        def answer(self, packet):
            if segment_of(packet) == 30 and self.changes:
                self.changes -= 1
                self.version += 1
                self.add("/example/page", BODY[(self.version - 1) * 50000:][:50000], version=self.version)
            return super().answer(packet)

    pages = Changing().add("/example/page", BODY[:50000], version=1)
    with Producer(pages.answer) as p:
        status, _, said = get(p, "--output", tmp_path / "page")
        assert (status, said) == (0, "") and (tmp_path / "page").read_bytes() == BODY[100000:150000]
        pages.changes = 9
        status, _, said = get(p, "--output", tmp_path / "page")
        assert status == 1 and said == "fairgate-ccnget: /example/page: the producer makes it anew faster than it can be fetched\n"
        pages.changes = 1
        status, out, said = get(p)
        assert status == 1 and said == "fairgate-ccnget: /example/page: the producer made it anew while it was being fetched; ask again\n"
        assert 0 < len(out) <= 30000 and out in BODY


# ---- other producers -------------------------------------------------------------------------------------------------

def test_other_producers():
    """Those that know nothing of our elements, and have other ways to name what they have."""
    body, page, versioned = BODY[:9500], name("/example/page"), name("/example/page/v=7")

    def segments(i, base, last=lambda segment: 9):
        segment = segment_of(i)
        known = i.name[:-1] == base and segment is not None and segment <= 9
        return [data(i.name, body[segment * 1000:][:1000], last=last(segment))] if known else []

    def first(i, *packets):
        return list(packets) if i.name == page else []

    def uneven(segment):
        return body[segment * segment * 100:][:(2 * segment + 1) * 100]

    answers = {
        "one packet of just that name": lambda i: first(i, data(page, body[:5000])),
        "one packet with a version": lambda i: first(i, data(versioned, body[:5000])),
        "no version": lambda i: segments(i, page) or first(i, data("/example/page/seg=0", body[:1000], last=9)),
        "only the last says that it is": lambda i: segments(i, versioned, lambda s: 9 if s == 9 else None) or first(i, data("/example/page/v=7/seg=0", body[:1000])),
        "another segment than the first": lambda i: segments(i, versioned) or first(i, data("/example/page/v=7/seg=5", body[5000:6000], last=9)),
        "metadata": lambda i: segments(i, versioned) or first(i, data("/example/page/32=metadata/v=3/seg=0", name_tlv(versioned) + tlv(26, tlv(50, 9)))),
        "sizes that differ": lambda i: [data((*versioned, wire.segment(s)), uneven(s), last=9) for s in [segment_of(i) or 0] if i.name[:2] == page],
    }
    for what, answer in answers.items():
        with Producer(answer) as p:
            right = body[:5000] if "one packet" in what else body
            assert get(p, "--tries", "2", "--lifetime", "1000") == (0, right, ""), what


# ---- private requests, signatures ------------------------------------------------------------------------------------

def test_a_private_request(secret):
    pages = Pages().add("/example/page", BODY[:20000], window=4)
    with Producer(pages.answer) as p:
        for _ in range(2):
            assert get(p, "--header", "Cookie: session=1", "--header", "Accept-Language: de") == (0, BODY[:20000], "")
        asked = pages.asked[:]
        pages.asked.clear()
        assert get(p, "--key", secret(), "--key-name", "/me/key") == (0, BODY[:20000], "")
    first = [i for i in asked if segment_of(i) is None]
    assert len(first) == 2 and first[0].name != first[1].name, "each request has a name of its own"
    for i in first:
        *lines, nonce, key, end = i.params.decode().split("\n")
        assert key.startswith("Ccn-Key: ") and len(bytes.fromhex(key[9:])) == 32
        assert lines == ["Cookie: session=1", "Accept-Language: de"] and end == "" and nonce.startswith("Ccn-Nonce: ") and len(bytes.fromhex(nonce[11:])) == 16
        assert i.name[:-1] == name("/example/page") and i.name[-1][0] == wire.PARAMS_DIGEST
    for i in asked:
        if segment_of(i) is not None:
            assert i.params is None and i.name[2] == (wire.KEYWORD, b"result") and i.name[3][1].decode() in [f.name[-1][1].hex() for f in first]
    signed = pages.asked[0]
    assert signed.signed_by(wire.Hmac(SECRET, "/me/key")) and name_tlv("/me/key") in signed.signature[wire.KEY_LOCATOR]
    assert len(signed.signature[wire.SIGNATURE_NONCE]) == 8 and abs(wire.read_integer(signed.signature[wire.SIGNATURE_TIME]) / 1000 - time.time()) < 60


def test_a_private_request_that_is_lost(secret):
    """Unsigned it is the same at each try, and an answer to the first is one to the last; a signed one is made anew, since a server takes none twice."""
    for words in (("--header", "A: b"), ("--key", secret(), "--key-name", "/me")):
        pages, tries = Pages().add("/example/page", BODY[:3000]), []

        def answer(i, pages=pages, tries=tries):
            if segment_of(i) is None:
                tries.append(i)
                return pages.answer(tries[0]) if len(tries) == 3 else []
            return pages.answer(i)

        with Producer(answer) as p:
            assert get(p, *words, "--lifetime", "200") == (0, BODY[:3000], "")
        assert len(tries) == 3 and len({t.name for t in tries}) == (3 if "--key" in words else 1) and len({t.nonce for t in tries}) == 3


def sealed_answer(change):
    """What answers private requests with a page of three segments: change(server, interest, segment) -> what stands in the place of it, or None."""
    body, kept = BODY[:2500], {}

    def answer(i):
        if i.params is not None:
            result = (*i.name[:-1], (wire.KEYWORD, b"result"), (wire.GENERIC, i.name[-1][1].hex().encode()), wire.version(1))
            kept[result] = server = Server(i)
            segment, of = 0, (*i.name, wire.version(1), wire.segment(0))
        else:
            result, segment, of = i.name[:-1], segment_of(i), i.name
            server = kept[result]
        said = {"last": 2, "seal": None if segment else server.key}
        content = server.seal(result, segment, 2, (b"" if segment else server.head(200)) + body[1000 * segment:][:1000])
        return [data(of, **{**said, "content": content, **(change(server, result, segment) or {})})]

    return body, answer


def test_an_answer_that_is_not_sealed_for_the_request():
    """It is not taken, whoever says that it is right; a refusal that is not sealed is, for who refuses may not know the key."""
    words, few = ("--header", "Cookie: a"), ("--tries", "2", "--lifetime", "300")
    body, answer = sealed_answer(lambda *_: None)
    with Producer(answer) as p:
        assert get(p, *words) == (0, body, "")

    plain = {"seal": None, "content": b"plain", "last": 0}
    others = {
        "plain": lambda server, page, n: plain,
        "plain, and says that it is right": lambda server, page, n: {**plain, "status": 200},
        "a redirect in plain": lambda server, page, n: {**plain, "status": 302, "location": "/example/page"},
        "a status without a negative answer": lambda server, page, n: {**plain, "status": 403},
        "another's key": lambda server, page, n: {"seal": bytes(31) + b"\1"},
        "a key that is none": lambda server, page, n: {"seal": bytes(32)},
        "of another name": lambda server, page, n: {"content": server.seal((*page, wire.segment(0)), 0, 2, server.head(200))},
        "shorter than it was": lambda server, page, n: {"last": 1},
        "without its head": lambda server, page, n: {"content": server.seal(page, 0, 2, b"text")},
        "nothing": lambda server, page, n: {"content": b""},
        "a negative answer without a status": lambda server, page, n: {**plain, "kind": 3},
    }
    for what, change in others.items():
        with Producer(sealed_answer(change)[1]) as p:
            status, out, said = get(p, *words, *few)
        assert status == 1 and out == b"" and "sealed" in said, (what, status, said)
    with Producer(sealed_answer(lambda *_: {**plain, "content": b"no\n", "kind": 3, "status": 403})[1]) as p:
        status, out, said = get(p, *words)
    assert (status, out) == (22, b"no\n") and "status 403" in said


def test_a_segment_that_is_not_sealed_for_the_request():
    """One that follows is asked for again, and what came in its place is never part of the page."""
    words = ("--header", "Cookie: a", "--tries", "2", "--lifetime", "300", "--json")
    changes = {
        "plain": lambda server, page: {"content": b"plain"},
        "another one": lambda server, page: {"content": server.seal(page, 2, 2, b"other")},
        "of another page": lambda server, page: {"content": server.seal(page[:-1], 1, 2, b"other")},
        "the last one": lambda server, page: {"last": 1},
    }
    for what, change in changes.items():
        for times in (1, 2):
            left = [change] * times     # so often the second segment is another one
            body, answer = sealed_answer(lambda server, page, n, left=left: left.pop()(server, page) if n == 1 and left else None)
            with Producer(answer) as p:
                status, out, said = get(p, *words)
            if times == 1:
                assert (status, out) == (0, body) and figures(said)["retransmissions"] == 1, (what, status, said)
            else:
                assert status == 28 and body.startswith(out) and len(out) <= 1000 and "not sealed for this request" in said, (what, status, said)


def test_a_private_request_is_sent_to_nobody_else():
    pages = Pages().add("/example/page", b"", status=302, location="/example/near").add("/example/near", b"near").add("/example/far", b"", status=302, location="/elsewhere")
    with Producer(pages.answer) as p:
        assert get(p, "--location", "--header", "Cookie: a") == (0, b"near", "")
        pages.asked.clear()
        status, _, said = get(p, "--location", "--header", "Cookie: a", page="/example/far")
    assert status == 1 and "redirected to a name with another beginning" in said and len(pages.asked) == 1


def test_each_request_has_a_key_and_a_nonce_of_its_own(tmp_path):
    """One that follows a redirect, and one for a page that is gone, too: answers to both could else be opened by one key."""
    class Forgetful(Pages):
        forgets = 2

        def answer(self, packet):
            if segment_of(packet) == 2 and self.forgets:
                self.forgets -= 1
                self.asked.append(packet)
                return [data(packet.name, b"gone", kind=3, status=410)]
            return super().answer(packet)

    pages = Forgetful().add("/example/page", b"", status=302, location="/example/near").add("/example/near", BODY[:5000])
    with Producer(pages.answer) as p:
        assert get(p, "--location", "--header", "Cookie: a", "--output", tmp_path / "page") == (0, b"", "")
    assert (tmp_path / "page").read_bytes() == BODY[:5000]
    private = [i for i in pages.asked if i.params is not None]
    lines = [i.params.split(b"\n") for i in private]
    assert [i.name[1][1] for i in private] == [b"page", b"near", b"near", b"near"]
    assert all([x.split(b":")[0] for x in line] == [b"Cookie", b"Ccn-Nonce", b"Ccn-Key", b""] for line in lines)
    assert len({line[1] for line in lines}) == len({line[2] for line in lines}) == 4


def test_signed_pages(secret):
    other = secret(b"another secret of some length...", "other")
    pages = Pages(sign=wire.Hmac(SECRET, "/site/key/1")).add("/example/page", BODY[:9000], window=3)
    digests = Pages().add("/example/page", BODY[:9000])
    few = ("--tries", "1", "--lifetime", "300")
    with Producer(pages.answer) as p, Producer(digests.answer) as q:
        assert get(p, "--verify", secret()) == (0, BODY[:9000], "")
        assert get(p, "--verify", secret(), "--verify-name", "/site/key") == (0, BODY[:9000], "")
        for producer, words in ((p, ("--verify", other)), (p, ("--verify", secret(), "--verify-name", "/site/key/2")), (q, ("--verify", secret()))):
            assert get(producer, *few, *words) == (28, b"", "fairgate-ccnget: /example/page: no answer after 1 tries; what came is not signed as it should be\n")
        status, out, said = get(p)
        assert (status, out) == (1, b"") and "--verify FILE" in said


# ---- people ----------------------------------------------------------------------------------------------------------

def test_progress_is_for_a_terminal():
    pages = Pages().add("/example/page", BODY[:400000])
    with Producer(pages.answer, lambda packets: time.sleep(0.002) or packets) as p:     # so that it lasts some tenths of a second
        for quiet in ((), ("--quiet",)):
            ours, theirs = pty.openpty()
            child = subprocess.Popen(command("--forwarder", p.uri, "--output", "/dev/null", "--window", "1", *quiet, "/example/page"), stderr=theirs)
            os.close(theirs)
            seen = b""
            while select.select([ours], [], [], 20)[0]:
                try:
                    seen += os.read(ours, 4096)
                except OSError:     # how a terminal ends whose other side is closed
                    break
            assert child.wait(10) == 0
            os.close(ours)
            drawn = seen.count(b"] ")
            assert drawn == 0 if quiet else 2 <= drawn and b" of 400 segments" in seen and seen.endswith(b"\r\x1b[K"), seen


def test_timings():
    pages = Pages().add("/example/page", BODY[:5000], window=4)
    with Producer(pages.answer) as p:
        status, out, said = get(p, "--timings")
    assert (status, out) == (0, BODY[:5000])
    assert "5 segments, 5000 bytes" in said and "5 Interests, 0 of them once more; 0 losses, 0 marks; window 9, the server says 4\n" in said
