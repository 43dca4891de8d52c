# SPDX-License-Identifier: BSD-2-Clause
"""Folders of packages that are being made or tried are nobody else's."""
import fcntl
import os
import pathlib
import subprocess

import pytest

PACKAGES = pathlib.Path(__file__).resolve().parents[2] / "packages"


@pytest.fixture
def another(tmp_path):
    """The lock, as another build (LOCK_EX) or test (LOCK_SH) of packages for Debian 12 holds it."""
    (tmp_path / "packages" / "12").mkdir(parents=True)
    with open(tmp_path / "packages" / "12" / "lock-packages", "wb") as f:
        yield lambda how: fcntl.flock(f, how)


def begin(tmp_path, command, *words):
    return subprocess.Popen([PACKAGES / command, "--in", "12", *words], env={**os.environ, "FAIRGATE_CACHE": str(tmp_path)}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True, start_new_session=True)


@pytest.mark.parametrize("how", (fcntl.LOCK_EX, fcntl.LOCK_SH), ids=("build", "test"))
def test_a_build_waits_for_another_and_for_tests(tmp_path, another, how):
    another(how)
    folder = tmp_path / "out"
    folder.mkdir()
    (folder / "theirs.deb").touch()
    with begin(tmp_path, "build", "--out", folder) as second:
        try:
            assert "is at work, waiting for its end" in second.stdout.readline()
            assert second.poll() is None and sorted(os.listdir(tmp_path)) == ["out", "packages"]
        finally:
            os.killpg(second.pid, 9)
    assert os.listdir(folder) == ["theirs.deb"]


def test_tests_wait_for_a_build_and_not_for_tests(tmp_path, another):
    another(fcntl.LOCK_EX)
    with begin(tmp_path, "test", "--repo", tmp_path) as second:
        assert "a build of packages for Debian 12 is at work, waiting for its end" in second.stdout.readline()
        another(fcntl.LOCK_SH)      # that ends, and its tests begin
        assert "there are no packages in" in second.communicate(timeout=30)[0]
    with begin(tmp_path, "test", "--repo", tmp_path) as second:
        assert "there are no packages in" in second.communicate(timeout=30)[0].splitlines()[0]
