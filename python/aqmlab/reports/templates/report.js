"use strict";
// Draws the page's figures, hides and shows schemes in all of them, and sorts the tables.
const { charts, schemes } = JSON.parse(document.getElementById("data").textContent);
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
  const { view } = await vegaEmbed(figure.querySelector(".chart"), spec, options);
  drawn.set(figure, view);
  // The figure has a label; its marks have roles without names.
  figure.querySelector(".chart svg").setAttribute("aria-hidden", "true");
  await apply(view);
}

function press(button, isPressed) {
  button.setAttribute("aria-pressed", String(isPressed));
}

const figures = [...document.querySelectorAll("figure")];

for (const figure of figures) {
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
