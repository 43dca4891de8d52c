# SPDX-License-Identifier: BSD-2-Clause
"""packaged.py - httpd with the configuration and the policy of the Debian package, after the administrator has changed QosEngine."""
import json
import os
import re
import urllib.request

from . import lab
from .examples import MODULES
from .httpd import Httpd, sanitizer_environment

PACKAGE = os.path.join(lab.ROOT, "debian")
POLICY = "/etc/fairgate/policy.xml"


class Packaged(Httpd):
    """
    engine: of QosEngine.  more: text behind the package's.  policy: another file in the place of its policy.  The other words are Httpd's.

    Where PHP-FPM is the backend (fpm=, which runs), httpd finds its pool in /etc/php, as installed.
    """

    def __init__(self, of, engine="On", more="", policy=None, fpm=None, name="packaged", modules=(), **words):
        words.setdefault("threads", 75)
        super().__init__(of, name, load={"qos_drr": lab.module()}, modules=(*MODULES, *modules), environment=sanitizer_environment(), **words)
        with open(os.path.join(PACKAGE, "apache2", "qos_drr.conf"), encoding="utf-8") as f:
            text = re.sub(r"(?m)^QosEngine .*", f"QosEngine {engine}", f.read())
        with open(policy or os.path.join(PACKAGE, "policy.xml"), encoding="utf-8") as f:
            self.config += text.replace(POLICY, self.write("policy.xml", f.read())) + more
        if fpm:
            pools = self.path("php/8.2/fpm/pool.d")
            os.makedirs(pools)
            os.symlink(fpm.path("fpm.conf"), os.path.join(pools, "www.conf"))
            self.prefix = ("unshare", "--mount", "sh", "-c", 'mount --bind "$0" /etc/php && exec "$@"', self.path("php"))

    def status(self):
        with urllib.request.urlopen(f"http://{self.address}/qos-status?json", timeout=10) as response:
            return json.load(response)

    def ready(self):
        return self.generations() > 0 and super().ready()
