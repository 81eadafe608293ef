"""Campaigns as tables."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import polars as pl
from rich.text import Text

from aqmlab.campaigns.axes import Value, as_text
from aqmlab.cells import columns
from aqmlab.metrics.numbers import Number
from aqmlab.ui import console
from aqmlab.ui.layout import Fitted

_LONGEST = 40
"""Characters of an axis' value that are shown in full."""


class Heading(NamedTuple):
    """The heading of a measure's column, and how its numbers are written."""

    text: str
    digits: int | None
    """After the point; ``None`` for three significant digits."""

    @classmethod
    def of(cls, number: Number) -> Heading:
        """Return that of a number by its name."""
        return cls(f"{number.name}, {number.unit}" if number.unit else number.name, None)

    def places(self, mean: float) -> int:
        """Return the digits after the point of a mean."""
        if self.digits is not None:
            return self.digits
        return min(4, max(0, 2 - math.floor(math.log10(abs(mean))))) if mean else 0


MEASURES = {
    "loss_percent": Heading("loss %", 2),
    "mark_percent": Heading("marked %", 2),
    "throughput_mbps": Heading("Mbit/s", 2),
    "queue_delay_ms_mean": Heading("queue ms", 2),
    "response_time_ms_mean": Heading("response ms", 0),
    "response_time_ms_p50": Heading("p50 ms", 0),
    "response_time_ms_p95": Heading("p95 ms", 0),
    "completed_requests": Heading("requests", 0),
}
"""The measures whose means are shown by default."""


def means_table(means: pl.DataFrame, axes: Sequence[str], measures: Mapping[str, Heading]) -> Fitted:
    """Show a row for each point: means over the seeds, with half the width of their intervals."""
    headings, rows = texts(means, axes, measures)
    names = len(axes) or 1
    table = console.sheet(collapse_padding=True)
    for heading in headings[:names]:
        table.add_column(heading, overflow="fold")
    table.add_column(headings[names], justify="right")
    for heading in headings[names + 1 :]:
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(*(Text(text) for text in row[:names]), *row[names:])
    return Fitted(table, names=names + 1)


def texts(
    means: pl.DataFrame, axes: Sequence[str], measures: Mapping[str, Heading]
) -> tuple[list[str], list[list[str]]]:
    """Write its headings and its rows: a point's values, how many seeds, and what they measured."""
    names = list(axes) or ["label"]
    # A measure without a value, such as marks without ECN, has no column unless it was asked for.
    shown = [
        name
        for name in measures
        if name in means.columns and (measures[name].digits is None or (means[name].fill_null(0) != 0).any())
    ]
    rows = [
        [
            *("" if row[name] is None else _abridged(str(row[name])) for name in names),
            str(row["seeds"]),
            *(_with_half(row[name], row[f"{name}_half"], measures[name]) for name in shown),
        ]
        for row in means.iter_rows(named=True)
    ]
    return [*names, "seeds", *(measures[name].text for name in shown)], rows


def _abridged(text: str) -> str:
    """Shorten the JSON of a list or table to what it says of itself and a digest; ``Campaign.cells`` has all of it."""
    if len(text) <= _LONGEST or text[:1] not in "[{":
        return text
    value = json.loads(text)
    says = next((str(value[key]) for key in ("name", "source") if key in value), "") if text[0] == "{" else ""
    return f"{says or ('table' if text[0] == '{' else 'list')}-{columns.digest(text)}"


def said(point: Mapping[str, Value]) -> str:
    """Write a point in a line, with long values shortened."""
    return ", ".join(f"{path}={_abridged(as_text(value))}" for path, value in point.items())


def _with_half(mean: float | None, half: float | None, heading: Heading) -> str:
    digits = heading.places(max(abs(mean or 0.0), half or 0.0))
    text = console.number(mean, digits)
    return text if half is None else f"{text} ±{console.number(half, digits)}"
