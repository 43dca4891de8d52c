# SPDX-License-Identifier: BSD-2-Clause
"""An application for mod_wsgi: a stream of events, a digest of a body, and resumable uploads as tus 1.0 has them (no package of Debian does)."""
import contextlib
import hashlib
import os
import time

EVENTS, EVERY_S = 6, 0.2


def events():
    for i in range(EVENTS):
        time.sleep(EVERY_S)
        yield f"id: {i}\ndata: event {i}\n\n".encode()


def digest(environ):
    said = hashlib.sha256()
    while data := environ["wsgi.input"].read(65536):
        said.update(data)
    return said.hexdigest().encode()


def upload(environ, start):
    path = os.path.join(environ["uploads"], os.path.basename(environ["PATH_INFO"]))
    method, fields = environ["REQUEST_METHOD"], [("Tus-Resumable", "1.0.0"), ("Cache-Control", "no-store")]
    if method == "POST":
        with open(path, "xb"):
            pass
        start("201 Created", [*fields, ("Location", environ["PATH_INFO"])])
        return [b""]
    if not os.path.exists(path):
        start("404 Not Found", fields)
        return [b""]
    if method == "PATCH":
        if int(environ["HTTP_UPLOAD_OFFSET"]) != os.path.getsize(path):
            start("409 Conflict", fields)
            return [b""]
        # What has arrived stays when the client is cut off.
        with open(path, "ab", buffering=0) as f, contextlib.suppress(OSError):
            while data := environ["wsgi.input"].read(16384):
                f.write(data)
        start("204 No Content", [*fields, ("Upload-Offset", str(os.path.getsize(path)))])
        return [b""]
    start("200 OK", [*fields, ("Upload-Offset", str(os.path.getsize(path)))])
    return [b""]


def application(environ, start):
    path = environ["PATH_INFO"]
    if path.startswith("/upload/"):
        return upload(environ, start)
    if path == "/events":
        start("200 OK", [("Content-Type", "text/event-stream"), ("Cache-Control", "no-cache")])
        return events()
    start("200 OK", [("Content-Type", "text/plain")])
    return [digest(environ)]
