# SPDX-License-Identifier: BSD-2-Clause
"""The commands answer alike, and their manuals have what their help has."""
import json
import pathlib
import re
import subprocess

import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]
MANUALS = {"policy/fairgate-policy": 1, "mod_eeod/fairgate-eeod": 1, "pktcache/fairgate-pktcache": 8, "prober/fairgate-prober": 1,
           "prober/fairgate-bots": 1}
ONE_THING = {"ccnget/fairgate-ccnget": 1, "ccnget/fairgate-ccncall": 1}       # what has no subcommands
ALL = {**MANUALS, **ONE_THING, "doctor/fairgate": 1}

TABLE = "http://h/\t5" + "\t-" * 2 + "\t0\t0\t1\t0\t0\t0\t-\t-\n"
CONFIG = "secret /k\nlocal 192.0.2.1:1\npeer 192.0.2.2:1\nservers 10.0.0.0/8\nclients 0.0.0.0/0\n"
# What is right and what is not, and of that the beginning of what is said behind the file's name.
FILES = {
    "policy/fairgate-policy": ('<classification><class id="1" quantum="1" default="yes"/></classification>', "<classification>\n<class/></classification>", ":2: "),
    "mod_eeod/fairgate-eeod": ("<p><!--EEOD-->me<!--/EEOD--></p>", "<p>me<!--/EEOD--></p>", ": a closing mark closes nothing"),
    "pktcache/fairgate-pktcache": (CONFIG + "cache 64M\n", CONFIG + "cache 64T\n", ":6: cache 64T: must be a number of bytes from "),
    "prober/fairgate-bots": ("googlebot https://www.example.org/list\n", "googlebot https://www.example.org/list\nbingbot\n", ":2: bingbot has neither a list nor names"),
    "prober/fairgate-prober": (None, "fairgate-pages\t3\t0\n", ":1: a page-size table of another version"),
}


@pytest.fixture(params=MANUALS)
def name(request):
    return request.param


def runner(build, name):
    def run(*words, **kwargs):
        r = subprocess.run([build / name, *words], capture_output=True, text=True, check=False, **kwargs)
        return r.returncode, r.stdout, r.stderr
    return run


@pytest.fixture
def command(build, name):
    return runner(build, name)


def test_help_and_version(command, name):
    program = name.split("/")[1]
    status, said, _ = command("--help")
    assert status == 0 and said.startswith(f"usage: {program} ") and "check [--json] " in said and "Exit status: 0 " in said
    assert command("-h") == command("help") == command("check", "--help") == command("check", "-h") == (0, said, "")
    status, said, _ = command("--version")
    assert status == 0 and re.fullmatch(program + r" \d+\.\d+\.\d+\n", said)


@pytest.mark.parametrize("words", ([], ["frob"], ["--frob"], ["check"], ["check", "--frob"], ["check", "--json"]))
def test_wrong_usage(command, name, words):
    status, out, said = command(*words)
    assert status == 2 and out == ""
    assert said.startswith("usage: " if not words else name.split("/")[1] + ": ") and "--help" in said


def test_check(build, command, name, tmp_path):
    good, bad = tmp_path / "good", tmp_path / "bad"
    right, wrong, why = FILES[name]
    bad.write_text(wrong)
    if right:
        good.write_text(right)
    else:
        subprocess.run([build / "prober/fairgate-prober", "import", good], input=TABLE, text=True, check=True)
    status, said, errors = command("check", good)
    assert status == 0 and said.startswith(f"{good}: right") and errors == ""
    status, said, errors = command("check", bad, good)
    assert status == 1 and said.startswith(f"{good}: right") and errors.startswith(f"{bad}{why}"), errors
    status, said, errors = command("check", "--json", bad, good)
    answers = [json.loads(line) for line in said.splitlines()]
    assert status == 1 and errors == "" and [a["file"] for a in answers] == [str(bad), str(good)] and [a["right"] for a in answers] == [False, True]
    assert answers[0]["error"].startswith(f"{bad}{why}") and answers[1]["error"] is None
    status, said, errors = command("check", tmp_path / "none")
    assert status == 1 and said == "" and errors.startswith(f"{tmp_path}/none: ") and "No such file" in errors


@pytest.mark.parametrize("name", ALL)
def test_the_manual_has_what_help_has(build, name):
    manual = (TOP / f"{name}.{ALL[name]}").read_text().replace("\\-", "-")
    help_text = runner(build, name)("--help")[1]
    words = set(re.findall(r"--[a-z][a-z-]*", help_text))
    if name in MANUALS:
        words |= set(re.findall(rf"^(?:usage:|      ) {name.split('/')[1]} (\S+)", help_text, re.M)) | set(re.findall(r"^  ([a-z]+) ", help_text, re.M))
    assert len(words) > 5
    assert [w for w in sorted(words) if not re.search(rf"(?<![\w-]){w}(?![\w-])", manual)] == []


@pytest.mark.parametrize("name", ONE_THING)
def test_a_command_that_does_one_thing(build, name):
    run, program = runner(build, name), name.split("/")[1]
    status, said, _ = run("--help")
    assert status == 0 and said.startswith(f"usage: {program} [OPTION]... ") and "Exit status: 0 " in said
    assert run("-h") == run("help") == run("/a", "--help") == (0, said, "")
    status, said, _ = run("--version")
    assert status == 0 and re.fullmatch(program + r" \d+\.\d+\.\d+\n", said)
    for words in ((), ("--frob", "/a"), ("/a", "/b")):
        status, out, said = run(*words)
        assert status == 2 and out == "" and said.startswith(f"{program}: " if words else "usage: ") and "--help" in said
