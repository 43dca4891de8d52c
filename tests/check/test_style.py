# SPDX-License-Identifier: BSD-2-Clause
"""One style: what CONTRIBUTING.md says of it, as far as a machine can look."""
import collections
import pathlib
import re
import subprocess

TOP = pathlib.Path(__file__).resolve().parents[2]
HOUSES = ("base", "core", "shm", "policy", "pages", "crawlers", "marks", "ndn", "service", "web", "bots", "mod_qos_drr", "mod_eeod", "pktcache", "pktcache/daemon", "prober", "ccnget")
CODE, PROSE = 120, 100


def ours(*suffixes):
    """Files of the project, as a release lists them: not what a build has made."""
    built = re.compile(r"(^|/)(build[^/]*|autom4te\.cache|\.git|bench/out|policy/policy_schema_text\.c)(/|$)")
    return [p for p in sorted(TOP.rglob("*")) if p.suffix in suffixes and p.is_file() and not built.search(str(p.relative_to(TOP)))]


def too_long(path):
    return [f"{path.relative_to(TOP)}:{n}: {len(line)} columns" for n, line in enumerate(path.read_text().split("\n"), 1) if len(line) > CODE]


def too_long_prose(text):
    """Numbers of lines; tables, what is indented or fenced, and what has no blank to break at are left out."""
    fenced, found = False, []
    for n, line in enumerate(text.split("\n"), 1):
        fenced ^= line.lstrip().startswith("```")
        if len(line) > PROSE and not fenced and not line.startswith("    ") and not line.lstrip().startswith("|") and " " in line[:PROSE].strip():
            found.append(n)
    return found


def test_width_of_code():
    files = ours(".c", ".h", ".cc", ".def")
    assert len(files) > 300
    bad = [said for p in files for said in too_long(p)]
    assert not bad, "\n".join(bad)


def test_width_of_prose():
    files = ours(".md")
    assert len(files) > 8
    bad = [f"{p.relative_to(TOP)}:{n}" for p in files for n in too_long_prose(p.read_text())]
    assert not bad, "\n".join(bad)


def test_what_is_too_long_is_seen(tmp_path):
    long = "word " * 30
    assert too_long_prose(f"a\n{long}\n") == [2]
    assert not too_long_prose(f"| {long} |\n```\n{long}\n```\n    {long}\n")


def test_format():
    """Of every .c file; headers and .def files have tables that are aligned by hand."""
    files = [str(p) for p in ours(".c")]
    assert len(files) > 200
    done = subprocess.run(["clang-format", "--dry-run", "-Werror", *files], cwd=TOP, capture_output=True, text=True, check=False)
    assert done.returncode == 0, "\n".join(re.findall(r"^.*error:.*$", done.stderr, re.M)[:40]) + "\nclang-format -i FILE makes it right"


def test_a_static_function_is_found_by_its_name():
    """A trace, a profile or ctags says which: no two files of the product's have one of the same name."""
    where = collections.defaultdict(set)
    for house in HOUSES:
        for p in (TOP / house).glob("*.c"):
            text = re.sub(r"__attribute__\(\([^)]*\)\)", "", p.read_text())
            for name in re.findall(r"^(?:static|RARELY static)\b[^=;(\n]*?\b([a-z_][a-z_0-9]*)\(", text, re.M):
                where[name].add(str(p.relative_to(TOP)))
    assert len(where) > 500
    twice = {name: sorted(files) for name, files in where.items() if len(files) > 1}
    assert not twice, twice


def test_headers_for_squid_are_cpp():
    """Squid is C++: a member called `class` is a word of its language, and breaks a build that nobody here makes."""
    includes = set()
    for p in (TOP / "squid-fqrs/fqrs").iterdir():
        if p.suffix in (".cc", ".h"):
            includes |= set(re.findall(r'^#include "fqrs/((?:core|policy|base|pages)/\w+\.h)"', p.read_text(), re.M))
    assert len(includes) >= 4, includes
    text = "".join(f'#include "{name}"\n' for name in sorted(includes))
    done = subprocess.run(["clang", "-x", "c++", "-std=c++17", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", f"-I{TOP}", "-"], input=text,
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
