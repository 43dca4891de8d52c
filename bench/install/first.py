# SPDX-License-Identifier: BSD-2-Clause
"""
first.py - seconds_to_first_share_12 and _13: from `apt install libapache2-mod-qos-drr` on a system that has no httpd to the first response that was shared, by
three commands: that, `QosEngine On`, and `a2enmod qos_drr` with the start of httpd that it asks for.  Downloads are part of it; `apt update` is not.
"""
import os
import re
import shutil

from clean import Packages

# A client on this host itself would not be scheduled: X-Forwarded-For says that it is elsewhere.  No network of the machine's own is needed any more, so httpd has its port for itself.
SECOND = """
date +from=%s.%N
apt-get -y -q install libapache2-mod-qos-drr > /tmp/log 2>&1 || { cat /tmp/log; exit 1; }
sed -i "s/^QosEngine observe/QosEngine On/" /etc/apache2/mods-available/qos_drr.conf
a2enmod -q qos_drr && apache2ctl start
until curl -sf -H 'X-Forwarded-For: 192.0.2.1' -o /dev/null http://127.0.0.1/; do sleep 0.05; done
curl -sf 'http://127.0.0.1/qos-status?prometheus' > /tmp/status
date +to=%s.%N
grep '^[a-z_]*released.*people' /tmp/status
"""


def seconds(text):
    moments = dict(re.findall(r"^(from|to)=([0-9.]+)$", text, re.MULTILINE))
    return float(moments["to"]) - float(moments["from"])


def measure_in(release):
    def measure(bench):
        made = Packages(release)
        folder = os.path.join(made.repo + "-first")
        shutil.rmtree(folder, ignore_errors=True)
        try:
            downloads = seconds(made.layer(folder, "apt-get -y -q install curl; date +from=%s.%N; apt-get -y -q --download-only install libapache2-mod-qos-drr; date +to=%s.%N"))
            text = made.run([folder], SECOND)
            shared = [line for line in text.splitlines() if "released" in line]
            assert shared and float(shared[0].rsplit(" ", 1)[1]) >= 1, text
            bench.say(f"Debian {release}: {downloads:.1f} s of downloads, {seconds(text):.1f} s for the rest; {shared[0]}")
            bench.figure(f"seconds_to_first_share_{release}", downloads + seconds(text), "s", "<= 120")
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            shutil.rmtree(folder + ".work", ignore_errors=True)
    return measure


FAMILIES = [(measure_in(release), (f"seconds_to_first_share_{release}",)) for release in ("12", "13")]
