# SPDX-License-Identifier: BSD-2-Clause
"""wiki.py - a copy of Debian's DokuWiki with data and settings of its own; the packaged one is not touched."""
import os
import shutil
import subprocess

WIKI, WIKI_CONF = "/usr/share/dokuwiki", "/etc/dokuwiki"
FOLDERS = ("attic", "cache", "index", "locks", "log", "media", "media_attic", "media_meta", "meta", "pages", "tmp")


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
