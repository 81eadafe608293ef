"""The console's table of runs in a browser: search, order, selection and tags."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

import aqmlab as lab
import fixtures.console
from browser import NEEDS_CHROMIUM, chromium, playwright, record_events

pytestmark = NEEDS_CHROMIUM


@pytest.fixture(scope="module")
def opened(console_store: Path) -> Iterator[Any]:
    with fixtures.console.console(console_store) as address, chromium() as browser:
        page = record_events(browser.new_page(viewport={"width": 1280, "height": 800}))
        page.goto(address)
        page.home = f"http://{urlsplit(address).netloc}"
        yield page


@pytest.fixture
def page(opened: Any) -> Iterator[Any]:
    """A page on which nothing is selected; fail on any message in the browser's console."""
    opened.logged_messages.clear()
    opened.goto(opened.home + "/")
    opened.evaluate("sessionStorage.clear()")
    yield opened
    assert opened.logged_messages == []


def test_a_tag_is_given_and_found(page: Any) -> None:
    page.goto(page.home + "/?words=codel&sort=seed")
    page.get_by_role("link", name="codel", exact=True).first.click()
    page.get_by_text("Tags and note of this run").click()
    page.get_by_label("Tags", exact=True).fill("smoke")
    page.get_by_label("Note", exact=True).fill("the first\none")
    page.get_by_role("button", name="Save", exact=True).click()
    page.locator(".tag").wait_for()
    page.goto(page.home + "/")
    page.get_by_role("link", name="smoke", exact=True).click()
    assert page.locator("#words").input_value() == "tag=smoke"
    assert page.locator("input[name=cell]").count() == 1
    assert page.locator("tbody .note").inner_text() == "the first\none".replace("\n", " ")


def test_cells_are_found_while_one_types(page: Any) -> None:
    page.goto(page.home + "/")
    page.get_by_label("Search").press_sequentially("droptail:limit")
    playwright.expect(page.locator("th[scope=row]")).to_have_count(2)
    assert page.url.endswith("/?words=droptail%3Alimit")


def test_an_order_and_a_selection_outlive_a_search(page: Any) -> None:
    page.evaluate("sessionStorage.clear()")
    page.goto(page.home + "/?column=response_time_ms_p99")
    page.get_by_role("link", name="p99 response time, ms").click()
    playwright.expect(page.locator("th[aria-sort=descending]")).to_have_text("p99 response time, ms")
    shown = [float(text.replace(",", "")) for text in page.locator("th[scope=row] ~ td:last-child").all_inner_texts()]
    assert shown == sorted(shown, reverse=True)
    page.locator("input[name=cell]").first.check()
    page.get_by_label("Search").fill("codel seed=2")
    playwright.expect(page.locator("th[scope=row]")).to_have_count(1)
    playwright.expect(page.locator("th[aria-sort=descending]")).to_have_text("p99 response time, ms")
    page.locator("input[name=cell]").check()
    playwright.expect(page.locator("#selected")).to_have_text("2 selected, 1 of them not shown.")
    page.get_by_text("Columns").click()
    page.get_by_label("RTT").check()
    playwright.expect(page.get_by_role("columnheader", name="RTT")).to_have_count(1)
    page.go_back()
    page.get_by_role("link", name="group by experiment").wait_for(state="detached")
    page.get_by_role("button", name="Compare selected").click()
    page.wait_for_url("**/compare?**")
    assert page.url.count("cell=") == 2


def test_a_group_is_selected_with_one_box(page: Any) -> None:
    page.evaluate("sessionStorage.clear()")
    page.goto(page.home + "/?words=o load>10")
    page.locator("[data-group]").check()
    assert page.locator("input[name=cell]:checked").count() == 4
    page.get_by_role("button", name="Clear").click()
    assert page.locator("input:checked:not([name=column])").count() == 0


HEADER = (
    "all => all.map(each => { const { left, width } = each.getBoundingClientRect();"
    " return [each.textContent.trim(), Math.round(left / 8), Math.round(width / 8)] })"
)
"""The names of columns with their places, in steps of 8 px."""


def test_columns_stay_in_their_places_whatever_the_order(page: Any, console_store: Path) -> None:
    # Two experiments, which differ in the rate.
    experiment = lab.Experiment(link={"rate": "4 Mbit/s"}, users={"per_side": 20}, protocol={"duration": "3 s"})
    lab.compare("droptail:limit=20", experiment=experiment, seeds=[1], baseline=False, out=console_store)
    page.goto(page.home + "/")
    headings = page.locator(".runs thead th")
    places = headings.evaluate_all(HEADER)
    mark = page.locator(".runs thead th", has_text="p99 response time").locator(".order")
    drawn = "mark => getComputedStyle(mark, '::after').content"
    assert mark.evaluate(drawn) == '"\u2195"'
    for direction, arrow in (("descending", '"\u2193"'), ("ascending", '"\u2191"')):
        page.get_by_role("link", name="p99 response time, ms", exact=True).click()
        page.locator(f"th[aria-sort={direction}]").wait_for()
        assert mark.evaluate(drawn) == arrow
        assert headings.evaluate_all(HEADER) == places
    row = page.locator("tbody tr", has_text="4 Mbit/s")
    assert "droptail:limit=20" in row.locator("th").inner_text()
    assert page.locator("tbody tr", has_text="10 Mbit/s").count() == 5


def test_selected_cells_that_a_filter_hides_are_counted(page: Any) -> None:
    page.goto(page.home + "/?words=load>10")
    cells = page.locator("input[name=cell]").count()
    page.get_by_role("button", name=f"Select all {cells} found").click()
    assert page.locator("#selected").inner_text() == f"{cells} selected."
    page.get_by_label("Search").fill("codel seed=1")
    hidden = f"{cells} selected, {cells - 1} of them not shown."
    playwright.expect(page.locator("#selected")).to_have_text(hidden)
    page.get_by_role("button", name="Clear those not shown").click()
    playwright.expect(page.locator("#selected")).to_have_text("1 selected.")
    assert not page.get_by_role("button", name="Clear those not shown").is_visible()
    page.get_by_role("button", name="Clear", exact=True).click()
    assert page.locator("#selected").inner_text() == "0 selected."
    assert page.get_by_role("button", name="Compare selected").is_disabled()
