// The program from afar: names of groups at the size of the screen's text, and cost as heat.
"use strict";

const HEATS = [0.002, 0.02, 0.05, 0.12, 0.3]; // shares of the cost from which on a box is warmer
const LABEL = 11, LABEL_WIDTH = 6.5, SMALL_WIDTH = 5.6, MOST_LABELS = 150;

function heatLevel(share) { return HEATS.filter((least) => share >= least).length; }

/** Names where there is room, those of expensive and large groups first; none is over another. */
function overviewLabels(view, groups, items) {
  const { app } = view, { model, layout, camera } = app, size = LABEL / camera.scale, pixel = 1 / camera.scale;
  const isNamed = (item) => { const [, , w, h] = layout.boxes.get(item); return w * camera.scale >= 30 && h * camera.scale >= 9; };
  const names = [...groups.map((item) => [item, true]), ...items.map((item) => [item, false])].filter(([item]) => isNamed(item));
  const weight = ([item, isOpen]) => (isOpen ? 2 : 0) + (model.children[item].length ? 1 : 0) + model.share(view.state, item);
  const taken = [], labels = [];
  for (const [item, isOpen] of names.sort((a, b) => weight(b) - weight(a)).slice(0, 6 * MOST_LABELS)) {
    const [x, y, w, h] = layout.boxes.get(item), share = model.share(view.state, item), isGroup = model.children[item].length > 0;
    const isTall = !isOpen && h * camera.scale >= 26, cost = share >= 0.005 && isGroup ? shareText(share) : "";
    const top = isOpen ? y + 2 * pixel : isTall ? y + h / 2 - size * 1.05 : y + h / 2 - size / 2;
    const placed = (words) => [x + 3 * pixel, top, words.length * LABEL_WIDTH * pixel, isTall && cost ? 2 * size : size];
    const title = app.title(item), room = Math.floor((w * camera.scale - 6) / LABEL_WIDTH);
    const isFree = (words) => words.length <= room || !items.some((other) => other !== item && overlaps(placed(words), layout.boxes.get(other)));
    const words = [cost && !isTall ? `${title} ${cost}` : title, title].find(isFree) ?? clip(title, Math.max(3, room));
    const place = placed(words);
    if (taken.some((other) => overlaps(place, other))) continue;
    taken.push(place);
    const line = (words, height, name, part) => {
      const label = text(place[0], top + height, words, `overview ${name}`);
      label.style.fontSize = `${size * part}px`;
      label.style.strokeWidth = `${2.5 * pixel}px`;
      return label;
    };
    const most = model.mostIn(view.state, item), below = most > 0 ? `${cost} ${model.label(most)}` : cost;
    const second = isTall && cost ? [line(clip(below, (w * camera.scale - 6) / SMALL_WIDTH), size * 1.95, "", 0.83)] : [];
    labels.push(svg("g", { class: `item ${app.isOff(item, view) ? "off" : ""}`, "data-item": item }, line(words, size * 0.86, isGroup ? "title" : "", 1), ...second));
    if (labels.length === MOST_LABELS) break;
  }
  return labels;
}

function overlaps([ax, ay, aw, ah], [bx, by, bw, bh]) { return ax < bx + bw && bx < ax + aw && ay < by + bh && by < ay + ah; }
