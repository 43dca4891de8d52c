# SPDX-License-Identifier: BSD-2-Clause
"""fairgate-ccnget and mod_ccn: what one brings the other takes."""
import base64
import hashlib
import http.client
import json
import os
import re
import subprocess

import pytest

from lab import lab
from lab.ccn import Site, made, octets, site


@pytest.fixture(scope="module")
def served(request):
    with lab.kept_lab("ccn", lambda: request.session.testsfailed > 0) as made_lab, \
            site(made_lab, files={"big": octets(3_000_000), "deep/index.html": b"deep\n"}, speak="CcnMap /slash/ /deep") as s:
        yield s


def get(served, name, *options, status=0, prefix=None):
    argv = [lab.program("ccnget/fairgate-ccnget"), "--forwarder", f"tcp://127.0.0.1:{served.ndn_port}", *options, f"ndn:{prefix or served.prefix_name}{name}"]
    done = subprocess.run(argv, capture_output=True, timeout=60, check=False)
    assert done.returncode == status, done.stderr
    return done


@pytest.mark.parametrize("window", ("hint", "cubic", "aimd", "1"))
def test_a_page(served, window):
    assert get(served, "/big", "--window", window).stdout == octets(3_000_000)


def test_a_page_that_is_made(served):
    assert get(served, "/page.cgi%3Fn%3D50000").stdout == made(50000)


def test_a_query_as_it_stands_in_a_url(served):
    assert get(served, "/page.cgi?n=50&more=X-More:%20a%3Db&field=QUERY_STRING").stdout == b"n=50&more=X-More:%20a%3Db&field=QUERY_STRING\n" + made(50)


@pytest.mark.parametrize("name,prefix", (("", None), ("/", None), ("/index.html", None), ("/deep/", None), ("", "/slash"), ("/", "/slash"), ("/index.html", "/slash")))
def test_slashes_at_the_end(served, name, prefix):
    """Of the front page, of a directory; of a prefix that CcnMap has with one."""
    assert get(served, name, prefix=prefix).stdout == (b"deep\n" if prefix or "deep" in name else b"hello\n")


TO_HTTPS = "RewriteEngine On\nRewriteCond %{HTTPS} !=on\nRewriteCond %{ENV:CCN_NAME} ^$\nRewriteRule ^ https://%{HTTP_HOST}%{REQUEST_URI} [R=301,L]\n"


@pytest.mark.parametrize("where", ("host", "directory"))
def test_a_site_that_sends_people_to_https(where):
    """As docs/mod_ccn.md has it: by name its pages come, by HTTP they are sent there; an application believes that it is asked over TLS."""
    speak, settings = (TO_HTTPS, "") if where == "host" else ("", f"<Directory />\n{TO_HTTPS}</Directory>")
    with lab.kept_lab("ccn", lambda: False) as made_lab, \
            site(made_lab, modules=("rewrite",), speak=speak + "SetEnv HTTPS on", settings=settings) as s:
        assert get(s, "/page.cgi?n=9&field=HTTPS").stdout == b"on\n" + made(9)
        if where == "directory":
            over_http = http.client.HTTPConnection("127.0.0.1", s.port, timeout=10)
            over_http.request("GET", "/page.cgi?n=9")
            assert over_http.getresponse().status == 301
            over_http.close()


def test_the_example(tmp_path):
    """etc/httpd-ccn-example.conf, with all that it has in comments, is right; as it stands it brings the front page."""
    with open(os.path.join(os.path.dirname(__file__), "../../../etc/httpd-ccn-example.conf"), encoding="utf-8") as f:
        example = re.sub("^LoadModule.*$", "", f.read(), flags=re.M)
    with lab.kept_lab("ccn", lambda: False) as made_lab:
        s, port = Site(made_lab, modules=("authz_host", "proxy", "proxy_http")), lab.free_port()
        example = example.replace("6363", str(port)).replace("/var/www/html", s.htdocs).replace("/var/log/apache2", str(tmp_path))
        s.settings = re.sub("^( *)#(?=[A-Z][A-Za-z]+ [/u])", r"\1", example, flags=re.M)
        assert len(s.settings) == len(example) - 3, "CcnForwarder, ProxyPass and CustomLog"
        good, said = s.check()
        assert good and "ccn" not in said.lower(), said
        s.settings = example
        with s.start():
            s.ndn_port = port
            assert get(s, "").stdout == b"hello\n"
            s.stop()


def test_the_hint_is_used(served, tmp_path):
    said = json.loads(get(served, "/big", "--json", "--quiet", "--output", str(tmp_path / "big")).stdout)
    assert said["hint"] == 512 and said["status"] == 200 and said["segments"] == 733 and said["retransmissions"] == 0


def test_what_is_private(served):
    name = "/page.cgi%3Fn%3D30000%26more%3DSet-Cookie:+a%3Db%26field%3DHTTP_COOKIE"
    refused = get(served, name, status=22)
    assert b"one visitor" in refused.stdout and b"--header 'Accept: */*'" in refused.stdout and b"needs a --header, as 'Accept: */*'" in refused.stderr
    assert get(served, name, "--header", "Accept: */*").stdout == b"\n" + made(30000)
    assert get(served, name, "--header", "Cookie: session=me").stdout == b"session=me\n" + made(30000)


SIGN_IN = """<Location /deep>
AuthType Basic
AuthName deep
AuthUserFile {docs}/me.txt
Require valid-user
</Location>
"""


def test_signing_in():
    """As the manual has it: by Authorization."""
    def basic(password):
        return "Authorization: Basic " + base64.b64encode(f"me:{password}".encode()).decode()
    users = {"me.txt": b"me:{SHA}" + base64.b64encode(hashlib.sha1(b"password").digest()) + b"\n"}
    with lab.kept_lab("ccn", lambda: False) as made_lab:
        s = Site(made_lab, files={"deep/index.html": b"deep\n", **users}, modules=("auth_basic", "authn_core", "authn_file", "authz_user"))
        s.settings = SIGN_IN.format(docs=s.htdocs)
        with s.start():
            assert b"401" in get(s, "/deep/", status=22).stderr
            assert b"401" in get(s, "/deep/", "--header", basic("word"), status=22).stderr
            assert get(s, "/deep/", "--header", basic("password")).stdout == b"deep\n"
            s.stop()


def test_an_error_and_its_page(served):
    done = get(served, "/nothing", status=22)
    assert b"404" in done.stdout and b"404" in done.stderr


def test_redirects_are_followed_by_name(served):
    assert get(served, "/deep", "--location").stdout == b"deep\n"


def test_a_fetch_that_goes_on(served, tmp_path):
    """Of a version that is kept; of a file that stopped in the middle."""
    out = tmp_path / "big"
    get(served, "/big", "--output", str(out), "--resume")
    assert out.read_bytes() == octets(3_000_000)
