# SPDX-License-Identifier: BSD-2-Clause
"""etc/examples: each file is loaded as it is shipped, and a site stands behind it."""

import os
import pathlib
import subprocess

import http1
import pytest
import wiki
from background import GatedServer
from example import Example

from lab import examples, lab
from lab.by_request import RequestByRequest
from lab.httpd import PhpFpm

EXAMPLES = pathlib.Path(examples.EXAMPLES)
UPGRADE = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Key": "x" * 22 + "==", "Sec-WebSocket-Version": "13"}
SITES = [p.name for p in sorted(EXAMPLES.glob("*.conf")) if p.name not in ("common.conf", "gitweb.conf")]


class WebSocketEcho(RequestByRequest):
    """101 to an upgrade, then every byte is sent back; 404 to any other request."""

    def one(self):
        self.rfile.readline()
        fields = {line.partition(b":")[0].lower() for line in iter(self.rfile.readline, b"\r\n")}
        if b"upgrade" not in fields:
            self.wfile.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
            return True
        self.wfile.write(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n")
        while piece := self.connection.recv(4096):
            self.wfile.write(piece)
        return False


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    for p in (path.parent, path.parent.parent):
        p.chmod(0o755)
    path.chmod(0o644)
    return path


def visited(g, path, expected, host="localhost", **words):
    """Answered, once to somebody unknown and once to a crawler who says that he is one."""
    before = g.status()
    answer = http1.get(g.port, path, host=host, **words)
    assert answer.status == 200 and expected in answer.body, answer.body[:300]
    claimed = http1.get(g.port, path, host=host, headers={"User-Agent": "Mozilla/5.0 (compatible; GPTBot/1.2)"})
    assert claimed.status == 200
    assert http1.get(g.port, "/fairgate-busy.html", host=host).body == (EXAMPLES / "busy.html").read_bytes()

    def counted():
        after = g.status()
        moved = {name: after[name]["released"] - before[name]["released"] for name in after}
        return moved == {**dict.fromkeys(after, 0), "unknown": 1, "ai": 1}
    http1.until(counted, what="one of each was scheduled, and the page for the refused was not")


def test_all_have_a_test():
    here = pathlib.Path(__file__).read_text()
    assert SITES and all(f'"{name}"' in here for name in SITES), SITES
    said = (EXAMPLES / "README.md").read_text()
    assert all(f"({p.name})" in said for p in EXAMPLES.iterdir() if p.name not in ("README.md", "gitweb.conf"))


def test_the_policy_is_right():
    program = os.path.join(os.environ.get("FAIRGATE_BUILD", os.path.join(lab.ROOT, "build")), "policy", "fairgate-policy")
    done = subprocess.run([program, "check", EXAMPLES / "policy.xml"], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "right; 6 classes" in done.stdout, done.stdout + done.stderr


def test_static(parts, etc, open_path):
    write(open_path / "www/index.html", "a static site\n")
    with Example(parts, "static.conf", etc, SITE_ROOT=open_path / "www") as g:
        visited(g, "/index.html", b"a static site")


def test_reverse_proxy(parts, etc):
    with Example(parts, "reverse-proxy.conf", etc, APPLICATION=f"http://127.0.0.1:{parts.backend.port}") as g:
        visited(g, "/size/30", b"")


def test_reverse_proxy_passes_a_websocket_to_the_application(parts, etc):
    """The example had no upgrade=websocket: the application saw a plain GET and answered 404."""
    with GatedServer(("127.0.0.1", 0), WebSocketEcho) as echo, Example(parts, "reverse-proxy.conf", etc, APPLICATION=f"http://127.0.0.1:{echo.port}") as g, http1.Connection(g.port) as c:
        c.send(http1.request_bytes("GET", "/socket", headers=UPGRADE))
        assert c.head().status == 101
        c.send(b"x")
        assert c.exactly(1) == b"x"


def test_virtual_hosts(parts, etc, open_path):
    write(open_path / "sites/www/index.html", "one of several\n")
    write(open_path / "sites/admin/index.html", "for admins\n")
    g = Example(parts, "virtual-hosts.conf", etc, SITES_ROOT=open_path / "sites", SITES_PORT="0", APPLICATION=f"http://127.0.0.1:{parts.backend.port}")
    g.config = g.config.replace("SITES_PORT 0", f"SITES_PORT {g.port}")
    with g:
        visited(g, "/index.html", b"one of several", host="www.example.org")
        before = sum(c["released"] for c in g.status().values())
        assert http1.get(g.port, "/size/5", host="app.example.org").status == 200
        assert http1.get(g.port, "/index.html", host="admin.example.org").body == b"for admins\n"
        http1.until(lambda: sum(c["released"] for c in g.status().values()) == before + 1, what="one of the two is scheduled")


def test_php_fpm(parts, etc, open_path):
    write(open_path / "php/doku.php", "<?php echo 'a wiki ', 6 * 7;")
    with Example(parts, "php-fpm.conf", etc, SITE_ROOT=open_path / "php", PHP_FPM=f"fcgi://{parts.fpm.address}") as g:
        visited(g, "/doku.php", b"a wiki 42")


def test_php_fpm_with_the_application_in_a_folder(parts, etc, open_path):
    """What is no page is none, wherever below the site's root the application stands; a page may have such a word in its name."""
    write(open_path / "above/wiki/data/secret.txt", "not for all\n")
    write(open_path / "above/wiki/doku.php", "<?php echo 'page ', $_SERVER['PATH_INFO'] ?? '';")
    with Example(parts, "php-fpm.conf", etc, SITE_ROOT=open_path / "above", PHP_FPM=f"fcgi://{parts.fpm.address}") as g:
        assert [http1.get(g.port, p).status for p in ("/wiki/data/secret.txt", "//wiki//data/secret.txt", "/wiki/%64ata/secret.txt")] == [403] * 3
        answer = http1.get(g.port, "/wiki/doku.php/data/secret.txt")
        assert (answer.status, b"page" in answer.body) == (200, True)


@pytest.mark.parametrize("name, module", [("php-fpm.conf", "proxy_fcgi"), ("forge.conf", "cgid"), ("reverse-proxy.conf", "proxy_http"), ("virtual-hosts.conf", "proxy_http")])
def test_example_without_a_module_it_needs_refuses_to_start_and_names_it(parts, etc, open_path, name, module):
    """Without mod_proxy_fcgi, which Debian does not enable, PHP files went out as text, wp-config.php included."""
    g = Example(parts, name, etc, SITE_ROOT=open_path, SITES_ROOT=open_path, SITES_PORT="0", GIT_ROOT=open_path, APPLICATION="http://127.0.0.1:1")
    g.config = g.config.replace("SITES_PORT 0", f"SITES_PORT {g.port}")
    assert g.check()[0], "with all modules"
    g.without = module
    right, said = g.check()
    assert not right and f"a2enmod {module}" in said, said


PHPMYADMIN_PUBLIC = ("js/vendor/jquery/jquery.min.js", "phpmyadmin/js/vendor/codemirror/lib/codemirror.css")
WORDPRESS_PUBLIC = ("wp-includes/js/dist/vendor/react.min.js", "wp-content/cache/min/a.css", "wp-content/themes/x/inc/a.css", "wp-content/uploads/2026/a.png",
                    "wp-content/plugins/x/includes/data/a.js", ".well-known/security.txt")
HIDDEN = ("data/media/wp-content/a.png", "data/a.txt", "vendor/a.js", "js/vendor/data/a.txt", ".git/config", ".env", "wiki/conf/users.auth.php", "wp-content/uploads/shell.php", "cache/a/wp-includes/b.js")


def test_php_fpm_with_phpmyadmin_serves_its_scripts(parts, etc, open_path):
    """The example answered 403 to js/vendor, so no page of phpMyAdmin worked."""
    root = open_path / "phpmyadmin"
    for name in PHPMYADMIN_PUBLIC:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("text\n")
    subprocess.run(["chmod", "-R", "a+rX", root], check=True)
    with Example(parts, "php-fpm.conf", etc, SITE_ROOT=root, PHP_FPM=f"fcgi://{parts.fpm.address}") as g:
        assert {p: http1.get(g.port, f"/{p}").status for p in PHPMYADMIN_PUBLIC} == dict.fromkeys(PHPMYADMIN_PUBLIC, 200)


def test_php_fpm_with_wordpress_serves_its_scripts_and_hides_the_rest(parts, etc, open_path):
    """The example denied every directory named vendor, WordPress's own scripts among them."""
    root = open_path / "wordpress"
    for name in WORDPRESS_PUBLIC + HIDDEN:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("text\n")
    subprocess.run(["chmod", "-R", "a+rX", root], check=True)
    with Example(parts, "php-fpm.conf", etc, SITE_ROOT=root, PHP_FPM=f"fcgi://{parts.fpm.address}") as g:
        assert {p: http1.get(g.port, f"/{p}").status for p in WORDPRESS_PUBLIC} == dict.fromkeys(WORDPRESS_PUBLIC, 200)
        assert {p: http1.get(g.port, f"/{p}").status for p in HIDDEN} == dict.fromkeys(HIDDEN, 403)


@pytest.mark.may_skip("DokuWiki is for benches too: ./quickstart deps installs it")
def test_php_fpm_with_dokuwiki(parts, etc, open_path):
    if not wiki.installed():
        pytest.skip("dokuwiki is not installed")
    root = str(open_path / "wiki")
    wiki.make(root, useacl=0)
    wiki.add(root, "start", "====== A page ======\nwords of a wiki\n")
    wiki.give(root)
    with PhpFpm(parts.lab, name="wiki-fpm", extensions=wiki.EXTENSIONS) as fpm, Example(parts, "php-fpm.conf", etc, SITE_ROOT=root, PHP_FPM=f"fcgi://{fpm.address}") as g:
        visited(g, "/doku.php?id=start", b"words of a wiki")
        assert http1.get(g.port, "/conf/local.php").status == 403


@pytest.mark.may_skip("gitweb is for benches too: ./quickstart deps installs it")
def test_forge(parts, etc, open_path):
    if not os.path.exists("/usr/share/gitweb/gitweb.cgi"):
        pytest.skip("gitweb is not installed")
    git = open_path / "git"
    subprocess.run(["git", "init", "-q", "--bare", git / "fair.git"], check=True)
    subprocess.run(["chmod", "-R", "a+rX", git], check=True)
    subprocess.run(["chown", "-R", "www-data:www-data", git], check=False)
    with Example(parts, "forge.conf", etc, GIT_ROOT=git) as g:
        visited(g, "/gitweb", b"fair.git")
