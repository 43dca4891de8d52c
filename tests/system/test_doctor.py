# SPDX-License-Identifier: BSD-2-Clause
"""fairgate doctor: what is well, what is not, and what mends it, of real servers."""
import contextlib
import os
import re
import subprocess
import time
import zlib

import pytest

from gateway import three_classes
from lab.httpd import HTTPD, sanitizer_environment
from lab.lab import ROOT, free_port, kept_lab, program, wait_for
from lab.load import Load
from lab.pair import Pair

OK, WARNING, FAILURE, UNKNOWN = 0, 1, 2, 3
TABLE = "http://h/\t5" + "\t-" * 2 + "\t0\t0\t1\t0\t0\t0\t-\t-\n"


def doctor(*words, prefix=(), path=(), variables=None):
    """(exit status, the lines that it prints)."""
    environment = {**os.environ, **(variables or {}), "PATH": ":".join([*path, *(os.path.dirname(program(p)) for p in ("policy/fairgate-policy", "prober/fairgate-prober", "pktcache/fairgate-pktcache")),
                                                   os.environ["PATH"]])}
    done = subprocess.run([*prefix, program("doctor/fairgate"), "doctor", "--seconds", "1", *words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          env=environment, timeout=60, check=False)
    assert done.stderr == "", done.stderr
    return done.returncode, done.stdout.splitlines()


def said(lines, how, what):
    """That this line is there, and a cure below it unless it is well."""
    at = [i for i, line in enumerate(lines) if line.startswith(how) and re.search(what, line)]
    assert at, (how, what, lines)
    assert how == "ok" or re.match(r" +-> \S", lines[at[0] + 1]), lines
    return True


def httpd_of(gateway, config=None):
    """How it is called; a sanitized module needs its libraries."""
    words = [f"{k}={v.replace(' ', ':')}" for k, v in (sanitizer_environment() or {}).items()]
    return " ".join(["env", *words, HTTPD, "-d", gateway.dir, "-f", config or gateway.config_file])


def of_httpd(gateway):
    return "--httpd", httpd_of(gateway), "--status", f"{gateway.url}/qos-status"


# ---- httpd -----------------------------------------------------------------------------------------------------------------------------

def test_a_gateway_that_is_well(new_gateway):
    with new_gateway(window=8) as gateway:
        status, lines = doctor("httpd", *of_httpd(gateway))
        assert status == OK, lines
        assert said(lines, "ok", "loaded: qos_drr") and said(lines, "ok", "event MPM") and said(lines, "ok", "requests are scheduled")
        assert lines[-1] == f"{len(lines) - 1} well, 0 warnings, 0 failures"
        assert doctor("httpd", "--quiet", *of_httpd(gateway)) == (OK, lines[-1:])
    status, lines = doctor("httpd", *of_httpd(gateway))
    assert status == WARNING and said(lines, "WARN", "qos-status does not answer: .*connect")


def test_one_that_only_looks(new_gateway):
    with new_gateway(engine="observe") as gateway:
        status, lines = doctor("httpd", *of_httpd(gateway))
        assert status == WARNING and said(lines, "WARN", "QosEngine observes"), lines


def test_one_that_is_off(new_gateway):
    with new_gateway(engine="Off") as gateway:
        status, lines = doctor("httpd", *of_httpd(gateway))
        assert status == FAILURE and said(lines, "FAIL", "QosEngine is off"), lines


def test_stalled_window_is_a_failure(new_gateway):
    with new_gateway(window=1) as gateway, gateway.window_taken() as taken, contextlib.ExitStack() as stack:
        waiting = [stack.enter_context(gateway.connect()) for _ in range(3)]
        for c in waiting:
            c.send("GET", f"/b/gate/{taken.name}")
        gateway.until(lambda s: s["stalled_s"] > 0, "the window is stalled", 8)
        status, lines = doctor("httpd", *of_httpd(gateway))
        assert status == FAILURE and said(lines, "FAIL", "window of server is stalled: for [0-9]+ s"), lines
        taken.release()
        assert [c.receive().status for c in waiting] == [200] * 3
        gateway.until(lambda s: s["stalled_s"] == 0, "it is open again")
        status, lines = doctor("httpd", *of_httpd(gateway))
        assert status == WARNING and said(lines, "WARN", "1 times a window was stalled"), lines


def test_requests_of_this_host_alone_are_a_warning(new_gateway):
    with new_gateway(window=4, more="QosSelf host\n") as gateway:
        with gateway.connect() as c:
            assert {c.ask("GET", "/static/2k.txt").status for _ in range(1100)} == {200}
        status, lines = doctor("httpd", *of_httpd(gateway))
        assert status == WARNING and said(lines, "WARN", "nearly all requests come from this host"), lines


def test_what_the_modules_say_of_limits(new_gateway):
    """What the module says when the configuration is read."""
    with new_gateway(mpm="prefork", children=3, window=2) as gateway:
        status, lines = doctor("httpd", *of_httpd(gateway))
        assert status == WARNING and said(lines, "WARN", "MaxRequestWorkers") and said(lines, "WARN", "not the event MPM"), lines


@pytest.mark.parametrize("enabled, cure", [
    (["mpm_prefork.load"], "a2dismod mpm_prefork && a2enmod mpm_event && systemctl restart apache2"),
    (["mpm_prefork.load", "php8.2.load"], "apt install php8.2-fpm && a2dismod php8.2 mpm_prefork && a2enmod mpm_event proxy_fcgi setenvif && a2enconf php8.2-fpm"
                                          " && systemctl restart apache2"),
])
def test_cure_for_prefork_is_a_command_that_works_as_typed(new_gateway, tmp_path, enabled, cure):
    """`a2dismod mpm_prefork mpm_worker` failed: mod_php depends on the one, and the other is not enabled."""
    (tmp_path / "mods-enabled").mkdir()
    for name in enabled:
        (tmp_path / "mods-enabled" / name).touch()
    with new_gateway(mpm="prefork", children=3, window=2) as gateway:
        _, lines = doctor("httpd", *of_httpd(gateway), variables={"APACHE_CONFDIR": str(tmp_path)})
    assert lines[next(i for i, line in enumerate(lines) if "not the event MPM" in line) + 1].strip() == f"-> {cure}", lines


def test_a_wrong_configuration(new_gateway):
    gateway = new_gateway(more="QosWindow many\n")
    gateway.configure()
    status, lines = doctor("httpd", *of_httpd(gateway))
    assert status == FAILURE and said(lines, "FAIL", "its configuration is wrong: .*QosWindow many"), lines


def test_no_module(new_gateway, tmp_path):
    gateway = new_gateway()
    gateway.configure()
    config = os.path.join(gateway.dir, "bare.conf")
    with open(gateway.config_file, encoding="utf-8") as f, open(config, "w", encoding="utf-8") as to:
        to.writelines(line for line in f.read().split("<", 1)[0].splitlines(keepends=True) if "qos" not in line.lower())
    status, lines = doctor("httpd", "--httpd", httpd_of(gateway, config))
    assert status == FAILURE and said(lines, "FAIL", "none of qos_drr, eeod and ccn"), lines
    # Where nobody asks for it, that httpd is somebody else's.
    bin_of = tmp_path / "bin"
    bin_of.mkdir()
    for name, file in (("apache2ctl", config), ("apachectl", config), ("ours", gateway.config_file)):
        (bin_of / name).write_text(f'#!/bin/sh\nexec {httpd_of(gateway, file)} "$@"\n')
        (bin_of / name).chmod(0o755)
    policy = tmp_path / "policy.xml"
    policy.write_text('<classification><class id="1" quantum="1" default="yes"/></classification>')
    status, lines = doctor("--policy", policy, "--pages", policy / "none", "--bots", policy / "none", path=[str(bin_of)])
    assert not [line for line in lines if " httpd " in line] and said(lines, "ok", "policy.xml: right"), lines
    (bin_of / "ours").rename(bin_of / "apache2ctl")
    status, lines = doctor("--policy", policy, "--status", f"{gateway.url}/qos-status", path=[str(bin_of)])
    assert said(lines, "ok", "loaded: qos_drr"), lines


def test_a_class_that_starves(new_gateway):
    """First come, first served: sixty of one class beside two of another, each of which is due half."""
    classes = "QosClass people weight=1\nQosClass crawlers weight=1 default\nQosRule people cookie session=\n"
    with new_gateway(window=1, classes=classes, more="QosScheduler fifo\n") as gateway:
        crowd = [{**kind, "clients": n} for kind in three_classes(1, "/o/size/4096") for name, n in (("people", 4), ("crawlers", 60)) if kind["name"] == name]
        with Load(gateway.address, crowd, seconds=60):
            gateway.until(lambda seen: all(c["queued"] for c in seen["classes"]), "both wait")
            status, lines = doctor("httpd", *of_httpd(gateway))
        assert status == WARNING and said(lines, "WARN", r"class people waits, and had \d % in the last 1 s, where it is due 50 %"), lines


def test_what_answers_is_something_else(new_gateway):
    """Neither a page of another kind nor one without end is taken for figures."""
    with new_gateway() as gateway:
        httpd = of_httpd(gateway)[:2]
        status, lines = doctor("httpd", *httpd, "--status", f"{gateway.url}/static/2k.txt")
        assert status == FAILURE and said(lines, "FAIL", "no status of mod_qos_drr"), lines
        status, lines = doctor("httpd", *httpd, "--status", f"{gateway.url}/static/50m.bin")
        assert status == WARNING and said(lines, "WARN", "does not answer"), lines


@pytest.mark.parametrize("site", ("Redirect permanent / https://www.example.org/", "ProxyPass / http://127.0.0.1:{origin}/"))
def test_a_status_that_the_site_does_not_reach(new_gateway, site):
    """As the page for a site under crawlers has it, beside one that keeps every path for itself."""
    with open(os.path.join(ROOT, "docs/tasks/crawlers.md"), encoding="utf-8") as f:
        own = re.search(r"^ +Listen 127\.0\.0\.1:8081\n.*?</VirtualHost>$", f.read(), re.M | re.S).group(0)
    gateway, port = new_gateway(), free_port()
    gateway.more_text += f"<VirtualHost *:{gateway.port}>\n{site.format(origin=gateway.origin.port)}\n</VirtualHost>\n{own.replace('8081', str(port))}\n"
    gateway.config = gateway.whole_config()
    with gateway:
        status, lines = doctor("httpd", *of_httpd(gateway))
        assert status != OK and not any("scheduled" in line for line in lines), lines
        status, lines = doctor("httpd", *of_httpd(gateway)[:2], "--status", f"http://127.0.0.1:{port}/qos-status")
        assert status == OK and said(lines, "ok", "requests are scheduled"), lines


# ---- policies and tables ---------------------------------------------------------------------------------------------------------------

def test_policies(tmp_path):
    right, wrong = tmp_path / "a policy.xml", tmp_path / "wrong.xml"
    right.write_text('<classification><class id="1" quantum="1" default="yes"/></classification>')
    wrong.write_text("<classification>\n<class/></classification>")
    status, lines = doctor("policy", "--policy", right)
    assert status == OK and said(lines, "ok", "a policy.xml: right")
    status, lines = doctor("policy", "--policy", right, "--policy", wrong)
    assert status == FAILURE and said(lines, "ok", "a policy.xml") and said(lines, "FAIL", "wrong.xml:2: ")


def crawlers(*networks):
    """A table of what one of them publishes (crawlers_table.h)."""
    lines = ["fairgate-bots\t1\t1790000000", "crawler\tgooglebot", "agent\tGooglebot", "source\thttps://www.example.com/googlebot.json\t1790000000\t-", *networks]
    body = "".join(f"{line}\n" for line in lines)
    return f"{body}end\t{zlib.crc32(body.encode()):08x}\n"


def test_tables(tmp_path):
    pages, bots = tmp_path / "pages", tmp_path / "bots"
    subprocess.run([program("prober/fairgate-prober"), "import", pages], input=TABLE, text=True, check=True)
    bots.write_text(crawlers("192.0.2.0/24"))
    words = ("tables", "--pages", pages, "--bots", bots)
    status, lines = doctor(*words)
    assert status == OK and said(lines, "ok", "crawlers is 0 h old") and said(lines, "ok", "sizes is 0 h old")
    old = time.time() - 9 * 86400
    os.utime(pages, (old, old))
    os.utime(bots, (old, old))
    status, lines = doctor(*words)
    assert status == WARNING and said(lines, "WARN", "crawlers is 216 h old") and said(lines, "WARN", "sizes is 216 h old")
    # Whoever could not be reached has left a table, too.
    bots.write_text(crawlers())
    subprocess.run([program("prober/fairgate-prober"), "import", pages], input="", text=True, check=True)
    status, lines = doctor(*words)
    assert status == WARNING and said(lines, "WARN", "crawlers has lists, and no network of any") and said(lines, "WARN", "sizes has no page"), lines
    bots.write_text("x")
    pages.write_text("fairgate-pages\t3\t0\n")
    status, lines = doctor(*words)
    assert status == FAILURE and said(lines, "FAIL", "another version") and said(lines, "FAIL", "bots:1: "), lines


# ---- pktcache --------------------------------------------------------------------------------------------------------------------------

@pytest.mark.skipif(os.geteuid() != 0, reason="needs network namespaces")
@pytest.mark.parametrize("words", [
    ("policy/fairgate-policy", "check"), ("prober/fairgate-bots", "check"), ("prober/fairgate-bots", "show"), ("prober/fairgate-prober", "check"),
    ("pktcache/fairgate-pktcache", "check"),
    ("doctor/fairgate", "doctor", "tables", "--pages", "/none", "--bots"), ("doctor/fairgate", "doctor", "tables", "--bots", "/none", "--pages"),
    ("doctor/fairgate", "doctor", "policy", "--policy"),
], ids=" ".join)
def test_command_that_is_given_a_fifo_ends_with_an_error(tmp_path, words):
    """A user who may write in a folder put a FIFO there, and root's command waited for ever."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    environment = {**os.environ, "PATH": ":".join([*(os.path.dirname(program(p)) for p in ("policy/fairgate-policy", "prober/fairgate-prober")), os.environ["PATH"]])}
    done = subprocess.run([program(words[0]), *words[1:], fifo], stdin=subprocess.DEVNULL, capture_output=True, text=True, env=environment, timeout=20, check=False)
    assert done.returncode != 0 and str(fifo) in done.stdout + done.stderr, done


def test_a_pair_of_caches(request):
    with kept_lab("doctor", lambda: request.session.testsfailed > 0) as made:
        pair = Pair(made).start().both()
        at = ("pktcache", "--pktcache", pair.child.config)
        status, lines = doctor(*at, prefix=pair.far.prefix)
        assert status == OK and said(lines, "ok", "at work"), lines
        pair.parent.kill()
        wait_for(lambda: not pair.child.at_work(), 10, "the child knows")
        status, lines = doctor(*at, prefix=pair.far.prefix)
        assert status == FAILURE and said(lines, "FAIL", "not at work: [a-z]"), lines
        os.chmod(pair.secret, 0o644)
        pair.child.kill()
        status, lines = doctor(*at, prefix=pair.far.prefix)
        assert status == FAILURE and said(lines, "FAIL", "no daemon answers") and said(lines, "FAIL", "others than its owner can read"), lines
        with open(pair.child.config, "a", encoding="ascii") as f:
            f.write("hold 64T\n")
        status, lines = doctor(*at, prefix=pair.far.prefix)
        assert status == FAILURE and said(lines, "FAIL", "hold 64T: must be"), lines


# ---- the command -----------------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("words", ((), ("frob",), ("doctor", "--frob"), ("doctor", "frob"), ("doctor", "--seconds", "0"), ("doctor", "--policy")))
def test_wrong_usage_of_the_doctor(words):
    done = subprocess.run([program("doctor/fairgate"), *words], capture_output=True, text=True, check=False)
    assert done.returncode == UNKNOWN and done.stdout == "" and "--help" in done.stderr or not words and "usage: fairgate" in done.stderr


def test_nothing_is_known(tmp_path):
    status, lines = doctor("tables", "--pages", tmp_path / "none", "--bots", tmp_path / "none")
    assert status == UNKNOWN and lines == ["0 well, 0 warnings, 0 failures"]
