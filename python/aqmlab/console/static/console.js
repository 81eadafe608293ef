"use strict";

// How many cells are chosen.
const count = () => {
  const chosen = document.getElementById("chosen");
  if (chosen) chosen.textContent = `${document.querySelectorAll("input[name=cell]:checked").length} chosen.`;
};
document.addEventListener("change", count);
document.addEventListener("htmx:afterSettle", count);
count();

// A row that is taken away leaves the keyboard at what adds one.
document.addEventListener("click", ({ target }) => {
  const row = target.closest("[data-remove]")?.closest("fieldset");
  const add = row?.parentElement.querySelector(":scope > .add button");
  row?.remove();
  add?.focus();
});

// What a run says and reads, as it does: charts.js draws what is read.
const news = document.getElementById("news");
if (news) {
  const lines = document.getElementById("lines");
  const told = new EventSource(news.dataset.news);
  told.addEventListener("line", (event) => {
    lines.textContent += JSON.parse(event.data) + "\n";
    lines.scrollTop = lines.scrollHeight;
  });
  told.addEventListener("reading", (event) => {
    document.dispatchEvent(new CustomEvent("reading", { detail: JSON.parse(event.data) }));
  });
  told.addEventListener("end", () => told.close());
  // A stream that broke would be told from its beginning again.
  told.onerror = () => told.close();
}
