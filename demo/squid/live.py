# SPDX-License-Identifier: BSD-2-Clause
"""The demo's live table: on a terminal it is drawn over itself every second, elsewhere a line says every ten seconds how things are."""

import sys

HEAD = f"  {'class':<10} {'due':>7} {'share':>7} {'Mbit/s':>8} {'waiting':>9} {'waited s':>9} {'under way':>10} {'answer s':>9}"


class Live:
    """show() each second: a state is {"phase": text, "rows": [dict], "queue": kB, "drops": packets, "used": percent of the link}."""

    def __init__(self, out=sys.stdout):
        self.out, self.drawn, self.seconds = out, 0, 0

    @staticmethod
    def lines(state):
        text = [HEAD]
        for r in state["rows"]:
            waited, answer = (f"{v:.1f}" if v is not None else "-" for v in (r["waited"], r["answer"]))
            text.append(f"  {r['name']:<10} {r['due']:>6.1f}% {r['share']:>6.1f}% {r['mbit']:>8.2f} {r['waiting']:>9} {waited:>9} "
                        f"{r['outstanding']:>10} {answer:>9}")
        text.append(f"  the ISP's queue: {state['queue']:.0f} kB, {state['drops']} packets dropped so far; link used {state['used']:.0f} %")
        text.append(f"  {state['phase']}")
        return text

    def show(self, state):
        self.seconds += 1
        if self.out.isatty():
            if self.drawn:
                self.out.write(f"\033[{self.drawn}A")
            text = self.lines(state)
            self.out.write("".join(f"{line}\033[K\n" for line in text))
            self.drawn = len(text)
        elif self.seconds % 10 == 0:
            shares = " / ".join(f"{r['share']:.0f}" for r in state["rows"])
            waiting = sum(r["waiting"] for r in state["rows"])
            self.out.write(f"  {state['phase']}: shares {shares} %, {waiting} requests wait, the ISP's queue {state['queue']:.0f} kB, "
                           f"{state['drops']} packets dropped so far\n")
        self.out.flush()

    def end(self, state):
        """The table stays as it is, and the next one begins below."""
        if not self.out.isatty():
            self.out.write("\n".join(self.lines(state)) + "\n")
        self.out.write("\n")
        self.out.flush()
        self.drawn = self.seconds = 0
