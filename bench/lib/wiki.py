# SPDX-License-Identifier: BSD-2-Clause
"""wiki.py - a copy of Debian's DokuWiki with data and settings of its own; the packaged one is not touched."""
import gzip
import os
import shutil
import subprocess

from lab.browser import fields
from lab.examples import EXAMPLES

WIKI, WIKI_CONF = "/usr/share/dokuwiki", "/etc/dokuwiki"
FOLDERS = ("attic", "cache", "index", "locks", "log", "media", "media_attic", "media_meta", "meta", "pages", "tmp")
EXTENSIONS = ("dom", "simplexml", "xml", "mbstring")    # of PHP, besides what is built in


def installed():
    return os.path.isdir(WIKI)


def make(root, **settings):
    """Without pages; give() is to follow when all is written."""
    subprocess.run(["cp", "-rL", WIKI, root], check=False, stderr=subprocess.DEVNULL)
    data = f"{root}/data"
    shutil.rmtree(data, ignore_errors=True)
    for d in FOLDERS:
        os.makedirs(f"{data}/{d}")
    # Links that lead nowhere before the package is configured are no loss.
    subprocess.run(["cp", "-rL", WIKI_CONF, f"{root}/conf"], check=False, stderr=subprocess.DEVNULL)
    with open(f"{root}/inc/preload.php", "w", encoding="utf-8") as f:
        f.write(f"<?php define('DOKU_MAIN_CONF', '{root}/conf/'); define('DOKU_CONF', '{root}/conf/');\n")
    values = {"title": "'Bench'", "savedir": f"'{data}'", "indexdelay": 0, "updatecheck": 0, **settings}
    with open(f"{root}/conf/local.php", "w", encoding="utf-8") as f:
        f.write("<?php " + " ".join(f"$conf['{k}'] = {v};" for k, v in values.items()) + "\n")


def add(root, name, text):
    path = f"{root}/data/pages/" + name.replace(":", "/") + ".txt"
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def give(root):
    subprocess.run(["chown", "-R", "www-data:www-data", root], check=True)


def add_revisions(root, name, texts, began=1_700_000_000):
    """A page whose text was each of these in turn, an hour apart; the last one is what it is now.  Their times."""
    place = name.replace(":", "/")
    times = [began + 3600 * i for i in range(len(texts))]
    for folder in ("attic", "meta"):
        os.makedirs(os.path.dirname(f"{root}/data/{folder}/{place}"), exist_ok=True)
    for t, text in zip(times, texts):
        with gzip.open(f"{root}/data/attic/{place}.{t}.txt.gz", "wt", encoding="utf-8", compresslevel=1) as f:
            f.write(text)
    with open(f"{root}/data/meta/{place}.changes", "w", encoding="utf-8") as f:
        f.writelines(f"{t}\t127.0.0.1\t{'C' if t == began else 'E'}\t{name}\t\tan edit\t\t\n" for t in times)
    add(root, name, texts[-1])
    os.utime(f"{root}/data/pages/{place}.txt", (times[-1], times[-1]))
    return times


def add_user(root, name, password):
    """Somebody who may write and upload, where everybody else may read; for settings with useacl=1."""
    hashed = subprocess.run(["openssl", "passwd", "-1", password], capture_output=True, text=True, check=True).stdout.strip()
    with open(f"{root}/conf/users.auth.php", "a", encoding="utf-8") as f:
        f.write(f"{name}:{hashed}:{name}:{name}@example.org:user\n")
    with open(f"{root}/conf/acl.auth.php", "w", encoding="utf-8") as f:
        f.write("# <?php exit()?>\n*\t@ALL\t1\n*\t@user\t16\n")


def tell_members(root):
    """Who is signed in is told the gateway, as the example of a PHP application has it."""
    shutil.copy(f"{EXAMPLES}/dokuwiki.php", f"{root}/conf/local.protected.php")


def sign_in(browser, page, name, password):
    """Is he, and has he seen a page since?"""
    form = fields(browser.get(f"/doku.php?id={page}&do=login").text, 'name="p"')
    browser.post(f"/doku.php?id={page}", {**form, "u": name, "p": password})
    return "do=logout" in browser.get(f"/doku.php?id={page}").text
