// Draws one state of the program into one SVG: only what is in view, and little of what is too small to read.
"use strict";

const SVG = "http://www.w3.org/2000/svg";
const MONO = 6.62, READABLE = 0.45, MOST_DRAWN = 4000;

function svg(name, attributes = {}, ...children) {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) if (value !== null) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

class View {
  constructor(app, state, caption) {
    Object.assign(this, { app, state });
    this.figure = document.createElement("figure");
    this.root = svg("svg", { tabindex: 0, role: "application", "aria-label": `graph of ${caption}` });
    this.root.append(svg("defs", {}, hatching()));
    this.layer = svg("g");
    this.root.append(this.layer);
    this.figure.append(this.root);
    if (caption) { const text = document.createElement("figcaption"); text.textContent = caption; this.figure.append(text); }
  }

  sharding(value) { return this.state === 0 ? this.app.time.now[value] : this.app.model.states[this.state].final[value]; }

  draw() {
    const { app } = this, { camera, layout } = app;
    const { clientWidth: width, clientHeight: height } = this.root;
    const box = [camera.x, camera.y, width / camera.scale, height / camera.scale];
    this.root.setAttribute("viewBox", box.join(" "));
    const inView = ([x, y, w, h]) => x < box[0] + box[2] && x + w > box[0] && y < box[1] + box[3] && y + h > box[1];
    const items = [...layout.boxes.keys()].filter((item) => item && inView(layout.boxes.get(item)));
    const groups = items.filter((item) => layout.isOpen(item)), ops = items.filter((item) => !layout.isOpen(item));
    const parts = camera.scale < READABLE || items.length > MOST_DRAWN ? this.far(ops) : ops.map((item) => this.item(item));
    this.layer.replaceChildren(...groups.map((item) => this.group(item)), ...this.edges(inView), ...this.ways(), ...parts);
  }

  /** Boxes too small to read, as one path for each colour. */
  far(items) {
    const { app } = this, paths = new Map();
    for (const item of items) {
      const [x, y, w, h] = app.layout.boxes.get(item);
      const colour = app.isOff(item, this) ? "off" : this.colourOf(item);
      paths.set(colour, `${paths.get(colour) ?? ""}M${x} ${y}h${w}v${h}h${-w}z`);
    }
    const drawn = [...paths].map(([colour, d]) =>
      svg("path", { d, class: colour === "none" || colour === "off" ? "far replicated" : "far", opacity: colour === "off" ? 0.3 : null, fill: colour === "none" || colour === "off" ? null : colour }));
    const on = app.layout.boxes.get(app.selected);
    return [...drawn, ...(on && app.selected ? [svg("g", { class: "item on" }, rect(on, "box frame"))] : [])];
  }

  colourOf(item) {
    const value = this.app.model.valuesOf[item][0];
    const sharding = value === undefined ? null : this.app.model.sharding(this.sharding(value));
    const axis = sharding?.[1].find((d) => d.length)?.[0];
    return axis === undefined ? "none" : this.app.colour(axis)[0];
  }

  group(item) {
    const { app } = this, box = app.layout.boxes.get(item), [x, y, w] = box;
    const node = svg("g", { class: `item open ${app.classes(item, this)}`, "data-item": item }, rect(box, "box"));
    if (app.camera.scale >= READABLE / 2) {
      node.append(text(x + 10, y + 18, `\u25be ${clip(app.title(item), (w - (app.model.kind[item] === "repeat" ? 140 : 0)) / 7.2)}`, "title"));
      if (app.model.kind[item] === "repeat") {
        const count = app.model.children[item].length, at = app.layout.shown.get(item) ?? 0;
        node.append(button(x + w - 60, y + 6, "\u2039", item, -1), button(x + w - 34, y + 6, "\u203a", item, 1));
        node.append(text(x + w - 68, y + 18, `${at + 1} of ${count}`, "dim", "end"));
      }
    }
    return node;
  }

  item(item) {
    const { app } = this, { model } = app;
    const box = app.layout.boxes.get(item), [x, y, w, h] = box, isGroup = model.children[item].length > 0;
    const node = svg("g", { class: `item ${model.kind[item]} ${app.classes(item, this)}`, "data-item": item });
    if (model.kind[item] === "repeat") for (const d of [6, 3]) node.append(rect([x + d, y + d, w, h], "under"));
    node.append(rect(box, "box"));
    const value = model.valuesOf[item][0], room = (w - 20) / 7;
    const name = value === undefined || model.kind[item] !== "op" ? "" : model.name(value);
    node.append(text(x + 10, y + 17, clip(`${isGroup ? "\u25b8 " : ""}${app.title(item)}`, room - name.length), "title"));
    if (name) node.append(text(x + w - 10, y + 17, name, "dim mono", "end"));
    if (isGroup) node.append(text(x + 10, y + 34, `${model.opsIn[item].toLocaleString("en")} ops`, "dim"));
    else if (value !== undefined) node.append(...this.type(x + 10, y + 33, w - 20, value), ...this.stripe(box, value));
    const sent = model.states[this.state].bytesIn[item];
    if (sent) node.append(badge(x + w, y, bytesText(sent)));
    const tip = svg("title");
    tip.textContent = value === undefined ? app.title(item) : app.describe(value, this.sharding(value));
    node.append(tip);
    return node;
  }

  type(x, y, room, value) {
    const parts = [], most = Math.floor(room / MONO);
    let at = 0;
    for (const [piece, axis] of this.app.model.typePieces(value, this.sharding(value))) {
      const shown = piece.slice(0, Math.max(0, most - at));
      if (!shown) break;
      const length = shown.length * MONO, where = x + at * MONO;
      const [fill, ink] = axis ? this.app.colour(axis) : [];
      if (axis) parts.push(svg("rect", { x: where, y: y - 10, width: length, height: 13, rx: 2, fill }));
      const run = text(where, y, shown, "mono");
      run.setAttribute("textLength", length);
      if (ink) run.style.fill = ink;
      parts.push(run);
      at += shown.length;
    }
    return parts;
  }

  /** A stripe below: one part a dimension in the colours of its axes, grey where it is replicated. */
  stripe([x, y, w, h], value) {
    const sharding = this.app.model.sharding(this.sharding(value));
    const dimensions = sharding?.[1] ?? [], step = w / Math.max(1, dimensions.length), parts = [];
    if (!dimensions.length) return [svg("rect", { x: x + 1, y: y + h - 5, width: w - 2, height: 4, class: "replicated" })];
    dimensions.forEach((axes, d) => {
      const list = pairs(axes), width = step / Math.max(1, list.length);
      if (!list.length) parts.push(svg("rect", { x: x + d * step + 1, y: y + h - 5, width: step - 2, height: 4, class: "replicated" }));
      list.forEach(([axis], i) => parts.push(svg("rect", { x: x + d * step + i * width + 1, y: y + h - 5, width: width - 2, height: 4, fill: this.app.colour(axis)[0] })));
    });
    if (sharding[2].length) parts.push(svg("rect", { x: x + 1, y: y + h - 12, width: w - 2, height: 6, fill: "url(#hatching)" }));
    return parts;
  }

  edges(inView) {
    const { app } = this, { layout, model } = app, parts = [];
    const plain = [], stubs = [], sends = model.states[this.state].sends;
    const value = model.valuesOf[app.selected] ?? [];
    for (const edge of layout.edges) {
      const a = layout.boxes.get(edge.from), b = layout.boxes.get(edge.to);
      const x = Math.min(a[0], b[0]), y = Math.min(a[1], b[1]);
      if (!inView([x, y, Math.max(a[0] + a[2], b[0] + b[2]) - x, Math.max(a[1] + a[3], b[1] + b[3]) - y])) continue;
      const rows = edge.uses.length < 40 ? this.collectives(edge, sends) : [];
      const isOn = edge.uses.some((e) => value.includes(model.data.edges[0][e]) || model.data.edges[1][e] === app.selected);
      if (!rows.length && !isOn) { (edge.isStub ? stubs : plain).push(layout.path(edge)); continue; }
      const bytes = rows.reduce((sum, n) => sum + model.states[this.state].collectives[n][3], 0);
      const thick = rows.length ? 1.5 + 6 * Math.sqrt(bytes / app.mostBytes) : null;
      const node = svg("path", { d: layout.path(edge), class: `edge ${rows.length ? "sends" : ""} ${isOn ? "on" : ""}`, "stroke-width": thick });
      if (thick) node.style.strokeWidth = thick;
      if (rows.length) { const tip = svg("title"); tip.textContent = rows.map((n) => app.collectiveText(this.state, n)).join("\n"); node.append(tip); }
      parts.push(node);
    }
    return [svg("path", { d: plain.join(""), class: "edge" }), svg("path", { d: stubs.join(""), class: "stub" }), ...parts];
  }

  /** The collectives on the operands that an edge stands for. */
  collectives(edge, sends) {
    const { model } = this.app, [, to, operand] = model.data.edges;
    const rows = edge.uses.flatMap((e) => (sends.get(to[e]) ?? []).filter((n) => model.states[this.state].collectives[n][7] === operand[e]));
    return [...new Set(rows)];
  }

  /** The ways of the axes of the selected value, between the boxes that are drawn. */
  ways() {
    const { app } = this;
    return this.state ? [] : app.way.flatMap(([from, to]) => {
      const a = app.layout.boxes.get(app.layout.visible(from)), b = app.layout.boxes.get(app.layout.visible(to));
      if (!a || !b || a === b) return [];
      const edge = app.layout.edges.find((e) => !e.isStub && app.layout.boxes.get(e.from) === a && app.layout.boxes.get(e.to) === b);
      const isDown = b[1] >= a[1] + a[3], isUp = a[1] >= b[1] + b[3]; // from border to border, not across the words
      const [x1, y1, x2, y2] = [a[0] + a[2] / 2, a[1] + (isUp ? 0 : a[3]), b[0] + b[2] / 2, b[1] + (isDown ? 0 : b[3])];
      const way = `M${x1} ${y1}C${x1} ${(y1 + y2) / 2} ${x2} ${(y1 + y2) / 2} ${x2} ${y2}`;
      return [svg("path", { d: edge ? app.layout.path(edge) : way, class: "edge on", "stroke-dasharray": "6 4", "pointer-events": "none" })];
    });
  }
}

function hatching() {
  const pattern = svg("pattern", { id: "hatching", width: 6, height: 6, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" });
  pattern.append(svg("line", { x1: 0, y1: 0, x2: 0, y2: 6, stroke: "currentColor", "stroke-width": 2 }));
  return pattern;
}

const rect = ([x, y, width, height], name, more = {}) => svg("rect", { x, y, width, height, rx: 6, class: name, ...more });
const clip = (words, most) => (words.length <= most ? words : `${words.slice(0, Math.max(1, Math.floor(most) - 1))}\u2026`);

function text(x, y, words, name, anchor = null) {
  const node = svg("text", { x, y, class: name, "text-anchor": anchor });
  node.textContent = words;
  return node;
}

function badge(right, top, words) {
  const width = words.length * 6.4 + 12;
  const node = svg("g", { class: "badge" }, rect([right - width + 8, top - 14, width, 17], "", { rx: 8 }));
  node.append(text(right - width / 2 + 8, top - 1.5, words, "", "middle"));
  return node;
}

function button(x, y, words, item, step) {
  const node = svg("g", { class: "item", "data-turn": `${item} ${step}` }, rect([x, y, 22, 18], "box", { rx: 4 }));
  node.append(text(x + 11, y + 13, words, "", "middle"));
  return node;
}
