"""Queries of a store for the console's pages: lists of cells, comparisons, and the output of jobs."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from matplotlib.figure import Figure

from aqmlab import plot
from aqmlab.campaigns import table
from aqmlab.campaigns.campaign import Campaign, plan, select_numbers
from aqmlab.campaigns.failures import Failure
from aqmlab.campaigns.grid import Grid
from aqmlab.cells.calibration_model import load_calibrations
from aqmlab.console.auth import Refused
from aqmlab.console.job_requests import JobRequest
from aqmlab.results import grouping
from aqmlab.results.comparison import Comparison
from aqmlab.storage.location import is_key
from aqmlab.store import table as cells_table
from aqmlab.store.result import Result
from aqmlab.store.store import Store
from aqmlab.ui import canvas

MOST_COMPARED = 60
"""The largest number of cells in a comparison."""

_FIGURES = {"cdf": plot.cdf, "ccdf": plot.ccdf}


_LISTED = (
    *("cell", "label", "seed", "users_per_side", "load_percent", "rtt", "world", "valid", "created"),
    *("loss_percent", "throughput_mbps", "response_time_ms_p50", "response_time_ms_p99"),
    *cells_table.DISTINGUISHING,
)
"""The columns of the list of cells."""


@dataclass(frozen=True)
class CellList:
    """The newest cells of a store, the newest first."""

    rows: Sequence[Mapping[str, Any]]
    differ: Sequence[str]
    """The columns in which their experiments differ."""
    found: int
    """The number of all cells that were asked for."""


def cells(store: Store, words: str, most: int) -> CellList:
    """Return the newest cells whose scheme contains all of these words."""
    label = pl.col("label").str.to_lowercase()
    wanted = [label.str.contains(word, literal=True) for word in words.lower().split()]
    found = store.cells(_LISTED).filter(pl.lit(True), *wanted)
    newest = found.tail(most).reverse()
    return CellList(newest.to_dicts(), cells_table.distinguishing(newest), found.height)


def comparison(store: Store, keys: Sequence[str]) -> tuple[Comparison, list[str]]:
    """Return a comparison of cells by scheme, in the order of their start, and sentences about cells left out.

    Schemes with the same name in different experiments get labels with their users and a number. Invalid live runs are
    left out.

    Raises
    ------
    Refused
        When there are no cells, too many, a missing one, or no valid one.
    """
    valid, invalid = grouping.split_valid(results(store, keys))
    said = grouping.invalid_note(invalid)
    if not valid:
        raise Refused(400, " ".join(said))
    return Comparison(grouping.by_scheme(valid)), said


def results(store: Store, keys: Sequence[str]) -> list[Result]:
    """Return the results of distinct cells in the order of their start; errors are those of :func:`comparison`."""
    if not 1 <= len(keys) <= MOST_COMPARED:
        raise Refused(400, f"choose from 1 to {MOST_COMPARED} cells")
    return sorted((result(store, key) for key in dict.fromkeys(keys)), key=grouping.started_at_s)


def result(store: Store, key: str) -> Result:
    """Return the result of a cell.

    Raises
    ------
    Refused
        When there is no such cell.
    """
    found = store.get_by_key(key) if is_key(key) else None
    if found is None:
        raise Refused(404, "there is no such cell")
    return found


def figure(compared: Comparison, kind: str, *, narrow: bool = False) -> bytes:
    """Return a figure of response times as SVG; ``narrow`` is for a phone.

    Raises
    ------
    Refused
        When there is no such figure.
    """
    if kind not in _FIGURES:
        raise Refused(404, "there is no such figure")
    draw = _FIGURES[kind]
    curves = compared.response_times()

    def drawn(figure: Figure) -> None:
        axis = figure.subplots()
        draw(curves, axis)
        if narrow:
            canvas.legend_below(axis)
        else:
            canvas.label_lines(axis)

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, f"{kind}.svg")
        if narrow:
            canvas.write(file, drawn, size=canvas.NARROW)
        else:
            canvas.write(file, drawn)
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


def job_output(store: Store, asked: JobRequest, keys: Sequence[str]) -> JobOutput:
    """Return the output of a job, which is complete only if the job completed."""
    if asked.grid is None:
        return JobOutput(cells=[key for key in keys if store.get_by_key(key) is not None])
    planned = plan(Grid.from_toml(asked.grid), asked.seeds, load_calibrations(store.out))
    campaign = Campaign(planned, store.out, select_numbers((), planned))
    headings, points = table.texts(campaign.means, campaign.axes, campaign.numbers)
    return JobOutput(headings=headings, points=points, axes=len(campaign.axes) or 1, failures=campaign.failures)
