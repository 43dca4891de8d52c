# SPDX-License-Identifier: BSD-2-Clause
"""A promise in the docs names its test, and that test is there."""
import pathlib
import re

TOP = pathlib.Path(__file__).resolve().parents[2]
NAMED = re.compile(r"`(test_\w+)`")
OF_UNIT = re.compile(r"`(test_\w+\.c)`:((?:\s*`\w+`,?)+)")


def defined():
    return {name for p in (TOP / "tests").rglob("test_*.py") for name in re.findall(r"^def (test_\w+)\(", p.read_text(), re.M)}


def test_tests_that_docs_name_are_there():
    there, missing, n = defined(), [], 0
    for p in sorted((TOP / "docs").glob("*.md")):
        text = p.read_text()
        for name in NAMED.findall(text):
            n += 1
            if name not in there:
                missing.append(f"{p.name}: {name}")
        for program, names in OF_UNIT.findall(text):
            tests = re.findall(r"^START_TEST\((\w+)\)", (TOP / "tests/unit" / program).read_text(), re.M)
            missing += [f"{p.name}: {program}: {name}" for name in re.findall(r"`(\w+)`", names) if name not in tests]
    assert n > 20
    assert not missing, "\n".join(missing)
