"""The console: rich on a terminal, plain text in a pipe."""

from __future__ import annotations

import shutil
from typing import Any, Literal

from rich import box
from rich.console import RenderableType
from rich.table import Table

from aqmlab.ui.layout import FittedTable
from aqmlab.ui.terminal import Terminal

_DEFAULT_WIDTH = 400

_UNBOUNDED = 10_000
"""The width of a table in a pipe, where each row is one line for programs such as ``grep`` and ``tail``."""


def sheet(**settings: Any) -> Table:
    """Return an empty table in the common style."""
    return Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold", **settings)


def number(value: float | None, digits: int) -> str:
    """Return a number as text with ``digits`` decimals; a dash for ``None``."""
    return "-" if value is None else f"{value:,.{digits}f}"


def show(table: RenderableType, *, pipe_width: int | None = None) -> None:
    """Print a table, formatted on a terminal and as plain text in a pipe; text is printed unchanged.

    In a pipe it is as wide as ``COLUMNS``, or ``pipe_width``; a table is unbounded then.
    """
    if isinstance(table, str):
        print(table)
        return
    console = _console(width=None)
    if console.is_terminal:
        console.print(_fit(table))
    else:
        print(render_text(table, width=columns(pipe_width or _UNBOUNDED)))


def render_text(table: RenderableType, *, width: int = _DEFAULT_WIDTH) -> str:
    """Return a table as text without colours, at most ``width`` columns wide."""
    console = _console(width=width)
    with console.capture() as capture:
        console.print(_fit(table))
    return "\n".join(line.rstrip() for line in capture.get().splitlines())


def columns(pipe_width: int = _UNBOUNDED) -> int:
    """Return the largest width of a table: that of the terminal or ``COLUMNS``, and in a pipe by default unbounded."""
    return shutil.get_terminal_size((pipe_width, 0)).columns


def _fit(table: RenderableType) -> RenderableType:
    return FittedTable(table) if isinstance(table, Table) else table


def _console(width: int | None) -> Terminal:
    """Return a console that does not interpret markup, and prints no HTML in a notebook."""
    color_system: Literal["auto"] | None = "auto" if width is None else None
    return Terminal(width=width, color_system=color_system, markup=False, emoji=False, force_jupyter=False)
