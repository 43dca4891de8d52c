# SPDX-License-Identifier: BSD-2-Clause
"""The check is checked: what it does when something is missing.  python3 -m pytest tests/check --build=DIR"""
import os
import pathlib

import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]


def pytest_addoption(parser):
    parser.addoption("--build", default=str(TOP / "build"), help="a build directory that is configured with --with-tests")


def pytest_configure(config):
    config.addinivalue_line("markers", "alone: measures what other tests beside it would change (tests/run)")


@pytest.fixture(scope="session")
def build(request):
    return pathlib.Path(os.path.abspath(request.config.getoption("--build")))
