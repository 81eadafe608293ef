"""Tables of chosen numbers of a comparison, with a row for each scheme and a column for each number."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import polars as pl
from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from aqmlab.metrics.numbers import Number
from aqmlab.results.table import Column, ComparisonTable, Row, fit


class NumberTables:
    """The tables of a frame from :meth:`aqmlab.results.comparison.Comparison.frame`: means, and differences."""

    def __init__(self, rows: pl.DataFrame, numbers: Iterable[Number]) -> None:
        self._rows = rows
        self._columns = [_column(number) for number in numbers]

    def __rich_console__(self, _: Console, __: ConsoleOptions) -> RenderResult:
        for part in self.parts():
            yield Text(part.title, style="bold")
            yield fit(part)
            yield ""

    def parts(self) -> Iterator[ComparisonTable]:
        """Yield the table of means, then that of the differences from the first scheme."""
        if "less" not in self._rows.columns:
            yield self._table("Chosen numbers", self._rows)
            return
        for reference, rows in self._rows.group_by("less", maintain_order=True):
            (first,) = reference
            title = "Chosen numbers" if first is None else f"Chosen numbers, less {first}'s"
            yield self._table(title, rows, is_difference=first is not None)

    def _table(self, title: str, rows: pl.DataFrame, *, is_difference: bool = False) -> ComparisonTable:
        by_scheme = {
            str(scheme): scheme_rows.to_dicts()
            for (scheme,), scheme_rows in rows.group_by("scheme", maintain_order=True)
        }
        table_rows = [
            _row(scheme, scheme_rows, is_difference=is_difference) for scheme, scheme_rows in by_scheme.items()
        ]
        return ComparisonTable(title, self._columns, table_rows, is_difference)


def _column(number: Number) -> Column:
    owner = number.source or number.class_name or ""
    name = number.name.removeprefix(owner).strip()
    heading = number._replace(name=name).heading
    return Column(owner, heading, number._replace(path=(number.name,)))


def _row(scheme: str, rows: Sequence[Mapping[str, Any]], *, is_difference: bool) -> Row:
    def by_measure(column: str) -> dict[str, Any]:
        return {row_values["measure"]: row_values[column] for row_values in rows}

    bounds = (by_measure("low"), by_measure("high")) if is_difference else None
    return Row(scheme, "", by_measure("mean"), by_measure("half_width"), bounds)
