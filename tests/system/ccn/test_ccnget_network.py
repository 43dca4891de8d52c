# SPDX-License-Identifier: BSD-2-Clause
"""fairgate-ccnget on a network that loses, reorders and breaks, and on a hostile one: a page is right byte for byte, or there is none."""
import collections
import random
import resource
import subprocess
import time

import pytest
from ccn_get import BODY, command, figures, get
from ccn_producer import Page, Pages, Producer, data, segment_of

from lab import lab
from lab.ndn_wire import lp, name_tlv, tlv


# ---- what a network does ---------------------------------------------------------------------------------------------

def worse(loss=0, twice=0, shuffled=False, seed=1, mark=0):
    r = random.Random(seed)

    def way(packets):
        sent = [lp(p, mark=1) if r.random() < mark else p for p in packets if r.random() >= loss]
        sent += [p for p in sent if r.random() < twice]
        if shuffled:
            r.shuffle(sent)
        return sent
    return way


@pytest.mark.parametrize("how", ({"loss": 0.05}, {"shuffled": True}, {"twice": 0.5}, {"loss": 0.1, "twice": 0.3, "shuffled": True, "mark": 0.1}))
@pytest.mark.parametrize("segments,to_file", ((1, True), (7, False), (300, True), (300, False), (2000, True)))
def test_lost_reordered_and_duplicated(tmp_path, how, segments, to_file):
    if segments == 2000 and how.get("loss"):
        how = {**how, "loss": 0.01}
    pages = Pages().add("/example/page", BODY[:segments * 1000], window=64)
    with Producer(pages.answer, worse(**how)) as p:
        status, out, said = get(p, "--tries", "30", "--lifetime", "500", "--json", *(("--output", tmp_path / "page") if to_file else ()))
    f = figures(out if to_file else said)
    assert status == 0 and ((tmp_path / "page").read_bytes() if to_file else out) == BODY[:segments * 1000]
    assert f["bytes"] == segments * 1000 and f["interests"] == len(pages.asked) >= segments
    assert f["retransmissions"] == len(pages.asked) - segments and (f["retransmissions"] == 0) == (f["losses"] == 0)
    if not how.get("loss"):
        assert f["losses"] == 0
    by_segment = collections.defaultdict(set)
    for i in pages.asked:
        by_segment[segment_of(i)].add(i.nonce)
    assert sum(map(len, by_segment.values())) > len(pages.asked) - 3, "a nonce of its own for each try"


@pytest.mark.parametrize("first", (True, False))
def test_no_answer(first):
    """Each try waits; then it ends, and says so."""
    pages = Pages().add("/example/page", BODY[:3000])
    with Producer(lambda i: pages.answer(i) if not first and segment_of(i) is None else pages.asked.append(i) or []) as p:
        begun = time.monotonic()
        status, out, said = get(p, "--tries", "2", "--lifetime", "300")
        took = time.monotonic() - begun
    assert (status, out) == (28, b"" if first else BODY[:1000])
    assert said == f"fairgate-ccnget: /example/page: {'no answer' if first else 'a segment has no answer'} after 2 tries\n"
    counts = collections.Counter(segment_of(i) for i in pages.asked)
    assert counts == ({None: 2} if first else {None: 1, 1: 2, 2: 2})
    assert took >= 0.6


@pytest.mark.parametrize("reason,why", ((150, "the forwarder knows no way to it"), (50, "a forwarder is congested")))
def test_refused_on_the_way(reason, why):
    """A Nack is no answer, and no end: a producer may be there in a moment."""
    pages = Pages().add("/example/page", BODY[:9000], window=9)
    refused = set()

    def answer(i, always=False):
        if always or i.name not in refused:
            refused.add(i.name)
            pages.asked.append(i)
            return [lp(i.wire, nack=reason)]
        return pages.answer(i)

    with Producer(answer) as p:
        assert get(p)[:2] == (0, BODY[:9000])
    assert len(pages.asked) == 18
    with Producer(lambda i: answer(i, always=True)) as p:
        status, _, said = get(p, "--tries", "1")
    assert status == 28 and said == f"fairgate-ccnget: /example/page: no answer after 1 tries; {why}\n"


def test_a_connection_that_breaks():
    """As when a forwarder starts anew: what was under way is asked for again."""
    pages = Pages().add("/example/page", BODY[:200000], window=20)
    sent = []

    def way(packets):
        sent.extend(packets)
        return [*packets, None] if 50 < len(sent) < 90 else packets

    with Producer(pages.answer, way) as p:
        status, out, _ = get(p)
        assert p.met > 1
    assert (status, out) == (0, BODY[:200000])


def test_what_is_no_ndn():
    for junk in (b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\x06\xfd\x00\x01x", b"\x06\xff" + b"\xff" * 8, b"\x64\xfe\x00\x00\x22\x61", b"\0" * 100, b"\x05\xfd\xff\xff"):
        pages = Pages().add("/example/page", BODY[:5000], window=2)

        def way(packets, junk=junk):
            return [*packets, junk] if len(pages.asked) > 1 else packets

        with Producer(pages.answer, way) as p:
            status, out, said = get(p)
        assert status == 1 and BODY.startswith(out) and said == "fairgate-ccnget: 127.0.0.1: what comes from there is no NDN\n"


# ---- hostile packets -------------------------------------------------------------------------------------------------

def test_strangers_change_nothing():
    """Other names, other versions, wrong digests, other last segments, giants, pieces: with each right answer come all of them, before and behind it."""
    pages = Pages().add("/example/page", BODY[:50000], window=10, version=5)
    r = random.Random(2)
    bad = Page("/example/page", b"x" * 50000, version=5)

    def forged(packet):
        at = packet.index(b"xxx")
        return packet[:at] + b"y" + packet[at + 1:]

    def strangers(i):
        segment = segment_of(i)
        exact = f"/example/page/v=5/seg={segment or 0}"
        yield data(exact.replace("page", "other"), b"x")
        yield data("/example", b"x") if segment is None else data("/example/page/v=6/seg=0", b"x")
        yield data("/example/page/sub/v=5/seg=0", b"x", last=0)
        yield data("/example/page/32=metadata/v=5/seg=0", name_tlv("/evil"))
        yield data("/example/page/32=metadata", b"\7\xfd")
        yield data("/example/page/v=5/50=%00%00", b"x")
        yield data("/example/page/v=5/off=0", b"x")
        yield forged(bad.under(bad.name, segment or 0))
        yield bad.under(bad.name, segment or 0)[:-5] + b"12345"
        yield lp(i.wire)
        yield tlv(100)
        yield lp(data(exact, b"x"), extra=tlv(82, 0) + tlv(83, 2))
        yield lp(b"\6\5\7\xfdxxx")
        yield tlv(6, b"\7\xff" + b"\xff" * 8)
        yield tlv(6, r.randbytes(50))
        yield tlv(6, tlv(7, b"\x08\xfe\xff\xff\xff\xff") + tlv(21, b"x" * 8000))
        if segment is not None:
            for last in (segment - 1, 0, 1 << 60):
                if last >= 0:
                    yield data(exact, b"x" * 1000, last=last)
            yield data("/example/page/v=5/seg=48", b"x", last=48)
            yield data(exact, b"x", kind=3, status=503)

    first_refusals = set()

    def answer(i):
        right, all_of_them = pages.answer(i), list(strangers(i))
        if segment_of(i) is not None and i.name not in first_refusals:
            first_refusals.add(i.name)
        elif segment_of(i) is not None:
            all_of_them.pop()       # a refusal is only obeyed for a while
        r.shuffle(all_of_them)
        return [*all_of_them, *right, *all_of_them]

    with Producer(answer) as p:
        status, out, said = get(p, "--json", "--tries", "20")
    assert status == 0 and out == BODY[:50000]
    f = figures(said)
    assert f["strange"] > 500 and f["forged"] > 20


@pytest.mark.parametrize("seed", range(20))
def test_changed_on_the_way(seed):
    """Any bytes of any packets but their lengths: what is taken is right, byte for byte."""
    pages = Pages().add("/example/page", BODY[:40000], window=10)
    r = random.Random(seed)

    def changed(packet):
        packet = bytearray(packet)
        for _ in range(r.randrange(1, 4)):
            packet[r.randrange(4, len(packet))] = r.randrange(256)
        return bytes(packet)

    def way(packets):
        return [q for p in packets for q in ([changed(p), p] if r.random() < 0.5 else [p, changed(p)] if r.random() < 0.9 else [changed(p)])]

    with Producer(pages.answer, way) as p:
        status, out, said = get(p, "--tries", "30", "--lifetime", "300")
    assert status == 0 and out == BODY[:40000], said


def test_memory_is_bounded(tmp_path):
    """The first segment comes last of all, as far ahead as a window runs; and a flood of packets that nobody asked for."""
    size = 8000
    body = BODY * 8
    pages = Pages().add("/example/page", body, size=size, window=1024)
    flood = [data(f"/flood/seg={i}", b"x" * size) for i in range(100)]
    held = []

    def way(packets):
        kept = [p for p in packets if len(pages.asked) > 1]
        if not kept:
            return packets
        if not held:
            held.append(kept.pop(0))
        if len(pages.asked) < 1990:
            return kept + flood
        return kept + [held[0]]

    with open(lab.program("ccnget/fairgate-ccnget"), "rb") as f:
        bounded = b"__asan_init" not in f.read()      # a sanitizer keeps what was freed
    most = 48 << 20     # 36 MB may wait, and a little besides
    with Producer(pages.answer, way) as p:
        r = subprocess.run(command("--forwarder", p.uri, "--output", tmp_path / "page", "--tries", "30", "/example/page"), capture_output=True, check=False,
                           preexec_fn=lambda: bounded and resource.setrlimit(resource.RLIMIT_DATA, (most, most)))
    assert (r.returncode, r.stderr) == (0, b"") and (tmp_path / "page").read_bytes() == body
