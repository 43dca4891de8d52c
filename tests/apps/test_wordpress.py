# SPDX-License-Identifier: BSD-2-Clause
"""WordPress on PHP-FPM: signing in, writing, uploads, comments, and the requests that WordPress sends to itself (its cron, its health checks)."""
import concurrent.futures
import copy
import html
import json
import re

import pytest

import http1
import wordpress
from lab.browser import Browser
from lab.httpd import Httpd
from lab.lab import free_port
from lab.load import errors, load
from modes import MODES, WINDOW, Runs
from test_applications import photo

pytestmark = pytest.mark.xdist_group("wordpress")
WORKERS, VISITORS = 8, 20
ROUND_S, LEAST_ROUNDS, MOST_ROUNDS = 5, 4, 16
# PHP sends the requests to its own site from 127.0.0.1; visitors come from another address.
VISITOR = "127.0.1.1"


class Visit:
    """A browser that is signed in as the administrator, and what it saw."""

    def __init__(self, port):
        self.b, self.saw = Browser(port, source=VISITOR), []
        page = wordpress.WordPress.sign_in(self.b)
        self.note("signed in", page.status, page.location().partition("/wp-admin")[1], sorted(re.sub("[0-9a-f]{32}", "HASH", name) for name in self.b.jar))
        self.b.headers["X-WP-Nonce"] = self.b.get("/wp-admin/admin-ajax.php?action=rest-nonce").text

    def note(self, what, *came):
        self.saw.append((what, *came))

    def rest(self, what, path, body, kind="application/json", headers=None):
        """A call of the REST interface; its JSON."""
        b = copy.copy(self.b)
        b.headers = {**self.b.headers, **(headers or {})}
        page = b.ask("POST" if body else "GET", f"/wp-json/{path}", body, kind if body else None)
        said = json.loads(page.text)
        self.note(what, page.status, sorted(said))
        return said


@pytest.fixture(scope="module")
def site(lab):
    database = wordpress.Database(lab).start()
    port = free_port()
    made = wordpress.WordPress(lab, database, port, workers=WORKERS)

    def job_runs():
        return int(database.run("SELECT option_value FROM wordpress.wp_options WHERE option_name = 'site_job_runs'").stdout or 0)

    def client(gateway, own):
        visit = Visit(gateway.port)
        anybody = Browser(gateway.port, source=VISITOR)

        def shows(path, *words):
            page = anybody.get(path)
            visit.note("page", page.status, [w for w in words if w in page.text])

        shows("/", "A site", "wp-login.php")
        # Its direct checks contain one that requests its own REST interface.
        checks = re.search(r"var SiteHealth = (\{.*?\});\n", visit.b.get("/wp-admin/site-health.php").text)
        visit.note("health page", [(c["test"], c["status"]) for c in json.loads(checks.group(1))["site_status"]["direct"] if c["test"] != "scheduled_events"])
        # As many at the same time as a full window has slots.
        with concurrent.futures.ThreadPoolExecutor(WINDOW["full"]) as pool:
            visit.note("health checks", list(pool.map(wordpress.health, [visit.b] * WINDOW["full"])))
        post = visit.rest("written", "wp/v2/posts", json.dumps({"title": f"about {own}", "content": "ümläuts & more", "status": "publish"}))
        path = post["link"].removeprefix(gateway.url)
        shows(path, "about own", "ümläuts &amp; more")
        data = photo(own)
        media = visit.rest("uploaded", "wp/v2/media", data, "image/png", {"Content-Disposition": f'attachment; filename="{own}.png"'})
        got = anybody.get(media["source_url"].removeprefix(gateway.url))
        visit.note("the upload", got.status, got.body == data)
        page = visit.b.post("/wp-comments-post.php", {"comment": f"a comment of {own}", "comment_post_ID": post["id"], "comment_parent": 0, "submit": "Post"})
        visit.note("commented", page.status, page.location().startswith(gateway.url + path))
        before = job_runs()
        # Each page starts the cron by a request to the site itself, if a job is due.
        http1.until(lambda: anybody.get("/").status == 200 and job_runs() > before, 30, "cron runs the site's job", every=0.5)
        leave = re.search(r"/wp-login\.php\?action=logout[^\"']*", visit.b.get("/wp-admin/profile.php").text)
        page = visit.b.get(html.unescape(leave.group(0)))
        visit.note("signed out", page.status, visit.b.get("/wp-admin/profile.php").location().startswith(gateway.url + "/wp-login.php"))
        shows(path, "a comment of ", "ümläuts &amp; more")
        return visit.saw

    g = Httpd(lab, "install", **made.site)
    g.port = port
    with g:
        made.install(Browser(port))
    return Runs(lab, made.site, client, host="127.0.0.1/32", port=port)


def test_wordpress_works_without_the_module(site):
    saw = dict((what, came) for what, *came in site.usual)
    assert saw["health checks"] == [[(200, "good")] * WINDOW["full"]]
    assert ("rest_availability", "good") in saw["health page"][0]
    assert saw["the upload"] == [200, True] and saw["signed out"] == [302, True]


@pytest.mark.parametrize("mode", MODES)
def test_wordpress_with_its_requests_to_itself_is_in_each_mode_as_without_the_module(site, mode):
    site.check(mode)
    assert any(r["outcome"] == "inner" for r in site.requests) or mode == "observe", "WordPress sent no request to itself"


def served_by(gateway):
    """Requests that PHP-FPM served in one round: pages of VISITORS, and those of the administrator's health checks."""
    with gateway as g, wordpress.HealthChecks(g.port, VISITOR) as checks:
        came = load(g.address, [{"name": "visitors", "clients": VISITORS, "url": "/", "source": VISITOR}], seconds=ROUND_S, warmup=1, realtime=False)
    assert not errors(came) and set(came["total"]["status"]) == {"200"}, came["total"]
    assert set(checks.seen) == {(200, "good")}, checks.seen
    # Each check is a request from outside and one of the site to itself.
    return came["total"]["requests"], 2 * len(checks.seen)


@pytest.mark.long
@pytest.mark.alone
def test_20_visitors_of_wordpress_are_served_as_many_requests_as_without_it(site):
    """The window has as many slots as PHP-FPM has workers.  Rounds without the module and with it take turns until the sums decide.

    They request more than two processors serve, and wait for longer than QosDelay: their queue is shorter than three windows, so no request is refused.
    """
    served = {"off": (0, 0), "on": (0, 0)}
    for n in range(1, MOST_ROUNDS + 1):
        for mode in sorted(served, reverse=n % 2):        # the load of other programs changes slowly
            served[mode] = tuple(map(sum, zip(served[mode], served_by(site.gateway(mode, WORKERS)))))
        ratio = sum(served["on"]) / sum(served["off"])
        print(f"round {n}: (pages, of health checks) {served}, {ratio:.3f}")
        if n >= LEAST_ROUNDS and ratio >= 0.95:
            return
    assert ratio >= 0.95, served
