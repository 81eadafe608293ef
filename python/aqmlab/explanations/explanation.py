"""Explanation of response times and page load times by cause: a cell is run again, and the engine attributes the time.

A cell decides its run, so that the rerun is the same and nothing is stored for it. The parts of each time add up to it,
to the nanosecond.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from aqmlab._core import SpecError
from aqmlab.explanations.parts import PAGES, REQUESTS, Wait
from aqmlab.explanations.rerun import Rerun
from aqmlab.running.run import Watch

MAX_TIMELINES = 1000
"""The largest number of timelines."""


@dataclass(frozen=True)
class Explanation:
    """The response times, or the page load times, of a cell by cause."""

    directory: Path
    """The directory of the cell."""
    title: str
    """A description of the cell."""
    wait: Wait
    """The kind of wait that is explained: requests, or pages where users load pages of today."""
    waits: pl.DataFrame
    """Requests by number, ``request``, or pages by number, ``page``: times and parts in whole nanoseconds, sizes,
    losses and marks; of requests also ``source`` (0: a web user; else the number of the source, from 1) and recovery,
    of pages the numbers of requests and connections."""
    resources: pl.DataFrame
    """The resources of the pages with timelines, one per row: when the browser knew of each, requested it and had it,
    with the parts of this time; ``on_path`` for those whose times add up to the page load time."""
    timelines: pl.DataFrame
    """The events of the requests or pages with timelines, one per row."""

    @property
    def requests(self) -> pl.DataFrame:
        """The requests.

        Raises
        ------
        SpecError
            When pages are explained.
        """
        return self._waits(REQUESTS)

    @property
    def pages(self) -> pl.DataFrame:
        """The pages.

        Raises
        ------
        SpecError
            When requests are explained.
        """
        return self._waits(PAGES)

    def _waits(self, wait: Wait) -> pl.DataFrame:
        if self.wait != wait:
            raise SpecError(f"{wait.plural}: this explanation is one of {self.wait.plural}")
        return self.waits

    def timeline(self, number: int) -> pl.DataFrame:
        """Return the events of one request or page, in the order of time."""
        return self.timelines.filter(pl.col(self.wait.singular) == number)

    def resources_of(self, page: int) -> pl.DataFrame:
        """Return the resources of one page, in the order of their ends."""
        return self.resources.filter(pl.col("page") == page)

    def record(self) -> dict[str, Any]:
        """Return requests or pages with their timelines as one object."""
        return {"cell": str(self.directory), self.wait.plural: [self._record(row) for row in self.waits.to_dicts()]}

    def _record(self, row: dict[str, Any]) -> dict[str, Any]:
        number = row[self.wait.singular]
        resources = {"resources": self.resources_of(number).drop("page").to_dicts()} if self.wait == PAGES else {}
        return {**row, **resources, "timeline": self.timeline(number).drop(self.wait.singular).to_dicts()}


def explain(
    directory: Path | str,
    *,
    source: str | None = None,
    request: int | None = None,
    page: int | None = None,
    slowest: int | None = None,
    watch: Watch = lambda now, end: None,
) -> Explanation:
    """Run a cell again and attribute the time of its requests, or of its pages, to causes.

    Without ``source`` the requests are those of the web users, or of all sources if there are no web users. Where users
    load pages of today, the waits explained are those for whole pages.

    Parameters
    ----------
    directory
        The directory of the cell, such as ``results/cells/0123456789abcdef``.
    source
        Explain the requests of the source of this name: its files, segments of videos, or exchanges.
    request
        Explain only this request, with its timeline; the run ends when it is complete. The requests explained are
        numbered from 0 in the order of their completion in the measurement window. This is their row in the table
        ``exchanges`` without the rows of others.
    page
        Explain only this page, with its resources and its timeline; the run ends when it is loaded. Pages are numbered
        from 0 in the order in which they end in the measurement window, without those of which a resource was given up.
    slowest
        Explain only this number of slowest requests or pages, with their timelines.
    watch
        A callback that gets the simulated time and its end, in seconds, after each step.

    Raises
    ------
    SpecError
        When the directory is not a cell, the cell is a live run or has another results number, or there is no such
        source, request or page.

    Examples
    --------
    >>> explanation = explain("results/cells/0123456789abcdef")  # doctest: +SKIP
    >>> by_band(explanation.requests)  # doctest: +SKIP
    """
    cell = Rerun.read(Path(directory), source)
    wait = cell.wait
    row = _row(cell, request=request, page=page)
    if slowest is not None and not 1 <= slowest <= MAX_TIMELINES:
        raise SpecError(f"slowest: must be from 1 to {MAX_TIMELINES}, got {slowest}")
    waits: list[pl.DataFrame] = []
    resources: list[pl.DataFrame] = []
    timelines: list[pl.DataFrame] = []
    completed = 0
    for step in cell.steps(row, slowest, watch):
        rows = step.waits.with_row_index(wait.singular, offset=completed).cast({wait.singular: pl.UInt64})
        completed += rows.height
        waits.append(rows)
        resources.append(step.resources)
        timelines.append(step.timelines)
        if row is not None:
            waits = [rows.filter(pl.col(wait.singular) == row)]
            if row < completed:
                break
        if slowest is not None:
            waits = [_slowest(pl.concat(waits), wait, slowest)]
            resources = [_of_waits(waits[0], pl.concat(resources, how="diagonal"), wait)]
            timelines = [_of_waits(waits[0], pl.concat(timelines), wait)]
    selected = pl.concat(waits)
    assert row is not None or completed == cell.completed, "the same run has the same waits"
    return Explanation(
        cell.directory,
        cell.title,
        wait,
        selected,
        _of_waits(selected, pl.concat(resources, how="diagonal"), wait),
        _of_waits(selected, pl.concat(timelines), wait),
    )


def _row(cell: Rerun, **numbers: int | None) -> int | None:
    """Return the number of the requested request or page; check that the cell has it."""
    for name, number in numbers.items():
        if number is None:
            continue
        if name != cell.wait.singular:
            plural, other = cell.wait.plural, cell.wait.singular
            raise SpecError(f"{name}: {plural} of this cell are explained: give the number of a {other}")
        if not 0 <= number < cell.completed:
            plural, last = cell.wait.plural, cell.completed - 1
            raise SpecError(f"{name}: must be from 0 to {last}, the {plural} of the cell, got {number}")
    return next((number for number in numbers.values() if number is not None), None)


def _slowest(waits: pl.DataFrame, wait: Wait, count: int) -> pl.DataFrame:
    """Return the slowest waits; of equal ones the first to complete comes first."""
    return waits.sort(f"{wait.time}_ns", wait.singular, descending=[True, False]).head(count)


def _of_waits(waits: pl.DataFrame, rows: pl.DataFrame, wait: Wait) -> pl.DataFrame:
    """Return the resources or events of these waits."""
    if wait.singular not in rows.columns:
        return rows.clear()
    return rows.filter(pl.col(wait.singular).is_in(waits[wait.singular].to_list()))
