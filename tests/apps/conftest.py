# SPDX-License-Identifier: BSD-2-Clause
"""Unmodified applications of Debian behind the module, each driven by its real client.

    python3 -m pytest tests/apps --build=DIR [--long]

Each application runs in four modes (modes.py).  In each mode its client must see what it sees without the module.
Without --long only the files without the mark "long" run.
"""
import os
import sys

import pytest

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(TOP, *words) for words in (("tests",), ("tests", "system"), ("tests", "system", "drr"), ("bench", "lib"))]

pytest.register_assert_rewrite("modes", "wordpress")


def pytest_addoption(parser):
    parser.addoption("--build", help="the build directory (build/ in the checkout)")
    parser.addoption("--long", action="store_true", help="every application and feature")


def pytest_configure(config):
    config.addinivalue_line("markers", "alone: measures what other tests beside it would change (tests/run)")
    config.addinivalue_line("markers", "long: only with --long")
    config.addinivalue_line("markers", "may_skip(reason): imported tests of tests/system have it")
    config.addinivalue_line("markers", "xdist_group(name): tests that share a server run in one process")
    if config.getoption("--build"):
        os.environ["FAIRGATE_BUILD"] = os.path.abspath(config.getoption("--build"))


def pytest_collection_modifyitems(config, items):
    if config.getoption("--long"):
        return
    long = [i for i in items if i.get_closest_marker("long")]
    config.hook.pytest_deselected(items=long)
    items[:] = [i for i in items if i not in long]


@pytest.fixture(scope="module")
def lab(request):
    """A temporary directory with the application's servers; it is kept if a test fails."""
    from lab.lab import kept_lab

    failed = request.session.testsfailed
    with kept_lab("apps", lambda: request.session.testsfailed > failed) as made:
        yield made
