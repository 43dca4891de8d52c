# SPDX-License-Identifier: BSD-2-Clause
"""Which steps ./quickstart check runs: those of its lists, those that are named, and no others."""
import os
import pathlib
import re
import subprocess

import pytest

QUICKSTART = pathlib.Path(__file__).resolve().parents[2] / "quickstart"
TEXT = QUICKSTART.read_text(encoding="utf-8")
STEPS, LONG = (re.search(rf'^{name}="([^"]*)"', TEXT, re.M)[1].split() for name in ("steps", "long_steps"))

# It decides as it does, and instead of running a step it names it.
INSTEAD = """
deps() { :; }
need_root() { :; }
squid() { :; }
test_peers() { :; }
step() { echo "step $1"; }
"""


@pytest.fixture
def check(tmp_path):
    """check(*words): exit status and the steps that ran, in no order: lanes run beside each other.  With logs of its own: a run that this is a part of has noted second
    tries among its logs, which a check that begins takes away."""
    return lambda *words: steps_of(tmp_path, *words)


def steps_of(build, *words):
    before, line, after = TEXT.partition("\ncommand=${1-}\n")
    assert line
    r = subprocess.run(["sh", "-c", before + INSTEAD + line + after, QUICKSTART, "check", *words], env={**os.environ, "FAIRGATE_BUILD": str(build)}, capture_output=True, text=True, timeout=60, check=False)
    return r.returncode, sorted(re.findall(r"^step (\S+)$", r.stdout, re.M))


@pytest.mark.parametrize("words, steps", [
    ((), STEPS[1:]),
    (("--long",), STEPS[1:] + LONG),
    *(((name,), [name]) for name in STEPS + LONG),
    (("--long", "soak", "fuzz"), ["soak", "fuzz"]),
], ids=lambda words: " ".join(words) or "all")
def test_the_steps_that_run(check, words, steps):
    assert check(*words) == (0, sorted(["build", *steps]))


@pytest.mark.parametrize("word", ["", "long", "--longer", "fuzz-longer", "fuzz fuzz-long", "*"])
def test_a_step_that_there_is_not(check, word):
    assert check(word) == (2, [])
