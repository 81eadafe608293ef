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

// A picture that moves for longer than five seconds can be halted, and starts halted where the machine asks for less motion.
document.addEventListener("DOMContentLoaded", () => {
  for (const picture of document.querySelectorAll("svg.moving")) {
    const button = document.createElement("button");
    button.className = "btn btn-sm btn-outline-secondary";
    const show = () => (button.textContent = picture.animationsPaused() ? "Play" : "Pause");
    button.addEventListener("click", () => {
      picture.animationsPaused() ? picture.unpauseAnimations() : picture.pauseAnimations();
      show();
    });
    if (matchMedia("(prefers-reduced-motion: reduce)").matches) {
      picture.setCurrentTime(9);
      picture.pauseAnimations();
    }
    show();
    picture.after(button);
  }
});
