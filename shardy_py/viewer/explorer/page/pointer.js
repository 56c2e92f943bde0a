// Mouse, pen and fingers on a graph: panning, zooming, clicks.
"use strict";

const CLICK = 4; // pixels that a click may move

function listen(app, figure, root) {
  const pointers = new Map();
  let from = null, isMoved = false, spread = 0;
  const place = (event) => { const box = figure.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
  const middle = () => [...pointers.values()].reduce(([x, y], [px, py]) => [x + px / pointers.size, y + py / pointers.size], [0, 0]);
  const distance = () => { const [[ax, ay], [bx, by]] = [...pointers.values()]; return Math.hypot(ax - bx, ay - by); };
  const begin = () => { from = middle(); spread = pointers.size === 2 ? distance() : 0; };
  const end = (event) => { pointers.delete(event.pointerId); if (pointers.size) begin(); else { from = null; root.classList.remove("drag"); } };
  root.addEventListener("wheel", (event) => {
    event.preventDefault();
    if (event.shiftKey && !event.ctrlKey && !event.metaKey) app.pan(event.deltaY / app.camera.scale, 0);
    else app.zoom(Math.exp(-event.deltaY * 0.0015), ...place(event));
  }, { passive: false });
  root.addEventListener("pointerdown", (event) => {
    if (!pointers.size) isMoved = false;
    pointers.set(event.pointerId, place(event));
    begin();
  });
  root.addEventListener("pointermove", (event) => {
    if (!from || !pointers.has(event.pointerId)) return;
    if (!event.buttons) { end(event); return; } // released outside
    pointers.set(event.pointerId, place(event));
    const at = middle(), [dx, dy] = [at[0] - from[0], at[1] - from[1]];
    if (!isMoved && Math.hypot(dx, dy) < CLICK && pointers.size === 1) return;
    if (!isMoved) { isMoved = true; root.setPointerCapture(event.pointerId); root.classList.add("drag"); }
    app.pan(-dx / app.camera.scale, -dy / app.camera.scale);
    if (spread) { app.zoom(distance() / spread, ...at); spread = distance(); }
    from = at;
  });
  root.addEventListener("pointerup", end);
  root.addEventListener("pointercancel", end);
  root.addEventListener("click", (event) => {
    if (isMoved) return;
    const turned = event.target.closest("[data-turn]");
    if (turned) { app.turn(...turned.dataset.turn.split(" ").map(Number)); return; }
    const item = Number(event.target.closest("[data-item]")?.dataset.item ?? 0), { model } = app;
    const isGroup = item && model.children[item].length > 0;
    if (isGroup && (!model.valuesOf[item].length || item === app.selected)) app.toggle(item);
    app.select(item);
  });
}
