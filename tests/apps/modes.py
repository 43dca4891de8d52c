# SPDX-License-Identifier: BSD-2-Clause
"""The four modes in which each application runs, and what must be equal in them.

    off       the module is not loaded
    observe   QosEngine observe
    on        QosEngine On, no other client
    full      QosEngine On with a window of two slots, which other clients keep full all the time

A site is a dict of arguments of lab.httpd.Httpd, most of all `config`.  A client is a function client(gateway, own) that returns the list of all
that the client saw.  `own` is a name of this run's own for pages and files.  The client leaves it out of what it returns.
"""
import contextlib
import json

import http1
from lab import lab
from lab.httpd import CRASH, Httpd, sanitizer_environment
from lab.load import Load

MODES = ("observe", "on", "full")
WINDOW = {"observe": 16, "on": 16, "full": 2}
OTHERS, OTHER_CLIENTS, PAGE_MS = "other-clients", 8, 50
# Longest wait of one request beside a full window.  A slot there is released every PAGE_MS / 2 ms; more allows for a busy machine.
MOST_WAIT_S = 2.0
WORDS = "%>s class=%{qos-class}n outcome=%{qos-outcome}n wait=%{qos-wait}n expect=%{Expect}i request=%r"

SCHEDULING = """
QosEngine {engine}
QosWindow {window}
QosCharge time
QosWait 60
QosClass visitors weight=1 default
QosClass others weight=1
QosRule others user_agent exact {others}
QosSelf {host}
"""
STATUS = """
<Location /qos-status>
    SetHandler qos-status
    Require all granted
    RewriteEngine Off
</Location>
"""


class Gateway(Httpd):
    """httpd with the site, in one mode.  The port is that of the site in each mode, because applications keep their own address."""

    def __init__(self, of, site, mode, port, pages, host, window=None, more=""):
        site = dict(site)
        text = f"ProxyPass /qos-status !\nProxyPass /{OTHERS} {pages}\n" + site.pop("config", "")
        if mode != "off":
            engine = "observe" if mode == "observe" else "On"
            site["load"], site["environment"] = {"qos_drr": lab.module()}, sanitizer_environment()
            text += SCHEDULING.format(engine=engine, window=window or WINDOW[mode], others=OTHERS, host=host) + STATUS + more
        super().__init__(of, f"gateway-{mode}", config=text, access_log=WORDS if mode != "off" else None, **site)
        self.port = port

    def ready(self):
        return self.generations() > 0 and super().ready()

    def classes(self):
        page = http1.get(self.port, "/qos-status?json")
        assert page.status == 200, page.body
        return {c["name"]: c for c in json.loads(page.body)["classes"]}

    def requests(self):
        """The client's requests, as dicts: status, request, outcome, wait (ms), expect (the field)."""
        found = []
        for line in self.access_log():
            words, _, request = line.partition(" request=")
            status, *rest = words.split()
            fields = dict(w.split("=", 1) for w in rest)
            if fields["class"] != "others" and "/qos-status" not in request:
                wait = 0.0 if fields["wait"] == "-" else float(fields["wait"])
                found.append({"status": int(status), "request": request, "outcome": fields["outcome"], "wait": wait, "expect": fields["expect"]})
        return found


@contextlib.contextmanager
def other_clients(gateway):
    """Keep the window full, with a queue of their own, as long as the block runs."""
    crowd = {"name": "others", "clients": OTHER_CLIENTS, "url": f"/{OTHERS}", "header": f"User-Agent: {OTHERS}", "source": "127.0.2.1", "retry": 500}
    with Load(gateway.address, [crowd], seconds=600, realtime=False):
        http1.until(lambda: gateway.classes()["others"]["queued"] > 0, 60, "other clients fill the window")
        yield
        assert gateway.classes()["others"]["queued"] > 0, "the window was not full at the end"


class Runs:
    """What the client of a site sees in each mode; .usual: with the module off.

    host: from which addresses the site sends requests to itself, as QosSelf has it; the clients are on this host, too.
    """

    def __init__(self, of, site, client, host="Off", port=None):
        self.lab, self.site, self.client, self.host = of, site, client, host
        self.port = port or lab.free_port()
        self.origin = lab.Origin(of, delay_ms=PAGE_MS, workers=64).start()
        self.usual = self.saw("off")

    def gateway(self, mode, window=None, more=""):
        return Gateway(self.lab, self.site, mode, self.port, f"{self.origin.url}/size/1000", self.host, window, more)

    def saw(self, mode):
        with self.gateway(mode) as g:
            with other_clients(g) if mode == "full" else contextlib.nullcontext():
                came = self.client(g, f"own{mode}")
        bad = [line for line in g.log().splitlines() if CRASH.search(line)]
        assert not bad, "\n".join(bad)
        self.requests = [] if mode == "off" else g.requests()
        return came

    def check(self, mode):
        """The client sees what it sees without the module, in the same order; each of its requests waits for a bounded time, or not at all."""
        came = self.saw(mode)
        assert came == self.usual
        assert self.requests
        outcomes = {r["outcome"] for r in self.requests}
        waits = [r["wait"] / 1000 for r in self.requests]
        print(f"{mode}: {len(waits)} requests, longest wait {max(waits):.3f} s, {sum(waits):.3f} s in all, outcomes {outcomes}")
        if mode == "full":
            assert "waited" in outcomes, outcomes
            assert max(waits) <= MOST_WAIT_S, sorted(self.requests, key=lambda r: r["wait"])[-3:]
        else:
            assert "waited" not in outcomes, outcomes
        assert not outcomes & {"refused", "timeout"}
