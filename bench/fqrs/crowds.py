# SPDX-License-Identifier: BSD-2-Clause
"""
crowds.py - what a cell's clients ask for: words of fairgate-load for each class.  A crowd is a function of a trial and its field.

    pages       a closed or open loop of pages over HTTP, each over a connection of its own, which Squid intercepts
    tunnels     the same pages over TLS, each through a tunnel of its own
    kinds       a class, a kind: pages, half of them through tunnels, for as many as want their class's part; videos, of which each wants 2 MB every two
                seconds; one download of 50 MB
    mixture     each class has all of these
    large       pages, and in each class three endless downloads of 20 MB, one of them through a tunnel

Classes are named class1 to class3, and their clients connect from 10.1.1.1 to 10.1.3.1.  Who goes through no Squid, as with HTB at the ISP, has the same
without a tunnel.  Words of one name are one class: fairgate-load reports them together.
"""
SEGMENT, SEGMENT_MS = 2_000_000, 2000
FILE = 50_000_000
LARGE = 20_000_000


def of_class(i, **words):
    return {"name": f"class{i + 1}", "source": f"10.1.{i + 1}.1", **words}


def server(field, i):
    """One in the middle: 40 to 65 ms away, where there are round trips."""
    return field.server_addresses[(3 + i) % len(field.server_addresses)]


def decks(trial, field, scheme, **more):
    made = []
    for i in trial.cell.active:
        words = of_class(i, urls=trial.urls(field, i, scheme), deck=True, close=True, **more)
        if trial.cell.arrivals:
            words.update(clients=2000, arrivals=trial.cell.arrivals[i])
        else:
            words.update(clients=trial.cell.clients[i])
        if trial.cell.phases:
            made += [{**words, "from": begin, "until": end} for begin, end in trial.cell.phases[i]]
        else:
            made.append(words)
    return made


def pages(trial, field):
    return decks(trial, field, "http")


def tunnels(trial, field):
    return decks(trial, field, "https", **trial.way(field))


def web(trial, field, i, clients):
    half = clients // 2
    return [of_class(i, clients=clients - half, urls=trial.urls(field, i), deck=True, close=True),
            of_class(i, clients=half, urls=trial.urls(field, i, "https"), deck=True, close=True, **trial.way(field))]


def videos(trial, field, i, clients=2):
    return [of_class(i, clients=clients, url=f"https://{server(field, i)}/size/{SEGMENT}", every=SEGMENT_MS, **trial.way(field))]


def download(trial, field, i, size=FILE, clients=1):
    return [of_class(i, clients=clients, url=f"https://{server(field, i + 3)}/size/{size}", close=True, **trial.way(field))]


def kinds(trial, field):
    made = {0: lambda: web(trial, field, 0, 20), 1: lambda: videos(trial, field, 1), 2: lambda: download(trial, field, 2)}
    return [words for i in trial.cell.active for words in made[i]()]


def mixture(trial, field):
    return [words for i in trial.cell.active for words in (*web(trial, field, i, 8), *videos(trial, field, i, 1), *download(trial, field, i))]


def crowd_and_downloads(trial, field):
    """Ten of the heavy class fetch pages, ten of the light one download through tunnels; nobody else is there."""
    return [of_class(0, clients=10, urls=trial.urls(field, 0), deck=True, close=True), *download(trial, field, 2, clients=10)]


def large(trial, field):
    made = pages(trial, field)
    for i in trial.cell.active:
        made.append(of_class(i, clients=2, url=f"http://{server(field, i)}/size/{LARGE}", close=True))
        made += download(trial, field, i, LARGE)
    return made
