"""Tables of measures on request for a console."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from aqmlab.results.measures import MEASURES, MeasuredRow
from aqmlab.ui import console
from aqmlab.ui.layout import FittedTable


class MeasuredTables:
    """A table for each measure."""

    def __init__(self, rows: Mapping[str, Sequence[MeasuredRow]]) -> None:
        self._rows = rows

    def __rich_console__(self, _: Console, __: ConsoleOptions) -> RenderResult:
        for name, rows in self._rows.items():
            measure = MEASURES[name]
            yield Text(measure.title, style="bold")
            table = console.sheet(show_edge=False)
            for heading in ("scheme", "of"):
                table.add_column(heading, no_wrap=True)
            for column in measure.columns.values():
                table.add_column(column.heading, justify="right")
            for row in rows:
                numbers = (_number_text(row, key, column.digits) for key, column in measure.columns.items())
                table.add_row(Text(row["label"]), Text(row["of"]), *numbers)
            yield FittedTable(table, names=2)
            yield ""
        if any(half is not None for rows in self._rows.values() for row in rows for half in _half_widths(row).values()):
            yield Text("± is half of the 95 % interval of the mean over the seeds (Student's t).")


def _number_text(row: MeasuredRow, key: str, digits: int) -> str:
    number, half = console.number(row[key], digits), _half_widths(row).get(key)
    return number if half is None else f"{number} ±{console.number(half, digits)}"


def _half_widths(row: MeasuredRow) -> Mapping[str, float | None]:
    """Return the half widths of a row; none if its numbers are not means over seeds."""
    half_widths: Mapping[str, float | None] = row.get("half_width", {})
    return half_widths
