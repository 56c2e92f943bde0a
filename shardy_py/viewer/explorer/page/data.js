// The data of the page: decoded once, with lookups. Nothing here touches the picture.
"use strict";

async function readData() {
  const text = document.getElementById("data").textContent;
  const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}

class Model {
  constructor(data) {
    this.data = data;
    this.texts = data.texts;
    const { items, values, edges } = data;
    this.count = items.kind.length;
    this.parent = items.parent;
    this.kind = items.kind.map((t) => this.texts[t]);
    this.children = Array.from({ length: this.count }, () => []);
    for (let i = 1; i < this.count; i++) this.children[this.parent[i]].push(i);
    this.depth = new Int32Array(this.count);
    for (let i = 1; i < this.count; i++) this.depth[i] = this.depth[this.parent[i]] + 1;
    this.valuesOf = Array.from({ length: this.count }, () => []);
    values.item.forEach((item, value) => { if (item >= 0) this.valuesOf[item].push(value); });
    this.layouts = new Map();
    for (const [group, children, rows, centers, points, widths] of data.layouts) {
      this.children[group] = children;
      this.layouts.set(group, { rows, centers, points, widths });
    }
    this.inputs = Array.from({ length: this.count }, () => []);
    this.users = values.item.map(() => []);
    const [from, to, operand] = edges;
    from.forEach((value, e) => {
      this.inputs[to[e]].push([value, operand[e]]);
      this.users[value].push(to[e]);
    });
    this.opsIn = new Int32Array(this.count);
    for (let i = this.count - 1; i > 0; i--) {
      if (this.kind[i] === "op") this.opsIn[i] += 1;
      this.opsIn[this.parent[i]] += this.opsIn[i];
    }
    this.axes = [...new Map(data.meshes.flatMap(([, axes]) => pairs(axes))).entries()];
    this.colour = new Map(this.axes.map(([name], n) => [name, n]));
    this.refused = new Map();
    for (const [value, ...answer] of data.refused) this.refused.set(value, [...(this.refused.get(value) ?? []), answer]);
    this.states = [{ name: data.title, final: values.final, collectives: data.collectives, summary: data.summary }];
    if (data.other) this.states.push({ ...data.other, name: data.other.title });
    for (const state of this.states) this.prepare(state);
  }

  prepare(state) {
    state.sends = new Map();
    state.collectives.forEach((row, n) => {
      const item = row[6];
      if (item >= 0) state.sends.set(item, [...(state.sends.get(item) ?? []), n]);
    });
    state.bytesIn = new Float64Array(this.count);
    state.costIn = new Float64Array(this.count); // seconds, or bytes of links without a time
    const isTimed = state.collectives.some((row) => row[4] > 0);
    for (const [item, rows] of state.sends) {
      for (const n of rows) { state.bytesIn[item] += state.collectives[n][3]; state.costIn[item] += state.collectives[n][isTimed ? 4 : 3]; }
    }
    for (let i = this.count - 1; i > 0; i--) { state.bytesIn[this.parent[i]] += state.bytesIn[i]; state.costIn[this.parent[i]] += state.costIn[i]; }
    state.cost = state.collectives.reduce((all, row) => all + row[isTimed ? 4 : 3], 0);
  }

  /** The part of the cost of all collectives of a state that is for ops in an item. */
  share(state, item) { const { cost, costIn } = this.states[state]; return cost ? costIn[item] / cost : 0; }

  /** The op of an item that costs most; 0 if none communicates. */
  mostIn(state, item) {
    const { costIn } = this.states[state];
    let most = item;
    while (this.children[most].length && costIn[most]) most = this.children[most].reduce((best, child) => (costIn[child] > costIn[best] ? child : best));
    return costIn[most] && most !== item ? most : 0;
  }

  /** Marks of some items and of the groups around them. */
  withAncestors(items) {
    const marks = new Set();
    for (let item of items) for (; item > 0 && !marks.has(item); item = this.parent[item]) marks.add(item);
    return marks;
  }

  text(n) { return this.texts[n]; }
  label(item) { return this.texts[this.data.items.label[item]]; }
  place(item) { return this.texts[this.data.items.place[item]]; }
  name(value) { return this.texts[this.data.values.name[value]]; }
  sharding(number) { return number > 0 ? this.data.shardings[number] : null; }
  ancestors(item) { const found = []; for (let i = this.parent[item]; i > 0; i = this.parent[i]) found.push(i); return found; }

  /** The children of one group above two items, or null if one is around the other. */
  beside(a, b) {
    const { depth, parent } = this;
    while (depth[a] > depth[b]) a = parent[a];
    while (depth[b] > depth[a]) b = parent[b];
    if (a === b) return null;
    while (parent[a] !== parent[b]) { a = parent[a]; b = parent[b]; }
    return [a, b];
  }

  /** Pieces of a type: text, and the axis that it names or "". */
  typePieces(value, number) {
    const [element, sizes] = this.data.types[this.data.values.type[value]];
    const sharding = this.sharding(number);
    if (!sizes.length) return [[element, ""]];
    const pieces = [[`${element}[`, ""]];
    sizes.forEach((size, d) => {
      pieces.push([`${d ? "," : ""}${size ?? "?"}`, ""]);
      for (const [axis] of pairs(sharding?.[1][d] ?? [])) pieces.push([`@${axis}`, axis]);
    });
    return [...pieces, ["]", ""]];
  }

  localShape(value, number) {
    const sizes = this.data.types[this.data.values.type[value]][1];
    const sharding = this.sharding(number);
    return sizes.map((size, d) => {
      const parts = pairs(sharding?.[1][d] ?? []).reduce((all, [, n]) => all * n, 1);
      return size === null ? null : Math.ceil(size / parts);
    });
  }

  localBytes(value, number) {
    const bits = this.data.types[this.data.values.type[value]][2];
    return Math.ceil(this.localShape(value, number).reduce((all, n) => all * (n ?? 1), bits) / 8);
  }

  globalBytes(value) { return this.localBytes(value, 0); }
}

function pairs(flat) {
  const found = [];
  for (let i = 0; i < flat.length; i += 2) found.push([flat[i], flat[i + 1]]);
  return found;
}

function bytesText(count) {
  const units = ["B", "kB", "MB", "GB", "TB", "PB"];
  let unit = 0;
  while (count >= 1000 && unit < units.length - 1) { count /= 1000; unit++; }
  return `${unit ? count.toFixed(2) : count} ${units[unit]}`;
}

function shareText(share) { return share >= 0.995 || share === 0 ? `${Math.round(share * 100)} %` : share < 0.01 ? "< 1 %" : `${Math.round(share * 100)} %`; }

function secondsText(seconds) {
  if (!seconds) return "0 s";
  for (const [unit, size] of [["s", 1], ["ms", 1e-3], ["us", 1e-6]]) if (seconds >= size) return `${(seconds / size).toFixed(2)} ${unit}`;
  return `${(seconds / 1e-9).toFixed(2)} ns`;
}

const axisName = (axis) => axis.split(":")[0];

/** The shardings at a step of the propagation; moving by a few steps changes only what they changed. */
class Timeline {
  constructor(model) {
    this.model = model;
    this.steps = model.data.steps;
    this.at = this.steps.length;
    this.now = Int32Array.from(model.data.values.final);
    this.undo = [];
    const state = Int32Array.from(model.data.values.start);
    for (const [, , changes] of this.steps) {
      const before = [];
      for (const [value, sharding] of pairs(changes)) { before.push(value, state[value]); state[value] = sharding; }
      this.undo.push(before);
    }
  }

  go(step) {
    while (this.at < step) for (const [v, s] of pairs(this.steps[this.at++][2])) this.now[v] = s;
    while (this.at > step) for (const [v, s] of pairs(this.undo[--this.at]).reverse()) this.now[v] = s;
  }

  /** By value, the moves of its axes: [step, dimension, axis, source value, source dimension]. */
  get moves() {
    if (!this.known) {
      this.known = new Map();
      this.steps.forEach(([, , , moves], n) => {
        for (const [value, dimension, axis, source, at] of moves) {
          if (!this.known.has(value)) this.known.set(value, []);
          this.known.get(value).push([n, dimension, this.model.text(axis), source, at]);
        }
      });
    }
    return this.known;
  }

  /** The way of an axis from an annotation to a value: [step, value, dimension], the last one first. */
  chain(value, dimension, axis) {
    const links = [];
    let before = this.steps.length;
    for (;;) {
      const found = (this.moves.get(value) ?? []).find(([n, d, a]) => n < before && d === dimension && axisName(a) === axisName(axis));
      if (!found) return { links, root: value, dimension };
      links.push([found[0], value, dimension]);
      [before, , , value, dimension] = found;
      if (value < 0) return { links, root: -1, dimension };
    }
  }
}
