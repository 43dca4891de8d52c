# SPDX-License-Identifier: BSD-2-Clause
"""What the docs say is tried.  python3 -m pytest tests/docs --build=DIR"""
import os
import pathlib
import sys

import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TOP / "tests"), str(TOP / "tests/docs")]


def pytest_addoption(parser):
    parser.addoption("--build", default=str(TOP / "build"), help="a build directory that is made")


def pytest_configure(config):
    config.addinivalue_line("markers", "alone: measures what other tests beside it would change (tests/run)")
    os.environ["FAIRGATE_BUILD"] = os.path.abspath(config.getoption("--build"))


@pytest.fixture(scope="session")
def build():
    return pathlib.Path(os.environ["FAIRGATE_BUILD"])
