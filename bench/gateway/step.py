# SPDX-License-Identifier: BSD-2-Clause
"""
step.py - demand steps from 0.7 to 1.4 times of what the backend can do, each class by its weight and with a bound on delay; people's is 100 ms.

    step_p99_settle_ms  from the first of people who has waited for longer than the bound to when 99 of 100 of those who are let through in the next half second have not
"""
import time

from setting import WINDOW, clients
from spread import Spread

from lab.load import Load

MS, BOUND = 20, 0.1
CAPACITY = WINDOW * 1000 / MS
WEIGHTS = {"people": 6, "search": 3, "crawlers": 1}
# The engine looks every 5 ms, and where a machine is late so is a thread that was woken.
SLACK = 0.01
NEXT = 0.5
LOG = "%{begin:usec}t %{qos-class}n %{qos-wait}n %{qos-outcome}n"


def load(g, seconds):
    return Load(g.address, [clients(c, 400, url=f"/size/2000?delay={MS}", arrivals=0.7 * CAPACITY * w / 10, refusals=True) for c, w in WEIGHTS.items()], seconds)


def waits(g):
    """[(when, seconds)] of people who were let through, in this order."""
    rows = [line.split() for line in g.access_log()]
    return sorted((int(begin) / 1e6 + float(wait) / 1e3, float(wait) / 1e3) for begin, of, wait, outcome in rows if of == "people" and outcome in ("passed", "waited"))


def settled(seen, since):
    """Seconds from the first that was late after `since`; 0 if none was."""
    late = [when for when, waited in seen if when > since and waited > BOUND + SLACK]
    for end in late:
        after = sorted(waited for when, waited in seen if end < when <= end + NEXT)
        if after and after[int(0.99 * (len(after) - 1))] <= BOUND + SLACK:
            return end - late[0], len(late)
    return (seen[-1][0] - late[0], len(late)) if late else (0.0, 0)


def settle(bench):
    seconds = bench.size(8, 4)
    weights = {c: f"{w} delay={round(BOUND * 1000 * 6 / w)}" for c, w in WEIGHTS.items()}
    with bench.gateway(bench.origin(), weights, access_log=LOG, modules=("log_config",)) as g, load(g, seconds + 3) as before:
        time.sleep(3)
        step = time.time()
        with load(g, seconds) as more:
            more.result()
        before.result()
        seen = waits(g)
    took, late = settled(seen, step)
    after = sorted(waited for when, waited in seen if when > step + 1)
    bench.say(f"above the bound for {1000 * took:.0f} ms, {late} of {len(seen)} in all; from a second after the step on the middle one waits {1000 * after[len(after) // 2]:.1f} ms, "
              f"of 100 one {1000 * after[int(0.99 * (len(after) - 1))]:.0f} ms")
    return 1000 * took


def measure(bench):
    _, spread = bench.repeat(lambda: settle(bench), Spread.of, "<= 500", least=bench.size(3, 1))
    bench.figure("step_p99_settle_ms", spread, "ms", "<= 500")


FAMILIES = [(measure, ("step_p99_settle_ms",))]
