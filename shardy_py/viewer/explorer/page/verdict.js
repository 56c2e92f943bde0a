// The verdict: what the program costs, what to change, the largest causes; and the details of a cause or a change.
"use strict";

/** The list on which the page opens. */
function verdictList(app) {
  const { model } = app, { verdict } = model.data;
  const changes = verdict.changes.map((change, n) => node("li", {}, changeButton(app, change, n)));
  const tried = `${verdict.tried} ${verdict.tried === 1 ? "change was" : "changes were"} tried${changes.length > 1 ? ", each on top of those before" : ""}.`;
  const answers = [
    () => node("h3", {}, "What to change"),
    () => (changes.length ? node("ol", { class: "changes" }, ...changes) : soft(verdict.without_changes)),
    ...(changes.length ? [() => soft(tried)] : []),
    () => node("h3", {}, "Largest causes"),
    ...verdict.causes.map((cause, n) => () => causeEntry(app, cause, n)),
    ...(verdict.others ? [() => soft(`and ${verdict.others} smaller`)] : []),
  ];
  return [
    () => node("p", { class: "headline" }, `${verdict.headline.slice(0, 1).toUpperCase()}${verdict.headline.slice(1)}`),
    ...(verdict.causes.length ? answers : []),
    ...verdict.notes.map((note) => () => soft(`note: ${note}`)),
    () => app.panel.facts(),
  ];
}

function changeButton(app, change, n) {
  const isOn = app.change === n;
  return node("button", { class: `entry ${isOn ? "on" : ""}`, "aria-pressed": String(isOn), onclick: () => app.showChange(n) },
    node("b", { class: "mono", title: change.words }, change.words), node("small", { class: "saving" }, savingText(change)));
}

const sizes = ([before, after], words) => `${words(before)} \u2192 ${words(after)}`;
function savingText(change) {
  const part = change.bytes[0] ? ` (${Math.round((100 * (change.bytes[1] - change.bytes[0])) / change.bytes[0])} %)` : "";
  return `${sizes(change.bytes, bytesText)}${part}, ${sizes(change.seconds, secondsText)}`;
}

function causeEntry(app, cause, n) {
  const isOn = app.cause === n, bar = node("span", { class: `share heat-${heatLevel(cause.share)}` });
  bar.style.width = `${Math.max(2, 100 * cause.share)}%`;
  const remedy = app.remedyOf(cause), { code, place } = causeWords(cause);
  const helps = helpsText(app, cause) || (remedy ? `alone: ${remedy.words}` : "no change that was tried helps");
  return node("button", { class: `entry cause ${isOn ? "on" : ""}`, "aria-pressed": String(isOn), onclick: () => app.showCause(n) },
    node("span", { class: "amount" }, `${shareText(cause.share)} \u00b7 ${bytesText(cause.bytes)}`), node("b", { class: "mono" }, code),
    node("span", { class: "bar" }, bar), node("small", {}, `${place} \u00b7 ${cause.repeats}`), node("small", {}, helps));
}

/** The rows of a cause that a change removes or makes cheaper. */
function helpedRows(change, cause) {
  const rows = new Set([...change.removed, ...change.less]);
  return cause.rows.filter((row) => rows.has(row));
}

/** Which changes of the verdict help a cause, with how many of its collectives. */
function helpsText(app, cause) {
  const found = app.model.data.verdict.changes.map((change, n) => [n + 1, helpedRows(change, cause).length]).filter(([, count]) => count);
  return found.map(([n, count]) => `change ${n} helps ${count === cause.rows.length ? (count > 1 ? `all ${count}` : "") : `${count} of ${cause.rows.length}`}`.trim()).join(", ");
}

/** The code of the line, or where it is not at hand the op with the place of it. */
function causeWords(cause) {
  const place = shortPlace(cause.place);
  return { code: cause.code || place || "an op without a location", place };
}

/** The details of a cause: its collectives, the line's code, the remedy; the reasons last and folded. */
function causePanel(app, n) {
  const { model } = app, cause = model.data.verdict.causes[n], remedy = app.remedyOf(cause), { code, place } = causeWords(cause);
  const gone = new Set(remedy?.removed ?? []), less = new Set(remedy?.less ?? []);
  const own = [cause.rows.filter((row) => gone.has(row)).length, cause.rows.filter((row) => less.has(row)).length];
  return [
    node("h2", { class: "mono" }, code),
    node("p", {}, `Cause ${n + 1}: ${shareText(cause.share)} of the time of all collectives, ${bytesText(cause.bytes)}, ${secondsText(cause.seconds)}.`),
    soft(`${place} \u00b7 ${cause.repeats}`),
    node("h3", {}, `collectives (${cause.rows.length})`),
    ...rowList(app, cause.rows, gone, less),
    ...(cause.item > 0 ? app.panel.source(cause.item, 2) : []),
    node("h3", {}, "remedy"),
    ...(remedy ? [soft(remedyWords(app, cause, remedy)), ...changeParts(app, remedy), soft(partText(own, cause.rows.length))] : [soft("No change that was tried helps this cause.")]),
    node("details", {}, node("summary", {}, "Why: where its axes come from"), node("p", {}, cause.reason), node("ul", {}, ...cause.origins.map((origin) => node("li", {}, origin))),
      ...(cause.item > 0 ? [node("button", { class: "link", onclick: () => app.select(cause.item, true) }, `go to ${app.title(cause.item)}`), ...operandReasons(app, cause.item)] : [])),
  ];
}

/** Where a remedy stands among the changes of the verdict. */
function remedyWords(app, cause, remedy) {
  const step = cause.step || app.model.data.verdict.changes.indexOf(remedy) + 1;
  return step ? `Change ${step} of the verdict:` : "The best that was tried for this cause alone:";
}

const partText = ([gone, less], all) => `Of the ${all} collective${all === 1 ? "" : "s"} of this cause it removes ${gone}${less ? ` and makes ${less} cheaper` : ""}.`;

/** The chains of the axes of the operands of an op: those that meet at it. */
function operandReasons(app, item) {
  return app.model.inputs[item].slice(0, 3).flatMap(([value]) => app.panel.why(value, app.model.sharding(app.time.now[value])));
}

/** A change in full: words, code to paste, edits of lines, effect, and what it does to the collectives. */
function changeParts(app, change) {
  const edits = change.edits.flatMap(([file, line, before, after]) => [soft(`${shortPlace(file)}:${line}`),
    node("pre", { class: "edit" }, node("span", { class: "del" }, `- ${before}\n`), node("span", { class: "ins" }, `+ ${after}\n`))]);
  const added = change.added.map(([kind, count, bytes]) => `${count} ${kind} (+${bytesText(bytes)})`).join(", ");
  const legend = [
    change.removed.length && node("li", {}, node("span", { class: "key gone" }), `removes ${change.removed.length}`),
    change.less.length && node("li", {}, node("span", { class: "key less" }), `makes ${change.less.length} cheaper`),
    added && node("li", {}, node("span", { class: "key" }), `adds or makes larger ${added}`),
  ].filter(Boolean);
  return [
    node("p", { class: "mono remedy" }, change.words),
    ...(change.code ? [node("pre", {}, change.code)] : []), ...edits,
    node("p", { class: "saving" }, change.effect), legend.length ? node("ul", { class: "keys" }, ...legend) : "",
  ];
}

function changePanel(app, n) {
  const { model } = app, change = model.data.verdict.changes[n];
  const order = n ? " It was tried on top of those before it." : "";
  const rows = [...change.removed, ...change.less];
  return [
    node("h2", {}, `Change ${n + 1}`), ...changeParts(app, change), order ? soft(order) : "",
    node("h3", {}, `collectives that it removes or makes cheaper (${rows.length})`),
    ...rowList(app, rows, new Set(change.removed), new Set(change.less)),
    ...(rows.length ? [] : [soft("Those that it removes are made by the changes before it.")]),
  ];
}

const ROWS_SHOWN = 6;

/** Collectives as links to their ops, the largest first, those alike together; what a change removes is struck out. */
function rowList(app, rows, gone, less) {
  const { model } = app, { collectives } = model.states[0], alike = new Map();
  for (const n of [...rows].sort((a, b) => collectives[b][3] - collectives[a][3])) {
    const key = [...collectives[n].slice(0, 4), collectives[n][5], gone.has(n) ? "gone" : less.has(n) ? "less" : ""].join();
    alike.set(key, [...(alike.get(key) ?? []), n]);
  }
  const link = (n, words) => (collectives[n][6] > 0 ? node("button", { class: "link", onclick: () => app.select(collectives[n][6], true) }, words) : words);
  const where = (n) => (collectives[n][6] > 0 ? scopeText(model, collectives[n][6]) || app.title(collectives[n][6]) : shortPlace(model.text(collectives[n][9])));
  const lines = [...alike.values()].map((same) => {
    const [n] = same, [kind, axes, type, bytes, , runs] = collectives[n], mark = gone.has(n) ? "gone" : less.has(n) ? "less" : "";
    const words = `${same.length > 1 ? `${same.length} \u00d7 ` : ""}${model.text(kind)} of ${model.text(type)} along ${model.text(axes)}`;
    const cost = ` ${bytesText(bytes)}${same.length > 1 ? " each" : ""}${runs > 1 ? ` in ${runs} runs` : ""}${{ gone: ": removed", less: ": made cheaper" }[mark] ?? ""}`;
    const places = same.slice(0, MOST_LISTED).map((each) => node("li", {}, link(each, where(each))));
    const below = same.length > 1 ? node("details", {}, node("summary", {}, "where"), node("ol", {}, ...places)) : node("small", {}, where(n));
    return node("li", { class: mark }, node("span", { class: "words" }, link(n, words)), cost, below);
  });
  const rest = lines.slice(ROWS_SHOWN);
  const list = node("ul", { class: "rows" }, ...lines.slice(0, ROWS_SHOWN));
  return rest.length ? [list, node("details", {}, node("summary", {}, `and ${rest.length} more`), node("ul", { class: "rows" }, ...rest))] : [list];
}

/** The groups around an item, the outermost first. */
function scopeText(model, item) {
  return model.ancestors(item).filter((group) => ["pass", "scope"].includes(model.kind[group])).reverse().map((group) => model.label(group)).join(" / ");
}
