# SPDX-License-Identifier: BSD-2-Clause
"""Settings that httpd accepts and that have no effect: `configtest` and the doctor warn about each, with its cure."""

import json
import os
import re
import subprocess

import pytest

import http1
from lab import lab
from lab.httpd import HTTPD, Httpd, sanitizer_environment

XML = '<?xml version="1.0"?>\n<classification>\n{}\n</classification>\n'
PEOPLE = '<class id="1" name="people" quantum="6" default="yes"/>'
SHADOWED = '<class id="1" name="all" quantum="6"><user_agent>bot</user_agent></class>\n<class id="2" name="search" quantum="3" default="yes"><user_agent>Googlebot</user_agent></class>'


def one(rule):
    return XML.format(f'{PEOPLE}\n<class id="2" name="ai" quantum="1">{rule}</class>')


def warnings(gateway):
    """What `configtest` warns about."""
    right, said = gateway.check()
    assert right, said
    return [re.sub(r"^.*\[qos_drr:warn\] (\[pid \S+\] )?", "", line) for line in said.splitlines() if "[qos_drr:warn]" in line]


# {what the administrator wrote: (how the gateway is made, what the warning says)}
SILENT = {
    "no-classes": (dict(classes=""), r"there are no classes.*QosPolicy FILE"),
    "window-above-workers": (dict(window=1000), r"QosWindow 1000 never fills, since this server has \d+ workers"),
    "class-shadowed": (dict(policy=XML.format(SHADOWED)), r'line 4: user_agent substring "Googlebot" never decides for class "search".*class "all".*line 3'),
    "alternatives-in-a-substring": (dict(policy=one("<user_agent>GPTBot|ClaudeBot</user_agent>")), r'"GPTBot\|ClaudeBot" is compared letter by letter.*match="regex"'),
    "stars-in-a-substring": (dict(policy=one("<user_agent>*bot*</user_agent>")), r'"\*bot\*" is compared letter by letter'),
    "crawler-misspelt": (dict(policy=one("<crawler>googlbot</crawler>"), more="QosBots /nonexistent\n"), r'"googlbot" names a crawler.*googlebot'),
    "crawlers-without-a-table": (dict(policy=one("<crawler>googlebot</crawler>")), r"rules about crawlers match nobody.*QosBots"),
    "url-prefix-is-a-path": (dict(policy=one('<url match="prefix">/wp-login.php</url>')), r'url prefix "/wp-login.php" matches no URL'),
    "url-regex-is-a-path": (dict(policy=one('<url match="regex">^/wp-login</url>')), r'"\^/wp-login" matches no URL'),
    "qos-class-misspelt": (dict(more="SetEnvIf User-Agent GPTBot qos-class=peple\n", modules=("setenvif",)), r"qos-class names the class peple.*people, search"),
    "qos-class-misspelt-in-a-rewrite": (dict(more="RewriteEngine On\nRewriteRule ^/shop - [E=qos-class:shoppers]\n"), r"the class shoppers"),
    "name-of-the-client": (dict(policy=one("<src_dn>example.org</src_dn>")), r"src_dn never match.*HostnameLookups Double"),
    "session-of-tls": (dict(policy=one("<ssl_id>5f3a09c1</ssl_id>")), r"ssl_id never match.*StdEnvVars"),
    "rule-of-a-directive": (dict(more="QosRule people url prefix /shop/\n"), r'QosRule: url prefix "/shop/" matches no URL'),
}


@pytest.mark.parametrize("name", SILENT)
@pytest.mark.parametrize("engine", ("On", "observe"))
def test_setting_without_effect_is_a_warning_of_configtest(new_gateway, name, engine):
    made, expected = SILENT[name]
    said = warnings(new_gateway(engine=engine, **made))
    assert len(said) == 1 and re.search(expected, said[0]), said


@pytest.mark.parametrize("more", (
    "SetEnvIf User-Agent GPTBot qos-class=Crawlers\n", "SetEnvIf User-Agent (.*) qos-class=$1\n", "SetEnvIf User-Agent GPTBot !qos-class\n",
    "QosRule people url prefix http://www.example.org/shop/\n", "QosRule people url regex /shop|/cart\n", "QosRule people crawler my-own-crawler\nQosBots /nonexistent\n",
))
def test_setting_with_effect_is_no_warning(new_gateway, more):
    assert warnings(new_gateway(more=more, modules=("setenvif",))) == []


def test_names_that_httpd_knows_are_no_warning(new_gateway):
    rules = "<src_dn>example.org</src_dn><ssl_id>5f3a09c1</ssl_id>"
    more = "HostnameLookups Double\nSSLOptions +StdEnvVars\n"
    assert warnings(new_gateway(policy=one(rules), tls=True, more=more)) == []


def test_module_that_is_off_warns_about_nothing(new_gateway):
    assert warnings(new_gateway(engine="Off", window=1000, policy=one("<user_agent>*bot*</user_agent>"))) == []


def test_start_and_doctor_name_what_configtest_names(new_gateway, tmp_path):
    policy = XML.format(SHADOWED)
    with new_gateway(window=1000, policy=policy) as gateway:
        gateway.settled()
        said = [line for line in gateway.error_log() if "[qos_drr:warn]" in line]
        assert len([line for line in said if "never fills" in line]) == 1 and len([line for line in said if "never decides" in line]) == 1, said
        environment = {**os.environ, "PATH": os.path.dirname(lab.program("policy/fairgate-policy")) + ":" + os.environ["PATH"]}
        words = " ".join(f"{k}={v.replace(' ', ':')}" for k, v in (gateway.environment() or {}).items() if k in ("LD_PRELOAD", "ASAN_OPTIONS", "UBSAN_OPTIONS"))
        done = subprocess.run([lab.program("doctor/fairgate"), "doctor", "--seconds", "1", "httpd", "policy", "--httpd", f"env {words} {HTTPD} -d {gateway.dir} -f {gateway.config_file}",
                               "--status", f"{gateway.url}/qos-status", "--policy", str(gateway.policy_file)], capture_output=True, text=True, env=environment, timeout=60, check=False)
    assert done.returncode == 1, done.stdout
    assert re.search(r"^WARN  httpd .*QosWindow 1000 never fills", done.stdout, re.M), done.stdout
    assert re.search(r"^WARN  policy .*never decides for class", done.stdout, re.M), done.stdout


def test_unknown_class_of_a_request_is_logged_once(new_gateway):
    with new_gateway(more="SetEnvIf X-Kind (.*) qos-class=$1\n", modules=("setenvif",), children=1) as gateway:
        for _ in range(3):
            assert http1.get(gateway.port, "/b/size/10", headers={"X-Kind": "nobody-knows-it"}).status == 200
        said = http1.until(lambda: [line for line in gateway.error_log() if "nobody-knows-it" in line], what="the log names it")
        assert len(said) == 1 and "the rules decide instead" in said[0], said


# ---- PHP-FPM

POOL = """; Begin
[www]
user = www-data
listen = {listen}
;pm.max_children = 900
pm.max_children = 5
[other]
listen = /run/php/nobody-uses-this.sock
pm.max_children = 1
"""


def checked_with_pools(gateway, folder, listen):
    """The warnings where /etc/php is a folder of ours, in a mount namespace of its own."""
    pools = folder / "8.2/fpm/pool.d"
    pools.mkdir(parents=True)
    (pools / "www.conf").write_text(POOL.format(listen=listen))
    os.mkfifo(pools / "fifo.conf")
    gateway.configure()
    done = subprocess.run(["unshare", "--mount", "sh", "-c", 'mount --bind "$1" /etc/php && shift && exec "$@"', "sh", str(folder), HTTPD, "-d", gateway.dir, "-f", gateway.config_file, "-t"],
                          capture_output=True, text=True, env=gateway.environment(), timeout=30, check=False)
    assert done.returncode == 0, done.stderr
    return [line for line in done.stderr.splitlines() if "[qos_drr:warn]" in line]


@pytest.mark.skipif(not os.path.isdir("/etc/php"), reason="no PHP is installed")
@pytest.mark.parametrize("window, section, warned", (("auto", "", True), ("auto max=5", "", False), ("4", "", False), ("auto", "auto max=5", False)))
def test_window_auto_above_the_workers_of_php_is_a_warning(new_gateway, tmp_path, window, section, warned):
    listen = "/run/php/php8.2-fpm.sock"
    more = f'QosWindow {window}\n<LocationMatch "\\.php$">\nSetHandler "proxy:unix:{listen}|fcgi://localhost"\n' + (f"QosWindow {section}\n" if section else "") + "</LocationMatch>\n"
    said = checked_with_pools(new_gateway(more=more), tmp_path / "php", listen)
    assert len(said) == warned, said
    if warned:
        assert re.search(r"pool www serves 5 at one time \(pm.max_children in /etc/php/8.2/fpm/pool.d/www.conf\).*QosWindow auto max=5", said[0]), said


@pytest.mark.skipif(not os.path.isdir("/etc/php"), reason="no PHP is installed")
def test_small_window_of_an_http_backend_hides_no_warning_about_php(new_gateway, tmp_path):
    """A Node.js application had `QosWindow 2`, and configtest said nothing of PHP-FPM's five workers behind the server's window."""
    listen = "/run/php/php8.2-fpm.sock"
    more = (f'QosWindow auto\n<LocationMatch "\\.php$">\nSetHandler "proxy:unix:{listen}|fcgi://localhost"\n</LocationMatch>\n'
            "ProxyPass /app/ http://127.0.0.1:1/\n<Proxy http://127.0.0.1:1/>\nQosWindow 2\n</Proxy>\n")
    said = checked_with_pools(new_gateway(more=more), tmp_path / "php", listen)
    assert len(said) == 1 and "pool www serves 5 at one time" in said[0], said


@pytest.mark.skipif(not os.path.isdir("/etc/php"), reason="no PHP is installed")
@pytest.mark.parametrize("more, window", (("", 5), ("ProxyPass /app/ http://127.0.0.1:1/\n", 8),
                                          ("ProxyPass /app/ http://127.0.0.1:1/\n<Proxy http://127.0.0.1:1/>\nQosWindow 2\n</Proxy>\n", 5),
                                          ("ProxyPass /qos-status !\n", 5)))
def test_window_auto_lets_in_as_many_requests_as_php_serves(parts, tmp_path, more, window):
    """The window grew beyond PHP-FPM's workers on a busy machine, and requests waited there without classes: crawlers were as fast as people."""
    pools = tmp_path / "php/8.2/fpm/pool.d"
    pools.mkdir(parents=True)
    (pools / "www.conf").write_text(POOL.format(listen=parts.fpm.address))
    settings = "QosEngine On\nQosClass all weight=1 default\nQosWindow auto\n<Location /qos-status>\nSetHandler qos-status\n</Location>\n"
    server = Httpd(parts.lab, name="pools", htdocs=str(parts.root), php=parts.fpm.address, load={"qos_drr": lab.module()}, config=settings + more, environment=sanitizer_environment())
    server.prefix = ("unshare", "--mount", "sh", "-c", 'mount --bind "$0" /etc/php && exec "$@"', str(tmp_path / "php"))
    with server:
        http1.until(lambda: json.loads(http1.get(server.port, "/qos-status?json").body)["window"] == window, what=f"a window of {window}")
