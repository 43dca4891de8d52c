# SPDX-License-Identifier: BSD-2-Clause
"""One policy file means the same at httpd and at Squid, and the same scrape rules read both."""

import random
import re
from xml.sax.saxutils import quoteattr

import pytest

import http1
from lab import promtool

AT_HTTPD_ALONE = {"fairgate_class_slot_seconds_total"}
WAIT = 240      # of a class that names none: Squid's own, and what the gateway is given here
AGENTS = ("Mozilla/5.0 (X11)", "Googlebot/2.1", "GPTBot/1.0", "curl/7.88", "bingbot/2.0 (+http://www.bing.com)")
HOSTS = ("shop.example.org", "www.example.org", "example.net", "a.b.example.com")
WORDS = ("shop", "cart", "api", "static", "img", "a", "b", "checkout")
COOKIES = ("session=1", "session=2; lang=de", "lang=en", "tracker=x")


def rule(rng):
    """A rule as XML; of fields that both hosts know of a client's request, whatever stands behind them."""
    def literal(field, *patterns):
        match = rng.choice((None, "substring", "prefix", "suffix", "exact"))
        return f"<{field}{f' match={quoteattr(match)}' if match else ''}>{rng.choice(patterns)}</{field}>"
    return rng.choice((
        lambda: literal("user_agent", *AGENTS, "bot", "Mozilla", "curl"),
        lambda: literal("url", f"/{rng.choice(WORDS)}/", f"http://{rng.choice(HOSTS)}/", f"/{rng.choice(WORDS)}?q=1", "/%61/"),
        lambda: f"<url match=\"regex\">/{rng.choice(WORDS)}/.*{rng.choice(WORDS)}</url>",
        lambda: f"<cookie>{rng.choice(('session=', 'session=1', 'lang=de', 'lang='))}</cookie>",
        lambda: f"<dst_dn>{rng.choice((*HOSTS, 'example.org', 'com'))}</dst_dn>",
        lambda: f"<src_ip_addr>127.0.{rng.randrange(4)}.{rng.choice(('0/24', '1', '0/30'))}</src_ip_addr>",
        lambda: f"<prot_type>{rng.choice(('http', 'https'))}</prot_type>",
    ))()


def policy(rng, number):
    """A policy's text; its classes' names are its own."""
    names = [f"p{number}-{i}" for i in range(rng.randint(1, 6))]
    default = rng.choice([None, None, *names])
    if rng.random() < 0.2:
        names.append("other")
    classes = []
    for i, name in enumerate(names):
        words = [f'id="{i + 1}"', f'name="{name}"', f'quantum="{rng.choice((1, 3, 10, 1000000))}"']
        words += [f'wait="{rng.choice((1, 60, 86400))}"'] if rng.random() < 0.5 else []
        words += [f'queue="{rng.choice((1, 50))}"'] if rng.random() < 0.3 else []
        words += [f'order="{rng.choice(("fifo", "shortest"))}"'] if rng.random() < 0.3 else []
        words += ['default="yes"'] if name == default else []
        classes.append(f"<class {' '.join(words)}>{''.join(rule(rng) for _ in range(rng.randint(0, 4)))}</class>")
    return f"<?xml version=\"1.0\"?>\n<classification>{''.join(classes)}</classification>\n"


def request(rng, mark):
    """(source address, target, host, fields) of a request."""
    path = "/b/" + "/".join(rng.choice((*WORDS, "%61", ".", "x/..", "")) for _ in range(rng.randint(1, 4)))
    query = rng.choice(("", "q=1&", "colour=red&"))
    fields = {"User-Agent": rng.choice(AGENTS), **({"Cookie": rng.choice(COOKIES)} if rng.random() < 0.5 else {})}
    return f"127.0.{rng.randrange(4)}.{rng.randrange(1, 6)}", f"{path}/?{query}mark={mark}", rng.choice(HOSTS), fields


def classes(server):
    """Name, weight and longest wait of the classes in force."""
    return {(c["name"], c["weight"], c["wait_limit_s"]) for c in server.status()["classes"] if not c["retired"]}


def classes_of(lines, marks):
    """The class of each request by its mark, as a log has it; None while one is missing."""
    found = {}
    for line in lines:
        mark = re.search(r"mark=(\w+)", line)
        if mark and mark[1] in marks:
            found[mark[1]] = re.search(r"class=(\S+)", line)[1]
    return found if len(found) == len(marks) else None


def ask_all(port, requests, whole_url):
    for source, target, host, fields in requests:
        with http1.Connection(port, source=source) as c:
            c.ask("GET", f"http://{host}{target}" if whole_url else target, host=host, headers=fields)


@pytest.fixture(scope="module")
def rounds(request):
    return 1000 if request.config.getoption("--long") else 20


def test_one_policy_at_both(new_gateway, new_proxy, rounds):
    """Random policies and requests, 1,000 requests at least: the same classes, weights and waits, and each request in the same class."""
    rng = random.Random(5)
    gateway = new_gateway(policy=policy(rng, 0), window=64, wait=WAIT)
    with gateway:
        proxy = new_proxy(f"fqrs on\nfqrs_window 64\nfqrs_policy {gateway.policy_file}\ncache_peer 127.0.0.1 parent {gateway.backend.port} 0 no-query\n"
                          "never_direct allow all\n")
        with proxy:
            for number in range(1, rounds + 1):
                text = policy(rng, number)
                requests = [request(rng, f"m{number}x{i}") for i in range(50)]
                marks = {re.search(r"mark=(\w+)", target)[1] for _, target, _, _ in requests}
                gateway.write_policy(text)
                gateway.graceful()
                proxy.reconfigure()
                # Children of before the restart may answer for a moment.
                http1.until(lambda: classes(gateway) == classes(proxy), what=f"the same classes at both, of\n{text}")
                ask_all(gateway.port, requests, False)
                ask_all(proxy.port, requests, True)
                of_gateway = http1.until(lambda marks=marks: classes_of(gateway.access_log(), marks), what="all requests in httpd's log")
                of_proxy = http1.until(lambda marks=marks: classes_of(proxy.access(), marks), what="all requests in Squid's log")
                assert of_gateway == of_proxy, (text, [r for r in requests if of_gateway[m := re.search(r"mark=(\w+)", r[1])[1]] != of_proxy[m]])


def families(text):
    """Names of what Prometheus finds on a page, and the labels of each."""
    found = {}
    for line in text.splitlines():
        if not line.startswith("#"):
            name, labels = re.match(r"(\w+)(?:\{(.*)\})?", line).groups()
            found.setdefault(name, set()).update(re.findall(r'(\w+)="', labels or ""))
    return found


def test_the_same_scrape_rules_read_both(new_gateway, proxy_with):
    """What stands in docs/figures.md for both is there at both, with the same labels; what it says of httpd alone is at httpd."""
    proxy = proxy_with("fqrs on\nfqrs_window 8\n")
    with new_gateway() as gateway:
        of_httpd = http1.get(gateway.port, "/qos-status?prometheus").body.decode()
        of_squid = proxy.page("fqrs_prometheus")
    promtool.check(of_httpd)
    promtool.check(of_squid)
    at_httpd, at_squid = families(of_httpd), families(of_squid)
    shared = {name for name in at_httpd if name.startswith("fairgate_") and not name.startswith("fairgate_qos_")} - AT_HTTPD_ALONE
    assert shared and {name: at_httpd[name] for name in shared} == {name: at_squid.get(name) for name in shared}
    assert at_httpd.keys() >= AT_HTTPD_ALONE and not AT_HTTPD_ALONE & at_squid.keys()
    assert {name for name in at_squid if name.startswith("fairgate_") and not name.startswith("fairgate_fqrs_")} - shared == {"fairgate_class_descriptors"}
    assert {"fairgate_class_queued", "fairgate_class_refused_total", "fairgate_refused_total", "fairgate_state", "fairgate_window"} < shared
