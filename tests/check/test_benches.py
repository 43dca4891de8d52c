# SPDX-License-Identifier: BSD-2-Clause
"""All benches stand in one frame; and what bench/, demo/ and tests/ may know of each other is tests/lab."""
import os
import pathlib
import re
import subprocess

import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]
BENCHES = sorted(p.parent.name for p in TOP.glob("bench/*/run"))


def bench(*words):
    # What the system's modules are compiled to lies beside them, not where tests/run keeps ours.
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPYCACHEPREFIX"}
    return subprocess.run([TOP / "bench" / "run", *words], env={**environment, "PYTHONDONTWRITEBYTECODE": "1"}, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", BENCHES)
def test_a_bench_by_its_name(name):
    r = bench(name, "--help")
    assert r.returncode == 0 and f"bench/{name}/run" in r.stdout, r.stderr
    assert set(re.findall(r"^  (--\w+)", r.stdout, re.M)) == {"--quick", "--only", "--out", "--build"}


def test_a_figure_that_is_not_there():
    r = bench("core", "--only", "nothing")
    assert r.returncode == 2 and 'there is no "nothing"; there are: ' in r.stderr


@pytest.mark.parametrize("words", [(), ("nothing",), ("lib",)])
def test_a_bench_that_is_not_there(words):
    r = bench(*words)
    assert r.returncode == 2 and f"NAME: {', '.join(BENCHES)}" in r.stderr


@pytest.mark.parametrize("folder,stranger", [("demo", "bench"), ("demo", "system"), ("bench", "system"), ("tests/lab", "system"), ("tests/lab", "bench")])
def test_nobody_reaches_into_the_other(folder, stranger):
    """Who wants modules of a folder puts its name into a path."""
    files = [p for p in (TOP / folder).rglob("*") if p.suffix == ".py" or p.name == "run"]
    assert files
    bad = [str(p.relative_to(TOP)) for p in files if f'"{stranger}"' in p.read_text()]
    assert not bad
