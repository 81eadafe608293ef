"""The documentation site as a reader sees it: ``make docs`` asks this of the site that it has built.

Every page at two widths: nothing is wider than the window, no picture is missing, nothing is asked of the network, the
browser complains of nothing. A page of each kind, light and dark: axe-core finds nothing serious.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from axe import violations
from browser import NEEDS_CHROMIUM, WIDER, chromium

SITE = Path(__file__).parents[2] / "docs" / "_build" / "html"
KINDS = (
    "docs/site/index",
    "docs/gallery/README",
    "docs/gallery/sweeps",
    "docs/guide/first",
    "docs/notebooks/first-comparison",
    "docs/reference/api",
    "docs/reference/aqm/codel",
    "docs/reference/commands",
    "docs/studies/le2003",
)
MISSING = "[...document.images].filter(each => each.complete && !each.naturalWidth).map(each => each.src)"

pytestmark = NEEDS_CHROMIUM


class Silent(SimpleHTTPRequestHandler):
    """Serves files and says nothing."""

    def log_message(self, format: str, *arguments: Any) -> None:
        pass


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Silent, directory=str(SITE)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as browser:
        yield browser


def pages() -> list[str]:
    """Name every page that stays; those of the Rust crates are made by another program."""
    files = (file.relative_to(SITE) for file in SITE.rglob("*.html"))
    return sorted(str(file) for file in files if file.parts[0] not in ("index.html", "_static", "rust"))


@pytest.mark.parametrize("width", [1280, 390])
def test_every_page_is_whole(browser: Any, address: str, width: int) -> None:
    page = browser.new_page(viewport={"width": width, "height": 844})
    messages: list[str] = []
    page.on("console", lambda message: messages.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: messages.append(str(error)))
    page.on(
        "request",
        lambda request: messages.append(request.url) if not request.url.startswith((address, "data:")) else None,
    )
    page.on(
        "response", lambda answer: messages.append(f"{answer.status} {answer.url}") if answer.status >= 400 else None
    )
    wrong = {}
    for name in pages():
        page.goto(address + name)
        beyond = page.evaluate(WIDER)
        wrong[name] = [*messages, *page.evaluate(MISSING), *([f"{beyond} px too wide"] if beyond > 0 else [])]
        messages.clear()
    page.close()
    assert {name: fault for name, fault in wrong.items() if fault} == {}
    assert {f"{kind}.html" for kind in KINDS} <= wrong.keys()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_serious_is_found_on_a_page(browser: Any, address: str, scheme: str, width: int, kind: str) -> None:
    page = browser.new_page(viewport={"width": width, "height": 844}, color_scheme=scheme)
    page.goto(f"{address}{kind}.html")
    assert violations(page) == []
    page.close()


def test_the_root_leads_to_the_start_page(browser: Any, address: str) -> None:
    page = browser.new_page()
    page.goto(address)
    page.wait_for_url(f"{address}{KINDS[0]}.html")
    page.close()


@pytest.mark.parametrize(
    ("words", "title"), [("CoDel", "CoDel"), ("ce_threshold", "CoDel"), ("bufferbloat", "Glossary")]
)
def test_the_search_finds_a_page(browser: Any, address: str, words: str, title: str) -> None:
    page = browser.new_page()
    page.goto(f"{address}search.html?q={words}")
    page.locator("#search-results a", has_text=title).first.wait_for()
    page.close()


@pytest.mark.parametrize(("motion", "words"), [("no-preference", ["Pause", "Play"]), ("reduce", ["Play", "Pause"])])
def test_the_moving_picture_can_be_halted(browser: Any, address: str, motion: Any, words: list[str]) -> None:
    page = browser.new_page(reduced_motion=motion)
    page.goto(f"{address}docs/site/index.html")
    halted = "document.querySelector('svg.moving').animationsPaused()"
    for word in words:
        button = page.get_by_role("button", name=word)
        assert page.evaluate(halted) == (word == "Play")
        button.click()
    page.close()


def test_each_discipline_stands_once_in_the_navigation(browser: Any, address: str) -> None:
    page = browser.new_page()
    page.goto(f"{address}docs/reference/aqm/codel.html")
    linked = page.locator(".bd-sidebar-primary a").evaluate_all("links => links.map(link => link.href)")
    disciplines = [file.stem for file in (SITE / "docs/reference/aqm").glob("*.html")]
    counts = {name: sum(href.partition("#")[0].endswith(f"/{name}.html") for href in linked) for name in disciplines}
    # The link to the page itself has no file in it.
    assert {name: count for name, count in counts.items() if count != 1 and name != "codel"} == {}
    assert sum(name == "CoDel" for name in page.locator(".bd-sidebar-primary a").all_inner_texts()) == 1
    for heading in ("Idea", "Equations", "Parameters"):
        assert page.get_by_role("heading", name=heading).count() == 1
    page.close()


def test_the_menu_of_versions_leads_to_the_same_page(browser: Any, address: str, tmp_path: Path) -> None:
    for version in ("0.1.0", "0.2.0"):
        (tmp_path / version / "docs" / "guide").mkdir(parents=True)
        for file in ("docs/guide/first.html", "_static"):
            (tmp_path / version / file).symlink_to(SITE / file)
    context = browser.new_context()
    context.route("**/versions.js*", lambda route: route.fulfill(body='siteVersions = ["0.2.0", "0.1.0"]'))
    page = context.new_page()
    page.goto((tmp_path / "0.1.0" / "docs" / "guide" / "first.html").as_uri())
    choice = page.get_by_label("Version of these pages").first
    assert choice.input_value() == "0.1.0"
    choice.select_option("0.2.0")
    page.wait_for_url("**/0.2.0/docs/guide/first.html")
    assert choice.input_value() == "0.2.0"
    # Alone, this version has no menu.
    page.goto(f"{address}docs/guide/first.html")
    assert page.get_by_label("Version of these pages").count() == 0
    context.close()
