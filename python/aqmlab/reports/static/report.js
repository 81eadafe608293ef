"use strict";
// Draws the page's figures, reads them at the pointer, hides and shows schemes in all of them, and sorts the tables.
// A report contains its data; the console's page names their address.
let charts = {};
let schemes = [];
const hidden = new Set();
const drawn = new Map();

function apply(view) {
  return view.signal("shown", schemes.filter((name) => !hidden.has(name))).runAsync();
}

async function draw(figure, name) {
  const { rows, views } = charts[figure.dataset.chart];
  drawn.get(figure)?.finalize();
  const spec = structuredClone(views[name]);
  spec.datasets = { ...spec.datasets, rows };
  // No expression of a figure is compiled: the page's policy allows no eval.
  const plain = { actions: false, defaultStyle: false, tooltip: { disableDefaultStyle: true } };
  const options = { ...plain, ast: true, renderer: "svg", logLevel: 1 };
  const { view, vgSpec } = await vegaEmbed(figure.querySelector(".chart"), spec, options);
  drawn.set(figure, view);
  follow(figure, view, spec, vgSpec);
  // The figure has a label; its marks have roles without names.
  figure.querySelector(".chart svg").setAttribute("aria-hidden", "true");
  await apply(view);
}

// The position of each scheme in the figure at the pointer, from the lines that are drawn.
function follow(figure, view, spec, vgSpec) {
  const plot = figure.querySelector(".plot");
  const line = spec.layer?.find(({ mark }) => mark.type === "line")?.encoding;
  plot.onpointermove = null;
  if (!line) return;
  const source = vgSpec.data.filter(({ source }) => source === "rows").at(-1)?.name ?? "rows";
  const pointerLine = figure.querySelector(".pointer-line");
  const place = figure.querySelector(".place");
  const outputs = [...figure.querySelectorAll("[data-scheme]")].map((key) => [key.dataset.scheme, key.querySelector("output")]);
  const clear = () => {
    pointerLine.hidden = true;
    place.textContent = "";
    outputs.forEach(([, output]) => { output.textContent = ""; });
  };
  plot.onpointerleave = clear;
  plot.onpointermove = ({ clientX }) => {
    const svg = plot.querySelector("svg").getBoundingClientRect();
    const [left, top] = view.origin();
    const padding = view.padding();
    const x = clientX - svg.left - left - padding.left;
    if (x < 0 || x > view.width()) return clear();
    const at = view.scale("x").invert(x);
    pointerLine.hidden = false;
    pointerLine.style.left = `${clientX - plot.getBoundingClientRect().left}px`;
    pointerLine.style.top = `${top + padding.top}px`;
    pointerLine.style.height = `${view.height()}px`;
    place.textContent = `${line.x.title}: ${short(at)}`;
    const rows = view.data(source);
    for (const [scheme, output] of outputs) {
      let nearest = null;
      for (const row of rows) {
        if (row.scheme === scheme && (!nearest || Math.abs(row[line.x.field] - at) < Math.abs(nearest[line.x.field] - at))) nearest = row;
      }
      output.textContent = nearest ? short(nearest[line.y.field]) : "";
    }
  };
}

function short(value) {
  return value.toLocaleString("en", { maximumSignificantDigits: 3 });
}

function csv(rows) {
  const names = [...new Set(rows.flatMap(Object.keys))];
  const field = (value) => (/[",\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value);
  return [names, ...rows.map((row) => names.map((name) => row[name] ?? ""))].map((line) => line.map(String).map(field).join(",")).join("\n") + "\n";
}

async function save(figure, kind) {
  const name = figure.dataset.chart;
  const text = kind === "csv" ? csv(charts[name].rows) : await drawn.get(figure).toSVG();
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: kind === "csv" ? "text/csv" : "image/svg+xml" }));
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
    choice.addEventListener("click", () => {
      choices.forEach((each) => press(each, each === choice));
      draw(figure, choice.dataset.view);
    });
  }
}

// One after the other, and between them the browser shows what there is: the first does not wait for the last.
async function drawAll() {
  const data = document.getElementById("data");
  ({ charts, schemes } = data ? JSON.parse(data.textContent) : await (await fetch(document.querySelector("[data-charts]").dataset.charts)).json());
  for (const figure of figures) {
    // Somebody may have chosen another view by now.
    if (!drawn.has(figure)) await draw(figure, Object.keys(charts[figure.dataset.chart].views)[0]);
    await new Promise((shown) => setTimeout(shown));
  }
}

drawAll();

for (const key of document.querySelectorAll("[data-scheme]")) {
  key.addEventListener("click", () => {
    const name = key.dataset.scheme;
    if (!hidden.delete(name)) hidden.add(name);
    for (const each of document.querySelectorAll("[data-scheme]")) {
      if (each.dataset.scheme === name) press(each, !hidden.has(name));
    }
    drawn.forEach(apply);
  });
}

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
