# SPDX-License-Identifier: BSD-2-Clause
"""The word for packet caches, the header `Eeod`: only where the application asked for it and this filter vouches; taken out of all else, whoever put it there."""

import os
import socket
import threading
import time

import pytest

from eeod import CLOSE, OPEN, Pages, curl, page, write
from http1 import Connection
from lab.lab import Lab

PAGE = page(1)
FORBIDDEN = ("private", "no-store", "max-age=0, Private", 'no-cache, private="x"', "No-Store, no-cache", "max-age=9, no-store")
# The application says what stands behind the ?, with blanks as +, before its page.
CGI = """#!/bin/sh
printf 'Content-Type: text/html\\n%b\\n\\n' "$(echo "$QUERY_STRING" | sed 's/+/ /g; s/%22/"/g')"
cat {root}/page.html
"""
LATE = """#!/bin/sh
printf 'Content-Type: text/html\\nEeod: marks\\n\\n%040000d'
cat {root}/page.html
"""
SLOW = """#!/bin/sh
printf 'Content-Type: text/html\\nEeod: marks\\n\\n'
until [ -e {root}/go-on ]; do sleep 0.02; done
cat {root}/page.html
"""
MISSING = """#!/bin/sh
printf 'Status: 404 Not there\\nContent-Type: text/html\\nEeod: marks\\n\\n'
"""


class Raw:
    """A server that says the same to everybody, in pieces with a pause between them."""

    def __init__(self, *said):
        self.said, self.listening = said, socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self.listening.getsockname()[1]}"
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                c = self.listening.accept()[0]
            except OSError:
                return
            with c:
                while b"\r\n\r\n" not in c.recv(65536):
                    pass
                for piece in self.said[:-1]:
                    c.sendall(piece)
                    time.sleep(0.2)
                c.sendall(self.said[-1])

    def close(self):
        self.listening.shutdown(socket.SHUT_RDWR)
        self.listening.close()


@pytest.fixture(scope="module")
def site(parts):
    with Lab("word") as lab:
        root = os.path.join(lab.dir, "site")
        cache = os.path.join(lab.dir, "cache")
        for directory in (root, cache):
            os.mkdir(directory)
            os.chmod(directory, 0o777)
        unmarked, odd = b"<html>" + b"nothing to see here\n" * 40, PAGE + CLOSE + b"the end"
        for name, data in (("page.html", PAGE), ("plain.html", unmarked), ("odd.html", odd), ("stray.html", CLOSE + PAGE), ("inner.html", PAGE),
                           ("outer.shtml", b"x" * 500 + b'<!--#include virtual="says.cgi?Eeod:+marks" -->' + OPEN + b"me" + CLOSE)):
            write(root, name, data)
        for name, text in (("says.cgi", CGI), ("late.cgi", LATE), ("slow.cgi", SLOW), ("missing.cgi", MISSING)):
            write(root, name, text.format(root=root), executable=True)
        body = b"4\r\nabcd\r\n0\r\nEeod: marks\r\n\r\n"
        raw = Raw(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\nTrailer: Eeod\r\nConnection: close\r\n\r\n" + body)
        hints = Raw(b"HTTP/1.1 103 Hints\r\nEeod: marks\r\n\r\nHTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 4\r\nConnection: close\r\n\r\nabcd")
        middle = PAGE.index(OPEN) - 100
        pieces = Raw(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nEeod: marks\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % len(PAGE) + PAGE[:middle // 2],
                     PAGE[middle // 2:middle], PAGE[middle:])
        says = {"asked": "Header set Eeod marks", "always": "Header always set Eeod marks", "other": 'Header set Eeod "marks [[mine ]]]]"',
                "two": "Header set Eeod marks\nHeader add Eeod none", "twice": "Header set Eeod marks\nHeader always set Eeod none",
                "private": "Header set Eeod marks\nHeader always set Cache-Control private", "cached": "Header set Eeod marks\nHeader set Cache-Control max-age=60",
                "cachedoff": "Header set Eeod marks\nHeader set Cache-Control max-age=60"}
        config = "AddType text/html .shtml\nAddOutputFilter INCLUDES .shtml\nErrorDocument 404 /on/page.html\nErrorDocument 403 default\n"
        config += "".join(f"Alias /{where} {root}\n<Location /{where}>\nEeodEngine {'Off' if where == 'cachedoff' else 'On'}\n{lines}\n</Location>\n" for where, lines in says.items())
        config += (f"Alias /mine {root}\n<Location /mine>\nEeodEngine On\nEeodMarks <!--EE <!--/EE\nHeader set Eeod marks\n</Location>\n"
                   f"Alias /unsaid {root}\n<Location /unsaid>\nHeader set Eeod marks\n</Location>\nAlias /unsaidalways {root}\n<Location /unsaidalways>\nHeader always set Eeod marks\n</Location>\n"
                   f"<Location /always/denied>\nRequire all denied\n</Location>\n<Location /unsaidalways/denied>\nRequire all denied\n</Location>\n"
                   f"Alias /whole {root}\n<Location /whole>\nEeodEngine On\nEeodSegments Off\nEeodFiles On\nHeader set Eeod marks\n</Location>\n"
                   f"<Location /striped>\nEeodEngine On\nEeodStrip On\nHeader set Eeod marks\n</Location>\nAlias /striped {root}\n"
                   f"CacheRoot {cache}\nCacheEnable disk /cached\nCacheEnable disk /cachedoff\nCacheIgnoreNoLastMod On\nCacheIgnoreCacheControl On\nCacheHeader On\n"
                   "ProxyPass /on/behind/ http://{back}/asked/\nProxyPass /off/behind/ http://{back}/asked/\nProxyPass /strip/behind/ http://{back}/asked/\n"
                   f"ProxyPass /on/raw http://{raw.address}/\nProxyPass /off/raw http://{raw.address}/\nProxyPass /on/hints http://{hints.address}/\nProxyPass /off/hints http://{hints.address}/\n"
                   f"ProxyPass /on/pieces http://{pieces.address}/\n")
        options = dict(cgi=True, modules=("cache", "cache_disk", "socache_shmcb"))
        asked = f"Alias /asked {root}\n<Location /asked>\nEeodEngine On\nHeader set Eeod marks\n</Location>\n"
        back = Pages(lab, root, name="back", config=asked, cgi=True).start()
        server = Pages(lab, root, config=config.replace("{back}", back.address), tls=parts.certificate, **options)
        with server:
            server.back = back
            yield server
            server.assert_well()
        back.assert_well()
        raw.close()
        hints.close()
        pieces.close()


def said(site, target, *words):
    return curl(site.url + "/" + target, *words)[1].get("eeod")


def test_where_the_application_asks_the_filter_vouches(site):
    for target in ("asked/page.html", "always/page.html", "on/says.cgi?Eeod:+marks", "on/says.cgi?eeod:+Marks\\nCache-Control:+no-cache\\nPragma:+no-cache\\nSet-Cookie:+a=b", "on/behind/page.html"):
        status, fields, body = curl(f"{site.url}/{target}", "-H", "Cookie: a=b")
        assert status.endswith("200 OK") and body == PAGE and fields.get("eeod") == "marks", target
    assert said(site, "mine/page.html") == "marks <!--EE <!--/EE"


def test_without_segments_pages_are_vouched_for(site):
    """By the same rules, and no segment ends because of a mark: the network end of the connection is httpd's own."""
    before = site.counters()
    for target in ("whole/page.html", "whole/says.cgi?X:+y"):
        status, fields, body = curl(f"{site.url}/{target}", "-H", "Cookie: a=b")
        assert status.endswith("200 OK") and body == PAGE and fields.get("eeod") == "marks", target
    assert said(site, "whole/odd.html") is None and said(site, "whole/plain.html") is None
    after = site.counters()
    assert after["boundaries"] == before["boundaries"] and after["missed"] == before["missed"]
    assert curl(f"{site.url}/asked/page.html")[2] == PAGE and site.counters()["boundaries"] > after["boundaries"]


def test_the_word_waits_for_the_first_mark_of_a_page_that_comes_in_pieces(site):
    status, fields, body = curl(f"{site.url}/on/pieces")
    assert status.endswith("200 OK") and body == PAGE and fields.get("eeod") == "marks" and fields["content-length"] == str(len(PAGE))


def test_without_being_asked_it_does_not(site):
    """A page that a visitor has written marks into is as any other; what the client says is not the application's word."""
    for target in ("on/page.html", "on/says.cgi?X:+y", "on/says.cgi?X-Eeod:+marks", "on/says.cgi?Eeod:+none", "other/page.html", "two/page.html", "twice/page.html"):
        assert said(site, target, "-H", "Eeod: marks") is None, target


def test_it_does_not_vouch_for_what_is_not_in_order(site):
    for target in ("asked/plain.html", "asked/odd.html", "asked/stray.html", "on/late.cgi"):
        status, fields, _ = curl(f"{site.url}/{target}")
        assert status.endswith("200 OK") and "eeod" not in fields, target


@pytest.mark.parametrize("control", FORBIDDEN)
def test_private_and_no_store_win(site, control):
    assert said(site, f"on/says.cgi?Eeod:+marks\\nCache-Control:+{control.replace(' ', '+').replace(chr(34), '%22')}", "--globoff") is None
    assert said(site, "private/page.html") is None


def test_it_waits_for_the_first_mark(site):
    """A program that needs a while for its page, which httpd would flush a header for."""
    go_on = os.path.join(site.root, "go-on")
    with Connection(site.port) as c:
        c.send("GET", "/on/slow.cgi")
        c.socket.settimeout(0.3)
        with pytest.raises(TimeoutError):
            c.more()
        c.socket.settimeout(20)
        write(site.root, "go-on", b"")
        r = c.receive()
        assert r.body == PAGE and r.headers["eeod"] == "marks"
    os.unlink(go_on)


def test_parts_and_answers_without_a_body_have_none(site):
    _, fields, _ = curl(f"{site.url}/asked/page.html")
    for where in ("asked", "always", "unsaid", "unsaidalways"):
        target = f"{where}/page.html"
        assert said(site, target, "-I") is None, where
        assert said(site, target, "-r", "100-999") is None, where
        status, same, _ = curl(f"{site.url}/{target}", "-H", f"If-None-Match: {fields['etag']}")
        assert " 304 " in status and "eeod" not in same, where


def test_errors_have_none(site):
    """Answers of httpd's own, and the page of an error, which has not asked when the page that failed has."""
    for target, status in (("always/denied/x", "403"), ("unsaidalways/denied/x", "403"), ("always/nowhere", "404"), ("on/missing.cgi", "404"), ("off/missing.cgi", "404"),
                           ("unsaidalways/nowhere", "404")):
        got, fields, _ = curl(f"{site.url}/{target}")
        assert status in got and "eeod" not in fields, target


@pytest.mark.parametrize("target", ("unsaid/page.html", "unsaidalways/page.html", "off/behind/page.html", "off/says.cgi?Eeod:+marks", "striped/page.html", "strip/behind/page.html",
                                    "strip/says.cgi?Eeod:+marks", "on/outer.shtml", "off/outer.shtml", "unsaid/plain.html", "server-status?auto"))
def test_where_it_is_not_at_work_it_takes_the_word_out(site, target):
    assert curl(f"{site.back.url}/asked/page.html")[1]["eeod"] == "marks"
    status, fields, _ = curl(f"{site.url}/{target}")
    assert status.endswith("200 OK") and "eeod" not in fields


@pytest.mark.parametrize("version", ("--http1.1", "--http2"))
def test_where_there_are_no_segments(site, version):
    for target in ("asked/page.html", "unsaid/page.html", "strip/behind/page.html", "off/behind/page.html"):
        status, fields, _ = curl(f"https://127.0.0.1:{site.tls_port}/{target}", "-k", version)
        assert " 200" in status and "eeod" not in fields, target


@pytest.mark.parametrize("target", ("on/raw", "off/raw", "on/hints", "off/hints"))
def test_not_in_a_trailer_either(site, target):
    """Nor in what comes before an answer, where a cache does not look (tests/unit/test_pktcache_http.c)."""
    with socket.create_connection(("127.0.0.1", site.port), 20) as s:
        s.sendall(f"GET /{target} HTTP/1.1\r\nHost: a\r\nTE: trailers\r\nConnection: close, TE\r\n\r\n".encode())
        data = b""
        while more := s.recv(65536):
            data += more
    assert b"abcd" in data and b"\neeod" not in data[data.rindex(b"HTTP/1.1 200"):].lower()


def test_what_a_cache_of_httpd_has_stored(site):
    """It answers before httpd knows the place, so that nobody makes blocks of the page; the word was stored with it."""
    for where in ("cached", "cachedoff"):
        first = said(site, f"{where}/page.html")
        assert first == ("marks" if where == "cached" else None)

        def hit():
            _, fields, body = curl(f"{site.url}/{where}/page.html")
            assert body == PAGE
            return fields.get("x-cache", "").startswith("HIT") and fields
        deadline = time.monotonic() + 20
        while not (fields := hit()):
            assert time.monotonic() < deadline, "no hit"
        assert "eeod" not in fields
