# SPDX-License-Identifier: BSD-2-Clause
"""pktcache: links and clients of any MTU; streams of both families, byte by byte.  (With loss, and ends that are killed: test_a_bad_link.)"""

import os

import pytest

from test_pktcache import FOUR, SIX, streams

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs network namespaces")

# The link's, the clients'.  IPv6 has no device below 1280.
PATHS = ((9000, 9000), (9000, 1500), (1500, 9000), (1280, 1280), (1280, 1500), (1500, 576), (9000, 576))


@pytest.mark.parametrize("link, beyond", PATHS)
def test_every_mtu(lab, link, beyond):
    """Whole, and what repeats does not cross twice; nothing waits for a path MTU that has to be found out."""
    pair, s = streams(lab, mtu=max(link, beyond))
    with s:
        for host in (pair.near, pair.far):
            host.ip(f"link set link0 mtu {link}\n")
        pair.far.ip(f"link set out0 mtu {beyond}\n")
        pair.clients.ip(f"link set in0 mtu {beyond}\n")
        pair.both(mtu=link)
        for address in (FOUR, SIX) if beyond >= 1280 else (FOUR,):
            s.fetch(20, 8, (address,))
            before = pair.carried()
            size = s.fetch(20, 8, (address,))["bytes"]
            # Segments of 8,948 bytes all have something of a stream's own.
            assert pair.carried() - before < size * (0.6 if min(link, beyond) <= 1500 else 1.1), address
        assert not pair.child.counters()["dropped"]
