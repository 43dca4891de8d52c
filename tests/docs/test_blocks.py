# SPDX-License-Identifier: BSD-2-Clause
"""Every command and configuration that the docs have to be copied is right; and what is not, is found."""
import pytest
from kinds import KINDS, kind_of, wrong_with
from parts import Part, all_parts, parts_of

PARTS = all_parts()


@pytest.mark.parametrize("part", PARTS, ids=str)
def test_a_block_is_right(part):
    assert wrong_with(part) == []


def test_each_kind_is_in_use():
    assert {kind_of(p) for p in PARTS} == set(KINDS)


# A kind, what would be right, and what is wrong in what follows it.
LIES = [
    ("shell", "fairgate-policy check /etc/fairgate/policy.xml", ["fairgate-policy look /etc/fairgate/policy.xml", "fairgate-policy check --really /etc/fairgate/policy.xml", "fairgate-policy check etc/none.xml",
                                                                "fairgate-policy check /etc/fairgate/none.xml"]),
    ("shell", "sudo ./quickstart demo", ["sudo ./quickstart dem", "sudo ./quickstart demonstrate"]),
    ("shell", "sudo systemctl enable --now fairgate-pktcache@parent", ["sudo systemctl enable --now fairgate-cache@parent", "sudo systemctl reenact squid"]),
    ("shell", "sudo apt install fairgate-tools", ["sudo apt install fairgate-toys", "sudo apt upgrade fairgate-tools"]),
    ("shell", "sudo a2enmod qos_drr", ["sudo a2enmod mod_qos_drr"]),
    ("shell", "cp etc/bots-example.conf /etc/fairgate/bots.conf", ["cp etc/bots.conf /etc/fairgate/bots.conf"]),
    ("shell", "fairgate-transparent --lan eth1 start", ["fairgate-transparent --wan eth1 start", "fairgate-transparent --lan eth1"]),
    ("shell", "squid-fqrs -k parse", ["squid-fqrs -k purse"]),
    ("shell", "sudo sed -i 's/^QosEngine observe/QosEngine On/' /etc/apache2/mods-available/qos_drr.conf",
     ["sudo sed -i 's/^QosEngine Off/QosEngine On/' /etc/apache2/mods-available/qos_drr.conf"]),
    ("shell", "fairgate-ccncall /a/b width=300", ["fairgate-ccncall /a/b width"]),
    ("shell", "sudo fairgate doctor squid", ["sudo fairgate doctor squids"]),
    ("shell", "curl --json '{}' http://localhost/ccn/a", ["curl --jason '{}' http://localhost/ccn/a", "curl --json '{} http://localhost/ccn/a"]),
    ("httpd", "QosEngine On", ["QosEngine Maybe", "QosClass people weight=none", "<Location /a>\n  QosEngine On", "QosPolicy /etc/fairgate/none.xml", "LoadModule qos_drr_module /usr/lib/apache2/modules/mod_qos.so"]),
    ("squid", "fqrs on\nfqrs_link rate=2Mbit", ["fqrs on", "fqrs perhaps", "fqrs_link rate=fast", "fqrs_speed 3"]),
    ("policy", '<class id="1" quantum="1"/>', ['<class id="1"/>', '<class id="1" quantum="1"><browser>a</browser></class>', "<classification>"]),
    ("pktcache", "secret /etc/fairgate/pktcache.key\nlocal 192.0.2.1:1\npeer 192.0.2.2:1\nservers 10.0.0.0/8\nclients 0.0.0.0/0",
     ["secret /etc/fairgate/pktcache.key\nlocal 192.0.2.1:1\npeer 192.0.2.2\nservers 10.0.0.0/8\nclients 0.0.0.0/0", "secret /etc/fairgate/pktcache.key\nlocal 192.0.2.1:1"]),
    ("session", "$ fairgate-policy --version\nfairgate-policy 0.1.0", ["$ fairgate-policy --version\nfairgate-policy 9.9.9"]),
    ("error", 'policy.xml:9: "10.1.2.3/8" has bits set behind its prefix; write 10.0.0.0/8 for the network or 10.1.2.3 for the one address', ['policy.xml:9: "10.1.2.3/8" is wrong']),
    ("cron", "17 6 * * *  /home/a/squid-fqrs/build 5.7 --outdated", ["17 26 * * *  /home/a/squid-fqrs/build 5.7 --outdated", "17 6 * * *  /home/a/squid-fqrs/build 5.7 --late"]),
    ("unit", "[Service]\nExecStartPost=/bin/sh -c 'true'", ["[Service]\nExecStartLater=/bin/true", "[Service]\nExecStart=\nExecStart=/usr/bin/fairgate-prober walk http://www.example.org/", "[Service]\nExecStartPost=/bin/sh -c 'until true'"]),
    ("prober_site", "SITE=http://www.example.org/\nOPTIONS=--backend 127.0.0.1:80", ["SITE=http://www.example.org/\nOPTIONS=--backends 127.0.0.1:80"]),
    ("promql", "sum(rate(fairgate_class_done_total[5m]))", ["sum(rate(fairgate_class_finished_total[5m]))", "sum(rate(fairgate_class_done_total[5m])"]),
    ("page", "<!--EEOD K-->a<!--/EEOD K-->", ["a<!--EEOD K-->", "<p><!--EEOD X-->a<!--/EEOD X-->", "<!--EEOD <?= $k ?>--><?= (1 ?><!--/EEOD <?= $k ?>-->"]),
    ("drawing", "a ──> sched_*", ["a ──> scheduler_*"]),
    ("problem", '{"type":"urn:fairgate:problem:busy","title":"There is no room for the call now","status":503}', ['{"type":"urn:fairgate:problem:lazy","title":"x","status":503}', "{"]),
    ("call", '/a/b/!{"c":1}', ['/a/b/!{"c":1']),
    ("grammar", "CcnService NAME ... => URL", ["CcnServer NAME ... => URL"]),
    ("fields", "Ccn-Nonce: 9c", ["Ccn-Ounce: 9c"]),
]


@pytest.mark.parametrize("kind,right,lie", [(kind, right, lie) for kind, right, lies in LIES for lie in lies])
def test_a_lie_is_found(kind, right, lie):
    assert wrong_with(Part("", 1, lie)) != []


@pytest.mark.parametrize("kind,right", [(kind, right) for kind, right, _ in LIES])
def test_beside_a_lie_the_truth_is_right(kind, right):
    assert kind_of(Part("", 1, right)) == kind and wrong_with(Part("", 1, right)) == []


def test_each_kind_has_a_lie():
    assert {kind for kind, _, _ in LIES} == set(KINDS)


def test_what_nobody_knows_is_told():
    part, = parts_of("a.md", "Do this:\n\n    frobnicate --all\n")
    assert wrong_with(part) == ["no test for this block: tests/docs/kinds.py knows no kind that it is of"]


def test_blocks_are_found():
    text = "a\n\n    one\n\n    two\n    three\n\n- item\n\n      four\n\n```xml\nfive\n\nsix\n```\n"
    assert [(p.line, p.text) for p in parts_of("a.md", text)] == [(3, "one"), (5, "two\nthree"), (10, "four"), (13, "five\n\nsix")]
