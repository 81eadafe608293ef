"""The cases: a page, a link and a program, with the number of loads and seeds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from aqmlab.stats.intervals import half_width
from judges.loads import Link, Load, http2_loads, model_loads
from judges.page import Kind, Page

THINK_S = 2.0
"""Mean of the exponential time from the end of a page to the start of the next."""

MEASURES = ("page load", "first render", "html", "image")

PAGES = {
    "30 kB": Page({"html": Kind(1, 30), "css": Kind(2, 20), "script": Kind(4, 50), "image": Kind(12, 41)}),
    "40 kB": Page({"html": Kind(1, 40), "css": Kind(2, 20), "script": Kind(4, 50), "image": Kind(12, 41)}),
    "early links": Page(
        {"html": Kind(1, 40), "css": Kind(2, 20), "script": Kind(4, 50), "image": Kind(12, 41)}, early_links=True
    ),
}
"""The pages by the names of the table."""


@dataclass(frozen=True)
class Estimate:
    """A mean over seeds, with half of the width of its 95 % interval; ``None`` for one seed."""

    mean: float
    half: float | None

    @staticmethod
    def of(values: list[float]) -> Estimate:
        """Return the estimate of the mean of independent values."""
        array = np.array(values)
        half = round(float(half_width(array, confidence=0.95)), 1) if len(values) > 1 else None
        return Estimate(round(float(array.mean()), 1), half)


@dataclass(frozen=True)
class Comparison:
    """One measure in both worlds, in milliseconds, and the model's deviation from the program in percent."""

    model: Estimate
    program: Estimate
    deviation: Estimate

    @staticmethod
    def of(model: list[float], program: list[float]) -> Comparison:
        """Compare the means of runs; model and program have one for each seed."""
        scale = float(np.mean(program))
        deviations = [100 * (ours - theirs) / scale for ours, theirs in zip(model, program, strict=True)]
        return Comparison(Estimate.of(model), Estimate.of(program), Estimate.of(deviations))


@dataclass(frozen=True)
class PageCase:
    """Loads of a page by a program and by the model."""

    protocol: str
    page: str
    link: Link

    @property
    def seeds(self) -> int:
        """The number of runs: one without a download, because nothing is random then."""
        return 8 if self.link.download else 1

    def compare(self, *, seeds: int | None = None, loads: int | None = None) -> dict[str, Comparison]:
        """Run both, and compare each measure; fewer seeds or loads are for tests."""
        page = PAGES[self.page]
        # Without a download, all loads of a run are the same.
        number = loads or (12 if self.link.download else 1)
        numbers = range(1, (seeds or self.seeds) + 1)
        model = _means(model_loads(page, self.link, seed, loads=number, think_s=THINK_S) for seed in numbers)
        program = _means(http2_loads(page, self.link, seed, loads=number, think_s=THINK_S) for seed in numbers)
        return {measure: Comparison.of(model[measure], program[measure]) for measure in MEASURES}


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
