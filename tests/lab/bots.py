# SPDX-License-Identifier: BSD-2-Clause
"""Running fairgate-bots."""
import os
import subprocess

from .lab import program

# Tests run as root, and tables stand where root's tests do.
AS_ROOT = ("--user", "root") if os.geteuid() == 0 else ()


def run(*words, seconds=60, expect=0):
    """Its standard output and error in one text; the exit status must be `expect`."""
    r = subprocess.run([program("prober/fairgate-bots"), *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                       timeout=seconds, check=False)
    assert r.returncode == expect, f"exit status {r.returncode}, not {expect}:\n{r.stdout}"
    return r.stdout


def fetch(config, table, *words, expect=0):
    return run("fetch", *AS_ROOT, "--config", config, "--table", table, *words, expect=expect)
