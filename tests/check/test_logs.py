# SPDX-License-Identifier: BSD-2-Clause
"""Where what programs say goes: the journal, or a file that is rotated."""
import fcntl
import functools
import http.server
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import threading

import pytest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


CRAWL = ["prober/fairgate-prober", "crawl", "--table", "/nowhere/table"]


def in_the_journal(argv):
    """The lines that it gets, where standard error is its stream."""
    with tempfile.TemporaryFile("w+", encoding="utf-8") as f:
        at = os.fstat(f.fileno())
        subprocess.run(argv, stderr=f, stdout=subprocess.DEVNULL, timeout=60, check=False, env={**os.environ, "JOURNAL_STREAM": f"{at.st_dev}:{at.st_ino}"})
        f.seek(0)
        return f.read().splitlines()


@pytest.mark.parametrize("words", (["pktcache/fairgate-pktcache", "--parent", "/nowhere.conf"], CRAWL, [*CRAWL, "--user", "nobody", "http://127.0.0.1:9/"]))
def test_the_journal_gets_priorities(build, words):
    argv = [build / words[0], *words[1:]]
    lines = in_the_journal(argv)
    assert lines and all(line.startswith(("<3>", "<4>", "<5>", "<6>")) for line in lines), lines
    said = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False).stderr
    assert said and not said.startswith("<"), said


@pytest.fixture
def walk(build):
    """walk(): the priority of each line of a walk of a site of a page and another that is not there, and the line; walk.table is where its table is to be."""
    folder = tempfile.mkdtemp()
    site, kept = f"{folder}/site", f"{folder}/kept"
    os.mkdir(site)
    os.mkdir(kept)
    with open(f"{site}/index.html", "w", encoding="ascii") as f:
        f.write("<a href=other>hello</a>")
    shutil.chown(kept, "nobody")
    os.chmod(folder, 0o755)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(http.server.SimpleHTTPRequestHandler, directory=site))
    threading.Thread(target=server.serve_forever, daemon=True).start()

    def run(*more):
        words = ["crawl", "--user", "nobody", "--allow-private", "--rate", "0", "--table", run.table, *more, f"http://127.0.0.1:{server.server_address[1]}/"]
        return [(int(line[1]), line[3:]) for line in in_the_journal([build / "prober/fairgate-prober", *words])]
    run.table = f"{kept}/table"
    yield run
    server.shutdown()
    server.server_close()
    shutil.rmtree(folder)


def test_what_a_walk_says_has_the_priority_that_is_due(walk):
    """`journalctl -p warning` has what somebody should look at, and no more."""
    well = walk()
    assert well and {p for p, _ in well} == {6}, well
    assert walk("--fresh", "--max-pages", "1")[-1][0] == 5      # not whole, as it was told
    with open(f"{walk.table}.lock", "rb") as f:
        fcntl.flock(f, fcntl.LOCK_EX)
        assert [p for p, _ in walk()] == [4]
    with open(walk.table, "wb") as f:
        f.write(b"no table at all")
    assert [p for p, _ in walk()][:2] == [4, 3]
    os.chmod(os.path.dirname(walk.table), 0o555)
    os.unlink(f"{walk.table}.lock")
    assert [p for p, _ in walk()] == [3]


def test_the_probers_log_is_rotated(tmp_path):
    with open(os.path.join(TOP, "etc/logrotate.d/fairgate-prober"), encoding="utf-8") as f:
        text = f.read()
    assert "su fairgate-prober fairgate-prober\n" in text
    own = text.replace("/var/log/fairgate/", f"{tmp_path}/").replace("su fairgate-prober fairgate-prober", "")
    (tmp_path / "conf").write_text(own)
    (tmp_path / "prober.log").write_text("a line\n")
    os.chmod(tmp_path, 0o755)
    done = subprocess.run(["/usr/sbin/logrotate", "--force", "--state", tmp_path / "state", tmp_path / "conf"], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and not done.stderr, done
    assert (tmp_path / "prober.log.1.gz").exists() and not (tmp_path / "prober.log").exists()


@pytest.fixture
def open_folder():
    """Other users may go through it, unlike through tmp_path."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        yield pathlib.Path(folder)


def test_squid_logs_are_rotated_with_the_rights_of_their_owner(open_folder):
    """logrotate ran as root in a folder that belongs to proxy: what it reads and writes there, proxy chooses."""
    here, logs = open_folder, open_folder / "squid-fqrs"
    logs.mkdir()
    for name in ("access.log", "access.log.1"):
        (logs / name).write_text("a line\n")
        shutil.chown(logs / name, "proxy", "proxy")
    shutil.chown(logs, "proxy", "proxy")
    logs.chmod(0o755)
    with open(os.path.join(TOP, "etc/logrotate.d/squid-fqrs"), encoding="utf-8") as f:
        text = f.read().replace("/var/log/squid-fqrs", str(logs))
    # What compresses runs with the rights that logrotate has in that folder.
    compress = here / "compress"
    compress.write_text("#!/bin/sh\nid -un >&2\nexec gzip\n")
    compress.chmod(0o755)
    (here / "conf").write_text(re.sub(r"postrotate\n.*\n", "postrotate\n", text).replace("\tcompress\n", f"\tcompress\n\tcompresscmd {compress}\n\tcompressext .gz\n"))
    done = subprocess.run(["/usr/sbin/logrotate", "--force", "--verbose", "--state", here / "state", here / "conf"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done
    assert (logs / "access.log.1").exists() and (logs / "access.log.2.gz").exists() and not (logs / "access.log").exists(), (os.listdir(logs), done.stderr)
    assert re.search(r"(?m)^proxy$", done.stderr) and not re.search(r"(?m)^root$", done.stderr), done.stderr
