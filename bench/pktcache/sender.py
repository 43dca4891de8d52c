#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""
sender.py - as much of one stream as goes through.

    sender.py serve PORT FILE       sends the file again and again, in whole segments of 1,448 bytes, until the client goes
    sender.py fetch HOST PORT SECONDS [SKIP]    prints the bits a second that came after SKIP bytes

The sender marks the end of each message (MSG_EOR), so that equal bytes go in equal segments.
"""
import mmap
import socket
import sys
import time

MESSAGE = 44 * 1448


def serve(port, path):
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("", port))
    listener.listen(8)
    with open(path, "rb") as f:
        data = memoryview(mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ))
    print("ready", flush=True)
    while True:
        s, _ = listener.accept()
        try:
            while True:
                for at in range(0, len(data), MESSAGE):
                    part = data[at:at + MESSAGE]
                    n = s.sendmsg([part], [], socket.MSG_EOR)
                    while n < len(part):
                        n += s.sendmsg([part[n:]], [], socket.MSG_EOR)
        except OSError:
            s.close()


def fetch(host, port, seconds, skip):
    buffer = bytearray(1 << 20)
    with socket.create_connection((host, port)) as s:
        while skip > 0:
            skip -= s.recv_into(buffer)
        begun, n = time.monotonic(), 0
        while (now := time.monotonic()) - begun < seconds:
            n += s.recv_into(buffer)
    print(n * 8 / (now - begun))


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(int(sys.argv[2]), sys.argv[3])
    else:
        fetch(sys.argv[2], int(sys.argv[3]), float(sys.argv[4]), int(sys.argv[5]) if len(sys.argv) > 5 else 0)
