"""The console: rich on a terminal, plain text in a pipe."""

from __future__ import annotations

import shutil
from typing import Any, Literal

from rich import box
from rich.console import Console, RenderableType
from rich.table import Table

from aqmlab.show.layout import Fitted

_WIDE = 400

_IN_A_PIPE = 100
"""How wide a table is at most where no terminal says it."""


def sheet(**settings: Any) -> Table:
    """Return a table to be filled, in the form that all have."""
    return Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold", **settings)


def number(value: float | None, digits: int) -> str:
    """Write a number with so many digits after the point; a dash where there is none."""
    return "-" if value is None else f"{value:,.{digits}f}"


def show(table: RenderableType) -> None:
    """Print a table: for a person at a terminal, or as plain text for whatever reads a pipe."""
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
    """Return how wide a table is in a pipe: as the environment says, or so that a page or a mail has room for it."""
    return shutil.get_terminal_size((_IN_A_PIPE, 0)).columns


def _fitted(table: RenderableType) -> RenderableType:
    return Fitted(table) if isinstance(table, Table) else table


def _console(width: int | None) -> Console:
    """Return a console that takes a bracket in a text for a bracket, and shows nothing by itself in a notebook."""
    color_system: Literal["auto"] | None = "auto" if width is None else None
    return Console(width=width, color_system=color_system, markup=False, emoji=False, force_jupyter=False)
