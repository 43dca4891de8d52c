# SPDX-License-Identifier: BSD-2-Clause
"""fairgate-policy explain and httpd put the same request into the same class, whatever the policy and the request are."""

import collections
import json
import os
import random
import socket
import subprocess

import http1
from lab import lab

SEED, POLICIES, REQUESTS = 38, 12, 100
HOSTS = ("www.example.org", "WWW.Example.ORG", "www.example.org.", "shop.example.org", "shop.example.org:80", "shop.example.org:8080", "example.org", "notexample.org", "192.0.2.7", "[2001:db8::7]", "localhost")
# No %2F in a path: httpd refuses it, and schedules the page of the error.
PIECES = ("/shop", "/%73hop/", "/shop/cart", "/", "//", "/.", "/./", "/x/..", "/x/%2e%2E/", "/cart", ";x=1", "/a.iso", "/caf%c3%a9", "/caf%C3%A9/", "/wp-login.php", "/index.html", "/~me", "/%7Eme", "/a+b", "/Shop/", "/caf\xe9", "/a%3Fb", "/a%23b", "/a;b", "/a|b", "/%", "/x%zz", "/a%0Ab", "/a\"<>b", "/a\\b")
QUERIES = ("", "", "?", "?page=2", "?page=2&q=a", "?q=/shop/cart", "?%70age=2", "?a?page=2", "?x=y.iso", "?q=a%2Fb&colour=red", "?colour=%72ed", "?a=%00&page=2", "?caf\xe9")
AGENTS = ("", "Mozilla/5.0 (X11; Linux x86_64)", "mozilla/5.0", "Googlebot/2.1", "Mozilla/5.0 (compatible; GPTBot/1.2; +https://openai.com/gptbot)", "curl/8.5.0", "CUBOT NOTE", "caf\xe9/1.0", "bot  ", "x|y")
COOKIES = ("session=1", "session=", "a=b; session=2", "a=session=1", "session2=1", " ;; session=1;", "lang=de", "SESSION=1", "b=1;a=b", "a=b;\tsession=1\t", "=", "")
SOURCES = ("127.0.0.1", "127.0.2.1", "127.0.2.200", "127.0.3.1")
# (element, how it matches, pattern)
RULES = (
    *(("url", how, pattern) for how, pattern in (
        ("substring", "/shop/"), ("substring", "/shop/cart"), ("substring", "?page=2"), ("suffix", ".iso"), ("prefix", "http://shop.example.org/"), ("prefix", "http://shop.example.org:8080/"), ("substring", "/caf\xe9"),
        ("exact", "http://www.example.org/shop"), ("exact", "http://www.example.org/"), ("regex", "[?&]colour=red"), ("regex", "/s?hop$"), ("prefix", "/wp-login.php"), ("substring", "/wp-login.php"), ("substring", "/~me"))),
    *(("user_agent", how, pattern) for how, pattern in (("substring", "bot"), ("prefix", "MOZILLA"), ("exact", "bot"), ("suffix", "/1.0"), ("regex", "(?<!cu)bot\\b"), ("regex", "^$"), ("substring", "x|y"), ("substring", "\xe9"))),
    *(("cookie", how, pattern) for how, pattern in (("prefix", "session="), ("exact", "session=1"), ("substring", "b"), ("suffix", "=1"), ("regex", "^lang"))),
    *(("dst_dn", how, pattern) for how, pattern in (("suffix", "example.org"), ("exact", "www.example.org"), ("prefix", "shop"), ("regex", "^not"), ("suffix", ".example.org."))),
    ("src_ip_addr", None, "127.0.2.0/25"), ("src_ip_addr", None, "127.0.2.0/24"), ("src_ip_addr", None, "127.0.3.1"), ("src_ip_addr", None, "::/0"), ("dst_ip_addr", None, "127.0.0.1"),
    ("dst_port", None, "1-1023"), ("src_port", None, "1024-40000"), ("prot_type", "exact", "https"), ("prot_type", "exact", "HTTP"), ("src_dn", "suffix", "example.org"), ("ssl_id", "prefix", "00"),
)


def escaped(text):
    return text.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")


def some_policy(dice):
    """Six classes of two rules each, at random; half of the policies have a default."""
    text, default = '<?xml version="1.0" encoding="UTF-8"?>\n<classification>\n', dice.choice((None, 3))
    for n in range(6):
        rules = "".join(f"<{field}" + (f' match="{how}"' if how else "") + f">{escaped(pattern)}</{field}>" for field, how, pattern in dice.sample(RULES, 2))
        text += f'<class id="{n + 1}" name="c{n}" quantum="1"' + (' default="yes"' if n == default else "") + f">{rules}</class>\n"
    return text + "</classification>\n"


def some_request(dice):
    host, target = dice.choice(HOSTS), "/" + "".join(dice.choice(PIECES) for _ in range(dice.randrange(1, 4))).lstrip("/") + dice.choice(QUERIES)
    headers = {"User-Agent": dice.choice(AGENTS)} if dice.random() < 0.8 else {}
    if dice.random() < 0.4:
        headers["Cookie"] = dice.choice(COOKIES)
    return {"host": host, "target": target, "headers": headers, "source": dice.choice(SOURCES), "whole": dice.random() < 0.1}


def asked(port, r, number):
    """Sends it, to the end of its response; the port that it came from."""
    target = f"http://{r['host']}{r['target']}" if r["whole"] else r["target"]
    head = f"GET {target} HTTP/1.1\r\nHost: {r['host']}\r\nX-Number: {number}\r\nConnection: close\r\n" + "".join(f"{name}: {value}\r\n" for name, value in r["headers"].items()) + "\r\n"
    with socket.create_connection(("127.0.0.1", port), 10, (r["source"], 0)) as c:
        c.sendall(head.encode("latin-1"))
        came_from = c.getsockname()[1]
        while c.recv(65536):
            pass
    return came_from


def explained(policy, r, src_port, dst_port):
    words = ["--src", r["source"], "--src-port", src_port, "--dst", "127.0.0.1", "--dst-port", dst_port, "--url", f"http://{r['host']}{r['target']}", "--header", f"Host: {r['host']}"]
    words += [word for name, value in r["headers"].items() for word in ("--header", f"{name}: {value}")]
    done = subprocess.run([os.fsencode(w) if isinstance(w, os.PathLike) else str(w).encode("latin-1") for w in (lab.program("policy/fairgate-policy"), "explain", str(policy), "--json", *words)],
                          capture_output=True, check=True)
    return json.loads(done.stdout)["answer"]["class"]["name"]


def test_explain_and_httpd_agree_on_1000_random_requests(new_gateway, open_path):
    """explain said that a rule matches, and httpd never matched it."""
    dice, compared, differ = random.Random(SEED), collections.Counter(), []
    for number in range(POLICIES):
        log, requests = open_path / f"classes{number}.log", [some_request(dice) for _ in range(REQUESTS)]
        with new_gateway(policy=some_policy(dice), window=8, children=1, more=f'CustomLog {log} "%{{X-Number}}i %{{qos-class}}n"\n') as g:
            ports = [asked(g.port, r, i) for i, r in enumerate(requests)]
            lines = http1.until(lambda log=log: (lambda seen: len(seen) == REQUESTS and seen)(log.read_text().splitlines() if log.exists() else []), what="all are logged")
        said = dict(line.split() for line in lines)
        for i, r in enumerate(requests):
            expected = said[str(i)]
            if expected == "-":         # httpd refused it, or answered before anything is scheduled
                continue
            told = explained(g.policy_file, r, ports[i], g.port)
            compared[expected] += 1
            if told != expected:
                differ.append((g.policy_file.read_text(), r, f"httpd: {expected}", f"explain: {told}"))
    print(dict(compared))
    assert not differ, f"{len(differ)} differ; the first: " + "\n".join(map(str, differ[0]))
    assert sum(compared.values()) >= 1000 and len(compared) == 7, compared
