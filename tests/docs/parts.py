# SPDX-License-Identifier: BSD-2-Clause
"""
parts.py - what of the docs is there to be copied: blocks that are indented by four or fenced, and what stands in them between empty lines.

A part is of one kind (kinds.py), and its kind says how it is tried.  A session ("$ command" and what that says) and a fenced block are parts as a
whole.
"""
import pathlib
import re
import textwrap
import typing

TOP = pathlib.Path(__file__).resolve().parents[2]


class Part(typing.NamedTuple):
    file: str
    line: int
    text: str

    def __str__(self):
        return f"{self.file}:{self.line}"


def documents():
    """README and docs/, and what stands beside examples for who copies them."""
    return [TOP / "README.md", TOP / "CONTRIBUTING.md", TOP / "etc/examples/README.md", *sorted((TOP / "docs").rglob("*.md"))]


def blocks(text):
    """(line, text, fenced) of each."""
    lines, i = text.split("\n"), 0
    while i < len(lines):
        begun = i
        if lines[i].lstrip().startswith("```"):
            i += 1
            while not lines[i].lstrip().startswith("```"):
                i += 1
            yield begun + 2, "\n".join(lines[begun + 1:i]), True
        elif lines[i].startswith("    ") and not lines[i - 1].strip():
            while i < len(lines) and (lines[i].startswith("    ") or not lines[i].strip()):
                i += 1
            yield begun + 1, textwrap.dedent("\n".join(lines[begun:i])).rstrip("\n"), False
            continue
        i += 1


def parts_of(file, text):
    found = []
    for line, block, fenced in blocks(text):
        if fenced:
            found.append(Part(file, line, block))
            continue
        for m in re.finditer(r"(?:[^\n]+\n?)+", block):
            found.append(Part(file, line + block[:m.start()].count("\n"), m[0].rstrip("\n")))
    return found


def all_parts():
    return [part for p in documents() for part in parts_of(str(p.relative_to(TOP)), p.read_text(encoding="utf-8"))]


def inline(text):
    """`code` in sentences and tables, each with its line; it may go on in the next one."""
    blank = text.split("\n")
    for line, block, _ in blocks(text):
        n = block.count("\n") + 1
        blank[line - 1:line - 1 + n] = [""] * n
    for m in re.finditer(r"(?:[^\n]+\n?)+", "\n".join(blank)):
        for code in re.finditer(r"`([^`]+)`", m[0]):
            yield "\n".join(blank)[:m.start() + code.start()].count("\n") + 1, re.sub(r"\s+", " ", code[1])
