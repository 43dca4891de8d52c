# SPDX-License-Identifier: BSD-2-Clause
"""Features of httpd and PHP that sites combine with the module: sessions, balancers, mod_security, many virtual hosts."""
import concurrent.futures
import contextlib
import http.client
import os
import subprocess

import pytest

import http1
from lab import lab as servers
from lab.browser import Browser
from lab.httpd import PhpFpm
from modes import MODES, Runs

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("features")]
HOSTS = 60

SESSION = """<?php
session_start();
$n = $_SESSION['n'] = 1 + ($_SESSION['n'] ?? 0);
usleep(1000 * (int)($_GET['ms'] ?? 0));
header('Content-Type: text/plain');
echo $n;
"""
ECHO = "<?php header('Content-Type: text/plain'); echo $_SERVER['REQUEST_METHOD'], ' ', strlen(file_get_contents('php://input'));"


def folder(lab, name, **files):
    root = os.path.join(lab.dir, name)
    os.makedirs(root)
    for file, text in files.items():
        with open(f"{root}/{file}.php", "w", encoding="utf-8") as f:
            f.write(text)
    subprocess.run(["chown", "-R", "www-data:www-data", root], check=True)
    return root


@pytest.fixture(scope="module")
def fpm(lab):
    sessions = folder(lab, "session-files")
    return PhpFpm(lab, workers=8, pool=(f"php_admin_value[session.save_path] = {sessions}",)).start()


@pytest.fixture(scope="module")
def sessions(lab, fpm):
    root = folder(lab, "sessions", count=SESSION)

    def client(gateway, _):
        """Pages one after another, and pages at the same time that wait for the session's lock."""
        b, other = Browser(gateway.port), Browser(gateway.port)
        saw = [b.get("/count.php").text for _ in range(3)] + [other.get("/count.php").text, sorted(b.jar)]
        with concurrent.futures.ThreadPoolExecutor(5) as pool:
            saw.append(sorted(page.text for page in pool.map(lambda _: b.get("/count.php?ms=50"), range(5))))
        return saw + [b.get("/count.php").text]

    return Runs(lab, {"htdocs": root, "php": fpm.address}, client)


@pytest.fixture(scope="module")
def balancer(lab):
    members = {route: servers.Origin(lab, name=f"member-{route}", delay_ms=1).start() for route in ("a", "b", "standby")}
    lines = "".join(f"BalancerMember {of.url} route={route} retry=1{' status=+H' if route == 'standby' else ''}\n" for route, of in members.items())
    config = f"""
        <Proxy balancer://members>
            {lines}
            ProxySet stickysession=ROUTE
        </Proxy>
        Header set Route %{{BALANCER_WORKER_ROUTE}}e
        Header add Set-Cookie "ROUTE=x.%{{BALANCER_WORKER_ROUTE}}e; path=/" env=BALANCER_ROUTE_CHANGED
        ProxyPass /app/ balancer://members/
        """

    def route(b):
        page = b.get("/app/size/1000")
        return page.status, dict(page.headers).get("Route")

    def client(gateway, _):
        """A visitor stays at the member that the first page came from; without members, the hot standby serves."""
        sticky = Browser(gateway.port)
        first = route(sticky)
        saw = [first[0], len({route(sticky) for _ in range(6)} | {first}), sorted({route(Browser(gateway.port)) for _ in range(12)})]
        for name in ("a", "b"):
            members[name].stop()
        saw.append([route(sticky) for _ in range(3)])
        for name in ("a", "b"):
            members[name].start()
        http1.until(lambda: {route(Browser(gateway.port))[1] for _ in range(4)} == {"a", "b"}, 30, "both members serve again", every=0.2)
        return saw

    return Runs(lab, {"config": config, "modules": ("proxy_balancer", "lbmethod_byrequests", "slotmem_shm")}, client)


@pytest.fixture(scope="module")
def security(lab, fpm):
    root = folder(lab, "security", echo=ECHO)
    files = folder(lab, "security-files")
    config = f"""
        SecRuleEngine On
        SecRequestBodyAccess On
        SecResponseBodyAccess On
        SecResponseBodyMimeType text/plain
        SecRequestBodyLimit 200000
        SecRequestBodyNoFilesLimit 100000
        SecRequestBodyLimitAction Reject
        SecTmpDir {files}
        SecDataDir {files}
        SecRule ARGS "@contains attack" "id:1,phase:2,deny,status:403"
        SecRule REQUEST_HEADERS:User-Agent "@contains scanner" "id:2,phase:1,deny,status:406"
        SecRule RESPONSE_BODY "@contains PUT" "id:3,phase:4,deny,status:500"
        """

    def client(gateway, _):
        b = Browser(gateway.port)
        asked = [b.get("/echo.php"), b.get("/echo.php?x=attack"), b.post("/echo.php", {"x": "harmless"}), b.post("/echo.php", {"x": "an attack"}),
                 b.post("/echo.php", {"x": "y" * 50_000}), b.post("/echo.php", {"x": "y" * 150_000}), b.ask("PUT", "/echo.php", b"some", "text/plain"),
                 b.post("/echo.php", {"x": "1"}, file=("name", b"an upload" * 1000)), Browser(gateway.port, headers={"User-Agent": "scanner"}).get("/echo.php")]
        return [(page.status, page.text if page.status == 200 else "") for page in asked]

    return Runs(lab, {"htdocs": root, "php": fpm.address, "config": config, "modules": ("unique_id", "security2")}, client)


@pytest.fixture(scope="module")
def hosts(lab):
    backend = servers.Origin(lab, delay_ms=1).start()
    text = "UseCanonicalName Off\n"
    for i in range(HOSTS):
        root = folder(lab, f"host-{i}")
        with open(f"{root}/index.html", "w", encoding="utf-8") as f:
            f.write(f"host {i}\n")
        what = f"ProxyPass /app/ {backend.url}/" if i % 2 else f"Redirect /app/ /elsewhere/{i}/"
        text += (f"<VirtualHost *>\nServerName host{i}.example.org\nServerAlias www.host{i}.example.org\nDocumentRoot {root}\n{what}\n"
                 f"<Directory {root}>\nRequire all granted\n</Directory>\n</VirtualHost>\n")

    def client(gateway, _):
        saw = []
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", gateway.port, timeout=60)) as c:
            for i in range(HOSTS):
                for name, path in ((f"host{i}", "/"), (f"www.host{i}", "/app/size/100"), (f"host{i}", "/none")):
                    c.request("GET", path, headers={"Host": f"{name}.example.org"})
                    answer = c.getresponse()
                    saw.append((i, answer.status, len(answer.read()), answer.getheader("Location")))
        return saw

    return Runs(lab, {"config": text}, client)


def test_features_work_without_the_module(sessions, balancer, security, hosts):
    assert sessions.usual == ["1", "2", "3", "1", ["PHPSESSID"], ["4", "5", "6", "7", "8"], "9"]
    assert balancer.usual == [200, 1, [(200, "a"), (200, "b")], [(200, "standby")] * 3]
    assert [status for status, _ in security.usual] == [200, 403, 200, 403, 200, 413, 500, 200, 406]
    assert [status for _, status, *_ in hosts.usual] == [200, 302, 404, 200, 200, 404] * (HOSTS // 2)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("feature", ("sessions", "balancer", "security", "hosts"))
def test_feature_in_each_mode_is_as_without_the_module(request, feature, mode):
    request.getfixturevalue(feature).check(mode)
