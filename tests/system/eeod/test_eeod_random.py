# SPDX-License-Identifier: BSD-2-Clause
"""Pages of every kind arrive as they were made: random layouts of blocks, kinds and sizes of buckets, brigades and flushes; pipelined, in ranges,
over HTTP/1.0, broken off."""

import multiprocessing

import pytest

from eeod import Pages, Visitor
from lab.lab import Lab

# Of each MPM, by two visitors; and with marks that have keys.
PAGES = {("event", False): 12_000, ("worker", False): 5_000, ("prefork", False): 3_000, ("event", True): 8_000, ("prefork", True): 3_000}


def visit(port, seed, first, count, found):
    v = Visitor(port, seed)
    v.visit(first, count)
    found.put((v.whole, v.ranges, v.cut))


@pytest.mark.parametrize("mpm, keys", PAGES)
def test_random_pages(mpm, keys, many):
    count = PAGES[mpm, keys] * many
    with Lab("eeod") as lab:
        with Pages(lab, lab.dir, mpm=mpm, children=2 if mpm != "prefork" else 8, threads=8, keys=keys) as server:
            first = list(PAGES).index((mpm, keys)) * 100_000_000
            found = multiprocessing.Queue()
            visitors = [multiprocessing.Process(target=visit, args=(server.port, k, first + k * count, count // 2, found)) for k in range(2)]
            for v in visitors:
                v.start()
            for v in visitors:
                v.join()
            assert [v.exitcode for v in visitors] == [0, 0]
            whole, ranges, cut = (sum(n) for n in zip(*(found.get(timeout=10) for _ in visitors)))
            print(f"{mpm}: {whole} pages whole, {ranges} ranges, {cut} connections broken off")
            assert whole >= 0.9 * count and ranges > count / 1000 and cut > count / 300
            server.assert_well()
            status = server.settled()
            assert status["responses"] > count / 2 and status["unmarked"] > 0 and status["odd_marks"] > 0 and status["joined_blocks"] > 0
            assert (status["keyed_marks"] > count and status["spoiled_marks"] > count / 2) if keys else not status["keyed_marks"]
