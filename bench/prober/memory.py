# SPDX-License-Identifier: BSD-2-Clause
"""
memory.py - bytes_per_url: the most memory that the prober had (VmHWM), divided by the URLs it knew, at a million of them.

A synthetic site: pages of 1,000 links each to small objects, which nginx makes up.
"""
import os
import subprocess
import threading

import probing
from lab.lab import wait_for


def high_water(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as f:
        return next(int(line.split()[1]) * 1024 for line in f if line.startswith("VmHWM"))


def measure(bench):
    urls = bench.size(1000000, 100000)
    htdocs, table = bench.lab.dir + "/many", bench.lab.dir + "/many.pages"
    os.makedirs(htdocs + "/p")
    pages = urls // 1000
    for i in range(pages):
        with open(f"{htdocs}/p/{i}.html", "w", encoding="ascii") as f:
            f.write("".join(f"<img src=/objects/of/page/{i}/object-{k}.png>" for k in range(999)))
    with open(htdocs + "/index.html", "w", encoding="ascii") as f:
        f.write("".join(f"<a href=/p/{i}.html>{i}</a>" for i in range(pages)))
    subprocess.run(["chmod", "-R", "a+rX", htdocs], check=True)
    server = probing.Nginx(bench.lab, name="many", htdocs=htdocs, server="location /objects/ { return 200 xxxxxxxxxxxxxxxx; }").start()
    most, p = [0], subprocess.Popen(probing.command(table, server.url + "/", connections=16, ignore_robots=True, samples=1, max_pages=2000000))
    done = threading.Event()

    def watch():
        while not done.wait(0.2):
            try:
                most[0] = max(most[0], high_water(p.pid))
            except (OSError, StopIteration):
                return
    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        wait_for(lambda: p.poll() is not None, 1500, "the walk's end")
    finally:
        p.kill()
        done.set()
        watcher.join()
    known = sum(1 for _ in open(table, encoding="latin-1")) - 3
    with open(table + ".log", encoding="ascii") as f:
        bench.say(f.read().splitlines()[-1].split(" ", 1)[1])
    bench.figure("bytes_per_url", most[0] / known, "bytes", "<= 300")
    server.stop()


FAMILIES = [(measure, ("bytes_per_url",))]
