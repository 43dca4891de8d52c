# SPDX-License-Identifier: BSD-2-Clause
"""
spread.py - a figure that was measured several times: its value, and between what the next measurement's middle may be expected.

    s = Spread.of([0.97, 1.02, 0.99])       the median; low and high: in 95 of 100 cases what it stands for lies between them
    worst([s, t], max)                      of several figures the one that counts
    verdict(s, "<= 1.05")                   True, False, or None: the interval holds both what keeps the goal and what does not

Six and more values: the interval of order statistics, which asks nothing of their distribution.  Fewer: Student's t, wide for so few.  One value says nothing about its
spread, and decides nothing.  A plain number was counted, or measured once in a long run, and has none.

It is looked at again after each repetition (bench.Bench.repeat), so that more than 5 of 100 decisions near a goal are wrong: those are figures that are what the goal says.
"""
import dataclasses
import math
import statistics

T95 = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571}       # two-sided, by degrees of freedom


def t95(df):
    if df in T95:
        return T95[df]
    z = 1.96
    return z + (z ** 3 + z) / (4 * df) + (5 * z ** 5 + 16 * z ** 3 + 3 * z) / (96 * df ** 2)


def of_order(n):
    """How many values from either end the interval of the median of n begins: the most of which 95 of 100 intervals hold it."""
    k, outside = 0, 0.0
    while outside + math.comb(n, k) / 2 ** n <= 0.025:
        outside += math.comb(n, k) / 2 ** n
        k += 1
    return k


@dataclasses.dataclass(frozen=True)
class Spread:
    value: float
    low: float
    high: float
    runs: int

    @classmethod
    def of(cls, values):
        values = sorted(values)
        n, middle = len(values), statistics.median(values)
        if n >= 6:
            k = of_order(n)
            return cls(middle, values[k - 1], values[n - k], n)
        half = t95(n - 1) * statistics.stdev(values) / n ** 0.5 if n > 1 else math.inf
        return cls(middle, middle - half, middle + half, n)

    def __format__(self, how):
        return format(self.value, how)


UNKNOWN = Spread(math.nan, -math.inf, math.inf, 1)      # undecided
FAILED = Spread(math.nan, math.nan, math.nan, 1)        # there was to be a number, and is none: short


def worst(spreads, pick):
    """pick: min or max.  One that has no number makes all of it none; FAILED counts more than what nobody knows."""
    spreads = list(spreads)
    if any(math.isnan(s.value) for s in spreads):
        return FAILED if any(math.isnan(s.low) for s in spreads) else UNKNOWN
    return Spread(pick(s.value for s in spreads), pick(s.low for s in spreads), pick(s.high for s in spreads), min(s.runs for s in spreads))


def meets(value, goal):
    """Whether value keeps a goal like "<= 1.0", ">= 0.95", "== 0"; True without a goal, False for no number."""
    if goal is None:
        return True
    word, _, bound = goal.partition(" ")
    bound = float(bound)
    if not isinstance(value, (int, float)) or math.isnan(value):
        return False
    compare = {"<=": value <= bound, ">=": value >= bound, "==": value == bound, "<": value < bound, ">": value > bound}
    if word not in compare:
        raise ValueError(f"a goal reads '<= 1.0', not {goal!r}")
    return compare[word]


def verdict(figure, goal):
    if goal is None or not isinstance(figure, Spread):
        return meets(figure, goal)
    low, high = meets(figure.low, goal), meets(figure.high, goal)
    return low if low == high else None


def share_spread(batches, ideal):
    """
    How far the class that is farthest from its share is from it, in points of percent.  batches: [{class: bytes}, ...], of equal times.  The value is that of all of them
    together; the interval comes from how the shares differ between them, so that what is chance in each does not count as an error.
    """
    total = sum(b[c] for b in batches for c in ideal)
    batches = [b for b in batches if sum(b[c] for c in ideal)]
    if not total:
        return FAILED
    found = []
    for c, due in ideal.items():
        off = abs(100 * sum(b[c] for b in batches) / total - due)
        n = len(batches)
        half = t95(n - 1) * statistics.stdev([100 * b[c] / sum(b[k] for k in ideal) for b in batches]) / n ** 0.5 if n > 1 else math.inf
        found.append(Spread(off, max(0.0, off - half), off + half, n))
    return worst(found, max)
