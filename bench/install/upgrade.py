# SPDX-License-Identifier: BSD-2-Clause
"""
upgrade.py - upgrade_lost: requests that were not answered, of those that went on all the time while each of our modules, and then httpd itself, was upgraded:
200 a second, each on a connection of its own.  An upgrade is one to the same files with a higher version, for the scripts go by that; httpd's is a
reinstallation, whose scripts are those of an upgrade.
"""
import json
import os
import re
import shutil

from clean import Packages

HERE = os.path.dirname(os.path.abspath(__file__))
MODULES = ("libapache2-mod-qos-drr", "libapache2-mod-eeod", "libapache2-mod-ccn")

SCRIPT = """
apt-get -y -q install {names} > /tmp/log 2>&1 || {{ cat /tmp/log; exit 1; }}
a2enmod -q qos_drr eeod ccn
apache2ctl start
until curl -sf -o /dev/null http://127.0.0.1/; do sleep 0.1; done
mkdir /tmp/next
for name in {names}; do
    dpkg-deb -R {repo}/"$name"_*.deb "/tmp/next/$name"
    sed -i 's/^Version: .*/&+1/' "/tmp/next/$name/DEBIAN/control"
    dpkg-deb -b "/tmp/next/$name" /tmp/next/ > /dev/null
done
load() {{
    python3 -B {here}/load.py /tmp/stop > "/tmp/$1.json" &
    worker=$!
    sleep 1
    shift
    "$@" > /tmp/log 2>&1 || {{ cat /tmp/log; exit 1; }}
    sleep 2
    touch /tmp/stop
    wait $worker
    rm /tmp/stop
}}
load modules dpkg -i /tmp/next/*.deb
test "$(dpkg-query -W -f '${{Version}}' libapache2-mod-qos-drr | tail -c 2)" = +1
before=$(cat /run/apache2/apache2.pid)
# Without an init its scripts restart nothing; with one they do.
load httpd sh -c 'apt-get -y -q install --reinstall apache2 apache2-bin apache2-data && /etc/init.d/apache2 restart'
echo "httpd was $before and is $(cat /run/apache2/apache2.pid)"
for each in modules httpd; do echo "$each $(cat /tmp/$each.json)"; done
"""


def measure(bench):
    lost = 0
    for release in ("12", "13")[:bench.size(2, 1)]:
        made = Packages(release)
        folder = made.repo + "-upgrade"
        shutil.rmtree(folder, ignore_errors=True)
        try:
            made.layer(folder, f"apt-get -y -q install curl python3; apt-get -y -q --download-only install apache2 apache2-bin apache2-data {' '.join(MODULES)}")
            text = made.run([folder], SCRIPT.format(names=" ".join(MODULES), repo=made.repo, here=HERE), [HERE])
            bench.say(*re.findall(r"^httpd was .*", text, re.MULTILINE))
            for what, result in re.findall(r"^(modules|httpd) (\{.*\})$", text, re.MULTILINE):
                got = json.loads(result)
                assert got["answered"] >= 100, text
                bench.say(f"Debian {release}, upgrade of {what}: {got['answered']} answered, {got['lost']} lost {got['why']}")
                lost += got["lost"]
        finally:
            shutil.rmtree(folder, ignore_errors=True)
            shutil.rmtree(folder + ".work", ignore_errors=True)
    bench.figure("upgrade_lost", lost, "requests", "== 0")


FAMILIES = [(measure, ("upgrade_lost",))]
