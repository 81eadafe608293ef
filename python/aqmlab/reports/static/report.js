"use strict";
// Draws the page's figures, reads them at the pointer, zooms them, hides and shows schemes in all of them, and sorts the tables.
// A report contains its data; the console's page names their address, and live.js adds rows to them. The part of the address after # has the views, the zoom and the hidden schemes.
let charts = {};
let schemes = [];
const state = new URLSearchParams(location.hash.slice(1));
const hidden = new Set(state.getAll("hide"));
const drawn = new Map();
// The range of each horizontal axis that is zoomed, by its column.
const ranges = new Map([...state].filter(([name]) => name.startsWith("zoom.")).map(([name, text]) => [name.slice(5), text.split(",").map(Number)]));
// A shorter way of the pointer is a click.
const LEAST_DRAG = 6;
const AXIS_WIDTH = 110;
// Pixels of a character of a saved figure's title, and of a name in its legend.
const CHARACTER_WIDTH = 7.5;
const LEGEND_WIDTH = 200;

function remember() {
  const views = [...document.querySelectorAll("[data-view][aria-pressed=true]")].filter((button) => button.previousElementSibling);
  const entries = [
    ...views.map((button) => [`view.${button.closest("figure").dataset.chart}`, button.dataset.view]),
    ...[...ranges].map(([column, range]) => [`zoom.${column}`, range.map((end) => Number(end.toPrecision(6))).join(",")]),
    ...[...hidden].map((name) => ["hide", name]),
  ];
  history.replaceState(history.state, "", entries.length ? `#${new URLSearchParams(entries)}` : location.pathname + location.search);
}

function apply({ view, across }) {
  view.signal("shown", schemes.filter((name) => !hidden.has(name)));
  if (across) view.signal(`zoom_${across}`, ranges.get(across) ?? null);
  return view.runAsync();
}

// The layers of a figure, also those of its layers.
function layersOf(spec) {
  return (spec.layer ?? []).flatMap((layer) => (layer.layer ? layersOf(layer) : [layer]));
}

// Several plots share the width that there is; vertical axes need some width each, and are scrolled if there is less.
function fit(spec, plotArea) {
  const width = plotArea.clientWidth;
  const axes = spec.layer?.[0].encoding?.x?.sort?.length;
  if (axes) {
    const axisWidth = Math.max(AXIS_WIDTH, Math.floor(width / axes));
    for (const { encoding } of spec.layer) encoding.x.axis.labelLimit = axisWidth - 10;
    if (axisWidth === AXIS_WIDTH) {
      spec.width = axes * AXIS_WIDTH;
      plotArea.tabIndex = 0;
    }
  }
  if (!spec.facet) return;
  const plot = spec.spec;
  const isResizable = layersOf(plot).some(({ mark }) => mark.type === "line");
  // Plots with two vertical axes each need room for them.
  const [margin, gap] = plot.resolve ? [0, 130] : isResizable ? [60, 20] : [100, 20];
  const plots = spec.facet.sort.length;
  const most = Math.max(1, Math.floor((width - margin) / (plot.width + gap)));
  // As few rows as there must be, filled evenly.
  spec.columns = Math.ceil(plots / Math.ceil(plots / most));
  // Shared axes would also stand below the empty places of the last row.
  if (plots % spec.columns) spec.resolve = { ...spec.resolve, axis: { ...spec.resolve?.axis, x: "independent" } };
  if (isResizable) plot.width = Math.floor((width - margin) / spec.columns) - gap;
}

function specOf(figure, name) {
  const { rows, views } = charts[figure.dataset.chart];
  const spec = structuredClone(views[name]);
  spec.datasets = { ...spec.datasets, rows };
  fit(spec, figure.querySelector(".plot"));
  return spec;
}

function embed(place, spec) {
  // No expression of a figure is compiled: the page's policy allows no eval.
  const plain = { actions: false, defaultStyle: false, tooltip: { disableDefaultStyle: true } };
  return vegaEmbed(place, spec, { ...plain, ast: true, renderer: "svg", logLevel: 1 });
}

async function draw(figure, name) {
  drawn.get(figure)?.view.finalize();
  const spec = specOf(figure, name);
  const { view, vgSpec } = await embed(figure.querySelector(".chart"), spec);
  const line = layersOf(spec.spec ?? spec).find(({ mark }) => mark.type === "line")?.encoding;
  const across = line?.x.type === "quantitative" ? line.x.field : null;
  const figureDrawn = { view, across, name };
  drawn.set(figure, figureDrawn);
  figureDrawn.rest = follow(figure, figureDrawn, line, vgSpec);
  // The figure has a label; its marks have roles without names.
  figure.querySelector(".chart svg").setAttribute("aria-hidden", "true");
  await apply(figureDrawn);
}

// The plot at the pointer: its place in the window, and its values if there are several.
function plotAt(figure, { clientX, clientY }) {
  const isMultiple = figure.querySelector(".chart .cell");
  for (const area of figure.querySelectorAll(`.chart ${isMultiple ? ".cell > g > " : ""}path.background`)) {
    const box = area.getBoundingClientRect();
    const isInside = clientX >= box.left && clientX <= box.right && clientY >= box.top && clientY <= box.bottom;
    if (isInside && box.width) return { box, area, panel: area.__data__.datum?.panel };
  }
  return null;
}

function put(mark, frame, left, top, width, height) {
  mark.hidden = false;
  Object.assign(mark.style, { left: `${left - frame.left}px`, top: `${top - frame.top}px`, width: `${width}px`, height: `${height}px` });
}

// A figure is drawn smaller than it is made where the page is narrow.
function sizeOf(view, box) {
  const [start, end] = view.scale("x").range();
  return box.width / Math.abs(end - start);
}

// The rows of the lines in one of several plots: Vega keeps none of its own for each.
function drawnRows(area) {
  return [...area.closest("g").querySelectorAll(".mark-line path")].flatMap((path) => path.__data__.mark.items.map(({ datum }) => datum));
}

// The position of each scheme at the pointer, from the lines that are drawn, and the range where it is dragged.
function follow(figure, { view, across }, line, vgSpec) {
  const plot = figure.querySelector(".plot");
  plot.onpointermove = plot.onpointerdown = plot.ondblclick = plot.onpointerup = plot.onpointerleave = null;
  if (!line) return null;
  const source = vgSpec.data.filter(({ source }) => source === "rows").at(-1)?.name ?? "rows";
  const pointerLine = figure.querySelector(".pointer-line");
  const brush = figure.querySelector(".brush");
  const place = figure.querySelector(".place");
  const isLive = figure.closest("[data-live]") !== null;
  let start = null;
  let pointer = null;
  // The places that were measured, where they are few: between them nothing is known.
  const measured = line.x.axis?.values;
  const show = (at, rows) => {
    const nearest = new Map();
    for (const row of rows) {
      if (row[line.y.field] === null) continue;
      const other = nearest.get(row.scheme);
      if (!other || Math.abs(row[line.x.field] - at) <= Math.abs(other[line.x.field] - at)) nearest.set(row.scheme, row);
    }
    for (const key of figure.querySelectorAll("[data-scheme]")) {
      const row = nearest.get(key.dataset.scheme);
      const capacity = row?.capacity ? ` of ${short(row.capacity)}` : "";
      key.querySelector(".value").textContent = row ? short(row[line.y.field]) + capacity : "";
    }
  };
  // Without a pointer, the newest values of a run in progress, and no other ones.
  const rest = () => {
    if (pointer) read(...pointer);
    else if (isLive) show(Number.MAX_VALUE, view.data(source));
    else figure.querySelectorAll(".legend .value").forEach((value) => { value.textContent = ""; });
  };
  const clear = () => {
    pointer = null;
    pointerLine.hidden = true;
    if (across) place.textContent = "";
    rest();
  };
  const read = (event, { box, area, panel }) => {
    const scale = view.scale("x");
    const size = sizeOf(view, box);
    const pointed = scale.invert((event.clientX - box.left) / size);
    const at = measured?.reduce((one, other) => (Math.abs(other - pointed) < Math.abs(one - pointed) ? other : one)) ?? pointed;
    const left = measured ? box.left + size * scale(at) : event.clientX;
    put(pointerLine, plot.getBoundingClientRect(), left, box.top, 1, box.height);
    place.textContent = `${panel ? `${panel}; ` : ""}${line.x.title}: ${short(at)}`;
    show(at, panel ? drawnRows(area) : view.data(source));
  };
  plot.onpointermove = (event) => {
    const found = plotAt(figure, event);
    if (start) {
      const { box, x, y } = start;
      const end = [Math.min(Math.max(event.clientX, box.left), box.right), Math.min(Math.max(event.clientY, box.top), box.bottom)];
      const [top, height] = across ? [box.top, box.height] : [Math.min(y, end[1]), Math.abs(end[1] - y)];
      put(brush, plot.getBoundingClientRect(), Math.min(x, end[0]), top, Math.abs(end[0] - x), height);
    }
    if (!across) return;
    if (found) {
      pointer = [event, found];
      rest();
    } else clear();
  };
  plot.onpointerleave = clear;
  plot.onpointerdown = (event) => {
    const found = plotAt(figure, event);
    if (!found || event.pointerType !== "mouse" || event.button || event.shiftKey) return;
    event.preventDefault();
    plot.setPointerCapture(event.pointerId);
    start = { box: found.box, x: event.clientX, y: event.clientY };
  };
  plot.onpointerup = ({ clientX, clientY }) => {
    if (!start) return;
    const { box, x, y } = start;
    start = null;
    brush.hidden = true;
    const ends = [x, Math.min(Math.max(clientX, box.left), box.right)].sort((one, other) => one - other).map((at) => at - box.left);
    const places = ends.map((end) => end / sizeOf(view, box));
    if (Math.max(ends[1] - ends[0], across ? 0 : Math.abs(clientY - y)) < LEAST_DRAG) return;
    if (across) zoom(across, places.map((at) => view.scale("x").invert(at)));
    else choose(figure, view, places, [y, clientY].map((at) => 1 - (at - box.top) / box.height).sort((one, other) => one - other));
  };
  plot.ondblclick = () => {
    if (across) zoom(across, null);
    else choose(figure, view, null);
  };
  return rest;
}

// All figures with this horizontal axis show this range of it.
function zoom(column, range) {
  if (range) ranges.set(column, range);
  else ranges.delete(column);
  for (const each of drawn.values()) if (each.across === column) apply(each);
  showReset();
  remember();
}

function showReset() {
  for (const [figure, { across }] of drawn) figure.querySelector("[data-reset]").hidden = !ranges.has(across);
}

// Of the lines of parallel coordinates, keep those that cross the axes of a rectangle within it.
function choose(figure, view, ends, shares) {
  const rows = view.data("rows");
  const total = new Set(rows.map(({ point }) => point)).size;
  let chosen = ends ? new Set(view.signal("chosen")) : new Set();
  if (ends) {
    const axes = view.scale("x").domain().filter((axis) => ends[0] <= view.scale("x")(axis) && view.scale("x")(axis) <= ends[1]);
    for (const axis of axes) {
      const crossing = rows.filter((row) => row.axis === axis && shares[0] <= row.share && row.share <= shares[1]);
      const points = crossing.map(({ point }) => point).filter((point) => !chosen.size || chosen.has(point));
      // A rectangle without a line chooses none of them, not all.
      chosen = new Set(points.length ? points : [""]);
    }
  }
  const count = chosen.has("") ? 0 : chosen.size;
  figure.querySelector(".place").textContent = chosen.size ? `${count} of ${total} lines` : "";
  view.signal("chosen", [...chosen]).runAsync();
}

function short(value) {
  return value.toLocaleString("en", { maximumSignificantDigits: 3 });
}

function csv(rows) {
  const names = [...new Set(rows.flatMap(Object.keys))];
  const field = (value) => (/[",\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);
  return [names, ...rows.map((row) => names.map((name) => row[name] ?? ""))].map((line) => line.map(String).map(field).join(",")).join("\n") + "\n";
}

// Text in lines that are no wider than this.
function wrap(text, width) {
  const lines = [""];
  for (const word of text.split(" ")) {
    const line = `${lines.at(-1)} ${word}`.trim();
    if (lines.at(-1) && line.length * CHARACTER_WIDTH > width) lines.push(word);
    else lines[lines.length - 1] = line;
  }
  return lines;
}

// A figure that leaves the page says of which experiment it is, and which line is of which scheme.
function explain(spec, figure, name, width) {
  const view = Object.keys(charts[figure.dataset.chart].views).length > 1 ? `, ${name}` : "";
  const live = figure.closest("[data-live]");
  const setting = (live?.querySelector("select").selectedOptions[0] ?? document.querySelector("[data-setting]"))?.textContent.replace(/\s+/g, " ").trim() ?? "";
  const title = wrap(figure.querySelector("h3").textContent + view, width);
  spec.title = { text: title, subtitle: setting ? wrap(setting, width) : [], anchor: "start", fontSize: 14, subtitleFontSize: 12, offset: 12 };
  spec.padding = { top: 10, right: 5, bottom: 5, left: 5 };
  const present = new Set(charts[figure.dataset.chart].rows.map(({ scheme }) => scheme));
  const values = schemes.filter((scheme) => present.has(scheme) && !hidden.has(scheme));
  const marks = spec.spec ?? spec;
  const encodings = (marks.layer ? layersOf(marks) : [marks]).map(({ encoding }) => encoding ?? {});
  const legend = { title: null, orient: "bottom", direction: "horizontal", labelLimit: width, columns: Math.max(1, Math.floor(width / LEGEND_WIDTH)) };
  const hasLines = encodings.some(({ strokeDash }) => strokeDash);
  const line = { ...legend, values, symbolType: "stroke", symbolSize: 900, symbolFillColor: "transparent", symbolOpacity: 1 };
  for (const encoding of encodings) {
    // Layers with different legends would have none.
    for (const channel of ["color", "strokeDash", "strokeWidth"]) if (hasLines && encoding[channel]) encoding[channel].legend = line;
    if (encoding.color?.field === "part") encoding.color.legend = legend;
  }
  if (live) addReadings(spec, figure, encodings, line);
}

// The figures of a run in progress have no rows of their own, and name their lines while they arrive.
function addReadings(spec, figure, encodings, legend) {
  const { view } = drawn.get(figure);
  const names = [...figure.querySelectorAll("[data-scheme]")].map((key) => key.dataset.scheme);
  const colours = view.signal("palette");
  const scale = { domain: names, range: names.map((_, index) => colours[index % colours.length]) };
  spec.datasets = { rows: view.data("rows"), unmeasured: view.data("unmeasured") };
  for (const param of spec.params) if (["few", "series"].includes(param.name)) param.value = view.signal(param.name);
  for (const encoding of encodings) {
    if (encoding.color?.field !== "colour") continue;
    encoding.color = { field: "scheme", type: "nominal", scale, legend: { ...legend, values: names.filter((each) => !hidden.has(each)) } };
  }
}

// A saved figure is black on white, in the size that it has on the page.
async function image(figure, kind) {
  const { view, across, name } = drawn.get(figure);
  const place = document.createElement("div");
  const width = figure.querySelector(".plot").clientWidth;
  Object.assign(place.style, { position: "absolute", left: "-100000px", width: `${width}px`, color: "black" });
  const spec = specOf(figure, name);
  explain(spec, figure, name, width);
  document.body.append(place);
  const saved = (await embed(place, spec)).view;
  await apply({ view: saved, across });
  if (spec.params.some((param) => param.name === "chosen")) saved.signal("chosen", view.signal("chosen"));
  await saved.background("white").runAsync();
  const svg = kind === "svg" ? new Blob([await saved.toSVG()], { type: "image/svg+xml" }) : null;
  const canvas = kind === "png" ? await saved.toCanvas(2) : null;
  saved.finalize();
  place.remove();
  return svg ?? new Promise((made) => canvas.toBlob(made));
}

async function save(figure, kind) {
  const name = figure.dataset.chart;
  const isTable = kind === "csv";
  const file = isTable ? new Blob([csv(charts[name].rows)], { type: "text/csv" }) : await image(figure, kind);
  const link = document.createElement("a");
  link.href = URL.createObjectURL(file);
  link.download = `${name}.${kind}`;
  link.click();
  URL.revokeObjectURL(link.href);
}

function press(button, isPressed) {
  button.setAttribute("aria-pressed", String(isPressed));
}

const figures = [...document.querySelectorAll("figure")];

for (const figure of figures) {
  for (const button of figure.querySelectorAll("[data-save]")) {
    button.addEventListener("click", () => save(figure, button.dataset.save));
  }
  const choices = [...figure.querySelectorAll("[data-view]")];
  for (const choice of choices) {
    choice.addEventListener("click", async () => {
      choices.forEach((each) => press(each, each === choice));
      remember();
      await draw(figure, choice.dataset.view);
      showReset();
    });
  }
  figure.querySelector("[data-reset]").addEventListener("click", () => zoom(drawn.get(figure).across, null));
}

// One after the other, and between them the browser shows what there is: the first does not wait for the last.
async function drawAll() {
  const data = document.getElementById("data");
  ({ charts, schemes } = data ? JSON.parse(data.textContent) : await (await fetch(document.querySelector("[data-charts]").dataset.charts)).json());
  for (const figure of figures) {
    const views = Object.keys(charts[figure.dataset.chart].views);
    const chosen = state.get(`view.${figure.dataset.chart}`);
    figure.querySelectorAll("[data-view]").forEach((each) => press(each, each.dataset.view === (views.includes(chosen) ? chosen : views[0])));
    // Somebody may have chosen another view by now.
    if (!drawn.has(figure)) await draw(figure, views.includes(chosen) ? chosen : views[0]);
    await new Promise((shown) => setTimeout(shown));
  }
  showReset();
}

if (!document.querySelector("[data-live]")) drawAll();

document.addEventListener("click", ({ target }) => {
  const name = target.closest("[data-scheme]")?.dataset.scheme;
  if (name === undefined) return;
  if (!hidden.delete(name)) hidden.add(name);
  showHidden();
  remember();
  drawn.forEach(apply);
});

function showHidden() {
  for (const each of document.querySelectorAll("[data-scheme]")) press(each, !hidden.has(each.dataset.scheme));
}

showHidden();

document.querySelector("[data-copy-link]")?.addEventListener("click", async ({ target }) => {
  await navigator.clipboard.writeText(location.href);
  target.textContent = "Link copied";
});

function value(row, column) {
  const text = row.cells[column].textContent;
  const number = parseFloat(text.replaceAll(",", ""));
  return Number.isNaN(number) || /[a-z:]/i.test(text) ? text : number;
}

function compare(one, other) {
  // What is not there comes last.
  if (typeof one !== typeof other) return typeof one === "number" ? -1 : 1;
  return typeof one === "number" ? one - other : one.localeCompare(other);
}

for (const table of document.querySelectorAll("table.sorted")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    head.querySelector("button").addEventListener("click", () => {
      const turn = head.getAttribute("aria-sort") === "ascending" ? -1 : 1;
      heads.forEach((each) => each.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", turn === 1 ? "ascending" : "descending");
      const body = table.tBodies[0];
      const rows = [...body.rows].sort((one, other) => turn * compare(value(one, column), value(other, column)));
      body.append(...rows);
    });
  });
}
