# SPDX-License-Identifier: BSD-2-Clause
"""What a bench says of a figure: a busy machine must turn over none, and a class that did not ask was not short-changed."""

import json
import os
import random
import sys

import pytest

BENCH = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "bench")
sys.path += [os.path.join(BENCH, "lib"), os.path.join(BENCH, "drr")]

from bench import Bench, measure_all     # noqa: E402
from figures import Figures     # noqa: E402
from spread import Spread, share_spread, verdict, worst     # noqa: E402

IDEAL = {"a": 60.0, "b": 30.0, "c": 10.0}


@pytest.mark.parametrize("values, goal, says", (
    ([28.1, 2.0, 6.2], "<= 2.0", None), ([0.77, 0.98, 0.99], ">= 0.95", None), ([1.11, 1.03, 1.04, 1.02, 1.05], "<= 1.05", None), ([1.0], "<= 5", None),
    ([1.03, 1.04, 1.03, 1.03, 1.04], "<= 1.05", True), ([1.2, 1.21, 1.2], "<= 1.05", False), ([0.1] * 11 + [28.1], "<= 2.0", True), ([3, 3, 3, 3, 3, 3, 0.1], "<= 2.0", None),
    (412, "<= 500", True), (512, "<= 500", False), ([9.0], None, True)))
def test_what_a_machine_turns_over_is_undecided(values, goal, says, tmp_path, capsys):
    value = Spread.of(values) if isinstance(values, list) else values
    assert verdict(value, goal) is says
    figures = Figures("x", str(tmp_path))
    assert figures.figure("f", value, "units", goal) is says
    last = capsys.readouterr().out.splitlines()[-1].split()
    assert last[0] == "x.f" and last[-1] == {None: "undecided", True: "ok", False: "short"}[says]
    with open(figures.write(), encoding="utf-8") as f:
        row = json.load(f)["figures"][0]
    assert row["ok"] is says and (row["spread"] is None) == (not isinstance(values, list))


def test_intervals_hold_what_they_are_of():
    """95 of 100, of 2,000 each: three deviations are 1.5."""
    rng = random.Random(1)
    for n in (2, 3, 5, 6, 9, 20):
        inside = sum(s.low <= 0 <= s.high for s in (Spread.of([rng.gauss(0, 1) for _ in range(n)]) for _ in range(2000)))
        assert inside >= 0.935 * 2000, n


def test_it_repeats_until_it_is_decided_or_out_of_patience():
    bench = Bench(None, Figures("x", "."), True, print)
    draws = iter([1.0, 9.0, 1.0, 1.1, 0.9, 1.0, 1.2, 1.0, 1.1, 1.0, 1.0, 1.0])
    samples, spread = bench.repeat(lambda: next(draws), Spread.of, "<= 2.0", least=2)
    assert 6 <= len(samples) <= 10 and verdict(spread, "<= 2.0")
    samples, spread = bench.repeat(lambda: 3.0, Spread.of, "<= 2.0", least=3)
    assert len(samples) == 3 and verdict(spread, "<= 2.0") is False
    bench.patience = 0
    samples, spread = bench.repeat(lambda: 3.0, Spread.of, "<= 2.0")
    assert len(samples) == 1 and verdict(spread, "<= 2.0") is None


def test_a_family_that_fails_takes_no_other_with_it(capsys):
    def fails(bench):
        raise OSError("the server has gone")

    class Family:
        __name__ = "family"
        FAMILIES = ((fails, ("a", "b")), (lambda bench: bench.figure("c", 1, "x"), ("c",)))
    bench = Bench(None, Figures("x", "."), True, print)
    assert measure_all(bench, [Family()]) == ["a", "b"]
    assert [row["figure"] for row in bench.figures.rows] == ["c"] and "the server has gone" in capsys.readouterr().err
    assert not measure_all(bench, [Family()], only=["c"])


def test_the_error_of_shares_is_not_the_chance_in_each_batch():
    rng = random.Random(1)
    even = [{c: due * rng.uniform(0.8, 1.2) for c, due in IDEAL.items()} for _ in range(40)]
    s = share_spread(even, IDEAL)
    assert s.low <= s.value <= s.high and s.high < 4
    off = share_spread([dict(b, a=b["a"] / 2) for b in even], IDEAL)
    assert verdict(off, "<= 2.0") is False
    assert verdict(share_spread(even[:1], IDEAL), "<= 2.0") is None
    nothing = share_spread([{"a": 0, "b": 0, "c": 0}], IDEAL)
    assert verdict(nothing, "<= 2.0") is False and verdict(worst([s, nothing], max), "<= 2.0") is False
    assert worst([s, off], max).value == off.value


def test_a_class_that_did_not_ask_was_not_short_changed():
    """Of those that did, the shares among each other count; with one alone nothing is known."""
    import setting
    always = {"people": 1.0, "search": 1.0, "crawlers": 1.0}
    assert setting.asking(always) == setting.IDEAL
    assert setting.asking({**always, "people": 0.6}) == {"search": 75.0, "crawlers": 25.0}
    assert setting.asking({"people": 0.6, "search": 0.9, "crawlers": 1.0}) is None
    result = {"intervals": [{"classes": {"people": {"bytes": 20}, "search": {"bytes": 30}, "crawlers": {"bytes": 10}}}] * 8, "asked": {**always, "people": 0.6}}
    assert setting.share_error(result).high < 0.1
    result["asked"] = always
    assert verdict(setting.share_error(result), "<= 2.0") is False
    result["asked"] = {"people": 0.6, "search": 0.9, "crawlers": 1.0}
    assert verdict(setting.share_error(result), "<= 2.0") is None


@pytest.mark.parametrize("what", ({"status": {"200": 90, "503": 10}}, {"errors": {"connect": 0, "reset": 9}}, {"requests": 0}))
def test_a_class_that_was_turned_away_did_ask(what):
    """Nothing of it waits, since it is refused; that must not take it out of the figure that it is to be seen in."""
    import setting
    served = {"requests": 100, "bytes": 30, "status": {"200": 100}, "errors": {"connect": 0, "reset": 1}}
    looked = {"people": 1.0, "search": 1.0, "crawlers": 0.1}
    away = {"people": {**served, "bytes": 60}, "search": served, "crawlers": {**served, "bytes": 0, **what}}
    result = {"classes": away, "intervals": [{"classes": away}] * 8}
    result["asked"] = setting.whether_asked(looked, result)
    assert result["asked"] == {"people": 1.0, "search": 1.0, "crawlers": 1.0}
    assert verdict(setting.share_error(result), "<= 2.0") is False
    assert setting.whether_asked(looked, {"classes": {**away, "crawlers": served}}) == looked
