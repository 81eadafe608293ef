"""The cells of a store as a table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl
from rich.table import Table
from rich.text import Text

from aqmlab.ui import console
from aqmlab.ui.escaping import visible

DISTINGUISHING = (
    "rate_mbps",
    "rate_back_mbps",
    "delay_ms",
    "device_fifo_packets",
    "chain",
    "tcp",
    "congestion",
    "ecn",
    "workload",
    "traffic",
    "testbed",
    "warmup_s",
    "duration_s",
    "results",
    "experiment",
)
"""Columns that tell cells of several experiments apart."""

COLUMNS = (
    "cell",
    "label",
    "world",
    "kernel",
    "valid",
    "load_percent",
    "users_per_side",
    "rtt",
    "seed",
    "bytes",
    "created",
    *DISTINGUISHING,
)
"""The columns of :meth:`aqmlab.Store.cells` that the table uses."""

_TITLES = ("cell", "scheme", "load %", "users", "rtt", "seed", "MB", "created")
_INSERT_AT = _TITLES.index("seed")
"""The place of the columns that tell cells apart."""
_LEFT_ALIGNED = ("cell", "scheme", "rtt", "created")

_MAX_RICH_ROWS = 1_000
"""The largest number of rows that rich lays out, which takes 20 times as long as aligning text."""


def distinguishing(frame: pl.DataFrame) -> list[str]:
    """Return the columns in which cells of several experiments differ; none for one experiment."""
    if frame["experiment"].n_unique() < 2:
        return []
    names = [name for name in DISTINGUISHING if frame[name].n_unique() > 1]
    if frame["rate_back_mbps"].eq_missing(frame["rate_mbps"]).all():
        return [name for name in names if name != "rate_back_mbps"]
    return names


def cells(frame: pl.DataFrame) -> Table | str:
    """Return the cells of a store as a table, one row each, with the columns in which their experiments differ."""
    extra_columns = distinguishing(frame)
    rows = [
        (
            row["cell"],
            row["label"] + _world(row),
            "" if row["load_percent"] is None else f"{row['load_percent']:.3g}",
            f"{row['users_per_side']:,}",
            row["rtt"] or "",
            *(text_of(row[name]) for name in extra_columns),
            f"{row['seed']}",
            f"{row['bytes'] / 1e6:.1f}",
            f"{row['created'].astimezone():%Y-%m-%d %H:%M}",
        )
        for row in frame.select(COLUMNS).iter_rows(named=True)
    ]
    titles = (*_TITLES[:_INSERT_AT], *extra_columns, *_TITLES[_INSERT_AT:])
    left = (*_LEFT_ALIGNED, *(name for name in extra_columns if not frame.schema[name].is_numeric()))
    return _table(titles, rows, left=left)


_MAX_TEXT = 24
"""Characters that are shown of a value of a column that tells cells apart."""


def text_of(value: object) -> str:
    """Return a value of a column that tells cells apart, as text; of a long one, its beginning."""
    text = "" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
    return text if len(text) <= _MAX_TEXT else f"{text[:_MAX_TEXT]}..."


def frame(values: pl.DataFrame) -> Table | str:
    """Return a frame as a table, with numbers right-aligned."""
    rows = [tuple("" if value is None else str(value) for value in row) for row in values.iter_rows()]
    left = [name for name, dtype in values.schema.items() if not dtype.is_numeric()]
    return _table(values.columns, rows, left=left)


def _table(titles: Sequence[str], rows: Sequence[tuple[str, ...]], *, left: Sequence[str]) -> Table | str:
    if len(rows) > _MAX_RICH_ROWS:
        return "\n".join(_aligned(titles, rows, left))
    table = console.sheet(collapse_padding=True)
    for title in titles:
        is_long = title in ("scheme", "label")
        table.add_column(
            title,
            no_wrap=not is_long,
            overflow="fold" if is_long else "ellipsis",
            justify="left" if title in left else "right",
        )
    for row in rows:
        table.add_row(*(Text(text) for text in row))
    return table


def _aligned(titles: Sequence[str], rows: Sequence[tuple[str, ...]], left: Sequence[str]) -> Iterator[str]:
    """Yield lines with two spaces between columns."""
    lines = [tuple(titles), *(tuple(visible(text).replace("\n", " ") for text in row) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    aligners = [str.ljust if title in left else str.rjust for title in titles]
    for line in lines:
        yield "  ".join(align(text, width) for align, text, width in zip(aligners, line, widths, strict=True)).rstrip()


def _world(row: Mapping[str, Any]) -> str:
    """Return a note about a live run and its validity."""
    if row["world"] == "kernel":
        return f" (Linux {row['kernel']}, virtual time)"
    if row["world"] != "live":
        return ""
    return f" (live, Linux {row['kernel']})" if row["valid"] else f" (live, Linux {row['kernel']}, INVALID)"
