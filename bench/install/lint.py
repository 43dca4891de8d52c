# SPDX-License-Identifier: BSD-2-Clause
"""lint.py - lintian_warnings: errors and warnings about all packages of both releases, for which there is no override."""
import glob
import os
import subprocess

from clean import Packages


def measure(bench):
    found = []
    for release in ("12", "13"):
        made = Packages(release)
        changes = glob.glob(os.path.join(made.repo, "*.changes"))
        assert changes
        r = subprocess.run(["lintian", "--allow-root", "--fail-on=none", *changes], capture_output=True, text=True, check=True)
        found += [f"{release}: {line}" for line in r.stdout.splitlines() if line.startswith(("E:", "W:"))]
    for line in found:
        bench.say(line)
    bench.figure("lintian_warnings", len(found), "", "== 0")


FAMILIES = [(measure, ("lintian_warnings",))]
