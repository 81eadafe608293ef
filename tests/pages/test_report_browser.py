"""The report in a browser: drawn, sorted, its schemes hidden and shown, nothing asked for, nothing complained of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import aqmlab as lab
from aqmlab.reports.page import html
from aqmlab.reports.selection import Choice, Selection, select
from browser import NEEDS_CHROMIUM, UNFOLD, WIDER, chromium, record_events, tab_to
from fixtures.reports import HOSTILE, LONG

SCHEMES = ("droptail:limit=20", "pie:ecn=true")
MARKS = ":is(.mark-line, .mark-rect) path"
"""The elements that show data in a figure."""
EXTENT = """all => {
  const boxes = all.map(each => each.getBoundingClientRect());
  const over = (from, to) => Math.max(...boxes.map(box => box[to])) - Math.min(...boxes.map(box => box[from]));
  return [over("left", "right"), over("top", "bottom")];
}"""
"""The width and height of the whole figure."""

pytestmark = NEEDS_CHROMIUM


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("store")
    experiment = lab.Experiment(
        link={"rate": "10 Mbit/s"},
        users={"per_side": 1200},
        protocol={"warmup": "2 s", "duration": "10 s"},
        record={"exchanges": True},
    )
    lab.compare(*SCHEMES, experiment=experiment, seeds=[1, 2], out=folder)
    return folder


@pytest.fixture(scope="module")
def report(out: Path) -> Path:
    return lab.report(out=out, to=out / "report.html", explain=True)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with chromium() as browser:
        yield browser


def opened(browser: Any, report: Path, width: int) -> Any:
    """Open a report and wait for its figures: they are drawn one after the other, the bars last."""
    page = record_events(browser.new_page(viewport={"width": width, "height": 800}))
    page.goto(report.as_uri())
    page.locator(f".bars figure .chart svg {MARKS}").last.wait_for(state="attached")
    page.locator("figure").last.locator(".chart svg path").first.wait_for(state="attached")
    return page


@pytest.fixture(scope="module")
def page(browser: Any, report: Path) -> Any:
    """The page on a phone."""
    return opened(browser, report, 390)


def lines(page: Any, chart: str) -> int:
    """Count the schemes' lines that are seen in a figure."""
    return int(page.locator(f"figure[data-chart='{chart}'] .mark-line path").count())


def test_all_is_drawn_and_nothing_is_asked_for_or_complained_of(page: Any, report: Path) -> None:
    assert page.requested_urls == [report.as_uri()]
    assert page.logged_messages == []
    assert lines(page, "response-times") == 3
    assert page.locator("figure").count() >= 10
    assert page.locator("figure[data-chart='parts'] .mark-rect path").count() > 3 * 3


def test_every_view_of_every_figure_has_something_in_it(browser: Any, report: Path) -> None:
    page = opened(browser, report, 1280)
    view_count = 0
    for figure in page.locator("figure").all():
        for choice in figure.locator("[data-view]").all() or [None]:
            if choice is not None:
                figure.locator(".chart svg").evaluate("svg => svg.classList.add('old')")
                choice.click()
            marks = figure.locator(f".chart svg:not(.old) {MARKS}")
            marks.first.wait_for(state="attached")
            width, height = marks.evaluate_all(EXTENT)
            assert width > 50, choice
            assert height > 5, choice
            view_count += 1
    assert view_count >= 25
    assert page.logged_messages == []
    page.close()


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
        marks = page.locator(f"[data-scheme='{SCHEMES[0]}']")
        assert {marks.nth(n).get_attribute("aria-pressed") for n in range(marks.count())} == {pressed}


def test_the_pointer_shows_values_and_only_ctrl_wheel_zooms(page: Any) -> None:
    figure = page.locator("figure[data-chart='response-times']")
    figure.scroll_into_view_if_needed()
    line = figure.locator(".mark-line path").first
    whole = line.get_attribute("d")
    point = figure.locator(".mark-symbol path").nth(60).bounding_box()
    x, y = point["x"] + point["width"] / 2, point["y"] + point["height"] / 2
    page.mouse.move(x - 5, y)
    page.mouse.move(x, y)
    tooltip = page.locator(".vg-tooltip.visible")
    assert "requests answered within it, %" in tooltip.inner_text()
    for key, is_zoomed in (("Shift", False), ("Control", True)):
        page.keyboard.down(key)
        page.mouse.wheel(0, -100)
        page.keyboard.up(key)
        page.wait_for_timeout(200)
        assert (line.get_attribute("d") != whole) is is_zoomed


def test_a_figure_has_other_views(page: Any) -> None:
    figure = page.locator("figure[data-chart='response-times']")
    before = figure.locator(".mark-line path").first.get_attribute("d")
    figure.get_by_role("button", name="CCDF, logarithmic").click()
    page.wait_for_function(
        "before => before !=="
        " document.querySelector('figure[data-chart=response-times] .mark-line path')?.getAttribute('d')",
        arg=before,
    )
    assert lines(page, "response-times") == 3
    assert page.logged_messages == []


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
    assert any("Content Security Policy" in message for message in page.logged_messages)


def test_the_keyboard_alone_suffices_and_is_seen_where_it_is(browser: Any, report: Path) -> None:
    page = opened(browser, report, 1280)
    tab_to(page, "[data-view='around p99']", most=200)
    page.keyboard.press("Space")
    assert page.locator(":focus").get_attribute("aria-pressed") == "true"
    tab_to(page, "summary", most=200)
    page.keyboard.press("Enter")
    assert page.locator("details[open]").count() == 1
    tab_to(page, "pre[aria-label='experiment.toml']")
    before = page.locator(":focus").evaluate("pre => pre.scrollTop")
    page.keyboard.press("PageDown")
    page.wait_for_function("before => document.activeElement.scrollTop > before", arg=before)
    # To the end of the page, each stop seen.
    tab_to(page, "table.cells button", most=200)
    page.close()


def test_print_cuts_nothing_off_and_hides_the_controls(browser: Any, report: Path) -> None:
    page = opened(browser, report, 680)
    page.emulate_media(media="print")
    page.evaluate(UNFOLD)
    assert page.evaluate(WIDER) == 0
    right = "all => Math.max(...all.map(each => each.getBoundingClientRect().right))"
    assert page.locator(".chart svg, table, pre").evaluate_all(right) <= 680
    assert page.locator("[aria-pressed=false]").first.is_hidden()
    assert page.get_by_text("Ctrl and the wheel zoom").is_hidden()
    page.close()


@pytest.mark.parametrize("width", [1280, 390])
def test_hostile_names_are_text_and_leave_the_page_its_shape(
    browser: Any, out: Path, tmp_path: Path, width: int
) -> None:
    results = select(out, Choice(schemes=["pie"])).valid[-1:]
    names = (HOSTILE, LONG, LONG + "y", "plain")
    renamed = tuple(replace(result, cell=replace(result.cell, label=label)) for result in results for label in names)
    file = tmp_path / "hostile.html"
    file.write_text(html(Selection(renamed, ())), encoding="utf-8")
    page = opened(browser, file, width)
    page.evaluate(UNFOLD)
    headings = page.locator("table.sorted").first.locator("tbody th").all_inner_texts()
    assert list(dict.fromkeys(headings)) == [
        HOSTILE.replace("\u202e", "⟨U+202E⟩").replace("\u2028", "⟨U+2028⟩"),
        *names[1:],
    ]
    assert page.evaluate(WIDER) == 0
    assert page.logged_messages == []
    assert page.requested_urls == [file.as_uri()]
    page.close()
