# SPDX-License-Identifier: BSD-2-Clause
"""
page_load.py - visitors that load a page and its assets as browsers do, without the cost of a browser each.

    with Visitors(address, pages, seconds=10, per_s=2) as visitors: ...
    visitors.all                        a PageLoad each

A visitor is new: its cookie jar is empty, and its address is one of 127.64.0.0/10.  It loads the HTML; a refused page it
loads again when Refresh or Retry-After says so, or after five seconds.  Then it loads the assets over six persistent connections, with its
cookies, each once: a browser does not load a refused asset again.
"""
import asyncio
import dataclasses
import random
import re
import threading
import time

CONNECTIONS = 6
ASSETS = 30


@dataclasses.dataclass
class PageLoad:
    """Seconds from the first request: html_s to the whole HTML, load_s to the last asset; None: it did not come.  refused: of the `asked` requests for the HTML, those without a page; failed: of its assets."""
    page: str
    html_s: float = None
    load_s: float = None
    asked: int = 0
    refused: int = 0
    failed: int = 0

    def loaded_within(self, seconds, after_html=None):
        """With every asset, within so many seconds of the first request, or of the HTML."""
        whole = self.load_s is not None and self.failed == 0
        return whole and (self.load_s <= seconds or (after_html is not None and self.load_s - self.html_s <= after_html))


def part_loaded(loads, seconds, after_html=None):
    return sum(load.loaded_within(seconds, after_html) for load in loads) / len(loads) if loads else 0.0


class Connection:
    """One of a visitor's, from its address; opened with its first request."""

    def __init__(self, visitor):
        self.visitor, self.streams = visitor, None

    async def get(self, target, accept="*/*"):
        """(status, header section), or (0, "") if no whole response came."""
        v = self.visitor
        try:
            if not self.streams:
                self.streams = await asyncio.open_connection(v.host, v.port, local_addr=(v.source, 0))
            reader, writer = self.streams
            cookie = f"Cookie: {v.cookie}\r\n" if v.cookie else ""
            writer.write(f"GET {target} HTTP/1.1\r\nHost: {v.host}:{v.port}\r\nUser-Agent: {v.agent}\r\nAccept: {accept}\r\n{cookie}\r\n".encode())
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            length = re.search(r"(?im)^content-length: (\d+)", head)
            await (reader.readexactly(int(length[1])) if length else reader.read(-1))
        except (OSError, asyncio.IncompleteReadError):
            self.close()
            return 0, ""
        given = re.search(r"(?im)^set-cookie: ([^;\r]+)", head)
        v.cookie = given[1] if given else v.cookie
        if not length or re.search(r"(?im)^connection: close", head):
            self.close()
        return int(head.split(" ", 2)[1]), head

    def close(self):
        if self.streams:
            self.streams[1].close()
        self.streams = None


class Visitor:
    def __init__(self, address, source, agent):
        self.host, port = address.rsplit(":", 1)
        self.port, self.source, self.agent, self.cookie = int(port), source, agent, ""

    async def load(self, p, assets, patience):
        """Fills p."""
        connections, begun = [Connection(self) for _ in range(CONNECTIONS)], time.monotonic()
        try:
            async with asyncio.timeout(patience):
                while p.html_s is None:
                    p.asked += 1
                    status, head = await connections[0].get(p.page, "text/html, */*")
                    if status == 200:
                        p.html_s = time.monotonic() - begun
                        break
                    again = re.search(r"(?im)^refresh: (\d+)", head) or re.search(r"(?im)^retry-after: (\d+)", head)
                    await asyncio.sleep(int(again[1]) if again else 5)
                left = list(assets)

                async def take(c):
                    while left:
                        status, _ = await c.get(left.pop(0))
                        p.failed += status != 200
                await asyncio.gather(*(take(c) for c in connections))
                p.load_s = time.monotonic() - begun
        except TimeoutError:
            pass
        finally:
            p.refused = p.asked - (p.html_s is not None)
            for c in connections:
                c.close()


class Visitors:
    """
    They come, per_s of them a second, while the block lasts after `warmup` seconds.  address: HOST:PORT; pages: which one a visitor wants is its number's; assets: what each page needs; patience: seconds
    after which a visitor gives up.
    """

    def __init__(self, address, pages, assets, seconds, warmup=0, patience=15, per_s=2, seed=7, agents=("Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",)):
        self.address, self.pages, self.assets, self.agents = address, pages, assets, agents
        self.seconds, self.warmup, self.patience, self.per_s = seconds, warmup, patience, per_s
        self.random, self.all = random.Random(seed), []

    def __enter__(self):
        self.thread = threading.Thread(target=lambda: asyncio.run(self.come()))
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.thread.join()

    async def come(self):
        await asyncio.sleep(self.warmup)
        end, visits = time.monotonic() + self.seconds, []
        while time.monotonic() < end:
            visits.append(asyncio.create_task(self.visit(len(visits))))
            await asyncio.sleep(self.random.expovariate(self.per_s))
        await asyncio.gather(*visits)

    async def visit(self, number):
        p = PageLoad(self.pages[number % len(self.pages)])
        self.all.append(p)
        source = f"127.{64 + self.random.randrange(64)}.{self.random.randrange(256)}.{self.random.randrange(1, 255)}"
        await Visitor(self.address, source, self.random.choice(self.agents)).load(p, self.assets, self.patience)
