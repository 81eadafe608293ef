"""Queries of a store for the console's pages: comparisons, and the output of jobs."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from matplotlib.figure import Figure

from aqmlab import plot
from aqmlab.campaigns import table
from aqmlab.campaigns.campaign import Campaign, plan, select_numbers
from aqmlab.campaigns.failures import Failure
from aqmlab.campaigns.grid import Grid
from aqmlab.cells.calibration_model import load_calibrations
from aqmlab.console.auth import Rejected
from aqmlab.console.job_requests import JobRequest
from aqmlab.results import grouping
from aqmlab.results.comparison import Comparison
from aqmlab.storage.location import is_key
from aqmlab.store.result import Result
from aqmlab.store.store import Store
from aqmlab.ui import canvas

MAX_COMPARED = 60
"""The largest number of cells in a comparison."""

_FIGURES = {"cdf": plot.cdf, "ccdf": plot.ccdf}


def comparison(store: Store, keys: Sequence[str]) -> tuple[Comparison, list[str]]:
    """Return a comparison of cells by scheme, in the order of their start, and sentences about cells left out.

    Schemes with the same name in different experiments get labels with their users and a number. Invalid live runs are
    left out.

    Raises
    ------
    Rejected
        When there are no cells, too many, a missing one, or no valid one.
    """
    valid, invalid = grouping.split_valid(results(store, keys))
    notes = grouping.invalid_note(invalid)
    if not valid:
        raise Rejected(400, " ".join(notes))
    return Comparison(grouping.by_scheme(valid)), notes


def results(store: Store, keys: Sequence[str]) -> list[Result]:
    """Return the results of distinct cells in the order of their start; errors are those of :func:`comparison`."""
    if not 1 <= len(keys) <= MAX_COMPARED:
        raise Rejected(400, f"choose from 1 to {MAX_COMPARED} cells")
    return sorted((result(store, key) for key in dict.fromkeys(keys)), key=grouping.started_at_s)


def result(store: Store, key: str) -> Result:
    """Return the result of a cell.

    Raises
    ------
    Rejected
        When there is no such cell.
    """
    stored = store.get_by_key(key) if is_key(key) else None
    if stored is None:
        raise Rejected(404, "there is no such cell")
    return stored


def figure(comparison: Comparison, kind: str, *, narrow: bool = False) -> bytes:
    """Return a figure of response times as SVG; ``narrow`` is for a phone.

    Raises
    ------
    Rejected
        When there is no such figure.
    """
    if kind not in _FIGURES:
        raise Rejected(404, "there is no such figure")
    draw = _FIGURES[kind]
    curves = comparison.response_times()

    def draw_figure(figure: Figure) -> None:
        axis = figure.subplots()
        draw(curves, axis)
        if narrow:
            canvas.legend_below(axis)
        else:
            canvas.label_lines(axis)

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, f"{kind}.svg")
        if narrow:
            canvas.write(file, draw_figure, size=canvas.NARROW)
        else:
            canvas.write(file, draw_figure)
        return file.read_bytes()


@dataclass(frozen=True)
class JobOutput:
    """The output of a job in the store."""

    cells: Sequence[str] = ()
    """The keys of the completed cells."""
    headings: Sequence[str] = ()
    """The headings of a sweep's means."""
    points: Sequence[Sequence[str]] = ()
    """The rows of a sweep's means, one for each point."""
    axes: int = 0
    """The number of columns that identify the point."""
    failures: Sequence[Failure] = ()


def job_output(store: Store, request: JobRequest, keys: Sequence[str]) -> JobOutput:
    """Return the output of a job, which is complete only if the job completed."""
    if request.grid is None:
        return JobOutput(cells=[key for key in keys if store.get_by_key(key) is not None])
    planned_cells = plan(Grid.from_toml(request.grid), request.seeds, load_calibrations(store.out))
    campaign = Campaign(planned_cells, store.out, select_numbers((), planned_cells))
    headings, points = table.texts(campaign.means, campaign.axes, campaign.numbers)
    return JobOutput(headings=headings, points=points, axes=len(campaign.axes) or 1, failures=campaign.failures)
