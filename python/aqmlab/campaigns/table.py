"""Tables of campaigns."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl
from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from aqmlab.campaigns.axes import Value, as_text
from aqmlab.campaigns.grid import SCHEME
from aqmlab.cells import columns
from aqmlab.metrics.numbers import Number
from aqmlab.results import best
from aqmlab.results.cells import BASELINE
from aqmlab.ui import console
from aqmlab.ui.layout import FittedTable

_MAX_TEXT = 40
"""The largest number of characters of a value that is shown in full."""


class MeansTable:
    """A table with a row for each point: means over the seeds, with half of the widths of their intervals.

    On a terminal it marks the best schemes of each combination of the other axes, by the values of the seeds.
    """

    def __init__(
        self, means: pl.DataFrame, cells: pl.DataFrame, axes: Sequence[str], numbers: Sequence[Number]
    ) -> None:
        self._means = means
        self._cells = cells
        self._axes = axes
        self._numbers = numbers

    def __rich_console__(self, terminal: Console, _: ConsoleOptions) -> RenderResult:
        marks = verdicts(self._cells, self._axes, self._numbers) if terminal.is_terminal else {}
        yield _means_table(self._means, self._axes, self._numbers, marks)
        if marks:
            yield Text(best.LEGEND)


Marks = Mapping[tuple[int, str], str]
"""Verdicts by the index of a point and the name of a number."""


def verdicts(cells: pl.DataFrame, axes: Sequence[str], numbers: Sequence[Number]) -> Marks:
    """Return the verdicts about schemes at each combination of the other axes, if all have the same seeds."""
    if SCHEME not in axes:
        return {}
    points = [point for _, point in cells.group_by(axes, maintain_order=True)]
    by_rest: dict[tuple[Any, ...], list[int]] = {}
    for index, point in enumerate(points):
        if point[SCHEME][0] != BASELINE:
            by_rest.setdefault(tuple(point[axis][0] for axis in axes if axis != SCHEME), []).append(index)
    found: dict[tuple[int, str], str] = {}
    for indices in by_rest.values():
        group = {index: points[index].filter(state="done").sort("seed") for index in indices}
        if len({tuple(rows["seed"]) for rows in group.values()}) != 1:
            continue
        for number in numbers:
            values = {str(index): rows[number.name].to_list() for index, rows in group.items()}
            samples = {index: row for index, row in values.items() if None not in row}
            found |= {(int(index), number.name): text for index, text in best.verdicts(samples, number).items()}
    return found


def _means_table(means: pl.DataFrame, axes: Sequence[str], numbers: Sequence[Number], marks: Marks) -> FittedTable:
    headings, rows = texts(means, axes, numbers)
    names = len(axes) or 1
    table = console.sheet(collapse_padding=True)
    for heading in headings[:names]:
        table.add_column(heading, overflow="fold")
    table.add_column(headings[names], justify="right")
    for heading in headings[names + 1 :]:
        table.add_column(heading, justify="right", no_wrap=True)
    columns = [number.name for number in numbers if number.name in means.columns]
    for index, row in enumerate(rows):
        found = [marks.get((index, name), "") for name in columns]
        values = (
            Text(best.marked(text, mark), style=best.style(mark))
            for text, mark in zip(row[names + 1 :], found, strict=True)
        )
        table.add_row(*(Text(text) for text in row[: names + 1]), *values)
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
