# SPDX-License-Identifier: BSD-2-Clause
"""fairgate-bots: lists fetched, judged and kept; what is hostile, broken or suddenly other is not taken, and what was there stays."""
import fcntl
import http.server
import json
import os
import pathlib
import re
import shutil
import socket
import socketserver
import subprocess
import time
import zlib

import pytest

from background import Background
from lab import bots, lab

ETC = pathlib.Path(__file__).parents[3] / "etc"
DAY = 86400


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_GET(self):
        page = self.server.pages.get(self.path)
        self.server.asked.append((self.path, self.headers.get("If-None-Match"), self.headers.get("If-Modified-Since")))
        if callable(page):
            page(self)
            return
        status, fields, body = page or (404, {}, b"none")
        if status == 200 and fields.get("ETag") and fields["ETag"] == self.headers.get("If-None-Match"):
            status, body = 304, b""
        self.send_response(status)
        for name, value in fields.items():
            self.send_header(name, value)
        if status != 304:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class Publisher(Background, socketserver.ThreadingTCPServer):
    """pages: {path: (status, fields, body), or a function of the handler}.  A context manager."""

    allow_reuse_address = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.pages, self.asked = {}, []
        self.at = f"127.0.0.1:{self.server_address[1]}"

    def url(self, path):
        return f"http://{self.at}{path}"

    def publish(self, path, networks, **fields):
        prefixes = [{f"ipv{6 if ':' in n else 4}Prefix": n} for n in networks]
        body = json.dumps({"creationTime": "2026-01-01T00:00:00.000000", "prefixes": prefixes}).encode()
        self.pages[path] = (200, {"Content-Type": "application/json", **fields}, body)

    def handle_error(self, request, client_address):
        pass


@pytest.fixture
def publisher():
    with Publisher() as p:
        yield p


class Place:
    def __init__(self, folder, publisher):
        self.config, self.table, self.publisher = folder / "bots.conf", folder / "table", publisher

    def write(self, *lines):
        self.config.write_text("".join(f"{line}\n" for line in lines))

    def fetch(self, *words, expect=0):
        return bots.fetch(self.config, self.table, "--allow-http", "--reach", self.publisher.at, *words, expect=expect)

    def networks(self):
        """{source: its networks} of the table."""
        found, at = {}, None
        for line in self.table.read_text().splitlines():
            fields = line.split("\t")
            if fields[0] == "source":
                at = found.setdefault(fields[1], [])
            elif len(fields) == 1:
                at.append(line)
        return found

    def older(self, days):
        """Its lists were had so many days earlier."""
        text = re.sub(r"^(source\t\S+\t)(\d+)", lambda m: f"{m[1]}{int(m[2]) - days * DAY}", self.table.read_text().rpartition("end\t")[0], flags=re.M)
        self.table.write_text(f"{text}end\t{zlib.crc32(text.encode()):08x}\n")


@pytest.fixture
def place(tmp_path, publisher):
    return Place(tmp_path, publisher)


ONE, TWO, SIX = "66.249.64.0/27", "66.249.64.32/27", "2001:4860:4801:10::/64"


def test_lists_become_a_table(place, publisher, tmp_path):
    publisher.publish("/a", [TWO, ONE, SIX])
    publisher.pages["/plain"] = (200, {}, b"# ours\n40.77.167.1\n40.77.167.2 # two\n")
    (tmp_path / "local").write_text("17.0.0.0/12\n")
    place.write(f"googlebot {publisher.url('/a')} {publisher.url('/plain')} names=googlebot.com", f"own {tmp_path}/local", "yandex names=yandex.ru")
    said = place.fetch()
    assert "googlebot: " in said and "3 networks, before 0" in said
    assert place.networks() == {publisher.url("/a"): [ONE, TWO, SIX], publisher.url("/plain"): ["40.77.167.1/32", "40.77.167.2/32"], f"{tmp_path}/local": ["17.0.0.0/12"]}
    assert bots.run("check", place.table, place.config) == f"{place.table}: right; 3 crawlers, 6 networks\n{place.config}: right; 3 crawlers, 3 lists\n"
    assert bots.run("show", place.table, "66.249.64.33") == "googlebot\n" and bots.run("show", place.table, "8.8.8.8") == "in nobody's list\n"
    shown = bots.run("show", place.table)
    assert "googlebot: 5 networks; names of googlebot.com" in shown and "3 networks, 0.0 days ago" in shown
    assert place.table.stat().st_mode & 0o777 == 0o644 and not os.path.exists(f"{place.table}.new")
    assert place.fetch("--quiet") == ""


def test_what_has_not_changed_is_not_fetched_again(place, publisher):
    publisher.publish("/tag", [ONE], ETag='"v1"')
    publisher.publish("/date", [TWO], **{"Last-Modified": "Tue, 24 Nov 2026 00:00:00 GMT"})
    place.write(f"a {publisher.url('/tag')} {publisher.url('/date')}")
    place.fetch()
    place.older(20)
    publisher.asked.clear()
    said = place.fetch()
    assert sorted(publisher.asked) == [("/date", None, "Tue, 24 Nov 2026 00:00:00 GMT"), ("/tag", '"v1"', None)]
    assert "/tag: the same 1 networks" in said and place.networks()[publisher.url("/tag")] == [ONE]
    assert "0.0 days ago" in bots.run("show", place.table).split("/tag")[1], "it was confirmed now"
    publisher.publish("/tag", [ONE, TWO], ETag='"v2"')
    place.fetch()
    assert place.networks()[publisher.url("/tag")] == [ONE, TWO]


def big(handler):
    handler.send_response(200)
    handler.end_headers()
    try:
        for _ in range(200):
            handler.wfile.write(b"66.249.64.0/27\n" * 4000)
    except OSError:
        pass


def cut(handler):
    handler.send_response(200)
    handler.send_header("Content-Length", "100000")
    handler.end_headers()
    handler.wfile.write(b"66.249.64.0/27\n")


def slow(handler):
    time.sleep(4)


BAD = {
    "empty": ((200, {}, b'{"prefixes": []}'), "has no network at all"),
    "page": ((200, {}, b"<!DOCTYPE html><p>We have moved"), "more than one word"),
    "error": ((503, {}, b"busy"), "answered with the status 503"),
    "gone": (None, "answered with the status 404"),
    "everybody": ((200, {}, b'["0.0.0.0/0"]'), "wider than"),
    "private": ((200, {}, b"10.1.2.0/24"), "private networks"),
    "loopback": ((200, {}, b"127.0.0.1"), "private networks"),
    "carriers": ((200, {}, b"100.64.7.0/24"), "private networks"),
    "large": (big, "more than 4194304 bytes"),
    "cut": (cut, ""),
    "packed": ((200, {"Content-Encoding": "gzip"}, b"66.249.64.0/27"), "packed"),
    "elsewhere": ((302, {"Location": "http://127.0.0.2:80/"}, b""), "an address that is not asked"),
    "slow": (slow, ""),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_wrong_is_not_taken(place, publisher, name):
    """What was there stays, with its age, and the log says why; other lists are taken."""
    publisher.publish("/list", [ONE])
    publisher.publish("/other", [TWO])
    place.write(f"a {publisher.url('/list')}", f"b {publisher.url('/other')}")
    place.fetch()
    place.older(3)
    publisher.pages["/list"], why = BAD[name]
    publisher.publish("/other", [TWO, SIX])
    said = place.fetch("--timeout", "2", "--quiet", expect=3)
    assert re.search(rf"^\S+ a: \S+/list: .*{re.escape(why)}.*; the 1 networks of 3\.0 days ago stay$", said, re.M), said
    assert " b: " not in said
    assert place.networks() == {publisher.url("/list"): [ONE], publisher.url("/other"): [TWO, SIX]}
    assert "3.0 days ago" in bots.run("show", place.table)
    # Too old by now: dropped, and said.
    place.older(28)
    said = place.fetch("--timeout", "2", "--quiet", expect=3)
    assert "its 1 networks, of 31.0 days ago, are dropped" in said
    assert place.networks()[publisher.url("/list")] == []
    assert "nothing is known of it" in place.fetch("--timeout", "2", "--quiet", expect=3)


def test_a_list_that_is_ten_times_another(place, publisher):
    """It is not taken without a word, neither by networks nor by addresses."""
    place.write(f"a {publisher.url('/list')}")
    few, many = [f"66.249.{i}.0/27" for i in range(64, 84)], [f"11.{i}.{j}.0/27" for i in range(20) for j in range(20)]
    for was, becomes in ((few, many), (many, few), (few, [*few, "17.16.0.0/12"]), ([ONE, "17.16.0.0/12"], [ONE])):
        place.table.unlink(missing_ok=True)
        publisher.publish("/list", was)
        place.fetch()
        publisher.publish("/list", becomes)
        said = place.fetch(expect=3)
        assert "not taken: " in said and "--accept a takes it" in said
        assert sorted(place.networks()[publisher.url("/list")]) == sorted(was)
        assert f"{len(becomes)} networks, before {len(was)}" in place.fetch("--accept", "A")
        assert sorted(place.networks()[publisher.url("/list")]) == sorted(becomes)
    # Small lists may grow.
    place.table.unlink()
    publisher.publish("/list", few[:2])
    place.fetch()
    publisher.publish("/list", [*few, *(f"66.250.{i}.0/27" for i in range(70))])
    place.fetch()


def test_only_https_and_public_addresses(place, publisher):
    publisher.publish("/list", [ONE])
    place.write(f"a {publisher.url('/list')}")
    said = bots.fetch(place.config, place.table, "--reach", publisher.at, expect=3)
    assert "only https is asked for; nothing is known of it" in said
    said = bots.fetch(place.config, place.table, "--allow-http", expect=3)
    assert "nothing is known of it" in said
    assert publisher.asked == []
    # TLS that nobody vouches for.
    with socket.create_server(("127.0.0.1", 0)) as s:
        place.write(f"a https://127.0.0.1:{s.getsockname()[1]}/")
        said = bots.fetch(place.config, place.table, "--reach", f"127.0.0.1:{s.getsockname()[1]}", "--timeout", "1", expect=3)
        assert "nothing is known of it" in said


def test_bounds_that_were_narrowed(place, publisher):
    """What was taken with wider ones does not stay."""
    publisher.publish("/list", ["17.0.0.0/8"], ETag='"1"')
    place.write(f"a {publisher.url('/list')} wide")
    place.fetch()
    place.write(f"a {publisher.url('/list')}")
    assert "wider than" in place.fetch(expect=3)
    assert place.networks()[publisher.url("/list")] == []


def test_who_is_taken_out_of_the_configuration_is_gone(place, publisher):
    publisher.publish("/a", [ONE])
    publisher.publish("/b", [TWO])
    place.write(f"a {publisher.url('/a')}", f"b {publisher.url('/b')}")
    place.fetch()
    place.write(f"b {publisher.url('/b')}")
    place.fetch()
    assert list(place.networks()) == [publisher.url("/b")]


def test_a_configuration_that_is_wrong_changes_nothing(place, publisher):
    publisher.publish("/a", [ONE])
    place.write(f"a {publisher.url('/a')}")
    place.fetch()
    before = place.table.read_bytes()
    place.write(f"a {publisher.url('/a')}", "b nonsense")
    assert f"{place.config}:2: nonsense is no list and no option" in place.fetch(expect=1)
    place.config.unlink()
    assert "No such file" in place.fetch(expect=1)
    assert place.table.read_bytes() == before


def test_dry_run(place, publisher):
    publisher.publish("/a", [ONE])
    place.write(f"a {publisher.url('/a')}")
    assert "1 networks, before 0" in place.fetch("--dry-run")
    assert not place.table.exists() and not os.path.exists(f"{place.table}.lock")


def test_a_damaged_table_is_made_anew(place, publisher):
    publisher.publish("/a", [ONE])
    place.write(f"a {publisher.url('/a')}")
    place.table.write_text("fairgate-bots\t1\t5\n")
    assert f"{place.table}:2: the file ends" in place.fetch()
    assert place.networks() == {publisher.url("/a"): [ONE]}


def test_one_at_a_time(place, publisher):
    publisher.publish("/a", [ONE])
    place.write(f"a {publisher.url('/a')}")
    with open(f"{place.table}.lock", "w") as f:
        fcntl.flock(f, fcntl.LOCK_EX)
        assert "another run writes this table now" in place.fetch(expect=5)
    place.fetch()


def test_a_disk_that_is_full(place, publisher):
    """The table of before stays whole."""
    publisher.publish("/a", [f"11.{i}.{j}.0/32" for i in range(20) for j in range(200)])
    place.write(f"a {publisher.url('/a')}")
    place.fetch()
    before = place.table.read_bytes()
    r = subprocess.run(["sh", "-c", 'ulimit -f 8; exec "$@"', "sh", lab.program("prober/fairgate-bots"), "fetch", *bots.AS_ROOT, "--config", place.config, "--table", place.table,
                        "--allow-http", "--reach", publisher.at], capture_output=True, text=True, check=False)
    assert r.returncode == 1 and "not written: " in r.stderr and "File too large" in r.stderr
    assert place.table.read_bytes() == before and not os.path.exists(f"{place.table}.new")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root is told not to be")
def test_root_is_asked_to_be_somebody_else(place):
    place.write("a names=example.org")
    assert "runs as root, and need not" in bots.run("fetch", "--config", place.config, "--table", place.table, expect=2)


def test_what_starts_it():
    jobs = [line for line in (ETC / "cron.d/fairgate-bots.in").read_text().splitlines() if re.match(r"[0-9*]", line)]
    assert [job.split()[5] for job in jobs] == ["fairgate-bots"]
    assert re.search(r"^u\s+fairgate-bots\s", (ETC / "sysusers.d/fairgate-bots.conf").read_text(), re.MULTILINE)
    made = [line.split() for line in (ETC / "tmpfiles.d/fairgate-bots.conf").read_text().splitlines() if line.startswith("d")]
    assert made == [["d", "/var/lib/fairgate-bots", "0755", "fairgate-bots", "fairgate-bots"]]


NEEDED = {"User": "fairgate-bots", "NoNewPrivileges": "yes", "ProtectSystem": "strict", "ProtectHome": "yes", "PrivateTmp": "yes", "PrivateDevices": "yes",
          "StateDirectory": "fairgate-bots", "CapabilityBoundingSet": "", "ProtectKernelTunables": "yes", "RestrictNamespaces": "yes", "RestrictSUIDSGID": "yes"}


def test_its_unit_has_the_usual_protections(tmp_path):
    text = (ETC / "systemd/fairgate-bots.service.in").read_text()
    settings = dict(line.split("=", 1) for line in text.splitlines() if "=" in line and line[0] not in "#[")
    assert {name: settings.get(name) for name in NEEDED} == NEEDED
    if shutil.which("systemd-analyze"):
        unit = tmp_path / "fairgate-bots.service"
        unit.write_text(text.replace("@bindir@/fairgate-bots", lab.program("prober/fairgate-bots")))
        r = subprocess.run(["systemd-analyze", "verify", "--man=no", unit], capture_output=True, text=True, check=False)
        assert not [line for line in r.stderr.splitlines() if "fairgate-bots" in line], r.stderr
