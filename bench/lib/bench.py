# SPDX-License-Identifier: BSD-2-Clause
"""bench.py - what a bench's run hands to each of its families."""


class Bench:
    """lab: the Lab; quick: fewer and shorter runs; say: tells how far it is; data: what the pictures are drawn from."""

    def __init__(self, lab, figures, quick, say):
        self.lab, self.figures, self.quick, self.say = lab, figures, quick, say
        self.data = {}

    def figure(self, *words):
        self.figures.figure(*words)
