# SPDX-License-Identifier: BSD-2-Clause
"""The nextserve paper's calls (Fig. 2 to 4) with the samples, through a forwarder, by everybody's clients and by curl: what comes is what the tools make by hand."""
import os
import subprocess
import urllib.parse

import pytest

from lab import lab
from lab.samples import CONVERT, DOCUMENT, Samples
from test_samples import SCALE, as_jpeg, by_hand, called, content_of, scaled

NESTED = {"image": called("/unibe/cds/scaleImage", SCALE)}
PAGE = {"file": DOCUMENT, "page": 2}


@pytest.fixture(scope="module")
def served(ndn_lab, path, forwarder):
    for program in (CONVERT, "/usr/bin/pdftotext"):
        if not os.path.exists(program):
            pytest.skip(f"there is no {program}: ./quickstart deps")
    with Samples(ndn_lab, callers="10.6.0.0/16").on(path.server).start() as s:
        for prefix in ("/scn", "/unibe", "/SCN"):
            forwarder.route(prefix, f"tcp4://{s.host}:{s.ndn_port}")
        yield s


@pytest.fixture(scope="module")
def expected(served, tmp_path_factory):
    folder = tmp_path_factory.mktemp("by-hand")
    small = scaled(folder, content_of(served, "imgs/profile.bmp"))
    page = by_hand(folder, content_of(served, "repository/paper.pdf"), "pdftotext", "-q", "-enc", "UTF-8", "-nopgbrk", "-f", "2", "-l", "2", "in", "out")
    return {"/SCN/services/pdf_to_text": page, "/unibe/cds/scaleImage": small, "/scn/toJPEG": as_jpeg(folder, small)}


def escaped(service, arguments):
    return service + "/" + urllib.parse.quote(called("", arguments).removeprefix("/"), safe="")


def by_ours(path, forwarder, service, arguments):
    where = ("--forwarder", f"tcp://{forwarder.host}")
    words = [f"{name}=:{value}" if isinstance(value, str) else f"{name}={value}" for name, value in arguments.items()]
    return subprocess.run([*path.clients.prefix, lab.program("ccnget/fairgate-ccncall"), *where, service, *words], capture_output=True, timeout=60, check=True).stdout


def by_curl(path, served, service, arguments):
    url = served.url + "/ccn" + urllib.parse.quote(called(service, arguments), safe="/!")
    return subprocess.run([*path.clients.prefix, "curl", "-sS", "--fail-with-body", url], capture_output=True, timeout=60, check=True).stdout


@pytest.mark.parametrize("service,arguments", (("/SCN/services/pdf_to_text", PAGE), ("/unibe/cds/scaleImage", SCALE), ("/scn/toJPEG", NESTED)))
def test_everybody_gets_what_the_tools_make(served, path, forwarder, client, expected, service, arguments):
    right = expected[service]
    assert client.cat(escaped(service, arguments)).content == right
    assert client.python_get(escaped(service, arguments)).content == right
    assert client.ndnts_get(escaped(service, arguments)).content == right
    assert by_ours(path, forwarder, service, arguments) == right
    assert by_curl(path, served, service, arguments) == right
