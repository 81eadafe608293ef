"""An overview of any number of cells: means over the seeds by experiment and scheme, from the rows of the store.

It opens no cell, so that it needs a fraction of a second for 20,000 cells. Distributions and time series need the
tables of the cells: a comparison reads those of a bounded number of cells.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from aqmlab.console.auth import Rejected
from aqmlab.console.cell_list import PAGE_ROWS, TITLES, title_of
from aqmlab.metrics.numbers import NUMBERS as _DECLARED
from aqmlab.results.cells import BASELINE
from aqmlab.stats.intervals import half_width_of

NUMBERS: Mapping[str, tuple[str, str]] = {
    name: (TITLES[name], declared)
    for name, declared in {
        "response_time_ms_p50": "p50",
        "response_time_ms_p90": "p90",
        "response_time_ms_p99": "p99",
        "queue_delay_ms_mean": "",
        "loss_percent": "loss",
        "throughput_mbps": "throughput",
        "utilisation": "utilisation",
    }.items()
}
"""The columns with numbers, their titles, and the names of the declarations that say which values are better."""

DEFAULT = "response_time_ms_p99"


@dataclass(frozen=True)
class SchemeRow:
    """A scheme over all experiments."""

    label: str
    experiments: int
    cells: int
    compared: int
    """The number of experiments with another scheme."""
    best: int
    """The number of these in which the scheme has the best mean."""
    ratio: float | None
    """The median over these experiments of the ratio of its mean to the best one."""


@dataclass(frozen=True)
class VariantRow:
    """A scheme in one experiment."""

    label: str
    experiment: str
    title: str
    cells: int
    numbers: Mapping[str, tuple[float | None, float | None]]
    """For each column the mean and half of the width of its 95 % interval."""


@dataclass(frozen=True)
class Overview:
    """Means of many cells."""

    number: str
    lower_is_better: bool
    cells: int
    invalid: int
    """The number of invalid live runs, which are left out."""
    experiments: int
    schemes: Sequence[SchemeRow]
    variants: Sequence[VariantRow]
    page: int
    pages: int


def overview(cells: pl.DataFrame, number: str, page: int) -> Overview:
    """Return the means of cells by experiment and scheme, ordered by a number from the worst on.

    Parameters
    ----------
    cells
        Rows of a store.
    number
        The column by which schemes are compared.
    page
        The page of the variants, from 1.

    Raises
    ------
    Rejected
        When there is no such number, or no valid cell.
    """
    if number not in NUMBERS:
        raise Rejected(400, f"number: must be one of {', '.join(NUMBERS)}")
    # The uncongested network is the reference of the users' load, not a scheme.
    candidates = cells.filter(pl.col("label") != BASELINE) if not cells.is_empty() else cells
    valid = candidates.filter(pl.col("valid").fill_null(True)) if not candidates.is_empty() else candidates
    if valid.is_empty():
        raise Rejected(404, "there is no valid cell of a scheme in this view")
    lower_is_better = _is_lower_better(number)
    variants = _variants(valid).sort(
        f"{number}_mean", "experiment", descending=[lower_is_better, False], nulls_last=True
    )
    pages = -(-variants.height // PAGE_ROWS)
    page = min(page, pages)
    shown = variants.slice((page - 1) * PAGE_ROWS, PAGE_ROWS)
    return Overview(
        number,
        lower_is_better,
        valid.height,
        candidates.height - valid.height,
        variants["experiment"].n_unique(),
        _schemes(variants, number, lower_is_better=lower_is_better),
        [_row(row) for row in shown.to_dicts()],
        page,
        pages,
    )


def _is_lower_better(number: str) -> bool:
    name = NUMBERS[number][1]
    return not name or _DECLARED[name].better == "lower"


def _variants(cells: pl.DataFrame) -> pl.DataFrame:
    """Return a row for each scheme of each experiment, with means, deviations and counts of all numbers."""
    settings = [name for name in cells.columns if name not in (*NUMBERS, "experiment", "label")]
    return cells.group_by("experiment", "label", maintain_order=True).agg(
        pl.col(settings).first(),
        pl.len().alias("cells"),
        *(pl.col(name).mean().alias(f"{name}_mean") for name in NUMBERS),
        *(pl.col(name).std().alias(f"{name}_deviation") for name in NUMBERS),
        *(pl.col(name).count().alias(f"{name}_count") for name in NUMBERS),
    )


def _schemes(variants: pl.DataFrame, number: str, *, lower_is_better: bool) -> list[SchemeRow]:
    """Return the schemes, those that are the best most often first."""
    mean = pl.col(f"{number}_mean")
    best = (mean.min() if lower_is_better else mean.max()).over("experiment")
    is_compared = mean.is_not_null() & (mean.count().over("experiment") > 1)
    ratio = pl.when(is_compared & (best > 0)).then(mean / best)
    rows = (
        variants.with_columns(is_compared=is_compared, is_best=is_compared & (mean == best), ratio=ratio)
        .group_by("label")
        .agg(
            pl.len().alias("experiments"),
            pl.col("cells").sum(),
            pl.col("is_compared").sum().alias("compared"),
            pl.col("is_best").sum().alias("best"),
            pl.col("ratio").median(),
        )
        .with_columns(share=pl.when(pl.col("compared") > 0).then(pl.col("best") / pl.col("compared")))
        .sort("share", "label", descending=[True, False], nulls_last=True)
    )
    return [SchemeRow(**row) for row in rows.drop("share").to_dicts()]


def _row(row: Mapping[str, Any]) -> VariantRow:
    numbers = {}
    for name in NUMBERS:
        count, deviation = row[f"{name}_count"], row[f"{name}_deviation"]
        half = float(half_width_of(np.float64(count), deviation)) if count > 1 else None
        numbers[name] = (row[f"{name}_mean"], half)
    return VariantRow(row["label"], row["experiment"], title_of(row), row["cells"], numbers)
