"""The layout of tables within a width.

Names are wrapped after commas and texts between words. Columns that still do not fit form a further table.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.table import Column, Table
from rich.text import Text

from aqmlab.ui.escaping import visible


class FittedTable:
    """A table that adapts to the console's width; each further table repeats the first ``names`` columns."""

    def __init__(self, table: Table, *, names: int = 1) -> None:
        self._table = table
        self._names = names

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        table = self._table
        for number, columns in enumerate(_parts(table, self._names, options.max_width)):
            piece = Table(
                box=table.box,
                title=None if number else table.title,
                title_justify=table.title_justify,
                show_edge=table.show_edge,
                pad_edge=table.pad_edge,
                collapse_padding=table.collapse_padding,
                header_style=table.header_style,
            )
            piece.columns = columns
            piece.rows = table.rows
            if number and not table.show_edge:
                yield ""
            yield piece


def _parts(table: Table, names: int, width: int) -> Iterator[list[Column]]:
    """Split a table's columns so that each part fits, if possible by stacking the text behind numbers below them."""
    gap = 2 if table.collapse_padding else 3
    available = width - 2 * table.show_edge
    for is_stacked in (False, True):
        first, others = _measure(table, names, is_stacked=is_stacked)
        others_width = sum(column.min_width + gap for column in (*first[1:], *others))
        first[0] = first[0].wrap(available - others_width)
        if first[0].min_width + others_width <= available:
            yield _with_widths([*first, *others], available - gap * (len(first) + len(others) - 1))
            return
    first, others = _measure(table, names, is_stacked=False)
    first[0] = first[0].wrap(available // 3)
    while others:
        piece = [*first, others.pop(0).with_group_header()]
        while others and sum(column.min_width + gap for column in (*piece, others[0])) <= available + gap:
            piece.append(others.pop(0))
        yield _with_widths(piece, available - gap * (len(piece) - 1))


def _measure(table: Table, names: int, *, is_stacked: bool) -> tuple[list[_MeasuredColumn], list[_MeasuredColumn]]:
    """Return the first columns, which name the rows, and the other columns."""
    columns = [_MeasuredColumn(column, group) for column, group in _with_groups(table.columns)]
    others = [column.stack() for column in columns[names:]] if is_stacked else columns[names:]
    return columns[:names], others


@dataclasses.dataclass(frozen=True)
class _MeasuredColumn:
    """A column with its smallest and its natural width."""

    column: Column
    group: str
    """The group heading of the column, if a column on its left shows it."""

    @property
    def min_width(self) -> int:
        """The smallest width that breaks neither a word nor a number with its interval."""
        headings, cells = self._headings(), self._cells()
        if self.column.no_wrap or self._is_of_numbers:
            pieces = [*headings, *cells]
        else:
            # Headings of several lines are not wrapped, so that they stay aligned with their neighbours.
            heading_pieces = headings if len(headings) > 1 else headings[0].split(" ")
            pieces = [*heading_pieces, *(word for text in cells for word in text.split(" "))]
        return max((cell_len(piece) for piece in pieces), default=0)

    @property
    def max_width(self) -> int:
        """The natural width."""
        return (
            self.min_width
            if self._is_of_numbers
            else max(map(cell_len, (*self._headings(), *self._cells())), default=0)
        )

    @property
    def _is_of_numbers(self) -> bool:
        return self.column.justify == "right"

    def stack(self) -> _MeasuredColumn:
        """Return the column with the text behind each number on a line below."""
        if not self._is_of_numbers:
            return self
        return self._with_cells(Text(_text(cell).plain.replace(" ", "\n")) for cell in self.column.cells)

    def with_group_header(self) -> _MeasuredColumn:
        """Return the column with its group heading, for the first column of a part."""
        header = Text(self.group).append_text(_text(self.column.header))
        return dataclasses.replace(self, column=dataclasses.replace(self.column, header=header), group="")

    def wrap(self, width: int) -> _MeasuredColumn:
        """Return the column with names wrapped after commas to this width."""
        return self._with_cells(_wrap(_text(cell), width) for cell in self.column.cells)

    def _with_cells(self, cells: Iterable[Text]) -> _MeasuredColumn:
        return dataclasses.replace(self, column=dataclasses.replace(self.column, _cells=list(cells)))

    def _headings(self) -> list[str]:
        return _text(self.column.header).plain.split("\n")

    def _cells(self) -> list[str]:
        return [line for cell in self.column.cells for line in _text(cell).plain.split("\n")]


def _with_groups(columns: Sequence[Column]) -> Iterator[tuple[Column, str]]:
    group = ""
    for column in columns:
        top, newline, _ = _text(column.header).plain.partition("\n")
        if top and newline:
            group = top
        # Escape control characters before measuring a cell.
        cells: list[RenderableType] = [_text(cell) for cell in column.cells]
        yield dataclasses.replace(column, _cells=cells), group if newline and not top else ""


def _with_widths(columns: Sequence[_MeasuredColumn], room: int) -> list[Column]:
    """Give each column its smallest width, and distribute the remaining room, the smallest wishes first."""
    widths = [column.min_width for column in columns]
    free = max(0, room - sum(widths))
    wishes = sorted((column.max_width - column.min_width, n) for n, column in enumerate(columns))
    for index, (wish, n) in enumerate(wishes):
        extra = min(wish, free // (len(wishes) - index))
        widths[n] += extra
        free -= extra
    return [dataclasses.replace(column.column, width=widths[n], _index=n) for n, column in enumerate(columns)]


def _wrap(name: Text, width: int) -> Text:
    lines = [""]
    for piece in name.plain.replace(",", ",\n").replace(" + ", " \n+ ").split("\n"):
        if lines[-1] and cell_len(lines[-1] + piece) > width:
            lines.append("")
        lines[-1] += piece
    return Text("\n".join(lines))


def _text(cell: RenderableType) -> Text:
    text = cell if isinstance(cell, Text) else Text(visible(str(cell)))
    escaped = visible(text.plain)
    return text if escaped == text.plain else Text(escaped, style=text.style)
