# SPDX-License-Identifier: BSD-2-Clause
"""Includes point down, house by house: the floors of docs/ARCHITECTURE.md.  Inside core/ tests/unit/test_core_base.c looks more closely."""
import pathlib
import re

import pytest

TOP = pathlib.Path(__file__).resolve().parents[2]

# What the files of a house may include of other houses, by the beginning of the name.
MAY = {
    "base": (),
    "core": ("base/base_report.h",),
    "console": ("base/base_error.h", "base/base_report.h", "core/rs_figures.h", "core/rs_waits.h"),
    "marks": (),
    "ndn": ("base/",),
    "service": ("base/",),
    "web": ("base/",),
    "pages": ("base/",),
    "bots": ("base/", "pages/pages_url.h"),
    "crawlers": ("base/",),
    "policy": ("base/", "core/rs.h", "crawlers/", "core/rs_figures_paper.h", "core/rs_paper.h", "pages/pages_url.h"),
    "shm": ("base/", "core/rs.h", "core/rs_waits.h"),
    "httpd": ("base/", "console/console_page.h", "console/console_told.h", "core/rs.h", "policy/", "shm/shm.h"),
    "mod_qos_drr": ("base/", "bots/", "console/console_classes.h", "console/console_top.h", "crawlers/", "httpd/", "core/rs.h", "core/rs_figures.h", "core/rs_figures_paper.h", "core/rs_paper.h", "core/rs_paper_part.h", "pages/", "policy/", "shm/shm.h", "shm/shm_patience.h", "web/"),
    "mod_eeod": ("base/", "console/console_ring.h", "httpd/httpd_console.h", "marks/"),
    "mod_ccn": ("base/", "console/console_classes.h", "console/console_page.h", "core/rs.h", "core/rs_figures.h", "httpd/", "ndn/", "pages/", "policy/", "service/", "shm/shm.h", "shm/shm_patience.h", "web/"),
    "pktcache": ("base/", "marks/"),
    "pktcache/daemon": ("base/", "console/console_serve.h", "console/console_told.h", "marks/", "pktcache/"),
    "prober": ("base/", "crawlers/", "pages/", "web/"),
    "ccnget": ("base/", "ndn/", "service/"),
    "squid-fqrs/fqrs": ("base/", "core/rs.h", "core/rs_figures.h", "core/rs_link.h", "pages/pages_keys.h", "pages/pages_learnt.h", "pages/pages_url.h", "policy/", "shm/shm_loop.h"),     # base/ is Squid's own there
}
INCLUDE = re.compile(r'^\s*#\s*include\s+["<](?:\.\./)*([^">]+)', re.M)


def strangers(house, text):
    """Of what it includes, that which stands in a house that it must not know."""
    others = [h + "/" for h in [*MAY, "tests", "bench", "demo"] if h != house]
    within = [h.removeprefix(house + "/") + "/" for h in MAY if h.startswith(house + "/")]      # as the house itself would write it
    found = [name.removeprefix("fqrs/") if house == "squid-fqrs/fqrs" else name for name in INCLUDE.findall(text)]
    return [name for name in found if name.startswith((*others, *within)) and not name.startswith(MAY[house])]


@pytest.mark.parametrize("house", MAY)
def test_includes_point_down(house):
    files = [p for p in (TOP / house).iterdir() if p.suffix in (".c", ".h", ".cc", ".def")]
    assert files
    bad = [f"{p.relative_to(TOP)} includes {name}" for p in files for name in strangers(house, p.read_text())]
    assert not bad, "\n".join(bad)


def test_what_points_up_is_seen():
    assert strangers("core", '#include "rs.h"\n#include "shm/shm.h"\n') == ["shm/shm.h"]
    assert strangers("policy", '#  include "pages/pages_url.h"\n#include "pages/pages_keys.h"\n') == ["pages/pages_keys.h"]
    assert strangers("mod_eeod", '#include "mod_qos_drr/qos_config.h"\n#include <apr.h>\n') == ["mod_qos_drr/qos_config.h"]
    assert strangers("shm", '#include "shm_internal.h"\n#include "shm/shm.h"\n#include "core/rs_engine.h"\n') == ["core/rs_engine.h"]
    assert strangers("pktcache", '#include "pk_wire.h"\n#include "daemon/pk_tun.h"\n#include "pktcache/daemon/pk_run.h"\n') == \
        ["daemon/pk_tun.h", "pktcache/daemon/pk_run.h"]
    assert strangers("squid-fqrs/fqrs", '#include "fqrs/Link.h"\n#include "fqrs/core/rs.h"\n#include "fqrs/core/rs_engine.h"\n#include "fqrs/shm/shm.h"\n') == \
        ["core/rs_engine.h", "shm/shm.h"]
    assert strangers("pktcache/daemon", '#include "pk_tun.h"\n#include "pktcache/pk_way.h"\n#include "shm/shm.h"\n') == ["shm/shm.h"]


def test_every_house_has_its_floor():
    """Whoever builds a new one says here what it may know."""
    houses = {str(p.parent.relative_to(TOP)) for deep in ("*/*.[ch]", "*/*/*.[ch]") for p in TOP.glob(deep)}
    assert {h for h in houses if not h.startswith(("build", "tests", "bench", "demo"))} == set(MAY)
