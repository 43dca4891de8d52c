# SPDX-License-Identifier: BSD-2-Clause
"""
marking.py - marks that diff(1) puts into pages: around what is not the same in all versions that several visitors got of a page at the same time.

    pages = {"ann": b"<html>...", "bob": b"<html>...", ...}
    marked(pages)["ann"]

The paper had diff compare lines.  Here it compares tags and words, so that a block is as small as it can be; but a mark is a comment only where the page is text: within a
tag, a comment of the page's own, a script, a style, a title or a text area it would be what a reader sees or a script trips over.  So each of these is one word to diff: if a
visitor's name stands in a script, the whole script is in the block.

What all versions have in common is cut into the same runs in each of them: a block stands in all versions or in none, and is empty where a visitor has nothing to put there.  A
run of fewer than LEAST bytes between two blocks is not worth its marks and segments, and goes into one block with them.
"""
import os
import re
import subprocess
import tempfile

from lab.marks import CLOSE, OPEN

LEAST = 256
WORD = re.compile(rb"""<!--.*?-->|<(script|style|title|textarea|iframe|svg)\b.*?</\1\s*>|<(?:"[^"]*"|'[^']*'|[^'">])*>|<|[^<\s]+\s*|\s+""", re.S | re.I)
HUNK = re.compile(rb"^(\d+)(?:,(\d+))?([acd])(\d+)(?:,(\d+))?$", re.M)


def words(page):
    found = [m.group() for m in WORD.finditer(page)]
    assert b"".join(found) == page
    return found


def lines(of):
    return b"".join(w.replace(b"\\", b"\\\\").replace(b"\n", b"\\n") + b"\n" for w in of)


def equal(directory, ours, theirs):
    """{index in ours: index in theirs} of the words that diff finds to be the same."""
    paths = [os.path.join(directory, name) for name in ("ours", "theirs")]
    for path, of in zip(paths, (ours, theirs)):
        with open(path, "wb") as f:
            f.write(lines(of))
    out = subprocess.run(["diff", "--text", *paths], stdout=subprocess.PIPE, check=False).stdout
    pairs, a, b = {}, 0, 0
    for first, last, kind, their_first, their_last in HUNK.findall(out):
        begin, their_begin = int(first) - (kind != b"a"), int(their_first) - (kind != b"d")
        pairs.update(zip(range(a, begin), range(b, their_begin)))
        a, b = int(last or first), int(their_last or their_first)
    pairs.update(zip(range(a, len(ours)), range(b, len(theirs))))
    return pairs


def runs(versions):
    """What all versions have in common: of each run where it begins in each version, and how many words it has."""
    base = versions[0]
    with tempfile.TemporaryDirectory() as directory:
        maps = [{i: i for i in range(len(base))}, *(equal(directory, base, v) for v in versions[1:])]
    found = []
    for i in range(len(base)):
        at = [m.get(i) for m in maps]
        if None in at:
            continue
        if found and at == [b + found[-1][1] for b in found[-1][0]]:
            found[-1][1] += 1
        else:
            found.append([at, 1])
    return [(at, n) for at, n in found if sum(map(len, base[at[0]:at[0] + n])) >= LEAST]


def marked(pages):
    versions = [words(p) for p in pages.values()]
    kept = [([0] * len(versions), 0), *runs(versions), ([len(v) for v in versions], 0)]
    out = [b""] * len(versions)
    for (before, n), (at, more) in zip(kept, kept[1:]):
        blocks = [b"".join(v[b + n:a]) for v, b, a in zip(versions, before, at)]
        for k, (version, block) in enumerate(zip(versions, blocks)):
            if any(blocks):
                out[k] += OPEN + block + CLOSE
            out[k] += b"".join(version[at[k]:at[k] + more])
    for page, with_marks in zip(pages.values(), out):
        assert OPEN not in page and CLOSE not in page and with_marks.replace(OPEN, b"").replace(CLOSE, b"") == page
    return dict(zip(pages, out))


def blocks(page):
    """(bytes within marks, pairs of marks)"""
    found = re.findall(OPEN + b"(.*?)" + CLOSE, page, re.S)
    return sum(map(len, found)), len(found)
