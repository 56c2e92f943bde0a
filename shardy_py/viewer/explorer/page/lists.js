// The lists on the left: the verdict, collectives, ends, hits, and what differs from another or a compiled program.
"use strict";

function node(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value !== null && value !== undefined) made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

const soft = (...words) => node("p", { class: "soft" }, ...words);
const MOST_LISTED = 200;

class Lists {
  constructor(app) {
    this.app = app;
    const { data } = app.model, { verdict, other, compiled, findings } = data;
    this.tabs = [
      ...(verdict ? [["Verdict", () => verdictList(app)]] : []),
      ...(other ? [["Differences", () => differenceList(app)]] : []),
      ...(compiled ? [["Compiled", () => compiledList(app)]] : []),
      ["Collectives", () => this.collectives()],
      ...(findings?.length && !other ? [["Findings", () => findings.map((row) => () => findingEntry(app, row))]] : []),
      ["Inputs", () => this.ends("argument")], ["Results", () => this.ends("result")], ["Found", () => this.found()],
    ]; // the last one is shown once there is something to find
    this.tab = 0;
    this.hits = [];
    this.words = "";
    this.at = -1;
  }

  draw() {
    const bar = document.getElementById("tabs"), list = document.getElementById("list"), isFocused = bar.contains(document.activeElement);
    const tabs = this.tabs.slice(0, this.words || this.tab === this.tabs.length - 1 ? undefined : -1).map(([name], n) => node("button", {
      role: "tab", id: `tab-${n}`, "aria-selected": n === this.tab, "aria-controls": "list", tabindex: n === this.tab ? 0 : -1,
      onclick: () => this.open(n), onkeydown: (event) => this.key(event),
    }, name === "Found" && this.words ? `Found ${this.hits.length.toLocaleString("en")}` : name));
    bar.replaceChildren(...tabs);
    list.setAttribute("aria-labelledby", `tab-${this.tab}`);
    if (isFocused) tabs[this.tab].focus();
    const entries = this.tabs[this.tab][1]();
    const more = entries.length - MOST_LISTED;
    list.replaceChildren(...entries.slice(0, MOST_LISTED).map((make) => make()), ...(more > 0 ? [soft(`and ${more.toLocaleString("en")} more`)] : []));
  }

  open(tab) { this.tab = tab; this.draw(); document.getElementById("list").scrollTop = 0; }

  /** The arrow keys, as in the pattern of tabs by the ARIA Authoring Practices. */
  key(event) {
    const last = document.getElementById("tabs").children.length - 1, { tab } = this;
    const to = { ArrowRight: tab === last ? 0 : tab + 1, ArrowLeft: tab ? tab - 1 : last, Home: 0, End: last }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    this.open(to);
    document.getElementById(`tab-${to}`).focus();
  }

  entry(item, title, below, amount = null, last = null, more = "") {
    return node("button", { class: `entry ${item > 0 && item === this.app.selected ? "on" : ""}`, onclick: () => this.app.select(item, true) },
      ...(amount ? [node("span", { class: "amount" }, amount)] : []), node("b", {}, title), node("small", {}, below), last && node("small", {}, last), more ? node("small", { class: "wrap" }, more) : null);
  }

  /** The most expensive collectives first; those of one Python line, or of one type, are one entry. */
  collectives() {
    const { app } = this, { model } = app, state = model.states[app.current];
    const groups = new Map();
    state.collectives.forEach((row, n) => {
      const line = pythonLine(model.text(row[9])), key = [row[0], row[1], row[8], line || row[2]].join();
      if (!groups.has(key)) groups.set(key, { bytes: 0, rows: [], line });
      groups.get(key).bytes += row[3];
      groups.get(key).rows.push(n);
    });
    const sorted = [...groups.values()].sort((a, b) => b.bytes - a.bytes);
    if (!sorted.length) return [() => soft("The program needs no communication.")];
    return sorted.map(({ bytes, rows, line }) => () => {
      const [kind, axes, type, , , , item, , reason, place] = state.collectives[rows[0]];
      const times = rows.length > 1 ? ` \u00d7${rows.length}` : "", where = line ? shortPlace(line) : shortPlace(model.text(place));
      return this.entry(item, `${model.text(kind)}${times}`, `${model.text(axes)} \u00b7 ${where}`, bytesText(bytes), `${model.text(type)} \u00b7 ${model.text(reason)}`, becameText(app, rows));
    });
  }

  ends(kind) {
    const { model } = this.app;
    const items = [...Array(model.count).keys()].filter((i) => model.kind[i] === kind && model.valuesOf[i].length);
    return items.length ? items.map((item) => () => this.value(item)) : [() => soft(kind === "argument" ? "The program has no inputs." : "The program has no results.")];
  }

  value(item) {
    const { app } = this, value = app.model.valuesOf[item][0];
    const type = value === undefined ? app.opsText(item) : app.typeText(value, app.time.now[value]);
    return this.entry(item, app.title(item), `${type}  ${app.model.place(item)}`);
  }

  found() {
    const { hits, words } = this;
    if (!words) return [() => soft("Find names, ops, lines and axes in the field above; /a pattern/ is a regular expression.")];
    if (this.fault) return [() => soft(`${words} is not a regular expression: ${this.fault}`)];
    if (!hits.length) return [() => soft(`Nothing is named \u201c${words}\u201d: no value, op, scope, line or axis.`)];
    const count = `${hits.length.toLocaleString("en")} hit${hits.length === 1 ? "" : "s"} for \u201c${words}\u201d; enter goes to the next.`;
    return [() => soft(count), ...hits.map((item) => () => this.value(item))];
  }

  search(words) {
    const { hits, fault } = searched(this.app, words.trim());
    Object.assign(this, { hits, fault, words: words.trim(), at: -1, tab: this.tabs.length - 1 });
    this.app.say(fault ? `not a regular expression: ${fault}` : `${hits.length} hits`);
    this.draw();
  }

  next(step) {
    const { hits } = this;
    if (!hits.length) return;
    this.at = (this.at + step + hits.length) % hits.length;
    this.app.select(hits[this.at], true);
  }
}

/** Items by words: exact names before names that begin so, before those that have them inside, before places. */
function searched(app, words) {
  const { model } = app, isPattern = words.length > 2 && words.startsWith("/") && words.endsWith("/");
  if (!words) return { hits: [], fault: "" };
  let pattern = null;
  try { pattern = isPattern ? new RegExp(words.slice(1, -1), "i") : null; } catch (error) { return { hits: [], fault: error.message.split(": ").at(-1) }; }
  const wanted = words.toLowerCase();
  const rank = (name) => {
    const given = name.toLowerCase();
    if (pattern) return pattern.test(name) ? 2 : 9;
    return given === wanted ? 0 : given.startsWith(wanted) ? 1 : given.includes(wanted) ? 2 : 9;
  };
  const hasAxis = (item) => !pattern && model.valuesOf[item].some((v) => model.sharding(app.time.now[v])?.[1].some((d) => pairs(d).some(([axis]) => axis.toLowerCase() === wanted)));
  const found = [];
  for (let item = 1; item < model.count; item++) {
    const names = [model.label(item), model.text(model.data.items.op[item]), ...model.valuesOf[item].map((v) => model.name(v))];
    let best = Math.min(...names.map(rank));
    if (best === 9 && rank(model.place(item)) < 9) best = 3;
    if (best === 9 && hasAxis(item)) best = 4;
    if (best < 9) found.push([best, item]);
  }
  return { hits: found.sort(([a, x], [b, y]) => a - b || x - y).map(([, item]) => item), fault: "" };
}

/** The file and line of a Python location, or "". */
const pythonLine = (place) => /^.*?\.py:\d+/.exec(place)?.[0] ?? "";
/** The place without folders and names of ops; of one that is no position all. */
const shortPlace = (place) => (/:\d+/.test(place) ? place.split(" ")[0].replace(/,$/, "").split("/").at(-1) : place);
