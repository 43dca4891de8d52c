# SPDX-License-Identifier: BSD-2-Clause
"""
speed.py - a static site whose HTML is a tenth of its bytes: how fast it is walked, for how many bytes, and is everything found at its size?

    pages_per_s_ratio    URLs a second, times the faster of wget --mirror --spider and httrack; manners of all off
    pages_per_s_ratio_wget2  the same with wget2, whose 16 threads keep the server as busy as one of ours does; no goal
    bytes_first_ratio    bytes that the server sent, headers included, times those of a full fetch; the first walk
    bytes_second_ratio   the same, a second walk over the unchanged site
    found_ratio          files of the site that are in the table (the application's are in application.py: the lesser counts)
    exact_size_ratio     rows whose size is that of a real GET

The server is nginx with one worker, and its access log is the judge: a URL counts for whoever got a 200 for it.
"""
import os
import random
import shutil
import subprocess
import tempfile
import time

import probing

IMAGE = 60000
PAGE = 2000
MANNERS_OFF = dict(connections=16, ignore_robots=True)


def make_site(directory, pages, images, seed=1):
    """Pages in directories, linked as a tree and at random; images of which nobody must read a byte to know the size.  The paths of all files."""
    rng = random.Random(seed)
    names = [f"/d{i % 100}/page{i}.html" for i in range(pages)]
    paths = []

    def put(path, data):
        full = directory + path
        os.makedirs(os.path.dirname(full), mode=0o755, exist_ok=True)
        with open(full, "wb") as f:
            f.write(data)
        paths.append(path)
    for i, name in enumerate(names):
        links = [names[k] for k in (5 * i + 1, 5 * i + 2, 5 * i + 3, 5 * i + 4, 5 * i + 5) if k < pages]
        links += [names[rng.randrange(pages)] for _ in range(5)]
        shown = [f"/img/{k}.png" for k in {i % images, rng.randrange(images)}]
        text = "<!DOCTYPE html><title>%d</title><link rel=\"stylesheet\" href=\"/style.css\">" % i
        text += "".join(f'<p><a href="{t}">{t}</a>' for t in links) + "".join(f'<img src="{t}">' for t in shown)
        put(name, (text + "<p>" + "lorem ipsum dolor " * 200)[:PAGE + rng.randrange(-300, 300)].encode())
    put("/index.html", f'<a href="{names[0]}">begin</a>'.encode())
    put("/style.css", b'@import "more.css";body{background:url(/img/bg.png)}')
    put("/more.css", b"p{margin:0}")
    for k in [*range(images), "bg"]:
        put(f"/img/{k}.png", b"")
        os.truncate(f"{directory}/img/{k}.png", IMAGE + rng.randrange(-20000, 20000))
    return paths


def wget(url, directory):
    return ["wget", "--mirror", "--spider", "-nv", "-o", "/dev/null", "-e", "robots=off", "-P", directory, url]


def wget2(url, directory):
    return ["wget2", "--mirror", "--spider", "-q", "--robots=off", "--max-threads=16", "-P", directory, url]


def httrack(url, directory):
    return ["httrack", url, "-O", directory, "-q", "-%v0", "-p0", "-s0", "-c16", "-%c0", "-A0", "-I0", "--disable-security-limits", "-%!", "-X0"]


def others(bench, htdocs):
    """URLs a second of each rival that is installed."""
    speeds = {}
    for name, command in (("wget", wget), ("wget2", wget2), ("httrack", httrack)):
        if not shutil.which(name):
            bench.say(f"{name} is not installed")
            continue
        server = probing.logging_server(bench, f"for-{name}", htdocs)
        directory = tempfile.mkdtemp(dir=bench.lab.dir)
        begun = time.monotonic()
        subprocess.run(command(server.url + "/", directory), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                       cwd=directory, timeout=1800)
        took = time.monotonic() - begun
        probing.settled_log(server)
        got = probing.sent(server)
        speeds[name] = len(got.urls) / took
        bench.say(f"{name}: {len(got.urls)} URLs in {took:.1f} s, {speeds[name]:.0f} a second, {got.bytes / 1e6:.1f} MB")
        server.stop()
        shutil.rmtree(directory, ignore_errors=True)
    return speeds


def measure(bench):
    htdocs = bench.lab.dir + "/static-site"
    pages = bench.size(10000, 2000)
    paths = make_site(htdocs, pages, pages * 3 // 10)
    subprocess.run(["chmod", "-R", "a+rX", htdocs], check=True)
    whole = probing.logging_server(bench, "whole", htdocs)
    real = probing.real_sizes(whole.address, paths)
    probing.settled_log(whole)
    full = probing.sent(whole).bytes
    html = sum(size for path, size in real.items() if path.endswith(".html"))
    bench.say(f"{len(paths)} files, {pages} of them pages, {full / 1e6:.0f} MB to fetch, {100 * html / full:.0f} % of it HTML")
    whole.stop()

    table = bench.lab.dir + "/static.pages"
    server = probing.logging_server(bench, "probed", htdocs)
    took = probing.probe(table, server.url + "/", **MANNERS_OFF)
    probing.settled_log(server)
    one = probing.sent(server)
    again = probing.probe(table, server.url + "/", **MANNERS_OFF)
    probing.settled_log(server)
    two = probing.sent(server)
    ours = len(one.urls) / took
    bench.say(f"fairgate-prober: {len(one.urls)} URLs in {took:.1f} s, {ours:.0f} a second, {one.bytes / 1e6:.1f} MB; once more: {again:.1f} s, "
              f"{(two.bytes - one.bytes) / 1e6:.1f} MB")
    speeds = others(bench, htdocs)
    rivals = [speeds[name] for name in ("wget", "httrack") if name in speeds]
    bench.figure("pages_per_s_ratio", ours / max(rivals) if rivals else float("nan"), "times", ">= 3.0")
    bench.figure("pages_per_s_ratio_wget2", ours / speeds["wget2"] if "wget2" in speeds else float("nan"), "times")
    bench.figure("bytes_first_ratio", one.bytes / full, "times", "<= 0.20")
    bench.figure("bytes_second_ratio", (two.bytes - one.bytes) / full, "times", "<= 0.05")
    found = probing.rows(table, server.url)
    wanted = set(paths) | {"/"}
    missing = wanted - set(found) - {"/index.html"}         # it is called "/"
    bench.say(f"not found: {sorted(missing)[:5]}" if missing else "every file was found")
    bench.found_static = 1 - len(missing) / len(wanted)
    sizes = probing.real_sizes(server.address, found)
    wrong = [path for path in found if sizes[path] != found[path]]
    bench.say(f"wrong: {[(p, found[p], sizes[p]) for p in wrong[:5]]}" if wrong else f"all {len(found)} sizes are those of real GETs")
    bench.figure("exact_size_ratio", 1 - len(wrong) / len(found), "of 1", ">= 0.999")
    server.stop()


FAMILIES = [(measure, ("pages_per_s_ratio", "pages_per_s_ratio_wget2", "bytes_first_ratio", "bytes_second_ratio", "exact_size_ratio"))]
