// Lists of what differs: between two programs, and between the forecast and a compiled program.
"use strict";

function differenceList(app) {
  const { model } = app, { states, data } = model, { differences } = data.other;
  const [a, b] = states, sum = (state) => state.collectives.reduce((all, row) => all + row[3], 0);
  const changed = data.values.final.filter((sharding, v) => a.final[v] !== b.final[v]).length;
  const names = `${a.name} \u2192 ${b.name}`;
  return [
    () => node("p", { class: "headline" }, `Each device receives ${bytesText(sum(a))} \u2192 ${bytesText(sum(b))}; ${changed.toLocaleString("en")} tensor${changed === 1 ? " is" : "s are"} sharded differently.`),
    () => soft(names),
    () => node("h3", {}, `Collectives that differ (${differences.length})`),
    ...(differences.length ? [] : [() => soft("Both programs communicate alike.")]),
    ...alikeDifferences(model, differences).map((alike) => () => differenceEntry(app, alike)),
    ...findingDifferences(app),
  ];
}

/** Differences of collectives that are alike, as those of equal layers, with the rows of each side. */
function alikeDifferences(model, differences) {
  const found = new Map();
  for (const [before, after] of differences) {
    const [side, n] = before.length ? [0, before[0]] : [1, after[0]], [kind, axes, type, , , , , , reason, place] = model.states[side].collectives[n];
    const key = [!before.length, !after.length, kind, axes, type, reason, pythonLine(model.text(place)) || (model.states[side].collectives[n][6] < 0 ? place : "")].join();
    if (!found.has(key)) found.set(key, { side, before: [], after: [] });
    found.get(key).before.push(...before);
    found.get(key).after.push(...after);
  }
  const sum = (side, rows) => rows.reduce((all, row) => all + model.states[side].collectives[row][3], 0);
  const sized = [...found.values()].map((each) => ({ ...each, old: sum(0, each.before), now: sum(1, each.after) }));
  return sized.sort((a, b) => Math.abs(b.now - b.old) - Math.abs(a.now - a.old));
}

function differenceEntry(app, { side, before, after, old, now }) {
  const { model } = app, rows = side ? after : before, items = rows.map((n) => model.states[side].collectives[n][6]);
  const [kind, axes, type, , , , , , reason, place] = model.states[side].collectives[rows[0]];
  const words = !before.length ? "new" : !after.length ? "gone" : `${bytesText(old)} \u2192 ${bytesText(now)}`;
  const title = `${model.text(kind)}${rows.length > 1 ? ` \u00d7${rows.length}` : ""}`;
  const next = () => items[(items.indexOf(app.selected) + 1) % items.length]; // each click goes to the next one
  return node("button", { class: `entry ${items.includes(app.selected) ? "on" : ""}`, onclick: () => app.select(next(), true) },
    node("span", { class: `amount ${now < old ? "saving" : ""}` }, `${now < old ? "\u2212" : "+"}${bytesText(Math.abs(now - old))}`), node("b", {}, title),
    node("small", {}, `${words} \u00b7 ${model.text(axes)} \u00b7 ${shortPlace(model.text(place))}`), node("small", {}, `${model.text(type)} \u00b7 ${model.text(reason)}`));
}

/** The findings that only one of two programs has; those on equal values with equal words are the same. */
function findingDifferences(app) {
  const { data } = app.model, [before, after] = [data.findings, data.other.findings];
  if (!before || !after) return [];
  const key = ([code, , message, , place, item]) => [code, item > 0 ? item : place, message].join("\n");
  const only = (rows, others) => { const known = new Set(others.map(key)); return rows.filter((row) => !known.has(key(row))); };
  const gone = only(before, after), made = only(after, before);
  const part = (title, rows) => [() => node("h3", {}, `${title} (${rows.length})`), ...rows.map((row) => () => findingEntry(app, row))];
  if (!gone.length && !made.length) return [() => node("h3", {}, "Findings"), () => soft(`The same ${before.length} in both.`)];
  return [...part("Findings that are new", made), ...part("Findings that are gone", gone)];
}

function findingEntry(app, [code, level, message, remedy, place, item]) {
  return node("button", { class: `entry ${item > 0 && item === app.selected ? "on" : ""}`, onclick: () => app.select(item, true) },
    node("span", { class: "amount" }, level), node("b", {}, code), node("small", { class: "wrap" }, message), node("small", {}, shortPlace(place)), node("small", { class: "wrap" }, remedy));
}

/** What became of each collective of the forecast, and what was not forecast. */
function compiledList(app) {
  const { compiled } = app.model.data, [forecast, received] = compiled.bytes;
  const joined = compiled.collectives.filter((each) => each.is_forecast), others = compiled.collectives.filter((each) => !each.is_forecast);
  const [estimate, held] = compiled.memory;
  const section = (title, rows, entry) => (rows.length ? [() => node("h3", {}, `${title} (${rows.length})`), ...rows.map((row) => () => entry(row))] : []);
  return [
    () => node("p", { class: "headline" }, `Compiled ${compiled.module}: each device receives ${bytesText(received)}, of it ${bytesText(compiled.exposed)} exposed; ${bytesText(forecast)} was forecast.`),
    () => soft(`forecast ${compiled.stage}; memory ${bytesText(held)}${estimate === null ? "" : `, ${bytesText(estimate)} estimated`}`),
    ...compiled.warnings.map((words) => () => soft(`warning: ${words}`)),
    ...(compiled.collectives.length || compiled.absent.length ? [] : [() => soft("The compiled program needs no communication, and none was forecast.")]),
    ...section("Not forecast, or not as a whole", others, (each) => compiledEntry(app, each)),
    ...section("Forecast, not in the compiled program", compiled.absent, ([kind, axes, bytes, runs, place, item]) => app.lists.entry(item, kind, `${axes} \u00b7 ${runsText(runs)} \u00b7 ${shortPlace(place)}`, bytesText(bytes))),
    ...section("As forecast", joined, (each) => compiledEntry(app, each)),
  ];
}

const runsText = (runs, isEstimate = false) => `${runs.toLocaleString("en")}${isEstimate ? " or more" : ""} run${runs === 1 ? "" : "s"}`;

function compiledEntry(app, each) {
  const before = each.before.reduce((all, row) => all + row[2], 0);
  const changes = each.changes.length ? each.changes.join(", ") : each.is_forecast ? "unchanged" : "";
  const from = each.before.length ? `forecast ${bytesText(before)} in ${runsText(each.before.reduce((all, row) => all + row[3], 0))}` : "";
  return node("button", { class: `entry ${each.item > 0 && each.item === app.selected ? "on" : ""}`, onclick: () => app.select(each.item, true) },
    node("span", { class: "amount" }, bytesText(each.bytes)), node("b", {}, each.kind), node("small", {}, [each.axes, runsText(each.runs, each.is_estimate), shortPlace(each.place)].filter(Boolean).join(" \u00b7 ")),
    node("small", { class: "wrap" }, [changes, from].filter(Boolean).join("; ")), node("small", { class: "wrap" }, `${each.name}; overlaps ${each.overlap}${each.evidence ? `; joined by ${each.evidence}` : ""}`));
}

/** What a compiler made of some collectives of the forecast, in a line; "" without a compiled program. */
function becameText(app, rows) {
  const { compiled } = app.model.data, own = new Set(rows);
  if (!compiled || app.current) return "";
  const made = compiled.collectives.filter((each) => each.before.some((row) => own.has(row[4])));
  const words = made.map((each) => `${each.name}${each.changes.length ? ` (${each.changes.join(", ")})` : ""}`);
  const gone = compiled.absent.filter((row) => own.has(row[6])).length;
  return `compiled: ${[...words.slice(0, 4), words.length > 4 ? `${words.length - 4} more` : "", gone || !made.length ? `${gone || rows.length} not there` : ""].filter(Boolean).join(", ")}`;
}

/** Of an item: what a compiler made of the collectives that are for it. */
function compiledParts(app, item) {
  const { model } = app, { compiled } = model.data;
  if (!compiled) return [];
  const rows = new Set(model.states[0].sends.get(item) ?? []), isOf = (each) => each.before.some((row) => rows.has(row[4]));
  const found = compiled.collectives.filter(isOf), gone = compiled.absent.filter((row) => row[6] >= 0 && rows.has(row[6]));
  if (!found.length && !gone.length) return [];
  return [node("h3", {}, "compiled"), node("ol", {}, ...found.map((each) => node("li", {}, `${each.kind} ${each.name}: ${bytesText(each.bytes)}, ${runsText(each.runs, each.is_estimate)}${each.changes.length ? `; ${each.changes.join(", ")}` : "; unchanged"}; overlaps ${each.overlap}`)),
    ...gone.map(([kind, axes]) => node("li", {}, `${kind} along ${axes}: not in the compiled program`)))];
}
