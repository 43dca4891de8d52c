# SPDX-License-Identifier: BSD-2-Clause
"""squid.conf: every form of the directives is taken; every wrong one is refused with what is wrong and what would be right."""

import re

import http1
import pytest
from squid_proxy import scheduled

A = "fqrs_class a weight=1\n"
LONGEST = "n" * 31

GOOD = {
    "nothing": "",
    "off": "fqrs off\n",
    "off-needs-nothing": "fqrs off\nworkers 2\n",
    "workers": "workers 2\nfqrs on\nfqrs_window 1\n",
    "rate": "fqrs on\nfqrs_link rate=2Mbit\n",
    "rate-kbit": "fqrs on\nfqrs_link rate=512kbit\n",
    "rate-gbit": "fqrs on\nfqrs_link rate=1Gbit\n",
    "rate-bit": "fqrs on\nfqrs_link rate=8000bit\n",
    "rate-fraction": "fqrs on\nfqrs_link rate=1.5mbit\n",
    "rate-least": "fqrs on\nfqrs_link rate=8kbit\n",
    "interface": "fqrs on\nfqrs_link rate=2mbit interface=lo\n",
    "interface-first": "fqrs on\nfqrs_link interface=eth0.17 rate=2mbit\n",
    "auto": "fqrs on\nfqrs_link auto\n",
    "auto-all": "fqrs on\nfqrs_link auto min=64kbit max=20mbit interface=lo\n",
    "auto-any-order": "fqrs on\nfqrs_link auto interface=lo max=1Gbit min=8kbit\n",
    "auto-one-rate": "fqrs on\nfqrs_link auto min=2mbit max=2mbit\n",
    "auto-slow": "fqrs on\nfqrs_link auto min=8kbit max=32kbit\n",
    "auto-wrc": "fqrs on\nfqrs_link auto\nfqrs_window wrc\n",
    "link-before-on": "fqrs_link rate=2mbit\nfqrs on\n",
    "window-number": "fqrs on\nfqrs_window 1\n",
    "window-most": "fqrs on\nfqrs_window 1000000\n",
    "window-none": "fqrs on\nfqrs_window none\n",
    "window-bytes": "fqrs on\nfqrs_link rate=2mbit\nfqrs_window bytes\n",
    "window-horizon": "fqrs on\nfqrs_link rate=2mbit\nfqrs_window bytes horizon=1\n",
    "window-horizon-most": "fqrs on\nfqrs_link rate=2mbit\nfqrs_window bytes horizon=60000\n",
    "window-wrc": "fqrs on\nfqrs_link rate=2mbit\nfqrs_window wrc\n",
    "window-wrc-all": "fqrs on\nfqrs_link rate=2mbit\nfqrs_window wrc f=8 umax=0.9 most=1000\n",
    "window-wrc-bounds": "fqrs on\nfqrs_link rate=2mbit\nfqrs_window wrc f=1000 umax=1 most=2\n",
    "order-rfq": "fqrs_order rfq\n",
    "order-rfq-debt": "fqrs_order rfq debt=1000000\n",
    "order-paper": "fqrs_order rfq-paper\n",
    "order-drr": "fqrs_order drr\n",
    "order-fifo": "fqrs_order fifo\n",
    "class": A,
    "class-all": "fqrs_class a weight=1000000 queue=1000000 wait=86400\n",
    "class-words-in-any-order": "fqrs_class a wait=1 queue=1 weight=1\n",
    "class-fifo": "fqrs_class a weight=1 order=fifo\n",
    "class-shortest": "fqrs_class a order=shortest weight=1 wait=86400\n",
    "class-within-client": "fqrs_class a weight=1 within=client order=fifo\n",
    "class-within-network": "fqrs_class a weight=1 within=client/24/56\n",
    "class-within-bounds": "fqrs_class a weight=1 within=client/1/1\nfqrs_class b weight=1 within=client/32/128\n",
    "class-within-user": "fqrs_class a weight=1 within=user\n",
    "class-name": "fqrs_class A-Z_0.9 weight=1\n",
    "class-name-longest": f"fqrs_class {LONGEST} weight=1\n",
    "class-other": "fqrs_class other weight=7\n",
    "access": A + "fqrs_access a allow all\nfqrs_access a deny all\n",
    "access-acls": "acl one src 192.0.2.1\nacl two port 80\n" + A + "fqrs_access a allow one !two\n",
    "many-classes": "".join(f"fqrs_class c{i} weight={i + 1}\n" for i in range(2000)),
    "access-none": "fqrs_access none allow all\nfqrs_access none deny all\n",
    "policy": "fqrs_policy {policy}\n",
    "policy-between": A + "fqrs_policy {policy}\nfqrs_class b weight=1\nfqrs_access people allow all\n",
}


def said_of(said):
    """What is said of an error, without what each start says."""
    return "\n".join(line for line in said.splitlines() if "Processing:" not in line and "Startup:" not in line)


@pytest.fixture(scope="module")
def parser(world):
    p = world.proxy()
    p.write("policy.xml", '<classification>\n <class id="1" name="people" quantum="6"><cookie>session=</cookie></class>\n'
                          ' <class id="2" name="rest" quantum="1" default="yes"/>\n</classification>\n')
    p.write("broken.xml", '<classification>\n <class id="1" name="people" quantum="6">\n  <cookie>session=</cokie>\n </class>\n</classification>\n')
    p.write("wrong.xml", '<classification>\n <class id="1" quantum="6"/>\n <class id="2" quantum="0"/>\n</classification>\n')
    p.write("exempt.xml", '<classification>\n <exempt><path>/healthz</path></exempt>\n <class id="1" name="b" quantum="6"/>\n</classification>\n')
    p.write("clash.xml", '<classification>\n <class id="1" name="a" quantum="6"/>\n</classification>\n')

    def parse(config):
        for name in ("policy", "broken", "wrong", "clash", "exempt"):
            config = config.replace("{" + name + "}", p.path(name + ".xml"))
        return p.parse(config)
    parse.proxy = p
    return parse


@pytest.mark.parametrize("config", GOOD.values(), ids=GOOD.keys())
def test_taken(parser, config):
    ok, said = parser(config)
    assert ok, said_of(said)
    assert "fqrs" not in said_of(said)


# (what squid.conf says, what of it must be in the complaint)
WRONG = {
    "on-without-link": ("fqrs on\n", ["fqrs on", "fqrs_link rate=RATE", "fqrs_window"]),
    "wrc-without-link": ("fqrs on\nfqrs_window wrc\n", ["fqrs on", "fqrs_link rate=RATE"]),
    "on-maybe": ("fqrs maybe\n", ["fqrs maybe", "'on' or 'off'"]),

    "class-nothing": ("fqrs_class\n", ["fqrs_class", "name"]),
    "class-no-weight": ("fqrs_class a\n", ["fqrs_class a", "weight=N"]),
    "class-no-weight-but-more": ("fqrs_class a queue=5\n", ["fqrs_class a", "weight=N"]),
    "class-twice": (A + "fqrs_class b weight=1\n" + A, ["fqrs_class", '"a"', "already"]),
    "class-twice-by-policy": (A + "fqrs_policy {clash}\n", ["fqrs_policy", '"a"', "already"]),
    "class-twice-after-policy": ("fqrs_policy {clash}\n" + A, ["fqrs_class", '"a"', "already"]),
    "class-unknown-key": ("fqrs_class a weight=1 wieght=2\n", ["fqrs_class", '"wieght"', "weight, queue, wait, order and within"]),
    "class-empty-key": ("fqrs_class a =1\n", ["fqrs_class", "weight, queue, wait, order and within"]),
    "class-no-key": ("fqrs_class a 4\n", ["fqrs_class", '"4"', "KEY=VALUE", "weight, queue, wait, order and within"]),
    "class-both": ("fqrs_class a weight=1 order=shortest within=client\n", ["fqrs_class a", "order=shortest and within= exclude each other"]),
    "class-case-of-key": ("fqrs_class a Weight=1\n", ["fqrs_class", '"Weight"', "weight, queue, wait, order and within"]),
    "class-none": ("fqrs_class none weight=1\n", ["fqrs_class", '"none"', "fqrs_access none"]),
    "class-same-key-twice": ("fqrs_class a weight=1 weight=2\n", ["fqrs_class", "weight"]),
    "class-too-many": ("".join(f"fqrs_class c{i} weight=1\n" for i in range(10001)), ["fqrs_class", "classes"]),

    "access-nothing": (A + "fqrs_access\n", ["fqrs_access", "name"]),
    "access-unknown-class": (A + "fqrs_access b allow all\n", ["fqrs_access", '"b"', "fqrs_class"]),
    "access-case-of-class": (A + "fqrs_access A allow all\n", ["fqrs_access", '"A"', "fqrs_class"]),
    "access-before-class": ("fqrs_access a allow all\n" + A, ["fqrs_access", '"a"', "before"]),
    "access-of-other": ("fqrs_access other allow all\n", ["fqrs_access", '"other"', "fqrs_class"]),
    "access-unknown-acl": (A + "fqrs_access a allow nobody\n", ["fqrs_access a allow nobody", "ACL not found"]),

    "link-nothing": ("fqrs_link\n", ["fqrs_link", "rate=RATE"]),
    "link-only-interface": ("fqrs_link interface=lo\n", ["fqrs_link", "rate=RATE"]),
    "link-twice": ("fqrs_link rate=2mbit\nfqrs_link rate=3mbit\n", ["fqrs_link", "already"]),
    "link-unknown-key": ("fqrs_link rate=2mbit burst=1\n", ["fqrs_link", '"burst"', "rate and interface"]),
    "link-no-key": ("fqrs_link 2mbit\n", ["fqrs_link", '"2mbit"', "rate and interface"]),
    "auto-and-rate": ("fqrs_link auto rate=2mbit\n", ["fqrs_link", '"rate"', "min, max and interface"]),
    "auto-late": ("fqrs_link rate=2mbit auto\n", ["fqrs_link", '"auto"', "rate and interface"]),
    "auto-bounds": ("fqrs_link auto min=3mbit max=2mbit\n", ["fqrs_link", "min= is more than max="]),
    "auto-bound-alone": ("fqrs_link auto max=32kbit\n", ["fqrs_link", "max= is less than 64kbit, the least without min="]),
    "auto-least": ("fqrs_link auto min=7kbit\n", ["fqrs_link", "min=7kbit", "8kbit at least"]),
    "auto-most": ("fqrs_link auto max=quick\n", ["fqrs_link", "max=quick", "2Mbit"]),
    "rate-and-bounds": ("fqrs_link rate=2mbit min=1mbit\n", ["fqrs_link", '"min"', "rate and interface"]),
    "interface-path": ("fqrs_link rate=2mbit interface=../../etc\n", ["fqrs_link", '"../../etc"', "interface"]),
    "interface-dots": ("fqrs_link rate=2mbit interface=..\n", ["fqrs_link", '".."', "interface"]),
    "interface-empty": ("fqrs_link rate=2mbit interface=\n", ["fqrs_link", "interface"]),
    "interface-long": ("fqrs_link rate=2mbit interface=" + "i" * 16 + "\n", ["fqrs_link", "interface"]),

    "window-nothing": ("fqrs_window\n", ["fqrs_window", "kind"]),
    "window-twice": ("fqrs_window 1\nfqrs_window 2\n", ["fqrs_window", "already"]),
    "window-unknown": ("fqrs_window auto\n", ["fqrs_window", '"auto"', "bytes, wrc, none", "number"]),
    "window-case": ("fqrs_window Bytes\n", ["fqrs_window", '"Bytes"', "bytes, wrc, none"]),
    "window-zero": ("fqrs_window 0\n", ["fqrs_window", "1 to 1000000"]),
    "window-negative": ("fqrs_window -1\n", ["fqrs_window", "number"]),
    "window-huge": ("fqrs_window 1000001\n", ["fqrs_window", "1 to 1000000"]),
    "window-two-numbers": ("fqrs_window 1 2\n", ["fqrs_window", '"2"']),
    "window-number-and-key": ("fqrs_window 1 horizon=2\n", ["fqrs_window", '"horizon=2"']),
    "window-none-and-more": ("fqrs_window none 1\n", ["fqrs_window", '"1"']),
    "bytes-unknown-key": ("fqrs_window bytes most=5\n", ["fqrs_window", '"most"', "horizon"]),
    "wrc-unknown-key": ("fqrs_window wrc horizon=5\n", ["fqrs_window", '"horizon"', "f, umax and most"]),
    "wrc-most-one": ("fqrs_window wrc most=1\n", ["fqrs_window", "most=1", "2 to 1000000"]),

    "order-nothing": ("fqrs_order\n", ["fqrs_order", "order"]),
    "order-twice": ("fqrs_order drr\nfqrs_order fifo\n", ["fqrs_order", "already"]),
    "order-unknown": ("fqrs_order wfq\n", ["fqrs_order", '"wfq"', "rfq, rfq-paper, drr and fifo"]),
    "order-of-other-hosts": ("fqrs_order shortest\n", ["fqrs_order", '"shortest"', "rfq, rfq-paper, drr and fifo"]),
    "order-without-debts": ("fqrs_order drr debt=1000\n", ["fqrs_order", '"debt=1000"', "too much"]),
    "order-unknown-key": ("fqrs_order rfq depth=1\n", ["fqrs_order", '"depth"', "debt"]),

    "policy-nothing": ("fqrs_policy\n", ["fqrs_policy", "name of the file"]),
    "policy-twice": ("fqrs_policy {policy}\nfqrs_policy {clash}\n", ["fqrs_policy", "already", "policy.xml"]),
    "policy-missing": ("fqrs_policy /no/such/file.xml\n", ["fqrs_policy", "/no/such/file.xml", "read"]),
    "policy-directory": ("fqrs_policy /\n", ["fqrs_policy", "/"]),
    "policy-not-xml": ("fqrs_policy {broken}\n", ["fqrs_policy", "broken.xml:3"]),
    "policy-exempt": ("fqrs_policy {exempt}\n", ["fqrs_policy", "exempt.xml", "<exempt> is of httpd's gateway", "fqrs_access none"]),
    "policy-wrong": ("fqrs_policy {wrong}\n", ["fqrs_policy", "wrong.xml:3", "quantum", "1 to 1000000"]),
}

# (key, its most, the line)
NUMBERS = (("weight", 1000000, "fqrs_class a weight={}\n"), ("queue", 1000000, "fqrs_class a weight=1 queue={}\n"),
           ("wait", 86400, "fqrs_class a weight=1 wait={}\n"), ("horizon", 60000, "fqrs_window bytes horizon={}\n"),
           ("f", 1000, "fqrs_window wrc f={}\n"), ("debt", 1 << 40, "fqrs_order rfq debt={}\n"))
BAD_NUMBERS = ("", "0", "-1", "+1", "1.5", "1e3", "0x10", "1k", "one", "1,000", "18446744073709551617", "99999999999999999999999")
for number in BAD_NUMBERS:
    for key, most, line in NUMBERS:
        WRONG[f"{key}-{number or 'empty'}"] = (line.format(number), [line.split()[0], f"{key}={number}", f"1 to {most}"])
for key, most, line in NUMBERS:
    WRONG[f"{key}-too-large"] = (line.format(most + 1), [line.split()[0], f"{key}={most + 1}", f"1 to {most}"])
for order in ("", "short", "Shortest", "shortest-first", "lifo"):
    WRONG[f"order-of-class-{order or 'empty'}"] = (f"fqrs_class a weight=1 order={order}\n", ["fqrs_class", f"order={order} is no order", "order=shortest"])
for within in ("", "Client", "clients", "client/24", "client/24/", "client/33/64", "client/24/129", "client/0/64", "client/-1/64", "client/24/56/8", "client/024/56",
               "users", "visitor", "%{REMOTE_USER}", "127.0.0.1"):
    WRONG[f"within-{within or 'empty'}"] = (f"fqrs_class a weight=1 within={within}\n", ["fqrs_class", f"within={within} tells", "within=client/24/56", "within=user"])
for rate in ("", "2", "2mb", "2mbits", "mbit", "-2mbit", "2 mbit", "0mbit", "7.9kbit", "1e-9gbit", "nanmbit", "infgbit", "99999gbit", "2mbit/s",
             "0x10kbit", "2,5mbit", "2mbit;reboot"):
    WRONG[f"rate-{rate or 'empty'}"] = (f"fqrs_link rate={rate}\n", ["fqrs_link", f"rate={rate.split(' ')[0]}", "2Mbit"])
for umax in ("", "0", "0.0001", "1.001", "-0.5", "95%", "nan", "inf", "0x1p-1", "half"):
    WRONG[f"umax-{umax or 'empty'}"] = (f"fqrs_window wrc umax={umax}\n", ["fqrs_window", f"umax={umax}", "0.95"])
for name in (LONGEST + "n", "n" * 5000, "a/b", "../etc", "a{b}", "a\"b", "'a'", "a=b", "a,b", "<script>", "$(reboot)", "a;b", "a%0d%0ab", "a\\nb", "ä", "a\x01b",
             "a\u202eb", "{\"x\":1}", "weight=1"):
    WRONG[f"name-{len(WRONG)}"] = (f"fqrs_class {name} weight=1\n", ["fqrs_class", "1 to 31 letters, digits"])


@pytest.mark.parametrize("config, words", WRONG.values(), ids=WRONG.keys())
def test_refused(parser, config, words):
    ok, said = parser(config)
    said = said_of(said)
    assert not ok, said
    assert not re.search(r"AddressSanitizer|runtime error|assertion|Segment", said), said
    complaint = [line for line in said.splitlines() if words[0] in line or words[-1] in line]
    missing = [w for w in words if w not in "\n".join(complaint)]
    assert not missing, said


# What Squid itself says of a line of this form in any list of rules, and leaves the line out.
@pytest.mark.parametrize("line", ["fqrs_access a", "fqrs_access a permit all", "fqrs_access a allow", "fqrs_access a deny"])
def test_half_a_rule_is_named(parser, line):
    _, said = parser(A + line + "\n")
    assert line in said_of(said), said


# ---- mgr:config

DUMPED = {
    "empty": "",
    "off": "fqrs off\nfqrs_class a weight=3\n",
    "classes": "fqrs on\nfqrs_window 3\nfqrs_class a weight=4 queue=10 wait=5\nfqrs_class b weight=2\nfqrs_class c weight=1 wait=86400\n",
    "inside": "fqrs on\nfqrs_window 3\nfqrs_class a weight=4 wait=5 order=shortest\nfqrs_class b weight=2 within=client\n"
              "fqrs_class c weight=1 within=client/24/56\nfqrs_class d weight=1 within=user\n",
    "access": "acl one src 192.0.2.1\nacl two port 80\nfqrs on\nfqrs_window none\nfqrs_class a weight=4\nfqrs_class b weight=2\n"
              "fqrs_access a deny one !two\nfqrs_access a allow one\nfqrs_access b allow two\n",
    "none": "acl one src 192.0.2.1\nfqrs on\nfqrs_window 3\nfqrs_class a weight=4\nfqrs_access none allow one\nfqrs_access none deny all\n",
    "bytes": "fqrs on\nfqrs_link rate=2Mbit interface=lo\nfqrs_window bytes horizon=123\nfqrs_order rfq debt=12345\n",
    "auto": "fqrs on\nfqrs_link auto min=1mbit max=1.5Gbit interface=lo\n",
    "auto-debt": "fqrs on\nfqrs_link auto\nfqrs_order rfq debt=54321\n",
    "fraction": "fqrs on\nfqrs_link rate=1.23456789mbit\n",
    "wrc": "fqrs on\nfqrs_link rate=512kbit\nfqrs_window wrc f=7 umax=0.905 most=99\nfqrs_order rfq-paper\n",
    "drr": "fqrs on\nfqrs_link rate=512kbit\nfqrs_order drr\n",
    "other": "fqrs on\nfqrs_window 1\nfqrs_class other weight=5 queue=5\nfqrs_class a weight=1\n",
    "policy": "fqrs on\nfqrs_window 1\nfqrs_class a weight=1\nfqrs_policy {policy}\n",
    "policy-first": "fqrs on\nfqrs_window 1\nfqrs_policy {policy}\nfqrs_class a weight=1\nfqrs_access people allow all\nfqrs_access a allow all\n",
}


def dumped(proxy):
    """The scheduler's lines of mgr:config."""
    return "".join(line.strip() + "\n" for line in proxy.page("config").splitlines() if line.strip().startswith("fqrs"))


def acls_of(config):
    return "".join(line + "\n" for line in config.splitlines() if line.startswith("acl"))


def known(proxy):
    """What the status page says of order, window, link and classes, in their order."""
    s = proxy.status()
    return {key: s.get(key) for key in ("state", "scheduler", "gate", "window", "rate")}, [(c["name"], c["weight"]) for c in s["classes"]]


@pytest.mark.parametrize("config", DUMPED.values(), ids=DUMPED.keys())
def test_config_page_can_be_read_back(parser, new_proxy, config):
    """mgr:config shows the directives in a form that means the same when it is read back, and shows the same then."""
    config = config.replace("{policy}", parser.proxy.path("policy.xml"))
    p = new_proxy(config)
    with p:
        first, before = dumped(p), known(p)
        p.again(acls_of(config) + first)
        assert known(p) == before
        assert dumped(p) == first
    with new_proxy(acls_of(config) + first) as again:
        assert known(again) == before


# ---- off

def test_off_is_the_default(new_proxy):
    """Without a directive nothing is scheduled, and the pages say that it is off."""
    with new_proxy() as p:
        before = p.status()
        assert (before["state"], before["classes"]) == ("off", [])
        for i in range(5):
            assert p.ask(f"/size/1000?off{i}").status == 200
        assert p.page("fqrs").strip() == "# fqrs is off"
        assert p.page("fqrs_prometheus").splitlines()[-1] == 'fairgate_state{state="off"} 1'
        assert p.status() == before
        line, = p.log_lines("off4")
        assert (line["class"], line["wait"], line["slot"]) == ("-", "-", "-")
        assert "fqrs on" not in p.log()


def test_off_with_classes_schedules_nothing(new_proxy):
    """fqrs off: the other directives are read, and have no effect."""
    with new_proxy(scheduled(1, gold="weight=4").replace("fqrs on", "fqrs off")) as p:
        first = p.send("/gate/offgate")
        http1.until(lambda: p.origin.count("offgate") == 1, what="the first is with the origin")
        assert p.ask("/size/10", cls="gold").status == 200      # the window of one does not hold it
        p.origin.open("offgate")
        assert first.receive().status == 200
        first.close()
        assert p.status()["state"] == "off"


def test_an_interface_that_is_not_there(new_proxy):
    """A link that may come up later: said in the log, and requests flow."""
    with new_proxy("fqrs on\nfqrs_link rate=100Mbit interface=nosuch0\n") as p:
        assert p.ask("/size/10").status == 200
        assert "fqrs_link: cannot count the interface nosuch0" in p.log()
