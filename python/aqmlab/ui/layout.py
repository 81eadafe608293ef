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


class Fitted:
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
    room = width - 2 * table.show_edge
    for is_stacked in (False, True):
        first, others = _measured(table, names, is_stacked=is_stacked)
        beside = sum(each.least + gap for each in (*first[1:], *others))
        first[0] = first[0].broken(room - beside)
        if first[0].least + beside <= room:
            yield _with_widths([*first, *others], room - gap * (len(first) + len(others) - 1))
            return
    first, others = _measured(table, names, is_stacked=False)
    first[0] = first[0].broken(room // 3)
    while others:
        piece = [*first, others.pop(0).with_group_header()]
        while others and sum(each.least + gap for each in (*piece, others[0])) <= room + gap:
            piece.append(others.pop(0))
        yield _with_widths(piece, room - gap * (len(piece) - 1))


def _measured(table: Table, names: int, *, is_stacked: bool) -> tuple[list[_Measured], list[_Measured]]:
    """Return the first columns, which name the rows, and the other columns."""
    columns = [_Measured(column, group) for column, group in _with_groups(table.columns)]
    others = [each.stacked() for each in columns[names:]] if is_stacked else columns[names:]
    return columns[:names], others


@dataclasses.dataclass(frozen=True)
class _Measured:
    """A column with its smallest and its natural width."""

    column: Column
    group: str
    """The group heading of the column, if a column on its left shows it."""

    @property
    def least(self) -> int:
        """The smallest width that breaks neither a word nor a number with its interval."""
        headings, cells = self._headings(), self._cells()
        if self.column.no_wrap or self._is_of_numbers:
            pieces = [*headings, *cells]
        else:
            # Headings of several lines are not wrapped, so that they stay aligned with their neighbours.
            whole = headings if len(headings) > 1 else headings[0].split(" ")
            pieces = [*whole, *(word for text in cells for word in text.split(" "))]
        return max((cell_len(piece) for piece in pieces), default=0)

    @property
    def most(self) -> int:
        """The natural width."""
        return self.least if self._is_of_numbers else max(map(cell_len, (*self._headings(), *self._cells())), default=0)

    @property
    def _is_of_numbers(self) -> bool:
        return self.column.justify == "right"

    def stacked(self) -> _Measured:
        """Return the column with the text behind each number on a line below."""
        if not self._is_of_numbers:
            return self
        return self._with(Text(_text(cell).plain.replace(" ", "\n")) for cell in self.column.cells)

    def with_group_header(self) -> _Measured:
        """Return the column with its group heading, for the first column of a part."""
        header = Text(self.group).append_text(_text(self.column.header))
        return dataclasses.replace(self, column=dataclasses.replace(self.column, header=header), group="")

    def broken(self, width: int) -> _Measured:
        """Return the column with names wrapped after commas to this width."""
        return self._with(_wrapped(_text(cell), width) for cell in self.column.cells)

    def _with(self, cells: Iterable[Text]) -> _Measured:
        return dataclasses.replace(self, column=dataclasses.replace(self.column, _cells=list(cells)))

    def _headings(self) -> list[str]:
        return _text(self.column.header).plain.split("\n")

    def _cells(self) -> list[str]:
        return [line for cell in self.column.cells for line in _text(cell).plain.split("\n")]


def _with_groups(columns: Sequence[Column]) -> Iterator[tuple[Column, str]]:
    group = ""
    for column in columns:
        above, newline, _ = _text(column.header).plain.partition("\n")
        if above and newline:
            group = above
        # Escape control characters before measuring a cell.
        cells: list[RenderableType] = [_text(cell) for cell in column.cells]
        yield dataclasses.replace(column, _cells=cells), group if newline and not above else ""


def _with_widths(columns: Sequence[_Measured], room: int) -> list[Column]:
    """Give each column its smallest width, and distribute the remaining room, the smallest wishes first."""
    widths = [each.least for each in columns]
    left = max(0, room - sum(widths))
    wishes = sorted((each.most - each.least, n) for n, each in enumerate(columns))
    for place, (wish, n) in enumerate(wishes):
        more = min(wish, left // (len(wishes) - place))
        widths[n] += more
        left -= more
    return [dataclasses.replace(each.column, width=widths[n], _index=n) for n, each in enumerate(columns)]


def _wrapped(name: Text, width: int) -> Text:
    lines = [""]
    for piece in name.plain.replace(",", ",\n").replace(" + ", " \n+ ").split("\n"):
        if lines[-1] and cell_len(lines[-1] + piece) > width:
            lines.append("")
        lines[-1] += piece
    return Text("\n".join(lines))


def _text(cell: RenderableType) -> Text:
    text = cell if isinstance(cell, Text) else Text(visible(str(cell)))
    shown = visible(text.plain)
    return text if shown == text.plain else Text(shown, style=text.style)
