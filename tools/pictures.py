"""Pictures of the report and the console for README and the guide: ``python tools/pictures.py docs/img``.

They need Chromium and show one comparison. ``report.png`` is its report on a desktop, ``report-phone.png`` on a phone
and ``report-print.png`` on paper. ``console-runs.png`` is the console's table of runs, ``console.png`` the comparison
on a desktop and ``console-phone.png`` on a phone. ``console-sweep.png`` is the comparison of a
sweep's cells. ``console-new.png`` is the form of a new comparison.
``console-run.png`` is the page of a job in progress. ``site.png`` is
the landing page of the site, if ``make docs`` has built it.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin

import aqmlab as lab

if TYPE_CHECKING:
    from playwright.sync_api import ViewportSize

CHROMIUM = shutil.which("chromium")
SCHEMES = ("droptail:limit=200", "codel:ecn=true", "pi:ecn=true")
SEEDS = range(1, 6)
MIN_READINGS = 20
"""Readings on the chart before the picture of a run is taken."""

DESK: ViewportSize = {"width": 1280, "height": 960}
PHONE: ViewportSize = {"width": 390, "height": 844}
PAPER: ViewportSize = {"width": 680, "height": 960}
"""The printable area of A4."""

SITE = Path(__file__).parents[1] / "docs" / "_build" / "html" / "index.html"

GAP = 10
"""Pixels between the parts of a picture."""


def pictures(folder: Path, out: Path) -> None:
    """Take the pictures of a store that is filled for them."""
    # Imported here because this module is checked without Playwright.
    from playwright.sync_api import sync_playwright

    experiment = lab.Experiment(
        testbed="unc-2003", link={"rate": "20 Mbit/s"}, protocol={"warmup": "2 min", "duration": "5 min"}
    )
    lab.compare(*SCHEMES, experiment=experiment, seeds=SEEDS, out=out)
    report_file = lab.report(out=out, to=out / "report.html", explain=True)
    # The pages show this name.
    argv = [sys.executable, "-m", "aqmlab", "console", out.name]
    with (
        subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, cwd=out.parent) as program,
        sync_playwright() as browsers,
    ):
        assert program.stdout is not None
        try:
            browser = browsers.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
            page = browser.new_page(viewport=DESK)
            page.set_default_timeout(300_000)
            report(page, report_file, folder)
            page.goto(program.stdout.readline().removeprefix("Open ").strip())
            page.set_viewport_size(DESK)
            page.locator(".spark img").last.scroll_into_view_if_needed()
            page.wait_for_load_state("networkidle")
            page.evaluate("scrollTo(0, 0)")
            page.screenshot(path=folder / "console-runs.png")
            comparison(page, folder)
            sweep(page, out, folder / "console-sweep.png")
            run(page, folder / "console-run.png")
            landing_page(browser.new_page(viewport=DESK, color_scheme="light"), folder / "site.png")
        finally:
            program.send_signal(signal.SIGINT)


def report(page: Any, file: Path, folder: Path) -> None:
    """Take pictures of the report: its top, and the first figures."""
    for name, size, media, places in (
        ("report", DESK, "screen", ("h1", "#figures")),
        ("report-phone", PHONE, "screen", ("h1", "#numbers", "[data-chart=response-times]", "[data-chart=parts]")),
        ("report-print", PAPER, "print", ("h1", "#figures")),
    ):
        page.set_viewport_size(size)
        page.emulate_media(media=media)
        page.goto(file.as_uri())
        page.locator("figure").last.locator(".chart svg path").first.wait_for(state="attached")
        join([shot(page, place) for place in places], folder / f"{name}.png")
    page.emulate_media(media="screen")


def comparison(page: Any, folder: Path) -> None:
    """Take pictures of the comparison of all cells."""
    page.set_viewport_size(DESK)
    for box in page.locator("input[name=cell]").all():
        box.check()
    page.get_by_role("button", name="Compare selected").click()
    drawn = page.locator("figure").last.locator(".chart svg path").first
    drawn.wait_for(state="attached")
    page.screenshot(path=folder / "console.png")
    page.set_viewport_size(PHONE)
    # A narrow screen has its own figures.
    page.reload()
    drawn.wait_for(state="attached")
    join([shot(page, "h1"), shot(page, "[data-chart=delay]")], folder / "console-phone.png")
    page.set_viewport_size(DESK)


def sweep(page: Any, out: Path, file: Path) -> None:
    """Take a picture of a sweep over the load: small multiples and parallel coordinates."""
    settings = ["testbed=unc-2003", "link.rate=20 Mbit/s", "protocol.warmup=30 s", "protocol.duration=2 min"]
    grid = lab.Grid(set=settings, schemes=list(SCHEMES), axes={"users.load": [80, 90, 98]})
    cells = lab.sweep(grid, seeds=SEEDS, out=out).cells["cell"]
    page.goto(urljoin(page.url, "/compare?" + "&".join(f"cell={cell}" for cell in cells)))
    page.locator("figure").last.locator(".chart svg path").first.wait_for(state="attached")
    page.screenshot(path=file)


def landing_page(page: Any, file: Path) -> None:
    """Take a picture of the landing page, if the site is built."""
    if SITE.exists():
        page.goto(SITE.as_uri())
        page.wait_for_url("**/docs/site/index.html")
        # The moving picture shows both queues by then.
        page.wait_for_timeout(1500)
        page.screenshot(path=file)
    else:
        print(f"{SITE} is missing, so {file} stays as it is: run make docs first")


def run(page: Any, file: Path) -> None:
    """Take a picture of a run in progress, once its chart has enough readings."""
    page.get_by_role("link", name="New comparison").click()
    page.locator("#estimate").wait_for()
    page.screenshot(path=file.with_name("console-new.png"))
    fields = {
        "Schemes, one a line": "pi:ecn=true",
        "Rate of the link": "20 Mbit/s",
        "Warm-up": "10 min",
        "Measured": "2 h",
    }
    for label, text in {**fields, "Seeds": "1"}.items():
        page.get_by_label(label, exact=True).locator("visible=true").fill(text)
    page.get_by_role("button", name="Start").click()
    scheme = page.locator("#cell option", has_text="pi:")
    scheme.wait_for(state="attached")
    page.locator("#cell").select_option(str(scheme.get_attribute("value")))
    # The page's content security policy blocks wait_for_function.
    while page.evaluate("cells.get(choice.value).all.length") < MIN_READINGS:
        page.wait_for_timeout(500)
    page.screenshot(path=file, full_page=True)


def shot(page: Any, place: str) -> bytes:
    """Return a screenshot with this place at the top of the window."""
    page.locator(place).first.evaluate("place => { place.scrollIntoView(); scrollBy(0, -16); }")
    png: bytes = page.screenshot()
    return png


def join(shots: Sequence[bytes], file: Path) -> None:
    """Write one picture of the screenshots, side by side."""
    from PIL import Image

    parts = [Image.open(BytesIO(screenshot)).convert("RGB") for screenshot in shots]
    picture = Image.new("RGB", (sum(part.width + GAP for part in parts) - GAP, parts[0].height), "#bbb")
    for number, part in enumerate(parts):
        picture.paste(part, (number * (part.width + GAP), 0))
    picture.save(file, optimize=True)


if __name__ == "__main__":
    with TemporaryDirectory() as results:
        pictures(Path(sys.argv[1]), Path(results) / "results")
