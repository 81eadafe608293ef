"""Response times by cause for a report, from reruns of its cells."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import polars as pl

from aqmlab.cells.cell import Cell
from aqmlab.explanations import PARTS, by_band, explain
from aqmlab.metrics.numbers import Number
from aqmlab.reports.selection import Selection
from aqmlab.results.table import Column, ComparisonTable, Row
from aqmlab.running.progress import SweepProgress, is_interactive
from aqmlab.running.run import Watch
from aqmlab.running.sweep import map_cells

Breakdown = Mapping[str, pl.DataFrame]
"""By scheme, the concatenated results of :func:`aqmlab.explanations.by_band` for its seeds."""

BANDS = {"mean": "all requests", "p50": "around p50", "p90": "around p90", "p99": "around p99"}
"""The names of the bands of ``by_band``."""


def compute(selection: Selection) -> Breakdown:
    """Run all cells again and return their response times by cause, with progress on a terminal.

    Parameters
    ----------
    selection
        The cells of the report.

    Raises
    ------
    SpecError
        When a cell cannot be explained: a live run, another results number, or no requests of web users.
    """
    directories = {result.cell.key: result.directory for result in selection.valid}

    def run(cell: Cell, on_step: Watch) -> pl.DataFrame:
        return by_band(explain(directories[cell.key], watch=on_step).requests)

    cells = [result.cell for result in selection.valid]
    if is_interactive():
        with SweepProgress(cells, stored=()) as watch:
            bands = map_cells(cells, run, watch=watch)
    else:
        bands = map_cells(cells, run)
    return {
        label: pl.concat(bands[result.cell.key] for result in results) for label, results in selection.by_label.items()
    }


def means(times: Breakdown) -> dict[str, pl.DataFrame]:
    """Return by scheme a row for each cause with any time: ``band``, ``part``, ``ms``, the mean over seeds."""
    parts = _nonzero_parts(times.values())
    return {
        label: bands.group_by("band", maintain_order=True)
        .agg(pl.col(parts).mean())
        .unpivot(parts, index="band", variable_name="part", value_name="ms")
        for label, bands in times.items()
    }


def table(times: Breakdown) -> ComparisonTable:
    """Return the means as a table, with the standard deviations over the seeds."""
    parts = ("response_time_ms", *_nonzero_parts(times.values()))
    names_by_part = {"response_time_ms": "response time", **PARTS}
    return ComparisonTable(
        "Response times of web users by cause, ms",
        [Column("", names_by_part[part], Number(names_by_part[part], "ms", (part,))) for part in parts],
        [
            _row(label, bands.filter(band=band), part_name)
            for label, bands in times.items()
            for band, part_name in BANDS.items()
        ],
    )


def _row(label: str, seeds: pl.DataFrame, part_name: str) -> Row:
    numbers = seeds.drop("band", "requests")
    return Row(label, part_name, numbers.mean().row(0, named=True), numbers.std().row(0, named=True))


def _nonzero_parts(breakdowns: Iterable[pl.DataFrame]) -> list[str]:
    pooled = pl.concat(breakdowns)
    return [part for part in PARTS if (pooled[part] > 0).any()]
