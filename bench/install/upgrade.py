# SPDX-License-Identifier: BSD-2-Clause
"""
upgrade.py - upgrade_lost: requests that were not answered, of 200 a second that went on all the time while all of our modules, and then httpd itself with them
and behind fairgate-door, was upgraded (packages/try-upgrades).  What httpd loses without the door is said beside.
"""
import json
import os
import re
import shutil

from clean import CHROOT, Packages

HERE = os.path.dirname(CHROOT)
NEEDED = "fairgate-tools libapache2-mod-qos-drr libapache2-mod-eeod libapache2-mod-ccn"
HTTPD = "apache2 apache2-bin apache2-data"
WHAT = {"modules": "our modules", "httpd": "httpd with them, behind the door", "alone": "the same without it"}


def measure(bench):
    lost = 0
    for release in ("12", "13")[:bench.size(2, 1)]:
        made = Packages(release)
        folder = made.repo + "-upgrade"
        shutil.rmtree(folder, ignore_errors=True)
        try:
            made.layer(folder, f"apt-get -y -q install apache2 iproute2 netbase nftables python3 systemd; apt-get -y -q --download-only install {NEEDED}; "
                               f"apt-get -y -q --download-only --reinstall install {HTTPD}")
            text = made.run([folder], f"{HERE}/try-upgrades {made.repo}", [HERE])
            got = {what: json.loads(said) for what, said in re.findall(r"^(modules|httpd|alone) (\{.*\})$", text, re.MULTILINE)}
            for name, what in WHAT.items():
                bench.say(f"Debian {release}, upgrade of {what}: {got[name]['answered']} answered, {got[name]['lost']} lost {got[name]['why']}")
            lost += got["modules"]["lost"] + got["httpd"]["lost"]
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            shutil.rmtree(folder + ".work", ignore_errors=True)
    bench.figure("upgrade_lost", lost, "requests", "== 0")


FAMILIES = [(measure, ("upgrade_lost",))]
