# SPDX-License-Identifier: BSD-2-Clause
"""pktcache: both daemons on a link, real TCP over it, every byte compared; stopped, killed and hung daemons; what is kept of pages."""

import os
import signal
import subprocess
import time

import pytest

from lab import promtool
from lab.httpd import Httpd, sanitizer_environment
from lab.lab import module, program, wait_for
from lab.marks import CLOSE, OPEN
from lab.pair import Pair
from lab.pair_paths import PORT, streams

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs network namespaces")


# ---- streams -----------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("mode", ("train", "window", "packet"))
def test_what_repeats_is_not_carried_twice(lab, mode):
    pair, s = streams(lab)
    with s:
        plain = pair.carried()
        size = s.fetch(20)["bytes"]
        plain = pair.carried() - plain
        assert plain >= size
        pair.both(mode=mode)
        s.fetch(20)
        before = pair.carried()
        s.fetch(20)
        assert pair.carried() - before < 0.6 * plain       # the kernel does not cut each stream alike
        assert pair.child.counters()["dropped"] == 0


@pytest.mark.parametrize("mtu", (1280, 1500, 9000))
def test_a_bad_link(lab, request, mtu):
    """Loss of 5 %, packets that come twice and in another order; both daemons begin anew at random."""
    long = request.config.getoption("--long")
    pair, s = streams(lab, mtu=mtu, rtt=2, bad=["--loss", "50", "--twice", "20", "--reorder", "50"])
    with s:
        pair.both()
        fetch = s.begin((5000 if mtu < 9000 else 20000) if long else 60 if mtu < 9000 else 200, parallel=64 if long else 32)
        restarts = 0
        while fetch.poll() is None and restarts < (67 if long else 4):
            side = (pair.parent, pair.child)[restarts % 2]
            if restarts % 3:
                side.kill()
            else:
                assert side.stop() == 0
            side.start()
            wait_for(lambda: fetch.poll() is not None or (pair.parent.at_work() and pair.child.at_work()), 20, "a session after a restart")
            restarts += 1
            end = time.monotonic() + 0.3
            wait_for(lambda: fetch.poll() is not None or time.monotonic() >= end, 5, "a moment at work")
        assert restarts >= 2
        s.end(fetch, 7200)


@pytest.mark.parametrize("role", ("parent", "child"))
@pytest.mark.parametrize("what", ("kill", "hang"))
def test_fails_open(lab, role, what):
    """Killed or hung under load: no connection ends, none stands still for more than a second beyond its retransmission timeout."""
    pair, s = streams(lab, rate="200mbit", rtt=20)
    with s:
        pair.both()
        side = getattr(pair, role)
        fetch = s.begin(400)
        wait_for(lambda: side.counters()["hits"] > 100, 20, "fingerprints on the link")
        for _ in range(3):
            if what == "kill":
                side.kill()
                assert fetch.poll() is None
                time.sleep(0.3)     # without it for a while
                side.start()
            else:
                stalls = side.stats()["stalls"]
                side.signal(signal.SIGSTOP)
                assert fetch.poll() is None
                time.sleep(0.6)     # longer than its lease
                side.signal(signal.SIGCONT)
                wait_for(lambda: side.stats()["stalls"] > stalls, 3, "it has seen that")
            wait_for(lambda: pair.parent.at_work() and pair.child.at_work(), 10, "a session again")
        trains = pair.child.counters()["trains"]
        wait_for(lambda: pair.child.counters()["trains"] > trains + 100, 20, "trains again")
        assert fetch.poll() is None
        fetch.terminate()       # those that have begun go on to their end
        s.end(fetch)
        assert pair.parent.process.poll() is None and pair.child.process.poll() is None


@pytest.mark.parametrize("role", ("parent", "child"))
def test_a_device_that_is_taken_down(lab, role):
    """By somebody else: packets go as they are; up again, it is at work again.  Taken away, the daemon ends and says why."""
    pair, s = streams(lab, rtt=20)
    with s:
        pair.both()
        s.fetch(20)
        side = getattr(pair, role)
        fetch = s.begin(60)
        side.host.ip("link set fgpktcache0 down\n")
        s.end(fetch)
        hits = pair.child.counters()["trains"]
        s.fetch(10)
        assert pair.child.counters()["trains"] == hits
        side.host.ip("link set fgpktcache0 up\n")
        wait_for(lambda: s.fetch(10) and pair.child.counters()["trains"] > hits, 20, "trains again")
        side.host.ip("link del fgpktcache0\n")
        assert side.process.wait(10) == 1 and "took fgpktcache0 away" in side.said()
        s.fetch(10)


@pytest.mark.parametrize("role", ("parent", "child"))
def test_a_link_that_is_down_at_the_start(lab, role):
    """The daemon stays, and takes packets when there is a way to the other end; it says why it does not until then."""
    pair, s = streams(lab)
    with s:
        pair.both()
        side = getattr(pair, role)
        assert side.stop() == 0
        end = 1 if role == "parent" else 2
        side.host.ip("link set link0 down\n")
        side.start(wait=False)
        wait_for(lambda: os.path.exists(side.control) and "no device" in side.stats()["why"], 10, "the reason")
        assert "no device leads to 10.8.2." in side.said()
        other, beyond = (2, 3) if role == "parent" else (1, 1)
        side.host.ip(f"link set link0 up\naddr replace fd08:2::{end}/64 dev link0\n"
                     f"route replace 10.8.{beyond}.0/24 via 10.8.2.{other}\nroute replace fd08:{beyond}::/64 via fd08:2::{other}\n")
        wait_for(side.hooks, 10, "hooks at the link")
        hits = pair.child.counters()["trains"]
        wait_for(lambda: s.fetch(10) and pair.child.counters()["trains"] > hits, 20, "trains again")
        # Down again while it is at work: its device's filters go nowhere; the reason is told at both ends.
        side.host.ip("link set link0 down\n")
        wait_for(lambda: "no device" in side.stats()["why"], 5, "the reason")


def test_others_than_the_clients_are_not_touched(lab):
    pair, s = streams(lab)
    with s:
        pair.both(clients="10.8.3.77/32 fd08:3::7/128")
        s.fetch(20)
        s.fetch(20)
        for side in (pair.parent, pair.child):
            assert side.counters()["pieces"] < 20       # what the kernel itself has to say to a new device


def test_a_long_way(lab):
    """By satellite: words of the child take longer than their absence does elsewhere."""
    pair, s = streams(lab, rtt=600)
    with s:
        pair.both()
        s.fetch(10)
        s.fetch(10)
        # Not one for each train; a process that does not get to run makes some.
        assert pair.parent.counters()["hits"] > 1000 and pair.parent.counters()["outages"] <= 6


@pytest.mark.parametrize("gone", ("parent", "child"))
def test_each_end_says_that_it_hears_nothing_of_the_other(lab, gone):
    pair = Pair(lab).start()
    pair.both()
    gone, stays = (pair.parent, pair.child) if gone == "parent" else (pair.child, pair.parent)
    wait_for(lambda: gone.at_work() and stays.at_work(), 10, "both ends at work")
    nothing, again = {"parent": ("nothing is heard of what was sent to the child; packets go as they are", "what is sent reaches the child again"),
                      "child": ("nothing is heard of the parent; packets go as they are", "the parent is heard again")}[stays.role]
    gone.kill()
    wait_for(lambda: nothing in stays.said(), 5, f"the {stays.role}'s log")
    assert again not in stays.said()
    gone.start()
    wait_for(lambda: again in stays.said() or "session established" in stays.said().split(nothing)[1], 10, f"the {stays.role}'s log, afterwards")
    assert stays.said().count(nothing) == 1


def test_a_queue_that_is_full(lab):
    """For seconds: what asks whether the child hears must not keep it full."""
    pair, s = streams(lab, rate="2mbit", rtt=40, queue=400_000)
    with s:
        pair.both()
        s.fetch(3)
        wait_for(lambda: pair.parent.at_work(), 20, "the child heard again")

        def quiet():        # for three seconds; what TCP sends again at the end is over then
            before = pair.carried()
            time.sleep(3)
            return pair.carried() - before < 30_000
        wait_for(quiet, 15, "a link with next to nothing on it")


def test_several_queues(lab):
    pair, s = streams(lab)
    with s:
        pair.both(queues=3)
        s.fetch(20)
        before = pair.carried()
        size = s.fetch(20)["bytes"]
        assert pair.carried() - before < 0.6 * size
        pair.child.stop()
        pair.child.start(queues=2)
        wait_for(lambda: "other `queues` or another `fingerprint`" in pair.parent.said() + pair.child.said(), 10, "a word about queues")
        s.fetch(4)


def test_ends_that_do_not_agree(lab):
    """They say so, and packets go as they are."""
    pair, s = streams(lab)
    with s:
        pair.both()
        pair.child.stop()
        pair.child.start(fingerprint="md5")
        wait_for(lambda: "other `queues` or another `fingerprint`" in pair.parent.said() + pair.child.said(), 10, "a word about fingerprints")
        s.fetch(4)
        pair.child.stop()
        pair.child.start(fingerprint="highway", ports=PORT + 1)
        wait_for(pair.parent.at_work, 10, "a session")
        s.fetch(10)
        wait_for(lambda: "`servers`, `clients` and `ports`" in pair.child.said() and not pair.parent.at_work() and not pair.child.at_work(), 10, "a word about ports")
        trains = pair.parent.counters()["trains"]
        s.fetch(10)
        assert pair.parent.counters()["trains"] == trains
        pair.child.stop()
        pair.child.start(ports=PORT)
        wait_for(lambda: s.fetch(4) and pair.child.counters()["hits"] > 1000, 20, "trains that are understood")


def test_a_peer_with_another_secret_is_no_peer(lab):
    pair, s = streams(lab)
    with s:
        pair.both()
        pair.child.stop()
        other = os.path.join(lab.dir, "other.key")
        subprocess.run([program("pktcache/fairgate-pktcache"), "keygen", other], check=True)
        pair.child.start(secret=other)
        wait_for(lambda: pair.parent.counters()["refused"] > 2, 10, "refused datagrams")
        assert not pair.child.at_work()
        s.fetch(4)


# ---- pages -------------------------------------------------------------------------------------------------------------------

@pytest.fixture
def site(lab):
    """httpd with mod_eeod behind a pair."""
    pair = Pair(lab).start()
    htdocs = os.path.join(lab.dir, "htdocs")
    os.makedirs(htdocs)
    os.chmod(htdocs, 0o755)
    for name in ("image.bin", "silent.bin"):
        with open(os.path.join(htdocs, name), "wb") as f:
            f.write(os.urandom(30_000))
    config = ("<Location /page>\nSetHandler lab-page\nEeodEngine On\n</Location>\n<Location /silent.bin>\nHeader unset Last-Modified\nEeodEngine On\nEeodFiles On\n</Location>\n"
              "<Location /image.bin>\nEeodEngine On\nEeodFiles On\n</Location>\n")
    h = Httpd(lab, htdocs=htdocs, config=config, load={"eeod": module("mod_eeod"), "lab_pages": program("tests/lab/.libs/mod_pages.so")},
              environment=sanitizer_environment()).on(pair.servers).start()
    pair.url = f"http://{h.address}"
    pair.parent.settings["ports"] = pair.child.settings["ports"] = h.port
    yield pair
    pair.stop()
    h.stop()


def get(pair, target, *words):
    done = subprocess.run([*pair.clients.prefix, "curl", "-sS", "--max-time", "20", *words, pair.url + target], capture_output=True, check=True)
    return done.stdout


PAGE = "blocks=20&cacheable=2600&unique=300&seed=7&visitor="


def settled(pair):
    """The parent's counters at rest: they are shown ten times a second, or later when the machine has other things to do."""
    seen = []

    def at_rest():
        now = pair.parent.stats()
        seen.append({"stalls": now["stalls"], **{name: now["counters"][name] for name in ("pieces", "kept", "hits", "stored", "again", "outages")}})
        time.sleep(0.1)
        return len(seen) > 5 and all(s == seen[-1] for s in seen[-6:])
    wait_for(at_rest, 20, "counters at rest")
    return seen[-1]


def counted(pair, step):
    """(what the step returns, what it adds to the parent's counters).  Done again if something was sent again, or the caches had a pause: it goes as it is then, uncounted."""
    for _ in range(5):
        before = settled(pair)
        result = step()
        moved = {name: value - before[name] for name, value in settled(pair).items()}
        if not moved["again"] + moved["outages"] + moved["stalls"] and pair.parent.at_work():
            return result, moved
        wait_for(pair.parent.at_work, 10, "the parent at work again")
    raise AssertionError(f"five times not without a pause: {moved}")


def test_what_is_a_visitors_own_is_never_kept(site):
    site.both()
    first, moved = counted(site, lambda: get(site, f"/page?{PAGE}1"))
    # 20 runs of 2,600 bytes, two segments each; the last of them ends with the page.  An opening mark, with which a run ends, begins a segment with what is unique.
    assert 58 <= moved["kept"] <= 63
    for visitor in (1, 2):      # the same visitor again: what is its own is not known either
        body, moved = counted(site, lambda: get(site, f"/page?{PAGE}{visitor}"))
        assert 38 <= moved["kept"] == moved["hits"] <= 42 and not moved["stored"]
        assert (body == first) == (visitor == 1)
        assert body.count(OPEN) == 20 == body.count(CLOSE)


def test_pages_without_marks_are_kept_as_http_says(site):
    site.both()
    for _ in range(2):
        assert not counted(site, lambda: get(site, "/silent.bin"))[1]["kept"]       # no word of whether it may be kept
    # 15 blocks; 21 segments, and the one with the header, if the body begins there.
    image, moved = counted(site, lambda: get(site, "/image.bin"))
    assert len(image) == 30_000 and moved["stored"] == 15 and not moved["hits"] and 21 <= moved["kept"] <= 22
    image, moved = counted(site, lambda: get(site, "/image.bin"))
    assert len(image) == 30_000 and not moved["stored"] and 21 <= moved["kept"] == moved["hits"] <= 22
    for words in (("-H", "Authorization: Basic eDp5"), ("-H", "Cookie: who=me")):
        assert not counted(site, lambda: get(site, "/image.bin", *words))[1]["kept"]
    part, moved = counted(site, lambda: get(site, "/image.bin", "-H", "Range: bytes=100-20000"))
    assert part == image[100:20001] and moved["kept"] and not moved["stored"]


def test_figures(site):
    site.both()
    get(site, f"/page?{PAGE}1")
    command = program("pktcache/fairgate-pktcache")
    text = subprocess.run([command, "stats", "--prometheus", site.parent.control], capture_output=True, text=True, check=True).stdout
    promtool.check(text)
    assert 'fairgate_pktcache_at_work{role="parent"} 1' in text and "# HELP fairgate_pktcache_hits_total" in text

    def shown_whole():
        c = site.parent.stats()["connections"]
        return c and c[0]["from"] == "::ffff:10.8.1.2" and c[0]["to"] == "::ffff:10.8.3.2" and c[0]["bytes"] > 60_000
    wait_for(shown_whole, 10, "the connection in the figures")
    top = subprocess.Popen([command, "top", site.parent.control], stdout=subprocess.PIPE, text=True)
    shown = "".join(top.stdout.readline() for _ in range(40))
    top.kill()
    top.wait()
    top.stdout.close()
    assert "parent, at work" in shown and "10.8.3.2:" in shown
    failed = subprocess.run([command, "stats", "/nowhere"], capture_output=True, text=True, check=False)
    assert failed.returncode == 1 and "/nowhere" in failed.stderr


def test_hooks_come_and_go(site):
    site.parent.start()
    assert site.parent.hooks() == 3
    site.parent.kill()
    assert site.parent.hooks() == 3         # they let all pass
    get(site, "/image.bin")
    site.parent.start()                     # in the place of what was left
    assert site.parent.hooks() == 3
    get(site, "/image.bin")
    assert site.parent.stop() == 0
    assert site.parent.hooks() == 0
    assert not os.path.exists(site.parent.control)


@pytest.mark.parametrize("line, said", (("colour red", "no such setting"), ("servers 10.0.0.1/8", "has bits set"), ("secret /nowhere", "No such file"),
                                        ("local 10.99.99.99:4754", "Cannot assign"), ("cache 1T", "no memory")))
def test_what_is_wrong_is_said(site, line, said):
    if line == "cache 1T":
        line = "cache 1000G"
    word, value = line.split(" ", 1)
    site.parent.write(**{word: value})
    done = subprocess.run([*site.near.prefix, program("pktcache/fairgate-pktcache"), "--parent", site.parent.config], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1 and said in done.stderr
    assert "fgpktcache" not in site.near.run("ip", "link")


def test_memory_stays(lab, request):
    """At full rate: what both daemons have in memory does not grow once their caches have been gone through."""
    seconds = 600 if request.config.getoption("--long") else 10
    pair, s = streams(lab)
    with s:
        pair.both(cache="16M")
        fetch = s.begin(1_000_000)
        try:
            wait_for(lambda: pair.child.counters()["stored"] * 1400 > 32 << 20 or fetch.poll() is not None, 120, "both caches gone through")
            before = pair.parent.resident(), pair.child.resident()
            end = time.monotonic() + seconds
            wait_for(lambda: time.monotonic() >= end or fetch.poll() is not None, seconds + 10, "the time")
            assert fetch.poll() is None
            after = pair.parent.resident(), pair.child.resident()
            assert all(b - a < 2 << 20 for a, b in zip(before, after)), (before, after)
            assert pair.parent.counters()["bytes_in"] / 1e6 > 5 * seconds
        finally:
            fetch.kill()
            fetch.wait()
            fetch.stdout.close()
