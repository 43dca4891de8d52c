# SPDX-License-Identifier: BSD-2-Clause
"""
pairs.py - two things measured in turns, and by how much the second is more than the first.

The speed of a shared machine changes by tens of per cent within seconds, so that only what was measured next to each other can be compared.  For CPU time each side of a pair is
several short slices, and the two sides take turns slice by slice.
"""
import itertools
import math

from spread import Spread


def in_turn(first, second):
    """A call that gives (first(), second()): which of the two begins changes from call to call, so that a drift of the machine favours none."""
    turn = itertools.count()

    def pair():
        if next(turn) % 2 == 0:
            a = first()
            return a, second()
        b = second()
        return first(), b
    return pair


def alternate(pairs, first, second):
    pair = in_turn(first, second)
    return [pair() for _ in range(pairs)]


def ratios(pairs, value):
    """Over the pairs, value(second) / value(first)."""
    return Spread.of([value(b) / value(a) if value(a) else math.nan for a, b in pairs])


def repeat_pairs(bench, pairs, first, second, value, goal):
    """alternate(), as often as bench.repeat wants it; (pairs, their ratios)."""
    return bench.repeat(in_turn(first, second), lambda found: ratios(found, value), goal, least=pairs)


def cpu_pair(first, second, slices):
    """Two calls that give (CPU seconds of the server, requests, seconds) of a slice; of each side (CPU seconds per request, requests per second)."""
    sums = [[sum(column) for column in zip(*side)] for side in zip(*alternate(slices, first, second))]
    return [(cpu / requests, requests / took) for cpu, requests, took in sums]
