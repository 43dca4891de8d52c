# SPDX-License-Identifier: BSD-2-Clause
"""What the tests of Squid stand on: Squids with an origin beside them, and a field with Squid and its script on the gateway."""
import pytest
from squid_world import SquidWorld, field_lab
from transparent import Echo, TransparentRouter


@pytest.fixture(scope="session")
def world(request):
    """What stands beside a Squid: see squid_world.py."""
    with SquidWorld(lambda: request.session.testsfailed > 0) as w:
        yield w


@pytest.fixture(scope="module")
def ending(world):
    """Squids that end with the module."""
    with world.ending() as proxies:
        yield proxies


@pytest.fixture
def new_proxy(world, ending):
    """new_proxy(config, ...): a Squid of the test's own, not started yet; in the end it must be well."""
    made = []

    def make(config="", **kwargs):
        made.append(world.proxy(config, **kwargs))
        ending.append(made[-1])
        return made[-1]
    yield make
    for p in made:
        p.begin_to_end()
        p.assert_well()


@pytest.fixture(scope="module")
def proxy_with(world, ending):
    """proxy_with(config): a running Squid with this configuration, one for all tests of a module that want the same."""
    running = {}

    def find(config="", **kwargs):
        key = (config, *sorted(kwargs.items()))
        if key not in running:
            running[key] = world.proxy(config, **kwargs)
            ending.append(running[key])
            running[key].start()
        assert running[key].alive(), running[key].log_end()
        return running[key]
    return find


@pytest.fixture(scope="module")
def router(request):
    """The gateway of a field, with a Squid and fairgate-transparent: see transparent.py."""
    with field_lab(request, "transparent") as lab:
        yield TransparentRouter(lab)


@pytest.fixture(scope="module")
def echo(router):
    """Port 80 of the servers behind it."""
    with Echo(router.field.servers) as e:
        yield e


@pytest.fixture
def stopped(router):
    """No test leaves anything on the router: what was there before is there again after a stop."""
    before = router.state()
    yield
    router.stop()
    assert router.state() == before
