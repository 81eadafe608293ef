"""The console: rich on a terminal, plain text in a pipe."""

from __future__ import annotations

import shutil
from typing import Any, Literal

from rich import box
from rich.console import RenderableType
from rich.table import Table

from aqmlab.ui.layout import Fitted
from aqmlab.ui.terminal import Terminal

_WIDE = 400

_UNBOUNDED = 10_000
"""Columns of a table in a pipe, where each row is one line: programs such as ``grep`` and ``tail`` read it."""


def sheet(**settings: Any) -> Table:
    """Return a table to be filled, in the form that all have."""
    return Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold", **settings)


def number(value: float | None, digits: int) -> str:
    """Write a number with so many digits after the point; a dash where there is none."""
    return "-" if value is None else f"{value:,.{digits}f}"


def show(table: RenderableType) -> None:
    """Print a table: for a person at a terminal, or as plain text for a pipe; text as it is."""
    if isinstance(table, str):
        print(table)
        return
    console = _console(width=None)
    if console.is_terminal:
        console.print(_fitted(table))
    else:
        print(plain(table, width=columns()))


def plain(table: RenderableType, *, width: int = _WIDE) -> str:
    """Render a table as text without colours, as wide as it needs to be and no wider than ``width``."""
    console = _console(width=width)
    with console.capture() as capture:
        console.print(_fitted(table))
    return "\n".join(line.rstrip() for line in capture.get().splitlines())


def columns() -> int:
    """Return how wide a table is at most: as the terminal or ``COLUMNS`` says, and unbounded in a pipe."""
    return shutil.get_terminal_size((_UNBOUNDED, 0)).columns


def _fitted(table: RenderableType) -> RenderableType:
    return Fitted(table) if isinstance(table, Table) else table


def _console(width: int | None) -> Terminal:
    """Return a console that takes a bracket in a text for a bracket, and shows nothing by itself in a notebook."""
    color_system: Literal["auto"] | None = "auto" if width is None else None
    return Terminal(width=width, color_system=color_system, markup=False, emoji=False, force_jupyter=False)
