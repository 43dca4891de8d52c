# SPDX-License-Identifier: BSD-2-Clause
"""A page is more than its HTML: an admitted page's styles, scripts and images are loaded beside a botnet, and what the page's cookie admits is bounded."""

import os

import http1
import http2
import pytest
from test_swarm import SHIPPED
from test_visitors import Keys, answered, given, page, refused, says, value_of

from gateway import fresh
from lab import chromium, lab
from lab.load import Load
from lab.page_load import ASSETS, Visitors
from promise import Lateness

SIGN_IN = "/o/size/900"
HTML = f"assets={ASSETS}"
WINDOW, PAGE_MS = 8, 100
CAPACITY = WINDOW * 1000 / PAGE_MS      # pages/s
OF_A_PAGE = 128                         # mod_qos_drr/qos_page.h


@pytest.fixture(scope="module")
def keys(parts):
    return Keys(os.path.join(parts.lab.dir, fresh("page") + ".keys"))


@pytest.fixture
def shipped(new_gateway, keys):
    """The gateway with the policy that is shipped; the sign-in page is exempt."""
    more = f"QosVisitors {keys.path}\nQosExempt path {SIGN_IN}\nQosExempt limit=4\nRemoteIPHeader X-From\nRemoteIPInternalProxy 127.0.0.1\n"
    with new_gateway(window=WINDOW, policy=SHIPPED, modules=("remoteip",), more=more) as g:
        yield g


def botnet(times):
    """Addresses that each request one page and never return, at so many times the server's capacity."""
    return dict(name="botnet", clients=4000, arrivals=times * CAPACITY, url=f"/o/size/1000?delay={PAGE_MS}&n={{n}}", close=True, abort=10_000, retry=0, source="127.64.0.0/10")


@pytest.mark.alone
@pytest.mark.measures
@pytest.mark.parametrize("times", (1.25, 10))
def test_new_visitor_beside_botnet_loads_page_with_every_asset(shipped, times):
    """Of new visitors' pages, ordinary and sign-in, 95 of 100 are complete within 5 s, or within 3 s of their HTML."""
    pages = [f"/o/size/4096?delay={PAGE_MS}&{HTML}", f"{SIGN_IN}?delay=20&{HTML}"]
    assets = [f"/o/size/2000?delay=5&asset={i}" for i in range(ASSETS)]
    with Load(shipped.address, [botnet(times)], seconds=15, warmup=2) as run, Lateness() as late:
        with Visitors(shipped.address, pages, assets, seconds=10, warmup=3, per_s=5) as visitors:
            pass
        result = run.result()
    refused = result["classes"]["botnet"]["status"].get("503", 0)
    assert refused > 20, "the botnet was refused nothing: it was none"
    assert len(visitors.all) > 15
    for kind in pages:
        loads, extra = [load for load in visitors.all if load.page == kind], 2 * late.seconds
        missed = [load for load in loads if not load.loaded_within(5 + extra, 3 + extra)]
        assert len(missed) <= 0.05 * len(loads), (len(loads), late.seconds, missed)


@pytest.fixture(scope="module")
def browser():
    if not chromium.there():
        pytest.skip("no chromium and chromedriver (packages chromium, chromium-driver)")
    with lab.Lab("page-load") as here, chromium.Chromium(here) as c:
        yield c


@pytest.mark.alone
@pytest.mark.measures
@pytest.mark.parametrize("times", (1.25, 10))
def test_chromium_beside_botnet_loads_page_with_every_asset(shipped, browser, times):
    """New profiles, ordinary and sign-in pages in turn; the load event comes within 5 s."""
    pages = [f"/o/size/4096?delay={PAGE_MS}&{HTML}", f"{SIGN_IN}?delay=20&{HTML}"]
    with Load(shipped.address, [botnet(times)], seconds=60, warmup=2) as run, Lateness() as late:
        shipped.until(lambda s: s["refused_by"]["standing"] > 20, "the queue of the unknown stands")
        found = [chromium.page_load(browser, f"http://{shipped.address}{pages[i % 2]}", f"10.{i}.3.4", ASSETS, 20) for i in range(6)]
        run.stop()
    assert all(p.failed == 0 and p.loaded_within(5 + 2 * late.seconds) for p in found), (late.seconds, found)


# ---- what a page's cookie admits -----------------------------------------------------------------------------------

# Longer than a second, so that a cookie is young for as long as a test looks at it.
AGE = 5
POLICY = f"""<?xml version="1.0"?>
<classification>
  <class id="1" name="members" quantum="6"><visitor class="member"/></class>
  <class id="2" name="returning" quantum="3"><visitor age="{AGE}s"/></class>
  <class id="3" name="rest" quantum="1" default="yes"/>
</classification>
"""
NAVIGATES = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


@pytest.fixture
def young(new_gateway, keys):
    with new_gateway(policy=POLICY, queue=1, more=f"ServerName localhost\nQosVisitors {keys.path}\nQosExempt path /b/says/exempt\n") as g:
        yield g


def class_of(g, cookie=None, source=None, headers=None):
    """Of one more asset."""
    mark = fresh("asset")
    with g.connect(source=source) as c:
        assert c.ask("GET", f"/b/says?{mark}", headers={**({"Cookie": f"fairgate={cookie}"} if cookie else {}), **(headers or {})}).status == 200
    return g.logged(mark, 1)[0]["class"]


def test_asset_with_new_cookie_of_served_page_is_of_a_returning_visitor(young):
    value = value_of(answered(young, page(), headers=NAVIGATES))
    assert class_of(young, value) == "returning"
    assert given(answered(young, page(), value, headers=NAVIGATES)) is None


def test_asset_with_new_cookie_of_exempt_page_is_of_a_returning_visitor(young):
    target = page().replace("/b/says", "/b/says/exempt")
    assert class_of(young, value_of(answered(young, target, headers=NAVIGATES))) == "returning"


def test_asset_with_new_cookie_of_refusal_is_of_an_unknown_visitor(young):
    value = value_of(refused(young, page(), headers=NAVIGATES))
    assert class_of(young, value) == "rest"


def test_page_served_after_refusal_has_cookie_that_admits_its_assets(young):
    """The visitor reloads before its cookie is old enough; it remains the same visitor."""
    first = value_of(refused(young, page(), headers=NAVIGATES))
    second = value_of(answered(young, page(), first, headers=NAVIGATES))
    assert second.split(".")[5] == first.split(".")[5] and class_of(young, second) == "returning"


def test_second_page_with_new_cookie_is_of_an_unknown_visitor(young):
    """A browser loads a refused page again by itself.  Other requests for HTML, as a script's, belong to the page."""
    value = value_of(answered(young, page(), headers=NAVIGATES))
    assert class_of(young, value, headers=NAVIGATES) == "rest"
    assert class_of(young, value, headers={"Sec-Fetch-Mode": "navigate"}) == "rest"
    assert class_of(young, value, headers={**NAVIGATES, "Sec-Fetch-Mode": "cors"}) == "returning"


def test_new_cookie_of_page_admits_so_many_requests_and_no_more(young):
    """The rest are of an unknown visitor until the cookie has its age; another visitor's page is not affected."""
    value, other = (value_of(answered(young, page(), headers=NAVIGATES)) for _ in range(2))
    mark = fresh("many")
    with young.connect() as c:
        for _ in range(OF_A_PAGE + 20):
            assert c.ask("GET", f"/b/says?{mark}", headers={"Cookie": f"fairgate={value}"}).status == 200
    classes = [line["class"] for line in young.logged(mark, OF_A_PAGE + 20)]
    assert classes == ["returning"] * OF_A_PAGE + ["rest"] * 20
    assert class_of(young, other) == "returning"
    assert int(refused(young, page(), value).headers["retry-after"]) <= AGE * 1.5
    http1.until(lambda: class_of(young, value) == "returning", 3 * AGE, "the cookie has its age")


def test_h2_streams_with_new_cookie_of_page_are_of_a_returning_visitor(new_gateway, keys):
    """The assets of one page are requested at once, on one connection."""
    mark, cookie = fresh("streams"), keys.cookie("", first=-AGE, issued=0)
    with new_gateway(policy=POLICY, window=8, http2=True, more=f"QosVisitors {keys.path}\n") as g, http2.Connection(g.port) as c:
        ids = [c.send("GET", f"/b/says?{mark}", headers={"cookie": f"fairgate={cookie}"}) for _ in range(ASSETS)]
        c.until(lambda: all(c.streams[i].over for i in ids))
        assert {c.streams[i].status for i in ids} == {200}
        assert [line["class"] for line in g.logged(mark, ASSETS)] == ["returning"] * ASSETS


def test_new_cookie_of_page_is_of_an_unknown_visitor_in_another_network(young):
    value = value_of(answered(young, page(), headers=NAVIGATES))
    assert class_of(young, value, source="127.0.1.1") == "rest"


def test_asset_with_new_cookie_at_another_gateway_is_of_a_returning_visitor(young, new_gateway, keys):
    value = value_of(answered(young, page(), headers=NAVIGATES))
    with new_gateway(policy=POLICY, more=f"QosVisitors {keys.path}\n") as other:
        assert class_of(other, value) == "returning"


def test_asset_of_page_that_the_browser_has_kept_is_of_a_returning_visitor(young):
    """The browser asks whether its copy is current (304), from a network where it has no cookie yet."""
    answer = answered(young, "/o/size/10?etag", headers={**NAVIGATES, "If-None-Match": '"10"'})
    assert answer.status == 304 and class_of(young, value_of(answer)) == "returning"
    answer = answered(young, "/o/size/10?etag", headers={"If-None-Match": '"10"'})
    assert answer.status == 304 and given(answer) is None, "an image is no page"


def test_asset_of_visitor_with_a_class_word_that_no_rule_has_is_of_a_returning_visitor(young):
    """The application sends a word with each page, for every client."""
    assert class_of(young, value_of(answered(young, says("guest"), headers=NAVIGATES))) == "returning"


def test_new_cookie_of_page_is_of_an_unknown_visitor_where_the_policy_asks_for_minutes(new_gateway, keys):
    with new_gateway(policy=POLICY.replace(f"{AGE}s", "10m"), more=f"QosVisitors {keys.path}\n") as g:
        assert class_of(g, value_of(answered(g, page(), headers=NAVIGATES))) == "rest"
