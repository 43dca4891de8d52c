# SPDX-License-Identifier: BSD-2-Clause
"""A browser for all tests of the console."""
import pytest

from lab import chromium, lab


@pytest.fixture(scope="session")
def browser():
    if not chromium.there():
        pytest.skip("no chromium and chromedriver (packages chromium, chromium-driver)")
    with lab.Lab("browser") as here, chromium.Chromium(here) as c:
        yield c
