# SPDX-License-Identifier: BSD-2-Clause
"""Files that change: those known to have no marks are read once, and again whenever they may have changed; what is stripped has a tag of its own."""
import os
import socket
import time

import pytest

from eeod import OPEN, Pages, curl, page, stripped, write
from lab.lab import Lab, wait_for

PLAIN = b"<html>" + b"nothing to see here\n" * 20_000 + b"</html>"


def marked(length):
    body = page(1)
    return body + b" " * (length - len(body))


def settle(path):
    """Until a change of it could no longer go unseen."""
    wait_for(lambda: time.time() - os.stat(path).st_ctime > 2.1, 10, "a file of two seconds")


@pytest.fixture
def server():
    with Lab("eeod") as lab:
        root = os.path.join(lab.dir, "site")
        os.mkdir(root)
        os.chmod(root, 0o755)
        with Pages(lab, root, mpm="prefork", children=1, spare=0) as httpd:
            httpd.file = write(root, "plain.html", PLAIN)
            settle(httpd.file)
            yield httpd
            httpd.assert_well()


def bytes_read(httpd):
    """By its one child, what sendfile reads included."""
    (child,) = httpd.children()
    with open(f"/proc/{child}/io", encoding="ascii") as f:
        return int(f.readline().split()[1])


def test_read_once(server):
    reads = []
    for _ in range(4):
        before = bytes_read(server)
        assert curl(f"{server.url}/on/plain.html")[2] == PLAIN
        reads.append((bytes_read(server) - before) / len(PLAIN))
    assert reads[0] > 1.9 and max(reads[1:]) < 1.5, reads


def test_changed_in_place_with_its_time_set_back(server):
    assert curl(f"{server.url}/strip/plain.html")[2] == PLAIN
    written = os.stat(server.file)
    with open(server.file, "r+b") as f:
        f.write(marked(len(PLAIN)))
    os.utime(server.file, ns=(written.st_atime_ns, written.st_mtime_ns))
    assert curl(f"{server.url}/strip/plain.html")[2] == stripped(marked(len(PLAIN)))


def test_replaced_while_httpd_waits_for_a_request_body(server):
    """httpd looks a file up, reads the request's body, and opens what has that name then."""
    assert curl(f"{server.url}/strip/plain.html")[2] == PLAIN
    other = write(server.root, "new.html", marked(len(PLAIN)))
    with socket.create_connection((server.host, server.port), 20) as s, s.makefile("rb") as answer:
        s.sendall(b"GET /strip/plain.html HTTP/1.1\r\nHost: x\r\nConnection: close\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n")
        assert answer.readline().split()[1] == b"100"
        os.rename(other, server.file)
        s.sendall(b"x")
        assert OPEN not in answer.read()


def test_a_descriptor_that_httpd_keeps_open():
    """mod_file_cache knows of a file what it was when httpd started."""
    with Lab("eeod") as lab:
        root = os.path.join(lab.dir, "site")
        os.mkdir(root)
        os.chmod(root, 0o755)
        path = write(root, "plain.html", PLAIN)
        settle(path)
        with Pages(lab, root, mpm="prefork", children=1, spare=0, modules=("file_cache",), config=f"CacheFile {path}\n") as httpd:
            for _ in range(2):
                assert curl(f"{httpd.url}/strip/plain.html")[2] == PLAIN
            with open(path, "r+b") as f:
                f.write(marked(len(PLAIN)))
            assert curl(f"{httpd.url}/strip/plain.html")[2] == stripped(marked(len(PLAIN)))


def test_a_stripped_page_has_a_weak_tag(server):
    write(server.root, "marked.html", page(1))
    tags = {where: curl(f"{server.url}/{where}/marked.html")[1]["etag"] for where in ("on", "strip", "off")}
    assert tags["on"] == tags["off"] and tags["strip"] == "W/" + tags["off"]
    status, _, body = curl(f"{server.url}/strip/marked.html", "-H", f"If-None-Match: {tags['strip']}")
    assert status.endswith("304 Not Modified") and body == b""
    # Parts of one are not put together with parts of the other.
    status, _, body = curl(f"{server.url}/strip/marked.html", "-H", f"If-Range: {tags['off']}", "-H", "Range: bytes=10-20")
    assert status.split()[1] == "200" and body == stripped(page(1))
