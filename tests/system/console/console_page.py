# SPDX-License-Identifier: BSD-2-Clause
"""What tests ask of a console's page in a browser."""
import pathlib

from lab.peers import peer

TABLE = """
const rows = {};
for (const tr of document.querySelectorAll(".host")[arguments[0]].querySelectorAll("section tbody tr")) {
  const th = tr.querySelector("th");
  if (th) rows[th.textContent] = [...tr.querySelectorAll("td")].map((td) => td.textContent);
}
return rows;
"""

# Text that is seen, whose contrast with what is behind it is less than 4.5 (WCAG 2.2, 1.4.3): [what it says, the ratio].
FAINT = """
const light = (c) => { const [r, g, b] = c.map((v) => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; }); return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
const numbers = (text) => text.match(/[\\d.]+/g).map(Number);
const behind = (e) => { for (; e; e = e.parentElement) { const c = numbers(getComputedStyle(e).backgroundColor); if (c.length < 4 || c[3] > 0) return c; } return [255, 255, 255]; };
const found = [], walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
let seen = 0;
while (walk.nextNode()) {
  const e = walk.currentNode.parentElement;
  if (!walk.currentNode.textContent.trim() || !e.getClientRects().length || e.closest("script, style, noscript")) continue;
  seen++;
  const a = light(numbers(getComputedStyle(e).color)), b = light(behind(e)), ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  if (ratio < 4.5) found.push([walk.currentNode.textContent, ratio]);
}
for (const path of document.querySelectorAll("figure path")) {      // 1.4.11: graphics, 3
  const a = light(numbers(getComputedStyle(path).stroke)), b = light(behind(path.closest("figure"))), ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  seen++;
  if (ratio < 3) found.push([path.getAttribute("stroke"), ratio]);
}
return [seen, found];
"""

# What who can't see, or has no mouse, would miss.
FAULTS = """
const faults = [], say = (what, e) => faults.push(`${what}: ${e.outerHTML.slice(0, 120)}`), all = (s) => [...document.querySelectorAll(s)];
if (!document.documentElement.lang) faults.push("no language");
if (!document.title) faults.push("no title");
if (all("h1").length !== 1 || all("main").length !== 1) faults.push("one h1 and one main");
for (const e of all("input")) if (!e.labels.length || !e.labels[0].textContent) say("no label", e);
for (const e of all("table")) if (!e.closest("details:not([open])") && (!e.caption || !e.caption.textContent)) say("no caption", e);
for (const e of all("table th")) if (!e.scope) say("no scope", e);
for (const e of all("svg")) if (e.getAttribute("aria-hidden") !== "true") say("a picture that is read out", e);
for (const e of all("figure")) if (!e.querySelector("figcaption") || !e.querySelector("details table")) say("a figure without caption and table", e);
for (const e of all("button, summary, a")) if (!e.textContent.trim()) say("nothing to say", e);
for (const e of all("[tabindex]")) if (e.tabIndex > 0) say("an order of its own", e);
for (const e of all(".wide")) if (e.tabIndex !== 0 || !e.getAttribute("aria-label")) say("scrolls, and no key gets there", e);
for (const e of all("button, summary, input")) { const r = e.getBoundingClientRect(); if (r.height && r.height < 20) say("too small to hit", e); }
const ids = all("[id]").map((e) => e.id);
for (const id of new Set(ids)) if (ids.filter((i) => i === id).length > 1) faults.push(`twice: ${id}`);
let level = 0;
for (const e of all("h1, h2, h3")) { const l = Number(e.tagName[1]); if (l > level + 1) say("a level is left out", e); level = l; }
return faults;
"""

# What axe-core has found, each as [rule, impact, the first elements], and how many of its rules the page was held to and passed.
AXE = """
const done = arguments[arguments.length - 1];
axe.run(document, {resultTypes: ["violations", "passes"]}).then(
  (r) => done([r.passes.length, r.violations.map((v) => [v.id, v.impact, v.nodes.slice(0, 5).map((n) => n.html.slice(0, 120))])]), (e) => done([0, String(e)]));
"""


def all_open(browser):
    """What is folded away is there, too."""
    browser.script("for (const d of document.querySelectorAll('details')) d.open = true")
    browser.until("return document.querySelectorAll('figure table tr').length > 3", "tables behind the plots")


def axe(browser):
    """What it says of the page as it is."""
    browser.script(pathlib.Path(peer("axe"), "node_modules", "axe-core", "axe.min.js").read_text(encoding="utf-8"))
    return browser.later(AXE)


def address(server, path="/qos-status"):
    return f"http://127.0.0.1:{server.port}{path}?console"


def opened(browser, url, hosts=1):
    """The page, when its hosts' figures are drawn."""
    browser.open(url)
    browser.until(f"return document.querySelectorAll('.host .facts dd').length > 0 && document.querySelectorAll('.host').length >= {hosts}", "figures of each host")


def rows(browser, host=0):
    """{class: [what stands in its row]}"""
    return browser.script(TABLE, host)


def percent(text):
    return float(text.replace("\u202f%", "").replace("–", "nan"))


def text(browser, selector):
    return browser.script("const e = document.querySelector(arguments[0]); return e && e.textContent", selector)
