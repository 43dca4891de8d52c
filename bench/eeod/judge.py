# SPDX-License-Identifier: BSD-2-Clause
"""judge.py - what a capture says: whether marks are where segments begin, whether equal content went in equal segments."""
import bisect
import collections
import re

MARK = re.compile(rb"<!--/?EEOD-->")
LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.I)


def marks(flows):
    """(marks, those inside a segment of which some copy was sent, copies of segments, repeated ones)"""
    total = inside = copies = repeated = 0
    for flow in flows:
        places = [m.start() for m in MARK.finditer(flow.stream())]
        bad, high = set(), 0
        for at, _, length in flow.pieces:
            bad.update(range(bisect.bisect_right(places, at), bisect.bisect_left(places, at + length)))
            copies += 1
            repeated += at < high
            high = max(high, at + length)
        total += len(places)
        inside += len(bad)
    return total, inside, copies, repeated


def bodies(stream):
    """(begin, end) of each body in a stream of responses that have a length; the last may not be whole."""
    at = 0
    while (end := stream.find(b"\r\n\r\n", at)) >= 0:
        length = LENGTH.search(stream, at, end + 2)
        begin = end + 4
        at = begin + (int(length[1]) if length else 0)
        if at <= len(stream):
            yield begin, at


def runs(stream, begin, end):
    """(begin, end) of each cacheable run of a page; its closing mark is part of it."""
    at = begin
    for m in MARK.finditer(stream, begin, end):
        if stream[m.start() + 4:m.start() + 5] != b"/":
            yield at, m.start()
        at = m.start()
    yield at, end


class Alignment:
    """The segments of cacheable runs, held against those of the first delivery of the same run."""

    def __init__(self):
        self.first = {}
        self.total = self.same = self.deliveries = 0

    def add(self, flow):
        stream = flow.stream()
        places = []             # of runs: (begin, end, number of the run)
        for begin, end in bodies(stream):
            places += [(b, e, n) for n, (b, e) in enumerate(runs(stream, begin, end)) if e > b]
        self._add(flow, places)

    def add_file(self, flow, begin, end):
        """One run, of which the capture may hold the lengths only."""
        self._add(flow, [(begin, end, 0)])

    def _add(self, flow, places):
        begins = [p[0] for p in places]
        cut = collections.defaultdict(list)
        for at, payload, length in flow.pieces:
            n = bisect.bisect_right(begins, at + length - 1) - 1
            if n >= 0 and at < places[n][1]:
                cut[n].append((at - begins[n], length, payload))
        for n, pieces in cut.items():
            first = self.first.setdefault((places[n][2], places[n][1] - places[n][0]), {})
            # A delivery that was cut off is the first of its beginning only.
            known = max((at + length for at, length in first), default=float("-inf"))
            self.deliveries += 1
            for at, length, payload in pieces:
                if at >= known:
                    first[at, length] = payload
                else:
                    self.total += 1
                    self.same += first.get((at, length)) == payload

    def part(self):
        return self.same / self.total if self.total else float("nan")
