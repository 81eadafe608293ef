"""The figures of a sweep in a browser: read at the values that were measured, and saved with what they show."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest

import aqmlab as lab
import fixtures.console
from aqmlab.store.store import Store
from browser import NEEDS_CHROMIUM, chromium, record_events

pytestmark = NEEDS_CHROMIUM

LOADS = (60, 70, 98)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The comparison of two schemes over three loads."""
    out = tmp_path_factory.mktemp("store")
    for load in LOADS:
        experiment = lab.Experiment(
            link={"rate": "4 Mbit/s"}, users={"load": load}, protocol={"warmup": "1 s", "duration": "5 s"}
        )
        lab.compare("droptail", "codel", experiment=experiment, seeds=[1, 2], baseline=False, out=out)
    with fixtures.console.console(out) as address, chromium() as browser:
        page = record_events(browser.new_page(viewport={"width": 1280, "height": 900}))
        page.goto(address)
        query = urlencode([("cell", key) for key in Store(out).cells()["cell"]])
        page.goto(f"http://{urlsplit(address).netloc}/compare?{query}")
        page.locator("figure").last.locator(".chart svg path").first.wait_for(state="attached")
        yield page


def point(page: Any, chart: str, panel: int, share: float) -> str:
    """Point at a place of a panel, given as a share of its width; what is read there."""
    figure = page.locator(f"[data-chart={chart}]")
    area = figure.locator(".cell > g > path.background").nth(panel)
    area.scroll_into_view_if_needed()
    box = area.bounding_box()
    page.mouse.move(box["x"] + share * box["width"], box["y"] + box["height"] / 2)
    return str(figure.locator(".place").inner_text())


def test_each_panel_is_read_at_the_nearest_measured_value(page: Any) -> None:
    rows = page.evaluate("charts.axis.rows")
    panels = list(dict.fromkeys(row["panel"] for row in rows))
    assert len(panels) == 6
    for number, panel in enumerate(panels):
        for share, load in ((0.02, 60), (0.2, 70), (0.9, 98)):
            assert point(page, "axis", number, share) == f"{panel}; load, %: {load}"
            for name in ("droptail", "codel"):
                (row,) = [r for r in rows if (r["panel"], r["scheme"]) == (panel, name) and abs(r["at"] - load) < 1]
                value = page.locator(f"[data-chart=axis] [data-scheme={name}] .value").inner_text()
                assert value == page.evaluate("value => short(value)", row["mean"])
    assert page.logged_messages == []


def test_the_axis_names_the_measured_values_at_their_points(page: Any) -> None:
    for panel in page.locator("[data-chart=axis] .cell > g").all():
        labels = panel.locator(".role-axis-label text").all_text_contents()
        assert "60 70 98" in " ".join(labels)
        assert panel.locator(".mark-symbol path").count() == 2 * len(LOADS)


def test_every_small_multiple_is_read(page: Any) -> None:
    for number, load in enumerate(LOADS):
        read = point(page, "response-times-multiples", number, 0.5)
        assert read.startswith(f"load {load} %; response time, ms: ")
        values = page.locator("[data-chart=response-times-multiples] .legend .value").all_inner_texts()
        assert all(values), number


def test_a_saved_figure_says_what_it_shows(page: Any, tmp_path: Path) -> None:
    setting = page.locator("[data-setting]").inner_text()
    assert setting.startswith("4 Mbit/s")
    assert "load" not in setting, "the loads differ"
    page.locator("[data-chart=axis] [data-scheme=codel]").click()
    for chart, title in (
        ("axis", "Numbers over the load"),
        ("response-times-multiples", "Response times, by load, CDF"),
    ):
        with page.expect_download() as download:
            page.locator(f"[data-chart={chart}] [data-save=svg]").click()
        download.value.save_as(tmp_path / "figure.svg")
        text = (tmp_path / "figure.svg").read_text()
        assert title in text
        assert setting in text
        assert ">droptail<" in text
        assert ">codel<" not in text, "a hidden scheme is not in the legend"
    assert page.locator("body > div:not([class])").count() == 0
    assert page.logged_messages == []
