# SPDX-License-Identifier: BSD-2-Clause
"""More is asked for than there is: queues that stand, refusals, and what a refused client is told."""

import collections
import contextlib
import time

import pytest

import config
import http1
import http2
from promise import Promise

PROMPT = {"User-Agent": "prompt"}
PEOPLE = {"Cookie": "session=1"}
TINY = {"User-Agent": "tiny-queue"}
ERRORS = "ErrorDocument 503 /errors/404.txt\nErrorDocument 429 /errors/404.txt\n"


def with_delay(ms):
    return config.CLASSES + f"QosClass prompt weight=6 delay={ms}\nQosRule prompt user_agent exact prompt\n"


def asking(g, stack, n, headers=PROMPT, path="/b/size/10"):
    """So many visits that wait."""
    queued = g.status()["queued"]
    visits = [stack.enter_context(g.connect()) for _ in range(n)]
    for c in visits:
        c.send("GET", path, headers=headers)
    g.until_queued(queued + n)
    return visits


@pytest.mark.parametrize("mpm", ("event", "worker", "prefork"))
def test_who_waits_in_a_queue_that_stands_is_refused(new_gateway, mpm):
    """Nobody is released: by the bound and the 0.1 s that make a queue stand, all are told; others wait on."""
    with new_gateway(mpm=mpm, classes=with_delay(300)) as g, contextlib.ExitStack() as stack, g.window_taken() as taken:
        others = asking(g, stack, 2, headers=PEOPLE)
        # Somebody looks ten times a second: 0.3 s, and the 0.1 s that make it stand have passed by then.
        with Promise(0.3 + 0.1 + 0.05) as soon:
            visits = [stack.enter_context(g.connect()) for _ in range(4)]
            for n, c in enumerate(visits):
                c.send("GET", f"/b/size/10?prompt{n}", headers=PROMPT)
            answers = [c.receive() for c in visits]
            soon.kept(lambda: True, "refused")
        assert {(a.status, a.headers["retry-after"]) for a in answers} == {(503, "7")}
        for n in range(4):
            line = g.logged(f"prompt{n}", 1)[0]
            assert (line["outcome"], line["reason"], line["class"]) == ("refused", "standing", "prompt")
            assert float(line["wait"]) > 300
        status = g.status()
        assert (status["queued"], status["refused_by"]["standing"], status["by_class"]["prompt"]["refused_by"]["standing"]) == (2, 4, 4)
        page = http1.get(g.port, "/qos-status?prometheus").body.decode()
        assert 'fairgate_class_refused_total{class="prompt",reason="standing"} 4\n' in page
        assert 'fairgate_refused_total{reason="standing"} 4\n' in page
        assert b"4 too long in a queue that stood" in http1.get(g.port, "/qos-status").body
        taken.release()
        assert [c.receive().status for c in others] == [200, 200]
        assert g.settled()["timed_out"] == 0


def test_streams_are_refused_too(new_gateway):
    with new_gateway(classes=with_delay(200), http2=True) as g, g.window_taken(), http2.Connection(g.port) as c:
        for _ in range(5):
            c.send("GET", "/b/size/10", headers={"user-agent": "prompt"})
        assert c.statuses() == [503] * 5
        assert g.status()["refused_by"]["standing"] == 5


@pytest.mark.parametrize("mpm", ("event", "worker"))
def test_newest_first_while_the_queue_stands(new_gateway, mpm):
    """The first three have waited for too long; of the others, who have not, the newest goes next."""
    with new_gateway(mpm=mpm, classes=with_delay(2000)) as g, contextlib.ExitStack() as stack, g.window_taken() as taken:
        old = asking(g, stack, 3)
        began, before = time.monotonic(), len(g.backend.order)
        while time.monotonic() < began + 0.9:
            time.sleep(0.05)
        young = [asking(g, stack, 1, path=f"/b/order/young{n}?size=10")[0] for n in range(3)]
        g.until(lambda s: s["refused_by"]["standing"] == 3 and s["by_class"]["prompt"]["stands"], "three are refused")
        taken.release()
        assert [c.receive().status for c in old] == [503] * 3
        assert [c.receive().status for c in young] == [200] * 3
        assert g.backend.order[before:] == ["young2", "young1", "young0"]
        # Empty: in order again.
        assert not g.settled()["by_class"]["prompt"]["stands"]


@pytest.mark.parametrize("mpm", ("event", "prefork"))
@pytest.mark.parametrize("refuse", (503, 429))
def test_the_page_of_a_refusal_is_not_scheduled(new_gateway, mpm, refuse):
    """ErrorDocument: with its own status and Retry-After, while every slot and place is taken.  The page of another error may be, and the error
    stays what it is."""
    more = f"QosRefuse {refuse}\n{ERRORS}ErrorDocument 403 /errors/404.txt\n"
    with new_gateway(mpm=mpm, queue=4, more=more) as g, contextlib.ExitStack() as stack, g.window_taken() as taken:
        waiting = asking(g, stack, 2, headers=TINY)
        before = g.status()
        for method in ("GET", "POST"):
            refused = stack.enter_context(g.connect()).ask(method, "/b/size/10?full", headers=TINY, **({"body": b"x"} if method == "POST" else {}))
            assert (refused.status, refused.headers["retry-after"], refused.body) == (refuse, "7", b"this site's own 404\n")
        after = g.status()
        assert (after["submitted"], after["queued"]) == (before["submitted"], 2)
        assert after["refused_by"]["class-full"] == before["refused_by"]["class-full"] + 2
        forbidden = http1.get(g.port, "/forbidden/x", headers=TINY)
        assert forbidden.status == 403 and b"Forbidden" in forbidden.body
        taken.release()
        assert [c.receive().status for c in waiting] == [200, 200]
        g.settled()


def test_refusals_come_back_spread(new_gateway):
    """QosRetryAfter N max=M: as many seconds as the class is behind, and up to half of that more."""
    with new_gateway(more="QosRetryAfter 8 max=20\n") as g, contextlib.ExitStack() as stack, g.window_taken() as taken:
        waiting = asking(g, stack, 2, headers=TINY)
        told = collections.Counter()
        for _ in range(60):
            told[int(http1.get(g.port, "/b/size/10", headers=TINY).headers["retry-after"])] += 1
        assert 8 <= min(told) and max(told) <= 12 and len(told) >= 3, told
        taken.release()
        assert [c.receive().status for c in waiting] == [200, 200]


def test_refusals_at_ten_times_the_load(new_gateway):
    """Ten times as many as are served come: 99 of 100 refusals are there within 0.05 s, or what the machine itself was late."""
    with new_gateway(window=2) as g, contextlib.ExitStack() as stack, g.window_taken() as taken:
        waiting = asking(g, stack, 2, headers=TINY)
        took = []
        with Promise(0) as clock:
            for _ in range(15):
                # httpd closes a connection after a 503.
                visits = [stack.enter_context(g.connect()) for _ in range(20)]
                began = time.monotonic()
                for c in visits:
                    c.send("GET", "/b/size/10", headers=TINY)
                for c in visits:
                    assert c.receive().status == 503
                    took.append(time.monotonic() - began)
        took.sort()
        assert took[int(len(took) * 0.99)] <= 0.05 + clock.late.seconds, (took[-10:], clock.late.seconds)
        taken.release()
        assert [c.receive().status for c in waiting] == [200, 200]


@pytest.mark.parametrize("line,sentence", [
    ("QosRefuse 404", "must be 503 or 429"), ("QosRetryAfter 9 max=8", "QosRetryAfter max="), ("QosRetryAfter 9 8", "must be max=SECONDS"),
    ("QosRetryAfter 0", "QosRetryAfter"), ("QosClass a weight=1 delay=-1", "QosClass delay="), ("QosClass a weight=1 delay=3600001", "QosClass delay="),
])
def test_configuration_errors(new_gateway, line, sentence):
    g = new_gateway(classes="")
    g.config += line + "\n"
    ok, said = g.check()
    assert not ok and sentence in said, said
