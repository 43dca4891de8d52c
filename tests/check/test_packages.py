# SPDX-License-Identifier: BSD-2-Clause
"""Folders of packages that are being made or tried are nobody else's."""
import fcntl
import os
import pathlib
import shutil
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


def git(folder, *words):
    return subprocess.run(["git", "-C", folder, "-c", "user.name=Tester", "-c", "user.email=tester@fairgate.invalid", *words], capture_output=True, text=True, check=True).stdout


def version_of(folder):
    return subprocess.run([folder / "packages" / "version"], capture_output=True, text=True, check=True).stdout.strip()


def newer(a, b):
    return subprocess.run(["dpkg", "--compare-versions", a, "gt", b], check=False).returncode == 0


def test_version_of_a_later_commit_is_newer_to_apt(tmp_path):
    """Every commit was 0.1.0~deb12: apt upgraded to no fixed module, and took an older build for a newer one."""
    tree = tmp_path / "tree"
    (tree / "packages").mkdir(parents=True)
    shutil.copy(PACKAGES / "version", tree / "packages" / "version")
    (tree / "configure.ac").write_text("AC_INIT([fairgate], [0.9.0])\n")
    git(tmp_path, "init", "-q", str(tree))
    versions = ["0.8.9+deb12", "0.9.0~deb12"]       # the second is what every commit was
    for i in range(24):
        (tree / "a").write_text(f"{i}\n")
        git(tree, "add", "-A")
        git(tree, "commit", "-q", "-m", f"{i}")
        if i == 12:
            versions.append(version_of(tree) + "+deb12")
            git(tree, "tag", "v0.9.0")
            assert version_of(tree) == "0.9.0"
        versions += [f"{version_of(tree)}+{debian}" for debian in ("deb12", "deb13")]
    assert all(newer(b, a) for a, b in zip(versions, versions[1:])), versions
    (tree / "a").write_text("changed\n")
    assert newer(version_of(tree) + "+deb12", versions[-1])
    git(tree, "clone", "-q", "--depth", "1", f"file://{tree}", str(tmp_path / "shallow"))
    refused = subprocess.run([tmp_path / "shallow" / "packages" / "version"], capture_output=True, text=True, check=False)
    assert refused.returncode == 1 and "--unshallow" in refused.stderr
    shutil.rmtree(tree / ".git")
    assert version_of(tree) == "0.9.0"
    (tree / "REVISION").write_text("0.9.0+git7.abcdef0\n")
    assert version_of(tree) == "0.9.0+git7.abcdef0", "of a release's sources"
