# SPDX-License-Identifier: BSD-2-Clause
"""The generator of load itself: what it asks for is what it was told to ask for, and what it tells is what came."""
import pytest

from lab.ccn import site
from lab.lab import Lab, LabError
from lab.ndn_load import Echo, failed, name_of, ndn_load

SEGMENTS, SIZE = 20, 1000
NAMES = [(3, "small", "/e"), (1, "large", "/f")]
WINDOWS = ("fixed", "hint", "aimd", "cubic")


@pytest.fixture(scope="module")
def echo():
    with Lab("ndn-load") as made, Echo(made, ["/e", "/f"], SEGMENTS, SIZE) as server:
        yield server


@pytest.mark.parametrize("window", WINDOWS)
def test_every_page_comes_whole(echo, window):
    r = ndn_load(echo.lab, echo.address, "/e", load="spike", clients=30, faces=3, spread=0.05, window=window, window_size=4, each=True)
    assert not failed(r) and not r["unverified"], r
    assert r["pages"] == len(r["each"]) == 30
    assert {p.segments for p in r["each"]} == {SEGMENTS}
    assert r["segments"] == 30 * SEGMENTS and r["bytes"] == 30 * SEGMENTS * SIZE
    assert r["interests"] == sum(p.interests for p in r["each"]) == 30 * SEGMENTS + r["retransmissions"]


def test_a_seed_gives_the_same_requests(echo):
    def asked(seed):
        r = ndn_load(echo.lab, echo.address, NAMES, load="intermittent", clients=20, faces=4, spikes=3, between=0.1, spread=0.02, low_rate=100, seed=seed, each=True)
        assert not failed(r), r
        # When a request was due is drawn; when it is sent the machine decides.
        return sorted(p.kind for p in r["each"])
    first = asked(1)
    assert first == asked(1)
    assert first != asked(2)
    assert first.count("small") > first.count("large")


def test_a_closed_loop_counts_its_requests(echo):
    r = ndn_load(echo.lab, echo.address, NAMES, clients=5, faces=2, requests=10, think=1)
    assert r["pages"] == 50 and r["kinds"]["small"]["pages"] + r["kinds"]["large"]["pages"] == 50


def test_own_names(echo):
    r = ndn_load(echo.lab, echo.address, [(1, f"k{i}", "/e") for i in range(3)], own=True, clients=6, requests=2)
    assert [k["pages"] for k in r["kinds"].values()] == [4, 4, 4]


def test_even_arrivals(echo):
    """Each as far from the one before as the rate says, and for the name that is its own; the machine may send one late, never early."""
    r = ndn_load(echo.lab, echo.address, [(1, f"k{i}", "/e") for i in range(10)], load="alternating", even=True, own=True, rate=20, between=0.5, turns=1, each=True)
    assert not failed(r), r
    assert [p.kind for p in sorted(r["each"], key=lambda p: p.asked)] == [f"k{i}" for i in range(10)]
    assert all(0 <= p.asked - i / 20 < 0.04 for i, p in enumerate(sorted(r["each"], key=lambda p: p.asked)))


def test_a_server_that_is_not_there_is_said(echo):
    with pytest.raises(LabError, match="refused"):
        ndn_load(echo.lab, "127.0.0.1:1", "/e")
    with pytest.raises(LabError, match="is not a number"):
        ndn_load(echo.lab, echo.address, "/e", window_size=100000)


def test_pages_of_a_site(echo):
    with site(echo.lab, speak="", settings="CcnPipeline n/2") as s:
        r = ndn_load(echo.lab, f"{s.host}:{s.ndn_port}", name_of("/example/site", "page.cgi?n=100000&c={n}"), load="spike", clients=10, each=True)
        assert not failed(r) and not r["unverified"], r
        assert {(p.segments, p.status, p.window) for p in r["each"]} == {(25, 200, 12)}
        missing = ndn_load(echo.lab, f"{s.host}:{s.ndn_port}", name_of("/example/site", "nowhere"), requests=2)
        assert missing["status"] == {"404": 2} and failed(missing) == 2
