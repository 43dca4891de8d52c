# SPDX-License-Identifier: BSD-2-Clause
"""
rates.py - calls of pdf_to_text at 1 to 25 a second (Fig. 8): one thread, no two calls equal, five seconds of each rate, and then as long as the last call takes.

    flat_ratio      mean response time at rates up to nine tenths of what one thread can do, in parts of that up to 5/s: constant
    knee_ratio      the rate at which the line through the response times of rates beyond meets that constant, in parts of what one thread can do
    linear_r2       how much of what these differ by the line explains

The paper's rates follow upon each other without a pause; ours do not, so that what one leaves waiting is none of the next one's.  A response is the service (what httpd's log says of
the request), its waiting for its turn (ditto), and all else: both networks, the PDF from its provider, and the layer.
"""
import statistics

from setting import SERVICE_MS, mean, name_of
from spread import Spread

from lab.lab import wait_for

CAN = 1000 / SERVICE_MS
FLAT, FEW, BEYOND = 0.9, 5, 1.08


def one_rate(bench, rate, number):
    site, seconds = bench.provider(1), bench.size(5, 4)
    names = [("call", name_of(f"{site.base}/services/pdf_to_text", bench.page(i, number))) for i in range(rate * seconds)]
    before = len(site.access_log())
    result = bench.run(names, rate, seconds)
    wait_for(lambda: len(site.made(before)) >= result["pages"], 10, "the log")
    made = site.made(before)
    row = {"response": mean(p.ms for p in result["each"]), "service": mean(t for t, _ in made), "wait": mean(w for _, w in made)}
    return row | {"else": row["response"] - row["service"] - row["wait"]}


def line(points):
    """(slope, where it meets 0, R squared)"""
    slope, at = statistics.linear_regression(*zip(*points))
    return slope, at, statistics.correlation(*zip(*points)) ** 2


def judged(row):
    """What a round says: {figure: value}."""
    low = mean(row[r]["response"] for r in row if r <= FEW)
    slope, at, r2 = line([(r, row[r]["response"]) for r in row if r > BEYOND * CAN])
    return {"flat_ratio": mean(row[r]["response"] for r in row if r <= FLAT * CAN) / low, "knee_ratio": (low - at) / slope / CAN, "linear_r2": r2}


def measure(bench):
    rates = bench.size(range(1, 26), (3, 14, 17, 19, 22, 25))
    rounds = [{rate: one_rate(bench, rate, next(bench.numbers)) for rate in rates} for _ in range(bench.size(3, 1))]
    together = {rate: {what: mean(row[rate][what] for row in rounds) for what in rounds[0][rate]} for rate in rates}
    few = [together[r] for r in rates if r <= FEW]
    bench.say(f"pdf_to_text up to {FEW} calls/s: response {mean(r['response'] for r in few):.1f} ms (paper: 75), service {mean(r['service'] for r in few):.1f} (57), "
              f"all else {mean(r['else'] for r in few):.1f}; pdftotext itself {statistics.median(bench.provider(1).pdftotext_ms()):.1f} ms, the rest of the service is sleep")
    for rate in rates:
        row = together[rate]
        bench.say(f"  {rate:2d}/s: response {row['response']:7.1f} ms, service {row['service']:.1f}, waiting {row['wait']:.1f}, all else {row['else']:.1f}")
    for name, goal in (("flat_ratio", "<= 1.2"), ("knee_ratio", ">= 0.95"), ("linear_r2", ">= 0.98")):
        bench.figure(name, Spread.of([judged(row)[name] for row in rounds]), {"linear_r2": "of the variance"}.get(name, "of the constant" if name == "flat_ratio" else "of what can be"), goal)
    bench.data["rates"] = {str(rate): row for rate, row in together.items()}


FAMILIES = [(measure, ("flat_ratio", "knee_ratio", "linear_r2"))]
