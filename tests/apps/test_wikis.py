# SPDX-License-Identifier: BSD-2-Clause
"""DokuWiki and MediaWiki on PHP-FPM, with the visits that tests/system/drr/test_applications.py makes."""
import os

import pytest

from lab.browser import Browser
from lab.httpd import PhpFpm
from modes import MODES, Runs
from test_applications import Dokuwiki, Mediawiki

pytestmark = pytest.mark.long


@pytest.fixture(scope="module", params=[pytest.param(of, marks=pytest.mark.xdist_group(of.__name__)) for of in (Dokuwiki, Mediawiki)], ids=("dokuwiki", "mediawiki"))
def wiki_site(request, lab):
    assert not request.param.missing(), request.param.missing()
    made = request.param(os.path.join(lab.dir, request.param.__name__.lower()))
    fpm = PhpFpm(lab, name="wiki-fpm", workers=8, extensions=("opcache", *made.extensions), pool=made.pool).start()
    site = {"htdocs": made.root, "php": fpm.address, "config": made.more + "DirectoryIndex doku.php index.php\n"}
    return Runs(lab, site, lambda gateway, own: made.visit(Browser(gateway.port), own))


@pytest.mark.parametrize("mode", MODES)
def test_wiki_visit_in_each_mode_is_as_without_the_module(wiki_site, mode):
    saw = {what: came for what, *came in wiki_site.usual}
    assert saw["the upload"] == [200, "image/png", True]
    wiki_site.check(mode)
