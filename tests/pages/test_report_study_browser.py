"""A study's report in a browser: nothing asked for, nothing complained of, on a phone, on a desk and on paper."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import aqmlab as lab
from aqmlab.running.sweep import sweep
from aqmlab.store.store import Store
from aqmlab.studies.kit.study import study_cells
from axe import violations
from browser import NEEDS_CHROMIUM, UNFOLD, WIDER, chromium, record_events
from fixtures.study import Tiny, register

pytestmark = NEEDS_CHROMIUM

NOTES = (
    "## Findings\n\n<script>window.ran = true</script>\n\n<img src='https://a.test/b' onerror='window.ran = true'>\n"
)
DRAWN = "[...document.images].map(each => each.complete && each.naturalWidth > 0)"


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("store")
    cells = study_cells(Tiny(), Tiny.lengths["quick"], {})
    sweep([cell for group in cells.values() for cell in group], Store(folder), workers=1)
    (folder / "studies").mkdir()
    (folder / "studies/tiny-notes.md").write_text(NOTES)
    with pytest.MonkeyPatch.context() as patch:
        register(patch)
        return lab.report("tiny", out=folder, to=folder / "report.html")


@pytest.fixture(scope="module")
def page() -> Iterator[Any]:
    """A page with its requests and messages recorded."""
    with chromium() as browser:
        yield record_events(browser.new_page())


@pytest.mark.parametrize(("width", "media"), [(1280, "screen"), (390, "screen"), (680, "print")])
def test_all_is_shown_and_nothing_is_asked_for_or_complained_of(
    page: Any, report: Path, width: int, media: str
) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    page.emulate_media(media=media)
    page.requested_urls.clear()
    page.goto(report.as_uri())
    page.evaluate(UNFOLD)
    assert page.evaluate(DRAWN) == [True, True]
    assert page.evaluate(WIDER) == 0
    assert page.locator("h1").inner_text() == Tiny.title
    assert page.get_by_role("table").count() == 7
    assert page.evaluate("window.ran === undefined")
    assert [url for url in page.requested_urls if not url.startswith("data:")] == [report.as_uri()]
    assert page.logged_messages == []


@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_serious_is_found_by_axe(page: Any, report: Path, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    page.emulate_media(media="screen")
    page.goto(report.as_uri())
    page.evaluate(UNFOLD)
    assert violations(page) == []


def test_content_wider_than_a_phone_scrolls_by_keyboard(page: Any, report: Path) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    page.emulate_media(media="screen")
    page.goto(report.as_uri())
    table = page.get_by_role("region", name="Second reading")
    table.focus()
    page.keyboard.press("ArrowRight")
    # The page's policy allows no waiting script inside it.
    page.wait_for_timeout(500)
    assert table.evaluate("table => table.scrollLeft") > 0
