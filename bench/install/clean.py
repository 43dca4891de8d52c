# SPDX-License-Identifier: BSD-2-Clause
"""
clean.py - clean systems with the packages that were built of what is here.

    made = Packages("12")
    made.layer(folder, "apt-get ...")       with the network; what it writes stays in that folder
    made.run([folder], "script")            on top of that, without one; what it prints
"""
import os
import subprocess

from lab.lab import ROOT, LabError, build_directory

CHROOT = os.path.join(ROOT, "packages", "chroot")


def said(command, seconds):
    r = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=seconds, check=False)
    text = r.stdout.decode(errors="replace")
    if r.returncode:
        raise LabError(f"{' '.join(command)[:300]} ended with {r.returncode}:\n{text[-3000:]}")
    return text


class Packages:
    """Those of one release of Debian; SOURCES says which."""

    SOURCES = ("fairgate",)

    def __init__(self, release):
        self.release = release
        self.repo = os.path.join(build_directory(), "packages", release)
        # Unit tests are others' to run.
        said([os.path.join(ROOT, "packages", "build"), "--quick", "--in", release, "--out", self.repo, *self.SOURCES], 7200)

    def layer(self, folder, script):
        return said([CHROOT, self.release, "run", "--network", "--upper", folder, "--bind", self.repo, "sh", "-euc",
                     f'echo "deb [trusted=yes] file:{self.repo} ./" > /etc/apt/sources.list.d/fairgate.list; apt-get -q update; {script}'], 1800)

    def run(self, layers, script, binds=()):
        words = [word for folder in layers for word in ("--layer", folder)] + [word for folder in binds for word in ("--bind", folder)]
        return said([CHROOT, self.release, "run", *words, "--bind", self.repo, "sh", "-euc", script], 1800)
