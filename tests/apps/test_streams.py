# SPDX-License-Identifier: BSD-2-Clause
"""WebSockets, event streams, bodies and resumable uploads: an application in mod_wsgi and a WebSocket server behind mod_proxy_wstunnel."""
import asyncio
import contextlib
import hashlib
import http.client
import os
import random
import socket
import subprocess
import time

import pytest
import websockets

import http1
import wsgi_app
from lab.lab import Server
from modes import MODES, Runs

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("streams")]
HERE = os.path.dirname(os.path.abspath(__file__))
UPLOAD, CUT = 4 << 20, 2 << 20


class Echo(Server):
    name = "websocket"

    def argv(self):
        return ["/usr/bin/python3", "-B", os.path.join(HERE, "websocket_echo.py"), str(self.port)]


async def chat(gateway):
    """Text, a big binary message and a ping, each answered before the next; the codes of the end."""
    saw = []
    async with websockets.connect(f"ws://{gateway.address}/ws/", subprotocols=["chat"], max_size=1 << 22) as c:
        saw.append(c.subprotocol)
        for message in [f"message {i}" for i in range(20)] + [random.Random(1).randbytes(1 << 20)]:
            await c.send(message)
            saw.append(await c.recv() == message)
        await (await c.ping())
    return saw + [c.close_code]


@pytest.fixture(scope="module")
def wsgi(lab):
    """The configuration of the application in mod_wsgi."""
    root = os.path.join(lab.dir, "wsgi")
    os.makedirs(f"{root}/uploads")
    with open(os.path.join(HERE, "wsgi_app.py"), encoding="utf-8") as f, open(f"{root}/app.wsgi", "w", encoding="utf-8") as to:
        to.write(f.read())
    subprocess.run(["chown", "-R", "www-data:www-data", root], check=True)
    return f"""
        WSGISocketPrefix {root}/socket
        WSGIChunkedRequest On
        WSGIDaemonProcess app processes=1 threads=8
        WSGIScriptAlias /app {root}/app.wsgi process-group=app application-group=%{{GLOBAL}}
        SetEnv uploads {root}/uploads
        <Directory {root}>
            Require all granted
        </Directory>
        """


def ask(gateway, method, path, body=None, **fields):
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", gateway.port, timeout=60)) as c:
        c.request(method, path, body, {name.replace("_", "-"): value for name, value in fields.items()})
        answer = c.getresponse()
        return answer.status, answer.read(), dict(answer.getheaders())


@pytest.fixture(scope="module")
def streams(lab, wsgi):
    echo = Echo(lab).start()

    def client(gateway, _):
        saw = [asyncio.run(asyncio.wait_for(chat(gateway), 60))]
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", gateway.port, timeout=60)) as c:
            c.request("GET", "/app/events")
            answer, lines, times = c.getresponse(), [], []
            while line := answer.readline():
                lines.append(line)
                times.append(time.monotonic())
        # An event arrives when it is sent, not at the end of the stream.
        saw.append((answer.status, answer.getheader("Content-Type"), lines, times[-1] - times[0] > wsgi_app.EVERY_S * (wsgi_app.EVENTS - 1) / 2))
        for size in (0, 1000, UPLOAD):
            data = random.Random(size).randbytes(size)
            status, body, _ = ask(gateway, "POST", "/app/digest", data)
            chunked, body2, _ = ask(gateway, "POST", "/app/digest", iter([data[:size // 2], data[size // 2:]]))
            expected = hashlib.sha256(data).hexdigest().encode()
            saw.append((status, body == expected, chunked, body2 == expected))
        return saw

    return Runs(lab, {"config": f"{wsgi}ProxyPass /ws/ ws://{echo.address}/\n", "modules": ("proxy_wstunnel", "wsgi")}, client)


@pytest.fixture(scope="module")
def uploads(lab, wsgi):
    root = os.path.join(lab.dir, "wsgi", "uploads")

    def client(gateway, own):
        """An upload of which the connection is cut in the middle, and which goes on from where the server is."""
        url, data = f"/app/upload/{own}", random.Random(own).randbytes(UPLOAD)
        saw = [ask(gateway, "POST", url, Upload_Length=str(UPLOAD))[0]]
        with socket.create_connection(("127.0.0.1", gateway.port)) as s:
            s.sendall(http1.request_bytes("PATCH", url, {"Content-Length": str(UPLOAD), "Upload-Offset": "0", "Content-Type": "application/offset+octet-stream"}) + data[:CUT])
            with contextlib.suppress(AssertionError):
                http1.until(lambda: os.path.getsize(f"{root}/{own}") >= CUT // 2, 5, "the server has half of it")
        size = [-1]

        def settled():
            size[:] = [size[-1], os.path.getsize(f"{root}/{own}")]
            return size[0] == size[1]
        http1.until(settled, 10, "the server ends the PATCH", every=0.3)
        status, _, fields = ask(gateway, "HEAD", url)
        offset = int(fields["Upload-Offset"])
        saw.append((status, "has more than half of what was sent", offset > CUT // 2))
        saw.append(ask(gateway, "PATCH", url, data[:10], Upload_Offset=str(offset + 1))[0])
        status, _, fields = ask(gateway, "PATCH", url, data[offset:], Upload_Offset=str(offset))
        saw.append((status, fields["Upload-Offset"]))
        with open(f"{root}/{own}", "rb") as f:
            saw.append(f.read() == data)
        return saw

    return Runs(lab, {"config": wsgi, "modules": ("wsgi",)}, client)


def test_streams_work_without_the_module(streams):
    chatted, streamed, *bodies = streams.usual
    assert chatted == ["chat", *[True] * 21, 1000]
    assert streamed[0] == 200 and streamed[3] and len(streamed[2]) == 3 * wsgi_app.EVENTS
    assert bodies == [(200, True, 200, True)] * 3


def test_cut_upload_is_resumed_without_the_module(uploads):
    assert uploads.usual == [201, (200, "has more than half of what was sent", True), 409, (204, str(UPLOAD)), True]


@pytest.mark.parametrize("mode", MODES)
def test_websocket_events_and_bodies_in_each_mode_are_as_without_the_module(streams, mode):
    streams.check(mode)


@pytest.mark.parametrize("mode", MODES)
def test_cut_upload_is_resumed_in_each_mode_as_without_the_module(uploads, mode):
    uploads.check(mode)
