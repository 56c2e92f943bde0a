// The page: the state of what is shown, and what keys, mouse and controls do to it.
"use strict";

const SMALLEST = 0.8, LARGEST = 1.25; // scales of what is shown without zooming

class App {
  constructor(data) {
    this.model = new Model(data);
    this.time = new Timeline(this.model);
    this.layout = new Layout(this.model);
    Object.assign(this, { selected: 0, way: [], current: 0, filter: "all", axis: "", camera: { x: 0, y: 0, scale: 1 }, cause: -1, change: -1, marks: {}, wayMarks: new Set() });
    this.mostBytes = Math.max(1, ...this.model.states.flatMap((state) => [...state.sends.values()].map((rows) => Math.max(...rows.map((n) => state.collectives[n][3])))));
    this.lists = new Lists(this);
    this.panel = new Panel(this);
    this.strip = new Strip(this);
    this.views = [];
  }

  start() {
    document.getElementById("title").textContent = this.model.data.title;
    this.controls();
    this.show(0);
    this.fit();
    if (this.model.data.verdict?.causes.length) this.showCause(0, false);
    this.lists.draw();
    this.panel.draw();
    this.followLink();
    addEventListener("hashchange", () => this.followLink());
    addEventListener("resize", () => (this.isFitted ? this.fit() : this.draw()));
    performance.mark("interactive");
  }

  /** The states side by side: 0 the program, 1 the other, 2 both. */
  show(which) {
    const states = which === 2 ? [0, 1] : [which];
    this.current = states[0];
    this.views = states.map((state) => new View(this, state, this.model.states.length > 1 ? this.model.states[state].name : ""));
    document.getElementById("views").replaceChildren(...this.views.map((view) => view.figure));
    for (const view of this.views) listen(this, view.figure, view.root);
  }

  /** isMoved: only the camera has moved since the last time. */
  draw(isMoved = false) {
    this.isMoved = isMoved && (this.isMoved ?? true);
    if (this.isWaiting) return;
    this.isWaiting = true;
    requestAnimationFrame(() => {
      const { isMoved } = this;
      Object.assign(this, { isWaiting: false, isMoved: undefined });
      for (const view of this.views) view.draw(isMoved);
      this.strip.draw();
    });
  }

  pan(dx, dy) { this.camera.x += dx; this.camera.y += dy; this.isFitted = false; this.draw(true); }

  // ---- words

  title(item) {
    const { model } = this, count = model.children[item].length;
    return model.kind[item] === "repeat" ? `${model.label(item)} \u00d7${count}` : model.label(item);
  }
  typeText(value, number) { return this.model.typePieces(value, number).map(([piece]) => piece).join(""); }
  describe(value, number) { return `${this.model.name(value)}: ${this.typeText(value, number)}\n${bytesText(this.model.localBytes(value, number))} on a device`; }
  collectiveText(state, n) {
    const [kind, axes, type, bytes, seconds, runs, , , reason] = this.model.states[state].collectives[n], { model } = this;
    return `${model.text(kind)} of ${model.text(type)} along ${model.text(axes)}: ${bytesText(bytes)}, ${secondsText(seconds)}${runs > 1 ? `, ${runs} runs` : ""}; ${model.text(reason)}`;
  }
  opsText(item) { const count = this.model.opsIn[item]; return `${count.toLocaleString("en")} op${count === 1 ? "" : "s"}`; }
  /** What a closed group holds, with its part of the cost and the op that costs most in it. */
  groupText(item, state) {
    const share = this.model.share(state, item), most = this.model.mostIn(state, item);
    return `${this.opsText(item)}${share ? ` \u00b7 ${shareText(share)}${most > 0 ? ` ${this.model.label(most)}` : ""}` : ""}`;
  }
  colourNumber(axis) { return (this.model.colour.get(axisName(axis)) ?? 9) % COLOURS.length; }
  colour(axis) { return COLOURS[this.colourNumber(axis)]; }
  chip(axis) {
    const [fill, ink] = this.colour(axis), made = node("span", { class: "axis" }, axis);
    made.style.background = fill;
    made.style.color = ink;
    return made;
  }
  bytesByLine(file) {
    const found = new Map();
    for (const row of this.model.states[this.current].collectives) {
      const match = /^(.*?):(\d+)/.exec(this.model.text(row[9]));
      if (match && match[1] === file) found.set(Number(match[2]), (found.get(Number(match[2])) ?? 0) + row[3]);
    }
    return found;
  }

  // ---- what is marked

  classes(item, view) {
    const marks = [];
    if (item === this.selected) marks.push("on");
    if (this.wayMarks.has(item)) marks.push("why");
    if (!this.layout.isOpen(item)) marks.push(this.mark(item, view.state));
    if (view.state === 0 && this.changed?.has(item)) marks.push("now");
    if (this.isOff(item, view)) marks.push("off");
    return marks.filter(Boolean).join(" ");
  }

  /** What the shown change does to the collectives in an item, or that it has some of the shown cause. */
  mark(item, state) {
    if (state) return "";
    return ["gone", "less", "cause"].find((name) => this.marks[name]?.has(item)) ?? "";
  }

  isOff(item, view) {
    const { model } = this;
    if (this.filter === "all" && !this.axis) return false;
    if (!this.matching.has(view.state)) {
      const test = this.test(view), marks = new Uint8Array(model.count);
      for (let i = model.count - 1; i > 0; i--) if (marks[i] || test(i)) { marks[i] = 1; marks[model.parent[i]] = 1; }
      this.matching.set(view.state, marks);
    }
    return !this.matching.get(view.state)[item];
  }

  test(view) {
    const { model, axis, filter } = this, large = this.largeBytes();
    const has = (item) => !axis || model.valuesOf[item].some((v) => model.sharding(view.sharding(v))?.[1].some((d) => pairs(d).some(([a]) => axisName(a) === axis)));
    const kinds = {
      all: () => true,
      sends: (item) => model.states[view.state].sends.has(item),
      large: (item) => model.valuesOf[item].some((v) => { const s = model.sharding(view.sharding(v)); return model.globalBytes(v) >= large && !(s?.[1].some((d) => d.length)); }),
      cause: (item) => Boolean(this.mark(item, 0)) && !model.children[item].length,
      differs: (item) => this.differing().has(item),
      changed: (item) => model.states.length > 1 && model.valuesOf[item].some((v) => model.states[1].final[v] !== model.data.values.final[v]),
    };
    return (item) => has(item) && kinds[filter](item);
  }

  /** The items that communicate differently in the two programs. */
  differing() {
    const { states, data } = this.model;
    const items = () => data.other.differences.flatMap((sides) => sides.flatMap((rows, side) => rows.map((n) => states[side].collectives[n][6])));
    return (this.itemsThatDiffer ??= new Set(data.other ? items() : []));
  }

  /** A hundredth of the largest tensor counts as large. */
  largeBytes() { return (this.large ??= this.model.data.values.item.reduce((most, item, v) => (item < 0 ? most : Math.max(most, this.model.globalBytes(v))), 0) / 100); }

  refilter() { this.matching = new Map(); this.draw(); }

  // ---- moves

  select(item, isMoved = false) {
    this.selected = item;
    this.cause = -1;
    this.markRows({});
    if (item > 0) {
      if (isMoved) { this.layout.reveal(item); this.center(item); }
      const value = this.model.valuesOf[item][0];
      this.way = value === undefined ? [] : this.wayTo(value);
      history.replaceState(null, "", `#${encodeURIComponent(value === undefined ? `item=${item}` : this.model.name(value))}`);
    } else { this.way = []; history.replaceState(null, "", "#"); }
    this.wayMarks = new Set(this.way.flat());
    if (item > 0) { this.page("details"); this.say(this.title(item)); }
    this.panel.draw();
    this.lists.draw();
    this.draw();
  }

  /** Selects the first of some items: what makes an operand of the selected one, or uses its value. */
  follow(items) { const [item] = items.filter((each) => each > 0); if (item) this.select(item, true); }

  /** Marks items by rows of collectives: those of a cause, those that a change removes or makes cheaper. */
  markRows(rows) {
    const { model } = this, { collectives } = model.states[0];
    this.marks = Object.fromEntries(Object.entries(rows).map(([name, list]) => [name, model.withAncestors(list.map((n) => collectives[n][6]).filter((item) => item > 0))]));
    this.matching = new Map();
  }

  /** Shows a cause of the verdict: its collectives, and what its remedy removes. */
  showCause(n, isMoved = true) {
    const cause = this.model.data.verdict.causes[n], change = this.remedyOf(cause);
    if (isMoved) this.select(0);
    Object.assign(this, { cause: n, change: -1 });
    this.markRows({ cause: cause.rows, ...(change ? { gone: change.removed, less: change.less } : {}) });
    if (isMoved) this.afterMarks(cause.rows, `cause ${n + 1}: ${cause.code}`);
  }

  /** Shows a change of the verdict: what it removes. */
  showChange(n) {
    const change = this.model.data.verdict.changes[n];
    this.select(0);
    this.change = n;
    this.markRows({ gone: change.removed, less: change.less });
    this.afterMarks([...change.removed, ...change.less], `change ${n + 1}: ${change.words}`);
  }

  /** The best change for a cause alone, or the one of the verdict that helps it most. */
  remedyOf(cause) {
    if (cause.best) return cause.best;
    const helped = this.model.data.verdict.changes.map((change) => [helpedRows(change, cause).length, change]);
    return helped.reduce((best, each) => (each[0] > best[0] ? each : best), [0, null])[1];
  }

  /** If none of what is marked is in view, goes there; then draws all. */
  afterMarks(rows, words) {
    const items = rows.map((n) => this.model.states[0].collectives[n][6]).filter((item) => item > 0);
    const boxes = items.map((item) => this.layout.boxes.get(this.layout.visible(item)));
    const [w, h] = this.size(), { x, y, scale } = this.camera;
    if (boxes.length && !boxes.some(([bx, by, bw, bh]) => bx < x + w / scale && bx + bw > x && by < y + h / scale && by + bh > y)) this.fit();
    this.page("details");
    this.say(words);
    this.panel.draw();
    this.lists.draw();
    this.draw();
  }

  /** On a phone one of verdict, graph and details is shown. */
  page(name) {
    document.body.dataset.page = name;
    for (const tab of document.querySelectorAll("#pages button")) tab.setAttribute("aria-pressed", String(tab.dataset.page === name));
    if (name === "graph") { if (!this.isSeen) this.fit(); this.isSeen = true; this.draw(); }
  }

  /** For screen readers. */
  say(words) { document.getElementById("status").textContent = words; }

  wayTo(value) {
    const sharding = this.model.sharding(this.time.now[value]), found = [];
    (sharding?.[1] ?? []).forEach((axes, d) => {
      for (const [axis] of pairs(axes)) {
        const { links, root } = this.time.chain(value, d, axis);
        const values = [root, ...links.map(([, v]) => v).reverse()].filter((v) => v >= 0).map((v) => this.model.data.values.item[v]).filter((item) => item >= 0);
        for (let i = 1; i < values.length; i++) found.push([values[i - 1], values[i]]);
      }
    });
    return found;
  }

  /** `#%55` selects that value, `#item=7` a box. */
  followLink() {
    const name = decodeURIComponent(location.hash.slice(1));
    if (!name) return;
    const value = this.model.data.values.name.findIndex((n) => this.model.text(n) === name);
    const item = name.startsWith("item=") ? Number(name.slice(5)) : value < 0 ? -1 : this.model.data.values.item[value];
    if (item > 0 && item < this.model.count && item !== this.selected) this.select(item, true);
  }

  goto(step, item = -1) {
    this.time.go(Math.max(0, Math.min(step, this.time.steps.length)));
    const at = this.time.at, row = this.time.steps[at - 1];
    const items = row ? pairs(row[2]).map(([value]) => this.model.data.values.item[value]) : [];
    this.changed = at === this.time.steps.length && item < 0 ? null : new Set([...items, ...items.flatMap((i) => (i >= 0 ? [this.layout.visible(i)] : []))]);
    document.getElementById("step").value = at;
    const through = row && row[1] >= 0 ? ` through ${this.title(row[1])}` : "";
    const words = at === 0 ? "as annotated" : `${this.model.text(row[0])}:${through} ${items.length} tensor${items.length > 1 ? "s" : ""}`;
    document.getElementById("step-text").textContent = `${at} of ${this.time.steps.length}  ${words}`;
    this.matching = new Map();
    if (item > 0) this.select(item, true); else { this.panel.draw(); this.draw(); }
  }

  play() {
    const button = document.getElementById("play");
    if (this.playing) { clearInterval(this.playing); this.playing = null; button.textContent = "Play"; return; }
    if (this.time.at === this.time.steps.length) this.goto(0);
    const stride = Math.max(1, Math.round(this.time.steps.length / 300));
    button.textContent = "Pause";
    this.playing = setInterval(() => { this.goto(this.time.at + stride); if (this.time.at >= this.time.steps.length) this.play(); }, 60);
  }

  // ---- camera

  size() { const { clientWidth, clientHeight } = this.views[0].figure; return [clientWidth || 800, clientHeight || 600]; }

  /** The whole program, in the middle. */
  fit() {
    const [, , width, height] = this.layout.bounds, [w, h] = this.size();
    const scale = Math.min((w - 24) / width, (h - 24) / height, LARGEST);
    this.isFitted = true;
    this.camera = { scale, x: width / 2 - w / scale / 2, y: height / 2 - h / scale / 2 };
    this.draw();
  }

  center(item) {
    const box = this.layout.boxes.get(this.layout.visible(item)), [w, h] = this.size();
    const scale = Math.max(this.isFitted ? Math.min(this.camera.scale, 1) : this.camera.scale, SMALLEST);
    this.camera = { scale, x: box[0] + box[2] / 2 - w / scale / 2, y: box[1] + Math.min(box[3], h / scale) / 2 - h / scale / 2 };
  }

  zoom(factor, x, y) {
    const scale = Math.min(3, Math.max(0.001, this.camera.scale * factor));
    this.camera.x += x / this.camera.scale - x / scale;
    this.camera.y += y / this.camera.scale - y / scale;
    this.camera.scale = scale;
    this.isFitted = false;
    this.draw();
  }

  /** Opens or closes a group where it stands: what was under the mouse stays there. */
  toggle(item) {
    const before = this.layout.boxes.get(item);
    this.layout.toggle(item);
    this.keep(item, before);
  }

  turn(item, step) {
    const before = this.layout.boxes.get(item), count = this.model.children[item].length;
    this.layout.shown.set(item, ((this.layout.shown.get(item) ?? 0) + step + count) % count);
    this.layout.update();
    this.keep(item, before);
  }

  keep(item, before) {
    const after = this.layout.boxes.get(item);
    this.camera.x += after[0] + after[2] / 2 - before[0] - before[2] / 2;
    this.camera.y += after[1] - before[1];
    this.draw();
  }

  // ---- controls

  controls() {
    const { model } = this, get = (id) => document.getElementById(id);
    const chips = model.axes.map(([name, size]) => {
      const made = node("button", { class: "axis", "aria-pressed": "false", title: `Show only tensors sharded along ${name}`, onclick: () => {
        this.axis = this.axis === name ? "" : name;
        for (const chip of chips) chip.setAttribute("aria-pressed", String(chip === made && this.axis === name));
        this.refilter();
      } }, `${name}=${size}`);
      [made.style.background, made.style.color] = this.colour(name);
      return made;
    });
    get("legend").replaceChildren(...(chips.length ? ["mesh", ...chips] : []));
    const filters = [["all", "everything"], ["sends", "what communicates"], ...(model.data.verdict ? [["cause", "the cause or change chosen"]] : []), ["large", "replicated and large"],
      ...(model.states.length > 1 ? [["differs", "communicates differently"], ["changed", "sharded differently"]] : [])];
    get("filter").replaceChildren(...filters.map(([value, words]) => node("option", { value }, words)));
    get("filter").addEventListener("change", (event) => { this.filter = event.target.value; this.refilter(); });
    this.matching = new Map();
    if (model.states.length > 1) {
      get("state-label").hidden = false;
      get("state").replaceChildren(...[...model.states.map((state) => state.name), "side by side"].map((words, value) => node("option", { value }, words)));
      get("state").addEventListener("change", (event) => { this.show(Number(event.target.value)); this.lists.draw(); this.panel.draw(); this.draw(); });
    }
    get("search").addEventListener("input", (event) => this.lists.search(event.target.value));
    get("search").addEventListener("keydown", (event) => { if (event.key === "Enter") this.lists.next(event.shiftKey ? -1 : 1); });
    const steps = this.time.steps.length;
    get("player").hidden = !steps;
    get("step").max = steps;
    get("step").value = steps;
    get("step").addEventListener("input", (event) => this.goto(Number(event.target.value)));
    get("step-text").textContent = `${steps.toLocaleString("en")} step${steps === 1 ? "" : "s"} of propagation`;
    get("play").addEventListener("click", () => this.play());
    const theme = (isDark) => { document.documentElement.classList.toggle("dark", isDark); get("theme").textContent = isDark ? "Light" : "Dark"; };
    theme(matchMedia("(prefers-color-scheme: dark)").matches);
    get("theme").addEventListener("click", () => theme(!document.documentElement.classList.contains("dark")));
    get("export").addEventListener("click", () => this.save());
    get("fit").addEventListener("click", () => this.fit());
    for (const tab of document.querySelectorAll("#pages button")) tab.addEventListener("click", () => this.page(tab.dataset.page));
    this.page("verdict");
    addEventListener("keydown", (event) => this.key(event));
  }

  key(event) {
    if (event.target.matches("input, select, textarea") && event.key !== "Escape") return;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const keys = {
      f: () => this.fit(), "/": () => document.getElementById("search").focus(), " ": () => this.play(),
      ArrowUp: () => this.follow(this.model.inputs[this.selected].map(([value]) => this.model.data.values.item[value])),
      ArrowDown: () => this.follow(this.model.valuesOf[this.selected].flatMap((value) => this.model.users[value])),
      ArrowLeft: () => this.goto(this.time.at - 1), ArrowRight: () => this.goto(this.time.at + 1),
      Escape: () => { document.activeElement.blur(); this.select(0); },
      "+": () => this.zoom(1.25, ...this.size().map((n) => n / 2)), "-": () => this.zoom(0.8, ...this.size().map((n) => n / 2)),
      Enter: () => { if (this.selected) this.toggle(this.layout.visible(this.selected)); },
    };
    if (["ArrowUp", "ArrowDown"].includes(event.key) && !event.target.closest("#views")) return; // elsewhere they scroll
    if (!keys[event.key] || (event.target.matches("button, summary") && (event.key === " " || event.key === "Enter")) || (event.target.matches("[role=tab]") && event.key.startsWith("Arrow"))) return;
    event.preventDefault();
    keys[event.key]();
  }

  /** The current view as an SVG file of its own, with the styles that it has here. */
  save() {
    const copy = this.views[0].root.cloneNode(true), style = getComputedStyle(document.documentElement), { camera } = this;
    const rules = document.querySelector("style").textContent.replace(/var\((--[a-z]+)\)/g, (_, name) => style.getPropertyValue(name));
    const [w, h] = this.size();
    copy.setAttribute("xmlns", SVG);
    copy.removeAttribute("style");
    copy.setAttribute("viewBox", `${camera.x} ${camera.y} ${w / camera.scale} ${h / camera.scale}`);
    copy.setAttribute("width", w);
    copy.setAttribute("height", h);
    copy.prepend(svg("style", {}, rules));
    const link = node("a", { href: URL.createObjectURL(new Blob([new XMLSerializer().serializeToString(copy)], { type: "image/svg+xml" })), download: "program.svg" });
    link.click();
    URL.revokeObjectURL(link.href);
  }
}

readData().then((data) => { globalThis.app = new App(data); globalThis.app.start(); });
