// The details on the right: of a cause, a change, a box, or of the program.
"use strict";

class Panel {
  constructor(app) { this.app = app; }

  draw() {
    const { app } = this, root = document.getElementById("panel");
    const parts = app.selected > 0 ? this.item(app.selected) : app.cause >= 0 ? causePanel(app, app.cause) : app.change >= 0 ? changePanel(app, app.change) : this.program();
    root.replaceChildren(...parts);
    root.scrollTop = 0;
  }

  rows(rows) {
    return node("table", {}, ...rows.filter((row) => row && row[1]).map(([key, value]) => node("tr", {}, node("td", {}, key), node("td", {}, value))));
  }

  program() {
    const keys = [["drag, wheel", "move, zoom"], ["click", "select; opens and closes groups"], ["+ \u2212", "zoom"], ["f", "fit the program"], ["/", "find"], ["\u2190 \u2192", "steps of propagation"], ["space", "play"], ["enter", "open or close the selected group"], ["esc", "clear the selection"]];
    return [node("h2", {}, "Program"), this.facts(), node("h3", {}, "Keys"), this.rows(keys)];
  }

  /** The figures of the program, of each state. */
  facts() {
    const { app } = this, { model } = app;
    const parts = [this.rows([["ops", model.opsIn[0].toLocaleString("en")], ["steps of propagation", app.time.steps.length.toLocaleString("en")]])];
    for (const state of model.states) {
      if (!state.summary.length) continue;
      const [bytes, seconds, count, partitioner, links, memory] = state.summary;
      parts.push(node("h3", {}, model.states.length > 1 ? state.name : "In all"), this.rows([["collectives", count.toLocaleString("en")], ["each device receives", bytesText(bytes)], ["time", `${secondsText(seconds)} on ${links}`], ["partitioner", partitioner], ["memory", memory === null ? "" : `${bytesText(memory)} allocated on a device`]]));
    }
    return node("section", { class: "facts" }, ...parts);
  }

  item(item) {
    const { app } = this, { model } = app;
    const op = model.text(model.data.items.op[item]), values = model.valuesOf[item];
    const parts = [node("h2", {}, app.title(item)), node("p", { class: "soft mono" }, op === app.title(item) ? "" : op)];
    parts.push(this.rows([["ops", model.children[item].length ? model.opsIn[item].toLocaleString("en") : ""], ["line", model.place(item)]]));
    const shown = values.slice(0, 8);
    shown.forEach((value) => parts.push(...this.value(value)));
    parts.push(...this.sends(item), ...compiledParts(app, item), ...this.source(item), ...this.operands(item));
    if (values.length) parts.push(...this.devices(values[0]));
    const reasons = shown.flatMap((value) => { const sharding = model.sharding(app.time.now[value]); return [...this.why(value, sharding), ...this.whyNot(value, sharding)]; });
    return reasons.length ? [...parts, node("h3", {}, "reasons"), ...reasons] : parts;
  }

  value(value) {
    const { app } = this, { model } = app, number = app.time.now[value], sharding = model.sharding(number);
    const bytes = `${bytesText(model.localBytes(value, number))} of ${bytesText(model.globalBytes(value))}`;
    return [node("h3", {}, model.name(value)), this.rows([
      ["type", node("span", { class: "mono" }, app.typeText(value, number))],
      ["on a device", node("span", { class: "mono" }, model.localShape(value, number).map((n) => n ?? "?").join("x") || "scalar")],
      ["bytes", bytes], ["sharding", node("span", { class: "mono" }, sharding ? sharding[3] : "none")],
      ...(model.states.length > 1 ? [[model.states[1].name, node("span", { class: "mono" }, this.otherSharding(value))]] : []),
    ])];
  }

  otherSharding(value) {
    const number = this.app.model.states[1].final[value];
    return number < 0 ? "not in this program" : this.app.model.sharding(number)?.[3] ?? "none";
  }

  /** The chain of steps of each axis back to an annotation, folded. */
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
        parts.push(node("details", {}, node("summary", {}, `why ${app.model.name(value)} dim ${dimension} along `, app.chip(axis)), node("ol", {}, ...list, start)));
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

  source(item, around = 4) {
    const { app } = this, match = /^(.*?):(\d+)(?::\d+)?(?:\s|$)/.exec(app.model.place(item));
    const file = match && app.model.data.sources.find(([name]) => name === match[1]);
    if (!file) return [];
    const line = Number(match[2]), near = file[1].filter(([n]) => Math.abs(n - line) <= around);
    const bytes = app.bytesByLine(match[1]);
    const indent = Math.min(...near.filter(([, words]) => words.trim()).map(([, words]) => words.search(/\S/)));
    const rows = near.map(([n, words]) => node("span", { class: n === line ? "here" : "" }, `${String(n).padStart(5)} ${(bytes.get(n) ? bytesText(bytes.get(n)) : "").padStart(10)}  ${words.slice(indent)}\n`));
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
