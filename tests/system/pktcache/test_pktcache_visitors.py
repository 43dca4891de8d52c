# SPDX-License-Identifier: BSD-2-Clause
"""pktcache and mod_eeod: of a hundred thousand pages with a visitor's own in them (pair_visitors.py), and by all the ways that pages take to the link, nothing of his is in either store."""
import os

import pytest

from lab.pair_kept import BATCH, Sites

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs network namespaces")


def test_nothing_of_a_visitors_own_is_in_a_store(lab, request):
    """Of what is everybody's much is: not behind a visitor's opening mark, nor in a segment with something of his, nor what goes while the caches have a pause."""
    pages = 100_000 if request.config.getoption("--long") else 1000
    with Sites(lab) as sites:
        seen = {}
        for first in range(0, pages, BATCH):
            found = sites.visited(first, min(BATCH, pages - first))
            assert not found.secrets, "\n".join(f"{word}: {where}" for word, where in list(found.secrets.items())[:20])
            assert found.kept > 0.25
            for kind, n in found.pages.items():
                seen[kind] = seen.get(kind, 0) + n
        assert sum(seen.values()) == pages and min(seen.values()) > pages / 100, seen


def test_a_pair_that_keeps_all_is_found(lab):
    """What the test before would miss if it looked in the wrong place: secrets of all kinds of pages."""
    with Sites(lab, keep="all") as sites:
        found = sites.visited(0, 400)
        kinds = {where.split(", ")[1] for where in found.secrets.values() if where.startswith("page ")}
        assert len(found.secrets) > 1000 and len(kinds) == len(found.pages), kinds
