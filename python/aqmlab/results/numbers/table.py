"""Tables of chosen numbers of a comparison, with a row for each scheme and a column for each number."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import polars as pl
from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from aqmlab.metrics.numbers import Number
from aqmlab.results.table import Column, ComparisonTable, Row, fitted


class Chosen:
    """The tables of a frame from :meth:`aqmlab.results.comparison.Comparison.frame`: means, and differences."""

    def __init__(self, rows: pl.DataFrame, numbers: Iterable[Number]) -> None:
        self._rows = rows
        self._columns = [_column(number) for number in numbers]

    def __rich_console__(self, _: Console, __: ConsoleOptions) -> RenderResult:
        for part in self.parts():
            yield Text(part.title, style="bold")
            yield fitted(part)
            yield ""

    def parts(self) -> Iterator[ComparisonTable]:
        """Yield the table of means, then that of the differences from the first scheme."""
        if "less" not in self._rows.columns:
            yield self._table("Chosen numbers", self._rows)
            return
        for less, rows in self._rows.group_by("less", maintain_order=True):
            (first,) = less
            title = "Chosen numbers" if first is None else f"Chosen numbers, less {first}'s"
            yield self._table(title, rows, is_difference=first is not None)

    def _table(self, title: str, rows: pl.DataFrame, *, is_difference: bool = False) -> ComparisonTable:
        by_scheme = {str(scheme): of.to_dicts() for (scheme,), of in rows.group_by("scheme", maintain_order=True)}
        made = [_row(scheme, of, is_difference=is_difference) for scheme, of in by_scheme.items()]
        return ComparisonTable(title, self._columns, made, is_difference)


def _column(number: Number) -> Column:
    whose = number.source or number.of_class or ""
    name = number.name.removeprefix(whose).strip()
    heading = number._replace(name=name).heading
    return Column(whose, heading, number._replace(path=(number.name,)))


def _row(scheme: str, of: Sequence[Mapping[str, Any]], *, is_difference: bool) -> Row:
    def named(column: str) -> dict[str, Any]:
        return {each["measure"]: each[column] for each in of}

    bounds = (named("low"), named("high")) if is_difference else None
    return Row(scheme, "", named("mean"), named("half_width"), bounds)
