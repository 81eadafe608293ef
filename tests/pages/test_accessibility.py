"""Accessibility of the console's pages and of a report: nothing serious, light and dark, wide and narrow."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import aqmlab as lab
import fixtures.console
from aqmlab.store.store import Store
from axe import AXE, violations
from browser import NEEDS_CHROMIUM, UNFOLD, chromium

SHA256 = "29348999450cdf2849a8e70b7912fc2da85a849da39c0d0d5394f51d4a9ed95c"

pytestmark = NEEDS_CHROMIUM


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fixtures.console.store(tmp_path_factory.mktemp("store"))


@pytest.fixture(scope="module")
def page() -> Iterator[Any]:
    with chromium() as browser:
        page = browser.new_page()
        page.set_default_timeout(20_000)
        yield page


@pytest.fixture(scope="module")
def console(page: Any, out: Path) -> Iterator[str]:
    """The console's address, with a comparison in it that has been run."""
    with fixtures.console.console(out) as address:
        page.goto(address)
        home = str(page.url)
        page.goto(home + "new")
        for label, text in {"Schemes, one a line": "codel", "Seeds": "1"}.items():
            page.get_by_label(label, exact=True).fill(text)
        spec = 'link.rate = "10 Mbit/s"\nusers.per_side = 50\nprotocol = { warmup = "1 s", duration = "5 s" }'
        page.get_by_label("The experiment as TOML").fill(spec)
        page.get_by_role("button", name="Start").click()
        page.get_by_role("link", name="Results").wait_for()
        yield home


def test_axe_is_as_published() -> None:
    assert hashlib.sha256(AXE.read_bytes()).hexdigest() == SHA256


def test_axe_finds_what_is_wrong(page: Any) -> None:
    page.set_content("<img src='data:,'><input>")
    assert {violation.partition(":")[0] for violation in violations(page)} >= {"image-alt", "label"}


@pytest.mark.slow
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_serious_is_found_on_the_consoles_pages(
    page: Any, console: str, out: Path, scheme: str, width: int
) -> None:
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 800})
    keys = Store(out).cells()["cell"].to_list()
    compared = "compare?" + "&".join(f"cell={key}" for key in keys)
    paths = [
        "",
        "new",
        "new?kind=sweep",
        "new?kind=live",
        f"cells/{keys[0]}",
        compared,
        "overview",
        "runs/1",
        "nowhere",
    ]
    by_path = {}
    for path in paths:
        page.goto(console + path)
        page.evaluate(UNFOLD)
        for add in page.locator(".add button").all():
            rows = page.locator("fieldset").count()
            add.click()
            page.locator("fieldset").nth(rows).wait_for()
        page.evaluate(UNFOLD)
        if path == "new":
            page.locator("#parameters label").first.wait_for()
            page.locator("#estimate, #mistake").wait_for()
        if path == "runs/1":
            page.locator("[data-chart=response] [data-scheme=median]").wait_for()
        by_path[path] = violations(page)
    assert by_path == {path: [] for path in paths}


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_serious_is_found_in_a_report(page: Any, out: Path, tmp_path: Path, scheme: str, width: int) -> None:
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 800})
    file = lab.report(out=out, to=tmp_path / "report.html", schemes=["droptail:limit=20", "codel"])
    page.goto(file.as_uri())
    page_colour = {"light": "rgb(255, 255, 255)", "dark": "rgb(13, 17, 23)"}[scheme]
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == page_colour
    page.evaluate(UNFOLD)
    # They are drawn one after the other.
    page.locator("figure").last.locator(".chart svg path").first.wait_for(state="attached")
    assert violations(page) == []
