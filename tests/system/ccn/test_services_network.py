# SPDX-License-Identifier: BSD-2-Clause
"""Named services through a forwarder: a provider, a provider of content, and other people's clients (nextserve paper, Fig. 6)."""
import json
import os
import urllib.parse

import pytest

from lab.ccn import octets, site
from test_services import WORK

PROVIDER = """CcnServices /ccn
CcnResults {results}
CcnService /net/file what=content(4M) => /work.cgi fresh=1h
CcnService /net/outer what=content => /work.cgi fresh=1h
CcnService /net/wait n=int wait=number => /work.cgi?n={{n}}&wait={{wait}}
"""
OTHER = """CcnServices /ccn
CcnResults {results}
CcnService /other/inner n=int => /work.cgi?n={{n}} fresh=1h
"""
FILE = octets(200_000)


def name_of(service, arguments):
    return service + "/" + urllib.parse.quote("!" + json.dumps(arguments, separators=(",", ":"), sort_keys=True), safe="")


def provider(ndn_lab, host, prefix, text, **options):
    """httpd on that host with services of `text`."""
    return site(ndn_lab, host, prefix=prefix, settings=text.format(results=os.path.join(ndn_lab.dir, "results" + prefix.replace("/", "-"))), **options)


@pytest.fixture(scope="module")
def routed(ndn_lab, path, forwarder):
    """The services' host, and on the clients' side the one that has files and a service of its own; a forwarder between them."""
    with provider(ndn_lab, path.server, "/net/site", PROVIDER, files={"work.cgi": WORK.encode()}, speak=f"CcnForwarder tcp4://{forwarder.host}") as service, \
            provider(ndn_lab, path.clients, "/library/repository", OTHER, files={"a.pdf": FILE, "work.cgi": WORK.encode()}) as content:
        for s in (service, content):
            os.chmod(os.path.join(s.htdocs, "work.cgi"), 0o755)
            os.makedirs(os.path.join(s.htdocs, "runs"))
            os.chmod(os.path.join(s.htdocs, "runs"), 0o777)
        for prefix, s in (("/net", service), ("/library", content), ("/other", content)):
            forwarder.route(prefix, s.uri)
        yield service, content


def head(kind):
    return b"POST  " + kind + b" 127.0.0.1\n"


def test_content_comes_from_its_provider(routed, client):
    """Every client gets the same bytes; the file went through the forwarder."""
    name = name_of("/net/file", {"what": "ccnx:/library/repository/a.pdf"})
    expected = head(b"application/pdf") + FILE
    assert client.cat(name).content == expected
    assert client.python_get(name).content == expected
    assert client.ndnts_get(name).content == expected


def test_a_service_of_another_host(routed, client):
    name = name_of("/net/outer", {"what": '/other/inner/!{"n":7}'})
    assert client.cat(name).content == head(b"text/plain") + b"GET n=7  127.0.0.1\n"


def test_problems_come_through(routed, client):
    name = name_of("/net/outer", {"what": '/other/inner/!{"n":"x"}'})
    answer = client.cat(name)
    said = json.loads(answer.content)
    assert said["parameter"] == "what" and said["within"]["within"]["parameter"] == "n"


def test_prefixes_of_services_are_registered(routed):
    service, _ = routed
    assert service.status()["prefixes"] == 4    # one that is mapped, three services
