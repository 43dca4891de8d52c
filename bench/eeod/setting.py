# SPDX-License-Identifier: BSD-2-Clause
"""setting.py - what the families of this bench have in common: the cells, a server on a path, a load on it, a look at the segments."""
import dataclasses
import os

from lab.httpd import Httpd
from lab.lab import module, program
from lab.load import Load
from lab.path import Missed, Path, flows

WAYS = {
    "eeod": "EeodEngine On",
    "flush": "SetOutputFilter LAB_FLUSH",
    "nagle": "SetOutputFilter LAB_NAGLE",
    "cork": "SetOutputFilter LAB_CORK",
    "plain": "",
}


@dataclasses.dataclass(frozen=True)
class Cell:
    name: str = "default"
    clients: int = 64
    rate: str = "100mbit"
    rtt: int = 20
    loss: float = 0
    congestion: str = "cubic"

    def path(self, lab, offload=True):
        return Path(lab, rate=self.rate, rtt=self.rtt, loss=self.loss, congestion=self.congestion, offload=offload)


CELLS = (
    Cell(), Cell("1 client", clients=1), Cell("256 clients", clients=256), Cell("2 Mbit/s", rate="2mbit"), Cell("unlimited", rate=None),
    Cell("0 ms", rtt=0), Cell("100 ms", rtt=100), Cell("loss 2 %", loss=2), Cell("bbr", congestion="bbr"),
)


def server(lab, path=None, **options):
    """httpd with a location for each way: /eeod, /flush, ...; /files is its document root."""
    config = "".join(f"<Location /{way}>\nSetHandler lab-page\n{line}\n</Location>\n" for way, line in WAYS.items())
    htdocs = os.path.join(lab.dir, "htdocs")
    os.makedirs(htdocs, exist_ok=True)
    os.chmod(htdocs, 0o755)
    config += f'Alias /eeod-files {htdocs}\n<Location /eeod-files>\nEeodEngine On\nEeodFiles On\n</Location>\n'
    config += '<Location /eeod-status>\nSetHandler eeod-status\n</Location>\n'
    options.setdefault("load", {"eeod": module("mod_eeod"), "lab_pages": program("tests/lab/.libs/mod_pages.so")})
    h = Httpd(lab, threads=75, children=4, htdocs=htdocs, config=config, **options)
    return h.on(path.server) if path else h


def ask(bench, cell, url, seconds, clients=None, offload=True, watch="wire", bytes_of_each=0):
    """A load of a cell's clients on a server of its own; (its result, the flows that were seen at `watch`).  Again if not all was seen."""
    for tries in (2, 1, 0):
        try:
            return ask_once(bench, cell, url, seconds, clients, offload, watch, bytes_of_each)
        except Missed as e:
            bench.say(f"{cell.name}: {e.args[0].splitlines()[-1]}")
            if not tries:
                raise


def ask_once(bench, cell, url, seconds, clients, offload, watch, bytes_of_each):
    path = cell.path(bench.lab, offload).start()
    h = server(bench.lab, path)
    try:
        with h, path.capture(watch, bytes_of_each) as seen:
            load = Load(h.address, [dict(name="all", clients=clients or cell.clients, url=url)], seconds=seconds, realtime=False, prefix=path.clients.prefix)
            result = load.result()
        found = flows(seen.file)
        seen.remove()
        return result, found
    finally:
        path.stop()
