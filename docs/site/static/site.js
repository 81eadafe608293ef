// The theme's controls, for those who hear a page: its folds have no name, and its search another than the one that is seen.
document.addEventListener("DOMContentLoaded", () => {
  for (const fold of document.querySelectorAll(".bd-sidebar-primary summary")) {
    const above = fold.closest("li")?.querySelector("a");
    fold.setAttribute("aria-label", `Below ${above?.textContent.trim() ?? "this page"}`);
  }
  for (const search of document.querySelectorAll("button.search-button-field")) {
    // On a telephone nothing but its glass is seen.
    search.setAttribute("aria-label", search.innerText.replace(/\s+/g, " ").trim() || "Search");
  }
});
