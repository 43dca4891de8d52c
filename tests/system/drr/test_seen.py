# SPDX-License-Identifier: BSD-2-Clause
"""Seeing it: the status page in its three forms, mod_status, and the notes for LogFormat."""

import html.parser
import json
import pathlib
import re

import http1
import pytest

from lab import lab
from lab.httpd import HTTPD_MODULES, Httpd, sanitizer_environment

PEOPLE = {"Cookie": "session=1"}
CLASS_FIELDS = {"name", "weight", "queued", "outstanding", "parked", "submitted", "released", "refused", "cancelled", "done", "aborted",
                "bytes", "wait_ms_mean", "wait_ms_max", "share"}


def test_json(event_gateway):
    before = event_gateway.settled()["by_class"]["people"]
    http1.get(event_gateway.port, "/b/size/5000", headers=PEOPLE)
    status = event_gateway.settled()
    assert {"scheduler", "gate", "window", "queued", "outstanding", "parked", "classes"} <= set(status)
    assert (status["scheduler"], status["gate"], status["window"]) == ("drr", "window", 1)
    assert CLASS_FIELDS <= set(status["classes"][0])
    after = status["by_class"]["people"]
    assert after["done"] - before["done"] == 1
    assert 5000 < after["bytes"] - before["bytes"] < 5600, "the body and its header"
    assert abs(sum(c["share"] for c in status["classes"]) - 1) < 0.001


def test_json_shows_who_waits(event_gateway):
    with event_gateway.window_taken() as taken, event_gateway.connect() as c:
        c.send("GET", "/b/size/10", headers=PEOPLE)
        event_gateway.until_queued(1)
        status = event_gateway.status()
        assert (status["queued"], status["outstanding"]) == (1, 1)
        assert status["by_class"]["people"]["queued"] == 1
        taken.release()
        c.receive()
    event_gateway.settled()


def prometheus(text):
    """{(name, labels): value}; every line must be as the text format says, every sample announced by a TYPE line before it."""
    samples, types = {}, {}
    for line in text.splitlines():
        kind = re.fullmatch(r"# TYPE ([a-zA-Z_:][a-zA-Z0-9_:]*) (counter|gauge|histogram|summary|untyped)", line)
        if kind:
            assert kind.group(1) not in types, line
            types[kind.group(1)] = kind.group(2)
            continue
        if re.fullmatch(r"# HELP [a-zA-Z_:][a-zA-Z0-9_:]* .+", line):
            continue
        sample = re.fullmatch(r'([a-zA-Z_:][a-zA-Z0-9_:]*)(\{(?:[a-zA-Z_]\w*="(?:[^"\\\n]|\\.)*",?)*\})? ([-+0-9.eE]+|NaN|[+-]Inf)', line)
        assert sample, f"not Prometheus text: {line!r}"
        assert sample.group(1) in types, f"no TYPE before {line!r}"
        key = (sample.group(1), sample.group(2) or "")
        assert key not in samples, f"twice: {line!r}"
        samples[key] = float(sample.group(3))
        if types[sample.group(1)] == "counter":
            assert samples[key] >= 0 and sample.group(1).endswith("_total"), line
    return samples


def test_prometheus(event_gateway):
    event_gateway.settled()
    first = http1.get(event_gateway.port, "/qos-status?prometheus")
    assert first.headers["content-type"].startswith("text/plain") and "version=0.0.4" in first.headers["content-type"]
    before = prometheus(first.body.decode())
    http1.get(event_gateway.port, "/b/size/5000", headers=PEOPLE)
    event_gateway.settled()
    after = prometheus(http1.get(event_gateway.port, "/qos-status?prometheus").body.decode())
    moved = {key for key in after if after[key] != before.get(key) and 'class="people"' in key[1]}
    assert any("bytes" in name for name, _ in moved) and any("done" in name or "requests" in name for name, _ in moved), moved
    for name in ("people", "search", "crawlers"):
        assert any(f'class="{name}"' in labels for _, labels in after), name


@pytest.mark.parametrize("field", ["X-Forwarded-For: 203.0.113.9", "Forwarded: for=203.0.113.9", "Via: 1.1 front", "X-Real-IP: 203.0.113.9"])
def test_status_behind_a_proxy_on_this_host_is_refused(event_gateway, field):
    """`Require local` let in every client of a local nginx."""
    name, value = field.split(": ")
    for question in ("", "?json", "?prometheus", "?console", "?console-now"):
        assert http1.get(event_gateway.port, f"/qos-status{question}", headers={name: value}).status == 403, question
    http1.until(lambda: any("RemoteIPInternalProxy" in line and name in line for line in event_gateway.error_log()), what="the log names the cure")
    assert http1.get(event_gateway.port, "/qos-status?json").status == 200


def test_status_behind_a_proxy_that_remoteip_knows_is_answered(new_gateway):
    remote = f"LoadModule remoteip_module {HTTPD_MODULES}/mod_remoteip.so\nRemoteIPHeader X-Forwarded-For\nRemoteIPInternalProxy 127.0.0.1\n"
    with new_gateway(early=remote) as g:
        assert http1.get(g.port, "/qos-status?json", headers={"X-Forwarded-For": "203.0.113.9", "Via": "1.1 front"}).status == 200


WORDPRESS = "RewriteEngine On\nRewriteBase /\nRewriteRule ^index\\.html$ - [L]\nRewriteCond %{REQUEST_FILENAME} !-f\nRewriteCond %{REQUEST_FILENAME} !-d\nRewriteRule . /index.html [L]\n"


@pytest.mark.parametrize("shipped", ["debian/apache2/qos_drr.conf", "etc/httpd-example.conf", "etc/examples/common.conf"])
def test_status_is_reached_beside_an_application_that_rewrites_every_path(parts, open_path, shipped):
    """WordPress's own .htaccess made of /qos-status a page of WordPress."""
    (open_path / "index.html").write_text("an application\n")
    (open_path / ".htaccess").write_text(WORDPRESS)
    section = re.search(r"(?ms)^<Location /qos-status>.*?^</Location>\n", (pathlib.Path(lab.ROOT) / shipped).read_text()).group(0)
    site = Httpd(parts.lab, name="rewrites", htdocs=str(open_path), modules=("authz_host",), load={"qos_drr": lab.module()},
                 environment=sanitizer_environment(), config=f"QosEngine On\nQosClass all weight=1 default\n<Directory {open_path}>\nAllowOverride All\n</Directory>\n" + section)
    with site:
        assert http1.get(site.port, "/no/such/page").body == b"an application\n"
        assert json.loads(http1.get(site.port, "/qos-status?json").body)["state"] == "on"


def test_nothing_is_scheduled_in_the_form_that_was_asked_for(new_gateway):
    """Programs got a sentence for people."""
    with new_gateway(engine="Off") as g:
        answer = http1.get(g.port, "/qos-status?json")
        status = json.loads(answer.body)
        assert answer.headers["content-type"] == "application/json"
        assert (status["state"], status["classes"]) == ("off", []) and "QosEngine is off" in status["why"]
        answer = http1.get(g.port, "/qos-status?prometheus")
        assert "version=0.0.4" in answer.headers["content-type"]
        assert prometheus(answer.body.decode()) == {(name, '{state="off"}'): 1 for name in ("fairgate_state", "fairgate_qos_state")}
        assert b"QosEngine is off everywhere" in http1.get(g.port, "/qos-status").body


def test_the_state_when_all_is_well(event_gateway):
    assert event_gateway.status()["state"] == "on"
    assert prometheus(http1.get(event_gateway.port, "/qos-status?prometheus").body.decode())[("fairgate_state", '{state="on"}')] == 1


class Page(html.parser.HTMLParser):
    """Tags must nest; collects the text, the cells and whether the page refreshes itself."""

    VOID = {"meta", "br", "hr", "img", "link", "input", "col"}

    def __init__(self, text):
        super().__init__()
        self.open, self.text, self.refreshes = [], "", False
        self.feed(text)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag, attrs):
        if tag == "meta" and dict(attrs).get("http-equiv", "").lower() == "refresh":
            self.refreshes = True
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in self.VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag, f"</{tag}>"

    def handle_data(self, data):
        self.text += data


def test_html(event_gateway):
    response = http1.get(event_gateway.port, "/qos-status")
    assert response.headers["content-type"].startswith("text/html")
    page = Page(response.body.decode())
    assert page.refreshes
    for word in ("people", "search", "crawlers", "drr"):
        assert word in page.text


def table(gateway):
    """{class: {column: text}} of the page, and the length of its bar in em."""
    page = http1.get(gateway.port, "/qos-status").body.decode()
    head = re.findall(r"<th>(.*?)</th>", re.search(r"<tr><th>class</th>.*?</tr>", page)[0])
    rows = {}
    for row in re.findall(r"<tr[^>]*><td>.*?</tr>", page):
        cells = re.findall(r"<td>(.*?)</td>", row)
        if len(cells) == len(head):
            rows[cells[0]] = {**dict(zip(head, (re.sub("<.*?>", "", cell) for cell in cells))), "bar": float(re.search(r'class="bar" style="width:([\d.]+)em"', row)[1])}
    return rows


def test_status_page_of_50_kb_responses_shows_a_mean_of_50_kb(new_gateway):
    """Time is charged by default, and the page printed its microseconds as kB."""
    with new_gateway(window=4) as g:
        for _ in range(5):
            assert http1.get(g.port, "/b/takes/300?size=50000", headers=PEOPLE).status == 200
        g.settled()
        assert 45 < float(table(g)["people"]["mean response"].split(" kB")[0]) < 60, table(g)
        assert 45_000 < g.status()["by_class"]["people"]["response_mean"] < 60_000


def test_status_page_bar_is_of_what_classes_are_charged(new_gateway):
    """Many bytes in no time, and few bytes in much: a bar of bytes stood beside the shares of time."""
    for charge, longer, label in (("time", "crawlers", "share of time"), ("bytes", "people", "share of bytes")):
        with new_gateway(window=4, more=f"QosCharge {charge}\n") as g:
            assert http1.get(g.port, "/b/size/2000000", headers=PEOPLE).status == 200
            assert http1.get(g.port, "/b/takes/1500?size=1000", headers={"User-Agent": "GPTBot"}).status == 200
            g.settled()
            rows = table(g)
            assert rows[longer]["bar"] > 4 and float(rows[longer][label].split()[0]) > 50, rows
            for row in rows.values():
                assert abs(row["bar"] / 8 - float(row[label].split()[0]) / 100) < 0.02, rows
            assert float(rows["people"]["of bytes"].split()[0]) > 90 and float(rows["crawlers"]["of slots' time"].split()[0]) > 50, rows


def test_mod_status(event_gateway):
    event_gateway.settled()
    text = http1.get(event_gateway.port, "/server-status?auto").body.decode()
    for name in ("people", "search", "crawlers"):
        assert re.search(rf"(?im)^qos.*{name}", text), text
    page = http1.get(event_gateway.port, "/server-status").body.decode()
    assert re.search(r"people.*weight 6", page)


def test_notes_in_the_log(event_gateway):
    """%{qos-class}n %{qos-wait}n %{qos-estimate}n %{qos-outcome}n: passed, waited, timeout, refused, off."""
    event_gateway.settled()
    with event_gateway.connect() as c:
        c.ask("GET", "/b/size/5000?passes", headers=PEOPLE)
        c.ask("GET", "/b/size/5000?passes", headers=PEOPLE)
    with event_gateway.window_taken() as taken, event_gateway.connect() as c:
        c.send("GET", "/b/size/10?waits", headers=PEOPLE)
        event_gateway.until_queued(1)
        http1.get(event_gateway.port, "/b/size/10?hasty", headers={"User-Agent": "hasty"})
        taken.release()
        c.receive()
    http1.get(event_gateway.port, "/off/2k.txt?off")
    passed = event_gateway.logged("passes", 2)
    assert [line["outcome"] for line in passed] == ["passed", "passed"]
    assert passed[0]["class"] == "people" and float(passed[0]["wait"]) == 0
    assert 5000 < int(passed[1]["estimate"]) < 5600, "the second time the size is known"
    waited, = event_gateway.logged("waits", 1)
    assert (waited["outcome"], waited["class"]) == ("waited", "people") and float(waited["wait"]) >= 990
    late, = event_gateway.logged("hasty", 1)
    assert late["outcome"] == "timeout" and 990 <= float(late["wait"]) < 10000
    off, = event_gateway.logged("off", 1)
    assert off["outcome"] in ("off", "-")
