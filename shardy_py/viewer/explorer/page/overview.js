// The program from afar: names of groups at the size of the screen's text, and cost as heat.
"use strict";

const HEATS = [0.002, 0.02, 0.05, 0.12, 0.3]; // shares of the cost from which on a box is warmer
const LABEL = 12, LABEL_WIDTH = 6.9, MOST_LABELS = 120;

function heatLevel(share) { return HEATS.filter((least) => share >= least).length; }

/** Names where there is room, those of expensive and large groups first; none is over another. */
function overviewLabels(view, groups, items) {
  const { app } = view, { model, layout, camera } = app, size = LABEL / camera.scale;
  const isNamed = (item) => { const [, , w, h] = layout.boxes.get(item); return w * camera.scale >= 34 && h * camera.scale >= 9; };
  const names = [...groups.map((item) => [item, true]), ...items.map((item) => [item, false])].filter(([item]) => isNamed(item));
  const weight = ([item, isOpen]) => (isOpen ? 2 : 0) + (model.children[item].length ? 1 : 0) + model.share(view.state, item);
  const taken = [], labels = [];
  for (const [item, isOpen] of names.sort((a, b) => weight(b) - weight(a)).slice(0, 6 * MOST_LABELS)) {
    const [x, y, w, h] = layout.boxes.get(item), share = model.share(view.state, item);
    const cost = share >= 0.005 && model.children[item].length ? ` ${shareText(share)}` : "";
    const room = Math.floor(Math.max(w * camera.scale + (isOpen ? 0 : 60), model.children[item].length ? 96 : 0) / LABEL_WIDTH);
    const words = clip(app.title(item), Math.max(3, room - cost.length)) + cost;
    const place = [x + 4 / camera.scale, isOpen ? y + size * 1.15 : y + h / 2 + size * 0.36, (words.length * LABEL_WIDTH) / camera.scale, size];
    if (taken.some((other) => overlaps(place, other))) continue;
    taken.push(place);
    const label = text(place[0], place[1], words, `overview ${model.children[item].length ? "title" : ""}`);
    label.style.fontSize = `${size}px`;
    label.style.strokeWidth = `${3 / camera.scale}px`;
    labels.push(svg("g", { class: `item ${app.isOff(item, view) ? "off" : ""}`, "data-item": item }, label));
    if (labels.length === MOST_LABELS) break;
  }
  return labels;
}

function overlaps([ax, ay, aw, ah], [bx, by, bw, bh]) { return ax < bx + bw && bx < ax + aw && ay < by + bh && by < ay + ah; }
