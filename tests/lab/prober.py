# SPDX-License-Identifier: BSD-2-Clause
"""Running fairgate-prober, and what its table holds."""
import os
import subprocess

from .lab import program

COLUMNS = ("url", "body", "gzip", "br", "header", "spread", "samples", "depth", "checked", "modified", "flags", "etag", "time")


# Tests run as root, and tables stand where root's tests do.
AS_ROOT = ("--user", "root") if os.geteuid() == 0 else ()


def command(*words):
    return [program("prober/fairgate-prober"), *map(str, words)]


def run(*words, seconds=60, expect=0, **kwargs):
    """Its standard output and error in one text; the exit status must be `expect`."""
    r = subprocess.run(command(*words), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=seconds, **kwargs)
    assert r.returncode == expect, f"exit status {r.returncode}, not {expect}:\n{r.stdout}"
    return r.stdout


def crawl(table, *urls, expect=0, rate=0, seconds=60, **options):
    """A walk as fast as it goes; options: max_pages=3, exclude=["/a"], fresh=True."""
    words = ["crawl", *AS_ROOT, "--rate", rate, "--table", table]
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        if value is True:
            words.append(flag)
        else:
            for item in value if isinstance(value, list) else [value]:
                words += [flag, item]
    return run(*words, *urls, expect=expect, seconds=seconds)


def rows(table):
    """{url: {column: value}}; numbers as int, - as None."""
    text = run("export", table)
    lines = [line.split("\t") for line in text.splitlines()]
    assert tuple(lines[0]) == COLUMNS
    found = {}
    for line in lines[1:]:
        row = dict(zip(COLUMNS, line))
        for name in (*COLUMNS[1:10], "time"):
            row[name] = None if row[name] == "-" else int(row[name])
        found[row["url"]] = row
    return found


def targets(table, origin):
    """{target: body} of an origin's rows."""
    return {url[len(origin):]: row["body"] for url, row in rows(table).items() if url.startswith(origin + "/")}
