#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""An external ACL that answers when a test says so.

    oracle = Oracle(proxy)
    Proxy(..., config=oracle.config + "fqrs_access slow allow asks oracle\\n")

A request whose X-Ask field is KEY hangs until oracle.answer(KEY, True); `asks` is true of requests that have one.  The two talk by files: the
program, which Squid starts, makes KEY.asked, and waits for KEY.
"""

import os
import pathlib
import select
import shutil
import sys

CONFIG = """\
external_acl_type oracle ttl=0 negative_ttl=0 grace=0 children-startup=1 children-max=1 concurrency=100000 %{{X-Ask}}>ha {program} {directory}
acl oracle external oracle
acl asks req_header X-Ask .
"""


class Oracle:
    def __init__(self, lab, name="oracle"):
        self.directory = pathlib.Path(lab.dir, name)
        self.directory.mkdir()
        self.directory.chmod(0o777)
        # A copy: Squid starts it as its own user, to whom a checkout in somebody's home is closed.
        program = shutil.copy(__file__, f"{lab.dir}/{name}.py")
        os.chmod(program, 0o644)
        self.config = CONFIG.format(program=f"/usr/bin/python3 -B {program}", directory=self.directory)

    def asked(self, key):
        return (self.directory / f"{key}.asked").exists()

    def until_asked(self, *keys, seconds=10):
        import http1
        for key in keys:
            http1.until(lambda key=key: self.asked(key), seconds, f"the ACL asked about {key}")

    def answer(self, key, yes):
        part = self.directory / f"{key}.part"
        part.write_text("OK" if yes else "ERR")
        part.rename(self.directory / key)


def main(directory):
    waiting, rest = {}, b""
    while True:
        if select.select([0], [], [], 0.01)[0]:
            data = os.read(0, 65536)
            if not data:
                return
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                channel, key = line.decode().split()[:2]
                waiting.setdefault(key, []).append(channel)
                pathlib.Path(directory, f"{key}.asked").touch()
        for key in list(waiting):
            told = pathlib.Path(directory, key)
            if told.exists():
                text = told.read_text()
                os.write(1, "".join(f"{channel} {text}\n" for channel in waiting.pop(key)).encode())


if __name__ == "__main__":
    main(sys.argv[1])
