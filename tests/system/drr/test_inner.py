# SPDX-License-Identifier: BSD-2-Clause
"""Inner requests: a site that sends requests to itself is served, for its outer requests do not hold the slots that the inner ones need."""

import concurrent.futures
import contextlib
import json
import time

import pytest

import http1
import http2
from backend import Backend
from background import GatedServer
from gateway import fresh
from lab import lab
from lab.by_request import RequestByRequest
from lab.httpd import PhpFpm
from lab.lab import wait_for

ONE_CLASS = "QosClass all weight=1 default\n"
REQUESTS = 48

FETCH = """<?php
$got = @file_get_contents($_GET['url'], false, stream_context_create(['http' => ['timeout' => 60]]));
if ($got === false) http_response_code(502);
usleep(60000);
header('Content-Type: text/plain');
echo strlen((string)$got);
"""


def virtual_host(port, host="127.0.0.1"):
    """A second virtual host of the same httpd, and /via/, by which the first one proxies to it."""
    return (f"Listen {host}:{port}\n<VirtualHost {host}:{port}>\n    ServerName inner.example\n    ProxyPassInherit On\n</VirtualHost>\n"
            f"ProxyPass /via/ http://{host}:{port}/ retry=0\n")


def at_once(g, target, n, **words):
    """The statuses of n requests that are sent at one time, each on a connection of its own."""
    with contextlib.ExitStack() as stack:
        connections = [stack.enter_context(g.connect(deadline=60)) for _ in range(n)]
        for c in connections:
            c.send("GET", target, **words)
        return [c.receive().status for c in connections]


def outcomes(g, name, n):
    return sorted(line["outcome"] for line in g.logged(name, n))


def ask(g, target, **words):
    """(outcome, answer) of one request."""
    mark = fresh("inner")
    with g.connect() as c:
        answer = c.ask("GET", f"{target}?{mark}", **words)
    return g.logged(mark, 1)[0]["outcome"], answer


@pytest.fixture
def second():
    """A backend beside the parts' own."""
    with Backend() as server:
        yield server


# ---- virtual hosts of one httpd ---------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("mpm, window", [("event", 4), ("event", "auto"), ("worker", 4), ("prefork", 4)])
def test_vhost_proxied_to_another_vhost_serves_48_requests(new_gateway, mpm, window):
    """Every outer request holds a slot while its inner one is served: with a second slot for that, none would ever end."""
    name = fresh("vhost")
    words = dict(children=110) if mpm == "prefork" else dict(threads=60)
    with new_gateway(mpm=mpm, window=window, classes=ONE_CLASS, more=virtual_host(lab.free_port()), **words) as g:
        began = time.monotonic()
        assert at_once(g, f"/via/b/takes/10?{name}", REQUESTS) == [200] * REQUESTS
        assert time.monotonic() - began < 10
        ended = outcomes(g, name, 2 * REQUESTS)
        assert ended.count("inner") == REQUESTS, ended
        s = g.settled()
        assert (s["submitted"], s["inner_by_connection"]) == (REQUESTS, REQUESTS), s


def test_h2_streams_proxied_to_another_vhost_are_served(new_gateway):
    with new_gateway(window=2, http2=True, classes=ONE_CLASS, more=virtual_host(lab.free_port())) as g, http2.Connection(g.port) as c:
        streams = [c.send("GET", "/via/b/takes/10") for _ in range(20)]
        c.until(lambda: all(c.streams[i].over for i in streams))
        assert [c.streams[i].status for i in streams] == [200] * len(streams)
        assert g.settled()["submitted"] == len(streams)


def test_vhost_at_an_address_of_ipv6_is_known_by_its_connection(new_gateway):
    with new_gateway(window=2, classes=ONE_CLASS, more=virtual_host(lab.free_port(), "[::1]")) as g:
        assert at_once(g, "/via/b/takes/10", 10) == [200] * 10
        assert g.settled()["inner_by_connection"] == 10


def test_exempt_request_proxied_to_another_vhost_does_not_wait(new_gateway):
    with new_gateway(window=1, classes=ONE_CLASS, more=virtual_host(lab.free_port()) + "QosExempt path /via/\n") as g, g.window_taken() as taken:
        assert ask_status(g, "/via/static/2k.txt") == 200
        taken.release()


@pytest.mark.parametrize("more_text", ["", "QosSelf host\nProxyAddHeaders Off\nRemoteIPHeader X-Client\nRemoteIPInternalProxy 127.0.0.1\n"])
def test_vhost_without_engine_proxied_to_scheduled_vhost_is_scheduled(new_gateway, more_text):
    """An outer request without a slot excuses none, whatever the address."""
    more = virtual_host(lab.free_port()) + more_text + "<Location /via/>\n    QosEngine Off\n</Location>\n"
    with new_gateway(window=2, classes=ONE_CLASS, modules=("remoteip",), more=more) as g:
        assert ask_status(g, "/via/b/size/10", headers={"X-Client": "203.0.113.9"}) == 200
        s = g.settled()
        assert s["submitted"] == 1 and s["inner_by_connection"] == s["inner_by_token"] == s["inner_by_address"] == 0


def test_inner_request_is_charged_to_no_class(new_gateway):
    with new_gateway(window=2, classes=ONE_CLASS, more=virtual_host(lab.free_port())) as g:
        assert ask_status(g, "/via/b/takes/300?size=50000") == 200
        s = g.settled()["by_class"]["all"]
        assert s["slot_s"] < 0.5 and s["bytes"] < 60_000, s


def ask_status(g, target, **words):
    with g.connect() as c:
        return c.ask("GET", target, **words).status


def test_observed_inner_requests_are_not_on_paper(new_gateway):
    name = fresh("observed")
    with new_gateway(engine="observe", classes=ONE_CLASS, more=virtual_host(lab.free_port())) as g:
        assert at_once(g, f"/via/b/takes/100?{name}", 20) == [200] * 20
        assert outcomes(g, name, 40) == ["inner"] * 20 + ["observed"] * 20
        with g.connect() as c:
            fields = json.loads(c.ask("GET", "/via/b/says").body)
        assert "fairgate-outer" not in fields, "where requests are observed nothing is changed"
        assert sum(c["requests"] for c in g.status()["observed"]["classes"]) == 21


# ---- two gateways -----------------------------------------------------------------------------------------------------------------------

def chained(new_gateway, **words):
    """Two gateways.  /onward/ of the first one leads to /back/ of the second, which leads to the first one again."""
    ports = lab.free_port(), lab.free_port()
    second = new_gateway(window=3, classes=ONE_CLASS, more=f"ProxyPass /back/ http://127.0.0.1:{ports[0]}/ retry=0\n", **words)
    first = new_gateway(window=2, classes=ONE_CLASS, more=virtual_host(ports[0]) + f"ProxyPass /onward/ http://127.0.0.1:{second.port}/ retry=0\n", **words)
    return first, second


def test_two_gateways_in_a_row_serve_48_requests(new_gateway):
    first, second = chained(new_gateway, threads=60)
    with second, first:
        assert at_once(first, "/onward/b/takes/10", REQUESTS) == [200] * REQUESTS
        assert first.settled()["submitted"] == second.settled()["submitted"] == REQUESTS


def test_cycle_through_a_second_gateway_is_served(new_gateway):
    """The second gateway passes the first one's token on beside its own."""
    first, second = chained(new_gateway, threads=60)
    with second, first:
        began = time.monotonic()
        assert at_once(first, "/onward/back/b/takes/10", REQUESTS) == [200] * REQUESTS
        assert time.monotonic() - began < 10
        s = first.settled()
        assert (s["submitted"], s["inner_by_token"]) == (REQUESTS, REQUESTS), s
        assert second.settled()["submitted"] == REQUESTS


def test_inner_request_of_a_slow_upload_takes_no_second_place_of_its_class(new_gateway):
    """The slow client's request was parked and went on counting against `slots=`: its inner one waited for that place until both were refused."""
    ports = lab.free_port(), lab.free_port()
    second = new_gateway(window=3, classes=ONE_CLASS, more=f"ProxyPass /back/ http://127.0.0.1:{ports[0]}/ retry=0\n")
    first = new_gateway(window=3, wait=10, classes="QosClass all weight=1 slots=1 default\n",
                        more=virtual_host(ports[0]) + f"ProxyPass /onward/ http://127.0.0.1:{second.port}/ retry=0\n")
    with second, first, first.connect() as c:
        c.send(http1.request_bytes("PUT", "/onward/back/b/echo", headers={"Content-Length": "100000"}))
        first.until(lambda s: s["parked"] == 1, "parked for its client")
        c.send(b"x" * 50_000)
        first.until(lambda s: s["inner_by_token"] == 1, "the inner request has come")
        c.send(b"x" * 50_000)
        answer = c.receive()
        assert (answer.status, answer.body) == (200, b"100000")
        first.settled()


# ---- tokens -----------------------------------------------------------------------------------------------------------------------------

def test_program_that_an_error_of_the_backend_leads_to_sees_no_token(new_gateway, parts):
    """mod_proxy sent the token; the page of its error is a program's."""
    page = parts.root / "cgi/shows"
    page.write_text("#!/bin/sh\nprintf 'Content-Type: text/plain\\n\\n[%s]' \"$HTTP_FAIRGATE_OUTER\"\n")
    page.chmod(0o755)
    with new_gateway(window=2, classes=ONE_CLASS, more="ProxyErrorOverride On\n<Location /b/nothing>\n    ErrorDocument 404 /cgi/shows\n</Location>\n") as g, g.connect() as c:
        answer = c.ask("GET", "/b/nothing")
        assert (answer.status, answer.body) == (404, b"[]")


def test_forged_token_is_not_believed(new_gateway):
    with new_gateway(window=2, classes=ONE_CLASS) as g:
        for token in ("0" * 34, "f" * 34, "x", "", ",,,", "0" * 33 + "g", "1" * 5000, ", ".join(["a" * 34] * 200)):
            assert ask(g, "/static/2k.txt", headers={"Fairgate-Outer": token})[0] == "passed", token
        assert g.settled()["inner_by_token"] == 0


def test_token_of_a_client_reaches_no_program(new_gateway, parts):
    """Only tokens' form passes, to other servers by HTTP alone: at most four, and our own."""
    fpm_page = parts.root / "php/fields.php"
    fpm_page.write_text("<?php echo json_encode(getallheaders());")
    sent = ", ".join(f"{i:034x}" for i in range(9)) + ", junk"
    with new_gateway(window=2, classes=ONE_CLASS) as g:
        with g.connect() as c:
            seen = json.loads(c.ask("GET", "/php/fields.php", headers={"Fairgate-Outer": sent}).body)
            assert not [name for name in seen if name.lower() == "fairgate-outer"], seen
        with g.connect() as c:
            tokens = json.loads(c.ask("GET", "/b/says", headers={"Fairgate-Outer": sent}).body)["fairgate-outer"].replace(" ", "").split(",")
        assert len(tokens) == 5 and tokens[1:] == [f"{i:034x}" for i in range(4)], tokens


def test_echoed_token_is_void_when_its_request_has_ended(new_gateway):
    with new_gateway(window=2, classes=ONE_CLASS) as g:
        with g.connect() as c:
            token = json.loads(c.ask("GET", "/b/says").body)["fairgate-outer"]
        assert len(token) == 34
        g.settled()
        assert ask(g, "/static/2k.txt", headers={"Fairgate-Outer": token})[0] == "passed"
        assert g.settled()["inner_by_token"] == 0


class Echoing(RequestByRequest):
    """The token of each request at once, and the end when `end` is opened."""

    def one(self):
        line, token = self.rfile.readline(), b""
        while field := self.rfile.readline().strip():
            if field.lower().startswith(b"fairgate-outer:"):
                token = field.partition(b":")[2].strip()
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(token) + 1, token))
        self.wfile.flush()
        opened = self.server.wait("end")
        self.wfile.write(b".")
        return bool(line) and opened


def test_echoed_token_excuses_eight_requests_at_one_time(new_gateway):
    """A backend shows the fields of its requests, and takes its time: the client sent any number of requests with the token."""
    name = fresh("echoed")
    with GatedServer(("127.0.0.1", 0), Echoing) as echoing, contextlib.ExitStack() as stack:
        more = f"ProxyPass /shows/ http://127.0.0.1:{echoing.port}/ retry=0 flushpackets=on\n"
        with new_gateway(window=1, threads=50, classes=ONE_CLASS, more=more) as g:
            outer = stack.enter_context(g.connect(deadline=60))
            outer.send("GET", "/shows/")
            outer.head()
            words = dict(headers={"Fairgate-Outer": outer.exactly(34).decode()})
            for _ in range(20):
                assert ask(g, "/static/2k.txt", **words)[0] == "inner"
            others = [stack.enter_context(g.connect(deadline=60)) for _ in range(20)]
            for c in others:
                c.send("GET", f"/b/gate/{name}", **words)
            g.until_queued(12)
            wait_for(lambda: g.backend.count(name) == 8, 10, "eight at the backend")
            echoing.open("end")
            assert outer.exactly(1) == b"."
            g.backend.open(name)
            assert [c.receive().status for c in others] == [200] * 20
            g.settled()


def test_proxy_loop_is_answered_508_and_named(new_gateway):
    port = lab.free_port()
    with new_gateway(window=2, classes=ONE_CLASS, threads=60, more=virtual_host(port) + f"ProxyPass /loop/ http://127.0.0.1:{port}/loop/ retry=0\n") as g:
        began = time.monotonic()
        assert at_once(g, "/loop/x", 4) == [508] * 4
        assert time.monotonic() - began < 5
        wait_for(lambda: "(loop)" in g.log(), 5, "the line in the log")
        assert g.settled()["loops"] == 4


def test_proxy_loop_by_a_redirect_inside_the_server_is_answered_508(new_gateway, parts):
    """The redirect lost the count of rounds: the loop took every thread."""
    port = lab.free_port()
    rewrite = f'<Directory "{parts.root}">\n    RewriteEngine On\n    RewriteRule ^round/ /via/round/x\n</Directory>\n'
    with new_gateway(window=2, classes=ONE_CLASS, threads=60, modules=("rewrite",), more=virtual_host(port) + rewrite) as g:
        assert ask_status(g, "/round/x") == 508
        assert g.settled()["loops"] == 1


# ---- by address (QosSelf) ---------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("self_text, headers, outcome", [
    ("QosSelf host\n", {}, "inner"), ("QosSelf 127.0.0.0/8\n", {}, "inner"), ("QosSelf 192.0.2.0/24 host\n", {}, "inner"),
    ("QosSelf 192.0.2.0/24\n", {}, "passed"), ("QosSelf Off\n", {}, "passed"),
    # A proxy on this host, for clients elsewhere.
    ("QosSelf host\n", {"X-Forwarded-For": "203.0.113.9"}, "passed"), ("QosSelf host\n", {"Forwarded": "for=203.0.113.9"}, "passed"),
    ("QosSelf host\n", {"Via": "1.1 squid"}, "passed"), ("QosSelf host\n", {"X-Real-IP": "203.0.113.9"}, "passed"),
])
def test_request_of_this_host_is_inner(new_gateway, self_text, headers, outcome):
    with new_gateway(window=1, classes=ONE_CLASS, more=self_text) as g:
        assert ask(g, "/static/2k.txt", headers=headers)[0] == outcome


REMOTEIP = "QosSelf host\nRemoteIPHeader X-Forwarded-For\nRemoteIPInternalProxy 127.0.0.1\n"


@pytest.mark.parametrize("forwarded, outcome", [(None, "inner"), ("203.0.113.9", "passed"), ("127.0.0.1, 203.0.113.9", "passed")])
def test_client_behind_a_local_proxy_with_mod_remoteip_is_scheduled(new_gateway, forwarded, outcome):
    with new_gateway(window=1, classes=ONE_CLASS, modules=("remoteip",), more=REMOTEIP) as g:
        assert ask(g, "/static/2k.txt", headers={"X-Forwarded-For": forwarded} if forwarded else {})[0] == outcome


def test_address_is_inner_without_directive(new_gateway):
    g = new_gateway(window=1, classes=ONE_CLASS)
    text = g.text().replace("QosSelf Off\n", "")
    assert "QosSelf" not in text
    g.text = lambda: text
    with g:
        assert ask(g, "/static/2k.txt")[0] == "inner"


def test_local_proxy_without_clients_addresses_is_warned_of_once(new_gateway):
    with new_gateway(window=4, classes=ONE_CLASS, more="QosSelf host\n") as g:
        with g.connect() as c:
            for _ in range(1100):
                assert c.ask("GET", "/static/2k.txt").status == 200
        wait_for(lambda: "come from this host itself" in g.log(), 5, "the line in the log")
        time.sleep(1.2)
        assert g.log().count("come from this host itself") == 1


@pytest.mark.parametrize("line, sentence", [("QosSelf", "write Off"), ("QosSelf everything", "must be Off"), ("QosSelf 10.0.0.0/99", "must be Off"), ("QosSelf Off host", "must be Off")])
def test_wrong_qosself_is_refused(new_gateway, line, sentence):
    ok, said = new_gateway(more=line + "\n").check()
    assert not ok and sentence in said, said


# ---- programs that fetch from their own site --------------------------------------------------------------------------------------------

def fetching(parts, g_port):
    (parts.root / "php/fetch.php").write_text(FETCH)
    return f"/php/fetch.php?url=http://127.0.0.1:{g_port}/static/2k.txt"


def pages_in(g, target, seconds):
    """Pages that 20 visitors from elsewhere get in this time; all must be answered 200."""
    until = time.monotonic() + seconds

    def visitor():
        n = 0
        with g.connect(deadline=60) as c:
            while time.monotonic() < until:
                answer = c.ask("GET", target, headers={"X-Forwarded-For": "203.0.113.9"})
                assert (answer.status, answer.body) == (200, b"2048"), answer
                n += 1
        return n
    with concurrent.futures.ThreadPoolExecutor(20) as pool:
        return sum(pool.map(lambda _: visitor(), range(20)))


@pytest.mark.alone
@pytest.mark.measures
def test_php_page_that_fetches_from_its_own_site_serves_as_without_the_module(new_gateway, parts):
    """20 visitors at eight workers of PHP-FPM, with twelve slots: at least 0.95 x the pages with QosEngine Off, none refused."""
    fpm = PhpFpm(parts.lab, workers=8).start()
    served = {}
    with new_gateway(window=12, threads=50, classes=ONE_CLASS, more="QosSelf host\n") as on, new_gateway(engine="Off", threads=50) as off:
        for g in (on, off):
            g.php = fpm.address
            g.graceful()
        # In turns, so that what else the machine does meets both.
        for g in (off, on, on, off):
            served.setdefault(g, []).append(pages_in(g, fetching(parts, g.port), 4))
        s = on.settled()
        assert s["refused"] == s["timed_out"] == 0 and s["submitted"] == s["inner_by_address"] == sum(served[on]), s
    fpm.stop()
    assert sum(served[on]) >= 0.95 * sum(served[off]), (served[on], served[off])


# ---- windows in which nothing ends ------------------------------------------------------------------------------------------------------

def test_cycle_that_shows_no_sign_is_named_within_5_s_and_ends(new_gateway, parts):
    """With QosSelf Off nobody knows that what waits is what the slots wait for."""
    with new_gateway(window=2, wait=50, classes=ONE_CLASS, more="QosPark time=600\n") as g, contextlib.ExitStack() as stack:
        target = fetching(parts, g.port)
        connections = [stack.enter_context(g.connect(deadline=60)) for _ in range(3)]
        began = time.monotonic()
        for c in connections:
            c.send("GET", target)
        wait_for(lambda: "window of server is stalled" in g.log(), 5.5, "the line in the log")
        assert time.monotonic() - began < 5.5
        assert "/php/fetch.php" in g.log()
        status = g.status_if_served()
        assert [c.receive().status for c in connections] == [200] * 3
        assert time.monotonic() - began < 20
        wait_for(lambda: "requests are released again" in g.log(), 5, "the end in the log")
        assert g.settled()["stalls"] >= 1
        assert status is None or status["stalled_s"] >= 0


def test_cycle_in_the_slots_of_one_class_is_named_and_ends(new_gateway, parts):
    """The class had its two slots and the window six free ones: nothing was named, and each request waited until it was refused."""
    classes = "QosClass all weight=1 slots=2 default\n"
    with new_gateway(window=8, wait=50, classes=classes, more="QosPark time=600\n") as g, contextlib.ExitStack() as stack:
        target = fetching(parts, g.port)        # Once: PHP may read the file while it is written.
        connections = [stack.enter_context(g.connect(deadline=60)) for _ in range(3)]
        began = time.monotonic()
        for c in connections:
            c.send("GET", target)
        wait_for(lambda: "window of server is stalled" in g.log(), 15, "the line in the log")
        assert [c.receive().status for c in connections] == [200] * 3
        assert time.monotonic() - began < 30
        assert g.settled()["stalls"] >= 1


def test_stalled_window_is_named_and_serves_pages_though_each_is_refused_before_a_stall_is_seen(new_gateway):
    """Two long polls had both slots.  With delay= every page was refused for 10 s, and log and doctor were silent."""
    name = fresh("polls")
    with new_gateway(window=2, wait=50, classes="QosClass all weight=1 delay=500 default\n", more="QosPark time=600\n") as g, contextlib.ExitStack() as stack:
        for _ in range(2):
            stack.enter_context(g.connect(deadline=60)).send("GET", f"/b/gate/{name}")
        g.until_outstanding(2)

        def page():
            time.sleep(1)       # The visitor's pause: at some looks no request waits.
            with g.connect(deadline=60) as c:
                return c.ask("GET", "/b/size/10").status
        assert page() == 503
        wait_for(lambda: page() == 200, 40, "a page is served")
        assert "window of server is stalled" in g.log()
        g.backend.open(name)


def test_backend_that_hangs_keeps_little_more_than_its_window(new_gateway, second):
    """The window of its own is named; slots that are given back early are no more than an eighth of the server's threads."""
    name, url = fresh("hangs"), f"http://127.0.0.1:{second.port}/"
    more = f"ProxyPass /app/ {url} retry=0\n<Proxy {url}>\n    QosWindow 8\n    QosPark time=600\n</Proxy>\n"
    with new_gateway(window=8, threads=16, classes=ONE_CLASS, more=more) as g, contextlib.ExitStack() as stack:
        crowd = [stack.enter_context(g.connect(deadline=60)) for _ in range(20)]
        for c in crowd:
            c.send("GET", f"/app/gate/{name}")
        g.until(lambda s: s["stalled_s"] > 0, "the window is stalled", 8)
        stalled = {o["name"]: o["stalled_s"] for o in g.status()["outlets"]}
        assert stalled[url] > 0 and stalled["server"] == 0
        assert f"window of {url} is stalled" in g.log()
        time.sleep(7)
        assert second.now == 8 + 32 // 8, "eight by the window, and four early"
        assert ask_status(g, "/static/2k.txt") == 200
        second.open(name)
        assert [c.receive().status for c in crowd] == [200] * 20
        g.until(lambda s: s["stalled_s"] == 0, "it is open again")
