# SPDX-License-Identifier: BSD-2-Clause
"""
replay.py - fairgate-policy replay over a day's log: ten million lines of people and crawlers with the policy of etc/examples, in the Combined format with %D.

    replay_10m_s        seconds from the program's start to its report; a quick bench reads a tenth of the lines, and multiplies
"""
import os
import random
import subprocess
import time

from spread import Spread

from lab.lab import ROOT, program

LINES = 10_000_000
DAY = 86_400
AGENTS = ("Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0", "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0 Safari/537.36",
          "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)", "Mozilla/5.0 (compatible; GPTBot/1.2; +https://openai.com/gptbot)")
FORMAT = '%h %l %u %t "%r" %>s %b "%{Referer}i" "%{User-Agent}i" %D'


def write(path, lines):
    """Of 50,000 clients and 20,000 pages, all the same for each seed."""
    rng = random.Random(1)
    clients = [(f"10.{rng.randrange(256)}.{rng.randrange(256)}.{rng.randrange(1, 255)} - - [", f' "-" "{rng.choice(AGENTS)}" {int(rng.lognormvariate(10, 1))}\n') for _ in range(50_000)]
    pages = [f'] "GET /wiki/page-{i}?action=show HTTP/1.1" 200 {int(rng.lognormvariate(9.4, 1.3))}' for i in range(20_000)]
    with open(path, "w", encoding="ascii", buffering=1 << 20) as f:
        for second in range(DAY):
            when = f"13/Oct/2026:{second // 3600:02}:{second // 60 % 60:02}:{second % 60:02} +0000"
            n = lines * (second + 1) // DAY - lines * second // DAY
            f.writelines(client + when + page + rest for (client, rest), page in zip(rng.choices(clients, k=n), rng.choices(pages, k=n)))


def seconds(bench, path, lines):
    began = time.monotonic()
    text = subprocess.run([program("policy/fairgate-policy"), "replay", "--format", FORMAT, f"{ROOT}/etc/examples/policy.xml", path], check=True, capture_output=True, text=True).stdout
    took = time.monotonic() - began
    bench.say(f"{took:.1f} s: {text.splitlines()[0]}")
    return took * LINES / lines


def measure(bench):
    lines, path = bench.size(LINES, LINES // 10), os.path.join(bench.lab.dir, "access.log")
    write(path, lines)
    try:
        _, spread = bench.repeat(lambda: seconds(bench, path, lines), Spread.of, "<= 60", least=bench.size(2, 1))
    finally:
        os.unlink(path)
    bench.figure("replay_10m_s", spread, "s", "<= 60")


FAMILIES = [(measure, ("replay_10m_s",))]
