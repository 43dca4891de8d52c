# SPDX-License-Identifier: BSD-2-Clause
"""
chromium.py - Debian's Chromium, driven by its own chromedriver: the few words of WebDriver that tests of pages need.

    with Lab("console") as lab, Chromium(lab) as c:
        c.size(375, 800)
        c.open(url)
        c.until("return document.title", "loaded")
        c.script("return document.querySelector('h1').textContent")
        c.shot("docs/console.png")
        c.said()                    # what the page had to complain of
        c.asked()                   # whom it asked: URLs

No page of it can reach anybody but this machine: names do not resolve.
"""
import base64
import contextlib
import http.client
import json
import shutil
import time

from .lab import LabError, Server, wait_for
from .page_load import PageLoad

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
SWITCHES = ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking", "--disable-component-update",
            "--disable-extensions", "--hide-scrollbars", "--force-color-profile=srgb", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
            "--disable-features=Translate,MediaRouter,OptimizationHints", "--force-device-scale-factor=1")


def there():
    return bool(shutil.which("chromedriver") and shutil.which("chromium"))


class Chromium(Server):
    name = "chromedriver"

    def __init__(self, lab):
        super().__init__(lab)
        self.session, self.profiles = None, 0

    def argv(self):
        return ["chromedriver", f"--port={self.port}", "--silent"]

    def environment(self):
        return {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "HOME": self.dir, "LANG": "C.UTF-8"}

    def __enter__(self):
        self.start()
        self.session = self.begin("profile")
        return self

    def begin(self, profile):
        wanted = {"browserName": "chrome", "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
                  "goog:chromeOptions": {"args": [*SWITCHES, f"--user-data-dir={self.path(profile)}"]}}
        return self.ask("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})["sessionId"]

    def __exit__(self, *_):
        if self.session:
            self.ask("DELETE", f"/session/{self.session}")
        self.stop()

    @contextlib.contextmanager
    def profile(self):
        """Another Chromium with an empty profile: no cookies, no cache.  All words are for it until the end of the block."""
        before, self.profiles = self.session, self.profiles + 1
        self.session = self.begin(f"profile-{self.profiles}")
        try:
            yield self
        finally:
            self.ask("DELETE", f"/session/{self.session}")
            self.session = before

    # ---- the wire

    def ask(self, method, path, body=None):
        c = http.client.HTTPConnection(self.host, self.port, timeout=60)
        try:
            c.request(method, path, None if body is None else json.dumps(body), {"Content-Type": "application/json"})
            answer = json.loads(c.getresponse().read())["value"]
        finally:
            c.close()
        assert not (isinstance(answer, dict) and "error" in answer and "stacktrace" in answer), answer
        return answer

    def say(self, method, what, body=None):
        return self.ask(method, f"/session/{self.session}/{what}", body)

    def devtools(self, command, **words):
        return self.say("POST", "goog/cdp/execute", {"cmd": command, "params": words})

    # ---- words

    def open(self, url):
        self.said()
        self.asked()
        self.say("POST", "url", {"url": url})

    def script(self, text, *words):
        return self.say("POST", "execute/sync", {"script": text, "args": list(words)})

    def later(self, text, *words):
        """What a script tells the function that is its last argument."""
        return self.say("POST", "execute/async", {"script": text, "args": list(words)})

    def until(self, text, what, seconds=10):
        """The first true value of a script."""
        return wait_for(lambda: self.script(text), seconds, what)

    def size(self, width, height):
        self.devtools("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def dark(self, dark):
        self.devtools("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def key(self, name):
        """A key pressed and let go: "Tab", "Enter", " "."""
        code = {"Tab": 9, "Enter": 13, " ": 32}[name]
        text = {"Enter": "\r", " ": " "}.get(name)
        for kind in ("keyDown", "keyUp"):
            self.devtools("Input.dispatchKeyEvent", type=kind, key=name, code="Space" if name == " " else name, windowsVirtualKeyCode=code, **({"text": text} if text and kind == "keyDown" else {}))

    def type(self, text):
        self.devtools("Input.insertText", text=text)

    def shot(self, path, whole=True):
        words = {"captureBeyondViewport": True} if whole else {}
        with open(path, "wb") as out:
            out.write(base64.b64decode(self.devtools("Page.captureScreenshot", format="png", **words)["data"]))

    def height(self):
        return self.script("return document.documentElement.scrollHeight")

    def tree(self):
        """What a screen reader is told: (role, name) of each node that counts."""
        nodes = self.devtools("Accessibility.getFullAXTree")["nodes"]
        return [(n["role"]["value"], n.get("name", {}).get("value", "")) for n in nodes if not n.get("ignored")]

    def said(self):
        return [(e["level"], e["message"]) for e in self.say("POST", "se/log", {"type": "browser"})]

    def asked(self):
        """URLs of requests since it was asked last."""
        events = [json.loads(e["message"])["message"] for e in self.say("POST", "se/log", {"type": "performance"})]
        return [e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"]


STATE = """const page = performance.getEntriesByType('navigation')[0];
return page && page.responseStatus == 200 && page.loadEventEnd > 0 && {
    html: page.responseEnd / 1000, began: performance.timeOrigin / 1000, load: page.loadEventEnd / 1000,
    assets: performance.getEntriesByType('resource').filter(e => e.name.includes('asset=')).map(e => e.responseStatus)}"""


def page_load(browser, url, source, assets, patience):
    """The PageLoad of `url` with an empty profile, from the address `source` to a gateway that believes X-From.  A refused page is loaded again as its Refresh says."""
    p = PageLoad(url)
    with browser.profile():
        browser.devtools("Network.setExtraHTTPHeaders", headers={"X-From": source})
        begun = time.time()
        browser.open(url)
        with contextlib.suppress(LabError):
            state = browser.until(STATE, f"the load event of {url}", patience)
            before = max(0.0, state["began"] - begun)       # those that were refused
            p.html_s, p.load_s = before + state["html"], before + state["load"]
            p.failed = assets - state["assets"].count(200)
    return p
