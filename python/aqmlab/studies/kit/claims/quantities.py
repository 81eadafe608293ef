"""Quantities that claims compare, from results by seed and from the paper's printed tables.

A :class:`Quantity` is a number of one run, or of several with the same seed, such as a difference or a count.
:data:`PrintedTables` holds a paper's own tables, so that they can decide a claim too.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from aqmlab.results import curves
from aqmlab.store.result import Result
from aqmlab.studies.kit.findings import Measure, Results, by_seed

PrintedTables = Mapping[str, Mapping[str, float]]
"""A paper's printed numbers, by the names of the run and of the column."""


@dataclass(frozen=True, kw_only=True)
class Column:
    """A measure, and its column in the paper's table."""

    what: str
    """Description with its unit."""
    measure: Measure
    name: str = ""
    """Name of the printed column; empty if the paper does not print it."""
    digits: int = 9
    """Printed digits after the decimal point; all of them if the paper does not print the column."""


@dataclass(frozen=True, kw_only=True)
class Quantity:
    """A number derived from the results of one or more runs."""

    what: str
    runs: tuple[str, ...]
    read: Callable[[Sequence[Result]], float]
    """Compute it from one result of each run."""
    printed: Callable[[PrintedTables], float | None]
    """Compute it from the paper's tables; ``None`` where they lack a number."""
    digits: int = 9
    """Digits after the decimal point to which the paper prints the numbers."""

    def each(self, results: Results) -> NDArray[np.float64]:
        """Return the number for each seed that all runs have."""
        return np.array([self.read(some) for some in by_seed(results, *self.runs)], dtype=np.float64)

    def __str__(self) -> str:
        return f"{self.what}, {self.runs[0]}" if len(self.runs) == 1 else self.what


AREA = Column(
    what="share completed, averaged over the time axis, %",
    measure=lambda result: float(curves.shares_percent(result)[1].mean()),
)
"""The area under the curve in its figure."""


def quantity(column: Column, run: str) -> Quantity:
    """Return a column's value of a run."""
    return Quantity(
        what=column.what,
        runs=(run,),
        read=lambda some: column.measure(some[0]),
        printed=lambda printed: printed.get(run, {}).get(column.name),
        digits=column.digits,
    )


def difference(one: Quantity, other: Quantity) -> Quantity:
    """Return the difference of two values."""
    return _combine(f"{one} less {other}", one, other, lambda first, second: first - second)


def change_percent(column: Column, run: str, over: str) -> Quantity:
    """Return the change of a column's value over that of another run, in percent; NaN if that is 0."""

    def change(first: float, second: float) -> float:
        return 100 * (first / second - 1) if second else math.nan

    return _combine(f"{column.what}, {run} over {over}, %", quantity(column, run), quantity(column, over), change)


def count_greater(what: str, pairs: Sequence[tuple[Quantity, Quantity]]) -> Quantity:
    """Return the number of pairs whose first value is the greater one."""
    flat = [value for pair in pairs for value in pair]

    def count(numbers: Sequence[float]) -> float:
        return float(sum(first > second for first, second in zip(numbers[::2], numbers[1::2], strict=True)))

    return _of_all(what, flat, count)


def _combine(what: str, one: Quantity, other: Quantity, combine: Callable[[float, float], float]) -> Quantity:
    return _of_all(what, (one, other), lambda numbers: combine(*numbers))


def _of_all(what: str, values: Sequence[Quantity], combine: Callable[[Sequence[float]], float]) -> Quantity:
    ends = np.cumsum([0, *(len(value.runs) for value in values)]).tolist()

    def read(some: Sequence[Result]) -> float:
        parts = (some[start:end] for start, end in pairwise(ends))
        return combine([value.read(part) for value, part in zip(values, parts, strict=True)])

    def from_tables(printed: PrintedTables) -> float | None:
        numbers = [value.printed(printed) for value in values]
        known = [number for number in numbers if number is not None]
        return combine(known) if len(known) == len(values) else None

    runs = tuple(run for value in values for run in value.runs)
    return Quantity(what=what, runs=runs, read=read, printed=from_tables, digits=min(value.digits for value in values))
