# SPDX-License-Identifier: BSD-2-Clause
"""A figure in the docs is one that a bench gives today, with the goal that it has there.

A row of a table of figures names them in a comment, `<!-- drr.share_error_max -->`, that no reader sees: BENCH.FIGURE, or a family of figures, of what
bench/run BENCH has; `paper` is somebody else's.  In tables that explain a bench they stand as code.
"""
import functools
import re
import subprocess

import pytest
from parts import TOP, documents

BENCHES = sorted(p.parent.name for p in TOP.glob("bench/*/run"))


@functools.lru_cache
def figures(bench):
    """What there is, as the bench says itself."""
    r = subprocess.run([TOP / "bench/run", bench, "--only", "nothing"], capture_output=True, text=True, check=False)
    return set(r.stderr.split("there are: ")[1].strip().split(", "))


@functools.lru_cache
def goals(bench):
    """{figure: its goals}, where the source has both in a line."""
    text = "\n".join(p.read_text() for p in sorted((TOP / "bench" / bench).rglob("*.py")))
    found = {}
    for name, goal in re.findall(r'"([a-z_0-9]+)"[^\n]*?"[<>=]= ([\d.]+)"', text):
        found.setdefault(name, set()).add(float(goal))
    return found


def sections(text):
    return re.split(r"^(?=## )", text, flags=re.M)


def rows(section):
    """(first cell, whole row) of all tables."""
    for table in re.findall(r"(?:^\|.*\n)+", section + "\n", re.M):
        for row in table.strip().split("\n")[2:]:
            yield row.strip("|").split(" | ")[0].strip(), row


def measured():
    """(document, first cell, row) of tables in sections that say which bench they are of."""
    for p in documents():
        for section in sections(p.read_text()):
            if re.search(r"`(?:sudo )?bench/(?:run )?\w+", section) and p.parent.name != "etc" and "## Figures" not in section:
                for first, row in rows(section):
                    yield str(p.relative_to(TOP)), first, row


ROWS = [x for x in measured() if x[0] != "docs/ARCHITECTURE.md"]


def named(first):
    m = re.search(r"<!-- (.*?) -->", first)
    return m[1].split() if m else []


def unknown(name):
    bench, _, figure = name.partition(".")
    if name == "paper":
        return False
    return bench not in BENCHES or not (any(f.startswith(figure[:-1]) for f in figures(bench)) if figure.endswith("*") else figure in figures(bench))


def test_each_row_says_which_figure_it_is():
    assert len(ROWS) > 110
    explained = [(d, f) for d, f, _ in ROWS if not named(f) and not re.match(r"`[a-z_0-9]+`", f)]
    assert explained == [], "no bench for this row: name its figure, <!-- BENCH.FIGURE -->"


def test_each_figure_is_one_that_a_bench_gives():
    assert [(d, name) for d, f, _ in ROWS for name in named(f) if unknown(name)] == []


def in_brackets(text):
    """Goals in a row: "0.5 points (1.0)", "20 %", "1/3"."""
    for inner in re.findall(r"\(([^()]*)\)", text):
        m = re.match(r"([\d,]+(?:\.\d+)?)(/\d+| %)?(?=$|[:;, ])", inner)
        if m:
            number = float(m[1].replace(",", ""))
            yield number / 100 if m[2] == " %" else round(number / float(m[2][1:]), 3) if m[2] else number


@functools.lru_cache
def numbers(bench):
    """All that its sources have; for goals that stand elsewhere than beside their figure's name."""
    text = "\n".join(p.read_text() for p in sorted((TOP / "bench" / bench).rglob("*.py")))
    return {float(n.replace("_", "")) for n in re.findall(r"(?<![\w.])\d[\d_]*(?:\.\d+)?", text)}


def wrong_goals(first, row):
    names = [n.partition(".")[::2] for n in named(first) if n != "paper"]
    beside = [goals(bench).get(figure) for bench, figure in names]
    right = set().union(*((beside if None not in beside else [numbers(bench) for bench, _ in names]) or [set()]))
    return [g for g in in_brackets(re.sub(r"<!--.*?-->", "", row)) if not any(abs(g - x) < 1e-9 or abs(g - x * 100) < 1e-9 or abs(g * 100 - x) < 1e-9 for x in right)]


def test_goals_are_those_of_the_benches():
    with_goals = [x for x in ROWS if list(in_brackets(x[2])) and named(x[1])]
    assert len(with_goals) > 60
    assert [(d, first, wrong) for d, first, row in with_goals if (wrong := wrong_goals(first, row))] == []


@pytest.mark.parametrize("document,bench", [("docs/mod_qos_drr.md", "gateway"), ("docs/squid-fqrs.md", "fqrs")])
def test_what_a_bench_measures_is_what_it_has(document, bench):
    section, = [s for s in sections((TOP / document).read_text()) if s.startswith("## Measuring it")]
    there, found = figures(bench), 0
    for first, row in rows(section):
        names = re.findall(r"`([a-z0-9_]+)`", first if bench == "gateway" else row.rsplit("|", 2)[1])
        whole = [n for n in names if not n.startswith("_")]
        found += len(whole)
        assert [n for n in whole if n not in there] == [], row
        stem = whole[0]
        for suffix in [n for n in names if n.startswith("_")]:
            assert any(f.endswith(suffix) and f.split("_")[:2] == stem.split("_")[:2] for f in there), (row, suffix)
        goal = re.search(r"`[<>=]= ([\d.]+)`", row)
        if goal and stem in goals(bench):
            assert float(goal[1]) in goals(bench)[stem], row
    assert found > 20


def test_benches_that_are_named_are_there():
    for p in documents():
        for name in re.findall(r"bench/(?:run )?([a-z]+)(?:/run)?`", p.read_text()):
            assert name in BENCHES or (TOP / "bench" / name).exists() or (TOP / "bench/lib" / name).exists(), (p, name)


def test_what_a_task_costs_stands_where_it_was_measured():
    """The page of a task copies figures; each number of it stands in README or in the document of its part."""
    for p in sorted((TOP / "docs/tasks").glob("*.md")):
        section, = [s for s in sections(p.read_text()) if s.startswith("## What it costs")]
        section = re.sub(r"\]\([^)]*\)", "", section)
        source = (TOP / "README.md").read_text() + "".join((TOP / "docs" / f).read_text() for f in re.findall(r"\]\(\.\./([\w-]+\.md)", p.read_text()))
        numbers = [n for n in re.findall(r"(?<![\w.])\d[\d,]*\.?\d+(?![\w.]*\d)", section)]
        assert numbers, p
        assert [n for n in numbers if not re.search(rf"(?<![\d.,]){re.escape(n)}(?![\d])", source)] == [], p


def test_names_for_dashboards_are_those_of_the_table():
    text = (TOP / "docs/figures.md").read_text().split("## Prometheus")[1].split("## JSON")[0]
    classes = text.split("Of each class")[1].split("Of each window")[0]
    told = set(re.findall(r"`(\w+)(?:\{[^}]*\})?`", " ".join(row.split("|")[1] for row in re.findall(r"^\| `.*$", classes, re.M))))
    known = set(re.findall(r'^RS_FIGURE\(\w+, "(\w+)"', (TOP / "core/rs_figures.def").read_text(), re.M))
    assert told - {"refused_total"} == known and len(known) > 20


def test_what_is_wrong_is_found():
    assert unknown("drr.share_error_of_yesterday") and unknown("dhr.share_error_max") and unknown("pktcache.rival_lzma_*") and not unknown("pktcache.rival_gzip_*")
    row = "| a <!-- core.instructions_drr_3 --> | 507 (500: **short**) |"
    assert wrong_goals("a <!-- core.instructions_drr_3 -->", row) == [] and wrong_goals("a <!-- core.instructions_drr_3 -->", row.replace("500", "510")) == [510.0]
    assert named("`a` b <!-- drr.x drr.y -->") == ["drr.x", "drr.y"] and named("a") == []
    assert list(in_brackets("0.5 points (1.0) / 11 % (20 %) (1/3) (1.35: **short**) (not this) (100,000)")) == [1.0, 0.2, 0.333, 1.35, 100000.0]
