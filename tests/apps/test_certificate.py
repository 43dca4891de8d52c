# SPDX-License-Identifier: BSD-2-Clause
"""mod_md has a certificate signed by Pebble, a local authority: Pebble fetches the challenge through the module."""
import json
import os
import ssl
import subprocess

import pytest

import http1
from lab import lab as servers
from modes import MODES, Runs

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("certificate")]
NAME = "www.example.org"


class Names(servers.Server):
    """Answers every question of the domain name system with 127.0.0.1."""

    name = "names"

    def __init__(self, of):
        super().__init__(of)
        self.management = servers.free_port()

    def argv(self):
        return ["/usr/bin/pebble-challtestsrv", "-dns01", self.address, "-management", f"127.0.0.1:{self.management}", "-http01", "", "-https01", "", "-tlsalpn01", "", "-defaultIPv6", ""]


class Pebble(servers.Server):
    name = "pebble"

    def __init__(self, of, names, port):
        super().__init__(of)
        self.names, self.validated, self.management = names, port, servers.free_port()

    def configure(self):
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-out",
                        self.path("cert.pem"), "-keyout", self.path("key.pem")], stdin=subprocess.DEVNULL, capture_output=True, check=True)
        os.chmod(self.path("cert.pem"), 0o644)
        self.write("pebble.json", json.dumps({"pebble": {"listenAddress": self.address, "managementListenAddress": f"127.0.0.1:{self.management}", "certificate": self.path("cert.pem"),
                                                         "privateKey": self.path("key.pem"), "httpPort": self.validated, "tlsPort": servers.free_port()}}))

    def argv(self):
        return ["/usr/bin/pebble", "-config", self.path("pebble.json"), "-dnsserver", self.names.address]

    def environment(self):
        return {**os.environ, "PEBBLE_VA_NOSLEEP": "1", "PEBBLE_WFE_NONCEREJECT": "0", "PEBBLE_AUTHZREUSE": "0"}


@pytest.fixture(scope="module")
def certificate(lab):
    port, tls_port = servers.free_port(), servers.free_port()
    names = Names(lab).start()
    pebble = Pebble(lab, names, port).start()
    store = os.path.join(lab.dir, "md")

    def client(gateway, _):
        """The page by TLS once the certificate is there, which httpd uses after a graceful restart."""
        staged = f"{store}/staging/{NAME}/pubcert.pem"
        http1.until(lambda: os.path.exists(staged), 60, "mod_md has a certificate", every=0.1)
        gateway.graceful()
        issuer = subprocess.run(["openssl", "x509", "-noout", "-issuer", "-ext", "subjectAltName", "-in", f"{store}/domains/{NAME}/pubcert.pem"], capture_output=True, text=True, check=True).stdout
        trusting = ssl.create_default_context()
        trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
        with http1.Connection(tls_port) as c:
            c.socket = trusting.wrap_socket(c.socket, server_hostname=NAME)
            served = ssl.DER_cert_to_PEM_cert(c.socket.getpeercert(binary_form=True))
            answer = c.ask("GET", "/", host=NAME)
        with open(f"{store}/domains/{NAME}/pubcert.pem", encoding="utf-8") as f:
            is_new = f.read().startswith(served)
        subprocess.run(["rm", "-rf", store], check=True)
        return ["Pebble" in issuer, f"DNS:{NAME}" in issuer, is_new, answer.status, answer.body]

    root = os.path.join(lab.dir, "htdocs")
    os.mkdir(root)
    with open(f"{root}/index.html", "w", encoding="utf-8") as f:
        f.write("a page\n")
    config = f"""
        MDomain {NAME}
        MDStoreDir {store}
        MDCertificateAuthority https://{pebble.address}/dir
        MDCACertificateFile {pebble.path('cert.pem')}
        MDCertificateAgreement accepted
        MDContactEmail a@example.org
        MDCAChallenges http-01
        MDPortMap 80:{port} 443:{tls_port}
        MDPrivateKeys RSA 2048
        MDRetryDelay 1s
        Listen 127.0.0.1:{tls_port} https
        <VirtualHost 127.0.0.1:{tls_port}>
            ServerName {NAME}
            DocumentRoot {root}
            SSLEngine On
        </VirtualHost>
        """
    return Runs(lab, {"htdocs": root, "config": config, "modules": ("ssl", "md", "socache_shmcb"), "log_level": "warn md:info"}, client, port=port)


def test_certificate_arrives_without_the_module(certificate):
    assert certificate.usual == [True, True, True, 200, b"a page\n"]


@pytest.mark.parametrize("mode", MODES)
def test_certificate_arrives_in_each_mode_as_without_the_module(certificate, mode):
    certificate.check(mode)
    assert any("/.well-known/acme-challenge/" in r["request"] and r["status"] == 200 for r in certificate.requests), certificate.requests
