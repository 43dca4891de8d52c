# SPDX-License-Identifier: BSD-2-Clause
"""
browser.py - somebody at a website: keeps cookies, sends forms and files, follows no redirect by itself.

    b = Browser(server.port)
    page = b.get("/login")                      .status, .headers (as they came), .body (bytes), .text
    b.post("/login", {**fields(page.text, "password"), "name": "me"})
    b.post("/upload", fields(page.text, "upload"), file=("photo.png", data))
"""
import contextlib
import html
import http.client
import re
import urllib.parse

BOUNDARY = "----------a-part-of-a-form"


class Page:
    def __init__(self, answer):
        self.status, self.headers, self.body = answer.status, answer.getheaders(), answer.read()

    @property
    def text(self):
        return self.body.decode("utf-8", "replace")

    def cookies(self):
        """Name and value of those that it sets."""
        return dict(re.match(r"([^=;]+)=([^;]*)", value).groups() for name, value in self.headers if name.lower() == "set-cookie")

    def location(self):
        return dict((name.lower(), value) for name, value in self.headers).get("location", "")


class Browser:
    def __init__(self, port, host="127.0.0.1", headers=None, source=None):
        self.port, self.host, self.headers, self.source, self.jar = port, host, headers or {}, source, {}

    def cookie(self):
        return "; ".join(f"{name}={value}" for name, value in self.jar.items())

    def ask(self, method, path, body=None, kind=None):
        headers = {**self.headers, **({"Cookie": self.cookie()} if self.jar else {}), **({"Content-Type": kind} if kind else {})}
        with contextlib.closing(http.client.HTTPConnection(self.host, self.port, timeout=120, source_address=self.source and (self.source, 0))) as c:
            c.request(method, path, body, headers)
            page = Page(c.getresponse())
        for name, value in page.cookies().items():
            if value in ("", "deleted"):
                self.jar.pop(name, None)
            else:
                self.jar[name] = value
        return page

    def get(self, path):
        return self.ask("GET", path)

    def post(self, path, form, file=None, field="file"):
        """file: (its name, bytes), under the name `field`."""
        if not file:
            return self.ask("POST", path, urllib.parse.urlencode(form).encode(), "application/x-www-form-urlencoded")
        parts = [f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'.encode() for name, value in form.items()]
        parts.append(f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="{field}"; filename="{file[0]}"\r\nContent-Type: application/octet-stream\r\n\r\n'.encode())
        return self.ask("POST", path, b"".join([*parts, file[1], f"\r\n--{BOUNDARY}--\r\n".encode()]), f"multipart/form-data; boundary={BOUNDARY}")


def fields(text, of=""):
    """{name: value} of the hidden fields of the last form of a page that has the words `of` in it."""
    found = {}
    for form in re.findall(r"<form\b.*?</form>", text, re.S):
        if of not in form:
            continue
        found = {}
        for tag in re.findall(r"<input\b[^>]*>", form):
            words = {name: html.unescape(a or b) for name, a, b in re.findall(r"""([\w-]+)=(?:"([^"]*)"|'([^']*)')""", tag)}
            if words.get("type") == "hidden" and "name" in words:
                found[words["name"]] = words.get("value", "")
    return found
