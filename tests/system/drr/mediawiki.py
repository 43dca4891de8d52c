# SPDX-License-Identifier: BSD-2-Clause
"""Debian's MediaWiki with data and settings of its own: its programs stay where they are and are only read."""
import os
import pathlib
import subprocess

from lab import examples

HERE = "/usr/share/mediawiki"
EXTENSIONS = ("ctype", "iconv", "mbstring", "intl", "dom", "xml", "xmlreader", "fileinfo", "tokenizer", "calendar", "pdo", "pdo_sqlite")
ADMIN, PASSWORD = "Somebody", "an-unusual-Passw0rd"


def missing():
    """What is not installed, or nothing."""
    if not os.path.exists(f"{HERE}/index.php"):
        return "mediawiki is not installed"
    done = subprocess.run(["php", "-n", *(w for e in EXTENSIONS for w in ("-d", f"extension={e}")), "-m"], capture_output=True, text=True, check=False)
    return "" if "pdo_sqlite" in done.stdout and "intl" in done.stdout else "php-sqlite3 or php-intl is not installed"


def make(root):
    """Its data in the folder `root`."""
    root = pathlib.Path(root)
    (root / "images").mkdir(parents=True)
    subprocess.run(["php", "-n", *(w for e in EXTENSIONS for w in ("-d", f"extension={e}")), f"{HERE}/maintenance/install.php", "--dbtype", "sqlite", "--dbpath", root, "--confpath", root,
                    "--scriptpath", "", "--server", "http://127.0.0.1", "--pass", PASSWORD, "Wiki", ADMIN], check=True, capture_output=True, stdin=subprocess.DEVNULL)
    with open(root / "LocalSettings.php", "a", encoding="utf-8") as f:
        f.write(f"$wgServer = 'http://' . ($_SERVER['HTTP_HOST'] ?? 'localhost'); $wgEnableUploads = true; $wgUploadDirectory = '{root}/images'; $wgUploadPath = '/images'; $wgJobRunRate = 0; $wgUseImageMagick = false;\n"
                f"$wgShowExceptionDetails = true; $wgEnableEmail = false; $wgCacheDirectory = '{root}';\nrequire_once '{examples.EXAMPLES}/mediawiki.php';\n")
    subprocess.run(["chown", "-R", "www-data:www-data", root], check=True)
    subprocess.run(["chmod", "-R", "u+rwX", root], check=True)
