"""What a measure on request is: rows by scheme, and how they are shown."""

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
"""The number in ``source`` that web users have."""

ByScheme = Mapping[str, Sequence[Result]]
"""The results of each scheme's seeds, by label, the uncongested network's among them."""

MeasuredRow = dict[str, Any]


class Column(NamedTuple):
    """A number of a measure."""

    heading: str
    """What it is called on a console."""
    digits: int
    """After the point."""
    unit: str


@dataclass(frozen=True)
class Measure:
    """A measure that is worked out when it is asked for."""

    title: str
    columns: Mapping[str, Column]
    """The numbers of a row, by their names in it."""
    rows: Callable[[ByScheme], Iterator[MeasuredRow]]
    """The rows of a comparison: ``label``, what it is ``of``, and the columns."""
    needs_exchanges: bool = False
    """Whether a row for each request must have been kept."""
    needs_uncongested: bool = False
    """Whether the uncongested network must be among the schemes."""
    lacks: Callable[[Cell], str | None] = lambda _cell: None
    """What of an experiment it needs that this cell has not, in a few words."""
    beside: Callable[[Cell], Sequence[Cell]] = lambda _cell: ()
    """Further cells that it holds a cell against; what the store lacks of them is run."""


def congested(schemes: ByScheme) -> ByScheme:
    """Leave out the uncongested network, for what says nothing of it."""
    return {label: results for label, results in schemes.items() if results[0].cell.signal != "none"}


def simulated_alone(cell: Cell) -> str | None:
    """Say that a live run has no other of the same seed beside it; ``None`` for the simulator's."""
    return None if cell.kernel is None else "the simulator: a live run has no twin"


def requests_of_users(result: Result) -> pl.DataFrame:
    """Return a row for each request of a web user, with who asked."""
    exchanges = result.exchanges
    if "user" not in exchanges.columns:
        raise SpecError(f"measures: {result.place} is of a version whose exchanges say not who asked; remove it")
    return exchanges.filter(pl.col("source") == WEB_USERS)


def over_seeds(seeds: Sequence[Mapping[str, float | None]]) -> MeasuredRow:
    """Return the means of the seeds' numbers, and half the widths of their 95 % intervals.

    Parameters
    ----------
    seeds
        The same numbers of each seed, by name; ``None`` where a seed has none.

    Returns
    -------
    dict
        By name the mean over the seeds that have the number, ``None`` where none has; and in ``half_width`` by name
        half the width of its Student-t interval, ``None`` for fewer than two.

    Examples
    --------
    >>> over_seeds([{"ms": 3.0}, {"ms": 5.0}, {"ms": None}])["ms"]
    4.0
    """
    known = {name: np.array([each[name] for each in seeds if each[name] is not None], dtype=float) for name in seeds[0]}
    means = {name: float(values.mean()) if len(values) else None for name, values in known.items()}
    half_widths = {
        name: float(stats.half_width(values, confidence=0.95)) if len(values) > 1 else None
        for name, values in known.items()
    }
    return {**means, "half_width": half_widths}
