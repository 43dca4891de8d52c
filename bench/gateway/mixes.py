# SPDX-License-Identifier: BSD-2-Clause
"""
mixes.py - a search for what one class can ask for to take from another what is due to that.

A mix is one to three kinds of requests of thirty clients: how large, how long, which method, given up or not, a body that comes slowly, an answer that is taken slowly, a page that
nobody has asked for before, a range, a condition, an error.  A client asks again after 20 ms at the soonest: what a flood of connections takes of the CPU before there is a request is
nothing that a gateway shares.  The other class is one of two, of three times the weight, always asking:

    slots   24 clients, pages of 2 KB that take 40 ms; what runs out is the window
    bytes   24 clients, pages of 200 KB at once; what runs out is the backend's link, 100 Mbit/s

Its due is three quarters of what it has when alone.  Each mix has a gateway that knows nothing yet.  The first half of the mixes is drawn at random; then the worst so far are changed a
little, as a fuzzer does.  The same seed draws the same mixes.

    worst_mix_due_ratio     what the other class has / its due, under the worst mix, measured once more, thrice; the default charge
    worst_mix_bytes, _time, _both   the worst of a quarter as many for each charge; no goal, and only in a whole bench
"""
import dataclasses
import json
import random
import statistics

from setting import clients
from spread import Spread

SEED = 20
WEIGHTS = {"people": 3, "mix": 1}
PART = 0.75
CROWD = 30
RATE = "100mbit"
VICTIMS = {
    "slots": clients("people", 24, url="/size/2048?delay=40"),
    "bytes": clients("people", 24, url="/size/200000"),
}
GENES = {
    "size": (0, 200, 200, 2000, 20_000, 200_000, 2_000_000),
    "ms": (0, 0, 1, 5, 20, 100, 300, 1000),
    "method": ("GET", "GET", "GET", "HEAD", "POST"),
    "abort": (0, 0, 0, 3, 30, 150, 600),
    "send": (0, 0, 1000, 10_000),                       # bytes/s of a body of 2,000
    "rate": (0, 0, 0, 20_000, 500_000),                 # bytes/s that a client reads
    "path": ("same", "same", "query", "path"),          # what is new each time
    "more": ("", "", "", "range", "etag", "status=404", "status=500", "chunked", "truncate", "reset", "close"),
    "think": (20, 20, 100),                             # ms until it asks again
    "hang_up": (False, False, False, True),             # a connection for every request
}


@dataclasses.dataclass(frozen=True)
class Kind:
    size: int
    ms: int
    method: str
    abort: int
    send: int
    rate: int
    path: str
    more: str
    think: int
    hang_up: bool

    def words(self, n):
        query = [f"delay={self.ms}"] + (["n={n}"] if self.path == "query" else []) + ([self.more] if self.more not in ("", "range") else [])
        path = f"/size/{self.size}" + ("/{n}/page" if self.path == "path" else "")
        words = dict(url=f"{path}?{'&'.join(query)}", method=self.method, abort=self.abort, rate=self.rate, think=self.think, close=self.hang_up, retry=50)
        if self.method == "POST":
            words.update(body=2000, send=self.send)
        header = {"range": ["Range: bytes=0-99"], "etag": [f'If-None-Match: "{self.size}"']}.get(self.more, [])
        return clients("mix", n, header=header, **words)


def one(rng):
    return Kind(**{gene: rng.choice(values) for gene, values in GENES.items()})


def draw(rng):
    """(whom it is to harm, its kinds)"""
    return rng.choice(list(VICTIMS)), tuple(one(rng) for _ in range(rng.choice((1, 1, 2, 3))))


def change(rng, mix):
    """One gene of one kind is another, or a kind comes or goes."""
    whom, kinds = mix[0], list(mix[1])
    at, way = rng.randrange(len(kinds)), rng.random()
    if way < 0.15 and len(kinds) < 3:
        kinds.append(one(rng))
    elif way < 0.3 and len(kinds) > 1:
        kinds.pop(at)
    else:
        gene = rng.choice(list(GENES))
        kinds[at] = dataclasses.replace(kinds[at], **{gene: rng.choice(GENES[gene])})
    return whom, tuple(kinds)


def groups(kinds):
    return [k.words(CROWD // len(kinds)) for k in kinds]


class Alone:
    """What the other class has when alone, per second: measured now and then, since the machine's speed changes."""

    EVERY = 20

    def __init__(self, bench):
        self.bench, self.found, self.left = bench, {}, {}

    def of(self, whom, charge):
        if self.left.get(whom, 0) <= 0:
            self.found[whom] = had(self.bench, whom, charge, (), 2, 1)
            self.left[whom] = self.EVERY
        self.left[whom] -= 1
        return self.found[whom]


def had(bench, whom, charge, kinds, seconds, warmup):
    with bench.gateway(bench.linked_origin(RATE) if whom == "bytes" else bench.origin(), WEIGHTS, charge) as g:
        found = bench.seen(g, [VICTIMS[whom], *groups(kinds)], seconds, warmup)
    return found["classes"]["people"]["bytes_per_s"] if whom == "bytes" else found["classes"]["people"]["status"].get("200", 0) / found["seconds"]


def ratio(bench, alone, mix, charge):
    return had(bench, mix[0], charge, mix[1], bench.size(4, 1), bench.size(2, 1)) / (PART * alone.of(mix[0], charge))


def text(mix):
    return json.dumps({"against": mix[0], "kinds": [dataclasses.asdict(k) for k in mix[1]]})


def search(bench, mixes, charge=None, seed=SEED):
    """[(ratio, mix)], the worst first."""
    rng, alone, found = random.Random(seed), Alone(bench), []
    for i in range(mixes):
        mix = draw(rng) if i < mixes // 2 else change(rng, rng.choice(sorted(found, key=lambda f: f[0])[:5])[1])
        found.append((ratio(bench, alone, mix, charge), mix))
    return sorted(found, key=lambda f: f[0])


def measure(bench):
    found = search(bench, bench.size(200, 20))
    for r, mix in found[:bench.size(10, 3)]:
        bench.say(f"{r:.3f} of its due under {text(mix)}")
    # The least of so many is chosen by chance as well: those that came out worst, once more.
    again, alone = [], Alone(bench)
    for _, mix in found[:bench.size(5, 2)]:
        again.append((Spread.of([ratio(bench, alone, mix, None) for _ in range(bench.size(5, 2))]), mix))
    spread, mix = min(again, key=lambda a: a[0].value)
    bench.say(f"the worst mix of seed {SEED}, number of mixes {len(found)}, median of all {statistics.median(r for r, _ in found):.3f}: {text(mix)}")
    bench.data["worst_mix"] = json.loads(text(mix))
    bench.figure("worst_mix_due_ratio", spread, "of its due", ">= 0.85")


def measure_charges(bench):
    if bench.quick:
        return
    for charge in ("bytes", "time", "both"):
        (r, mix), *_ = search(bench, 50, charge)
        bench.say(f"by {charge}: {text(mix)}")
        bench.figure(f"worst_mix_{charge}", r, "of its due")


FAMILIES = [(measure, ("worst_mix_due_ratio",)), (measure_charges, ("worst_mix_bytes", "worst_mix_time", "worst_mix_both"))]
