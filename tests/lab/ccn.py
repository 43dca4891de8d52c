# SPDX-License-Identifier: BSD-2-Clause
"""ccn.py - a website on a named-data network: httpd with mod_ccn, pages that are files and pages that are made."""
import contextlib
import hashlib
import json
import os
import random
import urllib.request

from .httpd import CRASH, Httpd, sanitizer_environment
from .lab import free_port, module

PAGE = """#!/bin/sh
# n=BYTES of a text that n alone decides; field=NAME: what the request says there; wait=SECONDS; more=LINE of the header, + for a blank
n=0 wait= more= field=
IFS='&'
for word in $QUERY_STRING; do
    case $word in n=*) n=${word#n=} ;; wait=*) wait=${word#wait=} ;; field=*) field=${word#field=} ;; more=*) more=$(echo "${word#more=}" | tr + ' ') ;; esac
done
unset IFS
[ -z "$wait" ] || sleep "$wait"
echo "Content-Type: text/plain"
[ -z "$more" ] || echo "$more"
echo
[ -z "$field" ] || eval "printf '%s\\n' \\"\\$$field\\""
[ "$n" = 0 ] || yes "line of a page of $n bytes" | head -c "$n"
"""


def made(n):
    """What page.cgi?n=N brings."""
    line = f"line of a page of {n} bytes\n".encode()
    return (line * (n // len(line) + 1))[:n]


def octets(n, seed=0):
    return random.Random(seed).randbytes(n)


class Site(Httpd):
    """
    httpd with mod_ccn on a host, or on 127.0.0.1.

    prefix      names below it are pages of the site
    files       {name: bytes} of the document root
    speak       lines of the virtual host that speaks NDN
    settings    lines for the whole server
    privacy     what CcnPrivate is; None: it is not said
    """

    name = "site"

    def __init__(self, lab, prefix="/example/site", files=(), speak="", settings="", listens=True, privacy=None, **options):
        self.prefix_name, self.speak, self.settings, self.listens, self.privacy = prefix, speak, settings, listens, privacy
        self.ndn_port = free_port()
        docs = os.path.join(lab.dir, f"docs-{self.ndn_port}")
        os.makedirs(docs, mode=0o755)
        os.chmod(docs, 0o755)
        for name, content in {**dict(files), "page.cgi": PAGE.encode(), "index.html": b"hello\n"}.items():
            os.makedirs(os.path.dirname(os.path.join(docs, name)), exist_ok=True)
            with open(os.path.join(docs, name), "wb") as f:
                f.write(content)
        os.chmod(os.path.join(docs, "page.cgi"), 0o755)
        super().__init__(lab, htdocs=docs, cgi=True, load={"ccn": module("mod_ccn")}, environment=sanitizer_environment(), **options)

    def configure(self):
        where = self.host if self.listens else "127.0.0.1"
        self.config = f"""{self.settings}
<Location /ccn-status>
SetHandler ccn-status
</Location>
Listen {where}:{self.ndn_port}
<VirtualHost *:{self.ndn_port}>
ServerName site.example
CcnEngine On
{f"CcnPrivate {self.privacy}" if self.privacy else ""}
CcnMap {self.prefix_name} /
{self.speak}
</VirtualHost>
"""
        super().configure()

    def ready(self):
        # Its port is open before the modules have had their say.
        return self.generations() > 0 and self.inside(super().ready)

    @property
    def uri(self):
        return f"tcp4://{self.host}:{self.ndn_port}"

    def status(self):
        def get():
            with urllib.request.urlopen(self.url + "/ccn-status?json", timeout=10) as answer:
                return json.load(answer)
        return self.inside(get)

    def inside(self, call):
        place = getattr(self, "place", None)
        return place.inside(call) if place else call()

    def on(self, link):
        self.place = link
        return super().on(link)


@contextlib.contextmanager
def site(lab, host=None, **options):
    s = Site(lab, **options)
    if host:
        s.on(host)
    with s.start():
        yield s
        s.stop()
    crash = CRASH.search(s.log())
    assert not crash, s.log()[max(0, crash.start() - 2000):][:8000]


def digest(content):
    return hashlib.sha256(content).hexdigest()[:16]
