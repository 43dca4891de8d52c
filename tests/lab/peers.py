# SPDX-License-Identifier: BSD-2-Clause
"""peers.py - where tests/peers/build has put what Debian lacks."""
import os
import subprocess

from .lab import ROOT, LabError


def peer(part):
    """The folder with ndnd, python, ndnts or axe; LabError if it is not made, with the sentence that says how."""
    r = subprocess.run([os.path.join(ROOT, "tests", "peers", "build"), "--where", f"--{part}"], capture_output=True, text=True, check=False)
    if r.returncode:
        raise LabError(r.stderr.strip())
    return r.stdout.strip()
