"""Tables that fit a width.

Names go on after a comma in a further line, texts are wrapped between words, and columns that still do not fit go into
a further table.
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
    """A table, laid out for the width that it is shown in; its first columns name the rows in each piece."""

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
    """Part a table's columns so that each part fits; a single part may have what belongs to a number below it."""
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
    """Return the columns that name the rows, and the others."""
    columns = [_Measured(column, group) for column, group in _with_groups(table.columns)]
    others = [each.stacked() for each in columns[names:]] if is_stacked else columns[names:]
    return columns[:names], others


@dataclasses.dataclass(frozen=True)
class _Measured:
    """A column and how wide it may be."""

    column: Column
    group: str
    """The first line of its heading where that stands at a neighbour on its left."""

    @property
    def least(self) -> int:
        """How wide it must be to break no word, and to leave a number what stands behind it."""
        headings, cells = self._headings(), self._cells()
        if self.column.no_wrap or self._is_of_numbers:
            pieces = [*headings, *cells]
        else:
            # Headings of several lines stand in line with their neighbours'.
            whole = headings if len(headings) > 1 else headings[0].split(" ")
            pieces = [*whole, *(word for text in cells for word in text.split(" "))]
        return max((cell_len(piece) for piece in pieces), default=0)

    @property
    def most(self) -> int:
        """How wide it is with room enough."""
        return self.least if self._is_of_numbers else max(map(cell_len, (*self._headings(), *self._cells())), default=0)

    @property
    def _is_of_numbers(self) -> bool:
        return self.column.justify == "right"

    def stacked(self) -> _Measured:
        """Put what stands behind a number below it."""
        if not self._is_of_numbers:
            return self
        return self._with(Text(_text(cell).plain.replace(" ", "\n")) for cell in self.column.cells)

    def with_group_header(self) -> _Measured:
        """Repeat what stands at a neighbour, for the first of a piece."""
        header = Text(self.group).append_text(_text(self.column.header))
        return dataclasses.replace(self, column=dataclasses.replace(self.column, header=header), group="")

    def broken(self, width: int) -> _Measured:
        """Go on in a further line after a comma, where names are longer than this."""
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
        # Control characters are written out before a cell is measured.
        cells: list[RenderableType] = [_text(cell) for cell in column.cells]
        yield dataclasses.replace(column, _cells=cells), group if newline and not above else ""


def _with_widths(columns: Sequence[_Measured], room: int) -> list[Column]:
    """Give each column what it must have, and what is left to those that would be wider, the narrowest first."""
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
