"use strict";

// Adds the readings of a running job to its figures: those of the selected cell, by default the newest.
const area = document.getElementById("charts");
const choice = document.getElementById("cell");
const palette = JSON.parse(area.dataset.palette);
// All readings of each cell, and those that are drawn.
const cells = new Map();
// Fewer readings are points: a line would suggest values between them.
const LINE_FROM = 5;
// More readings are drawn as means of two, so that a figure costs the same however long a run takes.
const MOST_DRAWN = 320;
// The cell in the figures, and the numbers of its readings that they have.
let shown = { cell: null, all: 0, drawn: 0 };
let areDrawn = false;
let isDue = false;

const rowsOf = (quantity, { now_s, capacity, ...reading }) =>
  Object.entries(reading[quantity] ?? {}).map(([scheme, value]) => ({
    time_s: now_s, scheme, value, ...(quantity === "throughput" && capacity?.[scheme] ? { capacity: capacity[scheme] } : {}),
  }));

const mean = (one, other) => (one === null || other === null ? one ?? other : (one + other) / 2);

// The mean of two readings, at the time of the later one.
const merged = (one, other) => {
  const quantities = Object.entries(other).filter(([, values]) => typeof values === "object");
  const means = quantities.map(([quantity, values]) => [
    quantity, Object.fromEntries(Object.entries(values).map(([name, value]) => [name, mean(one[quantity][name] ?? null, value)])),
  ]);
  return { ...other, ...Object.fromEntries(means) };
};

const add = (cell, reading) => {
  cell.all.push(reading);
  cell.drawn.push(reading);
  if (cell.drawn.length <= MOST_DRAWN) return;
  const last = cell.drawn.length % 2 ? [cell.drawn.pop()] : [];
  cell.drawn = cell.drawn.flatMap((each, index, every) => (index % 2 ? [merged(every[index - 1], each)] : [])).concat(last);
  if (shown.cell === cell) shown.drawn = 0;
};

const addKey = (figure, name) => {
  const key = document.getElementById("key").content.firstElementChild.cloneNode(true);
  const legend = figure.querySelector(".legend");
  key.dataset.scheme = name;
  key.querySelector("bdi").textContent = name;
  key.querySelector("line").setAttribute("stroke", palette[legend.childElementCount % palette.length]);
  legend.append(key);
  schemes.push(name);
};

const updateFigure = async (figure, cell, { all, drawn: drawnBefore }) => {
  const { view, across, rest } = drawn.get(figure);
  const quantity = figure.dataset.chart;
  if (!all) figure.querySelector(".legend").replaceChildren();
  charts[quantity].rows = (all ? charts[quantity].rows : []).concat(cell.all.slice(all).flatMap((each) => rowsOf(quantity, each)));
  const rows = cell.drawn.slice(drawnBefore).flatMap((each) => rowsOf(quantity, each));
  const known = [...figure.querySelectorAll("[data-scheme]")].map((key) => key.dataset.scheme);
  const names = [...new Set([...known, ...rows.map(({ scheme }) => scheme)])];
  names.slice(known.length).forEach((name) => addKey(figure, name));
  const change = vega.changeset().insert(rows);
  view.change("rows", drawnBefore ? change : change.remove(() => true));
  const { warmup_s, now_s } = cell.all.at(-1);
  const unmeasured = { start: cell.all[0].now_s, end: Math.min(warmup_s, now_s) };
  view.change("unmeasured", vega.changeset().remove(() => true).insert([unmeasured]));
  view.signal("few", cell.drawn.length < LINE_FROM);
  // All rows follow a signal that changes.
  if (names.length > known.length) {
    view.signal("series", names);
    await apply({ view, across });
  } else await view.runAsync();
  rest();
};

// One figure after the other, and between them the browser reacts to people.
const update = async () => {
  const cell = cells.get(choice.value);
  const before = shown.cell === cell ? shown : { all: 0, drawn: 0 };
  shown = { cell, all: cell.all.length, drawn: cell.drawn.length };
  // Further readings may arrive meanwhile.
  const known = { all: [...cell.all], drawn: [...cell.drawn] };
  for (const figure of figures) {
    await updateFigure(figure, known, before);
    await new Promise((reacted) => setTimeout(reacted));
  }
  isDue = false;
  if (cells.get(choice.value) !== cell || shown.all < cell.all.length) updateSoon();
};

const updateSoon = () => {
  if (isDue || !areDrawn || !choice.value) return;
  isDue = true;
  requestAnimationFrame(update);
};

document.addEventListener("reading", ({ detail }) => {
  if (area.hidden) {
    area.hidden = false;
    drawAll().then(() => { areDrawn = true; updateSoon(); });
  }
  if (!cells.has(detail.cell)) {
    const follows = choice.selectedIndex === choice.length - 1;
    cells.set(detail.cell, { all: [], drawn: [] });
    choice.add(new Option(detail.name, detail.cell));
    if (follows) choice.selectedIndex = choice.length - 1;
  }
  add(cells.get(detail.cell), detail);
  if (detail.cell === choice.value) updateSoon();
});
choice.addEventListener("change", updateSoon);
