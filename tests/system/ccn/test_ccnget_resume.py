# SPDX-License-Identifier: BSD-2-Clause
"""fairgate-ccnget --resume: what stands in a file is a beginning of the page, however a run ended."""
import os
import signal
import subprocess

import pytest
from ccn_get import BODY, command, figures, get
from ccn_producer import Pages, Producer, segment_of

from lab import lab


# ---- resuming --------------------------------------------------------------------------------------------------------

class Halting(Pages):
    """Answers no segment from `silent` on."""
    silent = 1 << 30

    def answer(self, i):
        got = super().answer(i)
        return [] if (segment_of(i) or 0) >= self.silent else got


def test_resume(tmp_path):
    pages, file = Halting().add("/example/page", BODY[:90000], window=8, version=1), tmp_path / "page"
    part = tmp_path / "page.ccnget"
    few = ("--resume", "--output", file, "--tries", "1", "--lifetime", "300", "--json")
    with Producer(pages.answer) as p:
        pages.silent = 40
        assert get(p, *few)[0] == 28
        assert file.read_bytes() == BODY[:40000] and "\nsegments 40\nbytes 40000\n" in part.read_text()
        pages.silent, pages.asked = 60, []
        with file.open("ab") as f:
            f.write(b"what is behind them counts for nothing")
        assert get(p, *few)[0] == 28 and min(pages.segments()) == 40 and file.read_bytes() == BODY[:60000]
        pages.silent, pages.asked = 1 << 30, []
        status, out, said = get(p, *few)
        f = figures(out)
        assert (status, said) == (0, "") and min(pages.segments()) == 60 and len(pages.asked) == 31 and (f["segments"], f["bytes"]) == (90, 90000)
        assert file.read_bytes() == BODY[:90000] and os.listdir(tmp_path) == ["page"]


@pytest.mark.parametrize("what", ("another version", "a shorter file", "a part that is none", "an empty part", "a part of many segments"))
def test_resume_from_the_start(tmp_path, what):
    pages, file, part = Halting().add("/example/page", BODY[:90000], version=1), tmp_path / "page", tmp_path / "page.ccnget"
    with Producer(pages.answer) as p:
        pages.silent = 40
        assert get(p, "--resume", "--output", file, "--tries", "1", "--lifetime", "300")[0] == 28
        if what == "another version":
            pages.add("/example/page", BODY[90000:180000], version=2)
        if what == "a shorter file":
            os.truncate(file, 39999)
        if what == "a part that is none":
            part.write_bytes(os.urandom(5000))
        if what == "an empty part":
            part.write_bytes(b"")
        if what == "a part of many segments":
            part.write_text(part.read_text().replace("segments 40", "segments 4000"))
        pages.silent, pages.asked = 1 << 30, []
        assert get(p, "--resume", "--output", file) == (0, b"", "")
    assert file.read_bytes() == (BODY[90000:180000] if what == "another version" else BODY[:90000]) and pages.segments() == list(range(1, 90))
    assert os.listdir(tmp_path) == ["page"]


@pytest.mark.parametrize("how", (signal.SIGTERM, signal.SIGKILL))
def test_resume_after_a_signal(tmp_path, how):
    """It is stopped, or dies, while segments come; whatever stands in the file then, the next run makes it whole."""
    pages, file = Halting().add("/example/page", BODY, window=20), tmp_path / "page"
    pages.silent = 1000
    words = ("--resume", "--output", file, "--tries", "20")
    with Producer(pages.answer) as p:
        child = subprocess.Popen(command("--forwarder", p.uri, *words, "/example/page"), stderr=subprocess.DEVNULL)
        lab.wait_for(lambda: (tmp_path / "page.ccnget").exists() and "segments 1000" in (tmp_path / "page.ccnget").read_text(), 20, "the part is written")
        child.send_signal(how)
        assert child.wait(10) == -how
        pages.silent, pages.asked = 1 << 30, []
        assert get(p, *words) == (0, b"", "")
    assert file.read_bytes() == BODY and min(pages.segments()) == 1000 and os.listdir(tmp_path) == ["page"]


def test_a_file_stays_if_nothing_comes(tmp_path):
    (tmp_path / "page").write_bytes(b"as it was")
    with Producer(lambda i: []) as p:
        assert get(p, "--output", tmp_path / "page", "--tries", "1", "--lifetime", "100")[0] == 28
    assert (tmp_path / "page").read_bytes() == b"as it was"


def test_a_full_disk():
    pages = Pages().add("/example/page", BODY[:300000])
    with Producer(pages.answer) as p:
        status, _, said = get(p, "--output", "/dev/full")
        assert (status, said) == (1, "fairgate-ccnget: /dev/full: No space left on device\n")
