# SPDX-License-Identifier: BSD-2-Clause
"""
captures.py - pages of three packaged applications, taken from each of them as several users who are logged in, again and again while what the pages show changes.

    for capture in captures.take(bench): ...

    DokuWiki    an article; an edit between two instants
    MediaWiki   an article, with SQLite behind it; an edit
    gitweb      the log of a repository; a commit.  Nobody logs in there: what differs is how long ago the last commits were, since the users come within two seconds, and how
                long the page took (its feature "timed"); nearly nothing.  So it stands for pages that are the same for all but whose headers do not say so

The texts are those of docs/, and somebody who is none of the users changes them.  What a browser gets with a page (the style sheets, scripts and images that it names) is taken
once; what scripts get later is not.  Everything is written as files for mod_asis, with the header that the application sent, but without cookies and without what
the server that will have it says by itself; pages with marks say so, and forbid nothing:

    DIR/plain/INSTANT/USER    DIR/plain/objects/N    DIR/marked/...: with marks (marking.py)
"""
import dataclasses
import functools
import hashlib
import html.parser
import http.cookiejar
import json
import os
import re
import shutil
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request

import marking
import wiki
from lab.httpd import NOBODY, Httpd, PhpFpm
from lab.lab import ROOT

USERS = ("ann", "bartholomew", "chris", "dorothea", "eve", "franz", "guinevere", "hal", "ingeborg", "jo", "konstantin", "li",
         "maximiliane", "ned", "octavia", "piet", "quentin", "ruth", "sebastian", "tuula", "ulrich", "vic", "wilhelmina", "yves")
EDITOR = "editor"
PASSWORD = "correct-horse-9-battery"
OURS_TO_SAY = {"date", "server", "connection", "keep-alive", "transfer-encoding", "content-length", "set-cookie"}


def paragraphs(*names):
    found = []
    for name in names:
        with open(os.path.join(ROOT, "docs", f"{name}.md"), encoding="utf-8") as f:
            found += [p for p in f.read().split("\n\n") if not re.search(r"[<{|\[]", p)]
    return found


class Article:
    """Text of a wiki: what it was at first, and a paragraph more for each edit."""

    def __init__(self, heading):
        self.parts = [re.sub(r"^#+ (.*)", rf"{heading} \1 {heading}", p) for p in paragraphs("policy", "mod_qos_drr", "prober")]
        self.news = paragraphs("squid-fqrs")

    def text(self, instant):
        parts = list(self.parts)
        for i in range(instant):
            parts.insert((i * 7 + 3) % len(parts), self.news[i * 5 % len(self.news)])
        return "\n\n".join(parts)


class Browser:
    """One user's: it keeps cookies."""

    def __init__(self, url, user):
        self.url, self.user = url, user
        self.jar = http.cookiejar.CookieJar()
        self.opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPCookieProcessor(self.jar))

    def get(self, path, **form):
        """(the response's header, its body)"""
        data = urllib.parse.urlencode(form).encode() if form else None
        with self.opener.open(urllib.parse.urljoin(self.url, path), data, timeout=60) as r:
            return r.headers.items(), r.read()

    def object(self, at):
        """None if there is no such thing, or a browser would not keep it: it counts visits then, or does work for the application."""
        try:
            header, body = self.get(at)
        except urllib.error.HTTPError:
            return None
        return None if "no-store" in dict(header).get("Cache-Control", "") else (header, body)

    def cookie(self):
        return "; ".join(f"{c.name}={c.value}" for c in self.jar)


class DokuWiki:
    name, packages, page = "DokuWiki", "dokuwiki", "/doku.php?id=start"
    SPREAD = 0      # seconds within which the users come
    installed = staticmethod(wiki.installed)

    def __init__(self, bench, directory, users):
        root = f"{directory}/wiki"
        wiki.make(root, useacl=1, superuser="'@admin'", disableactions="'register'")
        with open(f"{root}/conf/users.auth.php", "w", encoding="utf-8") as f:
            f.writelines(f"{u}:{hashlib.sha1(PASSWORD.encode()).hexdigest()}:{u.capitalize()} of the bench:{u}@example.org:user\n" for u in (EDITOR, *users))
        with open(f"{root}/conf/acl.auth.php", "w", encoding="utf-8") as f:
            f.write("*\t@ALL\t1\n*\t@user\t8\n")
        self.article = Article("=====")
        wiki.add(root, "start", self.article.text(0))
        wiki.give(root)
        self.fpm = PhpFpm(bench.lab, name="dokuwiki-fpm", workers=2, extensions=("xml",), pool=(f"php_admin_value[session.save_path] = {root}/data/tmp",)).start()
        self.httpd = Httpd(bench.lab, name="dokuwiki", htdocs=root, php=self.fpm.address, config="DirectoryIndex doku.php\n").start()

    def log_in(self, browser):
        self.token(browser.get(self.page, do="login", u=browser.user, p=PASSWORD)[1])

    @staticmethod
    def token(page):
        return re.search(rb'name="sectok" value="(\w+)"', page).group(1).decode()

    def change(self, browser, instant):
        token = self.token(browser.get(self.page + "&do=edit")[1])
        browser.get(self.page, **{"do[save]": 1, "sectok": token, "wikitext": self.article.text(instant), "summary": f"edit {instant}"})

    def stop(self):
        self.httpd.stop()
        self.fpm.stop()


class MediaWiki:
    name, packages, page = "MediaWiki", "mediawiki, php-sqlite3, php-mbstring and php-intl", "/index.php?title=Main_Page"
    TREE, SPREAD = "/usr/share/mediawiki", 0
    EXTENSIONS = ("ctype", "dom", "fileinfo", "iconv", "intl", "mbstring", "pdo", "pdo_sqlite", "tokenizer", "xml", "xmlreader")

    @classmethod
    def installed(cls):
        php = subprocess.run(["php", "-m"], capture_output=True, text=True, check=False).stdout.split() if shutil.which("php") else ()
        return os.path.isdir(cls.TREE) and {"pdo_sqlite", "mbstring", "intl"} <= set(php)

    def __init__(self, bench, directory, users):
        self.settings = f"{directory}/LocalSettings.php"
        self.fpm = PhpFpm(bench.lab, name="mediawiki-fpm", workers=2, extensions=self.EXTENSIONS, pool=(f"env[MW_CONFIG_FILE] = {self.settings}",))
        self.httpd = Httpd(bench.lab, name="mediawiki", htdocs=self.TREE, php=self.fpm.address)
        self.maintain("install", "--dbtype", "sqlite", "--dbpath", directory, "--dbname", "wiki", "--confpath", directory, "--server", self.httpd.url, "--scriptpath", "",
                      "--skins", "Vector", "--pass", PASSWORD, "Bench", EDITOR, fresh=True)
        with open(self.settings, "a", encoding="utf-8") as f:
            f.write("$wgMainCacheType = $wgSessionCacheType = CACHE_DB;\n$wgJobRunRate = 0;\n")
        for u in users:
            self.maintain("createAndPromote", u.capitalize(), PASSWORD)
        subprocess.run(["chown", "-R", f"{NOBODY}:{NOBODY}", directory], check=True)
        self.article = Article("==")
        self.fpm.start()
        self.httpd.start()

    def maintain(self, script, *words, fresh=False):
        environment = dict(os.environ, **({} if fresh else {"MW_CONFIG_FILE": self.settings}))
        subprocess.run(["php", "-n", *(w for e in self.EXTENSIONS for w in ("-d", f"extension={e}")), f"{self.TREE}/maintenance/{script}.php", *words],
                       env=environment, capture_output=True, check=True)

    @staticmethod
    def token(browser, kind):
        return json.loads(browser.get(f"/api.php?action=query&meta=tokens&type={kind}&format=json")[1])["query"]["tokens"][f"{kind}token"]

    def log_in(self, browser):
        said = json.loads(browser.get("/api.php?format=json", action="login", lgname=browser.user, lgpassword=PASSWORD, lgtoken=self.token(browser, "login"))[1])
        assert said["login"]["result"] == "Success", said

    def change(self, browser, instant):
        said = json.loads(browser.get("/api.php?format=json", action="edit", title="Main_Page", text=self.article.text(instant), token=self.token(browser, "csrf"))[1])
        assert said["edit"]["result"] == "Success", said

    def stop(self):
        self.httpd.stop()
        self.fpm.stop()


class Gitweb:
    name, packages, page = "gitweb", "gitweb", "/gitweb.cgi?p=bench.git;a=shortlog"
    TREE = "/usr/share/gitweb"
    COMMITS, SPREAD = 120, 2

    @classmethod
    def installed(cls):
        return os.path.isdir(cls.TREE)

    def __init__(self, bench, directory, users):
        self.begun, self.users, self.news = int(time.time()), users, paragraphs("policy", "squid-fqrs", "mod_qos_drr", "prober", "ARCHITECTURE")
        self.repository = f"{directory}/bench.git"
        os.makedirs(self.repository)
        shutil.chown(self.repository, NOBODY, NOBODY)
        self.git("init", "--quiet", "--bare", ".")
        commits = b"".join(self.commit(i) for i in range(self.COMMITS))
        self.git("fast-import", "--quiet", said=commits)
        with open(f"{directory}/gitweb.conf", "w", encoding="utf-8") as f:
            f.write(f"$projectroot = '{directory}';\n$feature{{'timed'}}{{'default'}} = [1];\n")
        self.httpd = Httpd(bench.lab, name="gitweb", htdocs=self.TREE, cgi=True,
                           config=f"SetEnv GITWEB_CONFIG {directory}/gitweb.conf\n<Directory {self.TREE}>\nOptions +ExecCGI\n</Directory>\n").start()

    def git(self, *words, said=b""):
        subprocess.run(["git", "-C", self.repository, *words], input=said, user=NOBODY, env={"PATH": os.environ["PATH"], "HOME": self.repository}, check=True)

    def commit(self, i):
        """A paragraph more in one of seven files, as git fast-import takes it; the first ones three hours apart."""
        who, text = self.users[i % len(self.users)], self.news[i % len(self.news)].encode()
        when = self.begun - (self.COMMITS - i) * 10800 if i < self.COMMITS else int(time.time())
        after = "" if i < self.COMMITS else "from refs/heads/master^0\n"
        head = f"commit refs/heads/master\ncommitter {who.capitalize()} <{who}@example.org> {when} +0000\ndata {len(text)}\n"
        return head.encode() + text + b"\n" + after.encode() + f"M 100644 inline {i % 7}.txt\ndata {len(text)}\n".encode() + text + b"\n"

    def log_in(self, browser):
        pass

    def change(self, browser, instant):
        self.git("fast-import", "--quiet", said=self.commit(self.COMMITS + instant))

    def stop(self):
        self.httpd.stop()


class Named(html.parser.HTMLParser):
    """What a browser gets with a page, in the page's order."""

    def __init__(self, url, page):
        super().__init__()
        self.url, self.found = url, {}
        self.feed(page.decode())

    def handle_starttag(self, tag, attributes):
        a = dict(attributes)
        if tag == "link" and not {"stylesheet", "icon"} & set((a.get("rel") or "").split()):
            return
        name = {"link": "href", "script": "src", "img": "src"}.get(tag)
        if name and a.get(name):
            at = urllib.parse.urljoin(self.url, a[name])
            if at.startswith(self.url):
                self.found[at] = True


@dataclasses.dataclass(frozen=True)
class Capture:
    """objects: how many; fresh: names of others, beside the users' pages, that are new each instant; cookie: what a browser sends with each request there."""
    name: str
    directory: str
    users: tuple
    instants: int
    objects: int
    cookie: str
    fresh: tuple = ()

    def page(self, instant, user, kind="plain"):
        """(header, body)"""
        return read(f"{self.directory}/{kind}/{instant}/{user}")


def asking(header):
    """The header of an application that has marks and says so; one that forbids to keep its pages would win over them."""
    return [(k, v) for k, v in header if k.lower() != "cache-control"] + [("Cache-Control", "no-cache"), ("Eeod", "marks")]


def write(path, header, body):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write("".join(f"{k}: {v}\n" for k, v in header if k.lower() not in OURS_TO_SAY).encode() + b"\n" + body)


def read(path):
    with open(path, "rb") as f:
        header, _, body = f.read().partition(b"\n\n")
    return [tuple(line.split(": ", 1)) for line in header.decode().splitlines()], body


def capture(bench, kind, users, instants):
    directory = f"{bench.lab.dir}/captures/{kind.name}"
    os.makedirs(f"{directory}/application")
    application = kind(bench, f"{directory}/application", users)
    try:
        editor, *browsers = [Browser(application.httpd.url, u) for u in (EDITOR, *users)]
        for b in (editor, *browsers):
            application.log_in(b)
        for instant in range(instants):
            application.change(editor, instant)
            editor.get(application.page)      # what an application does once after a change is not to differ between users
            got = {}
            for b in browsers:
                got[b.user] = b.get(application.page)
                time.sleep(application.SPREAD / len(browsers))
            with_marks = marking.marked({u: body for u, (_, body) in got.items()})
            for u, (header, body) in got.items():
                write(f"{directory}/plain/{instant}/{u}", header, body)
                write(f"{directory}/marked/{instant}/{u}", asking(header), with_marks[u])
        named = [Named(application.httpd.url, body).found for _, body in got.values()]
        objects = [got for got in map(browsers[0].object, (at for at in named[0] if all(at in n for n in named))) if got]
        for i, (header, body) in enumerate(objects):
            write(f"{directory}/plain/objects/{i}", header, body)
        os.symlink("../plain/objects", f"{directory}/marked/objects")
        return Capture(kind.name, directory, tuple(users), instants, len(objects), browsers[0].cookie())
    finally:
        application.stop()


@functools.cache
def take(bench):
    taken = []
    for kind in (DokuWiki, MediaWiki, Gitweb):
        if not kind.installed():
            bench.say(f"{kind.packages}: not installed: ./quickstart deps")
            continue
        taken.append(capture(bench, kind, USERS[:bench.size(24, 8)], bench.size(6, 3)))
    return taken
