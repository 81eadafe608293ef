"use strict";

// How many cells are chosen.
const boxes = [...document.querySelectorAll("input[name=cell]")];
const chosen = document.getElementById("chosen");
if (chosen) {
  const count = () => { chosen.textContent = `${boxes.filter((box) => box.checked).length} chosen.`; };
  boxes.forEach((box) => box.addEventListener("change", count));
  count();
}

// What a run says, as it says it.
const lines = document.getElementById("lines");
if (lines) {
  const said = new EventSource(lines.dataset.lines);
  said.onmessage = (event) => {
    lines.textContent += JSON.parse(event.data) + "\n";
    lines.scrollTop = lines.scrollHeight;
  };
  said.addEventListener("end", async () => {
    said.close();
    if (!document.getElementById("stop")) return;
    const page = await (await fetch(location.href)).text();
    const ended = new DOMParser().parseFromString(page, "text/html").getElementById("state");
    document.getElementById("state").replaceChildren(...ended.childNodes);
  });
  // A stream that broke would be told from its beginning again.
  said.onerror = () => said.close();
}
