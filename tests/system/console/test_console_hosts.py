# SPDX-License-Identifier: BSD-2-Clause
"""The console of every host: what each of them has to show is there, with what it is worth."""
import contextlib
import http.client
import json
import signal
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request

import pytest

from console_page import FAINT, FAULTS, all_open, axe, opened
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


@pytest.mark.parametrize("kind", ("eeod", "ccn", "pktcache"))
def test_axe_finds_no_fault_in_the_page_of(browser, hosts, kind):
    opened(browser, hosts.url[kind])
    all_open(browser)
    passed, faults = axe(browser)
    assert passed > 15 and faults == []


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
    assert ask(hosts, "POST / HTTP/1.1", own)[1]["allow"] == "GET"


def raw(hosts, sent=b"", seconds=10):
    """A connection, with that sent."""
    host, port = hosts.listens.split(":")
    c = socket.create_connection((host, int(port)), timeout=seconds)
    c.sendall(sent)
    return c


def received(c):
    """All that comes until the other end is over."""
    got = b""
    with contextlib.suppress(ConnectionResetError):
        while piece := c.recv(65536):
            got += piece
    return got


def test_pages_of_other_sites_get_no_figures_of_it(hosts):
    own = f"Host: {hosts.listens}"
    for line in ("GET /?console-now HTTP/1.1", "GET /?console-all HTTP/1.1", "GET /metrics HTTP/1.1"):
        for site in ("cross-site", "same-site"):
            status, _, body = ask(hosts, line, own, f"Sec-Fetch-Site: {site}")
            assert (status, body) == (403, b""), (line, site)
        for site in ("same-origin", "none"):
            status, fields, _ = ask(hosts, line, own, f"Sec-Fetch-Site: {site}")
            assert status == 200 and fields["cross-origin-resource-policy"] == "same-origin"
    assert ask(hosts, "GET / HTTP/1.1", own, "Sec-Fetch-Site: cross-site")[0] == 200       # a link to it


@pytest.mark.parametrize("kind", ("eeod", "ccn"))
def test_pages_of_other_sites_get_no_figures_of_a_module(hosts, kind):
    """Nor what is for Prometheus and other programs, which a browser might take for a script."""
    for word in ("json", "prometheus", "prometheus=", "console-now", "console-all"):
        for site, wanted in (("same-origin", 200), ("none", 200), ("cross-site", 403), ("same-site", 403)):
            asks = urllib.request.Request(hosts.url[kind].replace("?console", f"?{word}"), headers={"Sec-Fetch-Site": site})
            try:
                with urllib.request.urlopen(asks, timeout=10) as answer:
                    status, fields = answer.status, answer.headers
            except urllib.error.HTTPError as e:
                status, fields = e.code, e.headers
            assert status == wanted and fields["Cross-Origin-Resource-Policy"] == "same-origin", (word, site, status)
            assert status == 403 or fields["X-Content-Type-Options"] == "nosniff"
    for word in ("", "?console"):
        asks = urllib.request.Request(hosts.url[kind].replace("?console", word), headers={"Sec-Fetch-Site": "cross-site"})
        with urllib.request.urlopen(asks, timeout=10) as answer:        # a link to it
            assert answer.status == 200


def test_a_head_has_an_end(hosts):
    """Cookies of all ports of a machine go along; beyond what there is room for it says so."""
    own = f"Host: {hosts.listens}"
    assert ask(hosts, "GET /?console-now HTTP/1.1", own, f"Cookie: {'c' * 12000}")[0] == 200
    with contextlib.closing(raw(hosts, b"GET / HTTP/1.1\r\nX: " + b"x" * (16384 - 19))) as c:
        assert received(c).startswith(b"HTTP/1.1 431 ")
    for half in (b"GET", b"GET / HTTP/1.1\r\n", b"\r\n\r\n", b"\0" * 100 + b"\r\n\r\n"):
        with contextlib.closing(raw(hosts, half)) as c:
            c.shutdown(socket.SHUT_WR)
            assert received(c)[:12] in (b"", b"HTTP/1.1 400", b"HTTP/1.1 405"), half


def test_one_request_at_a_time(hosts):
    """Two hundred in a row keep nobody waiting: one answer."""
    one = f"GET /?console-all HTTP/1.1\r\nHost: {hosts.listens}\r\n\r\n".encode()
    with contextlib.closing(raw(hosts, one * 200)) as c:
        got = received(c)
    assert got.count(b"HTTP/1.1 200 OK") == 1 and b"\r\nConnection: close\r\n" in got


def test_half_requests_keep_no_place_from_who_asks(hosts):
    """Who sends a byte now and then is no more at work than who is silent: the connection that asked goes on."""
    def answered(c):
        c.request("GET", "/metrics")
        return c.getresponse().read().startswith(b"#")

    with contextlib.ExitStack() as all_of_them:
        halves = [all_of_them.enter_context(contextlib.closing(raw(hosts, b"GET /"))) for _ in range(126)]
        time.sleep(1.1)         # its clock counts seconds
        asks = all_of_them.enter_context(contextlib.closing(http.client.HTTPConnection(*hosts.listens.split(":"), timeout=10)))
        assert answered(asks)
        asks.auto_open = 0
        time.sleep(1.1)
        for c in halves:
            with contextlib.suppress(OSError):
                c.sendall(b"x")
        time.sleep(0.2)
        for _ in range(8):
            all_of_them.enter_context(contextlib.closing(raw(hosts, b"GET /")))
        assert ask(hosts, "GET /?console-now HTTP/1.1", f"Host: {hosts.listens}")[0] == 200
        assert answered(asks)


@contextlib.contextmanager
def console_of(control, *words):
    """One more, of that control socket: its process and address."""
    listens = f"127.0.0.1:{lab.free_port()}"
    p = subprocess.Popen([lab.program("pktcache/fairgate-pktcache"), "console", f"--listen={listens}", *words, control], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
    one = type("Console", (), {"listens": listens, "process": p})
    try:
        yield one
    finally:
        p.kill()
        p.wait(10)
        p.stderr.close()


def comes(one):
    try:
        raw(one).close()
        return True
    except OSError:
        return False


class Counted:
    """A socket before the daemon's: what is asked goes on to it, and is counted."""

    def __init__(self, path, control):
        self.path, self.control, self.asked = path, control, []
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(path)
        self.listener.listen(16)
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                c, _ = self.listener.accept()
            except OSError:
                return
            with c, socket.socket(socket.AF_UNIX) as daemon:
                question = c.recv(64)
                self.asked.append(question)
                daemon.connect(self.control)
                daemon.sendall(question)
                with contextlib.suppress(OSError):
                    while piece := daemon.recv(65536):
                        c.sendall(piece)


def test_the_daemon_is_asked_once_a_second_however_many_ask(hosts, tmp_path):
    counted = Counted(str(tmp_path / "control"), hosts.pair.parent.control)
    with console_of(counted.path) as one:
        lab.wait_for(lambda: comes(one), 10, "it listens")
        began, asked = time.monotonic(), 0
        while time.monotonic() - began < 2:
            assert ask(one, "GET /metrics HTTP/1.1", f"Host: {one.listens}")[0] == 200
            asked += 1
        assert asked > 20 and counted.asked.count(b"prometheus\n") <= 4, (asked, counted.asked)
    counted.listener.close()


def test_a_daemon_that_hangs_keeps_nobody_waiting_for_long(hosts):
    """It says so, to Prometheus too, and ends when it is told to."""
    daemon = hosts.pair.parent.process
    waiting = []
    with console_of(hosts.pair.parent.control) as one:
        own = f"Host: {one.listens}"
        lab.wait_for(lambda: comes(one), 10, "it listens")
        assert ask(one, "GET /metrics HTTP/1.1", own)[0] == 200
        daemon.send_signal(signal.SIGSTOP)
        try:
            with contextlib.suppress(BlockingIOError):      # and its backlog is full
                while True:
                    waiting.append(socket.socket(socket.AF_UNIX))
                    waiting[-1].setblocking(False)
                    waiting[-1].connect(hosts.pair.parent.control)
            lab.wait_for(lambda: ask(one, "GET /?console-now HTTP/1.1", own)[2].find(b"does not answer") > 0, 15, "it says so")
            began, quick = time.monotonic(), 0
            while time.monotonic() - began < 12:
                asked = time.monotonic()
                assert ask(one, "GET /metrics HTTP/1.1", own)[0] == 503
                quick += time.monotonic() - asked < 0.5
                time.sleep(0.2)
            assert quick > 20
            one.process.terminate()
            assert one.process.wait(10) == 0
        finally:
            for c in waiting:
                c.close()
            daemon.send_signal(signal.SIGCONT)
    lab.wait_for(hosts.pair.parent.at_work, 30, "at work again")


@pytest.mark.parametrize("word", ("--consoles=http://a/x javascript:alert(1)", "--from=http://user:secret@a/", "--consoles=" + " ".join(f"http://h{n}/" for n in range(17))), ids=("script", "password", "many"))
def test_an_address_that_is_none_is_refused(hosts, word):
    done = subprocess.run([lab.program("pktcache/fairgate-pktcache"), "console", f"--listen=127.0.0.1:{lab.free_port()}", word, hosts.pair.parent.control], capture_output=True, text=True, timeout=5, check=False)
    assert done.returncode == 1 and "write one like http://" in done.stderr and "secret" not in done.stderr, done.stderr


@pytest.mark.parametrize("every", ("0.0.0.0", "[::]"))
def test_it_listens_at_no_address_under_which_nobody_asks(hosts, every):
    done = subprocess.run([lab.program("pktcache/fairgate-pktcache"), "console", f"--listen={every}:{lab.free_port()}", hosts.pair.parent.control], capture_output=True, text=True, timeout=5, check=False)
    assert done.returncode == 1 and "write the address by which browsers ask" in done.stderr, done.stderr


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
