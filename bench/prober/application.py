# SPDX-License-Identifier: BSD-2-Clause
"""
application.py - a real application, Debian's DokuWiki behind httpd and PHP-FPM: is everything found that wget --mirror finds?

    found_ratio     URLs that wget got a 200 for and the table holds / those that wget got; of this and the static site the lesser

Both keep to robots.txt and the same path patterns; what differs from visit to visit (security tokens, time stamps) is in neither.
"""
import re
import subprocess
import tempfile

import probing
import wiki
from lab.httpd import Httpd, PhpFpm

# What has a new name at each visit, or is a form for somebody who is logged in.
CHANGING = r"sectok=|[?&]t=|(indexer|taskrunner)\.php|do=(login|resendpwd|register)|rev=|difftype=|at="
EXCLUDE = ("*sectok=", "*?t=", "*&t=", "*indexer.php", "*taskrunner.php", "*do=login", "*do=resendpwd", "*do=register", "*rev=", "*difftype=", "*at=")


def make_wiki(bench, pages):
    """A copy of the packaged wiki with pages of our own, in namespaces, linked as a tree and at random."""
    root = bench.lab.dir + "/wiki"
    wiki.make(root, useacl=0)
    for i in range(pages):
        name = f"ns{i % 7}:page{i}" if i else "start"
        links = [k for k in (3 * i + 1, 3 * i + 2, 3 * i + 3) if k < pages] + [(i * 7919) % pages]
        text = f"====== Page {i} ======\n" + "".join(f"  * [[:{'start' if not k else f'ns{k % 7}:page{k}'}]]\n" for k in links) + "words and more words " * (i % 50)
        wiki.add(root, name, text)
    wiki.give(root)
    return root


def ok_paths(log):
    """Paths that were answered 200, by an access log of method, status and path."""
    paths = set()
    for line in log:
        status, method, path = line.split(" ")[:3]
        if method in ("GET", "HEAD") and status == "200" and not re.search(CHANGING, path) and path != "/robots.txt":
            paths.add(path)
    return paths


def serve(bench, name, root, fpm):
    return Httpd(bench.lab, name=name, htdocs=root, php=fpm.address, access_log="%>s %r", modules=("log_config",),
                 config="DirectoryIndex index.php doku.php index.html\n").start()


def measure(bench):
    if not wiki.installed():
        bench.say("dokuwiki is not installed: ./quickstart deps")
        bench.figure("found_ratio", float("nan"), "of 1", ">= 1.0")
        return
    root = make_wiki(bench, bench.size(200, 40))
    fpm = PhpFpm(bench.lab, name="wiki-fpm", workers=4).start()
    theirs = serve(bench, "wiki-wget", root, fpm)
    directory = tempfile.mkdtemp(dir=bench.lab.dir)
    subprocess.run(["wget", "--mirror", "--page-requisites", "-nv", "-o", "/dev/null", "-P", directory, "--reject-regex", CHANGING, theirs.url + "/doku.php"],
                   timeout=3000)
    theirs_found = ok_paths(theirs.access_log())
    theirs.stop()
    ours = serve(bench, "wiki-probed", root, fpm)
    table = bench.lab.dir + "/wiki.pages"
    took = probing.probe(table, ours.url + "/doku.php", exclude=EXCLUDE)
    found = set(probing.rows(table, ours.url))
    ours.stop()
    missing = {p for p in theirs_found if p not in found}
    bench.say(f"the wiki: wget found {len(theirs_found)}, fairgate-prober {len(found)} in {took:.0f} s; missing {sorted(missing)[:5]}")
    ratio = 1 - len(missing) / max(1, len(theirs_found))
    bench.figure("found_ratio", min(ratio, getattr(bench, "found_static", 1.0)), "of 1", ">= 1.0")


FAMILIES = [(measure, ("found_ratio",))]
