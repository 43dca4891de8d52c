# SPDX-License-Identifier: BSD-2-Clause
"""Origins that die, hang or drip: every slot is given back once, and the classes that do not ask them are served within a second."""

import concurrent.futures
import signal
import statistics
import time

import http1
import pytest
from lab import lab
from squid_names import Deaf, Names
from squid_proxy import SLACK, fresh, scheduled

CLASSES = dict(good="weight=1", bad="weight=1")
WINDOWS = {
    "window": scheduled(5, **CLASSES),
    "bytes": scheduled("bytes", **CLASSES) + "fqrs_link rate=100Mbit\n",
    "slow-link": scheduled("bytes", **CLASSES) + "fqrs_link rate=1Mbit\n",
    "wrc": scheduled("wrc most=20", **CLASSES) + "fqrs_link rate=100Mbit\n",
}


@pytest.fixture(scope="module")
def names():
    with Names(silent=None) as n:
        yield n


@pytest.fixture(params=WINDOWS)
def proxy(request, proxy_with):
    """A window of each kind that has one."""
    p = proxy_with(WINDOWS[request.param])
    p.settled()
    yield p
    p.settled()


class Crowd:
    """Clients that ask, and take what comes until they leave with the block."""

    def __init__(self, proxy, n, target, **kwargs):
        self.connections = [proxy.send(target, **kwargs) for _ in range(n)]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for c in self.connections:
            c.reset()


def slowest(proxy, seconds, **kwargs):
    """The longest of one small request after the other."""
    longest, end = 0, time.monotonic() + seconds
    while time.monotonic() < end:
        began = time.monotonic()
        assert proxy.ask("/size/100", cls="good", **kwargs).status == 200
        longest = max(longest, time.monotonic() - began)
    return longest


# How an origin treats its many requests.
HANGS = {
    "no-answer": "/gate/never-opened",
    "part-of-a-body": "/part/never-opened?size=3000",
    "drips": "/drip/100000",
    "drips-chunks": "/trickle/never-opened",
}
# How long class good may wait. Where responses are counted, two that hang may be let go before it has its turn, half a second each.
SECONDS = {"window": 2, "bytes": 1, "wrc": 2}


def assert_good_is_served(p, n, target, seconds=1):
    """While n clients of class bad ask for this, class good's requests are served within so many seconds each; then nothing of them is left."""
    with Crowd(p, n, target, cls="bad"):
        p.until(lambda s: s["by_class"]["bad"]["submitted"] - s["by_class"]["bad"]["cancelled"] >= n, "all of them have asked")
        with p.connect(deadline=(seconds + SLACK + 0.5) * p.world.patience) as c:
            assert slowest(p, 1.5, connection=c) < (seconds + SLACK) * p.world.patience
    assert p.settled()["by_class"]["bad"]["queued"] == 0


@pytest.mark.parametrize("hang", HANGS)
@pytest.mark.parametrize("window", SECONDS)
def test_one_origin_stalls_one_class(new_proxy, window, hang):
    """100 clients of class bad ask an origin that hangs or drips one byte in 100 ms."""
    with new_proxy(WINDOWS[window]) as p:
        for _ in range(5):
            assert p.ask("/size/100", cls="good").status == 200
        assert_good_is_served(p, 100, HANGS[hang], SECONDS[window])


@pytest.mark.parametrize("milliseconds", (50, 400, 700))
def test_an_origin_that_fails_stalls_one_class(new_proxy, milliseconds):
    """The same when 50 clients of class bad ask again and again, and each time the origin closes without a word after so long."""
    bad = {"name": "bad", "clients": 50, "header": "X-Class: bad", "url": f"/late/{milliseconds}"}
    with new_proxy(WINDOWS["bytes"]) as p:
        for _ in range(5):
            assert p.ask("/size/100", cls="good").status == 200
        with p.load([bad], seconds=60) as run, p.connect(deadline=(1.5 + SLACK) * p.world.patience) as c:
            p.until(lambda s: s["by_class"]["bad"]["submitted"] >= 50, "all of them have asked")
            assert slowest(p, 2, connection=c) < (1 + SLACK) * p.world.patience
            run.stop()
            run.result()
        p.settled()


def test_one_origin_stalls_one_class_of_small_pages(new_proxy):
    """The same when class good had large responses before, and class bad small ones."""
    with new_proxy(WINDOWS["bytes"]) as p:
        for _ in range(5):
            assert p.ask("/size/2000000", cls="good").status == p.ask("/size/100", cls="bad").status == 200
        assert_good_is_served(p, 100, HANGS["no-answer"])


@pytest.mark.parametrize("where", ("connecting", "looking-up"))
@pytest.mark.parametrize("window", SECONDS)
def test_an_origin_that_is_not_reached_stalls_one_class(new_proxy, names, window, where):
    with new_proxy(WINDOWS[window] + "connect_timeout 2 seconds\n", dns=names.address) as p, Deaf() as deaf:
        assert_good_is_served(p, 100, deaf.url("/") if where == "connecting" else "http://silent.test/", SECONDS[window])


def assert_drips_come(proxy, c, n, seconds):
    """Each of n bytes is here so soon after the origin has sent it; the middle of them, for any one may meet a pause of the machine."""
    late = []
    for i in range(n):
        c.exactly(1)
        late.append(time.monotonic() - proxy.origin.dripped[i])
    assert statistics.median(late) < seconds * proxy.world.patience and max(late) < (seconds + SLACK) * proxy.world.patience, late


def test_what_has_come_is_passed_on(proxy):
    """3000 bytes of a response of which no more comes are with the client within half a second, and so is each byte of one that drips."""
    gate = fresh("passed")
    with proxy.connect() as c:
        began = time.monotonic()
        proxy.send(f"/part/{gate}?size=3000", connection=c)
        c.head()
        c.exactly(3000)
        assert time.monotonic() - began < (0.5 + SLACK) * proxy.world.patience
        proxy.origin.open(gate)
        c.exactly(3000)
        proxy.send("/drip/10", connection=c)
        c.head()
        assert_drips_come(proxy, c, 10, 0.5)


def test_a_byte_at_a_time_of_much(proxy):
    """100 kB are promised, of which a byte comes every 100 ms: each is passed on at once, also when the response does not count any more."""
    with proxy.connect() as c:
        proxy.send("/drip/100000", connection=c)
        c.head()
        assert_drips_come(proxy, c, 40, 0.6)
        c.reset()


def test_an_origin_is_killed(proxy):
    """Ten responses are in their middle when their origin dies: each ends once, and another origin's are served."""
    before, n = proxy.settled(), 10
    with lab.Origin(proxy.lab) as origin:
        visits = [proxy.send(f"{origin.url}/size/8000?stall", cls="bad") for _ in range(n)]
        proxy.until(lambda s: s["released"] - before["released"] == n, "all of them released, as those of which nothing comes are parked", 30)
        for c in visits:
            c.head()
            c.exactly(4000)
        origin.process.send_signal(signal.SIGKILL)
        origin.process.wait()
        assert proxy.ask("/size/10", cls="good").status == 200
    for c in visits:
        assert not c.more()
        c.close()
    moved = proxy.moved(before)
    assert moved == {"submitted": n + 1, "released": n + 1, "done": 1, "aborted": n}


def test_an_origin_comes_back(proxy):
    """Refused while it is away, served when it is there again, on the same port."""
    before = proxy.settled()
    origin = lab.Origin(proxy.lab)
    url = f"{origin.url}/size/10"
    for _ in range(2):
        with origin:
            with proxy.connect() as c:
                assert c.ask("GET", url, host=origin.address).status == 200
        with proxy.connect() as c:
            assert c.ask("GET", url, host=origin.address).status == 503
    assert proxy.moved(before) == {"submitted": 4, "released": 4, "done": 2, "aborted": 2}


def test_a_thousand_bad_ends(proxy):
    """Origins that reset, cut, close without a word and send nonsense, a thousand times in all, eight at a time."""
    before, kinds = proxy.settled(), ["/reset/2000", "/cut/2000", "/gone", "/broken", "/close/2000", "/status/502", "/size/2000"]
    n = 1000

    def visit(i):
        with proxy.connect() as c:
            proxy.send(kinds[i % len(kinds)], connection=c, cls="bad")
            try:
                return c.receive().status
            except (http1.Cut, ValueError):
                return "cut"
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        ends = set(pool.map(visit, range(n)))
    assert ends == {200, 502, "cut"}
    moved = proxy.moved(before)
    assert moved["submitted"] == moved["released"] == moved["done"] + moved["aborted"] == n
    assert moved["done"] >= 3 * n // len(kinds)
