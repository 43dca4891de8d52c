# SPDX-License-Identifier: BSD-2-Clause
"""A search over random schedules on real httpd, before a real backend with a limited number of workers; SCHEDULES says how many are tried."""

import os

import pytest

import schedules
from lab.httpd import PhpFpm
from lab.lab import Origin
from lab.load import Load
from schedules import Dues, Sampler, Schedule, Verdict

pytestmark = [pytest.mark.alone, pytest.mark.measures]


def pytest_generate_tests(metafunc):
    if "seed" in metafunc.fixturenames:
        n = int(os.environ.get("SCHEDULES", 60 if metafunc.config.getoption("--long") else 1))
        first = int(os.environ.get("SCHEDULE", 1))
        metafunc.parametrize("seed", range(first, first + n))


@pytest.fixture(scope="module")
def fpm(parts):
    (parts.root / "php/self.php").write_text(schedules.SELF_PAGE)
    with PhpFpm(parts.lab, "php-fpm-self", workers=16) as server:
        yield server


@pytest.fixture(scope="module")
def worst():
    """The worst seeds of each rule, printed at the end."""
    found = {"slot time of a class with a queue, of its due": Verdict(), "pages of a class that pauses, of those when alone": Verdict()}
    yield found
    for rule, verdict in found.items():
        print(f"\n{rule}: worst {verdict.part:.3f}, {verdict.text}")


def run(new_gateway, parts, fpm, schedule, more=""):
    """The dues and what was had of a schedule that has been played."""
    with Origin(parts.lab, workers=schedule.workers, spread=20) as origin:
        g = new_gateway(mpm=schedule.mpm, window=schedule.window(), classes=schedule.directives(), origin=origin, threads=90, more=schedule.more() + more)
        g.php = fpm.address
        with g, Sampler(g, [c.name for c in schedule.classes]) as sampler, \
                Load(g.address, [c.load(g.port) for c in schedule.classes], schedules.RUN_S, warmup=schedules.WARMUP_S, seed=schedule.seed) as load:
            load.result()
    return Dues(schedule, sampler.seen)


def test_no_class_is_below_its_due_in_a_random_schedule(new_gateway, parts, fpm, seed, worst, capsys):
    schedule = Schedule(seed)
    dues = run(new_gateway, parts, fpm, schedule)
    verdicts = Verdict(), Verdict()
    dues.judge_shares(verdicts[0])
    dues.judge_pauses(verdicts[1])
    for verdict, all_of_them in zip(verdicts, worst.values()):
        all_of_them.take(verdict.part, f"seed {seed}: {verdict.text}")
    with capsys.disabled():
        print(f"\n{schedule}\n  " + "\n  ".join(f"{v.part:.3f}: {v.text}" for v in verdicts), flush=True)
    for verdict in verdicts:
        assert verdict.part >= schedules.LEAST, f"{schedule}\n{verdict.text}"


def test_search_finds_the_class_that_order_of_arrival_starves(new_gateway, parts, fpm):
    """Twenty clients of a heavy class with brief pages, beside forty of a light one with long ones: the search would be of no use if it overlooked that."""
    schedule = Schedule(1)
    schedule.auto, schedule.workers, schedule.mpm, schedule.delay_ms = False, 4, "event", 0
    heavy, light = schedule.classes[:2]
    for c, weight, clients, page_ms in ((heavy, 9, 20, 50), (light, 1, 40, 400)):
        c.weight, c.clients, c.pages_ms, c.kind = weight, clients, [page_ms], "plain"
        c.size, c.rate, c.abort_ms, c.think_ms, c.arrivals, c.begins_s, c.ends_s = 1000, 0, 0, 0, 0, 0, 0
    schedule.classes = [heavy, light]
    verdict = Verdict()
    run(new_gateway, parts, fpm, schedule, "QosScheduler fifo\n").judge_shares(verdict)
    assert verdict.part < schedules.LEAST and heavy.name in verdict.text, verdict.text
