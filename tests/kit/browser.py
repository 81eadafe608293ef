"""Chromium, for tests that look at pages: the system's own, by Playwright; without it they are skipped."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

playwright = pytest.importorskip("playwright.sync_api", reason="Playwright's Python package is not installed")

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
NEEDS_CHROMIUM = [pytest.mark.browser, pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium")]
"""The marks of tests that open pages in Chromium."""

WIDER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
"""By how many pixels a page is wider than its window."""
UNFOLD = "document.querySelectorAll('details').forEach(each => { each.open = true })"


@contextmanager
def chromium() -> Iterator[Any]:
    """Open Chromium."""
    with playwright.sync_playwright() as browsers:
        browser = browsers.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


ABORTED = ("htmx:sendAbort", "htmx:afterRequest")
"""Messages of htmx about a request that a later one has replaced."""


def record_events(page: Any) -> Any:
    """Record a page's requests in ``requested_urls``, and the browser's messages in ``logged_messages``; return it.

    A request that a later one has replaced is no message.
    """

    def log(text: str) -> None:
        if not text.startswith(ABORTED):
            page.logged_messages.append(text)

    page.requested_urls, page.logged_messages = [], []
    page.on("request", lambda request: page.requested_urls.append(request.url))
    page.on("console", lambda message: log(message.text))
    page.on("pageerror", lambda error: page.logged_messages.append(str(error)))
    page.on("dialog", lambda dialog: (page.logged_messages.append(dialog.message), dialog.dismiss()))
    return page


def tab_to(page: Any, wanted: str, most: int = 60) -> None:
    """Go with the keyboard to what a selector means, looking at each stop whether it is seen that one is there."""
    for _ in range(most):
        page.keyboard.press("Tab")
        stop = page.evaluate(
            "wanted => { const at = document.activeElement, { outlineStyle, outlineWidth } = getComputedStyle(at);"
            " return [at.matches(wanted), outlineStyle, parseFloat(outlineWidth), at.tagName] }",
            wanted,
        )
        assert stop[3] == "BODY" or (stop[1] != "none" and stop[2] >= 2), stop
        if stop[0]:
            return
    raise AssertionError(f"the keyboard does not come to {wanted}")
