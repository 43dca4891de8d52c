# SPDX-License-Identifier: BSD-2-Clause
"""fairgate-prober with real servers: what they pack, PHP, HTTP/2 over TLS; and the gateway that reads the table."""
import os
import random
import subprocess
import sys

import pytest

import http1
from lab import prober
from lab.httpd import Httpd, Nginx
from lab.lab import free_port

ACCEPT = {"body": None, "gzip": "gzip", "br": "gzip, br"}


@pytest.fixture
def htdocs(open_path):
    root = open_path / "htdocs"
    root.mkdir()
    rng = random.Random(5)
    text = " ".join(rng.choice(("lorem", "ipsum", "dolor", "sit", "amet")) + str(rng.randrange(99)) for _ in range(3000))
    (root / "index.html").write_text(f'<a href="page.php?n=30000&amp;x=1">php</a><a href=text.html>t</a><img src=i.png><img src="i.png?known"><script src=s.js></script>{text}')
    (root / "text.html").write_text(text[:9000])
    (root / "s.js").write_text("// " + text)
    (root / "i.png").write_bytes(rng.randbytes(5000))
    (root / "page.php").write_text("<?php echo str_repeat('varied text ', (int)$_GET['n'] / 12);")
    for path in root.iterdir():
        path.chmod(0o644)
    return root


def test_what_servers_read_stays_open_when_another_run_begins(htdocs, tmp_path):
    """test_http2_over_tls found robots.txt and / and no link when some other run had begun in the 15 seconds in which its first walk finds that it does not know the certificate: nginx said 403."""
    (tmp_path / "test_it.py").write_text("def test_it(tmp_path): pass\n")
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    subprocess.run([sys.executable, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", tmp_path / "test_it.py"], env=environment, cwd=tmp_path, stdout=subprocess.DEVNULL, check=True)
    for path in (htdocs / "index.html", *htdocs.parents):
        assert path.stat().st_mode & (0o004 if path.is_file() else 0o001), path


def real(port, path, accept, host="127.0.0.1"):
    return len(http1.get(port, path, headers={"Accept-Encoding": accept}, host=host).body)


@pytest.mark.parametrize("filters", ["DEFLATE", "BROTLI_COMPRESS;DEFLATE", None])
def test_what_servers_pack(parts, htdocs, tmp_path, filters):
    """The size on the wire for what a client takes is that of a real GET of such a client."""
    more = f"AddOutputFilterByType {filters} text/html text/css application/javascript text/javascript\n" if filters else ""
    server = Httpd(parts.lab, htdocs=str(htdocs), php=parts.fpm.address, modules=("deflate", "brotli", "filter"), config=more).start()
    try:
        table = tmp_path / "pages"
        prober.crawl(table, server.url)
        first = prober.rows(table)
        assert {url[len(server.url):] for url in first} == {"/", "/page.php?n=30000&x=1", "/text.html", "/i.png", "/i.png?known", "/s.js"}
        for url, row in first.items():
            for column, accept in ACCEPT.items():
                size = row["body"] if row[column] is None else row[column]
                assert size == real(server.port, url[len(server.url):], accept), f"{url} for {accept}"
        packed = first[server.url + "/"]
        assert (packed["gzip"] is None) == (filters is None)
        if filters and "BROTLI" in filters:
            assert packed["br"] < packed["gzip"] < packed["body"]
        # What is packed as it goes has a validator all the same, and is known again.
        prober.crawl(table, server.url)
        assert {u: (r["body"], r["gzip"], r["br"]) for u, r in prober.rows(table).items()} == {u: (r["body"], r["gzip"], r["br"]) for u, r in first.items()}
    finally:
        server.stop()


def test_http2_over_tls(parts, htdocs, tmp_path):
    certificate, key = parts.certificate
    port = free_port()
    server = Nginx(parts.lab, htdocs=str(htdocs), http="log_format p '$server_protocol $request_uri';", server="index index.html;")
    server.server_text += f"listen 127.0.0.1:{port} ssl http2; ssl_certificate {certificate}; ssl_certificate_key {key}; access_log {server.path('p.log')} p;"
    server.start()
    try:
        table = tmp_path / "pages"
        said = prober.crawl(table, f"https://localhost:{port}/", expect=3)
        assert "certificate" in said and not prober.rows(table)
        prober.crawl(table, f"https://localhost:{port}/", cacert=certificate, fresh=True)
        assert prober.targets(table, f"https://localhost:{port}")["/i.png"] == 5000
        with open(server.path("p.log"), encoding="ascii") as log:
            assert {line.split()[0] for line in log} == {"HTTP/2.0"}
    finally:
        server.stop()


def test_past_the_gateway(parts, htdocs, open_path, new_gateway):
    """Straight to the server under the name that clients use: the gateway then knows pages that nobody has asked for."""
    server = Nginx(parts.lab, htdocs=str(htdocs), server="index index.html;").start()
    try:
        table = open_path / "pages"
        prober.crawl(table, "http://www.example.org/", backend=server.address)
        assert prober.rows(table)["http://www.example.org/i.png"]["body"] == 5000
        g = new_gateway()
        g.config += f"QosPageTable {table}\nProxyPass /i.png {server.url}/i.png\n"
        with g, g.connect() as c:
            g.until(lambda s: s["known_urls"] > 0, "the table read")
            c.ask("GET", "/i.png?known", host="www.example.org", headers={"Cookie": "session=1"})
            expected = int(g.logged("known", 1)[0]["estimate"])
            assert 5100 < expected < 5600
    finally:
        server.stop()


def test_through_the_gateway(new_gateway, tmp_path):
    """As a client like any other: HEAD and what is cut teach nothing, and no slot is left behind."""
    with new_gateway() as g:
        before = g.settled()
        prober.crawl(tmp_path / "pages", f"http://localhost:{g.port}/static/index.html", f"http://localhost:{g.port}/static/50m.bin")
        after = g.settled()
        assert after["submitted"] > before["submitted"]
        assert prober.targets(tmp_path / "pages", f"http://localhost:{g.port}")["/static/50m.bin"] == 50 << 20
