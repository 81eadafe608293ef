"use strict";

// Show the number of selected cells.
const count = () => {
  const selected = document.getElementById("selected");
  if (selected) selected.textContent = `${document.querySelectorAll("input[name=cell]:checked").length} selected.`;
};
document.addEventListener("change", count);
document.addEventListener("htmx:afterSettle", count);
count();

// After removing a row, focus the button that adds one.
document.addEventListener("click", ({ target }) => {
  const row = target.closest("[data-remove]")?.closest("fieldset");
  const add = row?.parentElement.querySelector(":scope > .add button");
  row?.remove();
  add?.focus();
});

// Messages and readings of a job as they arrive; charts.js draws the readings.
const events = document.getElementById("events");
if (events) {
  const lines = document.getElementById("lines");
  const source = new EventSource(events.dataset.events);
  source.addEventListener("line", (event) => {
    lines.textContent += JSON.parse(event.data) + "\n";
    lines.scrollTop = lines.scrollHeight;
  });
  source.addEventListener("reading", (event) => {
    document.dispatchEvent(new CustomEvent("reading", { detail: JSON.parse(event.data) }));
  });
  source.addEventListener("end", () => source.close());
  // After an error the browser would reconnect and repeat the stream from its start.
  source.onerror = () => source.close();
}
