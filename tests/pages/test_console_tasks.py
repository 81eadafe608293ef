"""Eight tasks of people who have never seen the console, with nothing but the words on its pages."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

import aqmlab as lab
import fixtures.console
from browser import NEEDS_CHROMIUM, chromium, record_events

pytestmark = NEEDS_CHROMIUM

FAILURE = {
    "cell": "0" * 16,
    "label": "red",
    "seed": 7,
    "error": "out of memory",
    "at": "2026-01-31T10:00:00",
    "rate_mbps": 20.0,
    "load_percent": 97.96,
}


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = fixtures.console.store(tmp_path_factory.mktemp("store"))
    (folder / "failed").mkdir()
    (folder / "failed" / f"{FAILURE['cell']}.json").write_text(json.dumps(FAILURE))
    return folder


@pytest.fixture(scope="module")
def page(out: Path) -> Iterator[Any]:
    with fixtures.console.console(out) as address, chromium() as browser:
        page = record_events(browser.new_context(viewport={"width": 1280, "height": 800}).new_page())
        page.set_default_timeout(120_000)
        page.goto(address)
        page.home = f"http://{urlsplit(address).netloc}"
        yield page


@pytest.fixture(autouse=True)
def at_home(page: Any) -> None:
    """Begin each task on the first page, with nothing selected."""
    page.goto(page.home)
    page.evaluate("sessionStorage.clear()")
    page.reload()


def start(page: Any) -> None:
    page.get_by_role("button", name="Start").click()
    page.get_by_role("status").get_by_text("done", exact=True).wait_for()


def choose(page: Any, scheme: str, seed: int) -> None:
    """Select a run of the oldest experiment, which is the last one."""
    page.get_by_role("checkbox", name=f"{scheme}, seed {seed}", exact=True).last.check()


def test_the_run_with_the_worst_p99_of_last_week_is_found(page: Any, out: Path) -> None:
    page.get_by_label("Created", exact=True).select_option("last 7 days")
    page.get_by_role("link", name="p99 response time, ms", exact=True).click()
    page.locator("th[aria-sort=descending]").wait_for()
    cells = lab.Store(out).cells()
    worst = cells.sort("response_time_ms_p99", descending=True)["cell"][0]
    first = page.locator("tbody input[name=cell]").first
    assert first.get_attribute("value") == worst
    page.locator("tbody th[scope=row] a").first.click()
    assert page.url.endswith(f"/cells/{worst}")


def test_a_click_before_the_answer_of_a_filter_keeps_the_filter(page: Any) -> None:
    held: list[Any] = []

    def hold_first(route: Any) -> None:
        held.append(route)
        if len(held) > 1:
            route.continue_()

    page.route(re.compile("age=7"), hold_first)
    page.get_by_label("Created", exact=True).select_option("last 7 days")
    page.get_by_role("link", name="p99 response time, ms", exact=True).click()
    page.locator("th[aria-sort=descending]").wait_for()
    page.unroute_all(behavior="ignoreErrors")
    assert urlsplit(page.url).query == "age=7&sort=-response_time_ms_p99"
    page.get_by_role("link", name="group by experiment").click()
    page.locator("th[aria-sort=descending]").wait_for(state="detached")
    assert urlsplit(page.url).query == "age=7"


def test_schemes_are_compared_and_the_figure_is_sent(page: Any, tmp_path: Path) -> None:
    for scheme in ("codel", "droptail:limit=20"):
        for seed in (1, 2):
            choose(page, scheme, seed)
    page.get_by_role("button", name="Compare selected").click()
    assert page.get_by_role("heading", name="Verdict").count() == 1
    page.locator("[data-chart=response-times] .chart svg path").first.wait_for(state="attached")
    with page.expect_download() as download:
        page.get_by_role("button", name="Save as SVG: Response times", exact=True).click()
    download.value.save_as(tmp_path / "figure.svg")
    assert (tmp_path / "figure.svg").read_text().startswith("<svg")
    # The address is the whole comparison: it opens in another tab.
    other = page.context.new_page()
    other.goto(page.url)
    assert other.get_by_role("heading", name="Comparison: 10 Mbit/s").count() == 1
    other.close()


def test_a_preset_is_started_with_another_rate(page: Any, out: Path) -> None:
    page.get_by_role("link", name="New comparison").click()
    page.get_by_label("Schemes, one a line").fill("codel\npie")
    page.get_by_label("Testbed", exact=True).select_option("unc-2003")
    page.get_by_label("Rate of the link", exact=True).fill("5 Mbit/s")
    for label, text in {"Warm-up": "1 s", "Measured": "3 s", "Seeds": "1"}.items():
        page.get_by_label(label, exact=True).fill(text)
    start(page)
    page.get_by_role("link", name="Results").click()
    assert page.locator(".ranking th[scope=row]").first.inner_text()
    assert page.locator(".ranking thead").get_by_text("99th percentile, ms").is_visible()
    assert page.locator(".wide:has(.ranking)").evaluate("area => area.scrollWidth <= area.clientWidth")
    rates = lab.Store(out).cells().filter(label="pie")["rate_mbps"]
    assert 5.0 in rates.to_list()


def test_a_slow_request_is_explained(page: Any) -> None:
    page.get_by_role("link", name="codel", exact=True).first.click()
    page.get_by_role("button", name="Explain the slowest requests").click()
    page.get_by_role("status").get_by_text("done", exact=True).wait_for()
    messages = page.get_by_role("log")
    assert re.search(r"Request [\d,]+", messages.inner_text())
    assert "ms" in messages.inner_text()
    # It is read from its first line on, and the run knows of it.
    assert messages.evaluate("lines => lines.scrollTop") == 0
    job = page.url
    page.get_by_role("link", name="Back to the run", exact=True).click()
    page.get_by_role("link", name="Explanation by job").click()
    assert page.url == job


def test_a_failed_run_says_why(page: Any) -> None:
    assert page.get_by_text("1 failed cell").is_visible()
    setting = "red, seed 7, 20 Mbit/s, load 98 %"
    assert page.get_by_text(f"{setting}, 2026-01-31 10:00: out of memory").is_visible()


def test_a_run_is_tagged_and_found_again(page: Any) -> None:
    page.get_by_role("link", name="codel", exact=True).first.click()
    name = page.locator("h1").inner_text()
    page.get_by_text("Tags and note of this run").click()
    page.get_by_label("Tags", exact=True).fill("for-the-paper")
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_role("link", name="Runs").click()
    page.get_by_label("Search").fill("tag=for-the-paper")
    page.get_by_text("1 cell").first.wait_for()
    page.get_by_role("link", name="codel", exact=True).click()
    assert page.locator("h1").inner_text() == name


def test_a_sweep_over_two_axes_becomes_heat_maps(page: Any) -> None:
    page.get_by_role("link", name="New sweep").click()
    page.get_by_label("Schemes, one a line").fill("codel\npie")
    for number, (path, values) in enumerate((("users.load", "60, 90"), ("link.delay", "1 ms, 20 ms"))):
        row = page.locator("fieldset").nth(number)
        row.locator("[name$='.path']").fill(path)
        row.locator("[name$='.values']").fill(values)
    for label, text in {"Rate of the link": "4 Mbit/s", "Warm-up": "1 s", "Measured": "3 s", "Seeds": "1"}.items():
        page.get_by_label(label, exact=True).fill(text)
    start(page)
    page.get_by_role("link", name="Results").click()
    assert "differ in load, % and in delay of the link, ms" in page.locator(".lead").inner_text()
    page.locator("[data-chart=grid-p50] .chart svg .mark-rect path").first.wait_for(state="attached")
    texts = page.locator("[data-chart=grid-p50] .chart svg").text_content()
    assert all(scheme in texts for scheme in ("codel", "pie"))
    plots = page.locator("[data-chart=response-times-multiples] .cell > g > path.background")
    plots.last.wait_for(state="attached")
    places = plots.evaluate_all(
        "all => all.map(each => { const { x, y } = each.getBoundingClientRect(); return [x, y] })"
    )
    assert [len({round(place[axis]) for place in places}) for axis in (0, 1)] == [2, 2], (
        "four plots are two rows of two"
    )
    parallel = page.locator("[data-chart=parallel]")
    parallel.locator(".mark-line path").first.scroll_into_view_if_needed()
    box = parallel.locator(".role-scope path.background").first.bounding_box()
    page.mouse.move(box["x"] + 1, box["y"] + 0.9 * box["height"])
    page.mouse.down()
    page.mouse.move(box["x"] + 0.1 * box["width"], box["y"] + box["height"], steps=3)
    page.mouse.up()
    # The foot of the first axis is the lower load.
    parallel.get_by_text("4 of 8 lines").wait_for()


def test_a_column_is_added_and_the_report_is_downloaded(page: Any, tmp_path: Path) -> None:
    page.get_by_text("Columns", exact=True).click()
    page.get_by_label("utilization", exact=True).check()
    page.get_by_role("link", name="utilization", exact=True).wait_for()
    page.get_by_text("Columns", exact=True).click()
    choose(page, "codel", 1)
    choose(page, "droptail:limit=20", 1)
    page.get_by_role("button", name="Compare selected").click()
    with page.expect_download() as download:
        page.get_by_role("link", name="Download report").first.click()
    download.value.save_as(tmp_path / "report.html")
    assert "<!doctype html>" in (tmp_path / "report.html").read_text()[:100].lower()


def test_no_task_asks_for_another_host_or_logs_an_error(page: Any) -> None:
    assert {urlsplit(url).netloc for url in page.requested_urls if not url.startswith("blob:")} == {
        urlsplit(page.home).netloc
    }
    assert page.logged_messages == []
