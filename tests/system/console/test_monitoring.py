# SPDX-License-Identifier: BSD-2-Clause
"""Monitoring: what every host tells can be read, the rules speak when something is wrong and are silent when nothing is, the dashboard asks for what there is."""
import json
import os
import re
import subprocess
import urllib.parse
import urllib.request

import pytest

import http1
from lab import lab, promtool

ETC = os.path.join(lab.ROOT, "etc")
RULES = os.path.join(ETC, "prometheus", "fairgate.rules.yml")
SAMPLE = re.compile(r'^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)$')
KINDS = ("gateway", "eeod", "ccn", "pktcache", "squid")


def kinds(hosts):
    return [kind for kind in KINDS if kind in hosts.page]


def samples(text):
    """{name{labels}: value} of a page."""
    found = {}
    for line in text.splitlines():
        if line and not line.startswith("#"):
            name, labels, value = SAMPLE.match(line).groups()
            found[f"{name}{{{labels or ''}}}"] = float(value)
    return found


def names(text):
    """Metrics that an expression asks for."""
    return set(re.findall(r"\bfairgate_\w+", text))


@pytest.fixture(scope="module")
def told(hosts):
    """{kind: its page}, after something has happened at each."""
    hosts.fetch()
    return {kind: hosts.exposition(kind) for kind in kinds(hosts)}


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_host_tells_can_be_read(told, kind):
    if kind not in told:
        pytest.skip(f"no {kind}")
    promtool.check(told[kind])
    assert any(name.startswith("fairgate_") for name in samples(told[kind]))


def test_prometheus_itself_reads_them(hosts, tmp_path):
    """By the jobs that are shipped, at the ports that there are; and takes the rules."""
    text = open(os.path.join(ETC, "prometheus", "fairgate-scrape.yml"), encoding="utf-8").read()
    for kind in ("gateway", "eeod", "ccn", "squid", "pktcache"):
        job = re.search(rf"  - job_name: fairgate-{kind}\b.*?targets: .*?\n", text, re.S).group(0)
        if kind not in hosts.page:
            text = text.replace(job, "")
            continue
        text = text.replace(job, re.sub(r"127\.0\.0\.1:\d+", urllib.parse.urlsplit(hosts.page[kind]).netloc, job))
    config = tmp_path / "prometheus.yml"
    config.write_text(f"global:\n  scrape_interval: 1s\nrule_files: ['{RULES}']\n{text}")
    address = f"127.0.0.1:{lab.free_port()}"
    with open(tmp_path / "log", "w", encoding="utf-8") as log:
        p = subprocess.Popen(["prometheus", f"--config.file={config}", f"--storage.tsdb.path={tmp_path}/data", f"--web.listen-address={address}"], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        def health():
            try:
                with urllib.request.urlopen(f"http://{address}/api/v1/targets", timeout=5) as answer:
                    return [(t["labels"]["job"], t["health"], t["lastError"]) for t in json.load(answer)["data"]["activeTargets"]]
            except OSError as why:
                return [("prometheus", str(why), "")]
        http1.until(lambda: len(health()) == len(kinds(hosts)) and all(up == "up" for _, up, _ in health()), 20, health)
        with urllib.request.urlopen(f"http://{address}/api/v1/rules", timeout=5) as answer:
            rules = json.load(answer)["data"]["groups"][0]["rules"]
        assert len(rules) == open(RULES, encoding="utf-8").read().count("expr:")
    finally:
        p.terminate()
        p.wait(20)


def promtool_says(tmp_path, series, alerts, at="16m"):
    """promtool, of a test of the rules: series {name{labels}: values}, alerts {name: the labels, besides severity, of those that fire}."""
    text = f"rule_files: ['{RULES}']\nevaluation_interval: 15s\ntests:\n- interval: 15s\n  input_series:\n"
    for name, values in series.items():
        text += f"  - series: '{name}'\n    values: '{values}'\n"
    text += "  alert_rule_test:\n"
    for alert, labels in alerts.items():
        text += f"  - eval_time: {at}\n    alertname: {alert}\n    exp_alerts: {'[]' if not labels else ''}\n"
        for one in labels:
            text += f"    - exp_labels: {json.dumps(one)}\n      exp_annotations: {{summary: '', cure: ''}}\n"
    path = tmp_path / "rules.test.yml"
    path.write_text(text)
    done = subprocess.run(["promtool", "test", "rules", str(path)], capture_output=True, text=True, timeout=60, check=False)
    return done.stdout + done.stderr


def fires(tmp_path, series, alert, at="16m"):
    """The label sets with which an alert fires: what promtool says that it got."""
    said = promtool_says(tmp_path, series, {alert: [{"nobody": "here"}]}, at)
    got = said.split("got:")[1].split("exp:")[0] if "got:" in said else said
    assert "got:" not in said or "Labels:" in got or "[]" in got or not got.strip(), said
    return [dict(re.findall(r'(\w+)="([^"]*)"', labels)) for labels in re.findall(r"Labels:\s*\{([^}]*)\}", got)]


def steady(told, seconds_between=15):
    """Every series of every host, as it goes on when all is well: gauges stay, counters grow by what they have each minute."""
    series = {}
    for kind, page in told.items():
        counters = set(re.findall(r"^# TYPE (\S+) counter$", page, re.M))
        for key, value in samples(page).items():
            name, labels = key.split("{", 1)
            labels = (labels[:-1] + "," if labels != "}" else "") + f'instance="{kind}"'
            step = value / 60 * seconds_between if name in counters else 0
            series[f"{name}{{{labels}}}"] = f"{value:.0f}{step:+.6f}x70"
    return series


def at(series, name, **labels):
    """The one series of that name with these labels."""
    found = [key for key in series if key.startswith(name + "{") and all(f'{k}="{v}"' in key for k, v in labels.items())]
    assert len(found) == 1, (name, labels, found)
    return found[0]


def well(told):
    """The accounts of classes hold while they grow, so that only what a test breaks is broken."""
    series = steady(told)
    for key in [k for k in series if k.startswith("fairgate_class_released_total{")]:
        labels = key.split("{", 1)[1]
        for name, values in (("released_total", "100+10x70"), ("done_total", "98+10x70"), ("aborted_total", "0x70"), ("outstanding", "2x70"), ("parked", "0x70"), ("queued", "0x70"),
                             ("submitted_total", "100+10x70")):
            if f"fairgate_class_{name}{{{labels}" in series:
                series[f"fairgate_class_{name}{{{labels}"] = values
    for key in series:
        if key.startswith("fairgate_pktcache_at_work"):
            series[key] = "1x70"
        elif key.startswith("fairgate_pktcache_hits_total"):
            series[key] = "100+100x70"
        elif key.startswith("fairgate_pktcache_wanted_total"):
            series[key] = "0x70"
    return series


ALERTS = re.findall(r"alert: (\w+)", open(RULES, encoding="utf-8").read())


def test_nothing_is_said_when_all_is_well(told, tmp_path):
    series = well(told)
    for alert in ALERTS:
        assert fires(tmp_path, series, alert) == [], alert


def provoked(series, alert):
    """What is wrong then; the labels of who says so."""
    people = {"instance": "gateway", "class": "people"}
    change = {
        # It waits all the time, and what there is goes to others.
        "FairgateClassStarved": ([("fairgate_class_queued", people, "5x70"), ("fairgate_class_response_bytes_total", people, "1000+1x70"), ("fairgate_class_slot_seconds_total", people, "5+0.001x70")], people),
        "FairgateSlotLeaked": ([("fairgate_class_done_total", people, "97+10x70")], people),
        "FairgateSlotsStandStill": ([(name, {"instance": "gateway", "class": c}, "100x70") for c in ("people", "search", "tiny", "hasty", "secure", "crawlers")
                                     for name in ("fairgate_class_released_total", "fairgate_class_done_total", "fairgate_class_response_bytes_total")], {"instance": "gateway"}),
        "FairgateRefuses": ([("fairgate_refused_total", {"instance": "gateway", "reason": "class-full"}, "0+50x70")], {"instance": "gateway"}),
        "FairgateNotScheduling": ([("fairgate_rebuilds_total", {"instance": "gateway"}, "0+1x70")], {"instance": "gateway"}),
        "FairgateTableOld": ([("fairgate_qos_bots_table_age_seconds", {"instance": "gateway"}, f"{15 * 86400}+15x70")], {"instance": "gateway"}),
        "FairgateTableRefused": ([("fairgate_qos_page_table_refused", {"instance": "gateway"}, "1x70")], {"instance": "gateway"}),
        "FairgateCacheNotAtWork": ([("fairgate_pktcache_at_work", {"instance": "pktcache"}, "0x70")], {"instance": "pktcache", "role": "parent"}),
        "FairgateCacheOutOfStep": ([("fairgate_pktcache_wanted_total", {"instance": "pktcache"}, "0+10x70")], {"instance": "pktcache", "role": "parent"}),
    }
    changes, who = change[alert]
    for name, labels, values in changes:
        series[at(series, name, **labels)] = values
    return who


@pytest.mark.parametrize("alert", ALERTS)
def test_a_rule_speaks_when_it_is_provoked(told, tmp_path, alert):
    """What hosts tell, with that one thing wrong: said of that one, and of no other."""
    series = well(told)
    who = provoked(series, alert)
    said = fires(tmp_path, series, alert)
    assert len(said) == 1 and who.items() <= said[0].items(), said
    assert fires(tmp_path, series, alert, at="30s") == [] or alert in ("FairgateTableOld", "FairgateTableRefused")


def test_the_dashboard_asks_for_what_there_is(told, tmp_path):
    dashboard = json.load(open(os.path.join(ETC, "grafana", "fairgate.json"), encoding="utf-8"))
    panels = [p for p in dashboard["panels"] if p["type"] != "row"]
    wanted = [t["expr"] for p in panels for t in p["targets"]]
    there = {name.split("{")[0] for page in told.values() for name in samples(page)}
    text = " ".join([*wanted, *(json.dumps(v["query"]) for v in dashboard["templating"]["list"]), open(RULES, encoding="utf-8").read()])
    # What a Squid tells once it knows its link, and what only it has.
    missing = {name for name in names(text) - there if "squid" in told and name not in ("fairgate_fqrs_link_queue_seconds", "fairgate_fqrs_link_round_trip_seconds") or not name.startswith("fairgate_fqrs_")}
    assert not missing, missing
    for kind, prefix in (("gateway", "fairgate_qos_"), ("eeod", "fairgate_eeod_"), ("ccn", "fairgate_ccn_"), ("pktcache", "fairgate_pktcache_"), ("squid", "fairgate_fqrs_")):
        assert prefix in text, kind
    # Each expression is one: as a rule's it is read.
    rules = tmp_path / "expressions.yml"
    rules.write_text("groups:\n- name: g\n  rules:\n" + "".join(f"  - record: r{i}\n    expr: {json.dumps(e.replace('$__rate_interval', '5m').replace('$instance', '.*'))}\n" for i, e in enumerate(wanted)))
    done = subprocess.run(["promtool", "check", "rules", str(rules)], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert len({p["id"] for p in dashboard["panels"]}) == len(dashboard["panels"])
    for p in dashboard["panels"]:
        assert {"id", "type", "title", "gridPos"} <= set(p)
        assert p["gridPos"]["x"] + p["gridPos"]["w"] <= 24
    for p in panels:
        assert p["fieldConfig"]["defaults"]["unit"] and [t["refId"] for t in p["targets"]] == [chr(65 + i) for i in range(len(p["targets"]))]
