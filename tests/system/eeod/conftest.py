# SPDX-License-Identifier: BSD-2-Clause
"""What the tests of mod_eeod stand on."""
import pytest


@pytest.fixture(scope="session")
def many(request):
    """How many times as many pages: a million in all in the long run."""
    return 50 if request.config.getoption("--long") else 1
