"""Campaigns as tables."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
from rich.text import Text

from aqmlab.show import console
from aqmlab.show.layout import Fitted

MEASURES = {
    "loss_percent": ("loss %", 2),
    "mark_percent": ("marked %", 2),
    "throughput_mbps": ("Mbit/s", 2),
    "queue_delay_ms_mean": ("queue ms", 2),
    "response_time_ms_mean": ("response ms", 0),
    "response_time_ms_p50": ("p50 ms", 0),
    "response_time_ms_p95": ("p95 ms", 0),
    "completed_requests": ("requests", 0),
}
"""What means are taken of: the heading of each measure, and its digits."""


def of_means(means: pl.DataFrame, axes: Sequence[str]) -> Fitted:
    """Show a row for each point: means over the seeds, with half the width of their intervals."""
    headings, rows = texts(means, axes)
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


def texts(means: pl.DataFrame, axes: Sequence[str]) -> tuple[list[str], list[list[str]]]:
    """Write its headings and its rows: a point's values, how many seeds, and what they measured."""
    names = list(axes) or ["label"]
    # What is nowhere, such as marks without ECN, takes no room.
    shown = [name for name in MEASURES if name in means.columns and (means[name].fill_null(0) != 0).any()]
    rows = [
        [
            *("" if row[name] is None else str(row[name]) for name in names),
            str(row["seeds"]),
            *(_with_half(row[name], row[f"{name}_half"], MEASURES[name][1]) for name in shown),
        ]
        for row in means.iter_rows(named=True)
    ]
    return [*names, "seeds", *(MEASURES[name][0] for name in shown)], rows


def _with_half(mean: float | None, half: float | None, digits: int) -> str:
    text = console.number(mean, digits)
    return text if half is None else f"{text} ±{console.number(half, digits)}"
