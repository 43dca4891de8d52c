# SPDX-License-Identifier: BSD-2-Clause
"""Options of the system tests, and fixtures that several houses use; a house's own stand in its folder.

    python3 -m pytest tests/system --build=DIR [--long] [--unmeasured]

The folders are no packages: a test file's name, or a helper's, stands once in all of them.

Everything listens on 127.0.0.1 and stands in one temporary directory, which is kept when a test fails.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

import pytest

sys.path[:0] = [os.path.dirname(__file__), os.path.join(os.path.dirname(__file__), "..")]


def pytest_addoption(parser):
    parser.addoption("--build", help="the build directory (build/ in the checkout)")
    parser.addoption("--long", action="store_true", help="the long loops: 200 kills, 100 graceful restarts, a million clients that hang up, half an hour of overload, a million random pages")


    parser.addoption("--unmeasured", action="store_true", help="without what only measures (marked so), of which a sanitized build has no better word")


def pytest_collection_modifyitems(config, items):
    if not config.getoption("--unmeasured"):
        return
    measures = [i for i in items if i.get_closest_marker("measures")]
    config.hook.pytest_deselected(items=measures)
    items[:] = [i for i in items if i not in measures]


def pytest_configure(config):
    config.addinivalue_line("markers", "alone: measures what other tests beside it would change (tests/run)")
    config.addinivalue_line("markers", "measures: and has others beside it that go the same ways; nothing else is to be seen in it")
    config.addinivalue_line("markers", "may_skip(reason): may be left out on a build server, too, for this reason")
    if config.getoption("--build"):
        os.environ["FAIRGATE_BUILD"] = os.path.abspath(config.getoption("--build"))


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item):
    """A build server has all that tests need: one that is skipped there fails, unless it says that it may."""
    outcome = yield
    report = outcome.get_result()
    if report.skipped and os.environ.get("CI") and not hasattr(report, "wasxfail") and not item.get_closest_marker("may_skip"):
        why = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        report.outcome = "failed"
        report.longrepr = f"{why}; CI is set, and a build server has what tests need (pytest.mark.may_skip says of a test that it may be left out)"


@pytest.fixture(scope="session")
def kills(request):
    """How many children the kill loop kills."""
    return 200 if request.config.getoption("--long") else 20


@pytest.fixture(scope="session")
def restarts(request):
    """How many graceful restarts follow one another."""
    return 100 if request.config.getoption("--long") else 5


@pytest.fixture(scope="session")
def aborts(request):
    """How many clients hang up in each MPM: a million in all three."""
    return 340_000 if request.config.getoption("--long") else 2000


@pytest.fixture(scope="session")
def endurance_s(request):
    """For how long the server is asked for more than it can do; FAIRGATE_ENDURANCE says another time."""
    return float(os.environ.get("FAIRGATE_ENDURANCE", 1800 if request.config.getoption("--long") else 20))


class Parts:
    """What stands beside the gateway: site, backend, origin, PHP, certificate."""


@pytest.fixture(scope="session")
def parts(request):
    import config
    from backend import Backend
    from lab import lab
    from lab.httpd import PhpFpm

    p = Parts()
    p.lab = lab.Lab("system")
    try:
        p.root = pathlib.Path(p.lab.dir, "site")
        config.write_site(p.root)
        p.certificate = (p.lab.dir + "/cert.pem", p.lab.dir + "/key.pem")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost", "-out",
                        p.certificate[0], "-keyout", p.certificate[1]], stdin=subprocess.DEVNULL, capture_output=True, check=True)
        p.fpm = PhpFpm(p.lab).start()
        p.origin = lab.Origin(p.lab, delay_ms=20).start()
        p.origin.delay_s = 0.02
        p.dead_port = lab.free_port()
        with Backend() as p.backend:
            yield p
    finally:
        p.lab.close(keep=request.session.testsfailed > 0)


@pytest.fixture
def open_path(parts):
    """A folder for what servers are to read that are not root any more.  Not tmp_path: each run of pytest that begins closes the folder in which those of all runs lie."""
    path = pathlib.Path(tempfile.mkdtemp(prefix="open-", dir=parts.lab.dir))
    path.chmod(0o755)
    return path


@pytest.fixture
def new_gateway(parts):
    """new_gateway(mpm=..., window=..., ...): a Gateway to start with `with`; it must end without a crash in its log."""
    from gateway import Gateway

    made = []

    def make(**kwargs):
        made.append(Gateway(parts, **kwargs))
        return made[-1]
    yield make
    for g in made:
        g.stop()
        g.assert_no_crash()
