# SPDX-License-Identifier: BSD-2-Clause
"""Graceful restarts: one window over all generations, nothing lost, a new policy or the old one in force."""

import collections
import contextlib

import pytest

import config
import http1
from crowd import Patient
from gateway import fresh, more_lines, three_classes
from lab.load import Load, errors

PEOPLE = {"Cookie": "session=1"}


@pytest.mark.parametrize("mpm", ["event", "worker", "prefork"])
def test_under_load(new_gateway, mpm):
    """Three graceful restarts under load: every request answered, never more than the window at the origin."""
    with new_gateway(mpm=mpm, window=8, children=80 if mpm == "prefork" else 2, spare=80 if mpm == "prefork" else 4) as g:
        g.origin.stat(reset=True)
        with Load(g.address, three_classes(3, "/o/size/4096"), seconds=3600, interval=0.5) as load:
            for _ in range(3):
                more_lines(load, 1)
                g.graceful()
            more_lines(load, 1)
            load.stop()
            final = load.result()
        assert final["total"]["requests"] > 100
        assert errors(final) == 0, final["total"]["errors"]
        assert set(final["total"]["status"]) == {"200"}
        assert g.origin.stat()["max"] == g.window
        g.settled()


@pytest.mark.parametrize("mpm", ["event", "worker"])
def test_restarts_one_after_another(new_gateway, restarts, mpm):
    """Clients that keep connections, streams of HTTP/2, requests that wait, and parked ones that are at the server over two restarts: all are answered, and old
    and new generations together have one window.  In the event MPM a request in the queue is held without a thread."""
    with new_gateway(mpm=mpm, window=8, children=2, spare=14, http2=True, more="<Location /b/gate/>\n    QosPark time=1\n</Location>\n") as g, contextlib.ExitStack() as stack:
        g.origin.stat(reset=True)
        parked = collections.deque()
        with Load(g.address, three_classes(6, "/o/size/4096"), seconds=3600, interval=0.2) as load, Patient(g.port, 2, 4, "/o/size/3000") as streams:
            for _ in range(restarts):
                name, c = fresh("parked"), stack.enter_context(g.connect(deadline=60))
                c.send("GET", f"/b/gate/{name}?size=5000", headers=PEOPLE)
                parked.append((name, c))
                g.until(lambda s: s["parked"] == len(parked) and s["queued"] > 0, "parked, and others wait")
                g.graceful()
                before = streams.done[200]
                more_lines(load, 1)
                http1.until(lambda: streams.failed or streams.done[200] > before, 30, "streams go on")
                if len(parked) > 2:
                    name, c = parked.popleft()
                    g.backend.open(name)
                    answer = c.receive()
                    assert (answer.status, len(answer.body)) == (200, 5000)
                    c.close()
            load.stop()
            final = load.result()
        for name, c in parked:
            g.backend.open(name)
            assert c.receive().status == 200
        assert errors(final) == 0, final["total"]["errors"]
        assert set(final["total"]["status"]) == {"200"}
        assert not streams.failed and set(streams.done) == {200}, (streams.failed, streams.done)
        assert g.origin.stat()["max_serving"] == g.window
        g.settled()


@pytest.mark.parametrize("mpm", ["event", "worker", "prefork"])
def test_one_window(new_gateway, mpm):
    """The old generation serves with all slots; the new one's requests wait for them, and get them."""
    with new_gateway(mpm=mpm, window=2) as g, g.connect() as one, g.connect() as two, g.connect() as three:
        with g.window_taken() as taken:
            one.send("GET", "/b/size/30", headers=PEOPLE)
            two.send("GET", "/b/size/30", headers=PEOPLE)
            g.until_queued(2)
            g.graceful()
            three.send("GET", "/b/size/40", headers=PEOPLE)
            g.until_queued(3)
            assert g.status()["outstanding"] == g.window
            taken.release()
            assert [len(c.receive().body) for c in (one, two, three)] == [30, 30, 40]
        g.settled()


@pytest.fixture
def gateway_with_policy(new_gateway):
    with new_gateway(policy=config.THREE_CLASSES) as g:
        yield g


def test_policy_changes(gateway_with_policy):
    g = gateway_with_policy
    assert g.weights() == {"people": 6, "search": 3, "crawlers": 1}
    assert http1.get(g.port, "/b/size/10", headers=PEOPLE).status == 200
    served = g.settled()["by_class"]["people"]["done"]
    assert served == 1
    g.write_policy(g.policy.replace('quantum="6"', 'quantum="8"').replace('name="search"', 'name="finders"'))
    g.graceful()
    assert g.weights() == {"people": 8, "finders": 3, "crawlers": 1}
    assert g.settled()["by_class"]["people"]["done"] == served, "a class that stays keeps its account"


def test_policy_changes_while_requests_wait(gateway_with_policy):
    """A class that goes away serves those who wait in it."""
    g = gateway_with_policy
    search = {"User-Agent": "Googlebot"}
    with g.window_taken() as taken, g.connect() as waiting:
        waiting.send("GET", "/b/size/50", headers=search)
        g.until_queued(1)
        g.write_policy(g.policy.replace('name="search"', 'name="finders"'))
        g.graceful()
        with g.connect() as later:
            later.send("GET", "/b/size/60", headers=search)
            g.until_queued(2)
            taken.release()
            assert len(waiting.receive().body) == 50
            assert len(later.receive().body) == 60
    assert g.settled()["by_class"]["finders"]["done"] == 1


def test_new_class_in_an_old_place(gateway_with_policy):
    """A class that gets the place of one that is gone learns its own mean size."""
    def estimate(c, path):
        c.ask("GET", path, headers=PEOPLE)
        return int(g.logged(path.partition("?")[2], 1)[0]["estimate"])

    g = gateway_with_policy
    with g.connect() as c:
        # By one connection: an answer teaches when it is gone, and only then is the next request looked at.
        unknown = estimate(c, "/b/size/300000?first")
        assert estimate(c, "/static/2k.txt?second") > 10 * unknown, "people's mean"
    many = "".join(f'<class id="{n}" name="c{n}" quantum="1"><url>/c{n}/</url></class>' for n in range(100, 166))
    for more, name in (many, "others"), ("", "members"):
        g.write_policy(g.policy.replace('name="people"', f'name="{name}"').replace("</classification>", more + "</classification>"))
        g.graceful()
    assert "members" in g.weights()
    with g.connect() as c:
        assert estimate(c, "/cgi/page?third") == unknown
    g.settled()


def test_more_classes_than_places(gateway_with_policy):
    """A graceful restart can't make the scheduler larger: it says so, goes on with the classes it has, and ends nothing."""
    g = gateway_with_policy
    before = g.weights()
    many = "".join(f'<class id="{n}" name="c{n}" quantum="1"><url>/c{n}/</url></class>' for n in range(100, 400))
    g.write_policy(g.policy.replace("</classification>", many + "</classification>"))
    g.graceful()
    assert http1.get(g.port, "/b/size/10", headers=PEOPLE).status == 200
    assert g.weights() == before
    assert "classes and settings of before stay in force" in "".join(g.error_log()[-20:])
    g.settled()


def test_bad_policy_on_graceful(gateway_with_policy):
    """The old policy stays in force, requests go on, and the log says where and why."""
    g = gateway_with_policy
    before = g.weights()
    for n, bad in enumerate((g.policy.replace("<cookie>", "<cookies>").replace("</cookie>", "</cookies>"), "<classification>", "")):
        g.write_policy(bad)
        g.graceful()
        assert g.weights() == before
        assert http1.get(g.port, "/b/size/10", headers=PEOPLE).status == 200
        complaints = {line.split("] ", 3)[-1] for line in g.error_log() if f"{g.policy_file}:" in line}
        assert len(complaints) == n + 1, g.error_log()[-5:]
        assert "stays in force" in "".join(g.error_log()[-20:])
    g.write_policy(g.policy.replace('quantum="6"', 'quantum="7"'))
    g.graceful()
    assert g.weights()["people"] == 7
    g.settled()


def test_policy_file_gone_on_graceful(gateway_with_policy):
    g = gateway_with_policy
    before = g.weights()
    g.policy_file.unlink()
    g.graceful()
    assert g.weights() == before
    assert any(str(g.policy_file) in line and "No such file" in line for line in g.error_log())
    g.settled()
