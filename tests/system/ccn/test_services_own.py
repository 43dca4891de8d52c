# SPDX-License-Identifier: BSD-2-Clause
"""Parameters that are files of the web, on a host with public addresses: a client makes the server fetch nothing from the server's own host."""
import http.server
import json
import os
import threading
import urllib.request

import pytest

from lab import lab
from lab.ccn import site
from lab.httpd import HTTPD_MODULES
from lab.net import Network

SERVER, LOCAL, CLIENT, SERVER6 = "11.5.0.1", "11.7.0.9", "11.5.0.2", "2a0f:5::1"
ECHO = "#!/bin/sh\necho Content-Type: text/plain\necho\ncat\n"
SECRET = "#!/bin/sh\necho ran >> runs/secret\necho Content-Type: text/plain\necho\necho secret\n"


class Wire(Network):
    """A server and a client.  The addresses look public to the server; nothing outside the two namespaces has them."""

    name = "wire"

    def __init__(self, made_lab):
        super().__init__(made_lab)
        self.server, self.client = self.host("server", SERVER), self.host("client", CLIENT)

    def build(self):
        self.wire(self.server, "out0", self.client, "in0")
        self.server.device("out0", f"{SERVER}/24", f"{SERVER6}/64")
        self.client.device("in0", f"{CLIENT}/24", "2a0f:5::2/64")
        self.server.ip("route add local 11.7.0.0/24 dev lo\n")


class Page(http.server.BaseHTTPRequestHandler):
    """The client's own server: it may be fetched from, and its redirect leads back to the server's host."""

    def do_GET(self):       # pylint: disable=invalid-name
        self.send_response(302 if self.path == "/back" else 200)
        if self.path == "/back":
            self.send_header("Location", f"http://{SERVER}:8080/server-status?auto")
        self.end_headers()
        self.wfile.write(b"a page of the client")

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def served(request):
    if os.geteuid():
        pytest.skip("network namespaces need root")
    with lab.kept_lab("own", lambda: request.session.testsfailed > 0) as made_lab:
        wire = Wire(made_lab).start()
        origin = wire.client.inside(lambda: http.server.ThreadingHTTPServer((CLIENT, 8080), Page))
        threading.Thread(target=origin.serve_forever, daemon=True).start()
        settings = f"""LoadModule authz_host_module {HTTPD_MODULES}/mod_authz_host.so
CcnServices /ccn
CcnResults {os.path.join(made_lab.dir, "results")}
CcnFetch *
CcnFetchPrivate {SERVER}:8443
CcnService /o/file what=content(1M) => /echo.cgi
CcnService /o/secret => /secret.cgi over=http
Listen 8080
Listen 8443
<Location /server-status>
SetHandler server-status
Require local
</Location>
<Location /ccn/o/secret>
Require local
</Location>
"""
        with site(made_lab, wire.server, files={"echo.cgi": ECHO.encode(), "secret.cgi": SECRET.encode()}, settings=settings) as s:
            for name in ("echo.cgi", "secret.cgi"):
                os.chmod(os.path.join(s.htdocs, name), 0o755)
            os.makedirs(os.path.join(s.htdocs, "runs"))
            os.chmod(os.path.join(s.htdocs, "runs"), 0o777)
            s.client = wire.client
            yield s
        origin.shutdown()
        origin.server_close()


def fetched(served, uri):
    """(status, body) of a call by the client from its host, with this URL as parameter."""
    def get():
        asked = urllib.request.Request(f"http://{SERVER}:{served.port}/ccn/o/file", json.dumps({"what": uri}).encode(), {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(asked, timeout=40) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as e:
            return e.code, e.read()
    return served.client.inside(get)


def test_file_of_another_host_is_fetched(served):
    assert fetched(served, f"http://{CLIENT}:8080/") == (200, b"a page of the client")


@pytest.mark.parametrize("host", (SERVER, LOCAL, f"[{SERVER6}]", f"[::ffff:{SERVER}]", f"[64:ff9b::{SERVER}]"))
@pytest.mark.parametrize("path", ("/server-status?auto", "/ccn/o/secret/!%7B%7D"))
def test_page_for_local_clients_fetched_through_the_hosts_own_address_is_refused(served, host, path):
    status, body = fetched(served, f"http://{host}:8080{path}")
    assert status == 424 and json.loads(body)["within"]["type"].endswith((":not-allowed", ":not-there")), body
    assert b"Uptime" not in body and b"secret\n" not in body
    assert not os.path.exists(os.path.join(served.htdocs, "runs", "secret"))


def test_redirect_back_to_the_hosts_own_address_is_refused(served):
    status, body = fetched(served, f"http://{CLIENT}:8080/back")
    assert status == 424 and json.loads(body)["within"]["type"].endswith(":not-allowed"), body


def test_own_address_that_the_administrator_named_is_fetched(served):
    status, body = fetched(served, f"http://{SERVER}:8443/index.html")
    assert (status, body) == (200, b"hello\n")
