# SPDX-License-Identifier: BSD-2-Clause
"""Waiting: every kind of content, the order by weights, bounds and their answers."""

import collections
import contextlib
import threading
import time

import pytest

import http1

PAGES = {
    "static": ("/static/2k.txt", 2048),
    "proxy": ("/b/size/3000", 3000),
    "proxy-chunked": ("/b/size/3000?chunked", 3000),
    "cgi": ("/cgi/page?size=3000", 3000),
    "php": ("/php/page.php?size=3000", 3000),
}
PEOPLE = {"Cookie": "a=b; session=1"}
SEARCH = {"User-Agent": "Mozilla/5.0 (compatible; Googlebot/2.1)"}
CRAWLERS = {"User-Agent": "GPTBot/1.2"}


@pytest.mark.parametrize("page", PAGES)
def test_served_at_once_and_after_waiting(gateway, page):
    url, size = PAGES[page]
    before = gateway.settled()
    response = http1.get(gateway.port, url)
    assert (response.status, len(response.body)) == (200, size)
    with gateway.window_taken() as taken, gateway.connect() as c:
        c.send("GET", url)
        gateway.until_queued(1)
        taken.release()
        response = c.receive()
        assert (response.status, len(response.body)) == (200, size)
    gateway.assert_each_once(before, 2 + taken.count)


def test_nothing_passes_while_the_window_is_taken(gateway):
    """With the only slot taken, of many requests none reaches the backend; then each does, one at a time."""
    with gateway.window_taken() as taken:
        seen = gateway.backend.seen
        visits = [gateway.connect() for _ in range(8)]
        for c in visits:
            c.send("GET", "/b/size/10", headers=PEOPLE)
        gateway.until_queued(8)
        assert gateway.backend.seen == seen
        gateway.backend.most = gateway.backend.now
        taken.release()
        for c in visits:
            assert c.receive().status == 200
            c.close()
        assert gateway.backend.seen == seen + 8
        assert gateway.backend.most == 1
    gateway.settled()


def test_slow_readers_that_come_back_stay_in_the_window(new_gateway):
    """Answers whose clients were slow gave their slots back, any number of them.  When all clients read on they had slots too many, and nobody else
    was let through until the last of them had ended."""
    with new_gateway(window=2) as g, contextlib.ExitStack() as stack:
        readers = [stack.enter_context(g.connect(receive_buffer=65536)) for _ in range(4)]
        for c in readers:
            c.send("GET", "/php/page.php?size=400000000", headers={"User-Agent": "GPTBot"})
        g.until(lambda s: s["parked"] == 4, "all parked")
        over = threading.Event()

        def read_on():
            while not over.wait(0.005):
                for c in readers:
                    c.socket.recv(65536)
        with g.in_background(read_on):
            seen = []
            with contextlib.suppress(AssertionError):
                g.until(lambda s: seen.append(s["outstanding"]) or s["outstanding"] > 2, "more than the window", 3)
            over.set()
        assert 1 <= max(seen) <= 2, seen
        for c in readers:
            c.reset()
        g.settled()


@pytest.mark.parametrize("mpm", ("event", "worker", "prefork"))
def test_released_by_weight(new_gateway, mpm):
    """Equal pages of three classes wait; whatever prefix of the releases is taken, each class has had its share of it: by bytes, since no two take equally long."""
    with new_gateway(mpm=mpm, more="QosCharge bytes\n") as gateway:
        released_by_weight(gateway)


def released_by_weight(gateway):
    # In proportion, where each waiting request blocks a thread: a class may only block its share of them.
    waiting = {"people": (PEOPLE, 12 if gateway.blocks else 30), "search": (SEARCH, 6 if gateway.blocks else 30),
               "crawlers": (CRAWLERS, 2 if gateway.blocks else 30)}
    # The size of each page is known, and the scheduler's running mean of sizes is near it: a round is eight pages, 4.8 : 2.4 : 0.8.
    with gateway.connect() as c:
        for name, (headers, _) in list(waiting.items()) * 32:
            assert c.ask("GET", f"/b/order/{name}?size=4000", headers=headers).status == 200
    time.sleep(0.2)     # a pause, after which nobody has anything left of before
    with gateway.window_taken() as taken:
        before = len(gateway.backend.order)
        visits = []
        for name, (headers, n) in waiting.items():
            for i in range(n):
                c = gateway.connect()
                c.send("GET", f"/b/order/{name}?size=4000", headers=headers)
                visits.append(c)
        gateway.until_queued(len(visits))
        taken.release()
        for c in visits:
            assert c.receive().status == 200
            c.close()
        order = gateway.backend.order[before:]
    assert len(order) == len(visits)
    # While all three wait they go 6 : 3 : 1, each within a round and a page of its due: p = 4.8R±5.8, s = 2.4R±3.4, c = 0.8R±1.8; what one is ahead
    # by others are not behind by at the same time, so half of the sum of both bounds is far.
    served = collections.Counter()
    for name in order:
        served[name] += 1
        if any(served[name] == n for name, (_, n) in waiting.items()):
            break
        assert abs(served["people"] - 2 * served["search"]) <= 7, served
        assert abs(served["search"] - 3 * served["crawlers"]) <= 5, served
    assert served.total() >= 16
    gateway.settled()


def test_class_queue_full(gateway):
    """Class `tiny` may have two waiting: the third is told to come back."""
    tiny = {"User-Agent": "tiny-queue"}
    with gateway.window_taken() as taken:
        waiting = [gateway.connect() for _ in range(2)]
        for c in waiting:
            c.send("GET", "/b/size/10", headers=tiny)
        gateway.until_queued(2)
        refused = http1.get(gateway.port, "/b/size/10?full", headers=tiny)
        assert (refused.status, refused.headers["retry-after"]) == (503, "7")
        assert gateway.status()["queued"] == 2
        assert gateway.logged("full", 1)[0]["outcome"] == "refused"
        taken.release()
        for c in waiting:
            assert c.receive().status == 200
            c.close()
    gateway.settled()


def test_waited_too_long(gateway):
    """Class `hasty` waits one second: then 503 with Retry-After, and the place is free."""
    hasty = {"User-Agent": "hasty"}
    before = gateway.settled()
    with gateway.window_taken() as taken, gateway.connect() as c:
        began = time.monotonic()
        c.send("GET", "/b/size/10", headers=hasty)
        response = c.receive()
        took = time.monotonic() - began
        assert (response.status, response.headers["retry-after"]) == (503, "7")
        assert 0.99 <= took < 10, took
        assert gateway.status()["queued"] == 0
    after = gateway.settled()
    assert after["cancelled"] - before["cancelled"] == 1


def test_a_wait_that_ends_gives_its_descriptor_back_once(new_gateway):
    """More wait than the stock of inherited descriptors (a quarter of the limit of open files) has, and most of them too long, again and
    again.  A descriptor given back twice would serve two waits: one would be woken for the other, and not when its own turn comes.
    """
    with new_gateway(window=1, open_files=512) as g:
        for wave in range(3):
            hasty, patient = [g.connect() for _ in range(150)], [g.connect() for _ in range(50)]
            with g.window_taken() as taken:
                for i, c in enumerate(hasty + patient):
                    c.send("GET", f"/b/size/{i + 1}", headers={"User-Agent": "hasty"} if i < len(hasty) else PEOPLE)
                assert {c.receive().status for c in hasty} == {503}
                g.until_queued(len(patient))
                taken.release()
                assert [len(c.receive().body) for c in patient] == list(range(len(hasty) + 1, len(hasty) + len(patient) + 1)), wave
            for c in hasty + patient:
                c.close()
        assert g.settled()["timed_out"] == 3 * len(hasty)


def test_a_post_that_waits_keeps_its_body(gateway):
    body = bytes(range(256)) * 1024
    with gateway.window_taken() as taken, gateway.connect() as c:
        with gateway.in_background(c.send, "POST", "/b/echo", body=body) as sending:
            gateway.until_queued(1)
            taken.release()
            sending.result()
            assert c.receive().body == str(len(body)).encode()
    gateway.settled()


def test_pipelined_requests_wait_in_turn(gateway):
    with gateway.window_taken() as taken, gateway.connect() as c:
        c.send(b"".join(http1.request_bytes("GET", f"/b/size/{n}") for n in (11, 22, 33)))
        gateway.until_queued(1)
        taken.release()
        assert [len(c.receive().body) for _ in range(3)] == [11, 22, 33]
    gateway.settled()


def test_environment_names_the_class(gateway):
    """SetEnvIf ... qos-class=NAME goes before all rules."""
    before = gateway.settled()["by_class"]
    assert http1.get(gateway.port, "/b/size/10", headers={**SEARCH, "X-Class": "people"}).status == 200
    assert http1.get(gateway.port, "/b/size/10", headers=SEARCH).status == 200
    after = gateway.settled()["by_class"]
    moved = {name: after[name]["done"] - before[name]["done"] for name in after}
    assert moved == {**dict.fromkeys(after, 0), "people": 1, "search": 1}


def test_a_url_has_its_port(new_gateway):
    """The url that rules look at is scheme://host:port/path, with the port that the client names."""
    with new_gateway() as g:
        g.scheduling["classes"] += f"QosRule search url prefix http://localhost:{g.port}/b/size/7\n"
        g.scheduling["classes"] += "QosRule people url prefix http://localhost/b/size/7\n"
        g.scheduling["classes"] += f"QosRule tiny url prefix http://[::1]:{g.port}/b/size/7\n"
        g.graceful(g.whole_config())
        for host, path in ((f"localhost:{g.port}", "/b/size/70"), (f"localhost:{g.port}", "/b/size/80"), ("localhost", "/b/size/71"),
                           ("localhost:80", "/b/size/72"), (f"[::1]:{g.port}", "/b/size/73")):
            assert http1.get(g.port, path, host=host).status == 200
        by_class = g.settled()["by_class"]
        assert {name: by_class[name]["done"] for name in ("search", "people", "tiny", "crawlers")} == {
            "search": 1, "people": 2, "tiny": 1, "crawlers": 1}


def test_an_upgrade_field_is_no_way_out_of_the_queue(gateway):
    before = gateway.settled()
    with gateway.window_taken() as taken, gateway.connect() as c:
        c.send("GET", "/b/size/10", headers=dict(PEOPLE, Upgrade="x", Connection="Upgrade"))
        gateway.until_queued(1)
        taken.release()
        assert c.receive().status == 200
    gateway.assert_each_once(before, taken.count + 1)


def test_engine_off_in_a_directory(gateway):
    """QosEngine Off: such requests neither wait nor are counted."""
    before = gateway.settled()
    with gateway.window_taken() as taken:
        response = http1.get(gateway.port, "/off/2k.txt")
        assert (response.status, len(response.body)) == (200, 2048)
        taken.release()
    gateway.assert_each_once(before, taken.count)


@pytest.mark.parametrize("mpm", ("worker", "prefork"))
def test_refused_for_want_of_a_thread_is_told(new_gateway, mpm):
    """Where waits block, a crowd of one class may not have the last threads: it counted as cancelled, and no log or page told why."""
    threads = {"children": 12} if mpm == "prefork" else {"children": 1, "threads": 12}
    with new_gateway(mpm=mpm, spare=0, **threads) as g, g.window_taken() as taken:
        waiting = []
        # Of the eleven threads that are left, six are anybody's, of which one class leaves half, and each class has one at least of the others.
        for n in range(1, 5):
            waiting.append(g.connect())
            waiting[-1].send("GET", "/b/size/10", headers=CRAWLERS)
            g.until_queued(n)
        refused = http1.get(g.port, "/b/size/10?crowd", headers=CRAWLERS)
        assert (refused.status, refused.headers["retry-after"]) == (503, "7")
        line = g.logged("crowd", 1)[0]
        assert (line["outcome"], line["reason"]) == ("refused", "no-thread")
        waiting.append(g.connect())
        waiting[-1].send("GET", "/b/size/10", headers=PEOPLE)
        status = g.until_queued(5)
        assert (status["refused"], status["refused_by"]["no-thread"]) == (1, 1)
        prometheus = http1.get(g.port, "/qos-status?prometheus").body.decode()
        assert 'fairgate_refused_total{reason="no-thread"} 1\n' in prometheus
        assert b"1 no thread to wait in" in http1.get(g.port, "/qos-status").body
        taken.release()
        for c in waiting:
            assert c.receive().status == 200
            c.close()


def test_refusals_have_reasons(new_gateway):
    """Class full, queue full, too long: in the log and in the counts."""
    with new_gateway(queue=4) as g, g.window_taken() as taken:
        waiting = []
        for n, (headers, query, reason) in enumerate([({"User-Agent": "tiny-queue"}, "class", "class-full"), (PEOPLE, "queue", "queue-full")], 1):
            for m in range(2):
                waiting.append(g.connect())
                waiting[-1].send("GET", "/b/size/10", headers=headers)
                g.until_queued(2 * n - 1 + m)
            assert http1.get(g.port, f"/b/size/10?{query}", headers=headers).status == 503
            assert g.logged(query, 1)[0]["reason"] == reason
            assert g.status()["refused_by"][reason] == 1
        taken.release()
        for c in waiting:
            assert c.receive().status == 200
            c.close()


@pytest.mark.parametrize("mpm", ("worker", "prefork"))
def test_blocked_waits_leave_what_the_live_window_takes(new_gateway, mpm):
    """The bound on threads counted with the eight slots that `auto` begins with: when it had grown, a crowd had the last threads of a worker MPM.

    Of the threads that the window leaves one half is anybody's, of which one class leaves half, and of the other a class has its part by weight, one of thirteen, but one at least.
    """
    threads, over = 48, threading.Event()

    def ask_again(c):
        while not over.is_set():
            c.ask("GET", "/o/size/2000", headers=PEOPLE)

    sized = {"children": threads} if mpm == "prefork" else {"children": 1, "threads": threads}
    with new_gateway(mpm=mpm, window="auto", spare=0, **sized) as g:
        clients = [g.connect() for _ in range(20)]
        visits = [threading.Thread(target=ask_again, args=(c,)) for c in clients]
        for t in visits:
            t.start()
        try:
            g.until(lambda s: s["window"] >= 12, "a larger window", 60)
        finally:
            over.set()
            for t in visits:
                t.join()
        for c in clients:
            c.close()
        window = g.settled()["window"]
        spare = threads - window
        may = (spare - spare // 2 + 1) // 2 + max(1, spare // 2 // 13)
        with g.window_taken(*[g.connect() for _ in range(window)]) as taken:
            waiting = [g.connect() for _ in range(may + 1)]
            for c in waiting:
                c.send("GET", "/b/size/10", headers=CRAWLERS)
            g.until(lambda s: s["queued"] == may and s["refused_by"]["no-thread"] == 1, f"{may} wait, one is refused")
            taken.release()
            assert sorted(c.receive().status for c in waiting) == [200] * may + [503]
