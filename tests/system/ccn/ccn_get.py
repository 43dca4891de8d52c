# SPDX-License-Identifier: BSD-2-Clause
"""Runs fairgate-ccnget."""
import json
import os
import random
import subprocess

from lab import lab

BODY = random.Random(1).randbytes(2000 * 1000)


def command(*words):
    return [lab.program("ccnget/fairgate-ccnget"), *map(str, words)]


def get(producer, *words, page="/example/page", env=None, timeout=60):
    """(exit status, standard output, standard error); with `env` the producer is not named."""
    where = ("--forwarder", producer.uri) if producer and not env else ()
    r = subprocess.run(command(*where, *words, page), capture_output=True, env={**os.environ, **(env or {})}, timeout=timeout, check=False)
    return r.returncode, r.stdout, r.stderr.decode()


def figures(said):
    """Of --json."""
    return json.loads(said.strip().splitlines()[-1])
