"""Pictures of the console for the guide: ``python tools/pictures.py docs/img``. They want Chromium.

``console.png`` is a comparison, ``console-run.png`` the page of a run that is under way.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import aqmlab as lab

CHROMIUM = "/usr/bin/chromium"
SCHEMES = ("droptail:limit=200", "codel:ecn=true", "pi:ecn=true")
SEEDS = range(1, 6)
ENOUGH = 20
"""Readings before a run is taken."""


def pictures(folder: Path, out: Path) -> None:
    """Make the pictures, of a results directory that is made for them."""
    # Only whoever makes pictures needs it.
    from playwright.sync_api import sync_playwright

    experiment = lab.Experiment(
        link={"rate": "20 Mbit/s"}, users={"load": 98}, protocol={"warmup": "2 min", "duration": "5 min"}
    )
    lab.compare(*SCHEMES, experiment=experiment, seeds=SEEDS, out=out)
    words = [sys.executable, "-m", "aqmlab", "console", str(out)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as program, sync_playwright() as browsers:
        assert program.stdout is not None
        try:
            browser = browsers.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
            page = browser.new_page(viewport={"width": 1280, "height": 960})
            page.set_default_timeout(300_000)
            page.goto(program.stdout.readline().removeprefix("Open ").strip())
            comparison(page, folder / "console.png")
            run(page, folder / "console-run.png")
        finally:
            program.send_signal(signal.SIGINT)


def comparison(page: Any, file: Path) -> None:
    """Take all cells, side by side."""
    for box in page.locator("input[name=cell]").all():
        box.check()
    page.get_by_role("button", name="Compare the chosen").click()
    page.get_by_role("heading", name="Comparison").wait_for()
    page.wait_for_load_state("load")
    page.screenshot(path=file)


def run(page: Any, file: Path) -> None:
    """Take a run that has read enough off itself."""
    page.get_by_role("link", name="New comparison").click()
    page.get_by_text("More: Link", exact=True).click()
    typed = {"Schemes, one a line": "pi:ecn=true", "rate": "20 Mbit/s", "Warm-up": "10 min", "Measured": "2 h"}
    for label, text in {**typed, "Seeds": "1"}.items():
        page.get_by_label(label, exact=True).locator("visible=true").fill(text)
    page.get_by_role("button", name="Start").click()
    scheme = page.locator("#cell option", has_text="pi:")
    scheme.wait_for(state="attached")
    page.locator("#cell").select_option(str(scheme.get_attribute("value")))
    # The page's policy keeps the browser from waiting for an expression.
    while page.evaluate("readings.get(choice.value).length") < ENOUGH:
        page.wait_for_timeout(500)
    page.screenshot(path=file, full_page=True)


if __name__ == "__main__":
    with TemporaryDirectory() as made:
        pictures(Path(sys.argv[1]), Path(made))
