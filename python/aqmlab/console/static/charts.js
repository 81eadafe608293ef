"use strict";

// Charts of a running job: one for each quantity, for the selected cell, by default the newest.
const area = document.getElementById("charts");
const palette = JSON.parse(area.dataset.palette);
const choice = document.getElementById("cell");
const sections = [...area.querySelectorAll("section")];
const readings = new Map();
const charts = new Map();
// Draw points below this number of readings: a line would suggest values between them.
const LINE_FROM = 5;
let isDue = false;

// Shade the warm-up, which is not measured.
const shade = (chart) => {
  const end = Math.min(Math.max(chart.valToPos(chart.warmup, "x", true), chart.bbox.left), chart.bbox.left + chart.bbox.width);
  chart.ctx.fillStyle = "#8883";
  chart.ctx.fillRect(chart.bbox.left, chart.bbox.top, end - chart.bbox.left, chart.bbox.height);
};

// The text colour, light or dark as the page is now.
const ink = () => getComputedStyle(document.body).color;

// The value at the pointer, or the newest one.
const value = (chart, value, index) => {
  const shown = value ?? chart.data[index].at(-1);
  return shown?.toLocaleString("en", { maximumSignificantDigits: Math.max(3, Math.trunc(shown).toString().length) }) ?? "-";
};

const draw = () => {
  isDue = false;
  const axis = { stroke: ink, grid: { stroke: "#8884" }, ticks: { stroke: "#8884" } };
  const cellReadings = readings.get(choice.value);
  for (const section of sections) {
    const named = (quantity) => {
      const values = cellReadings.map((reading) => reading[quantity] ?? {});
      return Object.keys(Object.assign({}, ...values)).map((name) => [name, values.map((reading) => reading[name] ?? null)]);
    };
    const limits = section.dataset.limit ? named(section.dataset.limit) : [];
    const quantities = named(section.dataset.quantity);
    const data = [cellReadings.map((reading) => reading.now_s), ...[...limits, ...quantities].map(([, column]) => column)];
    let chart = charts.get(section);
    const isFew = cellReadings.length < LINE_FROM;
    if (chart?.series.length !== data.length || chart.cell !== choice.value || chart.isFew !== isFew) {
      chart?.destroy();
      const form = isFew ? { paths: () => null, points: { show: true, size: 9 } } : {};
      const lines = [
        ...limits.map(([name]) => ({ label: `${name}: ${section.dataset.limit}`, value, stroke: "#888", dash: [6, 4], fill: "#8882", ...form })),
        ...quantities.map(([label], index) => ({ label, value, stroke: palette[index % palette.length], width: 2, ...form })),
      ];
      const size = { width: section.clientWidth, height: 220 };
      const init = (chart) => {
        chart.cell = choice.value;
        chart.isFew = isFew;
        chart.warmup = cellReadings[0].warmup_s;
      };
      const hooks = { init: [init], drawClear: [shade] };
      chart = new uPlot({ ...size, hooks, scales: { x: { time: false } }, axes: [axis, { ...axis, size: 65 }], series: [{ label: "s", value }, ...lines] }, data, section);
      charts.set(section, chart);
    } else {
      chart.setData(data);
    }
  }
};

const redraw = () => {
  if (!isDue && choice.value) requestAnimationFrame(draw);
  isDue = isDue || choice.value !== "";
};

document.addEventListener("reading", ({ detail }) => {
  area.hidden = false;
  if (!readings.has(detail.cell)) {
    const follows = choice.selectedIndex === choice.length - 1;
    readings.set(detail.cell, []);
    choice.add(new Option(detail.name, detail.cell));
    if (follows) choice.selectedIndex = choice.length - 1;
  }
  readings.get(detail.cell).push(detail);
  if (detail.cell === choice.value) redraw();
});
choice.addEventListener("change", redraw);
addEventListener("resize", () => {
  for (const [section, chart] of charts) chart.setSize({ width: section.clientWidth, height: 220 });
});
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => charts.forEach((chart) => chart.redraw()));
