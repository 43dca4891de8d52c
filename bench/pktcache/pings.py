#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""
pings.py - a small message to a server and one back, again and again, on two connections by turns.

    pings.py serve PORT ...                     answers on each of them
    pings.py ask HOST PORT OTHER PINGS          prints, of each turn of PINGS messages on either, how many microseconds the middle one took: on PORT, on OTHER
"""
import socket
import statistics
import sys
import threading
import time

TURNS, BYTES = 40, 64


def connected(s):
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return s


def answer(s):
    while data := s.recv(BYTES):
        s.sendall(data)
    s.close()


def listen(port):
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("", port))
    listener.listen(8)

    def accept():
        while True:
            threading.Thread(target=answer, args=(connected(listener.accept()[0]),), daemon=True).start()
    return threading.Thread(target=accept)


def middle(s, pings):
    took = []
    for _ in range(pings):
        before = time.perf_counter_ns()
        s.sendall(b"x" * BYTES)
        got = 0
        while got < BYTES:
            got += len(s.recv(BYTES))
        took.append(time.perf_counter_ns() - before)
    return statistics.median(took) / 1000


def ask(host, ports, pings):
    ways = [connected(socket.create_connection((host, p), timeout=60)) for p in ports]
    for turn in range(TURNS):
        order = (0, 1) if turn % 2 else (1, 0)      # what wakes up late, wakes up late on both
        took = {i: middle(ways[i], pings) for i in order}
        print(f"{took[0]:.1f} {took[1]:.1f}", flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        listening = [listen(int(p)) for p in sys.argv[2:]]
        for t in listening:
            t.start()
        print("ready", flush=True)
    else:
        ask(sys.argv[2], [int(p) for p in sys.argv[3:5]], int(sys.argv[5]))
