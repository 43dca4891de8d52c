# SPDX-License-Identifier: BSD-2-Clause
"""What a DNS query asks, for the tests' name servers."""

import struct

A, AAAA = 1, 28


def question(data):
    """(name, in lower case; type; the bytes of the question, as the answer repeats them) of this query."""
    at, labels = 12, []
    while data[at]:
        labels.append(data[at + 1:at + 1 + data[at]].decode().lower())
        at += data[at] + 1
    return ".".join(labels), struct.unpack(">H", data[at + 1:at + 3])[0], data[12:at + 5]
