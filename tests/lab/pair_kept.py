# SPDX-License-Identifier: BSD-2-Clause
"""
What the two stores of a pair hold, and the sites of pair_visitors.py behind it.

    sites = Sites(lab).start()
    secrets, publics, pages = sites.visited(first, count)      how many secrets were found in a store, of how many; the share of words that were to be kept and are in both; pages by kind
"""
import collections
import json
import os
import subprocess
import sys

from . import pair_visitors as visitors
from .httpd import Httpd, sanitizer_environment
from .lab import module, wait_for
from .pair import Pair

VISITORS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "pair_visitors.py")
APPLICATION, RAW = 8001, 8002
BATCH = 4000            # pages whose words fit a store


def stores(pid):
    """The memory of a daemon that its store has taken: it alone is not copied by a fork."""
    places, place = [], None
    with open(f"/proc/{pid}/smaps", encoding="ascii") as f:
        for line in f:
            first, *rest = line.split()
            if not first.endswith(":"):
                place = tuple(int(n, 16) for n in first.split("-"))
            elif first == "VmFlags:" and "dc" in rest:
                places.append(place)
    assert len(places) >= 1
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as f:
        for begin, end in places:
            f.seek(begin)
            at, before = begin, b""
            while at < end:
                piece = f.read(min(1 << 24, end - at))
                at += len(piece)
                yield before + piece
                before = piece[-64:]


Found = collections.namedtuple("Found", "secrets kept pages bytes")


class Sites:
    """Httpds and an application behind a pair, by all WAYS of pair_visitors.py."""

    def __init__(self, lab, **settings):
        self.pair = Pair(lab).start()
        self.application = [subprocess.Popen([*self.pair.servers.prefix, sys.executable, VISITORS, "serve", *words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
                            for words in (("127.0.0.1", str(APPLICATION)), ("10.8.1.2", str(RAW)))]
        for process in self.application:
            assert process.stdout.readline() == "ready\n"
        ours = dict(load={"eeod": module("mod_eeod")}, environment=sanitizer_environment())
        proxied = "".join(f"ProxyPass /{way}/ http://127.0.0.1:{APPLICATION}/{way}/\n" for way in visitors.WAYS)
        back = "EeodKey Off\n" + proxied + "".join(f"<Location /{way}>\nEeodEngine On\n</Location>\n" for way in visitors.WAYS) + "<Location /keyed>\nEeodKey On\n</Location>\n"
        self.back = Httpd(lab, name="back", config=back, **ours).on(self.pair.servers).start()
        passed = "".join(f"ProxyPass /{way}/ http://{self.back.address}/{way}/\n" for way in visitors.FRONT)
        front = ("EeodKey Off\n" + passed + "<Location /strip>\nEeodEngine On\nEeodStrip On\n</Location>\n<Location /through>\nEeodEngine On\n</Location>\n"
                 '<Location /uncommented>\nAddOutputFilterByType SUBSTITUTE text/html\nSubstitute "s/<!--[^>]*-->//"\n</Location>\n')
        self.front = Httpd(lab, name="front", config=front, modules=("filter", "substitute"), **ours).on(self.pair.servers).start()
        self.other = Httpd(lab, name="other", config=passed + "<Location /gzip>\nSetOutputFilter DEFLATE\n</Location>\n", modules=("filter", "deflate")).on(self.pair.servers).start()
        self.ways = dict.fromkeys(visitors.WAYS, self.back.address) | dict.fromkeys(("strip", "through", "uncommented"), self.front.address)
        self.ways |= dict.fromkeys(("plain", "gzip"), self.other.address) | {"raw": f"10.8.1.2:{RAW}"}
        ports = " ".join(sorted({at.rpartition(":")[2] for at in self.ways.values()}))
        self.pair.both(ports=ports, cache="16M", **settings)

    def stop(self):
        for process in self.application:
            process.kill()
            process.wait()
            process.stdout.close()
        self.pair.stop()
        for h in (self.front, self.other, self.back):
            h.stop()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def visited(self, first, count):
        """Visits these pages, and looks at what the stores have afterwards."""
        for side in (self.pair.parent, self.pair.child):
            wait_for(side.at_work, 10, f"the {side.role} at work")
        words = [*self.pair.clients.prefix, sys.executable, VISITORS, "visit", str(first), str(count), "4", *(f"{way}={at}" for way, at in self.ways.items())]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        said = json.loads(done.stdout or "{}")
        assert done.returncode == 0, f"{said.get('failed')} {done.stderr[-2000:]}"
        rows = [self.rows(side, said["compressed"]) for side in (self.pair.parent, self.pair.child)]
        secret, public = {}, set()
        for page in map(visitors.Page, range(first, first + count)):
            secret |= dict.fromkeys(page.secrets, page)
            public |= set(page.publics)
        leaks = self.told(rows, secret)
        both = [visitors.PUBLIC_ROWS.findall(b" ".join(r["public"])) for r in rows]
        kept = sum(all(w.encode() in found for found in map(set, both)) for w in public)
        return Found(leaks, kept / max(1, len(public)), said["pages"], said["bytes"])

    @staticmethod
    def rows(side, compressed):
        """What is in a store: rows of letters of secrets and public words, and bytes of compressed pages."""
        seen = {"secret": [], "public": [], "compressed": []}
        for piece in stores(side.pid()):
            seen["secret"] += visitors.SECRET_ROWS.findall(piece)
            seen["public"] += visitors.PUBLIC_ROWS.findall(piece)
            seen["compressed"] += [c for c in compressed if bytes.fromhex(c) in piece]
        return seen

    @staticmethod
    def told(rows, secret):
        """{what was found: of which page}"""
        leaks = {}
        for r, role in zip(rows, ("parent", "child")):
            leaks |= {c: f"of a compressed page: {role}" for c in r["compressed"]}
            for row in r["secret"]:
                text = row.replace(b"\0", b"").decode()
                page = next((p for s, p in secret.items() if text in s or s in text), None)
                where = f"page {page.number}, {page.kind}, by way of {page.way}" if page else "of pages before"
                leaks[text] = f"{leaks[text]}, {role}" if text in leaks else f"{where}: {role}"
        return leaks
