# SPDX-License-Identifier: BSD-2-Clause
"""
raw.py - the same bytes to servers that should not differ, each on a host of its own.

    with Side("off", make) as off, Side("on", make) as on:
        compare((off, on), cases("chunks", 900))

All of them are 127.0.0.1:3128 there, before the same origin, so nothing that they write need differ.  Who differs is told by an AssertionError with what each said.
"""
import collections
import os
import pickle
import random
import subprocess

from .net import Host

PORT = 3128
PATIENCE = (0.04, 0.15, 0.4, 1, 2, 4)          # seconds; what differs is asked again, of all of them, with more
DRIVER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "raw_driver.py")


class Side:
    """A namespace with a server and a driver in it.  make(): the server, not started yet, as Server.on() takes it there."""

    def __init__(self, name, make):
        self.name, self.driver = name, None
        self.host = Host(f"fg{os.getpid()}-{random.randrange(1 << 16):04x}-{name}", "127.0.0.1")
        self.server = make().on(self.host)
        self.server.port = PORT

    def __enter__(self):
        self.host.add()
        self.server.start()
        self.driver = subprocess.Popen([*self.host.prefix, "/usr/bin/python3", "-B", "-P", DRIVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self.hear() == "ready"
        return self

    def __exit__(self, *_):
        if self.driver:
            self.driver.stdin.close()
            self.driver.wait(10)
            self.driver.stdout.close()
        self.server.stop()
        self.host.remove()

    def ask(self, requests, patience):
        pickle.dump((requests, patience), self.driver.stdin)
        self.driver.stdin.flush()

    def hear(self):
        return pickle.load(self.driver.stdout)


class Seen:
    """What each of them has said so far.  A server may say one thing or another by chance, as what was in time for what; they agree when all of them have said the same some time."""

    def __init__(self, sides):
        self.of = [collections.defaultdict(set) for _ in sides]

    def agree(self, asked, said):
        for of, what in zip(self.of, said):
            of[asked].add(what)
        return bool(set.intersection(*(of[asked] for of in self.of)))


def ask(sides, requests, patience, normal):
    """Asks all at the same time."""
    for s in sides:
        s.ask(requests, patience)
    heard = [s.hear() for s in sides]
    for h in heard:
        h["answers"] = [(normal(got), how) for got, how in h["answers"]]
        h["origin"] = tuple(sorted(map(normal, h["origin"])))
    return heard


def shown(sides, heard, i):
    return "\n".join(f"{s.name}, {h['answers'][i][1]}: {h['answers'][i][0][:1500]!r}" for s, h in zip(sides, heard))


def compare(sides, requests, slower=1, normal=bytes, seen=None):
    """A busy machine may be slow: what differs is asked again, all of a batch if the origins differ.  slower: so much more patience; normal: of what was received, what counts."""
    seen = seen or Seen(sides)
    for patience in PATIENCE:
        asked = requests
        heard = ask(sides, asked, patience * slower, normal)
        different = [i for i, answers in enumerate(zip(*(h["answers"] for h in heard))) if not seen.agree(asked[i], answers)]
        origins = not seen.agree(tuple(asked), [h["origin"] for h in heard])
        if not different and not origins:
            return
        if not origins:
            requests = [asked[i] for i in different]
        elif patience >= 0.4 and len(asked) > 8:        # find the one that is to blame
            half = len(asked) // 2
            compare(sides, asked[:half], slower, normal, seen)
            compare(sides, asked[half:], slower, normal, seen)
            return
    assert not different, f"{len(different)} of {len(asked)} answers differ, the first to\n{asked[different[0]]!r}:\n{shown(sides, heard, different[0])}"
    received = [[r[:1000] for r in h["origin"]] for h in heard]
    raise AssertionError(f"the origins received different things after\n{asked!r}:\n{received}")
