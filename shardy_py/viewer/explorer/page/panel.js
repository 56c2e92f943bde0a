// The lists on the left and the details of the selection on the right.
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

const MOST_LISTED = 200;

class Lists {
  constructor(app) {
    this.app = app;
    this.tabs = [["Collectives", () => this.collectives()], ["Inputs", () => this.ends("argument")], ["Results", () => this.ends("result")], ["Found", () => this.found()]];
    this.tab = 0;
    this.hits = [];
  }

  draw() {
    const bar = this.tabs.map(([name], n) => node("button", { role: "tab", "aria-selected": n === this.tab, onclick: () => { this.tab = n; this.draw(); } }, name));
    document.getElementById("tabs").replaceChildren(...bar);
    const entries = this.tabs[this.tab][1]();
    const more = entries.length - MOST_LISTED;
    document.getElementById("list").replaceChildren(...entries.slice(0, MOST_LISTED).map((make) => make()), ...(more > 0 ? [node("p", { class: "soft" }, `and ${more} more`)] : []));
  }

  entry(item, title, below, amount = null, last = null) {
    return node("button", { class: `entry ${item === this.app.selected ? "on" : ""}`, onclick: () => this.app.select(item, true) },
      ...(amount ? [node("span", { class: "amount" }, amount)] : []), node("b", {}, title), node("small", {}, below), last && node("small", {}, last));
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
    if (!sorted.length) return [() => node("p", { class: "soft" }, "The program needs no communication.")];
    return sorted.map(({ bytes, rows, line }) => () => {
      const [kind, axes, type, , , , item, , reason, place] = state.collectives[rows[0]];
      const times = rows.length > 1 ? ` \u00d7${rows.length}` : "", where = (line || model.text(place)).split(" ")[0].split("/").at(-1);
      return this.entry(item, `${model.text(kind)}${times}`, `${model.text(axes)} \u00b7 ${where}`, bytesText(bytes), `${model.text(type)} \u00b7 ${model.text(reason)}`);
    });
  }

  ends(kind) {
    const { model } = this.app;
    const items = [...Array(model.count).keys()].filter((i) => model.kind[i] === kind && model.valuesOf[i].length);
    return items.map((item) => () => this.value(item));
  }

  value(item) {
    const { app } = this, value = app.model.valuesOf[item][0];
    const type = value === undefined ? `${app.model.opsIn[item]} ops` : app.typeText(value, app.time.now[value]);
    return this.entry(item, app.title(item), `${type}  ${app.model.place(item)}`);
  }

  found() {
    if (!this.hits.length) return [() => node("p", { class: "soft" }, "Find names, ops, lines and axes in the field above.")];
    return this.hits.map((item) => () => this.value(item));
  }

  search(words) {
    const { model } = this.app, wanted = words.trim().toLowerCase();
    const matches = (item) => {
      const values = model.valuesOf[item];
      const names = [model.label(item), model.place(item), model.text(model.data.items.op[item]), ...values.map((v) => model.name(v))];
      if (names.some((name) => name.toLowerCase().includes(wanted))) return true;
      return values.some((v) => model.sharding(this.app.time.now[v])?.[1].some((d) => pairs(d).some(([axis]) => axis.toLowerCase() === wanted)));
    };
    const exact = (item) => model.valuesOf[item].some((v) => model.name(v).toLowerCase() === wanted) ? 0 : 1;
    this.hits = wanted ? [...Array(model.count).keys()].filter((i) => i && matches(i)).sort((a, b) => exact(a) - exact(b)) : [];
    this.tab = 3;
    this.draw();
    return this.hits[0];
  }
}

/** The file and line of a Python location, or "". */
const pythonLine = (place) => /^.*?\.py:\d+/.exec(place)?.[0] ?? "";

class Panel {
  constructor(app) { this.app = app; }

  draw() {
    const { app } = this, root = document.getElementById("panel");
    root.replaceChildren(...(app.selected > 0 ? this.item(app.selected) : this.program()));
  }

  rows(rows) {
    return node("table", {}, ...rows.filter((row) => row && row[1]).map(([key, value]) => node("tr", {}, node("td", {}, key), node("td", {}, value))));
  }

  program() {
    const { app } = this, { model } = app;
    const parts = [...this.verdict(), node("h2", {}, "Program"), this.rows([["ops", model.opsIn[0].toLocaleString("en")], ["steps of propagation", String(app.time.steps.length)]])];
    for (const state of model.states) {
      if (!state.summary.length) continue;
      const [bytes, seconds, count, partitioner, links, memory] = state.summary;
      parts.push(node("h3", {}, model.states.length > 1 ? state.name : "Communication"), this.rows([["collectives", String(count)], ["each device receives", bytesText(bytes)], ["time", `${secondsText(seconds)} on ${links}`], ["partitioner", partitioner], ["memory", memory === null ? "" : `${bytesText(memory)} allocated on a device`]]));
    }
    parts.push(node("h3", {}, "Keys"), this.rows([["drag, wheel", "move, zoom"], ["click", "select; opens and closes groups"], ["+ \u2212", "zoom"], ["f", "fit the program"], ["/", "find"], ["\u2190 \u2192", "steps of propagation"], ["space", "play"], ["enter", "open or close the selected group"], ["esc", "clear the selection"]]));
    return parts;
  }

  /** What costs most and what to change: the page opens on it. */
  verdict() {
    const found = this.app.model.data.verdict;
    if (!found) return [];
    const parts = [node("h2", {}, "Verdict"), node("p", {}, found.headline)];
    if (found.changes.length) {
      const steps = found.changes.map(([words, code, effect]) => node("li", {}, node("b", { class: "mono" }, words), ...(code ? [node("pre", { class: "mono" }, code)] : []), node("small", {}, effect)));
      parts.push(node("h3", {}, "What to change"), node("ol", { class: "verdict" }, ...steps), node("p", { class: "soft" }, `${found.tried} changes were tried, each on top of those before.`));
    } else if (found.causes.length) parts.push(node("p", { class: "soft" }, found.without_changes));
    if (found.causes.length) parts.push(node("h3", {}, "Largest causes"));
    for (const cause of found.causes) parts.push(this.cause(cause));
    if (found.others) parts.push(node("p", { class: "soft" }, `and ${found.others} smaller`));
    parts.push(...found.notes.map((note) => node("p", {}, note)));
    return parts;
  }

  cause({ item, share, bytes, place, code, repeats, origins, helps }) {
    const lines = [repeats, ...origins, helps].filter(Boolean).map((text) => node("small", {}, text));
    const select = item < 0 ? null : () => this.app.select(item, true);
    return node("button", { class: "entry", onclick: select ?? (() => {}) }, node("span", { class: "amount" }, `${Math.round(share * 100)} % \u00b7 ${bytesText(bytes)}`), node("b", { class: "mono" }, code || place), ...(code ? [node("small", {}, place)] : []), ...lines);
  }

  item(item) {
    const { app } = this, { model } = app;
    const op = model.text(model.data.items.op[item]), values = model.valuesOf[item];
    const parts = [node("h2", {}, app.title(item)), node("p", { class: "soft mono" }, op === app.title(item) ? "" : op)];
    parts.push(this.rows([["ops", model.children[item].length ? model.opsIn[item].toLocaleString("en") : ""], ["line", model.place(item)]]));
    values.slice(0, 8).forEach((value) => parts.push(...this.value(value)));
    parts.push(...this.sends(item), ...this.operands(item), ...this.source(item));
    if (values.length) parts.push(...this.devices(values[0]));
    return parts;
  }

  value(value) {
    const { app } = this, { model } = app, number = app.time.now[value], sharding = model.sharding(number);
    const bytes = `${bytesText(model.localBytes(value, number))} of ${bytesText(model.globalBytes(value))}`;
    const parts = [node("h3", {}, model.name(value)), this.rows([
      ["type", node("span", { class: "mono" }, app.typeText(value, number))],
      ["on a device", node("span", { class: "mono" }, model.localShape(value, number).map((n) => n ?? "?").join("x") || "scalar")],
      ["bytes", bytes], ["sharding", node("span", { class: "mono" }, sharding ? sharding[3] : "none")],
      ...(model.states.length > 1 ? [[model.states[1].name, node("span", { class: "mono" }, this.otherSharding(value))]] : []),
    ])];
    return [...parts, ...this.why(value, sharding), ...this.whyNot(value, sharding)];
  }

  otherSharding(value) {
    const number = this.app.model.states[1].final[value];
    return number < 0 ? "not in this program" : this.app.model.sharding(number)?.[3] ?? "none";
  }

  why(value, sharding) {
    const { app } = this, parts = [];
    (sharding?.[1] ?? []).forEach((axes, dimension) => {
      for (const [axis] of pairs(axes)) {
        const { links, root } = app.time.chain(value, dimension, axis);
        const list = links.map(([step, to, d]) => {
          const [stage, item] = app.time.steps[step];
          const through = item < 0 ? "a function's result" : app.title(item), place = item < 0 ? "" : app.model.place(item).split(" ")[0].split("/").at(-1);
          return node("li", {}, node("button", { class: "link", onclick: () => app.goto(step + 1, item) }, `step ${step + 1}`), ` dim ${d} of ${app.model.name(to)}, through ${through}`, node("br"), node("span", { class: "soft" }, [place, app.model.text(stage)].filter(Boolean).join(" \u00b7 ")));
        });
        const start = root < 0 ? null : node("li", {}, node("button", { class: "link", onclick: () => app.select(app.model.data.values.item[root], true) }, app.model.name(root)), " has it before propagation: an annotation");
        parts.push(node("h3", {}, "why dim ", String(dimension), " along ", app.chip(axis)), node("ol", {}, ...list, start));
      }
    });
    return parts;
  }

  /** The reasons are those of the final shardings, and only of the largest tensors. */
  whyNot(value, sharding) {
    const { app } = this, { model } = app, asked = model.data.alike[value], answers = model.refused.get(asked) ?? [];
    if (app.time.at < app.time.steps.length) return [];
    if (!answers.length) {
      const used = (sharding?.[1] ?? []).flatMap((d) => pairs(d).map(([axis]) => axisName(axis)));
      const axis = model.axes.map(([name]) => name).find((name) => !used.includes(name));
      if (axis === undefined || !model.localShape(value, 0).length) return [];
      return [node("p", { class: "soft" }, `Why not along ${axis}? sdy-opt --why-not='${model.name(value)},0,${axis}'`)];
    }
    const like = asked === value ? "" : ` (asked of ${model.name(asked)}, which is alike)`;
    return answers.map(([dimension, axis, ...reasons]) => node("details", {}, node("summary", {}, `why not dim ${dimension} along `, app.chip(model.text(axis)), like),
      node("ul", {}, ...reasons.map((reason) => node("li", {}, model.text(reason))))));
  }

  sends(item) {
    const { app } = this, state = app.model.states[app.current];
    const rows = state.sends.get(item) ?? [];
    return rows.length ? [node("h3", {}, "communication"), node("ol", {}, ...rows.map((n) => node("li", {}, app.collectiveText(app.current, n))))] : [];
  }

  operands(item) {
    const { app } = this, { model } = app, inputs = model.inputs[item];
    const users = [...new Set(model.valuesOf[item].flatMap((v) => model.users[v]))];
    const link = (target, words) => node("li", {}, node("button", { class: "link", onclick: () => app.select(target, true) }, words));
    const parts = [];
    if (inputs.length) parts.push(node("h3", {}, "operands"), node("ol", {}, ...inputs.slice(0, 20).map(([v]) => link(model.data.values.item[v], `${model.name(v)} ${app.typeText(v, app.time.now[v])}`))));
    if (users.length) parts.push(node("h3", {}, `used by ${users.length}`), node("ol", {}, ...users.slice(0, 20).map((user) => link(user, app.title(user)))));
    return parts;
  }

  source(item) {
    const { app } = this, match = /^(.*?):(\d+)(?::\d+)?(?:\s|$)/.exec(app.model.place(item));
    const file = match && app.model.data.sources.find(([name]) => name === match[1]);
    if (!file) return [];
    const line = Number(match[2]), near = file[1].filter(([n]) => Math.abs(n - line) <= 4);
    const bytes = app.bytesByLine(match[1]);
    const rows = near.map(([n, words]) => node("span", { class: n === line ? "here" : "" }, `${String(n).padStart(5)} ${(bytes.get(n) ? bytesText(bytes.get(n)) : "").padStart(10)}  ${words}\n`));
    return [node("h3", {}, match[1]), node("pre", {}, ...rows)];
  }

  /** Which part of the last two dimensions each device holds, up to 16 x 16 parts. */
  devices(value) {
    const { app } = this, sharding = app.model.sharding(app.time.now[value]);
    const mesh = sharding && app.model.data.meshes.find(([name]) => name === sharding[0]);
    if (!mesh) return [];
    const grid = deviceGrid(mesh, sharding[1]);
    if (!grid) return [];
    const width = Math.max(28, Math.min(76, 304 / grid[0].length)), height = 26;
    const picture = svg("svg", { id: "devices", viewBox: `0 0 ${grid[0].length * width} ${grid.length * height}` });
    grid.forEach((row, r) => row.forEach((devices, c) => {
      const colour = COLOURS[(r * row.length + c) % COLOURS.length], place = [c * width + 1, r * height + 1, width - 2, height - 2];
      picture.append(rect(place, "", { fill: colour[0], rx: 3 }));
      const words = text(c * width + width / 2, r * height + 17, clip(devices.join(" "), width / 7), "", "middle");
      words.style.fill = colour[1];
      picture.append(words);
    }));
    return [node("h3", {}, "devices of the parts (last two dimensions)"), picture];
  }
}

/** Rows and columns of parts with their devices; null if there are too many. */
function deviceGrid([, flat, ids], dimensions) {
  const axes = pairs(flat), count = axes.reduce((all, [, n]) => all * n, 1);
  const last = dimensions.slice(-2), sizes = [...Array(2 - last.length).fill([]), ...last].map((d) => pairs(d));
  const parts = sizes.map((d) => d.reduce((all, [, n]) => all * n, 1));
  if (count > 4096 || parts[0] > 16 || parts[1] > 16 || count < 2) return null;
  const grid = Array.from({ length: parts[0] }, () => Array.from({ length: parts[1] }, () => []));
  for (let device = 0; device < count; device++) {
    const at = {};
    axes.reduceRight((rest, [name, size]) => { at[name] = rest % size; return Math.floor(rest / size); }, device);
    const place = sizes.map((d) => d.reduce((all, [axis, size]) => all * size + coordinate(axis, size, at, axes), 0));
    grid[place[0]][place[1]].push(ids.length ? ids[device] : device);
  }
  return grid;
}

/** The coordinate along an axis, or along the sub-axis `x:(2)4`: after the 2 major parts, of the next 4. */
function coordinate(axis, size, at, axes) {
  const [name, sub] = axis.split(":"), whole = axes.find(([n]) => n === name)[1];
  if (!sub) return at[name];
  const before = Number(/\((\d+)\)/.exec(sub)[1]);
  return Math.floor(at[name] / (whole / (before * size))) % size;
}
