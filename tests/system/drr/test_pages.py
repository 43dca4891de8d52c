# SPDX-License-Identifier: BSD-2-Clause
"""The prober's table in the gateway: what it expects of pages that nobody has asked for yet; a table that changes, or is damaged."""
import itertools
import os
import signal

import pytest

import http1
from lab import prober

PEOPLE = {"Cookie": "session=1"}
serial = itertools.count()


def write(path, rows, times=None):
    """rows: {url: (body, gzip, br)}; a header is always 100 bytes.  times: {url: microseconds}."""
    text = "".join(f"{url}\t{body}\t{packed}\t{br}\t100\t0\t1\t0\t1790000000\t0\t-\t-\t{(times or {}).get(url, 0)}\n" for url, (body, packed, br) in rows.items())
    prober.run("import", path, input=text)


KNOWN = {
    "http://localhost/b/size/11?one": (700000, "-", "-"),
    "http://localhost/b/size/11?packed": (500000, 50000, 40000),
    "http://localhost/b/size/12?id=1&lang=en": (1000, "-", "-"),
    "http://localhost/b/size/12?id=2&lang=en": (3000, "-", "-"),
    "http://localhost/b/order/": (10000, "-", "-"),
    "http://localhost/b/order/x": (30000, "-", "-"),
    "http://other.example/b/size/11?one": (9, "-", "-"),
    "https://[2001:db8::1]:8443/b/size/11?one": (77, "-", "-"),
}


@pytest.fixture
def table(open_path):
    path = open_path / "pages"
    write(path, KNOWN)
    return path


@pytest.fixture
def known_gateway(new_gateway, table):
    def make(**words):
        g = new_gateway(**words)
        g.table = table
        g.config += f"QosPageTable {table}\n"
        return g
    return make


def estimate(g, path, host="localhost", **headers):
    """What the gateway expected of the answer to this request, of all those with this query the last."""
    query = path.partition("?")[2]
    before = sum(f"query=?{query} " in line + " " for line in g.access_log())
    with g.connect() as c:
        c.ask("GET", path, headers={**PEOPLE, **{k.replace("_", "-"): v for k, v in headers.items()}, "Connection": "close"}, host=host)
        # An answer teaches when it is gone, before its connection is closed.
        assert not c.more()
    return int(g.logged(query, before + 1)[-1]["estimate"])


@pytest.mark.parametrize("mpm", ["event", "worker", "prefork"])
def test_known_before_it_is_asked_for(known_gateway, mpm):
    with known_gateway(mpm=mpm) as g:
        g.until(lambda s: s["known_urls"] == len(KNOWN), "the table read")
        http1.until(lambda: "sizes of 8 URLs are known" in "".join(g.error_log()), what="a word about it")
        assert estimate(g, "/b/size/11?one") == 700100
        assert estimate(g, "/b/size/11?one") < 1000, "what answers teach comes first"
        assert estimate(g, "/b/size/11?one", host="other.example") == 109
        assert estimate(g, "/b/size/11?one", host="[2001:db8::1]") == 177


def test_times_are_known_before_it_is_asked_for(known_gateway):
    """By page, pattern and directory; of GET, which the prober has asked with."""
    with known_gateway(more="QosCharge time\n") as g:
        write(g.table, {**KNOWN, "http://localhost/b/late/": (1, "-", "-")}, times={
            "http://localhost/b/size/11?one": 700000, "http://localhost/b/size/12?id=1&lang=en": 100000, "http://localhost/b/size/12?id=2&lang=en": 300000, "http://localhost/b/late/": 50000})
        g.until(lambda s: s["known_urls"] == len(KNOWN) + 1, "the table read")

        def expected(method, path):
            query = path.partition("?")[2]
            with g.connect() as c:
                c.ask(method, path, headers={**PEOPLE, "Connection": "close"}, host="localhost")
                assert not c.more()
            return float(g.logged(query, 1)[-1]["slot_expected"])

        assert expected("HEAD", "/b/size/11?head") != 700
        assert expected("GET", "/b/size/11?one") == 700
        assert expected("GET", "/b/size/12?lang=de&id=9") == 200
        assert expected("GET", "/b/late/x?y=1") == 50


def test_codings(known_gateway):
    """Each client is expected to get what one gets that takes the same codings."""
    with known_gateway() as g:
        for i, (accept, bytes_) in enumerate((("br, gzip", 40100), ("gzip;q=0.5", 50100), ("br;q=0", 500100), ("gzip", 50100)), 1):
            name = f"packed{next(serial)}"
            known = {k.replace("packed", name): v for k, v in KNOWN.items()}
            known.update({f"http://localhost/more/{n}": (1, "-", "-") for n in range(i)})    # each time another number, so that one sees it read
            write(g.table, known)
            g.graceful()
            g.until(lambda s, n=len(known): s["known_urls"] == n, "the new table read")
            assert estimate(g, f"/b/size/11?{name}", Accept_Encoding=accept) == bytes_, accept
        assert estimate(g, "/b/size/11?one", Accept_Encoding="gzip, br") == 700100, "one size for all"


def test_patterns_and_directories(known_gateway):
    """What was never seen: by its path and the names of its parameters, else by its directory."""
    with known_gateway() as g:
        assert estimate(g, "/b/size/12?lang=de&id=99") == 2100
        assert estimate(g, "/b/order/new?unseen") == 20100
        unknown = estimate(g, "/b/etag?nothing-known")
        assert unknown not in (2100, 20100)
        # Answers teach patterns too.
        estimate(g, "/b/size/200000?a=1&b=1")
        assert 200000 < estimate(g, "/b/size/200000?b=2&a=5") < 200600


def wait_known(g, n):
    return g.until(lambda s: s["known_urls"] == n, f"{n} URLs known")


def test_changed_while_it_runs(known_gateway):
    """No restart: within seconds the new sizes are in force; requests go on."""
    with known_gateway() as g:
        write(g.table, {"http://localhost/b/size/13?new": (123456, "-", "-")})
        wait_known(g, 1)
        assert estimate(g, "/b/size/13?new") == 123556
        assert estimate(g, "/b/size/11?one") != 700100, "it is not in the table any more"
        for i in range(4):
            write(g.table, {f"http://localhost/b/size/13?new{k}": (1000 * (i + 1), "-", "-") for k in range(10 * (i + 1))})
            wait_known(g, 10 * (i + 1))
            assert estimate(g, f"/b/size/13?new{i}") == 1000 * (i + 1) + 100


def replace(path, content):
    """As the prober does: nobody reads half of it."""
    new = path.with_suffix(".new")
    new.write_bytes(content)
    os.replace(new, path)


def refusals(g):
    return [line for line in g.error_log() if "the sizes of before stay in force" in line]


def test_damaged(known_gateway):
    """It is refused with file, line and reason, and what was known stays."""
    with known_gateway() as g:
        whole = g.table.read_bytes()
        for damaged, reason in ((whole[:whole.rindex(b"end")], "not written to its end"), (whole.replace(b"700000", b"700001"), "checksum"), (b"", "not written to its end"),
                                (b"\0" * 100, "too long, or with a NUL"), (whole.replace(b"pages\t2", b"pages\t9"), "another version")):
            replace(g.table, whole)
            g.until(lambda s: not s["page_table_refused"], "the good table in force")
            before = len(refusals(g))
            replace(g.table, damaged)
            g.until(lambda s: s["page_table_refused"] and len(refusals(g)) > before, "refused")
            assert [reason in line for line in refusals(g)[before:]] == [True]
            assert g.status()["known_urls"] == len(KNOWN)
        assert estimate(g, "/b/size/11?one") == 700100
        os.unlink(g.table)
        g.graceful()
        assert g.status()["known_urls"] == len(KNOWN)
        http1.until(lambda: any("No such file" in line for line in refusals(g)), what="a word about it")
        # Nothing is known of what was never read.
    g2_log = "".join(g.error_log())
    assert g2_log.count("checksum") == 1, "said once, not every second"


def test_cut_short_under_its_readers(known_gateway):
    """A file that is written over in place ends nobody."""
    with known_gateway() as g:
        for _ in range(20):
            g.table.write_bytes(b"")
            assert http1.get(g.port, "/b/size/11?one", headers=PEOPLE).status == 200
            write(g.table, KNOWN)
        wait_known(g, len(KNOWN))


def test_no_table_yet(new_gateway, table):
    """It starts without one, and reads it when it comes."""
    g = new_gateway()
    g.config += f"QosPageTable {table}.later\n"
    with g:
        assert g.status()["known_urls"] == 0
        assert "sizes are learnt as pages are asked for" in "".join(g.error_log())
        write(f"{table}.later", KNOWN)
        wait_known(g, len(KNOWN))
        assert estimate(g, "/b/size/11?one") == 700100


def test_graceful_with_another_table(known_gateway, open_path):
    with known_gateway() as g:
        write(open_path / "another", {"http://localhost/b/size/14?x": (5, "-", "-")})
        g.graceful(g.config.replace(str(g.table), str(open_path / "another")))
        wait_known(g, 1)
        assert estimate(g, "/b/size/14?x") == 105
        # The children of before look at the file of before no longer.
        write(g.table, KNOWN)
        write(open_path / "another", {"http://localhost/b/size/14?x": (6, "-", "-"), "http://localhost/b/size/14?y": (7, "-", "-")})
        wait_known(g, 2)
        assert estimate(g, "/b/size/14?y") == 107


def test_graceful_without_a_table(known_gateway):
    """A directive that is taken out takes its sizes along."""
    with known_gateway() as g:
        g.graceful(g.config.replace(f"QosPageTable {g.table}\n", ""))
        assert g.status()["known_urls"] == 0
        assert estimate(g, "/b/size/11?one") != 700100
        g.graceful(g.config + f"QosPageTable {g.table}\n")
        assert g.status()["known_urls"] == len(KNOWN)
        assert estimate(g, "/b/size/11?packed") == 500100


def test_the_keeper_is_killed(known_gateway):
    """Another child takes over."""
    with known_gateway() as g:
        for i in range(2):
            for pid in g.workers()[:1]:
                os.kill(pid, signal.SIGKILL)
            write(g.table, {f"http://localhost/x{k}": (1, "-", "-") for k in range(i + 1)})
            wait_known(g, i + 1)


def test_a_large_table(known_gateway):
    """100,000 URLs, far more than QosPages: all are known."""
    with known_gateway() as g:
        write(g.table, {f"http://localhost/b/size/{i % 100}?n{i}": (1000 + i, "-", "-") for i in range(100000)})
        wait_known(g, 100000)
        for i in (0, 1, 4711, 99999):
            assert estimate(g, f"/b/size/{i % 100}?n{i}") == 1100 + i


def test_configuration_errors(known_gateway):
    g = known_gateway()
    g.config += "<Location /x>\nQosPageTable /y\n</Location>\n"
    ok, said = g.check()
    assert not ok and "QosPageTable not allowed" in said
