# SPDX-License-Identifier: BSD-2-Clause
"""
downloads.py - a file of 20 MB that is fetched again: what the link carries of it the second time, as a fraction of its bytes, and how long that takes.

Links of 2, 8, 20 and 100 Mbit/s, with a round trip of 20 ms, each without loss and with 1 % of the packets lost in either direction (tests/lab/files.py).  A figure is the worst
of these; lines for people have each.

    second_download_nginx           nginx, curl
    second_download_httpd, _eeod    httpd without and with mod_eeod
    second_download_random_cuts     a server that writes pieces of random length, each time others, without and with chunks
    second_download_apt             five packages by apt-get
    second_download_hls             a film in ten segments by streamlink; in ten ranges of one file
    second_download_ranges          ten ranges of the file that was fetched whole, of 100 kB to 2 MB
    second_download_resumed         the rest of the file, which others have fetched from another place on
    second_download_worst           of those whose goal is 3 %
    second_download_time            the second time's seconds, of the first time's, of the same
    again_ratio                     of the segments of a second time, what the server sent again; without loss
"""
import functools
import itertools
import os
import random

from lab.files import Apt, Files, Hls, curl

LINKS, RTT = list(itertools.product((2, 8, 20, 100), (0, 1))), 20      # Mbit/s and percent; ms


def whole(files, data):
    files.write("file", data)
    return curl(files, "file"), [(curl(files, "file"), data)]


def packages(files, data):
    apt = Apt(files, data)
    return apt, [(apt, apt.wants())]


def film(files, data, ranges):
    hls = Hls(files, data, ranges=ranges)
    return hls, [(hls, data)]


def ranges(files, data):
    files.write("file", data)
    draw, asked = random.Random(1), []
    for _ in range(10):
        n = draw.randrange(len(data) // 200, len(data) // 10)
        at = draw.randrange(len(data) - n)
        asked.append((curl(files, "file", "-r", f"{at}-{at + n - 1}"), data[at:at + n]))
    return curl(files, "file"), asked


def resumed(files, data):
    """First somebody goes away after a third of it, and asks for the rest later; then another one after half."""
    files.write("file", data)
    third, half = len(data) // 3 + 1, len(data) // 2 + 1

    def first():
        return files.run("sh", "-c", f"curl -s {files.url}/file | head -c {third}") + curl(files, "file", "-C", str(third))()
    return first, [(curl(files, "file", "-C", str(half)), data[half:])]


# (figure, how many parts of a hundred it may be, servers and what is asked of them).  What is asked: (the first time, [(one of the second, its bytes), ...])
ASKED = [("nginx", 3, [("nginx", whole)]), ("httpd", 3, [("httpd", whole)]), ("eeod", 3, [("eeod", whole)]), ("random_cuts", 3, [("pieces", whole), ("pieces?", whole)]),
         ("apt", 3, [("nginx", packages)]), ("hls", 3, [("nginx", functools.partial(film, ranges=r)) for r in (False, True)]),
         ("ranges", 5, [("nginx", ranges)]), ("resumed", 5, [("nginx", resumed)])]


def twice(bench, server, ask, rate, loss, size):
    """Of the second time: (what the link carried, of its bytes; its time, of the first one's; what came again, of its segments)."""
    files = Files(bench.lab, server, rate=f"{rate}mbit", rtt=RTT, bad=["--loss", str(10 * loss)] if loss else ())
    try:
        data = os.urandom(size)
        first, second = ask(files, data)
        before = files.fetch(first)
        got = [files.fetch(get) for get, _ in second]
        if before.body != (second[0][1] if ask is packages else data) or [g.body for g in got] != [want for _, want in second]:
            raise AssertionError(f"{server} at {rate} Mbit/s: not what was there")
        n, served = sum(len(g.body) for g in got), sum(g.served for g in got)
        return sum(g.carried for g in got) / n, sum(g.seconds for g in got) / before.seconds, sum(g.again * g.served for g in got) / served
    finally:
        files.stop()


def measure(bench):
    size = bench.size(20_000_000, 3_000_000)
    times, again, worst = [], [], []
    for name, most, servers in ASKED:
        parts = []
        quick = [(20, 0), (20, 1)] if name == "nginx" else [(20, 0)]
        for (server, ask), (rate, loss) in itertools.product(bench.size(servers, servers[-1:]), bench.size(LINKS, quick)):
            part, time, more = twice(bench, server, ask, rate, loss, size)
            bench.say(f"{name}, {server} at {rate} Mbit/s, {loss} % lost: {100 * part:.2f} % of its bytes, in {100 * time:.0f} % of the time, {100 * more:.2f} % again")
            parts.append(part)
            if not loss:
                again.append(more)
            if most == 3:
                times.append(time)
        worst += parts if most == 3 else []
        bench.figure(f"second_download_{name}", max(parts), "of its bytes", f"<= 0.0{most}")
    bench.figure("second_download_worst", max(worst), "of its bytes", "<= 0.03")
    bench.figure("second_download_time", max(times), "of the first", "<= 1")
    bench.figure("again_ratio", max(again), "of segments", "<= 0.02")


FAMILIES = [(measure, (*(f"second_download_{name}" for name, _, _ in ASKED), "second_download_worst", "second_download_time", "again_ratio"))]
