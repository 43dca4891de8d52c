# SPDX-License-Identifier: BSD-2-Clause
"""Where what programs say goes: the journal, or a file that is rotated."""
import os
import subprocess

import pytest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


CRAWL = ["prober/fairgate-prober", "crawl", "--table", "/nowhere/table"]


@pytest.mark.parametrize("words", (["pktcache/fairgate-pktcache", "--parent", "/nowhere.conf"], CRAWL, [*CRAWL, "--user", "nobody", "http://127.0.0.1:9/"]))
def test_the_journal_gets_priorities(build, tmp_path, words):
    argv = [build / words[0], *words[1:]]
    with open(tmp_path / "stderr", "w+", encoding="utf-8") as f:
        at = os.fstat(f.fileno())
        subprocess.run(argv, stderr=f, stdout=subprocess.DEVNULL, timeout=60, check=False, env={**os.environ, "JOURNAL_STREAM": f"{at.st_dev}:{at.st_ino}"})
        f.seek(0)
        lines = f.read().splitlines()
    assert lines and all(line.startswith(("<3>", "<4>", "<5>", "<6>")) for line in lines), lines
    said = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False).stderr
    assert said and not said.startswith("<"), said


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
