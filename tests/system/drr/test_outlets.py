# SPDX-License-Identifier: BSD-2-Clause
"""Windows of their own: what hangs behind one takes nothing from the others, and classes with a bound of slots."""

import contextlib
import time

import pytest

import http1
from backend import Backend
from gateway import fresh
from lab import lab

PEOPLE = {"Cookie": "session=1"}
CRAWLERS = {"User-Agent": "GPTBot"}
TWO = "QosClass people weight=6\nQosClass crawlers weight=1 default\nQosRule people cookie session=\n"


@pytest.fixture
def app():
    """A second backend beside the parts' own."""
    with Backend() as server:
        yield server


def behind(app, window=4):
    """It as /app/, with a window of its own."""
    url = f"http://127.0.0.1:{app.port}/"
    return f"ProxyPass /app/ {url} retry=0\n<Proxy {url}>\n    QosWindow {window}\n</Proxy>\n"


def outlets(g):
    return {o["name"]: o for o in g.status()["outlets"]}


def timed(g, targets, fields, n):
    """Seconds of n requests one after another, all of which are answered 200; sorted.  A connection may end with an answer where it keeps a thread."""
    took = []
    with contextlib.ExitStack() as stack:
        c = stack.enter_context(g.connect())
        for i in range(n):
            began = time.monotonic()
            response = c.ask("GET", targets[i % len(targets)], headers=fields[i % len(fields)])
            took.append(time.monotonic() - began)
            assert response.status == 200, (response, response.headers)
            if response.headers.get("connection") == "close":
                c = stack.enter_context(g.connect())
    return sorted(took)


@pytest.mark.parametrize("mpm", ["event", "worker"])
def test_who_hangs_keeps_nobody_else(new_gateway, app, mpm):
    """One of two backends hangs, with far more clients than it has slots: the other's requests, files and programs are all answered, none 503, and
    not much later than before.  Where waits block, of the 50 threads the two windows leave 38: half of these is the most that wait for it."""
    targets = ("/b/size/1000", "/static/2k.txt", "/php/page.php?size=1000")
    with new_gateway(mpm=mpm, window=8, queue=100, classes=TWO, more=behind(app)) as g:
        before = timed(g, targets, (PEOPLE, CRAWLERS), 60)
        name, url = fresh("hang"), f"http://127.0.0.1:{app.port}/"
        with contextlib.ExitStack() as stack:
            crowd = [stack.enter_context(g.connect(deadline=60)) for _ in range(120)]
            for i, c in enumerate(crowd):
                c.send("GET", f"/app/gate/{name}", headers=(PEOPLE, CRAWLERS)[i % 2])
            g.until(lambda s: s["submitted"] + s["refused"] >= 60 + len(crowd), "all of the crowd seen")
            hung = outlets(g)[url]
            assert (hung["window"], hung["outstanding"]) == (4, 4)
            # On a slow machine the window is stalled by now, and gives up to four slots back early.
            lab.wait_for(lambda: app.now >= 4, 30, "the four at the backend")
            assert app.now <= 8
            assert 0 < hung["queued"] <= (75 if mpm == "event" else 19), hung
            during = timed(g, targets, (PEOPLE, CRAWLERS), 60)
            # On a machine that does other things at the same time.
            assert during[56] <= 5 * before[56] + 0.3, (before[56], during[56])
            # Many at one time, as well.
            others = [stack.enter_context(g.connect()) for _ in range(8)]
            for i, c in enumerate(others):
                c.send("GET", targets[i % 3], headers=(PEOPLE, CRAWLERS)[i % 2])
            assert [c.receive().status for c in others] == [200] * len(others)
            # It comes to itself: who waited is answered.
            hung = outlets(g)[url]
            app.open(name)
            answers = [c.receive().status for c in crowd]
        assert answers.count(200) == 4 + hung["parked"] + hung["queued"], answers
        assert answers.count(200) + answers.count(503) == len(crowd)
        s = g.settled()
        assert s["outstanding"] == 0 and outlets(g)[url]["queued"] == 0


def test_without_one_it_keeps_all(new_gateway, app):
    """What the test above looks for is there to be found: with the one window, whoever comes waits for what hangs."""
    with new_gateway(window=8, wait=1, classes=TWO, more=f"ProxyPass /app/ http://127.0.0.1:{app.port}/ retry=0\n") as g, contextlib.ExitStack() as stack:
        name = fresh("hang")
        for _ in range(8):
            stack.enter_context(g.connect()).send("GET", f"/app/gate/{name}")
        g.until_outstanding(8)
        assert "outlets" not in g.status()
        assert http1.get(g.port, "/b/size/10", headers=PEOPLE).status == 503
        app.open(name)


SECTIONS = """
<Location /b/gate/>
    QosWindow 2
    <If "%{{QUERY_STRING}} == 'inner'">
        QosWindow 1
    </If>
</Location>
<Directory {root}/cgi>
    QosWindow auto max=9
</Directory>
Listen 127.0.0.1:{port}
<VirtualHost 127.0.0.1:{port}>
    ServerName other.example
    QosWindow 3
    ProxyPass /b/ http://127.0.0.1:{backend}/
    <Location /b/>
        QosPark time=600
    </Location>
</VirtualHost>
"""


def test_a_section_names_a_window(new_gateway, parts):
    """Requests have that of the innermost section which says one, as httpd merges them; it is seen on every page."""
    port = lab.free_port()
    with new_gateway(window=7, more=SECTIONS.format(root=parts.root, port=port, backend=parts.backend.port)) as g, contextlib.ExitStack() as stack:
        name, host, cgi = fresh("section"), "other.example", f"{parts.root}/cgi/"
        windows = {k: (o["window"], o["gate"]) for k, o in outlets(g).items()}
        inner = next(k for k in windows if k not in ("server", "/b/gate/", cgi, host))
        assert windows == {"server": (7, "window"), "/b/gate/": (2, "window"), inner: (1, "window"), cgi: (8, "auto"),
                           host: (3, "window")}
        for target, on in ((f"/b/gate/{name}", g.port), (f"/b/gate/{name}?inner", g.port), (f"/b/half/{name}", g.port), (f"/b/half/{name}?size=10", port)):
            for _ in range(5):
                stack.enter_context(http1.Connection(on)).send("GET", target)
        g.until(lambda s: s["outstanding"] + s["queued"] == 20, "all there")
        rows = {k: (o["outstanding"], o["queued"]) for k, o in outlets(g).items()}
        assert rows == {"server": (5, 0), "/b/gate/": (2, 3), inner: (1, 4), cgi: (0, 0), host: (3, 2)}
        page = http1.get(g.port, "/qos-status").body.decode()
        assert f"<td>{host}</td><td>3</td><td>3</td><td>2</td>" in page
        metrics = http1.get(g.port, "/qos-status?prometheus").body.decode()
        assert f'fairgate_outlet_queued{{outlet="{host}"}} 2\n' in metrics
        assert f"queued=2 outstanding=3 parked=0 name={host}\n" in http1.get(g.port, "/server-status?auto").body.decode()
        g.backend.open(name)
        g.settled()


def test_too_many_windows(new_gateway):
    g = new_gateway(more="".join(f"<Location /x{i}>\n    QosWindow 2\n</Location>\n" for i in range(64)))
    assert "QosWindow stands in 64 sections, and at most 63 of them can have windows of their own" in g.refused_to_start()


@pytest.mark.parametrize("line, said", [
    ("QosWindow 0", "QosWindow 0"), ("QosWindow 4 max=9", "max=N, after auto"), ("QosPark", "takes 1-2 arguments"),
    ("QosPark time=0", "QosPark time= 0: must be"), ("QosPark size=1000", "QosPark size= 1000: must be"), ("QosPark often", "must be time=SECONDS, size=BYTES, both, or Off"),
    ("QosPark off time=3", "must be time=SECONDS"),
])
def test_what_a_section_may_say(new_gateway, line, said):
    right, text = new_gateway(more=f"<Location /x>\n    {line}\n</Location>\n").check()
    assert not right and said in text, text


@pytest.mark.parametrize("mpm", ["event", "worker"])
def test_new_windows_by_a_graceful_restart(new_gateway, app, mpm):
    """One goes while requests wait for it, and another comes: nobody is lost, and the new one is in force at once."""
    with new_gateway(mpm=mpm, window=8, more=behind(app, 1)) as g, contextlib.ExitStack() as stack:
        name, url = fresh("restart"), f"http://127.0.0.1:{app.port}/"
        waiting = [stack.enter_context(g.connect(deadline=60)) for _ in range(4)]
        for c in waiting:
            c.send("GET", f"/app/gate/{name}", headers=PEOPLE)
        g.until(lambda s: s["queued"] == 3 and s["outstanding"] == 1, "one there and three waiting")
        g.graceful(g.config.replace(f"<Proxy {url}>\n    QosWindow 1\n</Proxy>\n", "<Location /app/>\n    QosWindow 2\n</Location>\n"))
        g.until(lambda s: {o["name"] for o in s.get("outlets", [])} == {"server", url, "/app/"}, "both are there")
        assert outlets(g)[url]["retired"] and outlets(g)[url]["queued"] == 3
        later = [stack.enter_context(g.connect(deadline=60)) for _ in range(4)]
        for c in later:
            c.send("GET", f"/app/gate/{name}", headers=PEOPLE)
        g.until(lambda s: s["queued"] == 5 and s["outstanding"] == 3, "two more there and two waiting")
        app.open(name)
        assert [c.receive().status for c in waiting + later] == [200] * 8
        g.until(lambda s: {o["name"] for o in s["outlets"]} == {"server", "/app/"}, "the old one gone")
        g.settled()


# ---- slots -----------------------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("policy", [False, True], ids=["directives", "policy"])
def test_no_more_than_its_slots(new_gateway, policy):
    """Crawlers alone, with eight slots free: two of them are at the backend, and who is not one goes at once."""
    xml = ('<classification><class id="1" name="people" quantum="6"><cookie>session=</cookie></class>'
           '<class id="2" name="crawlers" quantum="1" default="yes" slots="2"/></classification>')
    classes = TWO.replace("crawlers weight=1", "crawlers weight=1 slots=2")
    with new_gateway(window=8, classes=classes, policy=xml if policy else None) as g, contextlib.ExitStack() as stack:
        name = fresh("slots")
        crawlers = [stack.enter_context(g.connect()) for _ in range(6)]
        for c in crawlers:
            c.send("GET", f"/b/gate/{name}", headers=CRAWLERS)
        g.until(lambda s: s["by_class"]["crawlers"]["outstanding"] == 2 and s["queued"] == 4, "two at the backend")
        for _ in range(20):
            assert http1.get(g.port, "/b/size/10", headers=PEOPLE).status == 200
        assert g.backend.count(name) == 2
        g.backend.open(name)
        assert [c.receive().status for c in crawlers] == [200] * 6
        g.settled()
