"""The report in a browser: drawn, sorted, its schemes hidden and shown, nothing asked for, nothing complained of."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import aqmlab as lab

CHROMIUM = Path("/usr/bin/chromium")
SCHEMES = ("droptail:limit=20", "pie:ecn=true")

playwright = pytest.importorskip("playwright.sync_api", reason="Playwright's Python package is not installed")
pytestmark = pytest.mark.skipif(not CHROMIUM.exists(), reason=f"there is no {CHROMIUM}")


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("store")
    experiment = lab.Experiment(
        link={"rate": "10 Mbit/s"},
        users={"per_side": 1200},
        protocol={"warmup": "2 s", "duration": "10 s"},
        record={"exchanges": True},
    )
    lab.compare(*SCHEMES, experiment=experiment, seeds=[1, 2], out=folder)
    return lab.report(out=folder, to=folder / "report.html", explain=True)


@pytest.fixture(scope="module")
def page(report: Path) -> Iterator[Any]:
    """The page, drawn, with what was asked for and complained of in ``asked`` and ``said``."""
    with playwright.sync_playwright() as browsers:
        browser = browsers.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 390, "height": 800})
        page.asked, page.said = [], []
        page.on("request", lambda request: page.asked.append(request.url))
        page.on("console", lambda message: page.said.append(message.text))
        page.on("pageerror", lambda error: page.said.append(str(error)))
        page.goto(report.as_uri())
        # They are drawn one after the other, the bars last.
        page.locator(".bars figure").last.locator(".chart svg path").first.wait_for(state="attached")
        yield page
        browser.close()


def lines(page: Any, chart: str) -> int:
    """Count the schemes' lines that are seen in a figure."""
    return int(page.locator(f"figure[data-chart='{chart}'] .mark-line path").count())


def test_all_is_drawn_and_nothing_is_asked_for_or_complained_of(page: Any, report: Path) -> None:
    assert page.asked == [report.as_uri()]
    assert page.said == []
    assert lines(page, "response-times") == 3
    figures = page.locator("figure")
    assert figures.count() >= 10
    assert all(figures.nth(n).locator(".chart svg path").count() for n in range(figures.count()))
    assert page.locator("figure[data-chart='parts'] .mark-rect path").count() > 3 * 3


def test_a_phone_does_not_scroll_sideways(page: Any) -> None:
    assert page.evaluate("document.documentElement.scrollWidth") == 390


def test_a_scheme_is_hidden_and_shown_in_all_figures(page: Any) -> None:
    key = page.locator("figure[data-chart='delay'] .legend button").first
    assert key.get_attribute("data-scheme") == SCHEMES[0]
    for pressed, response_times, delays in (("false", 2, 1), ("true", 3, 2)):
        key.focus()
        page.keyboard.press("Enter")
        page.wait_for_function(
            f"document.querySelectorAll('figure[data-chart=delay] .mark-line path').length === {delays}"
        )
        assert lines(page, "response-times") == response_times
        of_all = page.locator(f"[data-scheme='{SCHEMES[0]}']")
        assert {of_all.nth(n).get_attribute("aria-pressed") for n in range(of_all.count())} == {pressed}


def test_the_pointer_tells_values_and_zooms_but_the_plain_wheel_does_not(page: Any) -> None:
    figure = page.locator("figure[data-chart='response-times']")
    figure.scroll_into_view_if_needed()
    line = figure.locator(".mark-line path").first
    whole = line.get_attribute("d")
    point = figure.locator(".mark-symbol path").nth(60).bounding_box()
    x, y = point["x"] + point["width"] / 2, point["y"] + point["height"] / 2
    page.mouse.move(x - 5, y)
    page.mouse.move(x, y)
    told = page.locator(".vg-tooltip.visible")
    assert "requests answered within it, %" in told.inner_text()
    for key, is_zoomed in (("Shift", False), ("Control", True)):
        page.keyboard.down(key)
        page.mouse.wheel(0, -100)
        page.keyboard.up(key)
        page.wait_for_timeout(200)
        assert (line.get_attribute("d") != whole) is is_zoomed


def test_a_figure_has_other_views(page: Any) -> None:
    figure = page.locator("figure[data-chart='response-times']")
    before = figure.locator(".mark-line path").first.get_attribute("d")
    figure.get_by_role("button", name="not yet, logarithmic").click()
    page.wait_for_function(
        "before => before !=="
        " document.querySelector('figure[data-chart=response-times] .mark-line path')?.getAttribute('d')",
        arg=before,
    )
    assert lines(page, "response-times") == 3
    assert page.said == []


def test_tables_are_sorted_by_numbers_with_the_keyboard(page: Any) -> None:
    table = page.locator("table.sorted", has_text="completed").first
    head = table.locator("thead th", has_text="completed")
    column = head.evaluate("head => head.cellIndex")
    head.locator("button").focus()
    for order, sign in (("ascending", 1), ("descending", -1)):
        page.keyboard.press("Enter")
        texts = table.locator(f"tbody tr > :nth-child({column + 1})").all_inner_texts()
        numbers = [sign * float(text.split()[0].replace(",", "")) for text in texts]
        assert numbers == sorted(numbers)
        assert len(set(numbers)) == 3
        assert head.get_attribute("aria-sort") == order


def test_a_script_that_is_not_the_pages_own_does_not_run(page: Any, report: Path) -> None:
    page.evaluate(
        "() => { const script = document.createElement('script');"
        " script.textContent = 'window.ran = true'; document.body.append(script); }"
    )
    assert page.evaluate("window.ran === undefined")
    assert any("Content Security Policy" in said for said in page.said)
