"""The TOML beside a form in a browser: in step with the fields, completed, and its errors in place."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

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
    """The form of a comparison; fail on any message in the browser's console."""
    opened.logged_messages.clear()
    opened.goto(opened.home + "/new")
    opened.locator("#estimate").wait_for()
    yield opened
    assert opened.logged_messages == []


def test_fields_and_toml_are_kept_in_step(page: Any) -> None:
    toml = page.get_by_label("The experiment as TOML")
    rate = page.get_by_label("Rate of the link", exact=True)
    rate.fill("5 Mbit/s")
    playwright.expect(toml).to_have_value(re.compile(r'\[link\]\nrate = "5 Mbit/s"'))
    playwright.expect(page.locator(".network .rate")).to_have_text("5 Mbit/s")
    toml.fill('# mine\n[users]\nload = 90\n[link]\nrate = "6 Mbit/s"\n')
    playwright.expect(rate).to_have_value("6 Mbit/s")
    assert page.get_by_label("Testbed", exact=True).input_value() == "none"
    toml.fill("# mine\n[users]\nload = 9000\n")
    playwright.expect(page.locator("#mistake")).to_contain_text("Line 3: users.load")
    playwright.expect(page.locator(".numbers .bad")).to_have_text("3\n")
    field = page.locator("[id='users.load']")
    playwright.expect(field).to_have_attribute("aria-invalid", "true")
    toml.fill("users.load = 90\nlink . rate = '6 furlongs'\n")
    playwright.expect(page.locator("#mistake")).to_contain_text("Line 2: link.rate")
    playwright.expect(page.locator(".numbers .bad")).to_have_text("2\n")
    toml.fill("# mine\n[users]\nload = 9000\n")
    playwright.expect(field).to_have_attribute("aria-invalid", "true")
    field.fill("80")
    playwright.expect(toml).to_have_value("# mine\n[users]\nload = 80\n")
    playwright.expect(field).not_to_have_attribute("aria-invalid", "true")
    toml.fill("[tcp]\ncongest")
    page.get_by_role("group", name="Completions").get_by_role("button", name="congestion").click()
    page.keyboard.type('"ren')
    page.get_by_role("button", name='"reno"', exact=True).click()
    playwright.expect(toml).to_have_value('[tcp]\ncongestion = "reno"')


def test_old_numbers_are_dimmed_until_the_new_ones_are_there(page: Any) -> None:
    preview = page.locator("#preview")
    playwright.expect(preview).not_to_have_attribute("aria-busy", "true")
    held: list[Any] = []
    page.route("**/preview", lambda route: held.append(route))
    page.get_by_label("Rate of the link", exact=True).fill("7 Mbit/s")
    playwright.expect(preview).to_have_attribute("aria-busy", "true")
    assert preview.evaluate("each => getComputedStyle(each, '::before').content") == '"Updating"'
    assert float(page.locator("#estimate").evaluate("each => getComputedStyle(each).opacity")) < 1
    page.wait_for_timeout(500)
    assert preview.get_attribute("aria-busy") == "true", "the answer is under way"
    held[-1].continue_()
    playwright.expect(page.locator(".network .rate")).to_have_text("7 Mbit/s")
    playwright.expect(preview).not_to_have_attribute("aria-busy", "true")
    playwright.expect(page.locator("#estimate")).to_contain_text("3 schemes and the uncongested network")
    playwright.expect(page.locator("#estimate")).to_contain_text("with 2 seeds each: 8 cells.")
    page.unroute("**/preview")


def test_an_error_of_the_whole_text_marks_no_field(page: Any) -> None:
    toml = page.get_by_label("The experiment as TOML")
    toml.fill("users.load = 90\nusers.per_side = 3")
    playwright.expect(page.locator("#mistake")).to_contain_text("write load or per_side, not both")
    assert page.locator("#mistake").get_attribute("data-field") == ""
    assert page.locator("[aria-invalid]").count() == 0
    toml.fill("users.load = 90")
    page.locator("#estimate").wait_for()


def test_a_form_is_filled_from_a_preset_and_started(page: Any) -> None:
    page.get_by_label("Start from").select_option(label="Telephone line (vdsl2 50/10)")
    page.get_by_role("button", name="Fill in the form").click()
    page.locator("#estimate").wait_for()
    assert 'preset = "vdsl2 50/10"' in page.get_by_label("The experiment as TOML").input_value()
    assert page.get_by_label("Schemes, one a line").input_value().splitlines() == ["droptail", "codel", "fq_codel"]
    assert page.get_by_label("Measured").input_value() == "60 s"
    bottom = page.get_by_role("button", name="Start", exact=True).bounding_box()
    assert bottom["y"] + bottom["height"] <= 800, "beside the fields, however long they are"
