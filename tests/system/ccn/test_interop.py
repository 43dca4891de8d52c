# SPDX-License-Identifier: BSD-2-Clause
"""A site of httpd behind a real forwarder: three clients that others wrote fetch its pages, whatever restarts."""
import threading
import time

import pytest

from lab.ccn import Site, made, octets, site
from lab import ndn_wire as wire
from lab.lab import wait_for
from lab.ndn_face import Face

SEGMENT = 4096
SEGMENTS = (1, 2, 100, 2000)
CLIENTS = {
    "ndnd": lambda client, name: client.cat(name),
    "python-ndn": lambda client, name: client.python_get(name),
    "python-ndn, by prefix": lambda client, name: client.python_get(name, discover="prefix"),
    "NDNts": lambda client, name: client.ndnts_get(name),
}
each_client = pytest.mark.parametrize("fetch", CLIENTS.values(), ids=CLIENTS)


def same(got, content):
    """Without their bytes in a report."""
    return got.content == content


@pytest.fixture(scope="module")
def files():
    return {f"{n}.bin": octets(n * SEGMENT - 5, n) for n in SEGMENTS}


@pytest.fixture(scope="module")
def served(ndn_lab, path, forwarder, files):
    with site(ndn_lab, path.server, prefix="/near/site", files=files) as s:
        forwarder.route("/near/site", s.uri)
        yield s


@each_client
@pytest.mark.parametrize("n", SEGMENTS)
def test_a_file(served, client, files, fetch, n):
    got = fetch(client, f"/near/site/{n}.bin")
    assert got.error is None
    assert same(got, files[f"{n}.bin"])


@each_client
@pytest.mark.parametrize("n", (1, 2, 100, 2000))
def test_a_page_that_is_made(served, client, fetch, n):
    size = n * SEGMENT - 5
    got = fetch(client, f"/near/site/page.cgi%3Fn%3D{size}")
    assert got.error is None
    assert same(got, made(size))


def test_each_page_is_a_version_of_its_own(served, client):
    names = [client.python_get("/near/site/page.cgi%3Fn%3D10000").name for _ in range(3)]
    versions = [dict(wire.name(n))[wire.VERSION] for n in names]
    assert versions == sorted(set(versions))


def test_an_error_is_data(served, client):
    got = client.python_ask("/near/site/nothing.html", prefix=True, fresh=True)
    assert got.error is None and got.answer["kind"] == 3 and b"404" in got.content


def test_a_graceful_restart_in_the_middle(served, client, files, forwarder):
    """What was begun before it ends whole after it, and so does what is asked meanwhile, once the forwarder has connected again."""
    got = []
    fetching = threading.Thread(target=lambda: got.append(client.ndnts_get("/near/site/2000.bin", window=2)))
    fetching.start()
    wait_for(lambda: served.status()["segments"] > 20, 10, "a fetch under way")
    served.graceful()
    fetching.join()
    assert got[0].error is None and same(got[0], files["2000.bin"])


def test_a_forwarder_that_restarts(served, client, files, forwarder):
    forwarder.restart(kill=True)
    assert wait_for(lambda: same(client.cat("/near/site/100.bin"), files["100.bin"]), 20, "a page through the new forwarder")


def test_httpd_that_restarts(ndn_lab, path, forwarder, client):
    page = octets(20000)
    with site(ndn_lab, path.server, prefix="/again/site", files={"a": page}) as s:
        forwarder.route("/again/site", s.uri)
        assert same(client.cat("/again/site/a"), page)
        s.stop()
        s.start()
        assert wait_for(lambda: same(client.cat("/again/site/a"), page), 20, "the page after a restart")


# ---- a server that connects to the forwarder, and registers ---------------------------------------------------------------------------

def test_it_registers_and_does_so_again(ndn_lab, path, forwarder, client):
    """Over the forwarder's unix socket, on its host; after its restart, and after ours, without help."""
    page = octets(50000)
    with site(ndn_lab, path.router, prefix="/far/site", files={"a": page}, speak=f"CcnForwarder unix:{forwarder.socket}", listens=False) as s:
        wait_for(lambda: "/far/site" in forwarder.prefixes(), 10, "the prefix registered")
        assert same(client.cat("/far/site/a"), page)
        forwarder.restart(kill=True)
        wait_for(lambda: "/far/site" in forwarder.prefixes(), 10, "the prefix registered again")
        assert same(client.cat("/far/site/a"), page)
        s.graceful()
        assert wait_for(lambda: same(client.cat("/far/site/a"), page), 10, "a page from the new children")
        assert wait_for(lambda: s.status()["faces"] == 1, 10, "one connection")


def test_a_forwarder_on_another_host_refuses_and_we_say_so(ndn_lab, path, forwarder):
    """It believes local connections only."""
    with site(ndn_lab, path.server, prefix="/refused/site", speak=f"CcnForwarder tcp://{forwarder.host}", listens=False) as s:
        assert wait_for(lambda: "does not answer that /refused/site is to be registered" in s.log(), 15, "what the log says")
        assert "/refused/site" not in forwarder.prefixes()
