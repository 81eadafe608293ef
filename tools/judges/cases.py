"""The cases: a page, a link and a program, with the number of loads and seeds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from judges.comparison import Comparison
from judges.links import Link
from judges.loads import Load, http2_loads, http3_loads, model_loads
from judges.page import Kind, Page

THINK_S = 2.0
"""Mean of the exponential time from the end of a page to the start of the next."""

MEASURES = ("page load", "first render", "html", "image")

_HTTP3_KINDS = {
    "html": Kind(1, 40),
    "css": Kind(1, 30),
    "script": Kind(4, 50),
    "font": Kind(2, 24),
    "image": Kind(12, 41),
}

PAGES = {
    "30 kB": Page({"html": Kind(1, 30), "css": Kind(2, 20), "script": Kind(4, 50), "image": Kind(12, 41)}),
    "40 kB": Page({"html": Kind(1, 40), "css": Kind(2, 20), "script": Kind(4, 50), "image": Kind(12, 41)}),
    "early links": Page(
        {"html": Kind(1, 40), "css": Kind(2, 20), "script": Kind(4, 50), "image": Kind(12, 41)}, early_links=True
    ),
    "one origin": Page(_HTTP3_KINDS, http3=True),
    "two origins": Page(_HTTP3_KINDS, http3=True, other_origin=True),
}
"""The pages by the names of the table."""


@dataclass(frozen=True)
class PageCase:
    """Loads of a page by a program and by the model."""

    protocol: str
    page: str
    link: Link

    @property
    def seeds(self) -> int:
        """The number of runs: one without a download, because nothing is random then."""
        return (8 if self.protocol == "HTTP/2" else 5) if self.link.download else 1

    def compare(self, *, seeds: int | None = None, loads: int | None = None) -> dict[str, Comparison]:
        """Run both, and compare each measure; fewer seeds or loads are for tests."""
        page = PAGES[self.page]
        program_loads = {"HTTP/2": http2_loads, "HTTP/3": http3_loads}[self.protocol]
        # Without a download, all loads of a run are the same.
        number = loads or ((12 if self.protocol == "HTTP/2" else 8) if self.link.download else 1)
        numbers = range(1, (seeds or self.seeds) + 1)
        model = _means(model_loads(page, self.link, seed, loads=number, think_s=THINK_S) for seed in numbers)
        program = _means(program_loads(page, self.link, seed, loads=number, think_s=THINK_S) for seed in numbers)
        return {measure: Comparison.of(model[measure], program[measure], relative=True) for measure in MEASURES}


def _means(runs: Iterator[list[Load]]) -> dict[str, list[float]]:
    """Return the mean of each measure in milliseconds, for each run."""
    measured = [[load.measures() for load in run] for run in runs]
    return {name: [1e3 * float(np.mean([load[name] for load in run])) for run in measured] for name in MEASURES}


def _links(*, download: bool) -> Iterator[Link]:
    for queue in ("droptail:limit=100", "fq_codel"):
        for rtt_ms in (20, 100):
            yield Link(queue, rtt_ms, download)


def page_cases() -> Iterator[PageCase]:
    """Yield the cases in the order of the table."""
    for page in ("30 kB", "40 kB"):
        for download in (False, True):
            for link in _links(download=download):
                yield PageCase("HTTP/2", page, link)
    for rtt_ms in (20, 100):
        yield PageCase("HTTP/2", "early links", Link("droptail:limit=100", rtt_ms))
    for page, download in (("one origin", False), ("one origin", True), ("two origins", False)):
        for link in _links(download=download):
            yield PageCase("HTTP/3", page, link)
