# SPDX-License-Identifier: BSD-2-Clause
"""The console in a real browser: what it shows is so, it is quick, and it is for everybody."""
import base64
import contextlib
import hashlib
import http.server
import json
import os
import pathlib
import re
import subprocess
import threading
import time

import pytest

import http1
from console_page import FAINT, FAULTS, address, all_open, axe, opened, percent, rows, text
from lab import lab
from lab.load import Load

STATE, WEIGHT, DUE, SHARE, WAITING = range(5)


@pytest.fixture
def page(browser, busy):
    browser.size(1280, 900)
    browser.dark(False)
    opened(browser, address(busy))
    return browser


def shot(browser, name):
    """A picture of the whole page, among the documents if FAIRGATE_SHOTS names their folder."""
    folder = os.environ.get("FAIRGATE_SHOTS")
    width = browser.script("return innerWidth")
    browser.size(width, browser.height())
    if folder:
        browser.shot(pathlib.Path(folder) / name, whole=False)
        subprocess.run(["convert", pathlib.Path(folder) / name, "+dither", "-colors", "64", "-define", "png:compression-level=9", "-strip", pathlib.Path(folder) / name], check=True)


# ---- what it is made of

def test_loads_within_a_second_and_asks_nobody_else(browser, busy):
    browser.size(1280, 900)
    took = []
    for _ in range(3):
        began = time.monotonic()
        opened(browser, address(busy))
        took.append(time.monotonic() - began)
        assert rows(browser)["people"][WEIGHT] == "6"
    assert min(took) < 1, took
    asked = browser.asked()
    assert asked and all(url.startswith(f"http://127.0.0.1:{busy.port}/qos-status?console") for url in asked), asked
    assert not browser.said()


def test_policy_lets_only_this_style_and_script_run(browser, busy):
    answer = http1.get(busy.port, "/qos-status?console")
    policy = dict(part.strip().split(" ", 1) for part in answer.headers["content-security-policy"].split(";"))
    hashes = {}
    for tag in ("script", "style"):
        inside = re.search(f"<{tag}>(.*?)</{tag}>", answer.body.decode(), re.S).group(1)
        hashes[tag] = "'sha256-" + base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode() + "'"
    assert policy == {"default-src": "'none'", "script-src": hashes["script"], "style-src": hashes["style"], "connect-src": "'self'",
                      "base-uri": "'none'", "form-action": "'none'", "frame-ancestors": "'none'"}
    opened(browser, address(busy))
    assert browser.script("""const s = document.createElement("script"); s.textContent = "document.title = 'run'"; document.body.append(s); return document.title""") == "Fairgate"


def test_updates_each_second(page):
    drawn = page.script("return Number(document.documentElement.dataset.drawn)")
    began = time.monotonic()
    length = "return document.querySelector('figure path').getAttribute('d').length"
    before = page.script(length)
    page.until(f"return Number(document.documentElement.dataset.drawn) >= {drawn + 4}", "four seconds drawn", seconds=8)
    assert 2.5 < time.monotonic() - began < 6
    assert page.script(length) > before     # the lines have grown


def test_history_is_the_hosts(browser, busy):
    """What came before the page was opened is there: a sample a second."""
    http1.until(lambda: len(json.loads(http1.get(busy.port, "/qos-status?console-all").body)["history"]["rows"]) >= 10, what="ten samples", seconds=30)
    told = json.loads(http1.get(busy.port, "/qos-status?console-all").body)["history"]
    numbers, ages = [row[0] for row in told["rows"]], [row[1] for row in told["rows"]]
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers)))
    steps = [a - b for a, b in zip(ages, ages[1:])]
    assert all(0.5 < step < 2.5 for step in steps), steps
    at = told["columns"].index("people/released") + 2
    assert all(row[at] > 0 for row in told["rows"][2:])


# ---- what it shows

def test_shares_are_right_within_a_point(page, busy):
    """Those of ten seconds, against the difference of what the status tells: at the server, which is what classes are charged for here."""
    before = busy.status()["by_class"]
    time.sleep(11)
    after, shown = busy.status()["by_class"], rows(page)
    had = {name: after[name]["slot_s"] - before[name]["slot_s"] for name in ("people", "search", "crawlers")}
    for name, slot_s in had.items():
        assert abs(percent(shown[name][SHARE]) - 100 * slot_s / sum(had.values())) < 1, (shown, had)
        assert abs(percent(shown[name][DUE]) - {"people": 60, "search": 30, "crawlers": 10}[name]) < 0.1
        assert shown[name][STATE] in ("waits", "served")
    assert shown["tiny"][STATE] == "idle"


def test_waits_are_right(page, busy):
    """Quantiles of ten seconds, within a fifth and what they move meanwhile: against what the load's own clients saw."""
    def lately():
        told = json.loads(http1.get(busy.port, "/qos-status?console-all").body)["history"]
        served = [dict(zip(told["columns"], row[2:])) for row in told["rows"] if row[2 + told["columns"].index("crawlers/p50_ms")] is not None]
        return served[-1] if len(served) > 10 else None
    last = http1.until(lately, what="ten seconds of waits", seconds=30)
    mean = busy.status()["by_class"]["crawlers"]["wait_ms_mean"]
    assert 0.6 * mean < last["crawlers/p50_ms"] < 1.5 * mean
    assert last["people/p50_ms"] < last["search/p50_ms"] < last["crawlers/p50_ms"] <= last["crawlers/p95_ms"]


def test_starved_class_shows_red_within_five_seconds(parts, browser, new_gateway):
    with new_gateway(window=1) as g:
        browser.size(1280, 900)
        opened(browser, address(g))
        browser.until("return document.querySelectorAll('tbody tr').length > 5", "classes")
        with g.window_taken() as taken, g.connect() as waits:
            waits.send("GET", "/b/size/10", headers={"User-Agent": "Googlebot"})
            g.until_queued(1)
            began = time.monotonic()
            browser.until("return document.querySelector('tr.starved th')", "a class that is starved", seconds=8)
            assert time.monotonic() - began < 5
            assert text(browser, "tr.starved th") == "search" and rows(browser)["search"][STATE] == "starved"
            red, green, blue = map(int, re.findall(r"\d+", browser.script("return getComputedStyle(document.querySelector('tr.starved th')).color"))[:3])
            assert red > 2 * green and red > 2 * blue
            browser.until("return document.getElementById('said').textContent.includes('Class search is starved.')", "it is said, too", seconds=8)
            browser.dark(False)
            shot(browser, "console-starved.png")
            taken.release()
            assert waits.receive().status == 200
        browser.until("return !document.querySelector('tr.starved')", "it is so no more", seconds=8)
        browser.open("about:blank")


def test_dearest_pages(page, busy, parts):
    """By time at the server; what clients write in a URL is text.  Of a query only names are kept, and of a semicolon's rest nothing."""
    with busy.connect() as c:
        assert c.ask("GET", "/b/takes/2500?size=5&s=secret&secret&8701234=secret&filter[a]=secret").status == 200
        c.ask("GET", "/o/<img/src=x/onerror=document.title='hit'>?secret<2")
        c.ask("GET", "/o/cart;jsessionid=secret/size/5")
    page.until("return [...document.querySelectorAll('td.text')].some((td) => td.textContent.endsWith('/b/takes/2500?size=&s=&*&*&filter[a]='))", "the dear page")
    page.until("return [...document.querySelectorAll('td.text')].some((td) => td.textContent.includes('onerror'))", "the strange one")
    page.until("return [...document.querySelectorAll('td.text')].some((td) => td.textContent.endsWith('/o/cart'))", "the one with a session")
    told = http1.get(busy.port, "/qos-status?console-all").body
    assert b"secret" not in told and b"onerror" in told
    listed = page.script("return [...document.querySelectorAll('td.text')].map((td) => td.textContent)")
    assert any("<img/src=x/onerror=document.title='hit'>" in text for text in listed), listed
    assert page.script("return document.title") == "Fairgate" and not page.script("return document.querySelector('img')")


@contextlib.contextmanager
def loaded(browser, gateway, *classes):
    """The page, while these clients ask: (class, header, clients, milliseconds between requests) each."""
    words = [{"name": name, "header": header, "clients": n, "think": think, "url": "/b/takes/30?size=100"} for name, header, n, think in classes]
    with Load(gateway.address, words, seconds=120):
        browser.size(1280, 900)
        browser.dark(False)
        opened(browser, address(gateway))
        yield
        browser.open("about:blank")


def until_state(browser, name, state):
    return http1.until(lambda: (lambda r: r.get(name) and r[name][STATE] == state and r)(rows(browser)), what=f"{name}: {state}", seconds=30)


PEOPLE, CRAWLERS = ("people", "Cookie: session=1"), ("crawlers", "User-Agent: GPTBot")


def bar(browser, name):
    """The colour of a class's bar, and those that the page has for such bars."""
    return browser.script("""const th = [...document.querySelectorAll("tbody th[scope=row]")].find((e) => e.textContent === arguments[0]);
        const colour = (text) => { const e = document.createElement("i"); e.style.color = text; document.body.append(e); const c = getComputedStyle(e).color; e.remove(); return c; };
        const style = getComputedStyle(document.documentElement);
        return [getComputedStyle(th.parentElement.querySelector(".meter i")).backgroundColor, ...["--bar", "--within", "--more"].map((v) => colour(style.getPropertyValue(v)))];""", name)


def test_class_without_waiting_requests_has_no_due(browser, new_gateway):
    """Nothing waits, so a share below the weight's is no fault: "due 60 %, share 18.6 %" looked like one."""
    with new_gateway(window=8) as g, loaded(browser, g, (*PEOPLE, 1, 200), (*CRAWLERS, 2, 20)):
        shown = until_state(browser, "people", "served")
        assert shown["people"][DUE] == "–" and percent(shown["people"][SHARE]) < 50, shown
        colour, idle, within, more = bar(browser, "crawlers")
        assert colour == idle and len({idle, within, more}) == 3


def test_class_above_its_due_is_not_green(browser, new_gateway):
    """Crawlers that take what people leave are above the tenth that is due to them."""
    with new_gateway(window=1) as g, loaded(browser, g, (*PEOPLE, 1, 300), (*CRAWLERS, 12, 1)):
        shown = http1.until(lambda: (lambda r: r.get("crawlers") and r["crawlers"][DUE] != "–" and r["people"][DUE] != "–" and r)(rows(browser)), what="dues", seconds=30)
        assert percent(shown["crawlers"][SHARE]) > 1.1 * percent(shown["crawlers"][DUE]), shown
        colour, _, within, more = http1.until(lambda: (lambda c: c[0] == c[3] and c)(bar(browser, "crawlers")), what="the colour of more", seconds=5)
        assert colour == more != within
        assert bar(browser, "people")[0] == within


def test_console_of_a_dry_run_shows_its_classes(browser, new_gateway):
    """QosEngine observe, where the docs send new users: the page was idle."""
    with new_gateway(engine="observe", window=1) as g, loaded(browser, g, (*PEOPLE, 4, 1), (*CRAWLERS, 12, 1)):
        shown = until_state(browser, "crawlers", "waits")
        shown = http1.until(lambda: (lambda r: percent(r["people"][SHARE]) > percent(r["crawlers"][SHARE]) > 0 and r)(rows(browser)), what="shares", seconds=30)
        assert percent(shown["people"][DUE]) > 80, shown
        assert "a dry run, which delays no request" in text(browser, ".house")
        told = json.loads(http1.get(g.port, "/qos-status?console-all").body)
        assert {"people", "crawlers"} & {t["class"] for t in told["top"]}, told["top"]
        assert any(name.endswith("/p95_ms") and any(row[2 + i] for row in told["history"]["rows"]) for i, name in enumerate(told["history"]["columns"]))


def test_explain(page, busy):
    """With the keyboard alone."""
    page.script("document.querySelector('input[name=user_agent]').focus()")
    page.type("Googlebot/2.1 \"<b>\"")
    page.key("Tab")
    page.key("Tab")
    page.key("Tab")
    page.key("Enter")
    page.until("return document.querySelector('output').textContent", "an answer")
    assert text(page, "output").startswith('Class search, by user_agent substring "Googlebot".'), text(page, "output")
    page.script("document.querySelector('input[name=src]').value = 'nonsense'; document.querySelector('form').requestSubmit()")
    page.until("return document.querySelector('output').textContent.includes('no IP address')", "what is wrong")
    asked = http1.get(busy.port, "/qos-status?console-explain&url=http%3A%2F%2Flocalhost%2F&cookie=session%3D1")
    assert json.loads(asked.body)["class"] == "people"
    assert json.loads(http1.get(busy.port, "/qos-status?console-explain").body)["class"] == "crawlers"


# ---- for everybody

@pytest.mark.parametrize("dark", (False, True), ids=("light", "dark"))
def test_can_be_read(page, dark):
    page.dark(dark)
    all_open(page)
    ground = [int(n) for n in re.findall(r"\d+", page.script("return getComputedStyle(document.documentElement).backgroundColor"))]
    assert max(ground) < 64 if dark else min(ground) > 200
    seen, faint = page.script(FAINT)
    assert seen > 150 and not faint, faint
    assert page.script(FAULTS) == []


@pytest.mark.parametrize("dark", (False, True), ids=("light", "dark"))
@pytest.mark.parametrize("width", (1280, 375))
def test_axe_finds_no_fault(page, dark, width):
    page.size(width, 900)
    page.dark(dark)
    all_open(page)
    passed, faults = axe(page)
    assert passed > 20 and faults == []
    page.script("document.querySelector('main').append(document.createElement('input'))")
    assert "label" in [rule for rule, *_ in axe(page)[1]]


def test_can_be_heard_and_used_without_a_mouse(page):
    told = page.tree()
    for wanted in (("heading", "Fairgate"), ("main", ""), ("button", "Explain"), ("textbox", "URL"), ("status", "")):
        assert wanted in told, [t for t in told if t[0] == wanted[0]]
    assert any(role == "table" and name.startswith("Due and share") for role, name in told)
    # Only changes are said, and not each second.
    page.script("window.said = 0; new MutationObserver(() => { window.said++; }).observe(document.getElementById('said'), {subtree: true, childList: true, characterData: true})")
    place = """const r = document.activeElement.getBoundingClientRect(), s = getComputedStyle(document.activeElement);
               return [document.activeElement.tagName, r.top + scrollY, s.outlineStyle, document.activeElement.className]"""
    page.script("document.activeElement.blur(); scrollTo(0, 0)")
    way = []
    for _ in range(40):
        page.key("Tab")
        way.append(page.script(place))
        if way[-1][0] == "BODY":
            break
    reached = [w for w in way if w[0] != "BODY" and w[3] != "skip"]
    assert way[0][3] == "skip" and {"DIV", "SUMMARY", "INPUT", "BUTTON"} <= {w[0] for w in reached}, way
    assert all(w[2] == "solid" for w in reached), way
    parts = [w[1] for w in reached if w[0] in ("DIV", "INPUT")]
    assert parts == sorted(parts), way
    time.sleep(3)
    assert page.script("return window.said") == 0


def test_a_phones_width(page):
    page.size(375, 800)
    page.dark(True)
    page.until("return innerWidth === 375", "the width")
    page.script("for (const d of document.querySelectorAll('details')) d.open = true")
    time.sleep(1.2)
    assert page.script("return document.documentElement.scrollWidth") <= 375
    beyond = page.script("""return [...document.querySelectorAll("main *")].filter((e) => !e.closest(".wide, svg") && e.getBoundingClientRect().right > 376).map((e) => e.outerHTML.slice(0, 90))""")
    assert not beyond, beyond


# ---- hosts

EVIL = "<img src=x onerror=\"document.title='hit'\">"


class Strange(http.server.BaseHTTPRequestHandler):
    """Another console, which tells what it likes."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        classes = [{"name": EVIL, "weight": 1, "queued": 1, "outstanding": 1, "retired": False}]
        rows = [[n, 5 - n, 1, 1, 1, 0, 0, 0] + [1] * 4 for n in range(1, 5)]
        columns = ["window", "queued", "outstanding", "parked", "released", "refused", *(f"{EVIL}/{word}" for word in ("queued", "bytes", "released", "outstanding"))]
        told = {"house": EVIL, "charge": "bytes", "explains": True, "classes_in_all": 99, "now": {"state": EVIL, "why": EVIL, "classes": classes, EVIL: EVIL},
                "history": {"every_s": 1, "columns": columns, "rows": rows}, "top": [{"class": EVIL, "url": EVIL, "requests": 1, "bytes": 1, "slot_s": 1}],
                "host": EVIL, "others": [EVIL, "javascript:document.title='hit'"]}
        body = json.dumps(told).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Access-Control-Allow-Origin", "*")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def strange():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Strange)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/status"
    finally:
        server.shutdown()
        server.server_close()


def told_with(**other):
    """What a console tells, with something else in it."""
    told = {"house": "mod_qos_drr", "charge": "bytes", "classes_in_all": 1, "now": {"state": "on", "classes": [{"name": "people", "weight": 1, "queued": 1, "outstanding": 1}]},
            "history": {"every_s": 1, "columns": ["window", "people/queued"], "rows": [[n, 5 - n, 1, 1] for n in range(1, 5)]}, "host": "one", "others": []}
    return {**told, **other}


MANY = [f"c{n}" for n in range(20000)]
NO_TEXT = {"toString": 1, "valueOf": 1}
# {what a host answers: the body, or None for one without end}
GARBAGE = {
    "nothing": b"", "null": b"null", "list": b"[]", "half": b'{"now":{', "no-now": json.dumps({"history": {"columns": [], "rows": []}}).encode(),
    "words": json.dumps(told_with(now="x", history="y", top="z", others="w")).encode(),
    "odd": json.dumps(told_with(now={"classes": {"a": 1}, "counters": 3, "window": NO_TEXT}, top=[None, 1, {"url": NO_TEXT}])).encode(),
    "no-text": json.dumps(told_with(house=NO_TEXT, host=NO_TEXT, now={"state": NO_TEXT, "classes": [None, {"name": NO_TEXT, "weight": NO_TEXT}]})).encode(),
    "rows": json.dumps(told_with(history={"columns": ["window", None, 3], "rows": [None, [1], ["x", "y"], [2, 1e308, "1"], [3, -1e308, None]]})).encode(),
    "many": json.dumps(told_with(history={"columns": [f"{c}/queued" for c in MANY], "rows": [[n, 5 - n] + [1] * len(MANY) for n in range(1, 5)]},
                                 now={"state": "on", "classes": [{"name": c, "weight": 1, "queued": 1} for c in MANY]}, top=[{"url": "u" * 8192, "class": c} for c in MANY[:2000]])).encode(),
    "endless": None,
}


class Garbage(http.server.BaseHTTPRequestHandler):
    """A host that answers what is none: /NAME of GARBAGE; /elsewhere leads to another address; /page is a page of its own."""

    def do_GET(self):
        name = self.path[1:].split("?")[0]
        self.server.asked.append(self.path)
        self.send_response(302 if name == "elsewhere" else 200)
        if name == "elsewhere":
            self.send_header("Location", "/led")
        self.send_header("Content-Type", "text/html" if name == "page" else "application/json")
        self.send_header("Access-Control-Allow-Origin", "*")
        self.end_headers()
        body = GARBAGE.get(name, b"<title>other</title>")
        with contextlib.suppress(OSError):
            if body is not None:
                self.wfile.write(body)
            sent = 0
            while body is None and sent < 10**9:
                sent += self.wfile.write(b" " * 10**6)
            if body is None:
                self.server.endless.append(sent)

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def garbage():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Garbage)
    server.daemon_threads = True
    server.asked, server.endless = [], []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


def beside(words):
    return f"<Location /qos-status>\n{words}\n</Location>\n"


def test_several_hosts_and_what_a_strange_one_says_is_text(browser, new_gateway):
    browser.size(1280, 900)
    browser.dark(False)
    with strange() as other:
        second = new_gateway(window=2)
        port = lab.free_port()
        second.more_text += beside(f'SetEnv fairgate-console-from "http://127.0.0.1:{port}"')
        second.config = second.whole_config()
        closed = new_gateway(window=2)      # lets nobody's page read
        first = new_gateway(window=2)
        first.port = port
        asks = [f"http://127.0.0.1:{g.port}/qos-status" for g in (second, closed)]
        first.more_text += beside(f'SetEnv fairgate-consoles "{" ".join([*asks, other])}"')
        first.config = first.whole_config()
        with first, second, closed:
            opened(browser, address(first), hosts=4)
            browser.until("return document.querySelectorAll('.host')[1].querySelectorAll('tbody tr').length > 5", "the second host's classes")
            browser.until("return document.querySelectorAll('.host')[3].querySelectorAll('tbody tr').length > 0", "the strange one's class")
            browser.until("return !document.querySelectorAll('.host .trouble')[2].hidden", "the one that lets nobody read is silent", seconds=8)
            assert "No answer" in browser.script("return document.querySelectorAll('.host .trouble')[2].textContent")
            browser.script("for (const d of document.querySelectorAll('details')) d.open = true")
            time.sleep(1.2)
            shown = browser.script("return document.querySelectorAll('.host')[3].textContent")
            assert shown.count(EVIL) >= 6
            assert browser.script("return [document.title, document.querySelectorAll('img').length, document.querySelectorAll('.host').length]") == ["Fairgate", 0, 4]
            left = browser.script("return [...document.querySelectorAll('.host')].map((e) => e.getBoundingClientRect().left)")
            assert left[0] < left[1]        # side by side
            second.stop()
            browser.until("return document.querySelectorAll('.host .trouble')[1].textContent.startsWith('No answer for')", "one that has gone is silent", seconds=10)
            second.start()
            browser.until("return document.querySelectorAll('.host .trouble')[1].hidden", "it answers again", seconds=15)
            browser.open("about:blank")     # so that its connections keep nobody from ending


def test_a_host_that_answers_garbage_harms_no_other(browser, new_gateway):
    """Each shows what is wrong with it, or what can be shown of it; the page goes on, and stays small."""
    browser.size(1280, 900)
    with garbage() as server:
        site = f"http://127.0.0.1:{server.server_address[1]}"
        g, last = new_gateway(window=2), new_gateway(window=2)
        g.port = lab.free_port()
        last.more_text += beside(f'SetEnv fairgate-console-from "http://127.0.0.1:{g.port}"')
        last.config = last.whole_config()
        names = [*GARBAGE, "elsewhere"]
        g.more_text += beside('SetEnv fairgate-consoles "' + " ".join([*(f"{site}/{name}" for name in names), f"http://127.0.0.1:{last.port}/qos-status"]) + '"')
        g.config = g.whole_config()
        with g, last:
            browser.open(address(g))
            browser.until(f"return document.querySelectorAll('.host').length === {len(names) + 2}", "all of them")
            drawn = browser.script("return Number(document.documentElement.dataset.drawn)")
            browser.until(f"return Number(document.documentElement.dataset.drawn) >= {drawn + 6}", "it goes on each second", seconds=12)
            browser.until("return [...document.querySelectorAll('.host')].at(-1).querySelectorAll('.facts dd').length > 0", "the last one's figures", seconds=8)
            browser.until("return document.querySelectorAll('.host .trouble:not([hidden])').length >= 4", "those that tell nothing", seconds=8)
            assert browser.script("return document.querySelectorAll('*').length") < 20000
            assert not any(path.startswith("/led") for path in server.asked)
            browser.open("about:blank")
        assert not server.endless           # nobody read a gigabyte


TURNED = "people\u202e\u0007\u200b\u2066"


def test_letters_that_are_not_seen_are_shown(page):
    """A name that would turn around what stands beside it, and letters that are none."""
    told = json.dumps(told_with(house=TURNED, top=[{"url": f"/{TURNED}", "class": TURNED}]))
    page.script("hosts[0].second = async () => {}; hosts[0].take(understood(JSON.parse(arguments[0]))); hosts[0].view.update(performance.now())", told)
    shown = "people[U+202E][U+0007][U+200B][U+2066]"
    assert text(page, ".house").startswith(shown) and text(page, "td.text") == f"/{shown}"
    assert not re.search("[\u202e\u0007\u200b\u2066]", text(page, "main"))


def test_pages_of_other_sites_get_no_figures(browser, busy):
    """In a browser on this machine: neither read, nor is work done for them."""
    with garbage() as server:
        browser.open(f"http://127.0.0.1:{server.server_address[1]}/page")
        asks = """const done = arguments[1]; fetch(arguments[0], {mode: arguments[2] || "cors"}).then((a) => done(a.type + a.status), (e) => done("refused"));"""
        where = f"http://127.0.0.1:{busy.port}/qos-status?console-all"
        assert browser.later(asks, where) == "refused"
        assert browser.later(asks.replace('arguments[2] || "cors"', '"no-cors"'), where) == "refused"
    for site, status in (("same-origin", 200), ("none", 200), ("cross-site", 403), ("same-site", 403)):
        for word in ("console-now", "console-all", "console-explain&url=/", "json", "prometheus", "prometheus="):
            answer = http1.get(busy.port, f"/qos-status?{word}", headers={"Sec-Fetch-Site": site})
            assert answer.status == status and (status == 200 or b"people" not in answer.body), (site, word)
            assert answer.headers.get("cross-origin-resource-policy") == "same-origin" or status == 403
    assert http1.get(busy.port, "/qos-status?console", headers={"Sec-Fetch-Site": "cross-site"}).status == 200      # a link to it


def test_names_that_may_ask(new_gateway):
    """As the manual has it: a site whose name was made to lead here is kept out."""
    manual = pathlib.Path(lab.ROOT, "docs", "console.md").read_text(encoding="utf-8")
    require = re.search(r"^ +<RequireAll>.*?</RequireAll>$", manual, re.M | re.S).group(0)
    g = new_gateway(window=2)
    g.more_text += "LoadModule authz_host_module /usr/lib/apache2/modules/mod_authz_host.so\n" + beside(require)
    g.config = g.whole_config()
    with g:
        for host, status in (("localhost", 200), (f"127.0.0.1:{g.port}", 200), ("evil.example", 403), ("localhost.evil.example:80", 403)):
            assert http1.get(g.port, "/qos-status?console-now", headers={"Host": host}).status == status, host


def test_pictures(page):
    """Last, so that there is something to see."""
    shot(page, "console.png")
    page.dark(True)
    page.size(375, 800)
    page.until("return innerWidth === 375", "the width")
    time.sleep(1.2)
    shot(page, "console-phone.png")
    page.size(1280, 900)
    page.dark(False)
