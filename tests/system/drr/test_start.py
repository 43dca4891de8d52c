# SPDX-License-Identifier: BSD-2-Clause
"""At start: what would break the gateway is named with its cure, and a bad policy is refused with file, line and cure."""

import json
import os
import re

import pytest

import http1
from gateway import fresh
from lab import lab
from lab.httpd import Httpd, sanitizer_environment

GOOD = """<?xml version="1.0"?>
<classification>
  <class id="1" name="people" quantum="6" default="yes"><cookie>session=</cookie></class>
</classification>
"""
PAPER = """<?xml version="1.0"?>
<classification>
  <class_id="1" quantum="600"/>
    <src_ip_addr="140.113.0.0"/>
    <url="http://foo.com/~golden"/>
  </class_id >
</classification>
"""
EXTERNAL = '<?xml version="1.0"?>\n<!DOCTYPE c [<!ENTITY x SYSTEM "file:///etc/passwd">]>\n<classification>&x;</classification>'
LAUGHS = '<?xml version="1.0"?>\n<!DOCTYPE c [<!ENTITY a "ha">' + "".join(
    f'<!ENTITY {chr(98 + i)} "{("&" + chr(97 + i) + ";") * 10}">' for i in range(9)) + "]>\n<classification>&j;</classification>"
NESTING = "<classification>\n<class id=\"1\" quantum=\"1\">" + "<url>" * 2_000_000     # 10 MB

# The file, the line that the error must name, and what it must say of the cure.
BAD = {
    "unknown-rule": (GOOD.replace("cookie>", "cokie>"), 3, r"cookie"),
    "zero-quantum": (GOOD.replace('quantum="6"', 'quantum="0"'), 3, r"1 (to|\.\.) ?1,?000,?000|from 1"),
    "external-entity": (EXTERNAL, 2, r"DOCTYPE|DTD"),
    "billion-laughs": (LAUGHS, 2, r"DOCTYPE|DTD"),
    "nesting": (NESTING, 2, r"close it"),
    "the-papers-listing": (PAPER, 3, re.escape('<class id="1"')),
    "not-xml": ("people 600\n", 1, r"classification"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_policy_is_refused(new_gateway, name):
    text, line, cure = BAD[name]
    gateway = new_gateway(policy=text)
    said = gateway.refused_to_start()
    place = re.search(re.escape(str(gateway.policy_file)) + r":(\d+): (.*)", said)
    assert place, said[-2000:]
    assert int(place.group(1)) == line, place.group(0)
    assert re.search(cure, place.group(2)), place.group(2)
    assert "root:" not in said


@pytest.mark.parametrize("directives, cure", [
    ("QosRule nobody cookie x=\n", "QosClass nobody"),
    ("QosClass people weight=0\n", "1 to 1000000"),
    ("QosClass people\n", "weight"),
    ("QosClass people weight=6\nQosClass people weight=3\n", "people"),
    ("QosClass people weight=6\nQosRule people colour red\n", "user_agent"),
    ("QosClass people weight=6\nQosRule people src_ip_addr 300.1.1.1\n", "src_ip_addr|CIDR|address"),
    ("QosClass people weight=6\nQosRule people url regex (a\n", "at byte 2.*PCRE2"),
    ("QosWindow 0\n", "1 to 65536"),
    ("QosWindow many\n", "auto"),
    ("QosScheduler lottery\n", "drr, drr-paper or fifo"),
    ("QosQueue -1\n", "1 to 1000000"),
    ("QosWait soon\n", "1 to 86400"),
])
def test_bad_directive_is_refused(new_gateway, directives, cure):
    gateway = new_gateway(classes=directives)
    said = gateway.refused_to_start()
    assert re.search(r"on line \d+ of " + re.escape(str(gateway.config_file)) + "|Qos", said), said
    assert re.search(cure, said), said


def test_missing_file_of_visitor_keys_is_named_with_the_command_that_makes_it(new_gateway):
    """The error was "No such file or directory", and httpd did not start."""
    said = new_gateway(more="QosVisitors /nonexistent/visitors.key\n").refused_to_start()
    assert "/nonexistent/visitors.key: No such file" in said and "openssl rand -hex 32 > /nonexistent/visitors.key" in said, said


def test_small_async_factor_is_named(new_gateway):
    with new_gateway(async_factor=2) as gateway:
        assert gateway.settled()["queued"] == 0
        warnings = [line for line in gateway.error_log() if "AsyncRequestWorkerFactor" in line]
    assert len(warnings) == 1 and re.search(r"AsyncRequestWorkerFactor \d{2,}", warnings[0]), warnings


def test_tight_server_limit_is_named(new_gateway):
    """With no spare ServerLimit a graceful restart can't start new children until the old ones drain."""
    with new_gateway(children=2, spare=0) as gateway:
        gateway.settled()
        warnings = [line for line in gateway.error_log() if "ServerLimit" in line]
    assert len(warnings) == 1 and re.search(r"ServerLimit \d+", warnings[0]), warnings


def test_few_open_files_are_named(new_gateway):
    with new_gateway(open_files=1024) as gateway:
        gateway.settled()
        warnings = [line for line in gateway.error_log() if re.search(r"ulimit|LimitNOFILE|open files", line)]
    assert len(warnings) == 1 and re.search(r"\d{4,}", warnings[0]), warnings


def test_good_settings_give_no_warning(new_gateway):
    with new_gateway() as gateway:
        gateway.settled()
        assert not [line for line in gateway.error_log() if re.search(r"qos.*:(warn|error|crit)|\[qos_drr:(warn|error)", line)]


def test_off_is_off(new_gateway):
    """QosEngine Off everywhere, or the module only loaded: everything passes, nothing is counted, the window does not matter."""
    for engine in ("Off", None):
        with new_gateway(engine=engine, window=1) as gateway:
            gate = fresh("off")
            with gateway.connect() as first, gateway.connect() as second:
                first.send("GET", f"/b/gate/{gate}")
                http1.until(lambda: gateway.backend.count(gate) == 1, what="it has passed")
                assert len(second.ask("GET", "/b/size/70").body) == 70
                gateway.backend.open(gate)
                assert first.receive().status == 200
            assert b"off" in http1.get(gateway.port, "/qos-status?json").body


def five_minutes():
    """The configuration that the manual begins with."""
    with open(os.path.join(lab.ROOT, "docs", "mod_qos_drr.md")) as f:
        section = f.read().split("## Five minutes\n")[1].split("\n## ")[0]
    block = next(b for b in section.split("\n\n") if b.startswith("    LoadModule"))
    first, rest = re.sub("^    ", "", block, flags=re.M).split("\n", 1)
    assert first.startswith("LoadModule qos_drr_module ")
    return rest + "\n"


def test_the_first_five_minutes(parts):
    """As the manual says it, and nothing else: it observes, and then it schedules."""
    text = five_minutes()
    with Httpd(parts.lab, name="five-minutes", htdocs=str(parts.root), modules=("authz_host",), load={"qos_drr": lab.module()}, config=text, environment=sanitizer_environment()) as g:
        right, said = g.check()
        assert right, said

        def classes():
            return {c["name"]: c["released"] for c in json.loads(http1.get(g.port, "/qos-status?json").body)["classes"] if not c["retired"]}
        assert http1.get(g.port, "/static/2k.txt", headers={"User-Agent": "GPTBot/1.2"}).status == 200
        assert classes() == {"people": 0, "search": 0, "ai": 0}
        http1.until(lambda: any(json.loads(http1.get(g.port, "/qos-status?json").body)["observed"].values()), 10, "it was seen")
        g.graceful(text.replace("observe", "On"))
        assert http1.get(g.port, "/static/2k.txt", headers={"User-Agent": "GPTBot/1.2"}).status == 200
        assert http1.get(g.port, "/static/2k.txt").status == 200
        http1.until(lambda: classes() == {"people": 1, "search": 0, "ai": 1}, 10, "both scheduled")
