# SPDX-License-Identifier: BSD-2-Clause
"""A browser for all tests of the console, and a host of each kind."""
import os
import pathlib
import subprocess
import urllib.request

import pytest

from gateway import Gateway, three_classes
from lab import ccn, chromium, lab, squid
from lab.httpd import Httpd, sanitizer_environment
from lab.load import Load
from lab.marks import CLOSE, OPEN
from lab.pair import Pair


@pytest.fixture(scope="session")
def browser():
    if not chromium.there():
        pytest.skip("no chromium and chromedriver (packages chromium, chromium-driver)")
    with lab.Lab("browser") as here, chromium.Chromium(here) as c:
        yield c


@pytest.fixture(scope="module")
def busy(parts):
    """A gateway that three classes want more of than there is; gone with the module, since others count what comes to the same origin."""
    g = Gateway(parts, window=8, more="QosPages 4096\n")
    with g, Load(g.address, three_classes(8, "/o/size/4096"), seconds=3600):
        yield g
    g.assert_no_crash()


class Hosts:
    """One of each: url[KIND] is the address of its console, page[KIND] of what it tells Prometheus."""

    def __init__(self):
        self.url, self.page = {}, {}

    def exposition(self, kind):
        with urllib.request.urlopen(self.page[kind], timeout=10) as answer:
            assert answer.headers["Content-Type"].startswith("text/plain")
            return answer.read().decode()

    def fetch(self):
        """A file by way of the caches: how many bytes of it came."""
        words = ["curl", "-s", "-o", "/dev/null", "-w", "%{size_download}", "http://10.8.1.2/file.bin"]
        return subprocess.run([*self.pair.clients.prefix, *words], capture_output=True, text=True, timeout=30, check=True).stdout


def pages(here, hosts):
    """httpd with mod_eeod, and one with mod_ccn."""
    root = pathlib.Path(here.dir, "pages")
    root.mkdir()
    root.chmod(0o755)
    (root / "index.html").write_bytes(b"<html>" + b"for all " * 500 + OPEN + b"for you" + CLOSE + b" and all" * 500 + b"</html>")
    eeod = Httpd(here, "eeod", htdocs=str(root), load={"eeod": lab.module("mod_eeod")}, environment=sanitizer_environment(),
                 config="EeodKey Off\nEeodEngine On\n<Location /eeod-status>\nSetHandler eeod-status\n</Location>\n").start()
    site = ccn.Site(here).start()
    for kind, server in (("eeod", eeod), ("ccn", site)):
        hosts.url[kind] = f"{server.url}/{kind}-status?console"
        hosts.page[kind] = f"{server.url}/{kind}-status?prometheus="
    hosts.eeod, hosts.ccn = eeod, site


def caches(here, hosts):
    """A pair of caches with a server behind, and the console of the end near it."""
    pair = hosts.pair = Pair(here).start()
    pair.both()
    root = pathlib.Path(here.dir, "served")
    root.mkdir()
    (root / "file.bin").write_bytes(os.urandom(600_000))
    hosts.server = subprocess.Popen([*pair.servers.prefix, "python3", "-m", "http.server", "80", "--directory", root], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                    stderr=subprocess.DEVNULL)
    for daemon in (pair.parent, pair.child):
        lab.wait_for(daemon.at_work, 15, "both ends at work")
    words = [*pair.clients.prefix, "curl", "-s", "-o", "/dev/null", "-I", "http://10.8.1.2/"]
    lab.wait_for(lambda: subprocess.run(words, check=False, timeout=30).returncode == 0, 15, "the server behind")
    hosts.listens = f"127.0.0.1:{lab.free_port()}"
    hosts.url["pktcache"] = f"http://{hosts.listens}/?console"
    hosts.page["pktcache"] = f"http://{hosts.listens}/metrics"


def answers(hosts):
    try:
        return hosts.exposition("pktcache")
    except OSError:
        return None


@pytest.fixture(scope="module")
def hosts(parts, busy, request):
    if os.geteuid():
        pytest.skip("network namespaces need root")
    h = Hosts()
    h.url["gateway"], h.page["gateway"] = f"http://{busy.address}/qos-status?console", f"http://{busy.address}/qos-status?prometheus"
    console = None
    with lab.kept_lab("hosts", lambda: request.session.testsfailed > 0) as here:
        pages(here, h)
        caches(here, h)
        try:
            h.squid = squid.Squid(here, squid.fqrs(), config="fqrs on\nfqrs_link rate=20Mbit\n").start()
            h.url["squid"], h.page["squid"] = f"{h.squid.url}/squid-internal-mgr/fqrs_json", f"{h.squid.url}/squid-internal-mgr/fqrs_prometheus"
        except lab.LabError:        # it is not built yet: what asks for it is chosen where it is
            h.squid = None
        try:
            console = subprocess.Popen([lab.program("pktcache/fairgate-pktcache"), "console", f"--listen={h.listens}", f"--consoles={h.url.get('squid', '')}", h.pair.parent.control],
                                       stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            lab.wait_for(lambda: answers(h), 10, "the console of the packet cache")
            yield h
        finally:
            for process in (console, h.server):
                if process:
                    process.terminate()
                    process.wait(10)
            h.pair.stop()
