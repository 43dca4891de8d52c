# SPDX-License-Identifier: BSD-2-Clause
"""Results of services that are kept, by name: each is cut and signed once, as a task of the engine, whatever asks for it (docs/services.md, "A result is signed once")."""
import concurrent.futures
import contextlib
import json
import os
import socket
import subprocess
import threading
import urllib.parse

import pytest

from lab import lab
from lab import ndn_wire as wire
from lab.ccn import site
from lab.lab import wait_for
from lab.ndn_face import Face

from test_services import WORK, ask, by_name, runs, text_of

SIZE = 8_000_000
SEGMENT = 4096
SEGMENTS = -(-SIZE // SEGMENT)
SERVICES = """
CcnService /k/many size=int salt=int => /work.cgi?size={size}&salt={salt} fresh=1h
CcnService /k/brief size=int salt=int => /work.cgi?size={size}&salt={salt} fresh=3s
CcnService /k/never size=int salt=int => /work.cgi?size={size}&salt={salt}
CcnService /k/file what=content(1M) => /work.cgi fresh=1h
CcnService /k/slow wait=number => /work.cgi?wait={wait}
"""


@contextlib.contextmanager
def serving(made_lab, settings="", speak="", **options):
    more = f"CcnServices /ccn\nCcnResults {os.path.join(made_lab.dir, 'results')} max=256M\nCcnConnections 16\n{SERVICES}{settings}"
    with site(made_lab, files={"work.cgi": WORK.encode()}, settings=more, speak=speak, **options) as s:
        os.chmod(os.path.join(s.htdocs, "work.cgi"), 0o755)
        os.makedirs(os.path.join(s.htdocs, "runs"))
        os.chmod(os.path.join(s.htdocs, "runs"), 0o777)
        yield s


@pytest.fixture(name="made_lab", scope="module")
def a_lab(request):
    with lab.kept_lab("kept", lambda: request.session.testsfailed > 0) as made:
        yield made


@pytest.fixture(scope="module", params=("digest", "ecdsa"))
def served(request, made_lab):
    speak = ""
    if request.param == "ecdsa":
        key = os.path.join(made_lab.dir, "sign.pem")
        subprocess.run(["openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", key], check=True, capture_output=True)
        subprocess.run(["openssl", "ec", "-in", key, "-pubout", "-out", key + ".pub"], check=True, capture_output=True)
        speak = f"CcnSign {key} /example/KEY/1"
    with serving(made_lab, speak=speak) as s:
        s.verify = ["--verify", key + ".pub"] if speak else []
        yield s


def result(size):
    return (b"result\n" * (size // 7 + 1))[:size]


def kept(served, salt, size=SIZE, service="/k/many"):
    """A result that is kept, and that no Interest has asked for yet; its arguments."""
    arguments = {"salt": salt, "size": size}
    status, content, _ = ask(served, "GET", "/ccn" + urllib.parse.quote(text_of(service, arguments), safe="/!"))
    assert (status, len(content)) == (200, size)
    return arguments


def name_of(arguments, spelled=None, service="/k/many"):
    """The name of the call; `spelled`: how its parameters are written, if not in their one form."""
    return wire.name(service) + ((wire.GENERIC, b"!" + (spelled or json.dumps(arguments, separators=(",", ":"), sort_keys=True)).encode()),)


def variants(arguments, n):
    """So many other ways to write the parameters."""
    return ['{"salt":%s%d,%s"size":%d}' % (" " * (i // 30 + 1), arguments["salt"], " " * (i % 30), arguments["size"]) for i in range(n)]


def face_to(served, address=None):
    if not address:
        return Face.tcp("127.0.0.1", served.ndn_port)
    connection = socket.create_connection(("127.0.0.1", served.ndn_port), 10, source_address=(address, 0))
    return Face(connection)


def asked(face, names, seconds=20, **options):
    """One Interest for each of these names; what they bring, in any order."""
    for name in names:
        face.send(wire.interest(name, prefix=True, fresh=True, lifetime=20000, **options))
    got = []
    for _ in names:
        got.append(face.receive(seconds))
        assert got[-1], f"{len(got) - 1} of {len(names)} Interests have an answer"
    return got


def whole(face, first, stem=None):
    """All bytes of the object that this Data is the first of."""
    last, content = int.from_bytes(first.final[1], "big") if first.final else 0, first.content
    for n in range(1, last + 1):
        more = face.ask((stem or first.name[:-1]) + (wire.segment(n),))
        assert more.final == first.final
        content += more.content
    return content


def signatures(served):
    return served.status()["signatures"]


# ---- once -------------------------------------------------------------------------------------------------------------------------

@pytest.mark.alone
def test_100_interests_for_a_kept_result_of_8_mb_cost_no_more_than_their_own_packets(served):
    """
    CPU seconds of httpd's children.  An Interest whose answer is kept costs its parsing, the look at the result's file and a copy: some
    50 us, and 500 us are allowed, so that the reading of the file alone (5 ms) would be seen, and 20 ms for its cutting, with digests.
    /proc counts in 10 ms for each process and thread: 50 ms are allowed for that.
    """
    arguments = kept(served, 1)
    with face_to(served) as face:
        first = asked(face, [name_of(arguments)])[0]
        before = served.cpu()
        got = asked(face, [name_of(arguments)] * 100)
        cost = served.cpu() - before
        assert [p.name for p in got] == [first.name] * 100
        assert cost < 100 * 0.0005 + 0.05, cost


def test_10000_interests_for_kept_results_sign_each_segment_once(served):
    """The first Interests come from many connections at one time; each way to ask has an answer of its own, and segments are fetched again and again."""
    results = [kept(served, 10 + i, 400_000) for i in range(5)]
    segments = 5 * -(-400_000 // SEGMENT)
    together = threading.Barrier(8)
    before = signatures(served)
    with contextlib.ExitStack() as stack, concurrent.futures.ThreadPoolExecutor(8) as pool:
        faces = [stack.enter_context(face_to(served)) for _ in range(8)]

        def fetch(face):
            for arguments in results:
                together.wait(60)       # a result that was fetched goes after two seconds
                for _ in range(2):
                    first = asked(face, [name_of(arguments)])[0]
                    assert whole(face, first) == result(400_000)
                assert len({p.name for p in asked(face, [name_of(arguments)] * 60)}) == 1
                assert len(asked(face, [name_of(arguments) + ((wire.KEYWORD, b"metadata"),)] * 20)) == 20
        list(pool.map(fetch, faces))
    assert segments <= signatures(served) - before <= 1.2 * segments


def test_the_same_call_written_in_many_ways_is_signed_once(served):
    """Of each name the answer is signed, and those segments that are asked for."""
    arguments = kept(served, 20, 2_000_000)
    segments = -(-2_000_000 // SEGMENT)
    names = [name_of(arguments, spelled) for spelled in variants(arguments, 100)]
    before = signatures(served)
    with face_to(served) as face:
        got = asked(face, names)
        assert sorted(p.name[:len(names[0])] for p in got) == sorted(names)
        assert served.verify or all(p.signed_by(wire.Digest()) for p in got)
        assert signatures(served) - before <= segments + 100
        assert [p.name for p in asked(face, names[:1] * 50)] == [next(p.name for p in got if p.name[:len(names[0])] == names[0])] * 50
        assert signatures(served) - before <= segments + 100
        assert whole(face, got[0]) == result(2_000_000)
        assert signatures(served) - before <= 2 * segments + 100
    assert runs(served, "size=2000000&salt=20") == 1


def test_the_same_call_written_in_another_way_verifies(served):
    """The command asks for all segments under the name that it was given."""
    arguments = kept(served, 25, 100_000)
    escaped = "ndn:/k/many/" + urllib.parse.quote("!" + variants(arguments, 2)[1], safe="")
    done = subprocess.run([lab.program("ccnget/fairgate-ccnget"), "--forwarder", f"tcp://127.0.0.1:{served.ndn_port}", *served.verify, escaped],
                          capture_output=True, timeout=30, check=False)
    assert (done.returncode, done.stdout) == (0, result(100_000)), done.stderr
    assert runs(served, "size=100000&salt=25") == 1


def test_the_same_call_with_its_parameters_beside_the_name_is_signed_once(served):
    arguments = kept(served, 21, 2_000_000)
    segments = -(-2_000_000 // SEGMENT)
    before = signatures(served)
    with face_to(served) as face:
        got = [asked(face, ["/k/many"], params=spelled.encode())[0] for spelled in variants(arguments, 40)]
        assert len({p.name for p in got}) == 40
        assert signatures(served) - before <= segments + 40
        first = got[7]
        parts = dict(first.name)
        stem = wire.name("/k/many") + ((wire.KEYWORD, b"result"), (wire.GENERIC, parts[wire.PARAMS_DIGEST].hex().encode()), (wire.VERSION, parts[wire.VERSION]))
        assert face.ask(stem + (wire.segment(1),)).final == first.final
        wait_for(lambda: served.status()["fetched_pages"] == 0, 10, "the end of what was fetched: its client has a pause")
        assert whole(face, first, stem) == result(2_000_000)


def test_a_call_that_is_too_long_for_a_name_has_all_its_segments(served):
    with face_to(served) as face:
        for _ in range(2):
            first = asked(face, ["/k/file"], params=json.dumps({"what": "x" * 7000}).encode())[0]
            parts = dict(first.name)
            assert len(first.name) == 5
            stem = wire.name("/k/file") + ((wire.KEYWORD, b"result"), (wire.GENERIC, parts[wire.PARAMS_DIGEST].hex().encode()), (wire.VERSION, parts[wire.VERSION]))
            assert whole(face, first, stem).endswith(b"\n" + b"x" * 7000)


def test_a_kept_result_asked_for_from_another_address_is_not_signed_again(served):
    """Nothing of a caller reaches a service: what one gets all may have."""
    arguments = kept(served, 22, 400_000)
    with face_to(served) as face:
        first = asked(face, [name_of(arguments)])[0]
        assert whole(face, first) == result(400_000)
    before = signatures(served)
    with face_to(served, "127.0.0.9") as face:
        again = asked(face, [name_of(arguments)])[0]
        assert again.name == first.name and whole(face, again) == result(400_000)
    assert signatures(served) == before


def test_metadata_of_a_kept_result_name_its_object(served):
    """In one segment and in many, under the name that was asked for."""
    for salt, size in ((23, 100), (24, 100_000)):
        arguments = kept(served, salt, size)
        for spelled in (None, *variants(arguments, 2)):
            with face_to(served) as face:
                name = name_of(arguments, spelled)
                meta = face.ask(name + ((wire.KEYWORD, b"metadata"),), prefix=True, fresh=True, seconds=10)
                assert meta.name[:len(name) + 1] == name + ((wire.KEYWORD, b"metadata"),)
                version = (wire.VERSION, dict(meta.name)[wire.VERSION])
                first = face.ask(name + (version, wire.segment(0)), seconds=10)
                assert first.name == name + (version, wire.segment(0)) and whole(face, first) == result(size)


def test_a_kept_result_asked_for_without_canbeprefix_has_just_that_name(served):
    """If it is one segment; the others are refused, as pages are."""
    with face_to(served) as face:
        for spelled in (0, 1):
            few, many = kept(served, 26, 100), kept(served, 27, 100_000)
            name = name_of(few, variants(few, 1)[0] if spelled else None)
            for _ in range(2):
                got = face.ask(name, fresh=True, seconds=10)
                assert (got.name, got.content) == (name, result(100))
            got = face.ask(name_of(many, variants(many, 1)[0] if spelled else None), fresh=True, seconds=10)
            assert {k: v for k, v, _, _ in wire.elements(got.fields[wire.META_INFO])}[0xF522] == (406).to_bytes(2, "big")


def test_listings_by_name_are_signed_once(served):
    with face_to(served) as face:
        asked(face, ["/k/many/32=services"] * 40)
        before = signatures(served)
        got = asked(face, ["/k/many/32=services"] * 100)
        assert all(json.loads(p.content)["services"] for p in got)
        assert signatures(served) - before <= 4      # a listing is made again every 10 s, by each of two processes


# ---- in its turn ------------------------------------------------------------------------------------------------------------------

def test_a_kept_result_that_has_to_be_cut_waits_for_a_slot(made_lab):
    """What is cut already does not."""
    with serving(made_lab, "CcnThreads 1\n", children=1) as s, face_to(s) as face, face_to(s) as other:
        ready, new = kept(s, 30, 100_000), kept(s, 31, 100_000)
        first = asked(face, [name_of(ready)])[0]
        other.send(wire.interest(f"{s.prefix_name}/work.cgi%3Fwait=3", prefix=True, lifetime=10000))
        wait_for(lambda: s.status()["outstanding"] == 1, 5, "the page that has the slot")
        face.send(wire.interest(name_of(new), prefix=True, lifetime=10000), wire.interest(name_of(ready), prefix=True, lifetime=10000))
        assert face.receive(2).name == first.name
        assert face.receive(1) is None
        assert whole(face, face.receive(10)) == result(100_000)


# ---- what is kept, and for how long -----------------------------------------------------------------------------------------------

def test_a_kept_result_that_made_room_is_cut_again_under_the_same_names(made_lab):
    """Its client does not learn of it: segments of a kept result are never gone."""
    with serving(made_lab, "CcnKeep 1\n", children=1) as s, face_to(s) as face:
        arguments = kept(s, 40, 300_000)
        for spelled in (None, *variants(arguments, 1)):
            first = asked(face, [name_of(arguments, spelled)])[0]
            wait_for(lambda: s.status()["kept_pages"] == s.status()["fetched_pages"] == 0, 20, "no page that is kept")
            assert whole(face, first) == result(300_000)
        assert runs(s, "size=300000&salt=40") == 1


def test_a_kept_result_that_is_removed_before_its_turn_is_made_again(made_lab):
    with serving(made_lab, "CcnThreads 1\n", children=1) as s, face_to(s) as face, face_to(s) as other:
        arguments = kept(s, 41, 100_000)
        other.send(wire.interest(f"{s.prefix_name}/work.cgi%3Fwait=2", prefix=True, lifetime=10000))
        wait_for(lambda: s.status()["outstanding"] == 1, 5, "the page that has the slot")
        face.send(wire.interest(name_of(arguments), prefix=True, lifetime=10000))
        wait_for(lambda: s.status()["queued"] == 1, 5, "the result that waits")
        results = os.path.join(made_lab.dir, "results")
        for name in os.listdir(results):
            os.unlink(os.path.join(results, name))
        assert whole(face, face.receive(10)) == result(100_000)
        assert runs(s, "size=100000&salt=41") == 2


def test_a_kept_result_asked_for_with_fields_is_sealed(served):
    """It has one run, and is what others get."""
    arguments = kept(served, 42, 100_000)
    assert by_name(served, "/k/many", arguments, "--header", "Accept: */*", *served.verify)[:2] == (0, result(100_000))
    assert runs(served, "size=100000&salt=42") == 1


def test_data_of_a_kept_result_are_not_fresh_for_longer_than_the_result(made_lab):
    with serving(made_lab, children=1) as s, face_to(s) as face:
        arguments = {"salt": 50, "size": 20_000}
        name, firsts, made = name_of(arguments, service="/k/brief"), [], 0

        def another():
            nonlocal made
            p = face.ask(name, prefix=True, fresh=True, seconds=10)
            version = int.from_bytes(dict(p.name)[wire.VERSION], "big")
            made = made or version
            firsts.append((version, p.freshness))
            return version != made
        wait_for(another, 10, "another run")
        left = [fresh for version, fresh in firsts if version == made]
        assert left == sorted(left, reverse=True) and 2500 < left[0] <= 3000 and left[-1] < 500, left
        assert runs(s, "size=20000&salt=50") == 2


@pytest.mark.parametrize("mpm", ("event", "worker", "prefork"))
def test_a_result_that_is_not_kept_has_all_its_segments(made_lab, mpm):
    with serving(made_lab, mpm=mpm, children=1) as s, face_to(s) as face:
        for size in (10, 100_000):
            arguments = {"salt": 60, "size": size}
            for spelled in (None, *variants(arguments, 2)):
                first = asked(face, [name_of(arguments, spelled, "/k/never")])[0]
                assert first.freshness == 0 or first.freshness is None
                assert whole(face, first) == result(size)
            assert runs(s, f"size={size}&salt=60") == 3


def test_calls_that_wait_behind_another_one_in_prefork_are_run(made_lab):
    """One connection is one process there, which runs one after the other."""
    with serving(made_lab, mpm="prefork", children=1) as s, face_to(s) as face:
        got = asked(face, [name_of({"salt": 70 + i, "size": 10}, service="/k/never") for i in range(8)])
        assert [p.content for p in got] == [result(10)] * 8


def test_versions_that_never_were_are_gone(served):
    with face_to(served) as face:
        for name in (name_of({"salt": 1, "size": 5}), wire.name("/k/many") + ((wire.KEYWORD, b"result"), (wire.GENERIC, b"0" * 64))):
            got = face.ask(name + ((wire.VERSION, (5).to_bytes(1, "big")), wire.segment(3)), seconds=10)
            assert {k: v for k, v, _, _ in wire.elements(got.fields[wire.META_INFO])}[0xF522] == (410).to_bytes(2, "big")
