# SPDX-License-Identifier: BSD-2-Clause
"""What the tests of the packet caches stand on."""
import pytest

from lab.lab import kept_lab


@pytest.fixture
def lab(request):
    """For a pair; kept when a test failed."""
    with kept_lab("pktcache", lambda: request.session.testsfailed > 0) as made:
        yield made
