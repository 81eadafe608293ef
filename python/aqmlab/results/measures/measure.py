"""What a measure on request is: rows by scheme, and how they are shown."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from aqmlab._core import SpecError
from aqmlab.results.result import Result

WEB_USERS = 0
"""The number in ``source`` that web users have."""

ByScheme = Mapping[str, Sequence[Result]]
"""The results of each scheme's seeds, by label, the uncongested network's among them."""

Row = dict[str, Any]


@dataclass(frozen=True)
class Measure:
    """A measure that is worked out when it is asked for."""

    title: str
    columns: Mapping[str, tuple[str, int]]
    """What the numbers of a row are called on a console, and their digits after the point."""
    rows: Callable[[ByScheme], Iterator[Row]]
    """The rows of a comparison: ``label``, what it is ``of``, and the columns."""
    needs_exchanges: bool = False
    """Whether a row for each request must have been kept."""
    needs_uncongested: bool = False
    """Whether the uncongested network must be among the schemes."""


def requests_of_users(result: Result) -> pl.DataFrame:
    """Return a row for each request of a web user, with who asked."""
    exchanges = result.exchanges
    if "user" not in exchanges.columns:
        raise SpecError(f"measures: {result.directory} is of a version whose exchanges say not who asked; remove it")
    return exchanges.filter(pl.col("source") == WEB_USERS)
