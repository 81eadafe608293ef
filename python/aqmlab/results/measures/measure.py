"""The interface of a measure on request: rows by scheme, and columns for display."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from aqmlab import stats
from aqmlab._core import SpecError
from aqmlab.cells.cell import Cell
from aqmlab.store.result import Result

WEB_USERS = 0
"""The number of the web users in the column ``source``."""

ByScheme = Mapping[str, Sequence[Result]]
"""The results of each scheme's seeds by label, with the uncongested network."""

MeasuredRow = dict[str, Any]


class Column(NamedTuple):
    """A number of a measure."""

    heading: str
    """The heading in tables."""
    digits: int
    """The number of decimals."""
    unit: str


@dataclass(frozen=True)
class Measure:
    """A measure that is computed on request."""

    title: str
    columns: Mapping[str, Column]
    """The columns by the names of a row's numbers."""
    rows: Callable[[ByScheme], Iterator[MeasuredRow]]
    """A function that yields the rows of a comparison: ``label``, the object ``of`` the measure, and the columns."""
    needs_exchanges: bool = False
    """True if the table ``exchanges`` is needed."""
    needs_uncongested: bool = False
    """True if the uncongested network is needed."""
    missing_requirement: Callable[[Cell], str | None] = lambda _cell: None
    """A function that returns a missing requirement of a cell in words, or ``None``."""
    extra_cells: Callable[[Cell], Sequence[Cell]] = lambda _cell: ()
    """A function that returns the further cells that the measure of a cell needs; missing ones are run."""


def congested(schemes: ByScheme) -> ByScheme:
    """Return the schemes without the uncongested network."""
    return {label: results for label, results in schemes.items() if results[0].cell.signal != "none"}


def simulated_alone(cell: Cell) -> str | None:
    """Return the missing requirement of a live run, which cannot be repeated with other traffic; ``None`` otherwise."""
    return None if cell.kernel is None else "the simulator: a live run has no twin"


def requests_of_users(result: Result) -> pl.DataFrame:
    """Return a row for each request of a web user, with the user."""
    exchanges = result.exchanges
    if "user" not in exchanges.columns:
        raise SpecError(f"measures: {result.location} is of a version whose exchanges have no column user; remove it")
    return exchanges.filter(pl.col("source") == WEB_USERS)


def over_seeds(seeds: Sequence[Mapping[str, float | None]]) -> MeasuredRow:
    """Return the means of the seeds' numbers, and half of the widths of their 95 % intervals.

    Parameters
    ----------
    seeds
        The numbers of each seed, by name; ``None`` if a seed lacks one.

    Returns
    -------
    dict
        By name, the mean over the seeds that have the number, ``None`` without any; and in ``half_width`` by name, half
        of the width of its Student-t interval, ``None`` for fewer than two.

    Examples
    --------
    >>> over_seeds([{"ms": 3.0}, {"ms": 5.0}, {"ms": None}])["ms"]
    4.0
    """
    present = {
        name: np.array(
            [values_of_seed[name] for values_of_seed in seeds if values_of_seed[name] is not None], dtype=float
        )
        for name in seeds[0]
    }
    means = {name: float(values.mean()) if len(values) else None for name, values in present.items()}
    half_widths = {
        name: float(stats.half_width(values, confidence=0.95)) if len(values) > 1 else None
        for name, values in present.items()
    }
    return {**means, "half_width": half_widths}
