# SPDX-License-Identifier: BSD-2-Clause
"""pktcache: what can happen to a pair, in each of the networks that others have (matrix.py).  All hundred cells with --long, otherwise some: each row, family and fault at least once."""
import os

import pytest

from matrix import FAMILIES, FAULTS, ROWS, failed

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs network namespaces")


def pytest_generate_tests(metafunc):
    """Set-ups with the faults that they have in this run: all; or one and the next along the rows, and of every other one the other family."""
    every = [(row, family, list(FAULTS)) for row in ROWS for family in FAMILIES]
    some = [(row, list(FAMILIES)[(i + i // len(FAULTS)) % 2], [list(FAULTS)[i % len(FAULTS)]]) for i, row in enumerate(ROWS)]
    cells = every if metafunc.config.getoption("--long") else some
    metafunc.parametrize("row, family, faults", cells, ids=["-".join((row, family, *faults)) if faults[1:] == [] else f"{row}-{family}" for row, family, faults in cells])


def test_matrix(lab, row, family, faults):
    wrong = failed(lab, row, family, faults)
    assert not wrong, "\n".join(f"{cell}: {what}" for cell, what in wrong.items())
