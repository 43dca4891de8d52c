# SPDX-License-Identifier: BSD-2-Clause
"""mod_eeod and the rest of httpd: handlers, lengths, what is left alone and why, flushes, slow clients, counters, wrong settings."""

import gzip
import os
import socket
import time
import urllib.request

import pytest

import http1
from eeod import CLOSE, OPEN, Pages, curl, page, stripped, write
from lab import promtool
from lab.httpd import PhpFpm
from lab.lab import Lab, Origin

PAGE = page(1)
LARGE = page(2, blocks=400, cacheable=(3000, 6000), unique=(100, 3000))      # above a megabyte
PLAIN = b"<html>" + b"nothing to see here\n" * 4000 + b"</html>"

CGI = """#!/bin/sh
printf 'Content-Type: text/html\\n\\n'
head -c 3000 {root}/page.html
{wait}
tail -c +3001 {root}/page.html
"""
PHP = "<?php header('Content-Type: text/html'); foreach (str_split(file_get_contents(__DIR__ . '/page.html'), 700) as $p) { echo $p; flush(); }"
# Sends a unique block and waits until a file is there.
SLOW = """#!/bin/sh
printf 'Content-Type: text/html\\n\\n'
printf '<p>%03000d<!--EEOD-->for you alone' 0
until [ -e {root}/go-on ]; do sleep 0.02; done
printf '<!--/EEOD-->the end'
"""


@pytest.fixture(scope="module")
def site(request, parts):
    with Lab("eeod") as lab:
        root = os.path.join(lab.dir, "site")
        os.mkdir(root)
        os.chmod(root, 0o755)
        for name, data in (("page.html", PAGE), ("large.html", LARGE), ("plain.html", PLAIN), ("page.txt", PAGE), ("data.bin", os.urandom(300_000)),
                           ("empty.html", b""), ("page.php", PHP), ("odd.html", b"a" * 300 + CLOSE + b"b" * 300 + OPEN + b"c" + OPEN + b"d" + CLOSE + b"e" * 300),
                           ("inner.html", PAGE), ("outer.shtml", b"begin" + b"x" * 500 + b'<!--#include virtual="inner.html" -->' + OPEN + b"mine" + CLOSE + b"end")):
            write(root, name, data)
        for name, wait in (("page.cgi", ""), ("pause.cgi", "sleep 0.1")):
            write(root, name, CGI.format(root=root, wait=wait), executable=True)
        write(root, "slow.cgi", SLOW.format(root=root), executable=True)
        fpm = PhpFpm(lab).start()
        config = (f"ProxyPass /on/proxied http://{{}}/off\nProxyPass /strip/proxied http://{{}}/off\n<Location /packed>\nEeodEngine On\nSetOutputFilter DEFLATE\n</Location>\n"
                  f"Alias /packed {root}\nAddType text/html .shtml\nAddOutputFilter INCLUDES .shtml\n"
                  "ErrorDocument 404 /off/page.html\n<Location /other>\nEeodEngine On\nEeodMarks [[mine ]]]]\nEeodTypes text/plain\nEeodMinBlock 0\nHeader set Eeod marks\n</Location>\n"
                  f"Alias /other {root}\nAlias /asked {root}\n<Location /asked>\nEeodEngine On\nHeader set Eeod marks\n</Location>\n")
        behind = Pages(lab, root, name="behind", cgi=True).start()
        server = Pages(lab, root, config=config.replace("{}", behind.address), cgi=True, php=fpm.address, tls=parts.certificate)
        with server:
            server.path_of = lambda name: os.path.join(root, name)
            yield server
            server.assert_well()
        behind.assert_well()


def moved(site, before):
    after = site.settled()
    return {k: after[k] - before[k] for k in after if after[k] != before[k]}


@pytest.mark.parametrize("target", ("page.html", "page.cgi", "pause.cgi", "page.php", "proxied/page.html", "proxied/page.cgi"))
def test_from_any_handler(site, target):
    before = site.settled()
    status, _, body = curl(f"{site.url}/on/{target}")
    assert status.endswith("200 OK") and body == PAGE
    counted = moved(site, before)
    assert counted["responses"] == 1 and counted["unique_blocks"] == 6 and counted["cacheable_blocks"] == 7
    assert counted["boundaries"] == 14
    _, fields, body = curl(f"{site.url}/strip/{target}")
    assert body == stripped(PAGE)
    assert fields.get("content-length", str(len(body))) == str(len(body))


def test_the_header_tells_of_marks(site):
    """A packet cache then knows that what stands before the first mark is everybody's."""
    for target, tells in (("asked/page.html", True), ("asked/large.html", True), ("asked/plain.html", False), ("on/page.html", False), ("strip/page.html", False),
                          ("off/page.html", False), ("asked/empty.html", False)):
        _, fields, _ = curl(f"{site.url}/{target}")
        assert fields.get("eeod") == ("marks" if tells else None), target


def test_lengths(site):
    """A page that is here as a whole has a length, one of which marks are taken out its own; a large file has its own if they are kept."""
    for target, want in (("on/page.html", PAGE), ("strip/page.html", stripped(PAGE)), ("on/large.html", LARGE)):
        _, fields, body = curl(f"{site.url}/{target}")
        assert body == want and fields["content-length"] == str(len(want)), target
    _, fields, body = curl(f"{site.url}/strip/large.html")
    assert body == stripped(LARGE) and fields["transfer-encoding"] == "chunked"
    _, fields, body = curl(f"{site.url}/strip/large.html", "--http1.0")
    assert body == stripped(LARGE) and "content-length" not in fields


@pytest.mark.parametrize("where", ("on", "strip"))
def test_head_says_what_get_says(site, where):
    for target in ("page.html", "plain.html", "proxied/page.html"):
        with site_connection(site) as c:
            head = c.ask("HEAD", f"/{where}/{target}")
            get = c.ask("GET", f"/{where}/{target}")
            assert "content-length" not in head.headers or head.headers["content-length"] == get.headers.get("content-length"), target
            assert head.headers.get("etag") == get.headers.get("etag")


def site_connection(site, **kwargs):
    return http1.Connection(site.port, **kwargs)


def test_odd_marks(site):
    before = site.settled()
    want = open(site.path_of("odd.html"), "rb").read()
    assert curl(f"{site.url}/on/odd.html")[2] == want
    counted = moved(site, before)
    assert counted["odd_marks"] == 3 and counted["unique_blocks"] == 1 and counted["cacheable_blocks"] == 1
    assert curl(f"{site.url}/strip/odd.html")[2] == b"a" * 300 + CLOSE + b"b" * 300 + b"cd" + b"e" * 300


def test_files(site):
    """With EeodFiles whatever has no marks is one block."""
    for target in ("data.bin", "plain.html", "page.txt"):
        before = site.settled()
        assert curl(f"{site.url}/files/{target}")[2] == open(site.path_of(target), "rb").read()
        counted = moved(site, before)
        assert counted["files"] == counted["cacheable_blocks"] == 1 and counted["boundaries"] == 2, target
    before = site.settled()
    assert curl(f"{site.url}/files/page.html")[2] == PAGE
    assert moved(site, before)["unique_blocks"] == 6
    assert curl(f"{site.url}/files/data.bin", "-r", "1000-99999")[2] == open(site.path_of("data.bin"), "rb").read()[1000:100000]


def test_other_marks_and_types(site):
    write(site.root, "other.txt", b"y" * 200 + b"[[mine: 7]]]]" + b"y" * 20)
    before = site.settled()
    assert curl(f"{site.url}/other/other.txt")[1]["eeod"] == "marks [[mine ]]]]"
    counted = moved(site, before)
    assert counted["unique_blocks"] == 1 and counted["cacheable_blocks"] == 2       # EeodMinBlock 0: the small one too
    before = site.settled()
    assert curl(f"{site.url}/other/page.html")[2] == PAGE
    assert moved(site, before) == {}


def test_ssi(site):
    """What a subrequest makes is part of the page that includes it: its marks count there, once.  The very end is too short to be a block."""
    before = site.settled()
    body = curl(f"{site.url}/on/outer.shtml")[2]
    assert body == b"begin" + b"x" * 500 + PAGE + OPEN + b"mine" + CLOSE + b"end"
    counted = moved(site, before)
    assert (counted["responses"], counted["unique_blocks"], counted["joined_blocks"]) == (1, 7, 1)


def test_error_documents_and_redirects(site):
    before = site.settled()
    status, _, body = curl(f"{site.url}/on/no-such-page")
    assert "404" in status and body == PAGE         # /off/page.html: its directory decides
    assert moved(site, before) == {}


# ---- what is left alone


def test_encoded(site):
    before = site.settled()
    _, fields, body = curl(f"{site.url}/packed/page.html", "-H", "Accept-Encoding: gzip")
    assert fields["content-encoding"] == "gzip" and gzip.decompress(body) == PAGE
    assert moved(site, before) == {"aside_encoded": 1}
    assert "the body is encoded" in site.log()
    _, fields, body = curl(f"{site.url}/packed/page.html")
    assert body == PAGE and moved(site, before)["responses"] == 1


@pytest.mark.parametrize("version, counter", (("--http1.1", "aside_tls"), ("--http2", "aside_http2")))
def test_encrypted(site, version, counter):
    """No boundaries there; marks are taken out all the same."""
    url = f"https://127.0.0.1:{site.tls_port}"
    before = site.settled()
    assert curl(f"{url}/on/page.html", "-k", version)[2] == PAGE
    assert moved(site, before) == {counter: 1}
    assert curl(f"{url}/strip/page.html", "-k", version)[2] == stripped(PAGE)


def test_ranges(site):
    for where, whole in (("on", PAGE), ("strip", stripped(PAGE))):
        for asked, want in (("0-99", whole[:100]), ("700-8000", whole[700:8001]), ("-500", whole[-500:])):
            status, fields, body = curl(f"{site.url}/{where}/page.html", "-r", asked)
            assert "206" in status and body == want, (where, asked)
    before = site.settled()
    status, fields, body = curl(f"{site.url}/on/page.html", "-r", "0-99,200-299")
    assert "206" in status and "multipart" in fields["content-type"] and PAGE[200:300] in body
    status, _, body = curl(f"{site.url}/on/large.html", "-r", "1000000-1000099")
    assert "206" in status and body == LARGE[1000000:1000100]
    assert moved(site, before) == {"aside_other": 2}
    # A part of what still has its marks would not be a part of what has not.
    status, _, body = curl(f"{site.url}/strip/large.html", "-r", "1000-1099")
    assert "200" in status and body == stripped(LARGE)


# ---- while it goes out


def test_a_unique_block_is_flushed(site):
    """What a program sends and then waits is on its way if it is a visitor's own, and whole segments of the rest."""
    go_on = site.path_of("go-on")
    with socket.create_connection(("127.0.0.1", site.port), 20) as s:
        s.sendall(b"GET /on/slow.cgi HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        got = b""
        while b"for you alone" not in got:
            got += s.recv(65536)
        assert b"the end" not in got
        open(go_on, "w").close()
        while (more := s.recv(65536)):
            got += more
    os.unlink(go_on)
    assert got.endswith(b"<!--/EEOD-->the end\r\n0\r\n\r\n")


@pytest.mark.parametrize("target, size", (("on/large.html", len(LARGE)), ("files/data.bin", 300_000)))
def test_slow_clients(site, target, size):
    """Twenty clients that take nothing for a while: no thread is held by the end of a response, and all arrives, in order."""
    slow = [http1.Connection(site.port, receive_buffer=4096, deadline=60) for _ in range(20)]
    for c in slow:
        c.send("GET", f"/{target}")
        c.send("GET", "/on/page.html")
        c.send("GET", "/off/page.html")
    assert curl(f"{site.url}/on/page.html")[2] == PAGE
    want = open(site.path_of(target.split("/")[1]), "rb").read()
    assert len(want) == size
    for c in slow:
        assert c.receive().body == want
        assert c.receive().body == PAGE
        assert c.receive().body == PAGE
        c.close()


def test_a_pipeline_of_files_is_sent_as_it_is_made(parts):
    """Files behind a page of ours in a pipeline whose client is slow: httpd has no more of them open (FlushMaxPipelined) than without us."""
    with Lab("eeod") as lab:
        write(lab.dir, "page.html", b"c" * 50_000 + OPEN + b"u" + CLOSE + b"x" * 50_000)
        write(lab.dir, "data.bin", os.urandom(20_000))
        with Pages(lab, lab.dir, mpm="prefork", children=1, config="SendBufferSize 32768\n") as server:

            def peak(first):
                with socket.socket() as s:
                    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 1460)
                    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                    s.settimeout(20)
                    s.connect(("127.0.0.1", server.port))
                    s.sendall(f"GET /{first} HTTP/1.1\r\nHost: x\r\n\r\n".encode() + b"GET /off/data.bin HTTP/1.1\r\nHost: x\r\n\r\n" * 300)
                    got, most = len(s.recv(4096)), 0
                    children = server.children()        # one of them has begun to answer
                    while got < 3_000_000:
                        got += len(s.recv(4096))
                        most = max(most, *(len(os.listdir(f"/proc/{pid}/fd")) for pid in children))
                return most
            # Of 300 that are asked for; how many of them are open varies without us too (28 to 160), as the client gets its turns.
            most = max(peak("on/page.html") for _ in range(3))
            assert any(most <= peak("off/page.html") + 60 for _ in range(20))


def test_memory_does_not_grow_with_the_page(site):
    """A page of 200 MB through a child takes no more memory than one of 2 MB."""
    part = page(9, blocks=50, cacheable=(20_000, 40_000))
    path = site.path_of("huge.html")
    with open(path, "wb") as f:
        while f.tell() < 200_000_000:
            f.write(part)
    os.utime(path, (1, 1))

    def largest():
        peak = 0
        for pid in site.children():
            with open(f"/proc/{pid}/status") as f:
                peak = max(peak, *(int(line.split()[1]) for line in f if line.startswith("VmHWM")), 0)
        return peak
    assert curl(f"{site.url}/on/large.html")[2] == LARGE
    before = largest()
    for where in ("on", "strip", "files"):
        with urllib.request.urlopen(f"{site.url}/{where}/huge.html", timeout=60) as r:
            n = 0
            while (data := r.read(1 << 20)):
                n += len(data)
        assert n >= 190_000_000
    os.unlink(path)
    assert largest() - before < 20_000      # kB


def test_a_client_that_takes_nothing_is_given_up(parts):
    with Lab("eeod") as lab:
        write(lab.dir, "large.html", LARGE)
        with Pages(lab, lab.dir, timeout=1, children=1) as server, http1.Connection(server.port, receive_buffer=4096) as c:
            c.send(b"GET /on/large.html HTTP/1.1\r\nHost: x\r\n\r\n" * 3)
            began = time.monotonic()
            c.until(b"\r\n\r\n")
            with pytest.raises((http1.Cut, ConnectionError)):
                http1.until(lambda: time.monotonic() - began > 3, 10)
                for _ in range(1000):
                    c.exactly(100_000)
            assert curl(f"{server.url}/on/large.html")[2] == LARGE
            server.assert_well()


# ---- seeing it


def test_counters_are_shown(site):
    curl(f"{site.url}/on/page.html")
    names = set(site.counters())
    text = curl(f"{site.url}/eeod-status")[2].decode()
    prometheus = curl(f"{site.url}/eeod-status?prometheus")[2].decode()
    promtool.check(prometheus)
    short = curl(f"{site.url}/server-status?auto")[2].decode()
    assert "Packet boundaries" in curl(f"{site.url}/server-status")[2].decode()
    for name in names:
        assert f"{name} " in text and f"\nfairgate_eeod_{name}_total " in prometheus and f"\nEeod-{name}: " in short
    values = {line.split()[0]: int(line.split()[1]) for line in prometheus.splitlines() if line and line[0] != "#"}
    assert values["fairgate_eeod_responses_total"] > 0
    assert curl(f"{site.url}/eeod-status", "-X", "POST")[0].split()[1] == "405"


def test_counters_outlive_a_graceful_restart(site):
    curl(f"{site.url}/on/page.html")
    before = site.settled()
    site.graceful()
    after = site.settled()
    assert before["responses"] > 0 and all(after[k] >= before[k] for k in before)


REFUSED = {
    "EeodEngine maybe": "EeodEngine must be On or Off",
    "EeodMinBlock -1": "must be a number from 0 to 65536",
    "EeodMinBlock 12k": "must be a number from 0 to 65536",
    "EeodTypes html": "must be a content type such as text/html",
    "EeodTypes text/html;charset=utf-8": "must be a content type such as text/html",
    "EeodMarks <!-- <!--": "one of the two marks contains the other",
    "EeodMarks [[ ]]": "a mark has 4 characters at least",
    "EeodMarks <!--EEOD-->": "EeodMarks takes two arguments",
}


@pytest.mark.parametrize("line", REFUSED)
def test_wrong_settings(parts, line):
    with Lab("eeod") as lab:
        accepted, said = Pages(lab, lab.dir, config=line + "\n").check()
        assert not accepted and REFUSED[line] in said, said
