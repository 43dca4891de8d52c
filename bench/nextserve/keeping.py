# SPDX-License-Identifier: BSD-2-Clause
"""
keeping.py - what it brings to keep results, and to run equal calls that are in work once (Fig. 9 and 10).

    cache_ratio_35          35 % of the calls equal, 15 a second, at equal distances: mean response time with results kept, in parts of that without, where equal calls that are
                            in work at one time are run once, too
    cache_ratio_35_load90   the same of Poisson calls that are nine tenths of what one thread can do

A plan of calls is made once for both.  Of Fig. 9 and 10 the curves: shares of equal calls, at 15 and 25 calls/s.

Beside them, without a figure, the same calls to the same program as one would have them without names: httpd with mod_cache, mod_cache_disk and CacheLock before a PHP of one
worker.  There they are GETs, and the PDFs lie beside the program: nothing is fetched.
"""
import asyncio
import os
import random
import time

from setting import PDF, SERVICE_MS, mean, name_of, running
from spread import Spread

from lab.httpd import Httpd, PhpFpm

EQUAL, BELOW, ABOVE, LOAD = 0.35, 15, 25, 0.9
MOST = 1500             # calls of a plan that are different: beyond it are those that are equal
FAR_ABOVE = 100         # connections that wait for mod_cache's PHP


def plan(share, calls, seed):
    """Which page each call asks for: numbers of Bench.page; of every twenty as many are equal as the share says."""
    rng, pages = random.Random(seed), []
    while len(pages) < calls:
        block = [MOST] * round(20 * share) + [None] * (20 - round(20 * share))
        rng.shuffle(block)
        pages += [page if page is not None else len(pages) + i for i, page in enumerate(block)]
    return pages[:calls]


def calls_of(bench, kind, pages, rate, seconds, even=True, seed=1):
    """Mean response time in milliseconds, over NDN."""
    number, base = next(bench.numbers), bench.provider(1).base
    names = [("same" if page == MOST else "new", name_of(f"{base}/{kind}/pdf_to_text", bench.page(page, number))) for page in pages]
    result = bench.run(names, rate, seconds, even, seed)
    return mean(p.ms for p in result["each"])


def ratio(bench, name, rate, seconds, even, goal, least):
    """Both kinds take turns, and have the same plan."""
    seeds = iter(range(1, 1000))

    def pair():
        seed = next(seeds)
        pages = plan(EQUAL, int(rate * seconds * (1 if even else 1.4)), seed)
        order = ("kept", "services") if seed % 2 else ("services", "kept")
        return {kind: calls_of(bench, kind, pages, rate, seconds, even, seed) for kind in order}
    pairs, spread = bench.repeat(pair, lambda found: Spread.of([f["kept"] / f["services"] for f in found]), goal, least=least)
    bench.say(f"35 % equal, {rate:.1f} calls/s{'' if even else ', Poisson'}: mean response {Spread.of([f['kept'] for f in pairs]):.1f} ms with results kept, "
              f"{Spread.of([f['services'] for f in pairs]):.1f} without")
    bench.figure(name, spread, "of the time without", goal)
    return mean(f["kept"] for f in pairs)


# ---- httpd with mod_cache ---------------------------------------------------------------------------------------------------------

class Cached(Httpd):
    """httpd with mod_cache_disk before a PHP of one worker, with the PDFs."""

    def __init__(self, bench):
        lab = bench.lab
        self.fpm = PhpFpm(lab, workers=1).on(bench.network.server)
        docs, kept, locks = (os.path.join(lab.dir, f"cached-{name}") for name in ("docs", "kept", "locks"))
        for folder in (docs, kept, locks, os.path.join(docs, "pdf")):
            os.makedirs(folder)
            os.chmod(folder, 0o777)
        for name, content in {"pdf.php": PDF.encode(), **{f"pdf/{name}": content for name, content in bench.pdfs.items()}}.items():
            with open(os.path.join(docs, name), "wb") as f:
                f.write(content)
        super().__init__(lab, htdocs=docs, php=self.fpm.address, children=1, threads=FAR_ABOVE, modules=("cache", "cache_disk"),
                         config=f"CacheRoot {kept}\nCacheEnable disk /\nCacheLock On\nCacheLockPath {locks}\nCacheLockMaxAge 60\n")
        self.place = bench.network.server
        self.on(self.place)

    def ready(self):
        return self.generations() > 0 and self.place.inside(super().ready)

    def start(self, seconds=20):
        self.fpm.start()
        return super().start(seconds)

    def stop(self, seconds=10):
        super().stop(seconds)
        self.fpm.stop(seconds)


async def http_get(host, port, path):
    """Whether it came, and after how many milliseconds."""
    began = time.monotonic()
    try:
        reader, writer = await asyncio.open_connection(host, port)
        writer.write(f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
        answer = await asyncio.wait_for(reader.read(), 60)
        writer.close()
    except OSError:
        answer = b""
    return answer.startswith(b"HTTP/1.1 200 "), 1000 * (time.monotonic() - began)


async def http_plan(host, port, timed):
    """Each path at its time, whatever became of those before: [(came, milliseconds)]."""
    began, calls = time.monotonic(), []
    for at, path in timed:
        await asyncio.sleep(max(0, began + at - time.monotonic()))
        calls.append(asyncio.create_task(http_get(host, port, path)))
    return await asyncio.gather(*calls)


def cached_calls(bench, cached, pages, rate, even=True, seed=1):
    """Mean response time of the same plan as GETs."""
    number, rng, timed, at = next(bench.numbers), random.Random(seed), [], 0.0
    for page in pages:
        asked = bench.page(page, number)
        timed.append((at, f"/pdf.php?path={os.path.basename(asked['file'])}&page={asked['page']}&run={number}"))
        at += 1 / rate if even else rng.expovariate(rate)
    found = bench.network.clients.inside(lambda: asyncio.run(http_plan(cached.host, cached.port, timed)))
    bad = sum(not came for came, _ in found)
    if bad:
        bench.say(f"mod_cache: {bad} of {len(found)} GETs failed")
    return mean(ms for came, ms in found if came)


# ---- the curves -------------------------------------------------------------------------------------------------------------------

def curves(bench):
    shares = bench.size([n / 20 for n in range(11)], (0.0, EQUAL))
    seconds, found = bench.size(10, 4), {}
    with running(Cached(bench)) as (cached,):
        for rate in (BELOW, ABOVE):
            plans = {share: [plan(share, rate * seconds, seed) for seed in range(1, bench.size(2, 1) + 1)] for share in shares}
            found[rate] = {share: {"kept": mean(calls_of(bench, "kept", pages, rate, seconds) for pages in twice), "mod_cache": cached_calls(bench, cached, twice[0], rate)}
                           for share, twice in plans.items()}
            bench.say(f"{rate} calls/s, mean response in ms by equal calls, named services with results kept (GETs of httpd with mod_cache): " + "; ".join(
                f"{100 * share:.0f} %: {row['kept']:.0f} ({row['mod_cache']:.0f})" for share, row in found[rate].items()))
        rate, seconds = LOAD * 1000 / SERVICE_MS, bench.size(30, 6)
        by_cache = cached_calls(bench, cached, plan(EQUAL, int(rate * seconds), 1), rate, even=False)
    bench.say(f"35 % equal, {rate:.1f} calls/s, Poisson: mean response of GETs of httpd with mod_cache {by_cache:.1f} ms")
    low, high = found[ABOVE][0.0]["kept"], found[ABOVE][EQUAL]["kept"]
    bench.say(f"25 calls/s, more than can be done: with 35 % equal a response takes {high / low:.3f} of what it takes with none")
    bench.data["keeping"] = {str(rate): {f"{share:.2f}": row for share, row in rows.items()} for rate, rows in found.items()}


def measure(bench):
    ratio(bench, "cache_ratio_35", BELOW, bench.size(10, 4), True, "<= 0.70", bench.size(5, 3))
    ratio(bench, "cache_ratio_35_load90", LOAD * 1000 / SERVICE_MS, bench.size(30, 6), False, "<= 0.5", bench.size(5, 3))
    curves(bench)


FAMILIES = [(measure, ("cache_ratio_35", "cache_ratio_35_load90"))]
