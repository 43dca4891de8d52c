# SPDX-License-Identifier: BSD-2-Clause
"""fairgate-prober among those who wish it ill: names in its directory, documents without end, root."""
import os
import pathlib
import pwd
import re
import shutil
import signal
import subprocess
import tempfile
import time

import pytest

from http1 import until
from lab import lab, prober
from website import Page, Website, page

TOP = pathlib.Path(lab.ROOT)
ETC = TOP / "etc"


# ---- files ----------------------------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("name", ["pages.new", "pages.part.new"])
@pytest.mark.parametrize("kind", ["fifo", "hard link", "link"])
def test_what_stands_in_a_new_files_place(table, tmp_path, kind, name):
    """A FIFO hung the walk, a hard link let it write over another's file."""
    theirs = tmp_path / "theirs"
    theirs.write_text("theirs")
    place = tmp_path / name
    if kind == "fifo":
        os.mkfifo(place)
    elif kind == "link":
        place.symlink_to(theirs)
    else:
        os.link(theirs, place)

    def slowly(_):
        time.sleep(0.1)
        return page("x", etag='"x"')
    with Website({"/": page("".join(f"<a href=/{i}>x</a>" for i in range(15))), **{f"/{i}": slowly for i in range(15)}}) as site:
        prober.crawl(table, site.url, connections=1, checkpoint=1)
        assert len(prober.rows(table)) == 16
    assert theirs.read_text() == "theirs"
    assert os.stat(table).st_mode & 0o777 == 0o644


@pytest.mark.parametrize("kind", ["fifo", "hard link", "link"])
def test_what_stands_in_the_logs_place(table, tmp_path, kind):
    theirs, log = tmp_path / "theirs", tmp_path / "log"
    theirs.write_text("theirs")
    {"fifo": os.mkfifo, "hard link": lambda p: os.link(theirs, p), "link": lambda p: p.symlink_to(theirs)}[kind](log)
    said = prober.crawl(table, "http://127.0.0.1:9/", log=log, expect=2)
    assert "plain file" in said or "symbolic links" in said or "No such device" in said
    assert theirs.read_text() == "theirs"


# ---- root -----------------------------------------------------------------------------------------------------------------------------

root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root to be refused to it")


@root
def test_root_is_asked_for_a_user(table):
    said = prober.run("crawl", "--table", table, "http://127.0.0.1:9/", expect=2)
    assert "--user NAME" in said and not os.listdir(table.parent)
    assert "names nobody" in prober.run("crawl", "--user", "no-such-user", "--table", table, "http://127.0.0.1:9/", expect=2)


@root
def test_started_as_root_it_becomes_its_user():
    """All that it makes is that user's, and it was that user when it asked."""
    nobody = pwd.getpwnam("nobody")
    directory = tempfile.mkdtemp(prefix="fairgate-prober-")
    os.chown(directory, nobody.pw_uid, nobody.pw_gid)
    table = pathlib.Path(directory, "pages")
    seen = []

    def look(_):
        for line in pathlib.Path(f"/proc/{p.pid}/status").read_text().splitlines():
            if line.startswith(("Uid", "Gid", "Groups", "CapEff")):
                seen.append(line.split())
        return page("x")
    try:
        with Website({"/": look}) as site:
            words = prober.command("crawl", "--user", "nobody", "--table", table, "--rate", 0, "--samples", 1, "--log", f"{directory}/log", site.url)
            # LeakSanitizer can't look into who changed its user where fs.suid_dumpable is 2, as systemd-coredump sets it.  Other tests look for leaks.
            p = subprocess.Popen(words, stderr=subprocess.PIPE, text=True, env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0"})
            said = p.communicate(timeout=30)[1]
        assert p.returncode == 0, said
        found = {line[0]: line[1:] for line in seen}
        assert found["Uid:"] == [str(nobody.pw_uid)] * 4 and found["Gid:"] == [str(nobody.pw_gid)] * 4
        assert set(found["Groups:"]) <= {str(nobody.pw_gid)} and int(found["CapEff:"][0], 16) == 0
        for name in os.listdir(directory):
            assert os.stat(os.path.join(directory, name)).st_uid == nobody.pw_uid, name
    finally:
        shutil.rmtree(directory)


# ---- documents ------------------------------------------------------------------------------------------------------------------------

LONG = "a" * 1500


def costly(url, kind="html"):
    """4,900 rules with stars, each tried in vain on each of 2,000 long links: minutes."""
    rules = "".join(f"Disallow: /*aabaaa{i:04d}\nDisallow: /*{'a' * 40}b{i:04d}\n" for i in range(2450))
    names = [f"/{i:04d}{LONG}" for i in range(2000)]
    body = {"html": "".join(f"<a href={n}>x</a>" for n in names),
            "css": "".join(f"a{{b:url({n})}}" for n in names),
            "xml": "<urlset>" + "".join(f"<url><loc>{url}{n}</loc></url>" for n in names) + "</urlset>"}[kind]
    pages = {"/": page("<link rel=stylesheet href=/costly><a href=/costly>x</a>", etag='"0"'),
             "/robots.txt": Page(f"User-agent: *\n{rules}".encode(), "text/plain")}
    pages["/costly"] = Page(body.encode(), {"html": "text/html", "css": "text/css", "xml": "application/xml"}[kind], etag='"costly"')
    return pages


def cpu(p):
    fields = pathlib.Path(f"/proc/{p.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def start(table, site):
    return subprocess.Popen(prober.command("crawl", *prober.AS_ROOT, "--rate", 0, "--table", table, site.url), stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize("kind", ["html", "css", "xml"])
def test_a_signal_inside_a_document(table, kind):
    """It ended minutes later, at the end of the document; and what had not been read of it must be read the next time."""
    with Website({}) as site:
        site.pages.update(costly(site.url, kind))
        p = start(table, site)
        try:
            until(lambda: "/costly" in site.paths() and cpu(p) > 0.5, 60, "at work")
            p.send_signal(signal.SIGTERM)
            sent = time.monotonic()
            said = p.communicate(timeout=60)[1]
        finally:
            p.kill()
        assert time.monotonic() - sent < 3, "0.2 s, and a slow machine"
        assert p.returncode == 4, said
    row, = [line.split("\t") for line in pathlib.Path(f"{table}.part").read_text().splitlines() if line.startswith("/costly\t")]
    assert "u" in row[10] and row[11] == "-", "to be asked for, and without a validator"


def test_the_time_is_up_inside_a_document(table):
    with Website({}) as site:
        site.pages.update(costly(site.url))
        begun = time.monotonic()
        said = prober.crawl(table, site.url, max_time=2, expect=3)
        assert time.monotonic() - begun < 2 + 3, "0.2 s, and a slow machine"
        assert "ended by --max-time" in said


def test_the_time_is_up_inside_a_table(table):
    """Rules that were not there the last time are tried on all that the table holds."""
    names = [f"/{i:04d}{LONG}" for i in range(2000)]
    with Website({}) as site:
        site.pages.update(costly(site.url))
        lines = "\n".join("\t".join((f"{site.url}{n}", "1", "-", "-", "1", "0", "1", "1", "1", "1", "-", "-")) for n in names)
        prober.run("import", table, input=lines + "\n")
        begun = time.monotonic()
        said = prober.crawl(table, site.url, max_time=1, expect=3)
        assert time.monotonic() - begun < 1 + 3, "0.2 s, and a slow machine"
        assert "ended by --max-time" in said
        assert len(prober.rows(table)) == 2000


# ---- what starts it ---------------------------------------------------------------------------------------------------------------------

def test_cron_starts_it_as_its_user():
    jobs = [line for line in (ETC / "cron.d/fairgate-prober.in").read_text().splitlines() if re.match(r"#?[0-9*]", line)]      # off until a site is named
    assert [job.split()[5] for job in jobs] == ["fairgate-prober"]
    assert re.search(r"^u\s+fairgate-prober\s", (ETC / "sysusers.d/fairgate-prober.conf").read_text(), re.MULTILINE)
    owners = [line.split()[3] for line in (ETC / "tmpfiles.d/fairgate-prober.conf").read_text().splitlines() if line.startswith("d")]
    assert owners and set(owners) == {"fairgate-prober"}


NEEDED = {"User": "fairgate-prober", "NoNewPrivileges": "yes", "ProtectSystem": "strict", "ProtectHome": "yes", "PrivateTmp": "yes", "PrivateDevices": "yes",
          "StateDirectory": "fairgate", "CapabilityBoundingSet": "", "ProtectKernelTunables": "yes", "ProtectKernelModules": "yes", "ProtectControlGroups": "yes",
          "RestrictNamespaces": "yes", "RestrictSUIDSGID": "yes", "LockPersonality": "yes", "SystemCallArchitectures": "native"}


def test_the_unit_has_the_usual_protections(tmp_path):
    text = (ETC / "systemd/fairgate-prober.service.in").read_text()
    settings = dict(line.split("=", 1) for line in text.splitlines() if "=" in line and line[0] not in "#[")
    assert {name: settings.get(name) for name in NEEDED} == NEEDED
    if shutil.which("systemd-analyze"):
        unit = tmp_path / "fairgate-prober.service"
        unit.write_text(text.replace("@bindir@/fairgate-prober", lab.program("prober/fairgate-prober")))
        r = subprocess.run(["systemd-analyze", "verify", "--man=no", unit], capture_output=True, text=True, check=False)
        # Only what is said about this file: a container has no others to speak of.
        assert not [line for line in r.stderr.splitlines() if "fairgate-prober" in line], r.stderr
