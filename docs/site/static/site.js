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
    } else {
      // From here on there is something to see.
      picture.setCurrentTime(3);
    }
    show();
    picture.after(button);
  }
});

// The page in another version of the site, whose folder stands beside this one's; its start page if it has no such page.
document.addEventListener("DOMContentLoaded", () => {
  const root = new URL(document.documentElement.dataset.content_root, location.href);
  const folder = root.pathname.split("/").at(-2);
  const page = location.href.slice(root.href.length);
  const leave = async (version) => {
    const start = new URL(`../${version}/`, root);
    const answer = await fetch(new URL(page, start), { method: "HEAD" }).catch(() => null);
    // A file cannot be asked for.
    const isThere = location.protocol === "file:" || answer?.ok;
    location.href = new URL(isThere ? page : "index.html", start);
  };
  if (!siteVersions.includes(folder)) return;
  for (const place of document.querySelectorAll(".navbar-header-items__end, .sidebar-header-items__end")) {
    const choice = document.createElement("select");
    choice.className = "version";
    choice.setAttribute("aria-label", "Version of these pages");
    choice.append(...siteVersions.map((version) => new Option(version, version, version === folder, version === folder)));
    choice.addEventListener("change", () => leave(choice.value));
    place.prepend(choice);
  }
});
