// SPDX-License-Identifier: BSD-2-Clause
// The console: asks its host, and those that its host names, once a second, and draws.  What comes from outside (names
// of classes, URLs, hosts) becomes text by textContent alone; nothing here makes markup of a string.
"use strict";

const KEPT = 600;               // seconds that are shown
const LATELY = 10;              // of these a share is
const STARVES = 3;              // seconds for which a class waits and gets less than half of its due: then it is said
const SILENT_MS = 4000;         // a host that does not answer for so long is said to be silent
const DASHES = ["", "7 3", "2 2.5", "9 3 2 3"];
const MOST_BYTES = 16e6;        // of an answer; and of what is in it: columns, classes, letters of a name
const MOST_COLUMNS = 160, MOST_CLASSES = 64, MOST_TOP = 20, MOST_LETTERS = 300;
const SVG = "http://www.w3.org/2000/svg";

// ---- numbers and elements -----------------------------------------------------------------------------------------

const number = (n) => Number.isFinite(n) ? n : 0;
const digits = (n) => n >= 100 || Number.isInteger(n) ? 0 : n >= 10 ? 1 : 2;

function short(n, unit = "") {
  if (!Number.isFinite(n)) return "–";
  const steps = ["", "k", "M", "G", "T"];
  let step = 0;
  while (Math.abs(n) >= 10000 && step < 4) { n /= 1000; step++; }
  return n.toFixed(digits(Math.abs(n))) + (step || unit ? "\u202f" : "") + steps[step] + unit;
}

function span(ms) {
  if (!Number.isFinite(ms)) return "–";
  return ms < 1000 ? `${ms.toFixed(ms < 9.95 ? 1 : 0)}\u202fms` : `${(ms / 1000).toFixed(ms < 99500 ? 1 : 0)}\u202fs`;
}

const percent = (part) => Number.isFinite(part) ? `${(100 * part).toFixed(1)}\u202f%` : "–";

// Letters that would not be seen, or turn around those beside them, by their numbers.
const visible = (text) => text.replace(/[\p{Cc}\p{Cf}\p{Co}\p{Cs}\p{Zl}\p{Zp}]/gu, (c) => `[U+${c.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}]`);

function make(tag, props = {}, ...inside) {
  const e = document.createElement(tag);
  for (const [key, value] of Object.entries(props)) {
    if (key === "class") e.className = value;
    else e.setAttribute(key, value);
  }
  for (const i of inside) e.append(typeof i === "string" ? visible(i) : i);     // a string becomes a text node
  return e;
}

function says(e, said) {
  const text = visible(String(said ?? ""));
  if (e.textContent !== text) e.textContent = text;
}

function draw(tag, props) {
  const e = document.createElementNS(SVG, tag);
  for (const [key, value] of Object.entries(props)) e.setAttribute(key, value);
  return e;
}

// ---- what is told to who cannot see: changes alone, and not more often than they can be listened to -----------------

const announced = { waiting: [], last: 0 };

function announce(text) {
  announced.waiting.push(text);
}

function announceNow(now) {
  if (!announced.waiting.length || now - announced.last < 5000) return;
  says(document.getElementById("said"), announced.waiting.splice(0).join(" "));
  announced.last = now;
}

// ---- a host's answers ---------------------------------------------------------------------------------------------

async function read(answer) {
  const reader = answer.body.getReader(), decoder = new TextDecoder();
  let text = "", bytes = 0;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return JSON.parse(text + decoder.decode());
    bytes += value.length;
    if (bytes > MOST_BYTES) {
      reader.cancel();
      throw new Error("it answers too much");
    }
    text += decoder.decode(value, { stream: true });
  }
}

// A word or a number of an answer, whatever it is: of more there is nothing on the page.
const wordOf = (x) => typeof x === "string" ? x.slice(0, MOST_LETTERS) : typeof x === "number" || typeof x === "boolean" ? x : "";
const figureOf = (x) => typeof x === "number" ? x : NaN;
const listOf = (x, most) => Array.isArray(x) ? x.slice(0, most) : [];
const objectOf = (x) => x && typeof x === "object" && !Array.isArray(x) ? x : {};
const wordsOf = (x) => Object.fromEntries(Object.entries(objectOf(x)).slice(0, 1000).filter(([, value]) => typeof value !== "object").map(([key, value]) => [wordOf(key), wordOf(value)]));

// What a host tells, with nothing in it but what it may tell, and no more: a host beside this one may be anybody's.
function understood(told) {
  const now = objectOf(told.now), history = objectOf(told.history), columns = listOf(history.columns, MOST_COLUMNS).map((name) => String(wordOf(name)));
  const classes = listOf(now.classes, MOST_CLASSES).map((c) => ({ ...wordsOf(c), name: String(wordOf(objectOf(c).name)) }));
  const rows = listOf(history.rows, KEPT).filter((row) => Array.isArray(row) && Number.isFinite(row[0]) && Number.isFinite(row[1]));
  return {
    ...wordsOf(told), others: listOf(told.others, MOST_TOP).filter((at) => typeof at === "string"),
    now: { ...wordsOf(now), ...(now.classes ? { classes } : {}), ...(now.counters ? { counters: wordsOf(now.counters) } : {}) },
    history: { columns, rows: rows.map((row) => [row[0], row[1], ...columns.map((_, i) => figureOf(row[i + 2]))]) },
    top: listOf(told.top, MOST_TOP).map((t) => wordsOf(t)),
  };
}

// Squid's manager tells figures (fqrs_json) and keeps no samples: these are made here, of what came between two answers.
class Manager {
  constructor() {
    this.rows = 0;
  }

  told(now) {
    const at = performance.now(), gauges = {}, counters = {};
    const classes = (now.classes || []).filter((c) => !c.retired).slice(0, 16);
    for (const name of ["window", "queued", "outstanding", "parked", "rate"]) gauges[name] = number(now[name]);
    Object.assign(counters, { released: now.released, refused: now.refused + now.timed_out, bytes: now.bytes });
    for (const c of classes) {
      for (const name of ["queued", "outstanding"]) gauges[`${c.name}/${name}`] = c[name];
      for (const name of ["bytes", "released", "refused"]) counters[`${c.name}/${name}`] = c[name];
    }
    const before = this.counters, seconds = (at - this.at) / 1000;
    const flat = { ...gauges };
    for (const [name, value] of Object.entries(counters)) flat[name] = before && value >= before[name] ? (value - before[name]) / seconds : 0;
    this.waits = Object.fromEntries(classes.map((c) => [c.name, { sum: c.wait_ms_mean * c.released, n: c.released, ...this.mean(c) }]));
    for (const c of classes) flat[`${c.name}/mean_ms`] = this.waits[c.name].mean;
    Object.assign(this, { counters, at });
    return { house: "squid-fqrs", charge: "bytes", explains: false, classes_in_all: (now.classes || []).length, others: [], now,
      history: { columns: Object.keys(flat), rows: [[++this.rows, 0, ...Object.values(flat)]] } };
  }

  mean(c) {
    const before = this.waits && this.waits[c.name], n = before ? c.released - before.n : 0;
    return { mean: n > 0 ? (c.wait_ms_mean * c.released - before.sum) / n : NaN };
  }
}

class Host {
  constructor(base, own) {
    this.base = base;
    this.own = own;
    this.rows = [];             // { number, at (ms of our clock), value: { column: number } }
    this.columns = "";
    this.data = null;
    this.heard = performance.now();
    this.asking = false;
    this.starved = new Set();
    this.manager = base.endsWith("fqrs_json") ? new Manager() : null;
    this.view = new View(this);
  }

  async ask(what) {
    const answer = await fetch(this.manager ? this.base : `${this.base}?console-${what}`, {
      cache: "no-store", credentials: this.own ? "same-origin" : "omit", referrerPolicy: "no-referrer",
      redirect: this.own ? "follow" : "error", signal: AbortSignal.timeout(SILENT_MS),
    });
    if (!answer.ok) throw new Error(`it answers ${answer.status}`);
    const told = objectOf(await read(answer));
    return what.startsWith("explain") ? wordsOf(told) : understood(this.manager ? this.manager.told(told) : told);
  }

  take(data) {
    const now = performance.now(), columns = data.history.columns;
    this.data = data;
    const last = this.rows.length ? this.rows[this.rows.length - 1].number : 0;
    const came = data.history.rows.map((row) => ({ number: row[0], at: now - 1000 * row[1], row }));
    const gap = !last || columns.join() !== this.columns || (came.length && (came[0].number > last + 1 || came[came.length - 1].number < last));
    if (came.length && gap) {
      this.rows = [];
      this.columns = columns.join();
    }
    const known = this.rows.length ? this.rows[this.rows.length - 1].number : 0;
    for (const { number, at, row } of came) {
      if (number <= known) continue;
      const value = {};
      columns.forEach((name, i) => { value[name] = row[i + 2]; });
      this.rows.push({ number, at, value });
    }
    if (this.rows.length > KEPT) this.rows.splice(0, this.rows.length - KEPT);
    return gap && came.length > 0;
  }

  async second() {
    if (this.asking) return;
    this.asking = true;
    try {
      if (!this.rows.length) {
        this.take(await this.ask("all"));
      } else if (this.take(await this.ask("now")) && !this.manager) {
        this.take(await this.ask("all"));
      }
      this.heard = performance.now();
      this.why = "";
    } catch (e) {
      this.why = e.message || String(e);
    }
    this.asking = false;
  }

  silent() {
    return performance.now() - this.heard > SILENT_MS;
  }

  late(seconds) {
    return this.rows.slice(-seconds);
  }
}

// ---- shares of classes --------------------------------------------------------------------------------------------

const sum = (rows, column) => rows.reduce((all, r) => all + number(r.value[column]), 0);

// What classes are charged, where the host says it: bytes, or time at the server, or the larger part of the two.
function costs(rows, names, charge) {
  const of = (word) => names.map((name) => sum(rows, `${name}/${word}`));
  const parts = (list) => { const all = list.reduce((a, b) => a + b, 0); return list.map((n) => all ? n / all : 0); };
  const bytes = of("bytes"), time = of("slot_s");
  if (charge === "time") return parts(time);
  if (charge === "both") return parts(parts(bytes).map((part, i) => Math.max(part, parts(time)[i])));
  return bytes.some((n) => n) ? parts(bytes) : parts(of("released"));
}

function classesOf(host) {
  const now = host.data.now, rows = host.late(LATELY);
  const known = (now.classes || []).filter((c) => rows.length && `${c.name}/queued` in rows[rows.length - 1].value);
  const names = known.map((c) => c.name);
  const shares = costs(rows, names, host.data.charge);
  // Without a request that waits each class has what it asks for: there is no due to compare that with.
  const contended = rows.some((r) => names.some((name) => r.value[`${name}/queued`] > 0));
  const active = known.map((c, i) => shares[i] > 0 || rows.some((r) => r.value[`${c.name}/queued`] > 0 || r.value[`${c.name}/outstanding`] > 0));
  const weights = known.reduce((all, c, i) => all + (active[i] ? c.weight : 0), 0);
  const few = host.late(STARVES + 1);
  const few_shares = costs(few, names, host.data.charge);
  return known.map((c, i) => {
    const last = rows[rows.length - 1].value, due = contended && active[i] && weights ? c.weight / weights : NaN;
    return {
      name: c.name, weight: c.weight, due, share: active[i] ? shares[i] : NaN, active: active[i],
      more: shares[i] > 1.1 * due, within: shares[i] <= 1.1 * due,
      queued: c.queued, outstanding: c.outstanding, refused: sum(few, `${c.name}/refused`) / (few.length || 1),
      p50: last[`${c.name}/p50_ms`], p95: last[`${c.name}/p95_ms`],
      starved: few.length > STARVES && few.every((r) => r.value[`${c.name}/queued`] > 0) && few_shares[i] < due / 2,
    };
  });
}

// ---- plots --------------------------------------------------------------------------------------------------------

function niceTop(most) {
  if (!(most > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(most));
  return [1, 2, 5, 10].map((n) => n * power).find((n) => n >= most);
}

// Lines over the last ten minutes, or what there is of them, with a table of each minute behind them.
class Plot {
  constructor(title, write, top) {
    this.write = write;         // a number as text
    this.top = top;             // of the axis; undefined: by what there is
    this.most = make("span");
    this.since = make("span");
    this.svg = draw("svg", { viewBox: "0 0 600 100", preserveAspectRatio: "none", "aria-hidden": "true" });
    this.legend = make("ul", { class: "legend" });
    this.table = make("table");
    this.details = make("details", {}, make("summary", {}, "As a table"), make("div", { class: "wide", tabindex: "0", role: "group", "aria-label": `${title}, as a table` }, this.table));
    this.title = title;
    this.details.addEventListener("toggle", () => this.tabulate());
    this.element = make("figure", {}, make("figcaption", {}, title), make("div", { class: "most" }, this.most),
      make("div", { class: "frame" }, this.svg), make("div", { class: "ends" }, this.since, make("span", {}, "now")),
      this.legend, this.details);
    this.names = "";
    this.lines = [];
  }

  series(names) {
    if (names.join("\n") === this.names) return;
    this.names = names.join("\n");
    this.svg.replaceChildren();
    this.legend.replaceChildren();
    this.lines = names.map((name, i) => {
      const look = { stroke: `var(--s${i % 8})`, "stroke-dasharray": DASHES[Math.floor(i / 2) % 4] };
      const line = draw("path", look), key = draw("svg", { viewBox: "0 0 26 10", "aria-hidden": "true" });
      key.append(draw("path", { ...look, d: "M0 5H26" }));
      this.svg.append(line);
      const last = make("span");
      this.legend.append(make("li", {}, key, `${name} `, last));
      return { line, last };
    });
  }

  // rows: those of the host; series: [[name, (row, place) => number]]
  update(rows, series, now) {
    this.series(series.map(([name]) => name));
    const values = series.map(([, of]) => rows.map(of));
    const most = values.reduce((all, list) => list.reduce((m, v) => v > m ? v : m, all), 0);
    const top = this.top || niceTop(most), seconds = rows.length ? (now - rows[0].at) / 1000 : 0;
    const minutes = [1, 2, 5, 10].find((n) => 60 * n >= seconds) || 10;      // what there is fills the picture
    says(this.most, this.write(top));
    says(this.since, minutes === 1 ? "a minute ago" : `${minutes} minutes ago`);
    values.forEach((list, i) => {
      let d = "", pen = false, before = 0;
      list.forEach((v, k) => {
        const x = 600 - 600 * (now - rows[k].at) / 60000 / minutes;
        if (!Number.isFinite(v) || x < 0) { pen = false; return; }
        if (rows[k].at - before > 3500) pen = false;    // nobody counted
        before = rows[k].at;
        d += `${pen ? "L" : "M"}${x.toFixed(1)} ${(100 - 98 * Math.min(v / top, 1) - 1).toFixed(1)}`;
        pen = true;
      });
      this.lines[i].line.setAttribute("d", d);
      says(this.lines[i].last, this.write(list.length ? list[list.length - 1] : NaN));
    });
    this.shown = { rows, values, names: series.map(([name]) => name), now };
    if (this.details.open && now - number(this.tabulated) > 10000) this.tabulate();
  }

  // Means of each minute.  Not every second: who reads it would lose the place.
  tabulate() {
    if (!this.details.open || !this.shown) return;
    const { rows, values, names, now } = this.shown, head = make("tr", {}, make("th", { scope: "col" }, "Minutes ago"));
    this.tabulated = now;
    for (const name of names) head.append(make("th", { scope: "col" }, name));
    const body = make("tbody");
    for (let minute = 0; minute < 10; minute++) {
      const within = rows.map((r, k) => k).filter((k) => Math.floor((now - rows[k].at) / 60000) === minute);
      if (!within.length) continue;
      const line = make("tr", {}, make("th", { scope: "row" }, `${minute} to ${minute + 1}`));
      for (const list of values) {
        const of = within.map((k) => list[k]).filter(Number.isFinite);
        line.append(make("td", {}, of.length ? this.write(of.reduce((a, b) => a + b, 0) / of.length) : "–"));
      }
      body.append(line);
    }
    this.table.replaceChildren(make("caption", {}, `${this.title}: means of each minute`), make("thead", {}, head), body);
  }
}

const column = (name, times = 1) => (row) => times * row.value[name];
const perSecond = (n) => short(n, "/s");
const mbits = (n) => short(n, "bit/s");
const plain = (n) => short(n);

// Of hosts that share by classes: the names are the classes', so the series are made anew for each look.
const CLASS_PLOTS = [
  { title: "Share of the last ten seconds", write: (n) => percent(n), top: 1, of: (host, names) => {
    const running = host.rows.map((r, k) => costs(host.rows.slice(Math.max(0, k + 1 - LATELY), k + 1), names, host.data.charge));
    return names.map((name, i) => [name, (row, k) => running[k][i]]);
  } },
  { title: "Wait, 95 of 100 are shorter", write: span, of: (host, names) => names.map((name) => [name, column(`${name}/p95_ms`)]) },
  { title: "Waiting", write: plain, of: (host, names) => names.map((name) => [name, column(`${name}/queued`)]) },
  { title: "Refused", write: perSecond, of: (host, names) => names.map((name) => [name, column(`${name}/refused`)]) },
  { title: "Slots", write: plain, of: () => [["window", column("window")], ["at the server", column("outstanding")], ["stalled", column("parked")]] },
];

const OTHER_PLOTS = {
  mod_eeod: [
    { title: "Responses", write: perSecond, of: () => [["in blocks", column("responses")], ["files", column("files")], ["without marks", column("unmarked")]] },
    { title: "Boundaries of segments", write: perSecond, of: () => [["made", column("boundaries")], ["missed", column("missed")], ["segments more", column("extra_segments")]] },
    { title: "Left alone", write: perSecond, of: () => [["TLS", column("aside_tls")], ["HTTP/2", column("aside_http2")], ["compressed", column("aside_encoded")], ["other", column("aside_other")]] },
  ],
  pktcache: [
    { title: "Carried and saved", write: mbits, of: () => [["saved", column("saved", 8)], ["carried", (r) => 8 * (r.value.native_bytes + r.value.datagram_bytes_out)]] },
    { title: "Recoveries", write: perSecond, of: () => [["wanted", column("wanted")], ["recovered", column("recovered")], ["dropped", column("dropped")], ["sent again", column("again")]] },
    { title: "Segments that may be kept", write: perSecond, of: () => [["all", column("kept")], ["known", column("hits")], ["new", column("stored")]] },
    { title: "Connections", write: plain, of: () => [["followed", column("flows")]] },
  ],
  mod_ccn: [
    { title: "Interests", write: perSecond, of: () => [["came", column("interests")], ["pages made", column("pages")], ["segments sent", column("segments")]] },
  ],
  "squid-fqrs": [
    { title: "Wait, mean", write: span, of: (host, names) => names.map((name) => [name, column(`${name}/mean_ms`)]) },
    { title: "Link", write: mbits, of: () => [["rate", column("rate", 8)], ["received", column("bytes", 8)]] },
  ],
};

// ---- what a host is like now, in a few words ------------------------------------------------------------------------

function ratio(rows, part, all) {
  const whole = all.reduce((n, name) => n + sum(rows, name), 0);
  return whole ? percent(sum(rows, part) / whole) : "–";
}

function facts(host) {
  const now = host.data.now, rows = host.rows, last = rows.length ? rows[rows.length - 1].value : {};
  const minute = host.late(60), few = host.late(5);
  const rate = (name) => perSecond(sum(few, name) / (few.length || 1));
  const list = [];
  if (now.counters) {           // a packet cache
    const saved = sum(minute, "saved"), carried = sum(minute, "native_bytes") + sum(minute, "datagram_bytes_out");
    list.push(["At work", now.at_work ? "yes" : "no"]);
    if (now.role === "parent") list.push(["Saved, last minute", saved + carried ? percent(saved / (saved + carried)) : "–"]);
    list.push(["Known, last minute", ratio(minute, "hits", ["kept"])], ["Recovered, last minute", short(sum(minute, "recovered"))],
      ["Connections", short(now.flows)], ["Cache", `${short(now.store_kept / 1e6)} of ${short(now.store_bytes / 1e6)}\u202fMB`]);
    return list;
  }
  if (!now.classes) {
    list.push(["Responses", rate("responses")], ["Boundaries", rate("boundaries")],
      ["Missed, last minute", ratio(minute, "missed", ["boundaries", "missed"])]);
    return list;
  }
  if (!rows.length) return list;
  list.push([now.state === "observe" ? "Would be at the server" : "At the server", now.window ? `${now.outstanding} of ${now.window}` : short(now.outstanding)], ["Waiting", short(now.queued)],
    ["Let through", rate("released")], ["Refused", rate("refused")], ["Stalled", short(now.parked)]);
  if ("link_learnt" in now) {
    list.push(["Link", mbits(8 * now.rate)]);
    if ("link_queue_s" in now) list.push(["Queue at its far end", span(1000 * now.link_queue_s)]);
  }
  const sizes = ["size_page", "size_pattern", "size_directory", "size_class"];
  if (sizes[0] in last) list.push(["Sizes known, last minute", ratio(minute, "size_page", sizes)]);
  if ("time_known" in last && sum(minute, "time_known") + sum(minute, "time_unknown")) list.push(["Costs known, last minute", ratio(minute, "time_known", ["time_known", "time_unknown"])]);
  return list;
}

// ---- a host on the page -------------------------------------------------------------------------------------------

let forms = 0;

class View {
  constructor(host) {
    this.host = host;
    this.title = make("h2", {}, host.own ? location.host : host.base);
    this.house = make("p", { class: "house" });
    this.trouble = make("p", { class: "trouble", hidden: "" });
    this.facts = make("dl", { class: "facts" });
    this.classes = make("tbody");
    this.left_out = make("p", { class: "house", hidden: "" });
    const head = ["Class", "State", "Weight", "Due", "Share", "Waiting", "At server", "Wait p50", "p95", "Refused"];
    const spare = new Set(["Weight", "Refused", "At server", "Wait p50"]);
    this.classes_part = make("section", { hidden: "" }, make("h3", {}, "Classes"), make("div", { class: "wide", tabindex: "0", role: "group", "aria-label": "Classes" },
      make("table", {}, make("caption", {}, `Due and share: of the last ${LATELY} seconds, among active classes; there is a due while requests wait`),
        make("thead", {}, make("tr", {}, ...head.map((text) => make("th", { scope: "col", ...(spare.has(text) ? { class: "spare" } : {}) }, text)))), this.classes)), this.left_out);
    this.plots = make("div", { class: "plots" });
    this.top = make("tbody");
    this.top_part = make("section", { hidden: "" }, make("h3", {}, "Dearest pages"), make("div", { class: "wide", tabindex: "0", role: "group", "aria-label": "Dearest pages" },
      make("table", {}, make("caption", {}, "By time at the server, of the last ten minutes or so; of a query the names of parameters, without values"),
        make("thead", {}, make("tr", {}, ...["Page", "Class", "Requests", "Bytes", "Time"].map((text) => make("th", { scope: "col" }, text)))), this.top)));
    this.explain_part = this.explains();
    this.all = make("tbody");
    this.all_part = make("details", {}, make("summary", {}, "All figures"), make("div", { class: "wide", tabindex: "0", role: "group", "aria-label": "All figures" },
      make("table", {}, make("caption", {}, "Since the host started"), make("thead", {}, make("tr", {}, make("th", { scope: "col" }, "Figure"), make("th", { scope: "col" }, "Value"))), this.all)));
    this.all_part.addEventListener("toggle", () => this.showAll());
    this.element = make("section", { class: "host" }, this.title, this.house, this.trouble, this.facts, this.classes_part, this.plots, this.top_part, this.explain_part, this.all_part);
    this.element.setAttribute("aria-label", this.title.textContent);
    this.drawn = new Map();
    this.lines = new Map();
  }

  explains() {
    const id = `explain${forms++}`, out = make("output", { for: `${id}-url`, "aria-live": "polite" });
    const field = (name, text, hint) => make("div", {}, make("label", { for: `${id}-${name}` }, text),
      make("input", { id: `${id}-${name}`, name, autocomplete: "off", spellcheck: "false", placeholder: hint }));
    const form = make("form", { "aria-label": "Which class does a request get?" }, field("url", "URL", "http://www.example.org/"),
      field("user_agent", "User-Agent", ""), field("src", "Client's address", "192.0.2.1"), field("cookie", "Cookie", ""),
      make("button", { type: "submit" }, "Explain"));
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      const asked = new URLSearchParams([...new FormData(form)].filter(([, value]) => value));
      try {
        const said = await this.host.ask(`explain&${asked}`);
        says(out, said.error || (said.exempt ? "It is exempt, and passes." : `Class ${said.class}, by ${said.rule || "default: no rule matches"}.`) + (said.note ? ` ${said.note}` : ""));
      } catch (e) {
        says(out, `No answer: ${e.message}`);
      }
    });
    return make("section", { hidden: "" }, make("h3", {}, "Which class does a request get?"), form, out);
  }

  update(now) {
    const host = this.host, data = host.data, silent = host.silent();
    this.element.classList.toggle("silent", silent);
    this.trouble.hidden = !silent;
    if (silent) says(this.trouble, `No answer for ${Math.round((now - host.heard) / 1000)} s${host.why ? `: ${host.why}` : ""}`);
    if (silent !== Boolean(this.was_silent)) announce(`${this.title.textContent} ${silent ? "does not answer." : "answers again."}`);
    this.was_silent = silent;
    if (!data) return;
    const state = data.now.why && !data.now.at_work ? `${data.now.state || "not at work"}: ${data.now.why}` : data.now.state === "observe" ? "observe: a dry run, which delays no request" : data.now.state || data.now.role || "";
    says(this.title, host.own ? data.host || location.host : `${data.host || ""} ${host.base}`);
    says(this.house, [data.house, state, data.now.scheduler && `scheduler ${data.now.scheduler}`, data.now.gate && `gate ${data.now.gate}`].filter(Boolean).join(", "));
    this.showFacts(facts(host));
    const classes = data.now.classes && host.rows.length ? classesOf(host) : [];
    this.showClasses(classes);
    this.showPlots(classes.map((c) => c.name), now);
    this.showTop(data.top);
    this.explain_part.hidden = !data.explains;
    if (this.all_part.open && now - number(this.all_shown) > 5000) this.showAll();
  }

  showFacts(list) {
    while (this.facts.children.length > list.length) this.facts.lastChild.remove();
    list.forEach(([name, value], i) => {
      const at = this.facts.children[i] || this.facts.appendChild(make("div", {}, make("dt"), make("dd")));
      says(at.firstChild, name);
      says(at.lastChild, value);
    });
  }

  classLine(name) {
    const cell = (kind = "") => make("td", kind ? { class: kind } : {});
    const l = { weight: cell("spare"), due: cell(), share: make("span"), bar: make("i"), mark: make("b"), queued: cell(), outstanding: cell("spare"),
      p50: cell("spare"), p95: cell(), refused: cell("spare"), state: cell() };
    l.meter = make("span", { class: "meter", "aria-hidden": "true" }, l.bar, l.mark);
    l.row = make("tr", {}, make("th", { scope: "row" }, name), l.state, l.weight, l.due, make("td", { class: "share" }, l.share, l.meter), l.queued, l.outstanding, l.p50, l.p95, l.refused);
    return l;
  }

  showClasses(classes) {
    this.classes_part.hidden = !classes.length;
    const gone = new Set(this.lines.keys());
    classes.forEach((c, i) => {
      if (!this.lines.has(c.name)) this.lines.set(c.name, this.classLine(c.name));
      gone.delete(c.name);
      const l = this.lines.get(c.name);
      if (this.classes.children[i] !== l.row) this.classes.insertBefore(l.row, this.classes.children[i] || null);
      says(l.weight, String(c.weight));
      says(l.due, percent(c.due));
      says(l.share, percent(c.share));
      l.bar.style.width = `${100 * number(c.share)}%`;
      l.mark.hidden = !Number.isFinite(c.due);
      l.meter.hidden = !Number.isFinite(c.share);
      l.mark.style.left = `calc(${100 * number(c.due)}% - 1px)`;
      says(l.queued, short(c.queued));
      says(l.outstanding, short(c.outstanding));
      says(l.p50, span(c.p50));
      says(l.p95, span(c.p95));
      says(l.refused, perSecond(c.refused));
      says(l.state, c.starved ? "starved" : c.queued ? "waits" : c.active ? "served" : "idle");
      for (const name of ["starved", "more", "within"]) l.row.classList.toggle(name, c[name]);
      if (c.starved !== this.host.starved.has(c.name)) {
        announce(`Class ${c.name} ${c.starved ? "is starved." : "is starved no more."}`);
        this.host.starved[c.starved ? "add" : "delete"](c.name);
      }
    });
    for (const name of gone) {
      this.lines.get(name).row.remove();
      this.lines.delete(name);
      this.host.starved.delete(name);
    }
    const more = number(this.host.data.classes_in_all) - classes.length;
    this.left_out.hidden = more <= 0;
    if (more > 0) says(this.left_out, `${more} classes more: the console shows the first of the policy`);
  }

  showPlots(names, now) {
    const host = this.host, wanted = [...(names.length ? CLASS_PLOTS : []), ...(OTHER_PLOTS[host.data.house] || [])];
    for (const p of wanted) {
      if (host.manager && p.title.startsWith("Wait, 95")) continue;
      const series = p.of(host, names);
      if (!this.drawn.has(p.title)) {
        if (!host.rows.length) continue;
        const plot = new Plot(p.title, p.write, p.top);
        this.drawn.set(p.title, plot);
        this.plots.append(plot.element);
      }
      this.drawn.get(p.title).update(host.rows, series, now);
    }
  }

  showTop(top) {
    this.top_part.hidden = !top || !top.length;
    const list = top || [];
    while (this.top.children.length > list.length) this.top.lastChild.remove();
    list.forEach((t, i) => {
      const row = this.top.children[i] || this.top.appendChild(make("tr", {}, make("td", { class: "text" }), ...Array.from({ length: 4 }, () => make("td"))));
      [t.url, t.class, short(t.requests), short(t.bytes), span(1000 * t.slot_s)].forEach((text, k) => says(row.children[k], text));
    });
  }

  showAll() {
    if (!this.all_part.open || !this.host.data) return;
    this.all_shown = performance.now();
    const now = this.host.data.now, list = [];
    for (const [key, value] of Object.entries({ ...now, ...(now.counters || {}) })) if (typeof value !== "object" || value === null) list.push([key, value]);
    this.all.replaceChildren(...list.map(([key, value]) => make("tr", {}, make("th", { scope: "row" }, key.replaceAll("_", " ")),
      make("td", { class: "text" }, typeof value === "number" ? value.toLocaleString("en") : String(value)))));
  }
}

// ---- all of them --------------------------------------------------------------------------------------------------

const hosts = [new Host(location.pathname, true)];

function tellHosts() {
  const own = hosts[0].data;
  for (const base of own ? own.others : []) {
    if (hosts.some((h) => h.base === base)) continue;
    const h = new Host(base, false);
    hosts.push(h);
    document.getElementById("hosts").append(h.view.element);
    h.second();
  }
}

function show() {
  const now = performance.now(), silent = hosts.filter((h) => h.silent()).length, starved = hosts.reduce((n, h) => n + h.starved.size, 0);
  tellHosts();
  for (const h of hosts) {
    try {
      h.view.update(now);
    } catch (e) {               // its own fault, and none of the others'
      h.view.trouble.hidden = false;
      says(h.view.trouble, `What it tells can't be shown: ${e.message}`);
    }
  }
  says(document.getElementById("line"), [`${hosts.length} ${hosts.length === 1 ? "host" : "hosts"}`, starved ? `${starved} starved` : "",
    silent ? `${silent} silent` : "", new Date().toLocaleTimeString()].filter(Boolean).join(", "));
  document.documentElement.dataset.drawn = String(number(Number(document.documentElement.dataset.drawn)) + 1);
  announceNow(now);
}

async function second() {
  if (document.hidden) return;
  await Promise.race([Promise.all(hosts.map((h) => h.second())), new Promise((over) => { setTimeout(over, 900); })]);
  show();
}

document.getElementById("hosts").append(hosts[0].view.element);
second();
setInterval(second, 1000);
document.addEventListener("visibilitychange", second);
