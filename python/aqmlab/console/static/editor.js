"use strict";

// The TOML of a form: line numbers, completion, and the place of the error that the server found.
const editor = document.querySelector("form.editor");
const completions = document.getElementById("completions");
const meaning = document.getElementById("meaning");
const MAX_COMPLETIONS = 8;
const keys = fetch("/keys.json").then((response) => response.json());
// Answers replace the text area.
const area = () => document.getElementById("spec");

const number = () => {
  const mistake = document.getElementById("mistake");
  const gutter = area().previousElementSibling;
  gutter.replaceChildren(...area().value.split("\n").map((_, index) => {
    const line = document.createElement("span");
    line.textContent = `${index + 1}\n`;
    if (String(index + 1) === mistake?.dataset.line) line.className = "bad";
    return line;
  }));
  gutter.scrollTop = area().scrollTop;
};

const mark = () => {
  document.getElementById("placed")?.remove();
  for (const field of editor.querySelectorAll("[data-marked]")) {
    field.removeAttribute("aria-invalid");
    delete field.dataset.marked;
  }
  const mistake = document.getElementById("mistake");
  // An error of the whole text names no field.
  const field = document.getElementById(mistake?.dataset.field ?? "");
  if (!field?.matches("input, select, textarea") || document.getElementById(`error-${field.id}`)) return;
  field.setAttribute("aria-invalid", "true");
  field.dataset.marked = "";
  const note = document.createElement("p");
  note.id = "placed";
  note.className = "refused";
  note.textContent = mistake.textContent;
  if (field.id !== "spec") field.after(note);
  field.closest("details")?.setAttribute("open", "");
};

// The line of the cursor up to it, and the table that the line is in.
const place = () => {
  const before = area().value.slice(0, area().selectionStart).split("\n");
  const line = before.pop();
  const header = before.findLast((text) => /^\s*\[/.test(text)) ?? "";
  const table = header.replace(/[[\]\s]/g, "").replace(/#.*/, "");
  return { line, table };
};

const insert = (typed, text) => {
  const target = area();
  target.focus();
  target.setRangeText(text, target.selectionStart - typed.length, target.selectionStart, "end");
  target.dispatchEvent(new Event("input", { bubbles: true }));
};

const complete = async () => {
  const { line, table } = place();
  // Entries of lists have the keys of the first one.
  const found = (await keys).map((key) => ({ ...key, path: key.path.replace("[0]", "") }));
  const [name, value] = line.split("=").map((part) => part.trim());
  const prefix = table && !line.trim().startsWith("[") ? `${table}.` : "";
  let offers = [];
  const key = found.find(({ path }) => path === prefix + name);
  if (value !== undefined) {
    const isWord = (choice) => !["true", "false"].includes(choice);
    const quoted = (key?.choices ?? []).map((choice) => (isWord(choice) ? `"${choice}"` : choice));
    offers = quoted.filter((choice) => choice !== value && choice.startsWith(value)).map((choice) => [value, choice, choice]);
  } else if (line.trim().startsWith("[")) {
    const typed = line.trim().replace(/[[\]]/g, "");
    const tables = [...new Set(found.filter(({ path }) => path.includes(".")).map(({ path }) => path.slice(0, path.lastIndexOf("."))))];
    offers = tables.filter((path) => path.startsWith(typed) && path !== typed).map((path) => [typed, path, `[${path}]`]);
  } else {
    offers = found.filter(({ path }) => path.startsWith(prefix + name) && path !== prefix + name)
      .map(({ path }) => [name, `${path.slice(prefix.length)} = `, path.slice(prefix.length)]);
  }
  completions.replaceChildren(...offers.slice(0, MAX_COMPLETIONS).map(([typed, text, label]) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = label;
    button.addEventListener("click", () => insert(typed, text));
    return button;
  }));
  meaning.textContent = key ? `${key.path}: ${key.hint}${key.default ? ` Default: ${key.default}.` : ""}` : "";
};

// The drawing and the estimate are of the form before the newest change.
let isStale = true;
const preview = () => document.getElementById("preview");
editor.addEventListener("input", () => {
  isStale = true;
  preview().setAttribute("aria-busy", "true");
});
document.addEventListener("htmx:beforeSend", ({ target }) => { if (target === preview()) isStale = false; });
document.addEventListener("htmx:afterRequest", ({ target }) => {
  if (target === preview() && !isStale) preview().removeAttribute("aria-busy");
});

editor.addEventListener("input", ({ target }) => {
  if (target.id !== "spec") return;
  number();
  complete();
});
for (const event of ["click", "keyup"]) {
  editor.addEventListener(event, ({ target }) => { if (target.id === "spec") complete(); });
}
editor.addEventListener("scroll", ({ target }) => { if (target.id === "spec") number(); }, true);
document.addEventListener("htmx:afterSettle", ({ target }) => {
  number();
  mark();
  if (target.id === "scheme-list") target.dispatchEvent(new Event("input", { bubbles: true }));
});
number();
