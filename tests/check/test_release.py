# SPDX-License-Identifier: BSD-2-Clause
"""What "make dist" gives holds all that the repository holds, and configures and builds in its own folder, where core/ is a folder."""
import os
import pathlib
import subprocess
import tarfile

import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]


def made(build, there, **environment):
    """Its sources, unpacked there."""
    name = subprocess.run(["make", "-s", "--no-print-directory", "-C", build, "-f", "-", "name"], input="include Makefile\nname: ; @echo $(distdir)\n",
                          capture_output=True, text=True, check=True).stdout.splitlines()[-1]      # it may have made its Makefile anew before
    # Elsewhere, as several may be made at a time; automake wants a relative name.
    r = subprocess.run(["make", "-C", build, f"distdir={os.path.relpath(there / name, build)}", "distdir"], env={**os.environ, **environment}, capture_output=True,
                       text=True, check=False)
    assert r.returncode == 0, r.stdout + r.stderr
    return there / name


@pytest.fixture(scope="module")
def release(build, tmp_path_factory):
    return made(build, tmp_path_factory.mktemp("release"))


def held():
    said = subprocess.run(["git", "-c", "safe.directory=*", "-c", "core.quotePath=off", "ls-files"], cwd=TOP, capture_output=True, text=True, check=False)
    text = said.stdout if said.returncode == 0 else (TOP / "MANIFEST").read_text()
    return set(text.splitlines())


def test_every_file_of_the_repository_is_in_it(release):
    files = {str(p.relative_to(release)) for p in release.rglob("*") if not p.is_dir()}
    assert held() - files == set()
    assert {"MANIFEST", "configure"} <= files
    built = [f for f in files - held() if f.endswith((".o", ".lo", ".la", ".so")) or "/.deps/" in f or f.endswith("/Makefile")]
    assert built == []


def test_it_is_made_by_whoever_does_not_own_the_repository(build, tmp_path):
    """As root does in a container, of files that belong to a user outside; git would refuse."""
    release = made(build, tmp_path, GIT_TEST_ASSUME_DIFFERENT_OWNER="1")
    assert set((release / "MANIFEST").read_text().splitlines()) == held()


def test_it_is_configured_and_built_in_its_own_folder(release):
    r = subprocess.run(["./configure", "-q", "CFLAGS=-O0"], cwd=release, capture_output=True, text=True, check=False)
    assert (r.returncode, r.stderr) == (0, ""), r.stderr
    assert (release / "core" / "rs.h").exists() and not (release / "confdefs.h").exists()
    r = subprocess.run(["make", "-C", "core"], cwd=release, capture_output=True, text=True, check=False)
    assert r.returncode == 0, r.stdout + r.stderr
    r = subprocess.run(["make", "dist", "XZ_OPT=-0"], cwd=release, capture_output=True, text=True, check=False)
    assert r.returncode == 0, r.stdout + r.stderr
    with tarfile.open(next(release.glob("*.tar.xz"))) as t:
        again = {n.split("/", 1)[1] for n in t.getnames() if "/" in n}
    assert held() - again == set(), "a release that is made from a release"
