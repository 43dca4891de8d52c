# SPDX-License-Identifier: BSD-2-Clause
"""
upgrade.py - upgrade_lost: requests that were not answered, of those that went on all the time while all of our modules, and then httpd itself with them, was
upgraded (packages/try-upgrades).  What httpd loses without them is said beside.
"""
import json
import os
import re
import shutil

from clean import CHROOT, Packages

HERE = os.path.dirname(CHROOT)
MODULES = ("libapache2-mod-qos-drr", "libapache2-mod-eeod", "libapache2-mod-ccn")
HTTPD = "apache2 apache2-bin apache2-data"


def measure(bench):
    lost = 0
    for release in ("12", "13")[:bench.size(2, 1)]:
        made = Packages(release)
        folder = made.repo + "-upgrade"
        shutil.rmtree(folder, ignore_errors=True)
        try:
            made.layer(folder, f"apt-get -y -q install apache2 curl python3; apt-get -y -q --download-only install {' '.join(MODULES)}; apt-get -y -q --download-only --reinstall install {HTTPD}")
            text = made.run([folder], f"{HERE}/try-upgrades {made.repo}", [HERE])
            got = {what: json.loads(said) for what, said in re.findall(r"^(alone|modules|httpd) (\{.*\})$", text, re.MULTILINE)}
            for what, name in (("modules", "modules"), ("httpd", "httpd with them"), ("alone", "httpd without them")):
                assert got[what]["answered"] >= 100, text
                bench.say(f"Debian {release}, upgrade of {name}: {got[what]['answered']} answered, {got[what]['lost']} lost {got[what]['why']}")
            lost += got["modules"]["lost"] + got["httpd"]["lost"]
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            shutil.rmtree(folder + ".work", ignore_errors=True)
    bench.figure("upgrade_lost", lost, "requests", "== 0")


FAMILIES = [(measure, ("upgrade_lost",))]
