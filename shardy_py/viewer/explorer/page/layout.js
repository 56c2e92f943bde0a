// Where boxes are: rows and order come with the data; opening a group moves what is beside and below it.
"use strict";

const LEAF = 44, HEAD = 40, PAD = 16, ROW = 36, GAP = 24, WAYPOINT = 6;
const LONGEST = 7; // rows from the start of a line to its end, at most

/** Centers nearest to the wanted ones that keep the order and do not overlap (pooling adjacent violators). */
function apart(wanted, sizes) {
  const offsets = [], blocks = [];
  let at = 0;
  sizes.forEach((size, i) => { at += i ? (sizes[i - 1] + size) / 2 + GAP : 0; offsets.push(at); });
  wanted.forEach((want, i) => {
    let mean = want - offsets[i], members = 1;
    while (blocks.length && blocks.at(-1)[0] > mean) {
      const [other, more] = blocks.pop();
      mean = (mean * members + other * more) / (members + more);
      members += more;
    }
    blocks.push([mean, members]);
  });
  return blocks.flatMap(([mean, members]) => Array(members).fill(mean)).map((base, i) => base + offsets[i]);
}

/** The index of the first row that ends below a height. */
function firstBelow(rows, height) {
  let low = 0, high = rows.length;
  while (low < high) { const middle = (low + high) >> 1; if (rows[middle].bottom < height) low = middle + 1; else high = middle; }
  return low;
}

class Layout {
  constructor(model) {
    this.model = model;
    this.open = new Set([0]);
    this.shown = new Map(); // of a repeated group, the index of the child that is shown
    this.widths = new Float64Array(model.count).fill(84);
    for (const [group, { widths }] of model.layouts) model.children[group].forEach((child, i) => { this.widths[child] = widths[i]; });
    for (const child of model.children[0]) if (model.children[0].length === 1 || model.label(child) === "@main") this.openInto(child);
    for (let i = 1; i < model.count; i++) if (model.kind[i] === "pass" && this.open.has(model.parent[i]) && model.children[i].length > 1) this.open.add(i);
    this.pairs = this.pairsByGroup();
    this.update();
  }

  isOpen(item) { return this.open.has(item) && this.model.children[item].length > 0; }
  childrenShown(item) {
    const children = this.model.children[item];
    return this.model.kind[item] === "repeat" ? [children[this.shown.get(item) ?? 0]] : children;
  }

  toggle(item, isOpen = !this.open.has(item)) {
    if (!this.model.children[item].length) return;
    if (isOpen) this.openInto(item); else this.open.delete(item);
    this.update();
  }

  /** Opens a group, all members of a repeated one, and a group that is alone in it. */
  openInto(item) {
    const children = this.model.children[item];
    this.open.add(item);
    if (this.model.kind[item] === "repeat") for (const child of children) this.openInto(child);
    else if (children.length === 1 && this.model.children[children[0]].length) this.openInto(children[0]);
  }

  /** Opens all groups around an item. */
  reveal(item) {
    let before = item;
    for (const group of this.model.ancestors(item)) {
      this.open.add(group);
      if (this.model.kind[group] === "repeat") this.shown.set(group, this.model.children[group].indexOf(before));
      before = group;
    }
    this.update();
  }

  /** For each group, the pairs of its children with an edge between them, with the values that it stands for. */
  pairsByGroup() {
    const { model } = this, found = new Map();
    const [from, to] = model.data.edges;
    from.forEach((value, e) => {
      const pair = model.beside(model.data.values.item[value], to[e]);
      if (!pair) return;
      const group = model.parent[pair[0]], key = pair[0] * model.count + pair[1];
      if (!found.has(group)) found.set(group, new Map());
      const edges = found.get(group);
      if (!edges.has(key)) edges.set(key, { from: pair[0], to: pair[1], uses: [] });
      edges.get(key).uses.push(e);
    });
    return found;
  }

  /** Boxes of all items that are drawn: x, y of the upper left corner, width, height; and the edges. */
  update() {
    const { model } = this;
    this.sizes = new Map();
    const order = [0];
    for (let i = 0; i < order.length; i++) if (this.isOpen(order[i])) order.push(...this.childrenShown(order[i]));
    for (const item of order.reverse()) this.measure(item);
    this.boxes = new Map([[0, [0, 0, ...this.sizes.get(0).slice(0, 2)]]]);
    this.inside = new Map(); // of an open group: its rows from the top, and the edges that start or end in each
    for (const item of order.reverse()) if (this.isOpen(item)) this.putInside(item);
    const [, , width, height] = this.boxes.get(0);
    this.bounds = [0, 0, width, height];
  }

  measure(item) {
    if (!this.isOpen(item)) { this.sizes.set(item, [this.widths[item], LEAF]); return; }
    const { model } = this, children = model.children[item], layout = model.layouts.get(item);
    const rows = layout ? layout.rows : [[0]];
    const shown = layout ? children : this.childrenShown(item);
    const heights = [], placed = [];
    let left = Infinity, right = -Infinity;
    rows.forEach((row, r) => {
      const sizes = row.map((i) => (i < shown.length ? this.sizes.get(shown[i])[0] : WAYPOINT));
      const centers = layout ? apart(layout.centers[r], sizes) : [0];
      heights.push(Math.max(...row.map((i) => (i < shown.length ? this.sizes.get(shown[i])[1] : 0)), LEAF));
      placed.push(centers);
      if (sizes.length) { left = Math.min(left, centers[0] - sizes[0] / 2); right = Math.max(right, centers.at(-1) + sizes.at(-1) / 2); }
    });
    const width = Math.max(right - left + 2 * PAD, this.widths[item], model.kind[item] === "repeat" ? 280 : 0);
    const shift = (width - (right - left)) / 2 - left;
    const height = HEAD + PAD + heights.reduce((a, b) => a + b, 0) + ROW * (rows.length - 1);
    this.sizes.set(item, [width, height, { rows, shown, placed, heights, shift }]);
  }

  putInside(item) {
    const [x, y] = this.boxes.get(item), [, , inside] = this.sizes.get(item);
    const points = new Map();
    const rows = [];
    let top = y + HEAD;
    inside.rows.forEach((row, r) => {
      rows.push({ top, bottom: top + inside.heights[r], items: row.filter((i) => i < inside.shown.length).map((i) => inside.shown[i]), from: [], stubs: [] });
      row.forEach((i, at) => {
        const center = x + inside.shift + inside.placed[r][at];
        if (i >= inside.shown.length) { points.set(i, [center, top, top + inside.heights[r]]); return; }
        const [w, h] = this.sizes.get(inside.shown[i]);
        this.boxes.set(inside.shown[i], [center - w / 2, top, w, h]);
      });
      top += inside.heights[r] + ROW;
    });
    this.inside.set(item, rows);
    const layout = this.model.layouts.get(item);
    if (!layout) return;
    const chains = new Map(layout.points.map(([a, b, ...chain]) => [`${a} ${b}`, chain]));
    const index = new Map(inside.shown.map((child, i) => [child, i]));
    const row = new Map(inside.rows.flatMap((each, r) => each.map((i) => [i, r])));
    for (const edge of this.pairs.get(item)?.values() ?? []) {
      const a = index.get(edge.from), b = index.get(edge.to), chain = chains.get(`${a} ${b}`) ?? [];
      const first = row.get(a), last = row.get(b), isStub = last - first !== chain.length + 1;
      const placed = { from: edge.from, to: edge.to, uses: edge.uses, group: item, isStub, last, via: chain.map((i) => points.get(i)) };
      if (!isStub) rows[first].from.push(placed);
      else { rows[first].stubs.push(placed); if (last !== first) rows[last].stubs.push(placed); }
    }
  }

  /** What is in a part of the plane: open groups, each after those around it, with their edges; and other boxes.
   *  least: open groups that are lower count as one box; of rows nearer than half of it one is taken. */
  near([left, top, right, bottom], least) {
    const groups = [], items = [], pending = [0];
    const isIn = ([x, y, w, h]) => x < right && x + w > left && y < bottom && y + h > top;
    while (pending.length) {
      const group = pending.pop(), rows = this.inside.get(group) ?? [];
      const start = firstBelow(rows, top), edges = new Set();
      let last = start, drawn = -Infinity;
      for (let r = start; r < rows.length && rows[r].top < bottom; r++) {
        last = r;
        if (rows[r].bottom - drawn < least / 2) continue;
        drawn = rows[r].bottom;
        for (const item of rows[r].items) {
          const box = this.boxes.get(item);
          if (!isIn(box)) continue;
          if (this.inside.has(item) && box[3] >= least) pending.push(item); else items.push(item);
        }
      }
      if (ROW > least / 2) {
        for (let r = Math.max(0, start - LONGEST); r <= last && r < rows.length; r++) {
          for (const edge of rows[r].from) if (edge.last >= start) edges.add(edge);
          for (const edge of r >= start ? rows[r].stubs : []) edges.add(edge);
        }
      }
      groups.push({ item: group, edges });
    }
    return { groups, items };
  }

  /** The edge between two boxes that is drawn as a line, if there is one. */
  edgeBetween(from, to) {
    const rows = this.inside.get(this.model.parent[from]) ?? [];
    const row = rows[firstBelow(rows, this.boxes.get(from)[1])];
    return row?.from.find((edge) => edge.from === from && edge.to === to);
  }

  /** The item itself, or the closed group that hides it; null if another of a repeated group is shown. */
  visible(item) {
    if (this.boxes.has(item)) return item;
    return this.model.ancestors(item).find((group) => this.boxes.has(group)) ?? 0;
  }

  path(edge) {
    const a = this.boxes.get(edge.from), b = this.boxes.get(edge.to);
    const start = [a[0] + a[2] / 2, a[1] + a[3]], end = [b[0] + b[2] / 2, b[1]];
    if (edge.isStub) {
      const side = end[0] > start[0] ? 1 : -1;
      return `M${start[0]} ${start[1]}q0 8 ${side * 10} 14M${end[0]} ${end[1]}q0 -8 ${-side * 10} -14`;
    }
    let [x, y] = start, path = `M${x} ${y}`;
    for (const [px, top, bottom] of edge.via) {
      path += `C${x} ${y + ROW * 0.6} ${px} ${top - ROW * 0.6} ${px} ${top}L${px} ${bottom}`;
      [x, y] = [px, bottom];
    }
    const middle = Math.max(ROW * 0.6, (end[1] - y) / 2);
    return `${path}C${x} ${y + middle} ${end[0]} ${end[1] - middle} ${end[0]} ${end[1]}`;
  }
}
