# SPDX-License-Identifier: BSD-2-Clause
"""httpd with one of etc/examples at the end of its configuration."""
import json
import re

import http1
from lab import examples, lab
from lab.httpd import Httpd, sanitizer_environment


class Example(Httpd):
    """defines: what the file is told of this machine; more: a configuration behind it."""

    def __init__(self, parts, name, etc, more="", **defines):
        super().__init__(parts.lab, name.removesuffix(".conf"), cgi=True, load={"qos_drr": lab.module()}, modules=examples.MODULES, environment=sanitizer_environment(),
                         config=examples.configuration(etc, name, **defines) + more)

    without = None      # a module that is not loaded

    def text(self):
        if not self.without:
            return super().text()
        text = re.sub(rf"(?m)^LoadModule {self.without}_module .*$", "", super().text())
        return re.sub(r"(?m)^ScriptSock .*$", "", text) if self.without == "cgid" else text

    def ready(self):
        return self.generations() > 0 and super().ready()

    def status(self):
        page = http1.get(self.port, "/qos-status?json")
        assert page.status == 200, page.body
        return {c["name"]: c for c in json.loads(page.body)["classes"]}
