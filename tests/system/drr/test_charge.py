# SPDX-License-Identifier: BSD-2-Clause
"""What an answer costs its class, and teaches: by what went to the network.  What is expected of requests for parts.  Whose places are whose."""

import itertools
import subprocess

import pytest

import test_pages
from lab.load import Load

PEOPLE = {"Cookie": "session=1"}
BIG, SIZE = "/static/50m.bin", 50 << 20
HEADER = 300        # what is expected of an answer without a body
serial = itertools.count()

THREE = """\
QosClass people weight=6
QosClass search weight=3
QosClass crawlers weight=1 default
QosRule people cookie session=
"""


def expected(g, path, method="GET", **fields):
    """What the gateway expected of the answer to this request."""
    query = f"charge{next(serial)}"
    with g.connect() as c:
        c.send(method, f"{path}?{query}", headers={**PEOPLE, **{k.replace("_", "-"): v for k, v in fields.items()}, "Connection": "close"})
        while c.more():
            pass
    return int(g.logged(query, 1)[-1]["estimate"])


def send_buffer():
    """The most that the kernel keeps of a connection that is not read from; the test needs it to be less than the answer."""
    with open("/proc/sys/net/ipv4/tcp_wmem") as f:
        most = int(f.read().split()[2])
    assert most < SIZE / 4
    return most


def people(g):
    return g.status()["by_class"]["people"]


def give_up(g, target):
    """GET, read a little of a large answer, reset.  The rest is in nobody's buffers: the client's takes some kilobytes."""
    with g.connect(receive_buffer=4096) as c:
        c.send("GET", target, headers=PEOPLE)
        c.more()
        c.reset()


# ---- by what went ----------------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("mpm", ["event", "worker"])
def test_a_download_that_is_given_up_teaches_and_costs_nothing(new_gateway, mpm):
    """50 MB each time are passed to the network's side in one call; what goes is what the kernel's send buffer takes, mostly much less than it
    may.  Afterwards neither the page nor its directory is known to be large, and the class owes no more than what went."""
    with new_gateway(mpm=mpm, window=8) as g:
        for i in range(4):
            give_up(g, f"{BIG}?given-up{i}")
            g.logged(f"given-up{i}", 1)
        s = g.settled()
        assert expected(g, "/static/2k.txt") < 100_000, "its directory was taught"
        give_up(g, f"{BIG}?given-up0")
        assert int(g.logged("given-up0", 2)[-1]["estimate"]) < 100_000, "the page was taught"
        cost = s["by_class"]["people"]["bytes"]
        assert cost < 4 * send_buffer() + 1_000_000, f"{cost} bytes for four answers of which a little was read"
        # The engine's own mean: a giant doubles it, if anything.
        assert s["by_class"]["people"]["response_mean"] < 16 * 16 * 27656


@pytest.mark.parametrize("mpm", ["event", "worker"])
def test_a_whole_download_teaches_and_is_charged(new_gateway, mpm):
    with new_gateway(mpm=mpm, window=8) as g:
        before = people(g)["bytes"]
        with g.connect() as c:
            assert len(c.ask("GET", f"{BIG}?whole", headers=PEOPLE).body) == SIZE
        g.logged("whole", 1)
        g.until(lambda s: s["by_class"]["people"]["bytes"] - before >= SIZE, "all of it charged")
        g.settled()
        assert people(g)["bytes"] - before < SIZE + 10_000
        g.until(lambda s: s["pages"] >= 3, "the page, its pattern and its directory known")
        give_up(g, f"{BIG}?whole")
        assert int(g.logged("whole", 2)[-1]["estimate"]) == pytest.approx(SIZE, rel=0.01)
        assert expected(g, "/static/2k.txt") > 1_000_000, "what is not known is expected as its directory's mean"


def test_a_slow_download_is_charged_as_it_goes(new_gateway):
    """It has given its slot back long before, and its class pays for what the client takes, when it takes it."""
    with new_gateway(window=1) as g:
        with g.connect(receive_buffer=65536) as c:
            c.send("GET", f"{BIG}?slow", headers=PEOPLE)
            c.until(b"\r\n\r\n")
            # What stands in the buffers of the two kernels, and no more.
            s = g.until(lambda s: s["outstanding"] == 0 and s["released"] == 1, "the slot given back")
            paid = s["by_class"]["people"]["bytes"]
            assert paid < SIZE / 2
            got = len(c.buffer)
            for part in (SIZE // 2, SIZE):
                while got < part:
                    c.buffer.clear()
                    assert c.more()
                    got += len(c.buffer)
                g.until(lambda s, part=part: s["by_class"]["people"]["bytes"] >= part - 65536, f"{part} bytes charged")
        assert people(g)["bytes"] < SIZE + 10_000


def test_a_stream_that_is_given_up_teaches_nothing(tls_gateway):
    """HTTP/2: a file's bytes go to the connection's side in one call there, too."""
    g = tls_gateway
    url = f"https://127.0.0.1:{g.tls_port}{BIG}?stream"
    subprocess.run(["curl", "-sk", "--http2", "--limit-rate", "20k", "--max-time", "1", "-o", "/dev/null", url], stdin=subprocess.DEVNULL,
                   check=False, timeout=30)
    g.logged("stream", 1)
    g.settled()
    subprocess.run(["curl", "-sk", "--http2", "--limit-rate", "20k", "--max-time", "1", "-o", "/dev/null", url], stdin=subprocess.DEVNULL,
                   check=False, timeout=30)
    assert int(g.logged("stream", 2)[-1]["estimate"]) < 1_000_000


GIVEN_UP = [
    # In the middle: the client takes 1 MB/s.
    pytest.param({"url": "/o/size/2000000?delay=20", "rate": 1_000_000, "abort": 60}, 1 / 3, id="midway"),
    # It has all come when somebody sees that the client is gone.
    pytest.param({"url": "/o/size/2048?delay=50", "abort": 20}, 1 / 2, id="whole"),
]


@pytest.mark.alone
@pytest.mark.parametrize("asked, part", GIVEN_UP)
def test_what_is_given_up_midway_costs_what_is_on_its_way_too(new_gateway, asked, part):
    """Two classes of one weight.  Of an answer that is given up midway the backend has sent as much again as came: it costs twice its time, so its class has half as many slots as the other.
    Of some hundred answers in the measured time one more or less, and those under way at its ends, are less than 3 points."""
    words = [{"name": "people", "clients": 6, "header": "Cookie: session=1", "url": "/o/size/2048?delay=50"},
             {"name": "crawlers", "clients": 6, "header": "User-Agent: GPTBot", "think": 1, **asked}]
    classes = "QosClass people weight=1\nQosClass crawlers weight=1 default\nQosRule people cookie session=\n"

    def slots():
        return {name: c["slot_s"] for name, c in g.status()["by_class"].items()}
    with new_gateway(window=2, classes=classes, more="QosCharge time\n") as g, Load(g.address, words, seconds=60, interval=0.2) as load:
        g.until(lambda s: s["by_class"]["crawlers"]["slot_s"] > 0.5, "both have begun")
        before = slots()
        g.until(lambda s: sum(c["slot_s"] for c in s["by_class"].values()) > sum(before.values()) + 12, "twelve seconds of slots")
        had = {name: s - before[name] for name, s in slots().items()}
        load.stop()
        load.result()
    assert had["crawlers"] / sum(had.values()) == pytest.approx(part, abs=0.05), had


# ---- what is asked for -----------------------------------------------------------------------------------------------------------------

def test_parts_are_expected_as_parts(new_gateway, open_path):
    """Pages are known for 50 MB (and are not there, so that no answer teaches); what is asked for is less, or nothing, or not to be had."""
    whole = SIZE + 100
    rows = [
        ("bytes=0-0", 1 + HEADER), ("bytes=0-999", 1000 + HEADER), ("bytes=-500", 500 + HEADER), ("bytes=0-0,5-9, 100-199", 106 + 3 * HEADER),
        (f"bytes={whole - 1000}-", 1000 + HEADER), ("bytes=9-3", whole), ("bytes=", whole), ("bytes=a-b", whole), ("lines=0-1", whole),
        ("bytes=0-0;5-9", whole), ("bytes=0-99999999999999999999999", whole), ("bytes=0-", whole),
    ]
    asked = [({"Range": field}, bytes_) for field, bytes_ in rows]
    asked += [({"Range": "bytes=0-0", "If-Range": '"x"'}, 1 + HEADER), ({"If-None-Match": '"x"'}, HEADER), ({}, whole),
              ({"If-Modified-Since": "Thu, 01 Jan 1970 00:00:00 GMT"}, HEADER)]
    table = open_path / "pages"
    test_pages.write(table, {f"http://localhost/b/gone?part{i}": (SIZE, "-", "-") for i in range(len(asked) + 2)})
    g = new_gateway(window=8)
    g.config += f"QosPageTable {table}\n"
    with g:
        for i, (fields, bytes_) in enumerate(asked + [("HEAD", HEADER), ("POST", whole)]):
            method = fields if isinstance(fields, str) else "GET"
            with g.connect() as c:
                c.send(method, f"/b/gone?part{i}", headers={**PEOPLE, **(fields if method == "GET" else {"Range": "bytes=0-0"})})
                c.until(b"\r\n\r\n")
            assert int(g.logged(f"part{i}", 1)[0]["estimate"]) == bytes_, fields


def test_what_is_known_as_large_does_not_keep_people_waiting(new_gateway, open_path):
    """Seven requests of people for a page that is known for 30 MB and has 100 bytes, then one for a small page; crawlers want more than there is.
    For each of the seven people save up at most 64 KB and eight mean answers, 0.3 MB while nothing is known of them: two or three answers of
    crawlers, which have 20 kB and a sixth of the weight.  To save up 30 MB all 60 crawlers would go before."""
    table = open_path / "pages"
    test_pages.write(table, {"http://localhost/b/order/trick?size=100": (30_000_000, "-", "-"),
                             "http://localhost/b/order/crawler?size=20000": (20_000, "-", "-")})
    g = new_gateway(window=1, classes=THREE)
    g.config += f"QosPageTable {table}\n"
    with g:
        g.until(lambda s: s["known_urls"] == 2, "the table read")
        crowd, tricks, page = [g.connect(deadline=60) for _ in range(60)], [g.connect() for _ in range(7)], g.connect()
        g.backend.order.clear()
        with g.window_taken() as taken:
            for c in crowd:
                c.send("GET", "/b/order/crawler?size=20000", headers={"User-Agent": "GPTBot"})
            for c in tricks:
                c.send("GET", "/b/order/trick?size=100", headers=PEOPLE)
            g.until_queued(len(crowd) + len(tricks))
            page.send("GET", "/b/order/page?size=1000", headers=PEOPLE)
            g.until_queued(len(crowd) + len(tricks) + 1)
            taken.release()
            for c in crowd + tricks + [page]:
                assert c.receive().status == 200
        before = g.backend.order[:g.backend.order.index("page")]
        assert before.count("trick") == 7
        assert before.count("crawler") <= 7 * 3 + 3
        g.settled()


# ---- places ----------------------------------------------------------------------------------------------------------------------------

def test_a_crowd_of_one_class_leaves_places_to_others(new_gateway):
    """115 connections of a crawler and 100 places: people, of whom nobody waits, are not refused."""
    with new_gateway(window=1, queue=100, classes=THREE) as g, g.window_taken() as taken:
        crowd = [g.connect() for _ in range(115)]
        for c in crowd:
            c.send("GET", "/b/size/10", headers={"User-Agent": "GPTBot"})
        s = g.until(lambda s: s["queued"] + s["refused"] == 115, "all of the crowd seen")
        assert s["queued"] == 55, "5 of 100 by weight, and the 50 that are for whoever comes"
        visits = [g.connect() for _ in range(30)]
        for c in visits:
            c.send("GET", "/b/size/10", headers=PEOPLE)
        g.until_queued(85)
        with g.connect() as c:
            assert c.ask("GET", "/b/size/10", headers=PEOPLE).status == 503, "their 30 are taken, and what is left is kept for search"
        taken.release()
        assert [c.receive().status for c in visits] == [200] * 30
        assert sorted(c.receive().status for c in crowd) == [200] * 55 + [503] * 60
        g.settled()


def test_a_class_other_is_the_default(new_gateway):
    with new_gateway(classes="QosClass people weight=6\nQosClass other weight=3\nQosRule people cookie session=\n") as g:
        with g.connect() as c:
            assert c.ask("GET", "/b/size/10").status == 200
        assert {c["name"]: c["done"] for c in g.settled()["classes"]} == {"people": 0, "other": 1}
