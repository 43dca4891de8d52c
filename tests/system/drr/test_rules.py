# SPDX-License-Identifier: BSD-2-Clause
"""Rules of URLs see the page that is asked for, however its URL is written, and the query only where they say so."""

import pytest

from gateway import fresh

POLICY = """<?xml version="1.0"?>
<classification>
  <class id="1" name="sizes" quantum="6"><url>/b/size/</url></class>
  <class id="2" name="checkout" quantum="3"><url>/checkout/</url><url match="suffix">.iso</url></class>
  <class id="3" name="asked" quantum="2"><url>?page=2</url><url match="regex">[?&amp;]colour=</url></class>
  <class id="4" name="host" quantum="1"><url match="prefix">http://SHOP.example.org/</url></class>
  <class id="5" name="rest" quantum="1" default="yes"/>
</classification>
"""


@pytest.fixture(scope="module")
def ruled(parts):
    from gateway import Gateway

    with Gateway(parts, mpm="event", policy=POLICY, window=4) as g:
        yield g
    g.assert_no_crash()


def class_of(g, target, **kwargs):
    """The class of a request for `target`, which ends in a ?query or may get one, and its answer."""
    mark = fresh("n")
    target += ("&" if "?" in target else "?") + mark
    with g.connect() as c:
        answer = c.ask("GET", target, **kwargs)
    return g.logged(target.split("?", 1)[1], 1)[0]["class"], answer


@pytest.mark.parametrize("path", [
    "/b/size/10", "/b/%73ize/10", "/b/./size/10", "/x/../b/size/10", "/b//size/10", "//b/size//10", "/b/%2e/size/10", "/x/%2e%2E/b/size/10",
    "/checkout//../b/size/10", "/%62/s%69ze/10", "http://localhost/b/./size/10",
])
def test_spellings_of_a_page_are_in_its_class(ruled, path):
    """httpd serves the same page for each."""
    cls, answer = class_of(ruled, path)
    assert (answer.status, len(answer.body)) == (200, 10)
    assert cls == "sizes"


@pytest.mark.parametrize("target, cls", [
    ("/static/2k.txt?x=/checkout/", "rest"), ("/static/2k.txt?/b/size/", "rest"), ("/static/2k.txt?x=y.iso", "rest"),
    ("/static/2k.txt?page=2", "asked"), ("/static/2k.txt?a=b&colour=red", "asked"), ("/static/2k.txt?a?page=2", "rest"),
    ("/static/2k.txt?%70age=2", "asked"),
])
def test_a_query_enters_no_class_by_the_rules_of_paths(ruled, target, cls):
    assert class_of(ruled, target)[0] == cls


@pytest.mark.parametrize("target", ["http://localhost/b/x%3Fpage=2", "http://localhost/b/%2573ize/10"])
def test_whole_url_of_a_request_is_decoded_once(ruled, target):
    """Twice, an escaped ? begins a query, and an escaped % another escape: the rules saw a page that httpd does not serve."""
    assert class_of(ruled, target)[0] == "rest" == class_of(ruled, target.removeprefix("http://localhost"))[0]


@pytest.mark.parametrize("host, cls", [
    ("shop.example.org", "host"), ("SHOP.example.org", "host"), ("shop.example.org.", "host"), ("shop.example.org:80", "host"), ("shop.example.org:8080", "rest"),
    ("notshop.example.org", "rest"),
])
def test_spellings_of_a_host(ruled, host, cls):
    """A port that the scheme implies is not there."""
    assert class_of(ruled, "/static/2k.txt", headers={"Host": host})[0] == cls


def test_encoded_slashes_as_httpd_takes_them(new_gateway):
    """AllowEncodedSlashes On makes a slash of %2F; by default such a request is refused before it is anybody's."""
    with new_gateway(policy=POLICY) as g:
        g.config += "AllowEncodedSlashes On\n"
        g.graceful(g.config)
        cls, answer = class_of(g, "/b%2Fsize%2f10")
        assert (cls, answer.status, len(answer.body)) == ("sizes", 200, 10)
