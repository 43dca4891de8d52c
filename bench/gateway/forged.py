# SPDX-License-Identifier: BSD-2-Clause
"""
forged.py - who says that he is a search engine, and who is.

    forged_admitted     of 10,000 requests from fifty addresses with every known crawler's user agent, those in a crawler's class; and of requests with signatures that are wrong, expired,
                        replayed, or by keys that nobody knows, those that count
    bots_live_s         seconds until a changed list is in force in every child

What a signature costs is in signed.py.
"""
import os
import time

from setting import status

from lab import bots
from lab.lab import ROOT, wait_for
from lab.load import load
from lab.signer import Signer

CLASSES = {"search": 3, "people": 6}
ADDRESSES = [f"127.0.3.{i}" for i in range(1, 51)]
PAGE = "/size/2048"


def agents():
    """Of each crawler that the shipped list knows."""
    with open(os.path.join(ROOT, "etc", "bots-example.conf"), encoding="utf-8") as f:
        lines = [line.split("#")[0].split() for line in f]
    return [f"Mozilla/5.0 (compatible; {name}/2.1)" for words in lines if words for name in ([w[6:] for w in words if w.startswith("agent=")] or words[:1])]


def table(bench, networks):
    folder = bench.once("bots", lambda: os.path.join(bench.lab.dir, "bots"))
    os.makedirs(folder, mode=0o755, exist_ok=True)
    for name, text in (("googlebot.txt", "\n".join(networks)), ("bots.conf", f"googlebot {folder}/googlebot.txt private\n")):
        with open(f"{folder}/{name}", "w", encoding="utf-8") as f:
            f.write(text)
    bots.fetch(f"{folder}/bots.conf", f"{folder}/table")
    return f"{folder}/table"


def gateway(bench, more):
    # Who is of which class is not said here but found out.
    return bench.gateway(bench.origin(), CLASSES, more=more, believes=False, access_log="%{qos-class}n %{qos-signature}n")


def submitted(server, name="search"):
    return status(server)[name]["submitted"]


def forged_names(bench):
    """(how many were admitted, seconds until a list was live)"""
    with gateway(bench, f"QosBots {table(bench, ['192.0.2.0/24'])}\nQosRule search crawler *\n") as g:
        each = bench.size(10_000, 2000) // len(ADDRESSES)
        words = agents()
        groups = [dict(name="forged", clients=1, requests=each // 4 + 1, source=a, url=PAGE, header=f"User-Agent: {words[(4 * i + k) % len(words)]}")
                  for i, a in enumerate(ADDRESSES) for k in range(4)]
        asked = load(g.address, groups, 60)["total"]["requests"]
        admitted = submitted(g)
        bench.say(f"{asked} requests from {len(ADDRESSES)} addresses with {len(words)} names of crawlers: {admitted} in a crawler's class")
        table(bench, ["127.0.3.0/24"])
        began = time.monotonic()

        def live():
            """A connection each, so that every child is asked."""
            before = submitted(g)
            return load(g.address, [dict(name="a", clients=20, requests=1, source=ADDRESSES[0], url=PAGE)], 10)["total"]["requests"] == submitted(g) - before
        wait_for(live, 60, "a changed list in force")
    return admitted, time.monotonic() - began


def keys(bench, signer):
    path = os.path.join(bench.lab.dir, "keys.json")
    with open(path, "w", encoding="utf-8") as f:
        f.write('{"keys": [{"kty": "OKP", "crv": "Ed25519", "x": "%s"}]}' % signer.x)
    os.chmod(path, 0o644)
    return path


def signed(bench):
    """A signer whom the gateway knows, and the gateway."""
    bot = Signer("https://bot.example")
    return bot, gateway(bench, f"QosSigned examplebot bot.example keys={keys(bench, bot)}\nQosRule search crawler examplebot\n")


def ask(server, headers, n=1, source=ADDRESSES[0]):
    return load(server.address, [dict(name="a", clients=1, requests=n, source=source, url=PAGE, header=[f"{k}: {v}" for k, v in headers.items()])], 20)


def forged_signatures(bench):
    bot, g = signed(bench)
    stranger, now = Signer("https://bot.example"), int(time.time())
    with g:
        def admitted(headers, **words):
            before = submitted(g)
            ask(g, headers, **words)
            return submitted(g) - before
        # The file of keys is read in the background.
        wait_for(lambda: admitted(bot.sign(g.address, target=PAGE, nonce=os.urandom(8).hex())), 20, "a right signature counts")
        once = bot.sign(g.address, target=PAGE, nonce="once")
        right, found = admitted(once), 0
        for _ in range(bench.size(200, 20)):
            wrong = bot.sign(g.address, target=PAGE, signed_authority="other.example")
            for headers in (wrong, once, bot.sign(g.address, target=PAGE, created=now - 7200, lasts=60), stranger.sign(g.address, target=PAGE),
                            bot.sign(g.address, target=PAGE, agent="https://nobody.example")):
                found += admitted(headers)
    bench.say(f"signatures: {right} of 1 right one counts; {found} of those that are wrong, replayed, expired, or by unknown keys or agents")
    return found + (1 - right)


def measure(bench):
    admitted, live = forged_names(bench)
    bench.figure("forged_admitted", admitted + forged_signatures(bench), "requests", "== 0")
    bench.figure("bots_live_s", live, "s", "<= 60")


FAMILIES = [(measure, ("forged_admitted", "bots_live_s"))]
