# SPDX-License-Identifier: BSD-2-Clause
"""Two gateways that teach each other page sizes through redis and memcached: in the background, and without either it goes on."""
import os
import re
import signal
import subprocess

import pytest

import http1
from lab import lab
from test_pages import estimate

PEOPLE = {"Cookie": "session=1"}
SECRET = "secret=correct-horse"
MODULES = "/usr/lib/apache2/modules"


class Redis(lab.Server):
    name = "redis"

    def argv(self):
        return ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", self.dir]

    def cli(self, *words):
        return subprocess.run(["redis-cli", "-p", str(self.port), *words], capture_output=True, text=True, check=True).stdout.split("\n")[:-1]


class Memcached(lab.Server):
    name = "memcached"

    def argv(self):
        return ["memcached", "-p", str(self.port), "-l", "127.0.0.1", "-U", "0", "-u", "nobody"]


CACHES = {"redis": Redis, "memcache": Memcached}


@pytest.fixture(params=CACHES)
def cache(parts, request):
    server = CACHES[request.param](parts.lab).start()
    server.provider = request.param
    yield server
    server.stop()


@pytest.fixture
def redis(parts):
    server = Redis(parts.lab).start()
    server.provider = "redis"
    yield server
    server.stop()


def sharing(new_gateway, provider, arguments, secret=SECRET, charge="bytes", **words):
    g = new_gateway(early=f"LoadModule socache_{provider}_module {MODULES}/mod_socache_{provider}.so\n", **words)
    # Of pages' times, too, the gateways tell each other; most tests here are of sizes.
    g.config += f"QosCharge {charge}\nQosShare {provider}{arguments} {secret}\n"
    return g


def at(cache):
    return f":127.0.0.1:{cache.port}"


def ask_in_part(g, path):
    """A look-up that teaches nothing: 206."""
    with g.connect() as c:
        assert c.ask("GET", path, headers={**PEOPLE, "Range": "bytes=0-0"}).status == 206


def known_to_the_other(one, two, path):
    size = len(http1.get(one.port, path, headers=PEOPLE).body)
    one.until(lambda s: s["share_stored"] >= 2, "told")
    before = two.status()["share_found"]
    ask_in_part(two, path)
    two.until(lambda s: s["share_found"] > before, "learnt")
    return size, estimate(two, path)


@pytest.mark.parametrize("mpm", ["event", "prefork"])
def test_one_teaches_the_other(new_gateway, cache, mpm):
    with sharing(new_gateway, cache.provider, at(cache), mpm=mpm) as one, sharing(new_gateway, cache.provider, at(cache), mpm=mpm) as two:
        size, expected = known_to_the_other(one, two, "/static/2k.txt?shared")
        assert size == 2048 and size < expected < size + 600
        assert one.status()["share_failed"] == two.status()["share_failed"] == 0


def test_another_secret(new_gateway, redis):
    """Who has another secret finds nothing."""
    with sharing(new_gateway, "redis", at(redis)) as one, sharing(new_gateway, "redis", at(redis), secret="secret=battery-staple") as two:
        http1.get(one.port, "/static/2k.txt?shared", headers=PEOPLE)
        one.until(lambda s: s["share_stored"] >= 2, "told")
        ask_in_part(two, "/static/2k.txt?shared")
        http1.get(two.port, "/b/size/10?mine", headers=PEOPLE)
        two.until(lambda s: s["share_stored"] >= 1, "at work")
        assert two.status()["share_found"] == 0


def test_cache_that_is_gone(new_gateway, parts):
    """Requests go on as ever; it is said once, and sharing begins again when there is an answer."""
    server = Redis(parts.lab)
    with sharing(new_gateway, "redis", at(server)) as g:
        for i in range(20):
            assert http1.get(g.port, f"/b/size/{i * 100}?x{i}", headers=PEOPLE).status == 200
        g.until(lambda s: s["share_failed"] > 0, "failed")
        server.start()
        try:
            def taught():
                http1.get(g.port, f"/b/size/{taught.n}?y{taught.n}", headers=PEOPLE)
                taught.n += 1
                return g.status()["share_stored"] > 0
            taught.n = 0
            http1.until(taught, 30, "told")
            http1.until(lambda: any("answers again" in line for line in g.error_log()), what="a word about it")
            log = "".join(g.error_log())
            assert log.count("no answer; page sizes are not shared") == 1 and log.count("answers again") == 1
        finally:
            server.stop()


def test_cache_that_hangs(new_gateway, redis):
    """Children end in time all the same, and those of the next generation are at work."""
    with sharing(new_gateway, "redis", at(redis)) as g:
        http1.get(g.port, "/static/2k.txt?one", headers=PEOPLE)
        g.until(lambda s: s["share_stored"] >= 1, "at work")
        old = set(g.workers())
        os.kill(redis.pid, signal.SIGSTOP)
        try:
            for i in range(20):
                assert http1.get(g.port, f"/b/size/{i * 100}?x{i}", headers=PEOPLE).status == 200
            g.graceful()
            http1.until(lambda: not old & set(g.workers()), 15, "the children of before are gone")
        finally:
            os.kill(redis.pid, signal.SIGCONT)
        stored = g.status()["share_stored"]
        http1.get(g.port, "/b/size/77777?after", headers=PEOPLE)
        g.until(lambda s: s["share_stored"] > stored, "at work again")


PAGE, OTHER = "/static/2k.txt?shared", "/b/size/300?other"


def put(redis, key, value):
    """Bytes of any kind."""
    done = subprocess.run(["redis-cli", "-p", str(redis.port), "-x", "set", key], input=value, capture_output=True, check=True)
    assert done.stdout == b"OK\n"


def get(redis, key):
    return subprocess.run(["redis-cli", "-p", str(redis.port), "get", key], capture_output=True, check=True).stdout[:-1]


def told(redis, one, path):
    """The objects that `one` stores for this page: of its URL and of its directory and so on."""
    before, stored = set(redis.cli("keys", "*")), one.status()["share_stored"]
    http1.get(one.port, path, headers=PEOPLE)
    one.until(lambda s: s["share_stored"] >= stored + 2, "told")
    keys = set(redis.cli("keys", "*")) - before - {""}
    assert len(keys) >= 2
    return sorted(keys)


def expect_rejected(two, path):
    """A look-up finds something and takes nothing."""
    before = two.status()
    ask_in_part(two, path)
    after = two.until(lambda s: s["share_rejected"] > before["share_rejected"], "rejected")
    assert after["share_found"] == before["share_found"]


def test_values_that_are_not_ours(new_gateway, redis):
    """Whatever stands in the cache under the name of a page: only what a gateway with our secret wrote for this page is believed.  Each value is tried on a gateway
    that knows nothing; a size of 4 TiB that anybody wrote became an estimate."""
    with sharing(new_gateway, "redis", at(redis)) as one:
        keys, others = told(redis, one, PAGE), told(redis, one, OTHER)
        right = {key: get(redis, key) for key in (*keys, *others)}
        assert all(value.startswith(b"2 2") for value in (right[key] for key in keys)), right
        values = [b"1 4398046511104", b"2 4398046511104", b"2 4398046511104 " + b" ".join(right[keys[0]].split()[2:]), b"", b"2", right[keys[0]][:-1],
                  right[keys[0]] + b"\n", right[keys[0]].upper().replace(b"A", b"B", 1) if b"a" in right[keys[0]] else right[keys[0]][:-1] + b"g", b"x" * 200, b"y" * 100000]
        with sharing(new_gateway, "redis", at(redis)) as two:
            # It asks for the same page again only after a minute: each value stands in the place of another one.
            for n, value in enumerate(values):
                path = f"/static/2k.txt?n{n}"
                for key in told(redis, one, path):
                    put(redis, key, value)
                expect_rejected(two, path)
            for key in keys:            # a replay, under the name of another page
                put(redis, key, right[others[0]])
            expect_rejected(two, PAGE)
            assert two.status()["share_found"] == 0
            assert "fairgate_qos_share_rejected_total" in http1.get(two.port, "/qos-status?prometheus").body.decode()


def test_a_forged_size_becomes_no_estimate(new_gateway, redis):
    """4 TiB that anybody wrote into the cache."""
    with sharing(new_gateway, "redis", at(redis)) as one, sharing(new_gateway, "redis", at(redis)) as two:
        for key in told(redis, one, PAGE):
            put(redis, key, b"1 4398046511104")
        ask_in_part(two, PAGE)
        two.until(lambda s: s["share_found"] + s.get("share_rejected", 0) > 0, "looked for")
        assert estimate(two, PAGE) < 1 << 20


def test_another_gateways_values(new_gateway, redis):
    """What one with another secret wrote is not believed under our names either."""
    with sharing(new_gateway, "redis", at(redis)) as one, sharing(new_gateway, "redis", at(redis)) as two, \
            sharing(new_gateway, "redis", at(redis), secret="secret=battery-staple") as stranger:
        value = get(redis, told(redis, stranger, PAGE)[0])
        for key in told(redis, one, PAGE):
            put(redis, key, value)
        expect_rejected(two, PAGE)
        # Who has something to tell writes over it.
        stored = two.status()["share_stored"]
        http1.get(two.port, PAGE, headers=PEOPLE)
        two.until(lambda s: s["share_stored"] >= stored + 2, "told")
        with sharing(new_gateway, "redis", at(redis)) as three:
            before = three.status()["share_found"]
            ask_in_part(three, PAGE)
            three.until(lambda s: s["share_found"] > before, "learnt")


def test_a_huge_page_of_others_is_bounded(new_gateway, parts, redis):
    """3 MB that another gateway met are no more than sixteen answers of the largest class here."""
    with open(parts.root / "static/3m.bin", "wb") as page:
        page.truncate(3 << 20)
    with sharing(new_gateway, "redis", at(redis)) as one, sharing(new_gateway, "redis", at(redis)) as two:
        http1.get(one.port, "/static/3m.bin?huge", headers=PEOPLE)
        one.until(lambda s: s["share_stored"] >= 2, "told")
        before = two.status()["share_found"]
        ask_in_part(two, "/static/3m.bin?huge")
        two.until(lambda s: s["share_found"] > before, "learnt")
        assert estimate(two, "/static/3m.bin?huge") == 1 << 20


def test_in_one_server(new_gateway):
    """shmcb: its own memory; there is nobody else, and no harm."""
    with sharing(new_gateway, "shmcb", "") as g:
        http1.get(g.port, "/static/2k.txt?shared", headers=PEOPLE)
        g.until(lambda s: s["share_stored"] >= 2, "stored")
        g.graceful()
        assert http1.get(g.port, "/static/2k.txt?shared", headers=PEOPLE).status == 200
        g.settled()


@pytest.mark.parametrize("line,sentence", [
    ("QosShare redis:127.0.0.1:1 secret=short", "8 characters at least"), ("QosShare nothing:x secret=long-enough", "load mod_socache_nothing"),
    ("QosShare redis:127.0.0.1:1 long-enough", "must be secret=TEXT"), ("QosShare redis secret=long-enough", "QosShare redis"),
])
def test_configuration_errors(new_gateway, line, sentence):
    g = new_gateway(early=f"LoadModule socache_redis_module {MODULES}/mod_socache_redis.so\n")
    g.config += line + "\n"
    ok, said = g.check()
    assert not ok and re.search(re.escape(sentence), said), said


SLOW = "/o/size/2000?delay=400&id="


def look_up(g, target):
    """It goes before it is served: a look-up that teaches nothing."""
    with g.window_taken() as taken, g.connect() as c:
        c.send("GET", target, headers=PEOPLE)
        g.until_queued(1)
        c.close()
        g.until_queued(0)
        taken.release()


@pytest.mark.parametrize("charge", ["time", "both"])
def test_a_dear_page_is_known_before_it_is_seen(new_gateway, redis, charge):
    """A page of 2 KB that takes 0.4 s: times were stored for others, and nobody ever looked for them."""
    with sharing(new_gateway, "redis", at(redis), charge=charge) as one, sharing(new_gateway, "redis", at(redis), charge=charge) as two:
        http1.get(one.port, f"{SLOW}1", headers=PEOPLE)
        one.until(lambda s: s["share_stored"] >= 4, "size and time told, of the page and of its pattern")
        look_up(two, f"{SLOW}1")
        two.until(lambda s: s["share_found"] >= 4, "the same learnt")
        # The page itself, and another of its pattern.
        http1.get(two.port, f"{SLOW}1", headers=PEOPLE)
        http1.get(two.port, f"{SLOW}2", headers=PEOPLE)
        one_ms, known, pattern = (float(g.logged(f"delay=400&id={n}", count)[-1]["slot_expected"]) for g, n, count in ((one, 1, 1), (two, 1, 2), (two, 2, 1)))
        assert one_ms == 0 and 400 <= known < 5000 and 400 <= pattern < 5000, (one_ms, known, pattern)


def test_a_dear_page_is_charged_as_dear_at_once(new_gateway, redis):
    """Of a pattern of pages that take two seconds; the second gateway has served none of it.  While the first one is at the server, it is known to have long to go."""
    target = "/o/size/2000?delay={}&id={}".format
    with sharing(new_gateway, "redis", at(redis), charge="time") as one, sharing(new_gateway, "redis", at(redis), charge="time") as two:
        http1.get(one.port, target(2000, 1), headers=PEOPLE)
        one.until(lambda s: s["share_stored"] >= 4, "told")
        look_up(two, target(2000, 2))
        # Not of that page, which nobody has served: of its pattern.
        two.until(lambda s: s["share_found"] >= 2, "learnt")
        two.settled()
        with two.connect() as c:
            c.send("GET", target(3000, 3), headers=PEOPLE)
            to_go = two.until_outstanding(1)["by_class"]["people"]["expected_bytes"]
            assert c.receive().status == 200
        assert 500_000 <= to_go < 10_000_000, f"{to_go} microseconds"
