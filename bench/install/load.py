# SPDX-License-Identifier: BSD-2-Clause
"""load.py FILE - asks http://127.0.0.1/ 200 times a second, each time on a new connection, until FILE is there; prints what was answered and what was not, and why."""
import collections
import http.client
import json
import os
import sys
import threading
import time

THREADS, EVERY = 8, 0.04
answered, why = [0] * THREADS, collections.Counter()


def asks(n):
    due = time.monotonic()
    while not os.path.exists(sys.argv[1]):
        try:
            c = http.client.HTTPConnection("127.0.0.1", 80, timeout=20)
            c.request("GET", "/")
            r = c.getresponse()
            r.read()
            if r.status != 200:
                raise OSError(f"status {r.status}")
            answered[n] += 1
        except (OSError, http.client.HTTPException) as e:
            why[f"{type(e).__name__}: {e}"[:80]] += 1
        finally:
            c.close()
        due = max(due + EVERY, time.monotonic() - 1)
        time.sleep(max(0, due - time.monotonic()))


if __name__ == "__main__":
    threads = [threading.Thread(target=asks, args=(n,)) for n in range(THREADS)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    print(json.dumps({"answered": sum(answered), "lost": sum(why.values()), "why": dict(why)}))
