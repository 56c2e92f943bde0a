// Draws one state of the program into one SVG: what is in view and a margin around it, so that panning moves what is drawn.
"use strict";

const SVG = "http://www.w3.org/2000/svg";
const MONO = 6.62, READABLE = 0.7, MARGIN = 0.35;

function svg(name, attributes = {}, ...children) {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) if (value !== null) node.setAttribute(key, value);
  node.append(...children);
  return node;
}

class View {
  constructor(app, state, caption) {
    Object.assign(this, { app, state, nodes: new Map() });
    this.figure = document.createElement("figure");
    this.root = svg("svg", { tabindex: 0, role: "group", "aria-roledescription": "graph", "aria-label": `graph of ${caption || app.model.data.title}` });
    this.layer = svg("g");
    this.root.append(svg("defs", {}, hatching()), this.layer);
    this.figure.append(this.root);
    if (caption) { const text = document.createElement("figcaption"); text.textContent = caption; this.figure.append(text); }
  }

  sharding(value) { return this.state === 0 ? this.app.time.now[value] : this.app.model.states[this.state].final[value]; }

  /** isMoved: nothing but the place of the camera has changed since the last time. */
  draw(isMoved) {
    const { camera } = this.app, { clientWidth: width, clientHeight: height } = this.figure;
    const { drawn } = this;
    if (isMoved && drawn && drawn.scale === camera.scale && drawn.width === width && drawn.height === height) {
      const [x, y] = [(drawn.x - camera.x) * camera.scale, (drawn.y - camera.y) * camera.scale];
      if (x <= 0 && y <= 0 && x + drawn.w >= width && y + drawn.h >= height) { this.move(x, y); return; }
    } else this.nodes = new Map();
    this.redraw(width, height);
  }

  move(x, y) { this.root.style.transform = `translate(${x}px, ${y}px)`; }

  redraw(width, height) {
    const { app } = this, { camera } = app, [w, h] = [Math.ceil(width * (1 + 2 * MARGIN)), Math.ceil(height * (1 + 2 * MARGIN))];
    const [x, y] = [camera.x - (width * MARGIN) / camera.scale, camera.y - (height * MARGIN) / camera.scale];
    this.drawn = { x, y, w, h, width, height, scale: camera.scale };
    this.root.setAttribute("viewBox", `${x} ${y} ${w / camera.scale} ${h / camera.scale}`);
    this.root.style.width = `${w}px`;
    this.root.style.height = `${h}px`;
    this.move(-width * MARGIN, -height * MARGIN);
    const isFar = camera.scale < READABLE;
    const { groups, items } = app.layout.near([x, y, x + w / camera.scale, y + h / camera.scale], isFar ? 12 / camera.scale : 0);
    const before = this.nodes;
    this.nodes = new Map();
    const known = (item, make) => { const node = before.get(item) ?? make(); this.nodes.set(item, node); return node; };
    const behind = groups.flatMap(({ item, edges }) => [...(item ? [known(item, () => this.group(item))] : []), ...this.edges(edges)]);
    const boxes = isFar ? this.far(items) : items.map((item) => known(item, () => this.item(item)));
    const labels = isFar ? overviewLabels(this, groups.map(({ item }) => item).filter(Boolean), items) : [];
    this.layer.replaceChildren(...behind, ...this.ways(), ...boxes, ...labels);
  }

  /** Boxes too small to read, as one path for each colour; what sends is always seen. */
  far(items) {
    const { app } = this, { model } = app, paths = new Map(), least = 2.5 / app.camera.scale;
    for (const item of items) {
      const [x, y, w, h] = app.layout.boxes.get(item), isGroup = model.children[item].length > 0;
      const off = app.isOff(item, this) ? " off" : "", marked = app.mark(item, this.state);
      const add = (name, size) => paths.set(name, `${paths.get(name) ?? ""}M${x} ${y}h${Math.max(w, size)}v${Math.max(h, size)}h${-Math.max(w, size)}z`);
      add(isGroup ? `far group${off}` : `far ${this.colourOf(item)}${off}`, 0);
      const heat = model.share(this.state, item);
      if (heat && !off) add(`heat heat-${heatLevel(heat)}`, least);
      if (marked) add(`far-mark ${marked}`, least);
    }
    const drawn = [...paths].map(([name, d]) => {
      const axis = /axis:(\d+)/.exec(name);
      return svg("path", { d, class: name.replace(/axis:\d+/, ""), fill: axis ? COLOURS[axis[1]][0] : null });
    });
    const on = app.layout.boxes.get(app.selected);
    return [...drawn, ...(on && app.selected ? [svg("g", { class: "item on" }, rect(on, "box frame"))] : [])];
  }

  colourOf(item) {
    const value = this.app.model.valuesOf[item][0];
    const sharding = value === undefined ? null : this.app.model.sharding(this.sharding(value));
    const axis = sharding?.[1].find((d) => d.length)?.[0];
    return axis === undefined ? "replicated" : `axis:${this.app.colourNumber(axis)}`;
  }

  group(item) {
    const { app } = this, { model } = app, box = app.layout.boxes.get(item), [x, y, w] = box, kind = model.kind[item];
    const node = svg("g", { class: `item open ${kind} ${app.classes(item, this)}`, "data-item": item, role: "button", "aria-expanded": "true", "aria-label": app.title(item) }, rect(box, "box"));
    const share = model.share(this.state, item);
    if (share && kind === "pass") node.append(svg("rect", { x, y, width: 8, height: box[3], rx: 4, class: `heat heat-${heatLevel(share)}` }));
    if (app.camera.scale < READABLE) return node;
    const words = `\u25be ${app.title(item)}`, room = w - (kind === "repeat" ? 150 : 20);
    const cost = share && ["pass", "function"].includes(kind) ? ` \u00b7 ${app.opsText(item)} \u00b7 ${bytesText(model.states[this.state].bytesIn[item])}, ${shareText(share)} of communication` : "";
    const shown = clip(words, room / 7.2);
    node.append(text(x + (kind === "pass" ? 16 : 10), y + 20, shown, "title"));
    if (cost && (words.length + cost.length) * 7.2 < room) node.append(text(x + 16 + words.length * 7.4 + 8, y + 20, cost.slice(3), "dim"));
    if (kind === "repeat") {
      const count = model.children[item].length, at = app.layout.shown.get(item) ?? 0;
      node.append(button(x + w - 60, y + 6, "\u2039", item, -1), button(x + w - 34, y + 6, "\u203a", item, 1));
      node.append(text(x + w - 68, y + 19, `${at + 1} of ${count}`, "dim", "end"));
    }
    return node;
  }

  item(item) {
    const { app } = this, { model } = app;
    const box = app.layout.boxes.get(item), [x, y, w, h] = box, isGroup = model.children[item].length > 0;
    const value = model.valuesOf[item][0], room = (w - 20) / 7, share = model.share(this.state, item);
    const words = value === undefined ? app.title(item) : app.describe(value, this.sharding(value));
    const node = svg("g", { class: `item ${model.kind[item]} ${app.classes(item, this)}`, "data-item": item, role: "button", "aria-expanded": isGroup ? "false" : null, "aria-label": `${app.title(item)} ${words}` });
    if (model.kind[item] === "repeat") for (const d of [6, 3]) node.append(rect([x + d, y + d, w, h], "under"));
    node.append(rect(box, "box"));
    if (share && isGroup) node.append(rect(box, `heat heat-${heatLevel(share)}`));
    const name = value === undefined || model.kind[item] !== "op" ? "" : model.name(value);
    node.append(text(x + 10, y + 17, clip(`${isGroup ? "\u25b8 " : ""}${app.title(item)}`, room - name.length), "title"));
    if (name) node.append(text(x + w - 10, y + 17, name, "dim mono", "end"));
    if (isGroup) node.append(text(x + 10, y + 34, clip(app.groupText(item, this.state), room), share ? "" : "dim"));
    else if (value !== undefined) node.append(...this.type(x + 10, y + 33, w - 20, value), ...this.stripe(box, value));
    const sent = model.states[this.state].bytesIn[item];
    if (sent) node.append(badge(x + w, y, bytesText(sent)));
    const tip = svg("title");
    tip.textContent = words;
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

  edges(edges) {
    const { app } = this, { layout, model } = app, parts = [];
    const plain = [], stubs = [], sends = model.states[this.state].sends;
    const value = model.valuesOf[app.selected] ?? [];
    for (const edge of edges) {
      const rows = edge.uses.length < 40 ? this.collectives(edge, sends) : [];
      const isOn = edge.uses.some((e) => value.includes(model.data.edges[0][e]) || (app.selected && model.data.edges[1][e] === app.selected));
      if (!rows.length && !isOn) { (edge.isStub ? stubs : plain).push(layout.path(edge)); continue; }
      const line = svg("path", { d: layout.path(edge), class: `edge ${rows.length ? "sends" : ""} ${isOn ? "on" : ""}` });
      const bytes = rows.reduce((sum, n) => sum + model.states[this.state].collectives[n][3], 0);
      if (rows.length) line.style.strokeWidth = 1.5 + 6 * Math.sqrt(bytes / app.mostBytes);
      if (rows.length) line.append(tipOf(rows.map((n) => app.collectiveText(this.state, n)).join("\n")));
      parts.push(line);
    }
    if (plain.length) parts.unshift(svg("path", { d: plain.join(""), class: "edge" }));
    if (stubs.length) parts.unshift(svg("path", { d: stubs.join(""), class: "stub" }));
    return parts;
  }

  /** The collectives of a state for the operands that an edge stands for. */
  collectives(edge, sends) {
    const { model } = this.app, [, to, operand] = model.data.edges;
    const rows = edge.uses.flatMap((e) => (sends.get(to[e]) ?? []).filter((n) => model.states[this.state].collectives[n][7] === operand[e]));
    return [...new Set(rows)];
  }

  /** The ways of the axes of the selected value, between the boxes that are drawn. */
  ways() {
    const { app } = this, { layout } = app;
    return this.state ? [] : app.way.flatMap(([from, to]) => {
      const [first, last] = [layout.visible(from), layout.visible(to)];
      const a = layout.boxes.get(first), b = layout.boxes.get(last);
      if (!a || !b || a === b) return [];
      const edge = layout.edgeBetween(first, last);
      const isDown = b[1] >= a[1] + a[3], isUp = a[1] >= b[1] + b[3]; // from border to border, not across the words
      const [x1, y1, x2, y2] = [a[0] + a[2] / 2, a[1] + (isUp ? 0 : a[3]), b[0] + b[2] / 2, b[1] + (isDown ? 0 : b[3])];
      const way = `M${x1} ${y1}C${x1} ${(y1 + y2) / 2} ${x2} ${(y1 + y2) / 2} ${x2} ${y2}`;
      return [svg("path", { d: edge ? layout.path(edge) : way, class: "edge on", "stroke-dasharray": "6 4", "pointer-events": "none" })];
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

function tipOf(words) {
  const tip = svg("title");
  tip.textContent = words;
  return tip;
}

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
  const node = svg("g", { class: "item", "data-turn": `${item} ${step}`, role: "button", "aria-label": step < 0 ? "previous" : "next" }, rect([x, y, 22, 18], "box", { rx: 4 }));
  node.append(text(x + 11, y + 13, words, "", "middle"));
  return node;
}
