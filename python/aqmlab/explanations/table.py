"""Tables of response times by cause: of bands, of single requests, and the timeline of one request."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from aqmlab.explanations.explanation import PARTS
from aqmlab.explanations.timeline import Line
from aqmlab.ui import console


def bands(rows: Sequence[Mapping[str, Any]]) -> Table:
    """Return a table of the response time by cause, in milliseconds and shares, for each band of requests.

    Causes without any time are left out.
    """
    table = console.sheet()
    table.add_column("part")
    for band in rows:
        name = "mean" if band["band"] == "mean" else f"around {band['band']}"
        table.add_column(f"{name}\nms", justify="right", no_wrap=True)
        table.add_column("\n%", justify="right", no_wrap=True)
    for part, name in PARTS.items():
        if not any(band[part] for band in rows):
            continue
        cells = (
            (console.number(band[part], 1), console.number(100 * band[part] / band["response_time_ms"], 1))
            for band in rows
        )
        table.add_row(name, *(text for pair in cells for text in pair))
    table.add_section()
    table.add_row(
        "response time", *(text for band in rows for text in (console.number(band["response_time_ms"], 1), ""))
    )
    table.add_row("requests", *(text for band in rows for text in (console.number(band["requests"], 0), "")))
    return table


def requests(rows: Iterable[Mapping[str, Any]]) -> Table:
    """Return requests as a table, one row each, with their time by cause in milliseconds."""
    table = console.sheet(collapse_padding=True)
    rows = list(rows)
    parts = {part: name for part, name in PARTS.items() if any(row[part] for row in rows)}
    fixed_columns = ("request", "start\ns", "response\ntime ms", "response\nbytes", "losses", "marks")
    for title in (*fixed_columns, *(name.replace(" ", "\n", 1) for name in parts.values())):
        table.add_column(title, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(
            console.number(row["request"], 0),
            console.number(row["start_ns"] / 1e9, 3),
            console.number(row["response_time_ns"] / 1e6, 1),
            *(console.number(row[name], 0) for name in ("response_bytes", "losses", "marks")),
            *(console.number(row[part] / 1e6, 1) for part in parts),
        )
    return table


def timeline(lines: Iterable[Line]) -> Table:
    """Return the timeline of a request as a table."""
    table = console.sheet()
    for title in ("at ms", "until ms"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("place", no_wrap=True)
    table.add_column("event")
    for line in lines:
        until = "" if line.until_ms == line.at_ms else console.number(line.until_ms, 1)
        table.add_row(console.number(line.at_ms, 1), until, line.place, Text(line.event))
    return table
