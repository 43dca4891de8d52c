# SPDX-License-Identifier: BSD-2-Clause
"""demo then check, and check then demo, on a machine where Check is not there at first: the check has its tests in both."""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys

import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "tests"))
from lab.lab import wait_for  # noqa: E402


@pytest.fixture
def machine(tmp_path):
    """machine(*words, with_check): quickstart, with a build directory of its own."""
    lacking = tmp_path / "bin"
    lacking.mkdir()
    # Not by a variable of pkg-config's: configure would remember it.
    finder = lacking / "pkg-config"
    finder.write_text(f'#!/bin/sh\ncase " $* " in *" check "*) exit 1 ;; esac\nexec {shutil.which("pkg-config")} "$@"\n')
    finder.chmod(0o755)

    def quickstart(*words, with_check):
        env = {**os.environ, "FAIRGATE_BUILD": str(tmp_path / "build"), "MAKEFLAGS": ""}
        if not with_check:
            env["PATH"] = f"{lacking}:{env['PATH']}"
        r = subprocess.run([TOP / "quickstart", *words], env=env, capture_output=True, text=True, check=False)
        return r.returncode, r.stdout + r.stderr
    quickstart.build = tmp_path / "build"
    return quickstart


def number_of(said):
    found = re.search(r"suites: done in \d+ s, tests: (\d+) of (\d+)$", said, re.M)
    assert found and found[1] == found[2], said
    return int(found[1])


def forget(build):
    """As where nothing was configured, but for objects: that they compile need not be seen twice."""
    for path in [build / "config.status", *build.rglob("Makefile"), *(p for p in build.glob("tests/*/test_*") if p.suffix == "")]:
        path.unlink()


def test_demo_then_check_and_check_then_demo(machine):
    status, said = machine("build", with_check=False)          # what demo does before it shows anything
    assert status == 0, said
    r = subprocess.run(["make", "-C", machine.build, "check"], capture_output=True, text=True, check=False)
    assert r.returncode != 0 and "configure it with --with-tests" in r.stderr
    status, said = machine("check", "suites", with_check=False)
    assert status != 0 and "--with-tests needs Check" in said
    status, said = machine("check", "suites", with_check=True)
    assert status == 0, said
    number = number_of(said)
    assert number > 0
    demo_then_check(machine, number)

    forget(machine.build)
    status, said = machine("check", "suites", with_check=True)
    assert status == 0 and number_of(said) == number, said
    demo_then_check(machine, number)


def demo_then_check(machine, number):
    configured = (machine.build / "config.status").stat().st_mtime_ns
    status, said = machine("build", with_check=True)
    assert status == 0, said
    status, said = machine("check", "suites", with_check=True)
    assert status == 0 and number_of(said) == number, said
    assert (machine.build / "config.status").stat().st_mtime_ns == configured, "what is configured as asked is configured again"


@pytest.mark.parametrize("of_the_user", ({}, {"CI": ""}, {"CI": "yes"}))
def test_a_check_leaves_no_test_out_whoever_runs_it(tmp_path, of_the_user):
    """Where Squid is not in its cache, say: the step that needs it must not pass with a dozen tests of two hundred.  And whatever its umask, servers can read what it makes."""
    for path, text in (("squid-fqrs/build", ""), ("tests/run", 'echo "CI=$CI"; umask\n'), ("configure", "echo all: > Makefile\n"),
                       ("bootstrap", f"touch {tmp_path}/aclocal.m4 {tmp_path}/Makefile.in\n")):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text("#!/bin/sh\n" + text)
        (tmp_path / path).chmod(0o755)
    shutil.copy(TOP / "quickstart", tmp_path)
    env = {k: v for k, v in os.environ.items() if k not in ("CI", "FAIRGATE_BUILD")}
    r = subprocess.run([tmp_path / "quickstart", "check", "system-squid"], env={**env, **of_the_user}, capture_output=True, text=True, check=False, umask=0o077)
    assert r.returncode == 0, r.stdout + r.stderr
    assert (tmp_path / "build" / "log" / "system-squid.log").read_text() == f"CI={of_the_user.get('CI') or 'true'}\n0022\n"


def test_what_is_interrupted_leaves_nothing_behind(tmp_path):
    """All that it has started ends with it, and what would have come next in the background does not begin."""
    began = tmp_path / "began"
    began.mkdir()
    for path, text in (("squid-fqrs/build", f'case "$*" in *--packages) exit ;; esac\necho "$*" > {began}/$$\nsleep 300 &\necho > {began}/$!\nwait\n'),
                       ("configure", "echo all: > Makefile\n"), ("bootstrap", f"touch {tmp_path}/aclocal.m4 {tmp_path}/Makefile.in\n")):
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text("#!/bin/sh\n" + text)
        (tmp_path / path).chmod(0o755)
    shutil.copy(TOP / "quickstart", tmp_path)
    env = {k: v for k, v in os.environ.items() if k != "FAIRGATE_BUILD"}
    with subprocess.Popen([tmp_path / "quickstart", "check", "squid", "squid-stock"], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, start_new_session=True) as check:
        try:
            wait_for(lambda: len(list(began.iterdir())) == 2, 60, "the first of two in the background")
            check.send_signal(signal.SIGTERM)
            assert check.wait(20) == 130
            wait_for(lambda: subprocess.run(["pgrep", "-s", str(check.pid)], capture_output=True, check=False).returncode == 1, 10, "the end of all that it had started")
            assert len(list(began.iterdir())) == 2, "the next one began"
        finally:
            subprocess.run(["pkill", "-KILL", "-s", str(check.pid)], check=False)
