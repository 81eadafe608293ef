"""Response times by cause for a report, from reruns of its cells."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import polars as pl

from aqmlab.cells.cell import Cell
from aqmlab.explanations import PARTS, QUANTILES, Wait, by_band, explain
from aqmlab.metrics.numbers import Number
from aqmlab.reports.selection import Selection
from aqmlab.results.table import Column, ComparisonTable, Row
from aqmlab.running.progress import SweepProgress, is_interactive
from aqmlab.running.run import Watch
from aqmlab.running.sweep import map_cells

Breakdown = Mapping[str, pl.DataFrame]
"""By scheme, the concatenated results of :func:`aqmlab.explanations.by_band` for its seeds."""


def compute(selection: Selection) -> Breakdown:
    """Run all cells again and return their response times by cause, with progress on a terminal.

    Parameters
    ----------
    selection
        The cells of the report.

    Raises
    ------
    SpecError
        When a cell cannot be explained: a live run, another results number, or nothing that was completed.
    """
    directories = {result.cell.key: result.directory for result in selection.valid}

    def run(cell: Cell, on_step: Watch) -> pl.DataFrame:
        return by_band(explain(directories[cell.key], watch=on_step).waits)

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
    wait = wait_of(times)
    whole = f"{wait.time}_ms"
    parts = (whole, *_nonzero_parts(times.values()))
    names_by_part = {whole: wait.name, **PARTS}
    return ComparisonTable(
        f"{wait.name.capitalize()}s by cause, ms",
        [Column("", names_by_part[part], Number(names_by_part[part], "ms", (part,))) for part in parts],
        [
            _row(label, bands.filter(band=band), part_name)
            for label, bands in times.items()
            for band, part_name in band_names(times).items()
        ],
    )


def wait_of(times: Breakdown) -> Wait:
    """Return the kind of wait that is explained."""
    return Wait.of(next(iter(times.values())).columns)


def band_names(times: Breakdown) -> dict[str, str]:
    """Return the names of the bands of ``by_band``."""
    return {"mean": f"all {wait_of(times).plural}", **{band: f"around {band}" for band in QUANTILES}}


def _row(label: str, seeds: pl.DataFrame, part_name: str) -> Row:
    numbers = seeds.drop("band", Wait.of(seeds.columns).plural)
    return Row(label, part_name, numbers.mean().row(0, named=True), numbers.std().row(0, named=True))


def _nonzero_parts(breakdowns: Iterable[pl.DataFrame]) -> list[str]:
    pooled = pl.concat(breakdowns)
    return [part for part in PARTS if (pooled[part] > 0).any()]
