# SPDX-License-Identifier: BSD-2-Clause
"""
lives.py - what a request's life costs in the engine, and that very many lives break nothing.

    instructions_ORDER_CLASSES      of a life with that order and so many classes, by callgrind
    ns_per_life                     nanoseconds, drr, 3 classes
    soak_lives                      of random engines, compared all the time with a model (tests/sim/soak.c)
"""
import functools
import os
import re
import statistics
import subprocess
import sys
import tempfile

from lab.lab import program

COUNTED = {     # figure: (sched, classes, queued, goal)
    "instructions_drr_3": ("drr", 3, 300, "<= 500"),
    "instructions_drr_10000": ("drr", 10000, 100000, "<= 900"),
    "instructions_rfq_10000": ("rfq", 10000, 100000, "<= 1200"),
}
DRIVER = ("counted_lives", "submit", "main")     # of life.c: the bench itself


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def engine_cost(profile):
    """Instructions of everything but the driver's own: self cost of all functions but counted_lives and submit.

    In callgrind's format `fn=` begins a function and `cfn=` names one that it calls (a name is written out once and has a number from
    then on), a cost line is a place and a number, and the cost line after `calls=` is the callee's, not its own.
    """
    names, cost, own, callee = {}, 0, False, False
    for line in profile.splitlines():
        if line.startswith(("fn=", "cfn=")):
            number, _, name = line.partition("=")[2].partition(" ")
            names.setdefault(number, name)
            own = own if line[0] == "c" else names[number] in DRIVER
        elif line.startswith("calls="):
            callee = True
        elif re.match(r"[+\-*\d]", line):
            if not callee and not own:
                cost += int(line.split()[1])
            callee = False
    return cost


def instructions(bench, name):
    sched, classes, queued, goal = COUNTED[name]
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "callgrind")
        told = run("valgrind", "--tool=callgrind", "--toggle-collect=counted_lives", f"--callgrind-out-file={out}", program("bench/core/life"), sched,
                   str(classes), str(queued), "200000")
        with open(out, encoding="utf-8") as file:
            cost = engine_cost(file.read())
    bench.figure(name, round(cost / int(re.search(r"lives (\d+)", told).group(1)), 1), "instructions", goal)


def nanoseconds(bench):
    times = [float(run(program("bench/core/life"), "drr", "3", "300", "2000000").split()[-1]) for _ in range(bench.size(9, 3))]
    bench.figure("ns_per_life", round(statistics.median(times), 1), "ns")


def soak(bench):
    lives = bench.size(100000000, 5000000)
    told = run(program("tests/sim/soak"), str(lives))
    bench.figure("soak_lives", int(re.search(r"soak: (\d+) lives.* 0 broken", told).group(1)), "lives", f">= {lives}")


FAMILIES = [*((functools.partial(instructions, name=name), (name,)) for name in COUNTED), (nanoseconds, ("ns_per_life",)), (soak, ("soak_lives",))]
