"""Disciplines and their parameters as tables, and a discipline's page."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl
from rich.markdown import Markdown
from rich.table import Table
from rich.text import Text

from aqmlab.disciplines.catalogue import Discipline
from aqmlab.ui import console
from aqmlab.ui.terminal import Terminal


def disciplines_frame(entries: Iterable[Discipline]) -> pl.DataFrame:
    """Return the queue disciplines, a row for each."""
    return pl.DataFrame(
        [
            {"name": entry.name, "family": entry.family, "decides_at": entry.decides_at, "summary": entry.summary}
            for entry in entries
        ]
    )


def parameters_frame(entry: Discipline) -> pl.DataFrame:
    """Return the parameters of a discipline, a row for each; without any there is no row."""
    columns = ("name", "unit", "default", "meaning", "source")
    rows = [{column: getattr(parameter, column) for column in columns} for parameter in entry.keys]
    return pl.DataFrame(rows, schema=dict.fromkeys(columns, pl.String))


def disciplines(entries: Iterable[Discipline]) -> Table:
    """Return the queue disciplines as a table, one row each."""
    table = console.sheet()
    for title in ("name", "family", "decides at", "what it does"):
        table.add_column(title)
    for entry in entries:
        table.add_row(*map(Text, (entry.name, entry.family, entry.decides_at, entry.summary)))
    return table


def parameters(entry: Discipline) -> Table:
    """Return the parameters of a discipline as a table, one row each."""
    table = console.sheet(title=Text(f"{entry.name}: {entry.summary}"))
    for title in ("parameter", "unit", "default", "meaning", "source"):
        table.add_column(title, no_wrap=title in ("parameter", "default"))
    for parameter in entry.keys:
        row = (parameter.name, parameter.unit, parameter.default, parameter.meaning, parameter.source)
        # As text: a bracket in a meaning must not be read as markup.
        table.add_row(*map(Text, row))
    return table


def show_page(entry: Discipline) -> None:
    """Print a discipline's page and parameters: formatted on a terminal, otherwise as Markdown."""
    terminal = Terminal()
    if terminal.is_terminal:
        terminal.print(Markdown(entry.page), "")
    else:
        print(entry.page)
    console.show(parameters(entry))
