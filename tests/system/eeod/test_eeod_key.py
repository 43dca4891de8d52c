# SPDX-License-Identifier: BSD-2-Clause
"""
Marks with the key of their response (EeodKey): only those that the application wrote count, whatever a visitor wrote; all else of the page stays as it is.

In pages of these tests @K stands for the key that the application is told.
"""

import gzip
import http.server
import os
import random
import re
import threading
import time
import urllib.request

import pytest

from eeod import CLOSE, OPEN, Pages, curl, stripped, write
from http1 import Connection
from lab.httpd import PhpFpm
from lab.lab import Lab

KEYED_OPEN, KEYED_CLOSE = b"<!--EEOD @K-->", b"<!--/EEOD @K-->"
KEY = re.compile(r"^[0-9a-f]{16}$")
OTHER = b"0123456789abcdef"
PLAIN = b"<html>" + b"nothing to see here\n" * 100


def pair(inside):
    return KEYED_OPEN + inside + KEYED_CLOSE


PAGE = b"<html>" + b"x" * 500 + b"".join(pair(b"me %d" % i) + b"y" * 700 for i in range(6))
# What visitors wrote: as text, in a script, in an attribute, in a comment, with a key that was another's, halves of marks, and outside of pairs.
HOSTILE = (b"<html>" + CLOSE + b"x" * 500 + OPEN + b"z" * 300 + pair(b"hi " + CLOSE + b" SECRET ") + b"y" * 400
           + pair(b"<script>s='" + CLOSE + OPEN + b"'</script><p title='" + CLOSE + b"'><!-- " + CLOSE + b"<!--/EEOD " + OTHER + b"-->" + b"SECRET")
           + b"y" * 400 + b"<!--EEOD <!--EEO<!--EEOD @K<!--/EEOD<<!--/EEOD-" + pair(b"<!--/EEO" + CLOSE + b"D-->" + CLOSE * 3) + b"e" * 400 + b"<!--/EEOD @K--")
SAYS, SILENT = b"Eeod: marks\n", b""

# ?NAME&HEADER: that page, with the key in the place of @K, and this line in the header (+ for a blank).
CGI = """#!/bin/sh
name=${{QUERY_STRING%%&*}}
printf 'Content-Type: text/html\\nX-Key: %s\\n%b\\n\\n' "$HTTP_EEOD_KEY" "$(echo "${{QUERY_STRING#*&}}" | sed 's/+/ /g')"
sed "s/@K/$HTTP_EEOD_KEY/g" {root}/$name
"""
# Byte by byte, or nearly so.
PHP = """<?php
$k = $_SERVER['HTTP_EEOD_KEY'] ?? '';
header('Content-Type: text/html'); header('Eeod: marks'); header("X-Key: $k");
foreach (str_split(str_replace('@K', $k, file_get_contents(__DIR__ . '/' . $_GET['page'])), (int)$_GET['piece']) as $p) { echo $p; flush(); }
"""


def spoiled(page):
    return page.replace(OPEN, b"<!--EEOd-->").replace(CLOSE, b"<!--/EEOd-->")


def wanted(page, key):
    """The slow way."""
    page, key = spoiled(page), key.encode()
    return page.replace(b"@K", key).replace(b"<!--EEOD " + key + b"-->", OPEN).replace(b"<!--/EEOD " + key + b"-->", CLOSE)


def any_page(r):
    parts = [KEYED_OPEN, KEYED_CLOSE, OPEN, CLOSE, b"<!--EEOD " + OTHER + b"-->", b"<!--/EEOD " + OTHER + b"-->", b"<!--EEOD @K -->", b"<!--EEOD  @K-->", b"<!--EEOD--", b"<",
             b"-->", b"@K-->", b"<!--EEOD ", b"<!--/EEOD"]
    out = b""
    for _ in range(r.randint(1, 40)):
        part = r.choice(parts)
        out += part[:r.randint(0, len(part))] if r.random() < 0.3 else part
        out += bytes(r.choices(b"abc <>-/", k=r.choice((0, 0, 1, 20, 400, 3000))))
    return out


class Application:
    """A server behind httpd.  /any/SEED: a page in pieces of any size; /seen: the request's header; /NAME: that page of `pages`."""

    def __init__(self, pages):
        application = self
        self.pages = pages

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                application.answer(self)

            do_HEAD = do_GET

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def answer(self, h):
        kind, _, what = h.path[1:].partition("/")
        key = h.headers.get("Eeod-Key", "")
        r = random.Random(what)
        if kind == "seen":
            body = "".join(f"{name}: {value}\n" for name, value in h.headers.items()).encode()
        else:
            body = (any_page(r) if kind == "any" else self.pages[kind]).replace(b"@K", key.encode())
        h.send_response(200)
        for name, value in (("Content-Type", "text/html"), ("X-Key", key), ("ETag", '"7"'), ("Eeod", "marks"), ("Cache-Control", "no-cache")):
            h.send_header(name, value)
        whole = kind != "any" or r.random() < 0.3
        h.send_header(*(("Content-Length", str(len(body))) if whole else ("Transfer-Encoding", "chunked")))
        h.end_headers()
        if h.command == "HEAD":
            return
        pause, size = r.random() < 0.05, r.choice((1, 5, 30, 1000))
        for _ in range(60):
            piece, body = body[:(n := r.randint(1, size))], body[n:]
            if piece:
                h.wfile.write(piece if whole else b"%x\r\n%s\r\n" % (len(piece), piece))
                if pause:
                    time.sleep(0.001)
        if body:
            h.wfile.write(body if whole else b"%x\r\n%s\r\n" % (len(body), body))
        if not whole:
            h.wfile.write(b"0\r\n\r\n")

    def close(self):
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture(scope="module")
def site(parts):
    with Lab("key") as lab:
        root, cache = os.path.join(lab.dir, "site"), os.path.join(lab.dir, "cache")
        for directory in (root, cache):
            os.mkdir(directory)
            os.chmod(directory, 0o777)
        for name, data in (("page", PAGE), ("hostile", HOSTILE), ("plain", PLAIN), ("hostile.html", HOSTILE), ("plain.html", PLAIN), ("app.php", PHP),
                           ("gzip", gzip.compress(HOSTILE)), ("large", PAGE * 100),
                           ("part.html", b"p" * 300 + OPEN + b"q"),
                           ("echo.shtml", b"x" * 400 + b'<!--EEOD <!--#echo var="HTTP_EEOD_KEY" -->-->me<!--/EEOD <!--#echo var="HTTP_EEOD_KEY" -->-->' + b"y" * 400),
                           ("outer.shtml", b"x" * 400 + b'<!--#include virtual="app.cgi?page&X:+y" --><!--#include virtual="part.html" -->' + b"y" * 400)):
            write(root, name, data)
        write(root, "app.cgi", CGI.format(root=root), executable=True)
        application = Application({"page": PAGE, "hostile": HOSTILE})
        fpm = PhpFpm(lab).start()
        ssi = "AddType text/html .shtml\nAddOutputFilter INCLUDES .shtml\n"
        asked = f"Alias /asked {root}\n<Location /asked>\nEeodEngine On\nHeader set Eeod marks\n</Location>\n"
        off = f"Alias /nokey {root}\n<Location /nokey>\nEeodEngine On\nEeodKey Off\n</Location>\n"
        config = (ssi + asked + off + "".join(f"ProxyPass /{where}/application/ http://{application.address}/\n" for where in ("on", "off", "strip", "nokey"))
                  + "ProxyPass /on/behind/ http://{back}/on/\nProxyPass /nokey/behind/ http://{back}/on/\n"
                  f"Alias /mine {root}\n<Location /mine>\nEeodEngine On\nEeodMarks [[mine ]]]]\nHeader set Eeod marks\n</Location>\n"
                  f"Alias /set {root}\n<Location /set>\nEeodEngine On\nRequestHeader set Eeod-Key mine\n</Location>\n"
                  f"Alias /fails {root}\n<Location /fails>\nErrorDocument 404 /on/app.cgi?page&Eeod:+marks\n</Location>\n"
                  f"Alias /leaves {root}\n<Location /leaves>\nEeodEngine On\nErrorDocument 404 /off/app.cgi?page&Eeod:+marks\n</Location>\n"
                  f"Alias /cached {root}\n<Location /cached>\nEeodEngine On\nHeader set Cache-Control max-age=60\n</Location>\n"
                  f"CacheQuickHandler Off\nCacheRoot {cache}\nCacheEnable disk /cached\nCacheIgnoreNoLastMod On\nCacheIgnoreCacheControl On\nCacheHeader On\n"
                  "RewriteEngine On\nRewriteRule ^/rewritten$ /on/app.cgi?page&Eeod:+marks [PT]\n"
                  f"<Directory {root}>\nDirectoryIndex app.cgi\n</Directory>\n")
        back = Pages(lab, root, name="back", cgi=True, keys=True).start()
        server = Pages(lab, root, config=config.replace("{back}", back.address), cgi=True, php=fpm.address, tls=parts.certificate, keys=True,
                       modules=("cache", "cache_disk", "socache_shmcb"))
        with server:
            yield server
            server.assert_well()
        back.assert_well()
        application.close()


def moved(site, before):
    after = site.settled()
    return {k: after[k] - before[k] for k in after if after[k] != before[k]}


def pages_of(where, page):
    """From each kind of application, a page that says the word."""
    return [f"{where}/app.cgi?{page}&Eeod:+marks", f"{where}/app.php?page={page}&piece=1", f"{where}/app.php?page={page}&piece=700", f"{where}/application/{page}"]


def test_each_request_has_a_key_of_its_own(site):
    keys = []
    for target in (*pages_of("on", "page"), "on/app.cgi?page&X:+y", "strip/app.cgi?page&X:+y"):
        for _ in range(8):
            keys.append(curl(f"{site.url}/{target}")[1]["x-key"])
    with Connection(site.port) as c:
        keys += [c.ask("GET", "/on/app.cgi?page&X:+y").headers["x-key"] for _ in range(20)]
    assert all(KEY.match(k) for k in keys) and len(set(keys)) == len(keys)


def test_keys_of_each_process_are_others(parts):
    """After a restart, too: a counter that begins anew is under another secret."""
    with Lab("key") as lab:
        write(lab.dir, "app.cgi", CGI.format(root=lab.dir), executable=True)
        write(lab.dir, "page", PAGE)
        with Pages(lab, lab.dir, mpm="prefork", children=4, cgi=True, keys=True) as server:
            def some():
                return [curl(f"{server.url}/on/app.cgi?page&X:+y")[1]["x-key"] for _ in range(30)]
            keys = some()
            server.graceful()
            keys += some()
            assert all(KEY.match(k) for k in keys) and len(set(keys)) == len(keys)
            server.assert_well()


@pytest.mark.parametrize("name", ("Eeod-Key", "EEOD-KEY", "Eeod_Key", "eeod.key"))
def test_a_client_does_not_choose_it(site, name):
    words = ["-H", f"{name}: {OTHER.decode()}", "-H", f"Eeod-Key: {OTHER.decode()}", "-H", f"{name}: 1"]
    for where, has in (("on", True), ("strip", True), ("off", False), ("nokey", False), ("set", True)):
        if where != "set":
            _, fields, body = curl(f"{site.url}/{where}/application/seen", *words)
            seen = re.findall(rb"(?im)^(eeod.key): (.*)$", body)
            assert len(seen) == has and OTHER not in body, where
        _, fields, body = curl(f"{site.url}/{where}/app.cgi?page&Eeod:+marks", *words)
        key = fields.get("x-key", "")
        assert bool(KEY.match(key)) == has and key != OTHER.decode(), where
        if where != "strip":
            assert body == (wanted(PAGE, key) if has else PAGE.replace(b"@K", b"")), where


def test_a_client_that_has_it_not_passed_on_gets_marks_that_do_not_count(site):
    _, fields, body = curl(f"{site.url}/on/application/page", "-H", "Connection: close, Eeod-Key")
    assert fields.get("x-key", "") == "" and "eeod" not in fields and body == PAGE.replace(b"@K", b"")


@pytest.mark.parametrize("page", ("page", "hostile"))
def test_marks_with_the_key_make_blocks_and_nothing_else_does(site, page):
    source = {"page": PAGE, "hostile": HOSTILE}[page]
    for target in pages_of("on", page):
        before = site.settled()
        status, fields, body = curl(f"{site.url}/{target}", "-H", "Cookie: a=b")
        assert status.endswith("200 OK") and KEY.match(fields["x-key"]) and fields["eeod"] == "marks", target
        assert body == wanted(source, fields["x-key"]) and fields["x-key"].encode() + b"-->" not in body, target
        counted = moved(site, before)
        assert counted["responses"] == 1 and counted["unique_blocks"] == source.count(KEYED_OPEN) and "odd_marks" not in counted, target
        assert counted["keyed_marks"] == source.count(KEYED_OPEN) + source.count(KEYED_CLOSE), target
        assert counted.get("spoiled_marks", 0) == source.count(OPEN) + source.count(CLOSE), target


def test_a_page_without_a_mark_with_the_key_is_not_vouched_for(site):
    for target in ("asked/hostile.html", "asked/plain.html", "on/app.cgi?plain&Eeod:+marks"):
        _, fields, body = curl(f"{site.url}/{target}")
        assert "eeod" not in fields and body == spoiled(PLAIN if "plain" in target else HOSTILE.replace(b"@K", fields.get("x-key", "@K").encode())), target
    assert "say EeodKey Off if visitors can't write marks" in site.log()


def test_files_without_marks_go_as_they_are(site):
    _, fields, body = curl(f"{site.url}/asked/plain.html")
    assert body == PLAIN and fields["content-length"] == str(len(PLAIN)) and fields["etag"].startswith('"')


def test_without_the_word_nothing_changes(site):
    for where, says in (("on", "X:+y"), ("off", "Eeod:+marks"), ("on", "Eeod:+none")):
        _, fields, body = curl(f"{site.url}/{where}/app.cgi?hostile&{says}")
        assert body == HOSTILE.replace(b"@K", fields.get("x-key", "").encode()) and "eeod" not in fields
    for where in ("on", "off"):
        _, fields, body = curl(f"{site.url}/{where}/hostile.html")
        assert body == HOSTILE and fields["content-length"] == str(len(HOSTILE)) and fields["etag"].startswith('"')


def test_without_keys_marks_count_as_they_are(site):
    page = b"x" * 300 + OPEN + b"me" + CLOSE + b"y" * 300 + pair(b"you")
    write(site.root, "old", page)
    before = site.settled()
    _, fields, body = curl(f"{site.url}/nokey/app.cgi?old&Eeod:+marks")
    assert body == page.replace(b"@K", b"") and fields["eeod"] == "marks" and "x-key" not in {k for k, v in fields.items() if v}
    counted = moved(site, before)
    assert counted["unique_blocks"] == 1 and "keyed_marks" not in counted


@pytest.mark.parametrize("page", ("page", "hostile"))
def test_stripped(site, page):
    """Here and over what has no segments; what a visitor wrote stays a comment."""
    source, tls = {"page": PAGE, "hostile": HOSTILE}[page], f"https://127.0.0.1:{site.tls_port}"
    for target in pages_of("strip", page):
        for url, words in ((site.url, ()), (tls, ("-k",)), (tls, ("-k", "--http2"))):
            _, fields, body = curl(f"{url}/{target}", *words)
            assert body == stripped(wanted(source, fields["x-key"])) and "eeod" not in fields, (target, words)
    for target in pages_of("on", page):
        for words in (("-k",), ("-k", "--http2")):
            _, fields, body = curl(f"{tls}/{target}", *words)
            assert body == wanted(source, fields["x-key"]) and "eeod" not in fields, (target, words)


def test_head_says_what_get_says(site):
    for target in ("asked/hostile.html", "on/app.cgi?page&Eeod:+marks", "on/application/page", "asked/plain.html", "strip/application/page"):
        with Connection(site.port) as c:
            head, get = c.ask("HEAD", f"/{target}"), c.ask("GET", f"/{target}")
            assert "content-length" not in head.headers or head.headers["content-length"] == get.headers.get("content-length"), target
            assert head.headers.get("etag") == get.headers.get("etag") and "eeod" not in head.headers, target
            if "plain" not in target:
                assert get.headers.get("etag", "W/").startswith("W/"), target


def test_ranges_and_what_has_not_changed(site):
    whole = spoiled(HOSTILE)
    for asked, part in (("0-99", whole[:100]), ("500-1300", whole[500:1301]), ("-400", whole[-400:])):
        status, fields, body = curl(f"{site.url}/asked/hostile.html", "-r", asked)
        assert "206" in status and body == part and "eeod" not in fields
    _, fields, _ = curl(f"{site.url}/asked/hostile.html")
    status, same, _ = curl(f"{site.url}/asked/hostile.html", "-H", f"If-None-Match: {fields['etag']}")
    assert " 304 " in status and same["etag"] == fields["etag"] and "eeod" not in same


def test_what_is_encoded_is_left_alone(site):
    """Nobody has looked whose its marks are."""
    before = site.settled()
    _, fields, body = curl(f"{site.url}/on/app.cgi?gzip&Eeod:+marks\\nContent-Encoding:+gzip")
    assert gzip.decompress(body) == HOSTILE and "eeod" not in fields
    assert moved(site, before) == {"aside_encoded": 1}


def test_redirects_keep_the_key(site):
    for target in ("fails/nowhere", "rewritten", "on/?page&Eeod:+marks"):
        _, fields, body = curl(f"{site.url}/{target}", "-H", f"Eeod-Key: {OTHER.decode()}")
        assert KEY.match(fields["x-key"]) and body == wanted(PAGE, fields["x-key"]) and fields["eeod"] == "marks", target
    _, fields, body = curl(f"{site.url}/leaves/nowhere")
    assert fields.get("x-key", "") == "" and "eeod" not in fields and body == PAGE.replace(b"@K", b"")


def test_parts_of_a_page_have_its_key(site):
    before = site.settled()
    _, fields, body = curl(f"{site.url}/asked/outer.shtml")
    part = wanted(PAGE, "0" * 16)
    assert body == b"x" * 400 + part + wanted(b"p" * 300 + OPEN + b"q", "") + b"y" * 400 and fields["eeod"] == "marks"
    counted = moved(site, before)
    assert counted["unique_blocks"] == 6 and counted["spoiled_marks"] == 1
    _, fields, body = curl(f"{site.url}/asked/echo.shtml")
    assert body == b"x" * 400 + OPEN + b"me" + CLOSE + b"y" * 400 and fields["eeod"] == "marks"


def test_a_stored_page_has_the_key_of_another_request(site):
    target = f"{site.url}/cached/app.cgi?page&Eeod:+marks"
    _, first, body = curl(target)
    assert first["eeod"] == "marks" and body == wanted(PAGE, first["x-key"])
    deadline = time.monotonic() + 20
    while True:
        _, fields, body = curl(target)
        if fields.get("x-cache", "").startswith("HIT"):
            break
        assert time.monotonic() < deadline, "no hit"
    assert "eeod" not in fields and body == PAGE.replace(b"@K", fields["x-key"].encode())


def test_two_in_a_row(site):
    """The one behind looks whose marks there are; the one before has nothing to go by but them, and is told so."""
    _, fields, body = curl(f"{site.url}/nokey/behind/app.cgi?hostile&Eeod:+marks")
    assert fields["eeod"] == "marks" and body == wanted(HOSTILE, fields["x-key"])
    _, fields, body = curl(f"{site.url}/on/behind/app.cgi?hostile&Eeod:+marks")
    assert "eeod" not in fields and body == wanted(HOSTILE, fields["x-key"]).replace(b"EEOD-->", b"EEOd-->")


def test_other_marks_have_no_keys(site):
    write(site.root, "mine.html", b"y" * 200 + b"[[mine: 7]]]]" + b"y" * 200)
    _, fields, body = curl(f"{site.url}/mine/mine.html")
    assert "eeod" not in fields and b"[[mine: 7]]]]" in body
    assert "only usual marks can have keys" in site.log()


@pytest.mark.parametrize("line, said", (("EeodKey maybe", "EeodKey must be On or Off"),
                                        ("EeodKey On\nEeodMarks [[mine ]]]]", "EeodKey On and EeodMarks [[mine ]]]]: only the usual marks can have keys"),
                                        ("EeodMarks [[mine ]]]]\nEeodKey On", "only the usual marks can have keys")))
def test_wrong_settings(line, said):
    with Lab("key") as lab:
        accepted, output = Pages(lab, lab.dir, config=line + "\n", keys=True).check()
        assert not accepted and said in output, output
        assert Pages(lab, lab.dir, name="right", config="EeodMarks <!--EEOD--> <!--/EEOD-->\nEeodKey On\n", keys=True).check()[0]


def test_any_page_in_any_pieces(site, many):
    """As the slow way makes it; whether the module looks at a page depends on its word, and all of these say it."""
    changed = 0
    for seed in range(400 * many):
        with urllib.request.urlopen(f"{site.url}/on/application/any/{seed}", timeout=60) as got:
            body, key = got.read(), got.headers["X-Key"]
        page = any_page(random.Random(str(seed)))
        want = wanted(page, key)
        assert body == want, seed
        changed += want != page
    assert changed > 300 * many


def test_what_is_flushed_is_on_its_way(site):
    """Of what a program has sent nothing waits for the rest but what may begin a mark, once the header has gone."""
    go_on = os.path.join(site.root, "go-on")
    text = "#!/bin/sh\nk=$HTTP_EEOD_KEY\nprintf 'Content-Type: text/html\\nEeod: marks\\n\\n%03000d<!--EEOD %s-->for you alone<!--/EE' 0 $k\n"
    text += f"until [ -e {go_on} ]; do sleep 0.02; done\nprintf 'OD %s-->the end' $k\n"
    write(site.root, "slow.cgi", text, executable=True)
    with Connection(site.port) as c:
        c.send("GET", "/on/slow.cgi")
        began = c.until(b"for you alone")
        assert b"Eeod: marks" in began and began.endswith(b"\r\n" + OPEN + b"\r\nd\r\n")      # chunks
        write(site.root, "go-on", b"")
        assert b"the end" in c.until(b"0\r\n\r\n")
    os.unlink(go_on)


def test_memory_does_not_grow_with_the_page(site):
    path, part = os.path.join(site.root, "huge.html"), HOSTILE.replace(b"@K", b"") * 20
    with open(path, "wb") as f:
        while f.tell() < 100_000_000:
            f.write(part)
    os.utime(path, (1, 1))

    def largest():
        peak = 0
        for pid in site.children():
            with open(f"/proc/{pid}/status") as f:
                peak = max(peak, *(int(line.split()[1]) for line in f if line.startswith("VmHWM")), 0)
        return peak
    assert curl(f"{site.url}/asked/hostile.html")[2] == spoiled(HOSTILE)
    before = largest()
    with urllib.request.urlopen(f"{site.url}/asked/huge.html", timeout=60) as r:
        n = 0
        while (data := r.read(1 << 20)):
            n += len(data)
    assert n == os.path.getsize(path)
    os.unlink(path)
    assert largest() - before < 20_000      # kB
