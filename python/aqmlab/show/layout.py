"""Tables that fit a width: text is wrapped between words, and columns that do not fit go into a further table."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.table import Column, Table
from rich.text import Text


class Fitted:
    """A table, laid out for the width that it is shown in; its first column names the rows in each piece."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        table = self._table
        titled = table.title
        for columns in _pieces(table, options.max_width):
            piece = Table(
                box=table.box,
                title=titled,
                title_justify=table.title_justify,
                pad_edge=table.pad_edge,
                collapse_padding=table.collapse_padding,
                header_style=table.header_style,
            )
            piece.columns = columns
            piece.rows = table.rows
            yield piece
            titled = None


def _pieces(table: Table, width: int) -> Iterator[list[Column]]:
    """Part a table's columns so that each part fits."""
    first, *others = (_Measured(column, group) for column, group in _with_groups(table.columns))
    gap = 2 if table.collapse_padding else 3
    room = width - 2  # The edges.
    if others and first.least > room // 2:
        first = first.broken(room // 2)
    if not others:
        yield _with_widths([first], room)
    while others:
        piece = [first, others.pop(0).beneath_its_group()]
        while others and sum(each.least + gap for each in (*piece, others[0])) <= room + gap:
            piece.append(others.pop(0))
        yield _with_widths(piece, room - gap * (len(piece) - 1))


@dataclasses.dataclass(frozen=True)
class _Measured:
    """A column and how wide it may be."""

    column: Column
    group: str
    """The first line of its heading where that stands at a neighbour on its left."""

    @property
    def least(self) -> int:
        """How wide it must be to break no word."""
        texts = [*self._headings(), *self._cells()]
        pieces = texts if self.column.no_wrap else [word for text in texts for word in text.split(" ")]
        return max((cell_len(piece) for piece in pieces), default=0)

    @property
    def most(self) -> int:
        """How wide it is with room enough."""
        return max(map(cell_len, (*self._headings(), *self._cells())), default=0)

    def beneath_its_group(self) -> _Measured:
        """Repeat what stands at a neighbour, for the first of a piece."""
        header = Text(self.group).append_text(_text(self.column.header))
        return _Measured(dataclasses.replace(self.column, header=header), group="")

    def broken(self, width: int) -> _Measured:
        """Go on in a further line after a comma, where names are too long."""
        cells: list[RenderableType] = [_broken(_text(cell), width) for cell in self.column.cells]
        return _Measured(dataclasses.replace(self.column, _cells=cells), self.group)

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
        yield column, group if newline and not above else ""


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


def _broken(name: Text, width: int) -> Text:
    lines = [""]
    for piece in name.plain.replace(",", ",\n").split("\n"):
        if lines[-1] and cell_len(lines[-1] + piece) > width:
            lines.append("")
        lines[-1] += piece
    return Text("\n".join(lines))


def _text(cell: RenderableType) -> Text:
    return cell if isinstance(cell, Text) else Text(str(cell))
