"""The console in a browser: found, chosen from with the keyboard, run, watched; nothing asked for elsewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from xml.etree import ElementTree

import polars as pl
import pytest

import fixtures.console
from aqmlab.reports import templating
from browser import NEEDS_CHROMIUM, WIDER, chromium, playwright, record_events, tab_to
from fixtures.console import HOSTILE

PATHS = ("/", "/new", "/new?kind=sweep", "/nowhere")

pytestmark = NEEDS_CHROMIUM


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """The first page, with its requests and messages recorded."""
    out = fixtures.console.store(tmp_path_factory.mktemp("store"))
    with fixtures.console.console(out) as address, chromium() as browser:
        page = record_events(browser.new_page(viewport={"width": 1280, "height": 800}))
        page.set_default_timeout(120_000)
        page.entered = address
        page.goto(address)
        page.home = f"http://{urlsplit(address).netloc}"
        yield page


@pytest.fixture(autouse=True)
def quiet(page: Any) -> Iterator[None]:
    """Fail on any message in the browser's console and on any request to another host."""
    page.logged_messages.clear()
    yield
    assert page.logged_messages == []
    assert {urlsplit(url).netloc for url in page.requested_urls} == {urlsplit(page.home).netloc}


def forgive_refusals(page: Any) -> None:
    """Drop what the browser says of its own where the answer is a refusal."""
    refusal = "the server responded with a status of 4"
    page.logged_messages[:] = [message for message in page.logged_messages if refusal not in message]


def test_the_token_leaves_the_address_bar_and_the_history(page: Any) -> None:
    assert page.url == page.home + "/"
    page.goto(page.home + "/new")
    page.go_back()
    assert page.url == page.home + "/"
    token = page.entered.partition("token=")[2]
    assert token
    assert token not in page.content()


def test_names_are_text(page: Any) -> None:
    page.goto(page.home + "/")
    assert page.locator("th[scope=row]", has_text="alert(1)").inner_text() == HOSTILE
    page.locator("tr", has_text="alert(1)").get_by_role("link").click()
    assert page.locator("h1").inner_text().startswith(HOSTILE)
    page.goto(page.url.replace("/cells/", "/compare?cell="))
    assert page.locator(".ranking th[scope=row]").inner_text() == templating.visible(HOSTILE)
    assert page.locator("th[scope=row]").last.inner_text() == HOSTILE
    assert page.locator("script:not([src])").count() == 0


def test_cells_are_chosen_and_compared_with_the_keyboard_alone(page: Any) -> None:
    page.goto(page.home + "/?words=o")
    names = page.locator("th[scope=row]").all_inner_texts()
    chosen = (names.index("codel"), names.index("droptail:limit=20"))
    cells = [page.locator("input[name=cell]").nth(row).get_attribute("value") for row in sorted(chosen)]
    for cell in cells:
        tab_to(page, f"input[value='{cell}']")
        page.keyboard.press("Space")
    assert page.locator("#selected").inner_text() == "2 selected."
    page.keyboard.press("Enter")
    page.wait_for_url("**/compare?**")
    assert set(page.locator("table").first.locator("th[scope=row]").all_inner_texts()) == {"codel", "droptail:limit=20"}
    page.locator("figure").last.locator("svg path").first.wait_for(state="attached")


def test_the_report_of_a_comparison_is_downloaded(page: Any, tmp_path: Path) -> None:
    page.goto(page.home + "/?words=o")
    for box in page.locator("input[name=cell]").all():
        box.check()
    page.get_by_role("button", name="Compare selected").click()
    with page.expect_download() as download:
        page.get_by_role("link", name="Report").click()
    download.value.save_as(tmp_path / "report.html")
    assert download.value.suggested_filename == "report.html"
    assert "vegaEmbed(" in (tmp_path / "report.html").read_text()


def test_a_comparison_is_started_watched_and_its_result_is_found(page: Any) -> None:
    page.goto(page.home + "/new")
    page.get_by_text("More: Users").click()
    fields = {
        "Schemes, one a line": "pi:q_ref=7\ncodel",
        "Rate of the link": "10 Mbit/s",
        "per_side": "50",
        "Warm-up": "1 s",
        "Measured": "20 s",
        "Seeds": "1",
    }
    for label, text in fields.items():
        page.get_by_label(label, exact=True).locator("visible=true").fill(text)
    page.get_by_role("button", name="Start").click()
    page.wait_for_url("**/runs/*")
    page.get_by_role("link", name="Results").wait_for()
    assert page.locator("#state").get_by_role("status").inner_text() == "done"
    assert page.get_by_role("link", name="running").count() == 0
    assert "/report?cell=" in page.get_by_role("link", name="Download report").get_attribute("href")
    assert page.get_by_role("button", name="Stop").count() == 0
    assert "pi:q_ref=7" in page.locator("#lines").inner_text()
    page.locator("[data-chart=response] [data-scheme=median]").wait_for()
    assert keys(page, "queue") == ["forward", "reverse"]
    assert keys(page, "response") == ["median", "p90", "p99"]
    newest = page.locator("[data-chart=queue] .legend .value").all_inner_texts()
    assert all(re.fullmatch(r"[\d.,]+", text) for text in newest), "without a pointer the newest values are shown"
    assert page.get_by_label("Cell").locator("option").count() == 3, "both schemes, and the uncongested network"
    # A cell of a second has lines, and its last picture stays.
    assert page.locator("[data-chart=queue] .chart svg .mark-line path").count() == 2
    page.reload()
    page.locator(".drawing .network").wait_for()
    uncongested = page.get_by_label("Cell").locator("option", has_text="uncongested").get_attribute("value")
    page.get_by_label("Cell").select_option(uncongested)
    page.locator(".drawing .hint", has_text="uncongested").wait_for()
    page.get_by_role("link", name="Results").click()
    assert {"pi:q_ref=7", "codel"} < set(page.locator("table").first.locator("th[scope=row]").all_inner_texts())


JOB = """\
link.rate = "9 Mbit/s"
users.per_side = 50
protocol = {warmup = "1 s", duration = "20 s"}
"""

TELL = (
    "([cell, count]) => { for (let at = 0; at < count; at++)"
    " document.dispatchEvent(new CustomEvent('reading', { detail: {"
    " cell, name: 'x', now_s: at, warmup_s: 0, end_s: 9, queue: { x: at }, signals: { x: at },"
    " throughput: { x: at }, capacity: { x: 2 * at }, response: { x: at === 1 ? null : at } } })) }"
)
"""Make up readings, as they come while a job runs."""


def keys(page: Any, chart: str) -> list[str]:
    """Return the names of the lines of a figure of a job."""
    texts = page.locator(f"[data-chart={chart}] [data-scheme]")
    return [str(name) for name in texts.evaluate_all("all => all.map(each => each.dataset.scheme)")]


@pytest.fixture(scope="module")
def job(page: Any) -> str:
    """The address of a job that has been watched to its end."""
    page.goto(page.home + "/new")
    page.locator("#estimate").wait_for()
    page.get_by_label("Schemes, one a line").fill("codel")
    page.get_by_label("The experiment as TOML").fill(JOB)
    page.get_by_label("Seeds").fill("1")
    page.locator(".network .rate", has_text="9 Mbit/s").wait_for()
    page.get_by_role("button", name="Start").click()
    page.get_by_role("link", name="Results").wait_for()
    return str(page.url)


def watch(page: Any, job: str, cell: str, count: int) -> None:
    """Tell the page of a job these readings of a cell, and choose it."""
    page.goto(job)
    page.locator("[data-chart=response] [data-scheme=median]").wait_for()
    page.evaluate(TELL, [cell, count])
    page.get_by_label("Cell").select_option(cell)
    page.locator("[data-chart=response] [data-scheme=x]").wait_for()


def test_live_figures_are_read_zoomed_and_saved(page: Any, job: str, tmp_path: Path) -> None:
    watch(page, job, "varies", 9)
    figure = page.locator("[data-chart=throughput]")
    outputs = figure.locator(".legend .value")
    playwright.expect(outputs).to_have_text("8 of 16")
    plot = figure.locator(".role-scope path.background, path.background").first
    plot.scroll_into_view_if_needed()
    box = plot.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + 50)
    playwright.expect(outputs).to_have_text("4 of 8")
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"], box["y"] + 50, steps=3)
    page.mouse.up()
    page.locator("[data-chart=queue]").get_by_role("button", name="Reset zoom").wait_for()
    with page.expect_download() as download:
        figure.get_by_role("button", name="Save as CSV").click()
    download.value.save_as(tmp_path / "csv")
    saved = pl.read_csv(tmp_path / "csv")
    assert saved["time_s"].to_list() == list(range(9))
    assert saved["capacity"].to_list() == [None, *range(2, 18, 2)]
    with page.expect_download() as download:
        figure.get_by_role("button", name="Save as SVG").click()
    download.value.save_as(tmp_path / "svg")
    texts = ElementTree.parse(tmp_path / "svg").getroot().itertext()
    assert {"Throughput", "x"} <= {text.strip() for text in texts}, "the title, and the legend"
    assert figure.locator(".mark-area path[d]").count() == 1
    assert page.locator(".mark-area path[d]").count() == 1, "in no other figure"


@pytest.mark.parametrize(("count", "lines", "points"), [(2, 0, 2), (9, 1, 0)])
def test_few_readings_are_points_without_a_line(page: Any, job: str, count: int, lines: int, points: int) -> None:
    watch(page, job, f"of {count}", count)
    queue = page.locator("[data-chart=queue] .chart svg")
    playwright.expect(queue.locator(".mark-line path")).to_have_count(lines)
    playwright.expect(queue.locator(".mark-symbol path")).to_have_count(points)


def test_many_readings_are_drawn_as_means_and_saved_whole(page: Any, job: str, tmp_path: Path) -> None:
    watch(page, job, "long", 1000)
    figure = page.locator("[data-chart=response]")
    playwright.expect(figure.locator(".legend .value")).to_have_text("999")
    with page.expect_download() as download:
        figure.get_by_role("button", name="Save as CSV").click()
    download.value.save_as(tmp_path / "csv")
    assert pl.read_csv(tmp_path / "csv")["time_s"].to_list() == list(range(1000))
    drawn = page.evaluate("() => drawn.get(document.querySelector('[data-chart=queue]')).view.data('rows').length")
    assert 160 < drawn <= 320


def test_the_page_of_a_cell_has_its_figures_and_cuts_nothing(page: Any) -> None:
    page.goto(page.home + "/")
    cell = page.locator("input[name=cell]").last.get_attribute("value")
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 800})
        for path in (f"/cells/{cell}", f"/compare?cell={cell}"):
            page.goto(page.home + path)
            page.locator("figure").last.locator(".chart svg path").first.wait_for(state="attached")
            ends = page.locator(".chart svg").evaluate_all("all => all.map(each => each.getBoundingClientRect().right)")
            assert len(ends) >= 5
            assert max(ends) <= width
    page.goto(page.home + f"/cells/{cell}")
    cut = "all => all.filter(each => each.scrollWidth > each.clientWidth).length"
    assert page.locator(".tiles, .tiles dd").evaluate_all(cut) == 0
    page.set_viewport_size({"width": 1280, "height": 800})


def compare(page: Any) -> str:
    """Open the comparison of the first cells, and return its query."""
    page.goto(page.home + "/?words=o load>10")
    cells = page.locator("input[name=cell]").evaluate_all("boxes => boxes.map(box => box.value)")
    query = "&".join(f"cell={cell}" for cell in cells)
    page.goto(page.home + f"/compare?{query}")
    page.locator("[data-chart=response-times] svg path").first.wait_for(state="attached")
    return query


def test_a_figure_is_read_at_the_pointer_and_saved(page: Any, tmp_path: Path) -> None:
    compared = compare(page)
    figure = page.locator("[data-chart=response-times]")
    shares = []
    for x in (0.3, 0.8):
        box = figure.locator(".chart").bounding_box()
        page.mouse.move(box["x"] + x * box["width"], box["y"] + 50)
        assert figure.locator(".place").inner_text().startswith("response time, ms: ")
        shares.append([float(text) for text in figure.locator(".legend .value").all_inner_texts()])
    assert len(shares[0]) == 2, "one for each scheme"
    assert all(0 <= one <= other <= 100 for one, other in zip(*shares, strict=True)), "a distribution never falls"
    page.mouse.move(0, 0)
    assert figure.locator(".legend .value").all_inner_texts() == ["", ""]
    for kind, begins in (("csv", b"time_ms,within,"), ("svg", b"<svg"), ("png", b"\x89PNG")):
        with page.expect_download() as download:
            figure.get_by_role("button", name=f"Save as {kind.upper()}").click()
        download.value.save_as(tmp_path / kind)
        assert download.value.suggested_filename == f"response-times.{kind}"
        assert (tmp_path / kind).read_bytes().startswith(begins)
    assert 'fill="white"' in (tmp_path / "svg").read_text()
    rows = page.request.get(page.home + f"/charts.json?{compared}").json()["charts"]["response-times"]["rows"]
    assert pl.read_csv(tmp_path / "csv").height == len(rows)


def test_a_range_is_zoomed_in_all_figures_and_the_link_keeps_it(page: Any) -> None:
    domains = (
        "async () => { await Promise.all([...drawn.values()].map(({ view }) => view.runAsync()));"
        " return [...drawn].filter(([, { across }]) => across === 'time_ms')"
        ".map(([figure, { view }]) => [figure.dataset.chart, view.scale('x').domain()]) }"
    )
    compare(page)
    figure = page.locator("[data-chart=response-times]")
    figure.locator("svg path").first.scroll_into_view_if_needed()
    box = figure.locator(".role-scope path.background").first.bounding_box()
    page.mouse.move(box["x"] + 0.25 * box["width"], box["y"] + 50)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 60, steps=3)
    assert figure.locator(".brush").is_visible()
    page.mouse.up()
    figure.get_by_role("button", name="Reset zoom").wait_for()
    zoomed = dict(page.evaluate(domains))
    assert zoomed["response-times"] == pytest.approx([500, 1000], rel=0.01), "a quarter and a half of 2 s"
    assert len(zoomed) == 2
    assert len(set(map(tuple, zoomed.values()))) == 1, "figures with the same axis show the same range"
    figure.get_by_role("button", name="CDF, logarithmic", exact=True).click()
    page.locator("[data-scheme=codel]").first.click()
    page.get_by_role("button", name="Copy link").click()
    page.get_by_role("button", name="Link copied").wait_for()
    page.reload()
    figure.get_by_role("button", name="Reset zoom").wait_for()
    assert dict(page.evaluate(domains)) == pytest.approx(
        {name: pytest.approx(ends, rel=1e-4) for name, ends in zoomed.items()}
    )
    assert figure.get_by_role("button", name="CDF, logarithmic", exact=True).get_attribute("aria-pressed") == "true"
    assert page.locator("[data-scheme=codel]").first.get_attribute("aria-pressed") == "false"
    figure.get_by_role("button", name="Reset zoom").click()
    figure.get_by_role("button", name="Reset zoom").wait_for(state="hidden")
    assert "zoom" not in page.url


def test_a_sweep_is_started_and_its_means_appear(page: Any) -> None:
    page.goto(page.home + "/new?kind=sweep")
    page.get_by_label("Schemes, one a line").fill("codel")
    page.get_by_role("button", name="Remove").last.click()
    page.locator("[id='axes[0].path']").fill("users.per_side")
    page.locator("[id='axes[0].values']").fill("20, 40")
    fields = {"Rate of the link": "10 Mbit/s", "Warm-up": "1 s", "Measured": "3 s", "Seeds": "1"}
    for label, text in fields.items():
        page.get_by_label(label, exact=True).fill(text)
    page.get_by_role("button", name="Start").click()
    page.get_by_role("heading", name="Means").wait_for()
    assert page.locator("#state tbody tr td:nth-child(2)").all_inner_texts() == ["20", "40"]


def test_rows_are_added_filled_and_removed_by_keyboard(page: Any) -> None:
    page.goto(page.home + "/new")
    tab_to(page, "#seeds")
    tab_to(page, "details:has([name=row]) summary")
    page.keyboard.press("Enter")
    tab_to(page, "select[name=row]")
    page.keyboard.press("d")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.locator("[id='sources[0].datagrams.name']:focus").wait_for()
    page.keyboard.type("voice")
    tab_to(page, "[data-remove]")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.locator("[id='sources[1].bulk.name']:focus").wait_for()
    tab_to(page, "[data-remove]")
    page.keyboard.press("Enter")
    assert page.locator(".add button:focus").count() == 1
    assert page.locator("fieldset").count() == 1
    page.get_by_role("button", name="Start").click()
    assert "must have `rate`" in page.get_by_role("alert").inner_text()
    assert page.locator("fieldset", has=page.get_by_role("alert")).get_by_label("name").input_value() == "voice"
    forgive_refusals(page)


def test_a_form_comes_back_with_the_line_that_says_what_is_wrong(page: Any) -> None:
    page.goto(page.home + "/new?kind=sweep")
    page.get_by_text("More: a grid").click()
    page.get_by_label("Grid").fill("shemes = 1")
    page.get_by_role("button", name="Start").click()
    assert page.get_by_role("alert").inner_text() == "line 1: shemes: is not a key of a grid"
    assert page.get_by_label("Grid").input_value() == "shemes = 1"
    forgive_refusals(page)


def test_a_scheme_is_made_of_its_parameters(page: Any) -> None:
    page.goto(page.home + "/new")
    page.get_by_text("Set the parameters of a scheme").click()
    page.get_by_label("Discipline").select_option("codel")
    page.get_by_label("target", exact=True).fill("7 ms")
    page.get_by_label("sqrt", exact=True).select_option("newton16")
    page.get_by_role("button", name="Add this scheme").click()
    expected = re.compile(r"codel\ncodel:target=7ms,sqrt=newton16$")
    playwright.expect(page.get_by_label("Schemes, one a line")).to_have_value(expected)
    assert page.get_by_text("Schemes, one a line").count() == 1


def test_what_is_wrong_with_a_field_is_said_beside_it(page: Any) -> None:
    page.goto(page.home + "/new")
    page.get_by_text("More: Link", exact=True).click()
    page.get_by_label("mtu", exact=True).fill("1 furlong")
    page.get_by_role("button", name="Start").click()
    page.get_by_role("alert").wait_for()
    field = page.get_by_label("mtu", exact=True)
    assert field.get_attribute("aria-invalid") == "true"
    assert "error-link.mtu" in field.get_attribute("aria-describedby")
    assert page.get_by_role("alert").inner_text().startswith("link.mtu: ")
    assert field.input_value() == "1 furlong"
    forgive_refusals(page)


def test_a_phone_does_not_scroll_sideways(page: Any) -> None:
    page.set_viewport_size({"width": 390, "height": 800})
    page.goto(page.home + "/")
    cells = page.locator("input[name=cell]").evaluate_all("boxes => boxes.map(box => box.value)")
    compared = "/compare?" + "&".join(f"cell={cell}" for cell in cells)
    assert not page.get_by_role("link", name="New sweep").is_visible()
    page.get_by_role("button", name="Menu").click()
    assert page.get_by_role("link", name="New sweep").is_visible()
    for path in (*PATHS, f"/cells/{cells[-1]}", compared, "/overview", "/runs/1", "/runs/2"):
        page.goto(page.home + path)
        # The paths of this machine may be longer words than any other's.
        page.locator("p code").evaluate_all("all => all.forEach(each => { each.textContent += 'x'.repeat(80) })")
        assert page.evaluate(WIDER) == 0, path
    forgive_refusals(page)
