# SPDX-License-Identifier: BSD-2-Clause
"""A suite that is gone, is empty, or runs less than it holds fails the step that runs it."""
import importlib.machinery
import importlib.util
import os
import pathlib
import re
import subprocess

import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]


def load(path):
    loader = importlib.machinery.SourceFileLoader("run", str(path))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("run", loader))
    loader.exec_module(module)
    return module


run = load(TOP / "tests" / "run")
VICTIM = "tests/unit/test_pages_url"


@pytest.fixture
def world(tmp_path):
    """A build whose suites hold three tests each; "make check" writes what they say."""
    for p in run.programs():
        (tmp_path / p).parent.mkdir(parents=True, exist_ok=True)
        suite(tmp_path, p, 3, 3)
    (tmp_path / "Makefile").write_text("check:\n\t@for p in tests/*/test_*; do case $$p in *.log) ;; *) ./$$p > $$p.log;; esac; done\n")
    return tmp_path


def suite(world, program, holds, runs):
    path = world / program
    path.write_text(f'#!/bin/sh\nif [ "$RUN_SUITE" = count ]; then echo {holds}; else echo "100%: Checks: {runs}, Failures: 0, Errors: 0"; fi\n')
    path.chmod(0o755)


def step(*words):
    r = subprocess.run([TOP / "tests" / "run", *words], capture_output=True, text=True, cwd=TOP, check=False)
    return r.returncode, r.stdout + r.stderr


def test_all_is_there(world):
    status, said = step("unit", world)
    n = 3 * len(run.programs())
    assert status == 0 and said.endswith(f"# tests: {n} of {n}\n"), said


def test_a_suite_that_is_taken_away(world):
    (world / VICTIM).unlink()
    status, said = step("unit", world)
    assert status == 1 and f"{VICTIM}.c makes no program" in said


def test_a_suite_that_is_taken_away_and_its_old_log_stands_there(world):
    assert step("unit", world)[0] == 0
    (world / VICTIM).unlink()
    status, said = step("unit", world)
    assert status == 1 and f"{VICTIM} was not run" in said


@pytest.mark.parametrize("holds,runs,why", [(0, 0, "holds no test"), (3, 0, "ran no test"), (3, 2, "holds 3 tests, and 2 ran")])
def test_a_suite_that_runs_less_than_it_holds(world, holds, runs, why):
    suite(world, VICTIM, holds, runs)
    status, said = step("unit", world)
    assert status == 1 and f"{VICTIM} {why}" in said


def test_nothing_was_built(world):
    """As a build directory was that had been configured where Check was missing: zero tests, and all was well."""
    for p in run.programs():
        (world / p).unlink()
    (world / "Makefile").write_text("check:\n")
    status, said = step("unit", world)
    assert status == 1 and said.endswith("# tests: 0 of 0\n")


FAILS_ONCE = """#!/bin/sh
if [ "$RUN_SUITE" = count ]; then echo 3; exit; fi
echo x >> {seen}; [ $(wc -l < {seen}) -le {times} ] || {{ echo "100%: Checks: 3, Failures: 0, Errors: 0"; exit; }}
printf '66%%: Checks: 3, Failures: 1, Errors: 0\ntest_a.c:7:{how}\n'
exit 1
"""


@pytest.mark.parametrize("how,times,later,first,then", [("F:late:0: 600000 > 500000", 1, True, 0, 0), ("F:late:0: 600000 > 500000", 2, True, 0, 1),
                                                        ("F:late:0: 600000 > 500000", 1, False, 1, None),
                                                        ("E:late:0: (after this point) Received signal 11 (Segmentation fault)", 1, True, 1, None),
                                                        ("F:late:0: no ==1==ERROR: LeakSanitizer: detected memory leaks", 1, True, 1, None)])
def test_a_program_that_fails_beside_others_has_one_more_try(world, monkeypatch, how, times, later, first, then):
    """Only where that is asked for, and not what was seen, a crash for one."""
    (world / VICTIM).write_text(FAILS_ONCE.format(seen=world / "seen", times=times, how=how))
    (world / "Makefile").write_text("check:\n\t@for p in tests/*/test_*; do case $$p in *.log|*.trs) continue;; esac; "
                                    "./$$p > $$p.log && r=PASS || r=FAIL; echo :global-test-result: $$r > $$p.trs; done; ! grep -q FAIL tests/*/*.trs\n")
    notes = world / "again"
    if later:
        monkeypatch.setenv("FAIRGATE_AGAIN", str(notes))
    else:
        monkeypatch.delenv("FAIRGATE_AGAIN", raising=False)
    status, said = step("unit", world)
    assert status == first and how in said, said
    assert notes.exists() == (then is not None)
    if then is not None:
        status, said = step("again", notes)
        assert status == then and len((world / "seen").read_text()) == 4, said


def test_programs_count_what_they_are_given(build):
    """A real one: fewer because Check was told so, and none."""
    program = build / VICTIM
    holds = run.held(build, VICTIM)
    for choice, status in (("CK_RUN_CASE", 1), (None, 0)):
        env = {**os.environ, choice: "there is none of this name"} if choice else os.environ
        r = subprocess.run([program], env=env, capture_output=True, text=True, check=False)
        assert r.returncode == status, r.stdout
        assert (f"0 tests ran of {holds}" in r.stdout) == bool(choice)


ONE = "import pytest\n\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.delenv("FAIRGATE_AGAIN", raising=False)
    (tmp_path / "conftest.py").write_text((TOP / "tests" / "system" / "conftest.py").read_text().replace("__file__", repr(str(TOP / "tests/system/conftest.py"))))
    return tmp_path


def test_both_ways_of_running_are_counted(folder):
    (folder / "test_some.py").write_text(ONE + "def test_a(): pass\ndef test_b(): pass\n@pytest.mark.alone\ndef test_c(pytestconfig): assert not hasattr(pytestconfig, 'workerinput')\n")
    status, said = step("pytest", folder, folder)
    assert status == 0 and said.endswith("# tests: 3 of 3\n"), said
    assert re.search(r"^2 passed", said, re.M) and re.search(r"^1 passed", said, re.M)


@pytest.mark.parametrize("times,status", [(1, 0), (2, 1)])
def test_what_fails_beside_others_has_one_more_try(folder, times, status):
    seen = folder / "seen"
    (folder / "test_some.py").write_text(ONE + f"""def test_a(): pass
def test_b():
    with open({str(seen)!r}, "a+") as f:
        f.write("x")
        assert f.tell() > {times}
""")
    got, said = step("pytest", folder, folder)
    assert got == status and len(seen.read_text()) == 2, said
    assert "1 failed beside others" in said and said.endswith("# tests: 2 of 2\n"), said


@pytest.mark.parametrize("times,status", [(1, 0), (2, 1)])
def test_a_second_try_may_come_later(folder, monkeypatch, times, status):
    """Two runs note theirs; what decides is the second try, with the environment of the run."""
    for name in "ab":
        (folder / f"test_{name}.py").write_text(f"""import os
def test_{name}():
    with open({str(folder / name)!r}, "a+") as f:
        f.write(os.environ["FAIRGATE_WHOSE"])
        assert f.tell() > {times}
def test_beside(): pass
""")
    notes = folder / "again"
    monkeypatch.setenv("FAIRGATE_AGAIN", str(notes))
    for name in "ab":
        monkeypatch.setenv("FAIRGATE_WHOSE", name)
        got, said = step("pytest", folder / f"test_{name}.py", folder)
        assert got == 0 and "second try at the end" in said and said.endswith("# tests: 2 of 2\n"), said
    monkeypatch.setenv("FAIRGATE_WHOSE", "c")
    got, said = step("again", notes)
    assert got == status and said.endswith("# tests: 2 of 2\n"), said
    assert [(folder / name).read_text() for name in "ab"] == ["aa", "bb"]


@pytest.mark.parametrize("what", ["WARNING: ThreadSanitizer: data race (pid=1)", "==1==ERROR: AddressSanitizer: heap-buffer-overflow", "a.c:1:2: runtime error: shift",
                                  "AH00052: child pid 1 exit signal Segmentation fault (11)"])
def test_what_was_seen_has_no_second_try(folder, what):
    seen = folder / "seen"
    (folder / "test_some.py").write_text(f"""import os
def test_a(): pass
def test_b():
    if not os.path.exists({str(seen)!r}):
        open({str(seen)!r}, 'w').close()
        assert False, {what!r}
""")
    status, said = step("pytest", folder, folder)
    assert status == 1 and "second try" not in said, said


def test_a_second_try_of_a_long_loop_is_as_long(folder):
    (folder / "test_some.py").write_text("def test_a(pytestconfig): assert not pytestconfig.getoption('--long')\ndef test_b(): pass\n")
    status, said = step("pytest", folder, folder, "--long", "-k", "test_a")
    assert status == 1 and "1 failed beside others" in said, said


def test_a_second_try_that_is_skipped_is_no_success(folder, monkeypatch):
    monkeypatch.delenv("CI", raising=False)
    seen = folder / "seen"
    (folder / "test_some.py").write_text(ONE + f"""import os
def test_a():
    if os.path.exists({str(seen)!r}):
        pytest.skip('not again')
    open({str(seen)!r}, 'w').close()
    assert False
""")
    status, said = step("pytest", folder, folder)
    assert status == 1 and "of 1 that had a second try 0 ran, 1 were skipped" in said, said


def test_a_folder_without_tests(folder):
    status, said = step("pytest", folder, folder)
    assert status == 1 and "holds no test" in said


def test_a_run_that_ends_before_its_tests_do(folder):
    (folder / "test_some.py").write_text(ONE + "def test_a(): pass\n@pytest.mark.alone\ndef test_b(): pytest.exit('enough', 0)\n")
    status, said = step("pytest", folder, folder)
    assert status == 1 and "(alone) holds 1 tests, and 0 ran" in said, said


@pytest.mark.parametrize("server,mark,status", [("", "", 0), ("true", "", 1), ("true", "@pytest.mark.may_skip('no such device')\n", 0)])
def test_a_build_server_skips_nothing(folder, monkeypatch, server, mark, status):
    monkeypatch.setenv("CI", server)
    (folder / "test_some.py").write_text(ONE + f"def test_a(): pass\n{mark}def test_b(): pytest.skip('not here')\n")
    got, said = step("pytest", folder, folder)
    assert got == status, said
    assert said.endswith("# tests: 2 of 2\n" if status else "# tests: 1 of 2, 1 skipped\n"), said


def test_no_two_files_of_tests_have_one_name():
    """pytest imports them by it, and collects none of them otherwise."""
    names = [p.name for p in (TOP / "tests" / "system").rglob("*.py") if p.name not in ("conftest.py", "__init__.py")]
    assert sorted(names) == sorted(set(names))
