"use strict";

// Cells stay selected on other pages and in other searches, until they are compared or cleared.
const STORED = "selected";
const selected = new Set(JSON.parse(sessionStorage.getItem(STORED) ?? "[]"));
const boxes = (scope = document) => [...scope.querySelectorAll("input[name=cell]")];
// Selected cells that the filters or another page hide.
const hiddenCells = () => {
  const shown = new Set(boxes().map((box) => box.value));
  return [...selected].filter((cell) => !shown.has(cell));
};
const showSelection = () => {
  sessionStorage.setItem(STORED, JSON.stringify([...selected]));
  const number = document.getElementById("selected");
  if (!number) return;
  document.getElementById("compare-selected").disabled = selected.size === 0;
  const missing = hiddenCells();
  number.textContent = `${selected.size} selected${missing.length ? `, ${missing.length} of them not shown` : ""}.`;
  document.getElementById("clear").hidden = selected.size === 0;
  document.getElementById("clear-hidden").hidden = missing.length === 0;
  boxes().forEach((box) => { box.checked = selected.has(box.value); });
  for (const group of document.querySelectorAll("[data-group]")) {
    group.checked = boxes(group.closest("tbody")).every((box) => box.checked);
  }
};
document.addEventListener("change", ({ target }) => {
  const changed = target.matches("[data-group]") ? boxes(target.closest("tbody")) : target.matches("input[name=cell]") ? [target] : [];
  changed.forEach((box) => selected[target.checked ? "add" : "delete"](box.value));
  if (changed.length) showSelection();
});
document.addEventListener("click", ({ target }) => {
  if (target.id === "clear") selected.clear();
  else if (target.id === "clear-hidden") hiddenCells().forEach((cell) => selected.delete(cell));
  else if (target.id === "select-found") target.dataset.cells.split(" ").forEach((cell) => selected.add(cell));
  else return;
  showSelection();
});
document.addEventListener("formdata", ({ target, formData }) => {
  if (target.id !== "selection") return;
  formData.delete("cell");
  selected.forEach((cell) => formData.append("cell", cell));
});
document.addEventListener("htmx:afterSettle", showSelection);
addEventListener("pageshow", showSelection);
showSelection();

// After removing a row, focus the button that adds one.
document.addEventListener("click", ({ target }) => {
  const row = target.closest("[data-remove]")?.closest("fieldset");
  const add = row?.parentElement.querySelector(":scope > .add button");
  row?.remove();
  add?.focus();
  add?.dispatchEvent(new Event("input", { bubbles: true }));
});

// Messages and readings of a job as they arrive; live.js, which is loaded later, draws the readings.
addEventListener("DOMContentLoaded", () => {
  const events = document.getElementById("events");
  if (!events) return;
  const lines = document.getElementById("lines");
  const source = new EventSource(events.dataset.events);
  source.addEventListener("line", (event) => {
    lines.textContent += JSON.parse(event.data) + "\n";
    if (!("fromTop" in lines.dataset)) lines.scrollTop = lines.scrollHeight;
  });
  source.addEventListener("reading", (event) => {
    document.dispatchEvent(new CustomEvent("reading", { detail: JSON.parse(event.data) }));
  });
  source.addEventListener("end", () => source.close());
  // After an error the browser would reconnect and repeat the stream from its start.
  source.onerror = () => source.close();
});
