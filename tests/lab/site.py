#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""
site.py - a web site for measurements, the same one for the same seed.

    generate("/tmp/x/site")     or      site.py DIRECTORY [--pages N] [--seed S]

    DIRECTORY/htdocs/size/N.html        one page of N bytes for each of SIZES, and a sparse one of 50 MB
    DIRECTORY/htdocs/mix/00000.html     pages whose sizes are lognormal(9.357, 1.318), none over 5 MB
    DIRECTORY/htdocs/page.php?n=N       N bytes without Content-Length, by PHP
    DIRECTORY/htdocs/page.cgi?n=N       the same, by a shell script

    DIRECTORY/urls/NAME.txt             lists for fairgate-load (urls=FILE), one path a line:
        size-N, mix                     static
        php-N, php-mix, cgi-N           dynamic
        origin-mix, origin-chunked      the same sizes from fairgate-origin, with Content-Length and without
        unseen                          the mix under paths that nobody has asked for before; HTTPD_UNSEEN or NGINX_UNSEEN leads them back

The law of sizes is that of the website paper, section 4.2.3.
"""
import argparse
import math
import os
import random
from statistics import NormalDist

SIZES = (32, 512, 2048, 8192, 32768, 131072, 1048576)
BIG = 50 << 20
MU, SIGMA = 9.357, 1.318
CAP = 5_000_000
HTTPD_UNSEEN = 'AliasMatch "^/unseen/[0-9]+/(.*)$" "{htdocs}/$1"'
NGINX_UNSEEN = "rewrite ^/unseen/[0-9]+/(.*)$ /$1 last;"

PHP = """<?php
// As many bytes as asked for, flushed half way, so that no server on the way can know the length.
$n = max(0, min((int)($_GET['n'] ?? 0), 16777216));
$half = intdiv($n, 2);
echo str_repeat('x', $half);
flush();
echo str_repeat('x', $n - $half);
"""

CGI = """#!/bin/sh
printf 'Content-Type: text/plain\\r\\n\\r\\n'
n=${QUERY_STRING#n=}
case $n in ''|*[!0-9]*) n=0 ;; esac
head -c "$n" /dev/zero | tr '\\0' x
"""


def mixed_sizes(pages, seed):
    """Sizes of the mix.  Quantiles instead of draws: a small site has the same mean and tail as a big one; the seed shuffles."""
    rng = random.Random(seed)
    normal = [NormalDist().inv_cdf((i + 0.5) / pages) for i in range(pages)]
    sizes = [max(1, min(CAP, round(math.exp(MU + SIGMA * z)))) for z in normal]
    rng.shuffle(sizes)
    return sizes


def deck_sizes(n=256):
    """Means of n slices of equal probability of the same law: whoever draws each of them once has its mean."""
    mean = math.exp(MU + SIGMA * SIGMA / 2)
    bounds = [NormalDist().cdf(NormalDist().inv_cdf(i / n) - SIGMA) if 0 < i < n else float(i == n) for i in range(n + 1)]
    return [round(mean * n * (b - a)) for a, b in zip(bounds, bounds[1:])]


def body(size):
    line = b"The quick brown fox jumps over the lazy dog 0123456789 abcdefg\n"
    return (line * (size // len(line) + 1))[:size]


def write(path, data, mode=0o644):
    with open(path, "wb") as f:
        f.write(data)
    os.chmod(path, mode)


def generate(directory, pages=2000, seed=1):
    """Makes the site and returns {"htdocs": path, "urls": {name: path of the list}, "sizes": sizes of the mix}."""
    htdocs, lists = os.path.join(directory, "htdocs"), os.path.join(directory, "urls")
    for d in (directory, htdocs, lists, os.path.join(htdocs, "size"), os.path.join(htdocs, "mix")):
        os.makedirs(d, mode=0o755, exist_ok=True)
    sizes = mixed_sizes(pages, seed)
    urls = {"mix": [], "php-mix": [], "origin-mix": [], "origin-chunked": [], "unseen": []}
    for n in SIZES:
        write(f"{htdocs}/size/{n}.html", body(n))
        urls[f"size-{n}"] = [f"/size/{n}.html"]
        urls[f"php-{n}"] = [f"/page.php?n={n}"]
        urls[f"cgi-{n}"] = [f"/page.cgi?n={n}"]
    with open(f"{htdocs}/size/{BIG}.html", "wb") as f:
        f.truncate(BIG)
    for i, n in enumerate(sizes):
        write(f"{htdocs}/mix/{i:05d}.html", body(n))
        urls["mix"].append(f"/mix/{i:05d}.html")
        urls["unseen"].append(f"/unseen/{{n}}/mix/{i:05d}.html")
        urls["php-mix"].append(f"/page.php?n={n}")
        urls["origin-mix"].append(f"/size/{n}")
        urls["origin-chunked"].append(f"/size/{n}?chunked")
    write(f"{htdocs}/page.php", PHP.encode())
    write(f"{htdocs}/page.cgi", CGI.encode(), 0o755)
    write(f"{htdocs}/index.html", b"<!DOCTYPE html><title>A site to measure</title><p>Nothing to see.\n")
    files = {}
    for name, paths in urls.items():
        files[name] = f"{lists}/{name}.txt"
        write(files[name], ("\n".join(paths) + "\n").encode())
    return {"htdocs": htdocs, "urls": files, "sizes": sizes}


def main():
    p = argparse.ArgumentParser(description="Makes a web site for measurements.")
    p.add_argument("directory")
    p.add_argument("--pages", type=int, default=2000)
    p.add_argument("--seed", type=int, default=1)
    a = p.parse_args()
    made = generate(a.directory, a.pages, a.seed)
    print(f"{len(made['sizes'])} pages, {sum(made['sizes']) / len(made['sizes']) / 1024:.1f} KB in the mean, in {made['htdocs']}")


if __name__ == "__main__":
    main()
