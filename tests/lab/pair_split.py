#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""
pair_split.py PORT 4|6 SERVERS - a device on the way that splits TCP: what TPROXY brings to PORT it takes as if it were the server, and asks the server, at its port SERVERS, as if it were the client.  Says "ready";
then lines as streams.py serve, for the timers of both of its ends.
"""
import contextlib
import select
import socket
import sys
import threading

from streams import Excuses

TRANSPARENT = {4: (socket.SOL_IP, 19), 6: (socket.IPPROTO_IPV6, 75)}


def transparent(version):
    s = socket.socket(socket.AF_INET6 if version == 6 else socket.AF_INET)
    s.setsockopt(*TRANSPARENT[version], 1)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    if version == 6:
        s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    return s


def split(version, client, source, servers, excuses):
    port = source[1]
    with client, transparent(version) as server, contextlib.ExitStack() as watched, contextlib.suppress(OSError):
        server.bind(source)
        server.connect((client.getsockname()[0], servers))
        for s in (client, server):
            excuses.add(s, port)
            watched.callback(excuses.drop, s)
        ends = [client, server]
        while ends:
            for a in select.select(ends, [], [])[0]:
                b = server if a is client else client
                data = a.recv(1 << 16)
                if data:
                    b.sendall(data)
                else:
                    ends.remove(a)
                    b.shutdown(socket.SHUT_WR)


def main(port, version, servers):
    excuses = Excuses()
    door = transparent(version)
    door.bind(("", port))
    door.listen(100)
    print("ready", flush=True)
    while True:
        client, source = door.accept()
        threading.Thread(target=split, args=(version, client, source, servers, excuses), daemon=True).start()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
