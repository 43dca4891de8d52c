# SPDX-License-Identifier: BSD-2-Clause
"""pktcache: files that are fetched again, from servers that cut what they write otherwise each time."""

import os
import random
import shutil

import pytest

from lab.files import Apt, Files, Hls, curl

SLOW = {"rate": "8mbit", "rtt": 20}
NGINX = pytest.param("nginx", marks=pytest.mark.skipif(not shutil.which("nginx"), reason="there is no nginx"))
SERVERS = [NGINX, "httpd", "eeod", "pieces", "pieces?"]

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs network namespaces")


@pytest.fixture
def files(lab):
    made = []

    def make(*words, **options):
        made.append(Files(lab, *words, **options))
        return made[-1]
    yield make
    for f in made:
        f.stop()


def is_known(got, body, part, first=None):
    assert got.body == body
    assert got.part <= part, f"{got.part:.1%} of its bytes"
    assert first is None or got.seconds <= first.seconds


@pytest.mark.parametrize("server", SERVERS)
def test_a_file_is_not_carried_twice(files, server):
    """However the server cuts it: 3 % of its bytes; fingerprints are 0.8, headers of trains the rest."""
    f = files(server, rate="50mbit", rtt=20)
    data = os.urandom(8_000_000)
    f.write("file", data)
    first = f.fetch(curl(f, "file"))
    assert first.body == data and first.carried > len(data)
    for _ in range(2):
        got = f.fetch(curl(f, "file"))
        is_known(got, data, 0.03, first)
        assert got.again <= 0.02, f"{got.again:.1%} of the segments"


@pytest.mark.parametrize("server", ("httpd", "pieces"))
def test_a_bad_link(files, server):
    """
    It loses 1 % of what it carries: also blocks of which something was lost are there the next time, and what goes in a train that is lost goes in another one.  Those cost the
    file 0.9 % as they do elsewhere; a train that is lost twice comes as packets, 0.9 % of the file each.
    """
    f = files(server, rtt=10, bad=["--loss", "10"])
    data = os.urandom(8_000_000)
    f.write("file", data)
    first = f.fetch(curl(f, "file"))
    for _ in range(3):
        got = f.fetch(curl(f, "file"))
        assert got.body == data
    is_known(got, data, 0.04, first)


@pytest.mark.parametrize("server", ("httpd", "pieces?"))
def test_an_edit_costs_what_it_changes(files, server):
    f = files(server, rtt=10)
    data = bytearray(os.urandom(2_000_000))
    f.write("file", data)
    f.fetch(curl(f, "file"))
    data[1_000_000:1_000_003] = b"new"
    f.write("file", data)
    got = f.fetch(curl(f, "file"))
    assert got.body == data and got.carried <= 0.03 * len(data) + 20_000
    # It comes as it is until its block was gathered once; then all is known.
    f.fetch(curl(f, "file"))
    is_known(f.fetch(curl(f, "file")), data, 0.03)


@pytest.mark.parametrize("server", (NGINX, "httpd"))
def test_half_a_file_is_new(files, server):
    """
    Every other part of it.  Of the packets of new parts, and of what tells of their blocks, 1 % is lost: that is told again, and the next time all is known, but for blocks in
    which old and new meet, 80 of 2,000.
    """
    f = files(server, rtt=10, bad=["--loss", "10"])
    data = bytearray(os.urandom(4_000_000))
    f.write("file", data)
    f.fetch(curl(f, "file"))
    for at in range(0, len(data), 200_000):
        data[at:at + 100_000] = os.urandom(100_000)
    f.write("file", data)
    first = f.fetch(curl(f, "file"))
    assert first.body == data and first.carried > len(data) / 2
    is_known(f.fetch(curl(f, "file")), data, 0.06)
    is_known(f.fetch(curl(f, "file")), data, 0.04)


@pytest.mark.parametrize("server", (NGINX, "httpd"))
def test_ranges_of_a_file(files, server):
    """Wherever they begin: they are found in the whole file, and leave it as it is.  0.9 % as the file's, and up to two blocks of each as they are."""
    f = files(server, **SLOW)
    data, draw = os.urandom(4_000_000), random.Random(1)
    f.write("file", data)
    first = f.fetch(curl(f, "file"))
    for _ in range(6):
        begin = draw.randrange(len(data) - 500_000)
        end = begin + draw.randrange(200_000, 500_000)
        is_known(f.fetch(curl(f, "file", "-r", f"{begin}-{end - 1}")), data[begin:end], 0.05)
    is_known(f.fetch(curl(f, "file")), data, 0.03, first)


@pytest.mark.parametrize("server", (NGINX, "httpd"))
def test_a_file_of_ranges(files, server):
    """It comes in ranges first, side by side, and then whole: each border between two costs two blocks, once."""
    f = files(server, **SLOW)
    data = os.urandom(3_000_000)
    f.write("file", data)
    assert b"".join(curl(f, "file", "-r", f"{i}-{i + 499_999}")() for i in range(0, len(data), 500_000)) == data
    is_known(f.fetch(curl(f, "file")), data, 0.03)
    is_known(f.fetch(curl(f, "file")), data, 0.02)


@pytest.mark.parametrize("server", (NGINX, "httpd"))
def test_a_resumed_download(files, server):
    """A client goes away in the middle and asks for the rest later; what others got then is known, wherever they went away."""
    f = files(server, **SLOW)
    data = os.urandom(4_000_000)
    f.write("file", data)
    for i, at in enumerate((1_234_567, 2_345_678, 765_432)):
        assert f.run("sh", "-c", f"curl -s {f.url}/file | head -c {at}") == data[:at]
        rest = f.fetch(curl(f, "file", "-C", str(at)))
        assert rest.body == data[at:]
        if i:
            is_known(rest, data[at:], 0.05)
    is_known(f.fetch(curl(f, "file")), data, 0.03)


def test_packages(files):
    """apt-get, whose requests stand in a pipeline; and one that has the beginning of each package goes on from there."""
    f = files("nginx", **SLOW)
    apt = Apt(f, os.urandom(4_000_000))
    first = f.fetch(apt)
    assert first.body == apt.wants()
    is_known(f.fetch(apt), apt.wants(), 0.03, first)
    apt.begun = 123_456
    rest = f.fetch(apt)
    is_known(rest, apt.wants(), 0.05, first)
    assert rest.served < 1.1 * len(rest.body)


@pytest.mark.parametrize("ranges", (False, True), ids=("segments", "ranges"))
def test_a_film(files, ranges):
    """As a player asks for it."""
    f = files("nginx", **SLOW)
    data = os.urandom(4_000_000)
    film = Hls(f, data, ranges=ranges)
    first = f.fetch(film)
    assert first.body == data
    is_known(f.fetch(film), data, 0.03, first)
