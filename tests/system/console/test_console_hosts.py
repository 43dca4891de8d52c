# SPDX-License-Identifier: BSD-2-Clause
"""The console of every host: what each of them has to show is there, with what it is worth."""
import contextlib
import http.client
import json
import time
import urllib.request

import pytest

from console_page import FAINT, FAULTS, opened
from lab import lab


def facts(browser, host=0):
    """{name: value} of the words at a host's top."""
    return dict(browser.script("return [...document.querySelectorAll('.host')[arguments[0]].querySelectorAll('.facts div')].map((d) => [d.firstChild.textContent, d.lastChild.textContent])", host))


def plots(browser, host=0):
    return browser.script("return [...document.querySelectorAll('.host')[arguments[0]].querySelectorAll('figcaption')].map((f) => f.textContent)", host)


def test_boundaries(browser, hosts):
    browser.size(1280, 900)
    browser.dark(False)
    opened(browser, hosts.url["eeod"])
    for _ in range(30):
        with urllib.request.urlopen(hosts.eeod.url + "/index.html", timeout=10) as answer:
            answer.read()
    browser.until("return [...document.querySelectorAll('.facts div')].some((d) => d.firstChild.textContent === 'Boundaries' && !d.lastChild.textContent.startsWith('0'))", "boundaries made")
    assert plots(browser) == ["Responses", "Boundaries of segments", "Left alone"]
    assert browser.script(FAULTS) == [] and not browser.script(FAINT)[1]


def test_named_data(browser, hosts):
    opened(browser, hosts.url["ccn"])
    browser.until("return document.querySelectorAll('tbody tr').length > 0", "classes")
    assert "Interests" in plots(browser) and "At the server" in facts(browser)
    assert json.loads(urllib.request.urlopen(hosts.url["ccn"].replace("console", "console-now"), timeout=10).read())["house"] == "mod_ccn"


def test_packet_cache(browser, hosts):
    """What is known the second time is saved."""
    opened(browser, hosts.url["pktcache"])
    assert hosts.fetch() == hosts.fetch() == "600000"
    browser.until("return [...document.querySelectorAll('.facts div')].some((d) => d.firstChild.textContent.startsWith('Saved') && parseFloat(d.lastChild.textContent) > 20)", "savings")
    shown = facts(browser)
    assert shown["At work"] == "yes" and float(shown["Known, last minute"].split("\u202f")[0]) > 20, shown
    assert plots(browser) == ["Carried and saved", "Recoveries", "Segments that may be kept", "Connections"]
    told = urllib.request.urlopen(hosts.url["pktcache"].replace("console", "console-all"), timeout=10).read()
    assert b"connections" not in told and b"10.8.3.2" not in told      # who visits whom


def test_squid_beside_another_host(browser, hosts):
    """Its manager's figures, in the page of a console that names it."""
    if not hosts.squid:
        pytest.skip("no Squid")
    opened(browser, hosts.url["pktcache"], hosts=2)
    browser.until("return document.querySelectorAll('.host')[1].querySelectorAll('.facts dd').length > 4", "what Squid tells")
    shown = facts(browser, 1)
    assert shown["Link"] == "20\u202fMbit/s" and "Stalled" in shown, shown
    browser.until("return document.querySelectorAll('.host')[1].querySelectorAll('figure').length > 4", "its plots")
    assert "Link" in plots(browser, 1)


def test_a_daemon_that_is_gone_is_said(browser, hosts):
    opened(browser, hosts.url["pktcache"])
    hosts.pair.parent.stop()
    browser.until("return document.querySelector('.facts dd').textContent === 'no'", "not at work", seconds=15)
    assert "the daemon does not answer" in browser.script("return document.querySelector('.house').textContent")
    hosts.pair.parent.start()
    lab.wait_for(hosts.pair.parent.at_work, 15, "at work again")
    browser.until("return document.querySelector('.facts dd').textContent === 'yes'", "at work again", seconds=15)


def ask(hosts, line="GET /?console-now HTTP/1.1", *fields):
    """(status, fields, body) of a console that serves itself."""
    host, port = hosts.listens.split(":")
    method, target, _ = line.split(" ")
    with contextlib.closing(http.client.HTTPConnection(host, int(port), timeout=10)) as c:
        c.putrequest(method, target, skip_host=True, skip_accept_encoding=True)
        for field in fields:
            c.putheader(*field.split(": ", 1))
        c.endheaders()
        answer = c.getresponse()
        return answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read()


def test_who_may_ask_a_console_that_serves_itself(hosts):
    """A page of another site reaches it under that site's name alone, and gets nothing."""
    own = f"Host: {hosts.listens}"
    assert ask(hosts, "GET / HTTP/1.1", own)[1]["content-security-policy"].startswith("default-src 'none'; ")
    assert ask(hosts, "GET /?console-now HTTP/1.1", own)[0] == 200
    assert ask(hosts, "GET /?console-now HTTP/1.1", "Host: localhost:1")[0] == 200
    for fields in ((), ("Host: evil.example",), ("Host: 127.0.0.1.evil.example",), ("Host: localhost.evil.example:80",)):
        status, _, body = ask(hosts, "GET /?console-now HTTP/1.1", *fields)
        assert (status, body) == (421, b""), fields
    assert "access-control-allow-origin" not in ask(hosts, "GET /?console-now HTTP/1.1", own, "Origin: http://evil.example")[1]
    for line, status in (("POST / HTTP/1.1", 405), ("GET /etc/passwd HTTP/1.1", 404), ("GET /?nothing HTTP/1.1", 404), (f"GET /?{'x' * 300} HTTP/1.1", 414)):
        assert ask(hosts, line, own)[0] == status, line
    assert ask(hosts, "GET / HTTP/1.1", own, "Content-Length: 5")[0] == 400


def test_it_serves_while_others_are_silent(hosts):
    """More connections than it has places for, all of them silent: who asks is answered."""
    host, port = hosts.listens.split(":")
    silent = [http.client.HTTPConnection(host, int(port), timeout=10) for _ in range(200)]
    for c in silent:
        c.connect()
    began = time.monotonic()
    assert ask(hosts, "GET /?console-now HTTP/1.1", f"Host: {hosts.listens}")[0] == 200 and time.monotonic() - began < 2
    for c in silent:
        c.close()
