# SPDX-License-Identifier: BSD-2-Clause
"""A small HTTP/1.1 client that does what a test says and no more: pipelines, stops in the middle, reads slowly, hangs up.

Nothing waits longer than the connection's deadline (seconds for every single operation); then TimeoutError fails the test.
"""

import socket
import struct
import time


class Response:
    """status, reason, headers (lower-case names; a repeated one is joined by ", "), body (bytes), interim (statuses of 1xx before it)."""

    def __init__(self, status, reason, headers):
        self.status, self.reason, self.headers = status, reason, headers
        self.body = b""
        self.interim = []

    def __repr__(self):
        return f"<{self.status} {self.reason}, {len(self.body)} bytes>"


class Cut(Exception):
    """The server closed before the response was complete; .got has the bytes of the body that came."""

    def __init__(self, what, got=b""):
        super().__init__(what)
        self.got = got


def request_bytes(method, target, headers=None, body=b"", host="localhost", version="1.1"):
    fields = {"Host": host}
    if body:
        fields["Content-Length"] = str(len(body))
    fields.update(headers or {})
    head = f"{method} {target} HTTP/{version}\r\n" + "".join(f"{k}: {v}\r\n" for k, v in fields.items() if v is not None)
    return head.encode() + b"\r\n" + body


class Connection:
    """One TCP connection.  Use as a context manager, or close() it."""

    def __init__(self, port, host="127.0.0.1", deadline=20.0, receive_buffer=None, source=None):
        self.socket = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET)
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        if source:
            self.socket.bind((source, 0))
        self.socket.settimeout(deadline)
        self.socket.connect((host, port))
        self.buffer = bytearray()       # grows in place: bytes would be copied with each piece that comes

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def reset(self):
        """Hang up rudely: RST instead of FIN."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()

    def send(self, *args, **kwargs):
        """send("GET", "/x", headers={...}): a whole request; send(b"...") as it stands."""
        data = args[0] if isinstance(args[0], bytes) else request_bytes(*args, **kwargs)
        self.socket.sendall(data)

    def more(self):
        data = self.socket.recv(65536)
        self.buffer += data
        return bool(data)

    def until(self, mark):
        while mark not in self.buffer:
            if not self.more():
                raise Cut(f"closed after {bytes(self.buffer[:200])!r}")
        part = self.buffer[:self.buffer.index(mark)]
        del self.buffer[:len(part) + len(mark)]
        return bytes(part)

    def exactly(self, n):
        while len(self.buffer) < n:
            if not self.more():
                raise Cut(f"closed {n - len(self.buffer)} bytes early", bytes(self.buffer))
        part = self.buffer[:n]
        del self.buffer[:n]
        return bytes(part)

    def head(self):
        """Status line and headers of the next response."""
        lines = self.until(b"\r\n\r\n").decode("latin-1").split("\r\n")
        _, status, *reason = lines[0].split(" ", 2)
        headers = {}
        for line in lines[1:]:
            name, value = line.split(":", 1)
            name = name.lower()
            headers[name] = headers[name] + ", " + value.strip() if name in headers else value.strip()
        return Response(int(status), reason[0] if reason else "", headers)

    def chunks(self):
        body = bytearray()
        while True:
            size = int(self.until(b"\r\n").split(b";")[0], 16)
            if size == 0:
                while self.until(b"\r\n"):
                    pass
                return bytes(body)
            body += self.exactly(size)
            self.exactly(2)

    def receive(self, method="GET"):
        """The next whole response; 1xx ones go into its .interim."""
        interim = []
        while True:
            response = self.head()
            if response.status >= 200:
                break
            interim.append(response.status)
        response.interim = interim
        if method == "HEAD" or response.status in (204, 304):
            return response
        if "chunked" in response.headers.get("transfer-encoding", ""):
            response.body = self.chunks()
        elif "content-length" in response.headers:
            response.body = self.exactly(int(response.headers["content-length"]))
        else:
            while self.more():
                pass
            response.body, self.buffer = bytes(self.buffer), bytearray()
        return response

    def ask(self, method, target, **kwargs):
        self.send(method, target, **kwargs)
        return self.receive(method)


def ask(port, method, target, deadline=20.0, **kwargs):
    """One request on a connection of its own."""
    with Connection(port, deadline=deadline) as connection:
        return connection.ask(method, target, **kwargs)


def get(port, target, **kwargs):
    return ask(port, "GET", target, **kwargs)


def until(condition, seconds=10.0, what="the condition", every=0.01):
    """Ask every so many seconds until condition() is true and return it; fail after `seconds`."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"not within {seconds} s: {what() if callable(what) else what}")
        time.sleep(every)
