# SPDX-License-Identifier: BSD-2-Clause
"""People who ask for pages now and then, beside long downloads that began before: plain HTTP, in classes by weight, or one class that clients share."""
import pytest
from lab.field import Field
from lab.lab import Origin, wait_for
from lab.load import Load, errors
from lab.squid import Squid
from squid_world import field_lab, which

CLASSES = """
fqrs on
fqrs_link rate=4Mbit
acl people src 10.1.1.0/24
fqrs_class people weight=4
fqrs_class downloads weight=1
fqrs_access people allow people
fqrs_access downloads allow all
"""
SHARED = """
fqrs on
fqrs_link rate=4Mbit
fqrs_class all weight=1 within=client
fqrs_access all allow all
"""
PEOPLE = [dict(name=f"people{i}", clients=1, think=3000, url="/size/30000", source=f"10.1.1.{i}") for i in range(1, 11)]
SECONDS = 30


def downloads(n):
    return [dict(name=f"downloads{i}", clients=n // 8, url="/size/20000000", source=f"10.1.2.{i}") for i in range(1, 9)]


@pytest.mark.alone
@pytest.mark.parametrize("config,n", [(CLASSES, 8), (CLASSES, 16), (SHARED, 16)], ids=["8", "16", "one class"])
def test_people_have_their_pages_beside_downloads_that_began_before(request, config, n):
    """
    Eight downloads filled the link, and the people had next to no pages until one of these ended.  At 4 Mbit/s ten people's pages of 30 kB, with pauses of 3 s,
    need less than their share.  Without downloads each person loads SECONDS / 3.5 pages.  The test requires half of that, because the machine may be busy.
    """
    with field_lab(request, "late") as lab:
        field = Field(lab, rate="4mbit").start()
        origin = Origin(lab, address="0.0.0.0").on(field.servers)
        origin.port = 80
        origin.start()
        squid = Squid(lab, which(), config, intercept=True).on(field.gateway).start()
        field.redirect(squid.extra_port)
        address = f"{field.server_addresses[5]}:80"
        with Load(address, downloads(n), SECONDS + 30, prefix=field.clients.prefix, timeout=300) as before:
            wait_for(lambda: squid.json()["outstanding"] >= 8, 20, "eight downloads on their way")
            with Load(address, PEOPLE, SECONDS, prefix=field.clients.prefix) as people:
                result = people.result()
            before.stop()
        assert errors(result) == 0
        assert result["total"]["requests"] >= 0.5 * len(PEOPLE) * SECONDS / 3.5, result["total"]
        assert all(result["classes"][p["name"]]["requests"] for p in PEOPLE), result["classes"]
