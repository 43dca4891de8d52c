# SPDX-License-Identifier: BSD-2-Clause
"""fairgate-prober on a hostile site, in a network namespace: nothing outside the scope is ever asked, time and memory are bounded, each refusal
has a line."""
import json
import os
import re
import resource
import subprocess
import sys

import pytest

from lab import prober
from lab.net import Host

ADDRESSES = ("8.8.8.8/32", "8.8.4.4/32", "169.254.169.254/32", "10.0.0.1/32", "127.0.0.53/8")


class Internet:
    """world.py at work in a namespace, and the prober beside it."""

    def __init__(self):
        self.host = Host(f"fairgate-{os.getpid()}", "127.0.0.1")
        self.etc = f"/etc/netns/{self.host.namespace}"

    def __enter__(self):
        self.host.add()
        os.makedirs(self.etc)
        with open(f"{self.etc}/resolv.conf", "w", encoding="ascii") as f:
            f.write("nameserver 127.0.0.53\noptions timeout:2\n")
        self.host.device("lo", *ADDRESSES)
        self.process = subprocess.Popen(self.inside(sys.executable, "-B", os.path.join(os.path.dirname(__file__), "world.py")), stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline() == "ready\n"
        return self

    def inside(self, *words):
        return [*self.host.prefix, *words]

    def crawl(self, table, *words, expect=0, seconds=120):
        """(what it said, with "memory KB" as its last line; seconds of CPU)"""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        p = subprocess.run(self.inside("/usr/bin/env", "time", "-f", "memory %M", *prober.command("crawl", *prober.AS_ROOT, "--rate", "0", "--table", table, *words)),
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=seconds)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert expect is None or p.returncode == expect, p.stdout
        return p.stdout, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    def asked(self):
        out, _ = self.process.communicate("", timeout=20)
        return json.loads(out)["asked"]

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.communicate()
        self.host.remove()
        os.unlink(f"{self.etc}/resolv.conf")
        os.rmdir(self.etc)


@pytest.fixture
def world():
    with Internet() as w:
        yield w


def test_hostile_site(world, tmp_path):
    table = tmp_path / "pages"
    said, cpu = world.crawl(table, "--timeout", "5", "--connections", "8", "--max-bytes", "2000000", "http://site.test/")
    # Zero requests outside the scope.
    assert set(world.asked()) == {"8.8.8.8"}, said
    found = {url.removeprefix("http://site.test"): row["body"] for url, row in prober.rows(table).items()}
    assert found["/good"] == 4
    assert found["/huge"] == found["/hugehead"] == 10 << 30, "Content-Length told it; not a body was read"
    assert "/endless" not in found and "/drip" not in found and "/nothing" not in found and "/bomb" not in found
    for text in ("http://169.254.169.254/latest/meta-data/: another site", "refused http://127.0.0.1/: another site", "refused http://[::ffff:127.0.0.1]/: another site",
                 "refused http://8.8.4.4/: another site", "refused file:///etc/passwd: scheme is not http or https", "refused gopher://127.0.0.1:80/_GET: scheme",
                 "refused //10.0.0.1/x: another site", "refused http://site.test@127.0.0.1/: names a user", "refused http://site.test:81/: another site",
                 "refused https://site.test/: another site", "refused http://2130706433/: another site", "refused gopher://8.8.4.4/: scheme",
                 "/endless: more than 50,000 links", "/bomb: larger than --max-bytes", "/chunks: larger than --max-bytes", "/drip: no whole answer",
                 "/nothing: no whole answer", "/deep: elements nest deeper than 512"):
        assert text in said, f"{text} not in\n{said}"
    assert "a link longer than 8192 bytes was left out" in said
    memory = int(re.search(r"memory (\d+)", said).group(1))
    if "libasan" not in subprocess.run(["ldd", prober.command()[0]], capture_output=True, text=True, check=True).stdout:
        assert memory < 100_000, f"{memory} KB"
    assert cpu < 30


@pytest.mark.parametrize("name", ["inside.test", "mapped.test", "meta.test", "changes.test"])
def test_names_that_lead_inside(world, tmp_path, name):
    """By the address that the connection goes to, whatever the look-up before it said."""
    for _ in range(4):
        said, _ = world.crawl(tmp_path / "pages", "--fresh", f"http://{name}/good", expect=3 if name != "changes.test" else None)
        assert name == "changes.test" or "leads to an address outside the scope" in said
    assert set(world.asked()) <= {"8.8.8.8"}


def test_asked_for(world, tmp_path):
    """Who writes the address out, or says --allow-private, means it; link-local only when it is written out."""
    world.crawl(tmp_path / "pages", "http://127.0.0.1/")
    world.crawl(tmp_path / "pages", "--allow-private", "http://inside.test/")
    said, _ = world.crawl(tmp_path / "pages", "--allow-private", "http://meta.test/", expect=3)
    assert "leads to an address outside" in said
    assert set(world.asked()) == {"127.0.0.1"}
