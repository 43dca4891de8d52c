# SPDX-License-Identifier: BSD-2-Clause
"""What the tests of the prober stand on."""
import pytest


@pytest.fixture
def table(tmp_path):
    """Where a walk writes."""
    return tmp_path / "pages"
