# SPDX-License-Identifier: BSD-2-Clause
"""pktcache: what can happen to a pair, in each of the networks that others have (pair_matrix.py).  All hundred cells with --long, otherwise some: each row, family and fault at least once."""
import os

import pytest

from lab.pair_matrix import every, failed, some

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs network namespaces")


def pytest_generate_tests(metafunc):
    cells = every() if metafunc.config.getoption("--long") else some()
    metafunc.parametrize("row, family, faults", cells, ids=["-".join((row, family, *(faults if len(faults) == 1 else ()))) for row, family, faults in cells])


def test_matrix(lab, row, family, faults):
    wrong = failed(lab, row, family, faults)
    assert not wrong, "\n".join(f"{cell}: {what}" for cell, what in wrong.items())
