# SPDX-License-Identifier: BSD-2-Clause
"""Several workers share one scheduler: its window, shares, queue and reports are the machine's, and what a dead one held comes back."""

import json
import os
import signal
import struct
import time

import http1
import pytest
from squid_downloads import Downloads
from squid_proxy import fresh, scheduled
from squid_smp import Workers

TWO = dict(gold="weight=4", silver="weight=1")
BACK = 1.5              # seconds in which a dead worker's slots are free again
LOCK = 28               # where it stands in the memory that they share: struct shm_segment


@pytest.fixture
def new_workers(world, ending):
    """new_workers(config, ...): a Squid of two workers, not started yet; in the end it must be well."""
    made = []

    def make(config="", **kwargs):
        made.append(Workers(world, config, **kwargs))
        ending.append(made[-1])
        return made[-1]
    yield make
    for p in made:
        p.begin_to_end()


@pytest.fixture(scope="module")
def times(request):
    return 200 if request.config.getoption("--long") else 10


def get(p, worker, target, **kwargs):
    """The response to a request at this worker."""
    with p.at(worker) as c:
        return p.ask(target, connection=c, **kwargs)


def test_one_window(new_workers):
    """What one worker has on its way takes the other's room, and its end lets the other's request go."""
    with new_workers(scheduled(1, **TWO)) as p:
        for holder, waiter in ((1, 2), (2, 1)):
            gate, page = fresh("taken"), "/" + fresh("order/window")
            holding = p.send(f"/hold/{gate}", cls="gold", connection=p.at(holder))
            assert holding.until(b"\r\n\r\n").startswith(b"HTTP/1.1 200")
            waiting = p.send(page, cls="silver", connection=p.at(waiter))
            s = p.until_queued(1)
            assert s["outstanding"] == 1 and p.origin.paths[page] == 0
            p.origin.open(gate)
            holding.chunks()
            assert waiting.receive().status == 200
            holding.close()
            waiting.close()
        s = p.settled()
        assert (s["submitted"], s["done"]) == (4, 4)


def test_shares_hold_over_workers(new_workers):
    """All of gold's clients are at one worker and all of silver's at the other: whose request is next goes by the weights."""
    with new_workers(scheduled(1, **TWO)) as p:
        mark, gate = fresh("turn"), fresh("taken")
        holding = p.send(f"/hold/{gate}", connection=p.at(1))
        assert holding.until(b"\r\n\r\n").startswith(b"HTTP/1.1 200")
        connections = [p.send(f"/order/{mark}:{cls}?size=10000&n={i}", cls=cls, connection=p.at(worker))
                       for i in range(20) for cls, worker in (("gold", 1), ("silver", 2))]
        p.until_queued(40)
        p.origin.open(gate)
        holding.chunks()
        for c in connections:
            assert c.receive().status == 200
            c.close()
        holding.close()
        order = [name.split(":")[1].split("?")[0] for name in p.origin.order if name.startswith(mark)]
        assert len(order) == 40
        assert 18 <= order[:25].count("gold") <= 20         # 20 of 25 are due
        assert 2 <= order[:15].count("silver") <= 4         # and 3 of 15
        p.settled()


def at_both(p, visits):
    """Requests of [(target, connection)] of gold that wait together behind one of nobody's; the names in the order in which the origin saw them."""
    gate, connections = fresh("taken"), []
    holding = p.send(f"/hold/{gate}", connection=p.at(1))
    assert holding.until(b"\r\n\r\n").startswith(b"HTTP/1.1 200")
    for i, (target, connection) in enumerate(visits):
        connections.append(p.send(target, cls="gold", connection=connection))
        p.until_queued(i + 1)
    before = len(p.origin.order)
    p.origin.open(gate)
    holding.chunks()
    for c in connections:
        assert c.receive().status == 200
        c.close()
    holding.close()
    return [name.split("?")[0] for name in p.origin.order[before:]]


def test_what_one_worker_learns_the_other_knows(new_workers):
    """Pages that were asked for at one worker only: at the other the shortest goes first."""
    with new_workers(scheduled(1, gold="weight=1 order=shortest")) as p:
        mark = fresh("learnt")
        targets = [f"/order/{mark}-large?size=60000", f"/order/{mark}-small?size=500"]
        for target in targets:
            assert get(p, 1, target, cls="gold").status == 200
        p.settled()
        assert at_both(p, [(target, p.at(2)) for target in targets]) == [f"{mark}-small", f"{mark}-large"]
        p.settled()


def test_a_client_is_one_at_all_workers(new_workers):
    """One with connections at both has one part beside another client, not two."""
    with new_workers(scheduled(1, gold="weight=1 within=client")) as p:
        mark = fresh("client")
        visits = [(f"/order/{mark}-a{i}?size=1000", p.at(1 + i % 2)) for i in range(6)]
        visits += [(f"/order/{mark}-b{i}?size=1000", http1.Connection(p.ports[0], source="127.0.0.2")) for i in range(2)]
        order = at_both(p, visits)
        assert len(order) == 8 and max(i for i, name in enumerate(order) if name.startswith(f"{mark}-b")) <= 4, order
        p.settled()


def test_a_client_is_one_in_tunnels_at_all_workers(new_workers):
    """The same with endless downloads in tunnels, two of one client at each worker and one of another client."""
    with new_workers(scheduled(1, gold="weight=1 within=client") + "tcp_recv_bufsize 256 KB\n") as p, \
            Downloads(p, 2, "gold", lambda: p.at(1)) as here, Downloads(p, 2, "gold", lambda: p.at(2)) as there, \
            Downloads(p, 1, "gold", lambda: http1.Connection(p.ports[0], source="127.0.0.2")) as other:
        http1.until(lambda: other.bytes() > 4 << 20, 30 * p.world.patience, "all have had turns")
        before = here.bytes() + there.bytes(), other.bytes()
        http1.until(lambda: other.bytes() - before[1] > 20 << 20, 60 * p.world.patience, "many turns more")
        shares = here.bytes() + there.bytes() - before[0], other.bytes() - before[1]
        assert 0.5 <= shares[0] / shares[1] <= 2, shares


def test_reports_are_told_once(new_workers):
    """The coordinator tells all three of all workers together, the same whoever was asked."""
    with new_workers(scheduled(4, **TWO)) as p:
        assert get(p, 1, "/size/100", cls="gold").status == get(p, 2, "/size/100", cls="gold").status == 200
        p.settled()
        for worker in (1, 2):
            pages = {}
            for name in ("fqrs", "fqrs_json", "fqrs_prometheus"):
                with p.at(worker) as c:
                    pages[name] = c.ask("GET", f"/squid-internal-mgr/{name}", host=f"127.0.0.1:{p.port}").body.decode()
                assert "kid" not in pages[name]
            assert "\nWorkers: 2\n" in pages["fqrs"]
            status = json.loads(pages["fqrs_json"])
            gold = next(c for c in status["classes"] if c["name"] == "gold")
            assert (status["workers"], gold["submitted"], gold["done"]) == (2, 2, 2)
            assert pages["fqrs_prometheus"].count("\nfairgate_fqrs_workers 2\n") == 1


def test_refusals_and_descriptors_are_added_up(new_workers):
    with new_workers(scheduled(1, gold="weight=4", tiny="weight=1 queue=1")) as p:
        gate = fresh("taken")
        holding = p.send(f"/hold/{gate}", cls="gold", connection=p.at(1))
        assert holding.until(b"\r\n\r\n").startswith(b"HTTP/1.1 200")
        waiting = p.send("/size/10", cls="tiny", connection=p.at(2))
        s = p.until_queued(1)
        assert (s["by_class"]["gold"]["descriptors"], s["by_class"]["tiny"]["descriptors"], s["descriptors"]) == (2, 1, 3)
        for worker in (1, 2):
            response = get(p, worker, "/size/10", cls="tiny")
            assert response.status == 503 and int(response.headers["retry-after"]) >= 1
        assert p.status()["by_class"]["tiny"]["refused_by"]["class-full"] == 2
        p.origin.open(gate)
        holding.chunks()
        assert waiting.receive().status == 200
        holding.close()
        waiting.close()
        assert p.until(lambda s: s["descriptors"] == 0, "no descriptor is held")["outstanding"] == 0


# ---- squid.conf read again

@pytest.mark.alone
def test_reconfigured_every_three_seconds_under_load(new_workers, times):
    """Weights, windows, orders and classes change while both workers serve: no request is lost, no connection is refused."""
    configs = [scheduled(4, **TWO), scheduled("none", silver="weight=3"), scheduled("bytes", **TWO) + "fqrs_link rate=500Mbit\n",
               scheduled(2, bronze="weight=3", gold="weight=3") + "fqrs_order drr\n"]
    with new_workers(configs[0]) as p:
        crowd = [{"name": name, "clients": 10, "url": f"/size/{n}", "header": f"X-Class: {name}"}
                 for name, n in (("gold", 500), ("silver", 20000), ("bronze", 3000))]
        with p.load(crowd, seconds=3600, timeout=20) as run:
            p.until(lambda s: s["submitted"] > 100, "requests under way")
            for i in range(times):
                began = time.monotonic()
                p.again(configs[(i + 1) % len(configs)])
                http1.until(lambda began=began: time.monotonic() - began >= 3, 10, "three seconds")
            run.stop()
            result = run.result()
        assert not [kind for kind, n in result["total"]["errors"].items() if n], result["total"]
        assert set(result["total"]["status"]) == {"200"} and result["total"]["requests"] > 10 * times
        p.settled()


def test_off_lets_everybody_go_at_both(new_workers):
    """fqrs off, then on: who waits at either worker goes at once; then the window holds as before."""
    config = scheduled(1, **TWO)
    with new_workers(config) as p:
        gate = fresh("taken")
        holding = p.send(f"/hold/{gate}", cls="gold", connection=p.at(1))
        assert holding.until(b"\r\n\r\n").startswith(b"HTTP/1.1 200")
        waiting = [p.send("/size/100", cls="silver", connection=p.at(worker)) for worker in (1, 2, 1, 2)]
        p.until_queued(4)
        p.again(config.replace("fqrs on", "fqrs off"))
        for c in waiting:
            assert len(c.receive().body) == 100
            c.close()
        assert p.status()["state"] == "off"
        p.again(config)
        late = p.send("/size/100", cls="gold", connection=p.at(2))
        assert p.until_queued(1)["state"] == "on"
        p.origin.open(gate)
        holding.chunks()
        assert late.receive().status == 200
        holding.close()
        late.close()
        p.settled()


def test_on_by_a_reconfiguration(new_workers):
    """Squid began with fqrs off: the workers share a scheduler all the same when it is turned on."""
    config = scheduled(1, **TWO)
    with new_workers(config.replace("fqrs on", "fqrs off")) as p:
        assert get(p, 1, "/size/100").status == 200
        assert "fqrs is off" in p.page("fqrs")
        p.again(config)
        with p.taken():
            waiting = [p.send("/size/100", connection=p.at(worker)) for worker in (1, 2)]
            assert p.until_queued(2)["outstanding"] == 1
        for c in waiting:
            assert c.receive().status == 200
            c.close()
        p.settled()


# ---- death

def held_and_waiting(p, holder, waiter):
    """The holder has the only slot, and a request of the waiter's waits for it."""
    gate = fresh("dies")
    holding = p.send(f"/hold/{gate}", cls="gold", connection=p.at(holder))
    assert holding.until(b"\r\n\r\n").startswith(b"HTTP/1.1 200")
    waiting = p.send("/size/100", cls="silver", connection=p.at(waiter))
    p.until_queued(1)
    return gate, holding, waiting


def back_after(waiting):
    """Seconds until the request that waited was answered."""
    began = time.monotonic()
    assert len(waiting.receive().body) == 100
    return time.monotonic() - began


@pytest.mark.alone
def test_what_a_killed_worker_held_is_given_back(new_workers):
    """By the other, whose request waits for it, in a second and a half; the worker is started again, and shares as before."""
    with new_workers(scheduled(1, **TWO)) as p:
        for holder, waiter in ((1, 2), (2, 1)):
            gate, holding, waiting = held_and_waiting(p, holder, waiter)
            pid = p.kill(holder)
            assert back_after(waiting) < BACK * p.world.patience
            p.until_back(holder, pid)
            p.origin.open(gate)
            holding.close()
            waiting.close()
            assert get(p, holder, "/size/100").status == 200
        s = p.settled()
        assert s["aborted"] == 2
        assert p.log().count("of its requests held was given back") == 2


@pytest.mark.alone
def test_killed_again_and_again_under_load(new_workers, request):
    """50 times, with --long 200: only what the killed one had in its hands is lost, no slot leaks, and both go on."""
    kills = 200 if request.config.getoption("--long") else 50
    with new_workers(scheduled(4, **TWO)) as p:
        crowd = [{"name": name, "clients": 10, "url": f"/size/{n}", "header": f"X-Class: {name}"} for name, n in (("gold", 500), ("silver", 20000))]
        with p.load(crowd, seconds=3600, timeout=20) as run:
            p.until(lambda s: s["submitted"] > 100, "requests under way")
            for i in range(kills):
                before = p.status()["done"]
                worker = 1 + i % 2
                p.until_back(worker, p.kill(worker))
                p.until(lambda s, n=before: s["done"] > n + 20, "more requests are served", 40)
            run.stop()
            result = run.result()
        assert set(result["total"]["status"]) == {"200"}
        assert not result["total"]["errors"].get("timeout"), result["total"]
        s = p.settled()
        assert s["submitted"] == s["released"] + s["cancelled"]
        with p.taken(4):                # all four slots are there
            waiting = p.send("/size/100", connection=p.at(1))
            assert p.until_queued(1)["outstanding"] == 4
        assert waiting.receive().status == 200
        waiting.close()


@pytest.mark.alone
def test_without_their_master_workers_go_on(new_workers):
    """It is killed: both serve as before, and what one of them holds that dies now comes back as well."""
    with new_workers(scheduled(1, **TWO)) as p:
        assert get(p, 1, "/size/100").status == 200
        p.told = True                   # nobody is left to be told to end
        os.kill(p.pid, signal.SIGKILL)
        p.process.wait()
        for worker in (1, 2):
            assert get(p, worker, "/size/100", cls="gold").status == 200
        gate, holding, waiting = held_and_waiting(p, 1, 2)
        p.kill(1)
        assert back_after(waiting) < BACK * p.world.patience
        p.origin.open(gate)
        holding.close()
        waiting.close()
        assert get(p, 2, "/size/100").status == 200
        p.stop()
        p.ended = 0                     # as it was to


def the_segment(p):
    """A file to write to, as any worker may."""
    folder = f"/proc/{p.pid_of('squid-1')}/fd"
    found = [name for name in os.listdir(folder) if os.readlink(f"{folder}/{name}").startswith("/memfd:fairgate")]
    assert len(found) == 1
    return open(f"{folder}/{found[0]}", "r+b", buffering=0)


def write_over_the_segment(p):
    """As a wild pointer of a worker would."""
    with the_segment(p) as f:
        f.write(b"\xa5" * 4096)


def test_damaged_memory_lets_everybody_go(new_workers):
    """Whoever waits goes, what is on its way comes to its end, both workers go on without a window, and say so."""
    with new_workers(scheduled(1, **TWO)) as p:
        gate, holding, waiting = held_and_waiting(p, 1, 2)
        write_over_the_segment(p)
        assert len(waiting.receive().body) == 100
        for worker in (1, 2):
            assert get(p, worker, "/size/100", cls="gold").status == 200
        p.origin.open(gate)
        holding.chunks()
        holding.close()
        waiting.close()
        assert json.loads(p.page("fqrs_json"))["state"] == "damaged"
        assert "started anew" in p.page("fqrs")
        assert p.log().count("ERROR: fqrs schedules nothing until Squid is started anew") == 2


@pytest.mark.alone
def test_damage_under_load_ends_no_worker(new_workers):
    """Ten tunnels at each worker and twenty clients are busy: whoever finds the damage first, nobody is broken off, and both workers are those that they were."""
    with new_workers(scheduled(4, **TWO) + "tcp_recv_bufsize 256 KB\n") as p:
        pids = [p.pid_of(f"squid-{n}") for n in (1, 2)]
        crowd = [{"name": name, "clients": 10, "url": f"/size/{n}", "header": f"X-Class: {name}"} for name, n in (("gold", 500), ("silver", 20000))]
        with Downloads(p, 10, "gold", lambda: p.at(1)) as one, Downloads(p, 10, "silver", lambda: p.at(2)) as two, p.load(crowd, seconds=3600, timeout=20) as run:
            p.until(lambda s: s["done"] > 100, "requests are served", 40)
            write_over_the_segment(p)
            http1.until(lambda: p.log().count("ERROR: fqrs schedules nothing until Squid is started anew") == 2, 20 * p.world.patience, "both say so")
            before = one.bytes(), two.bytes()
            http1.until(lambda: one.bytes() > before[0] and two.bytes() > before[1], 20, "the tunnels go on")
            assert one.at_work() == two.at_work() == 10
            for worker in (1, 2):
                assert get(p, worker, "/size/100", cls="gold").status == 200
            run.stop()
            result = run.result()
        assert set(result["total"]["status"]) == {"200"} and not [kind for kind, n in result["total"]["errors"].items() if n], result["total"]
        assert [p.pid_of(f"squid-{n}") for n in (1, 2)] == pids


def keep_the_lock(f, who):
    """As if that process had it, which never gives it back; 0: it does."""
    for _ in range(1000):
        f.seek(LOCK)
        if who == 0 or f.read(4) == bytes(4):       # nobody has it now
            f.seek(LOCK)
            f.write(struct.pack("=I", who))
            return
    raise AssertionError("somebody had the lock each time")


def test_a_lock_that_is_kept_ends_nothing(new_workers):
    """Whoever has it is stopped, say: requests go without the scheduler meanwhile, and when it is given back the window is one again, at the same workers."""
    with new_workers(scheduled(1, **TWO)) as p:
        pids = [p.pid_of(f"squid-{n}") for n in (1, 2)]
        gate, holding, waiting = held_and_waiting(p, 1, 2)
        with the_segment(p) as f:
            keep_the_lock(f, p.pid)         # of the master, which never asks for it
            assert len(waiting.receive().body) == 100
            for worker in (1, 2):
                assert get(p, worker, "/size/100", cls="gold").status == 200
            http1.until(lambda: p.log().count("WARNING: fqrs schedules nothing for a while") == 2, 20 * p.world.patience, "both say so")
            keep_the_lock(f, 0)
        p.origin.open(gate)
        holding.chunks()
        holding.close()
        waiting.close()
        http1.until(lambda: p.log().count("fqrs goes on: the lock") == 2, 20 * p.world.patience, "both are back")
        gate, holding, waiting = held_and_waiting(p, 2, 1)
        p.origin.open(gate)
        holding.chunks()
        assert len(waiting.receive().body) == 100
        holding.close()
        waiting.close()
        p.settled()
        assert [p.pid_of(f"squid-{n}") for n in (1, 2)] == pids


# ---- beside it

LISTS = """import os, sys
names = [name for name in os.environ if "FQRS" in name]
for fd in os.listdir("/proc/self/fd"):
    try:
        names.append(os.readlink("/proc/self/fd/" + fd))
    except OSError:
        pass
own = f"{sys.argv[1]}/{os.getpid()}"
with open(own + ".new", "w") as f:
    f.write("\\n".join(names))
os.rename(own + ".new", own)
for line in sys.stdin:
    print("ERR", flush=True)
"""


@pytest.mark.alone
def test_helpers_inherit_nothing_of_it(new_workers):
    """Neither the memory nor a bell, nor a word of them: also those of a worker that can't use the memory, as it is damaged when it starts."""
    p = new_workers()
    folder = p.path("lists")
    os.mkdir(folder)
    os.chmod(folder, 0o777)
    p.write("lists.py", LISTS)
    p.config = p.always + scheduled(1, **TWO) + f"url_rewrite_program /usr/bin/python3 -B {p.path('lists.py')} {folder}\nurl_rewrite_children 1 startup=1\n"

    def seen():
        """What each helper has had so far."""
        found = []
        for name in os.listdir(folder):
            if name.isdigit():
                with open(f"{folder}/{name}") as f:
                    found.append(f.read())
        return found
    with p:
        http1.until(lambda: len(seen()) >= 2, 40 * p.world.patience, "a helper of each worker")
        write_over_the_segment(p)
        p.kill(1)
        http1.until(lambda: "this process can't use the memory" in p.log(), 40 * p.world.patience, "another worker that finds it damaged")
        http1.until(lambda: len(seen()) >= 3, 40 * p.world.patience, "its helper")
        http1.until(p.ready, 40 * p.world.patience, "its ports")    # whoever is told to end while it opens them crashes, in any Squid
        for text in seen():
            assert "memfd:fairgate" not in text and "eventfd" not in text and "FQRS" not in text, text


def test_a_rock_store_beside_it(new_workers):
    """One worker stores a page, the other has it from the disk that a process of its own keeps; the window is one all the same."""
    p = new_workers("", cache=True)
    store = p.path("rock")
    os.mkdir(store)
    os.chmod(store, 0o777)
    p.config = p.always + scheduled(1, **TWO) + f"cache_dir rock {store} 64\nmemory_cache_mode disk\ncache_mem 0 MB\n"
    p.make_stores()
    # Squid's own, with scheduling off, too: a worker looks for the page while it is on its way to the disk, and fetches it.
    p.expected.append("BUG: missing ENTRY_REQUIRES_COLLAPSING")
    with p:
        assert p.pid_of("squid-disk-3") and p.pid_of("squid-coord-4")
        page = "/" + fresh("cached/rock")
        assert get(p, 1, page, cls="gold").body == b"cached"

        def hit():
            assert get(p, 2, page, cls="silver").body == b"cached"
            return any("HIT" in line["tag"] for line in p.log_lines_of(page))
        http1.until(hit, 40, "the page comes from the store")
        gate, holding, waiting = held_and_waiting(p, 1, 2)
        assert get(p, 1, page, cls="gold").body == b"cached"        # and does not wait
        p.origin.open(gate)
        holding.chunks()
        assert waiting.receive().status == 200
        holding.close()
        waiting.close()
        p.settled()
