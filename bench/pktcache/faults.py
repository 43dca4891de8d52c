# SPDX-License-Identifier: BSD-2-Clause
"""
faults.py - what can happen to a pair in others' networks, and what visitors' pages leave in its stores: the whole of what the tests of these names do with --long (tests/lab/pair_matrix.py, pair_visitors.py).

    matrix_failed           cells of the matrix that failed, of a hundred; with --quick each row of it once
    private_bytes_kept      bytes of visitors' own that were found in either store, after 100,000 pages; with --quick 4,000
"""
from lab import pair_kept as kept
from lab import pair_matrix as matrix
from lab.lab import Lab


def measure_matrix(bench):
    """Each set-up in a lab of its own, whose logs stay if it failed."""
    wrong, cells = {}, 0
    for row, family, faults in bench.size(matrix.every(), matrix.some()):
        with Lab("matrix") as lab:
            try:
                found = matrix.failed(lab, row, family, faults)
            except Exception as e:      # the set-up itself: none of its cells held
                found = {f"{row}-{family}-{fault}": repr(e) for fault in faults}
            lab.keep = bool(found)
        wrong |= found
        cells += len(faults)
    for cell, what in wrong.items():
        bench.say(f"{cell}: {what}")
    bench.say(f"{cells} cells")
    bench.figure("matrix_failed", len(wrong), "cells", "<= 0")


def measure_private(bench):
    pages, secrets, shares = bench.size(100_000, kept.BATCH), {}, []
    with kept.Sites(bench.lab) as sites:
        for first in range(0, pages, kept.BATCH):
            found = sites.visited(first, kept.BATCH)
            secrets |= found.secrets
            shares.append(found.kept)
    for what, where in list(secrets.items())[:20]:
        bench.say(f"{what}: {where}")
    bench.say(f"{pages} pages; of what is everybody's {min(shares):.0%} and more was in both stores")
    bench.figure("private_bytes_kept", sum(map(len, secrets)), "bytes", "<= 0")


FAMILIES = [(measure_matrix, ("matrix_failed",)), (measure_private, ("private_bytes_kept",))]
