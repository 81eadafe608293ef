"""Tables of campaigns."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

import polars as pl
from rich.text import Text

from aqmlab.campaigns.axes import Value, as_text
from aqmlab.cells import columns
from aqmlab.metrics.numbers import Number
from aqmlab.ui import console
from aqmlab.ui.layout import FittedTable

_MAX_TEXT = 40
"""The largest number of characters of a value that is shown in full."""


def means_table(means: pl.DataFrame, axes: Sequence[str], numbers: Sequence[Number]) -> FittedTable:
    """Return a table with a row for each point: means over the seeds, with half of the widths of their intervals."""
    headings, rows = texts(means, axes, numbers)
    names = len(axes) or 1
    table = console.sheet(collapse_padding=True)
    for heading in headings[:names]:
        table.add_column(heading, overflow="fold")
    table.add_column(headings[names], justify="right")
    for heading in headings[names + 1 :]:
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(*(Text(text) for text in row[:names]), *row[names:])
    return FittedTable(table, names=names + 1)


def texts(means: pl.DataFrame, axes: Sequence[str], numbers: Sequence[Number]) -> tuple[list[str], list[list[str]]]:
    """Return the table's headings and rows: a point's values, the number of seeds, and the means."""
    names = list(axes) or ["label"]
    columns = [number for number in numbers if number.name in means.columns]
    rows = [
        [
            *("" if row[name] is None else _abridged(str(row[name])) for name in names),
            str(row["seeds"]),
            *(_with_half(row[number.name], row[f"{number.name}_half"], number) for number in columns),
        ]
        for row in means.iter_rows(named=True)
    ]
    return [*names, "seeds", *(number.heading for number in columns)], rows


def _abridged(text: str) -> str:
    """Shorten the JSON of a list or table to its name and a digest; ``Campaign.cells`` has the whole value."""
    if len(text) <= _MAX_TEXT or text[:1] not in "[{":
        return text
    value = json.loads(text)
    name = next((str(value[key]) for key in ("name", "source") if key in value), "") if text[0] == "{" else ""
    return f"{name or ('table' if text[0] == '{' else 'list')}-{columns.digest(text)}"


def point_text(point: Mapping[str, Value]) -> str:
    """Return a point as one line, with long values shortened."""
    return ", ".join(f"{path}={_abridged(as_text(value))}" for path, value in point.items())


def _with_half(mean: float | None, half: float | None, number: Number) -> str:
    digits = number.decimals(max(abs(mean or 0.0), half or 0.0))
    text = console.number(mean, digits)
    return text if half is None else f"{text} ±{console.number(half, digits)}"
