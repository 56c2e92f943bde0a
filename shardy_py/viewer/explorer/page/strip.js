// The strip below the graph: the bytes alive on a device at each op, with the shardings of now.
"use strict";

class Strip {
  constructor(app) {
    this.app = app;
    this.root = document.getElementById("strip");
    this.root.addEventListener("click", (event) => this.follow(event.offsetX / this.root.clientWidth));
  }

  /** Drawn again only if what it shows has changed: panning does not. */
  draw() {
    const w = this.root.clientWidth, { app } = this, key = [w, app.time.at, app.selected].join();
    if (!w || key === this.key) return;
    this.key = key;
    const { items, bytes } = this.alive(), h = 40, most = bytes.reduce((a, b) => Math.max(a, b), 1);
    if (!bytes.length) return;
    this.root.setAttribute("viewBox", `0 0 ${w} ${h}`);
    const x = (i) => (i / Math.max(1, bytes.length - 1)) * w, y = (b) => h - 3 - (b / most) * (h - 20);
    const line = this.sampled(bytes, w).map(([i, b]) => `${x(i).toFixed(1)} ${y(b).toFixed(1)}`).join("L"), peak = bytes.indexOf(most);
    const isRight = x(peak) > w * 0.5;
    const label = text(x(peak) + (isRight ? -6 : 6), 11, clip(`${bytesText(most)} of values alive at once on a device, at ${app.title(items[peak])}`, (w / 2) / 6.6), "", isRight ? "end" : null);
    const parts = [svg("path", { d: `M0 ${h}L${line}L${w} ${h}z`, class: "curve" }), svg("path", { d: `M${line}`, class: "curve-line" }), svg("path", { d: `M${x(peak)} 0V${h}`, class: "peak" }), label];
    const at = items.indexOf(app.selected);
    if (at >= 0) parts.push(svg("path", { d: `M${x(at)} 0V${h}`, class: "cursor" }));
    this.root.replaceChildren(...parts);
  }

  /** The largest of the ops that share a pixel. */
  sampled(bytes, width) {
    const step = Math.max(1, Math.ceil(bytes.length / width)), found = [];
    for (let i = 0; i < bytes.length; i += step) {
      let most = i;
      for (let j = i; j < Math.min(i + step, bytes.length); j++) if (bytes[j] > bytes[most]) most = j;
      found.push([most, bytes[most]]);
    }
    return found;
  }

  follow(share) { const { items } = this.alive(); this.app.select(items[Math.round(share * (items.length - 1))], true); }

  /** The bytes of the values alive at each op, on a device; ops in program order. */
  alive() {
    const { app } = this, { model } = app;
    if (this.known?.step === app.time.at) return this.known;
    const [order, first, last] = model.data.lives, change = new Float64Array(order.length + 1);
    first.forEach((at, value) => {
      if (at < 0) return;
      const size = model.localBytes(value, app.time.now[value]);
      change[at] += size;
      change[last[value] + 1] -= size;
    });
    let sum = 0;
    const bytes = order.map((_, i) => (sum += change[i]));
    return (this.known = { step: app.time.at, items: order, bytes });
  }
}
