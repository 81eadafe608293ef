"""Tables of times by cause: of bands, of single requests and pages, the path of a page, and timelines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from aqmlab.explanations.parts import PARTS, Wait
from aqmlab.explanations.timeline import Line
from aqmlab.ui import console


def bands(rows: Sequence[Mapping[str, Any]]) -> Table:
    """Return a table of the time of each band of waits by cause, in milliseconds and shares.

    Causes without any time are left out.
    """
    table = console.sheet()
    wait = Wait.of(rows[0])
    whole = f"{wait.time}_ms"
    table.add_column("part")
    for band in rows:
        name = "mean" if band["band"] == "mean" else f"around {band['band']}"
        table.add_column(f"{name}\nms", justify="right", no_wrap=True)
        table.add_column("\n%", justify="right", no_wrap=True)
    for part, name in PARTS.items():
        if not any(band[part] for band in rows):
            continue
        cells = ((console.number(band[part], 1), console.number(100 * band[part] / band[whole], 1)) for band in rows)
        table.add_row(name, *(text for pair in cells for text in pair))
    table.add_section()
    table.add_row(wait.name, *(text for band in rows for text in (console.number(band[whole], 1), "")))
    table.add_row(wait.plural, *(text for band in rows for text in (console.number(band[wait.plural], 0), "")))
    return table


def requests(rows: Iterable[Mapping[str, Any]]) -> Table:
    """Return requests as a table, one row each, with their time by cause in milliseconds."""
    table = console.sheet(collapse_padding=True)
    rows = list(rows)
    parts = _add_columns(
        table, rows, ("request", "start\ns", "response\ntime ms", "response\nbytes", "losses", "marks")
    )
    for row in rows:
        table.add_row(
            console.number(row["request"], 0),
            console.number(row["start_ns"] / 1e9, 3),
            console.number(row["response_time_ns"] / 1e6, 1),
            *(console.number(row[name], 0) for name in ("response_bytes", "losses", "marks")),
            *(console.number(row[part] / 1e6, 1) for part in parts),
        )
    return table


def pages(rows: Iterable[Mapping[str, Any]]) -> Table:
    """Return pages as a table, one row each, with their time by cause in milliseconds."""
    table = console.sheet(collapse_padding=True)
    rows = list(rows)
    fixed_columns = ("page", "start\ns", "load\ntime ms", "requests", "kB", "connec-\ntions", "losses", "marks")
    parts = _add_columns(table, rows, fixed_columns)
    for row in rows:
        table.add_row(
            console.number(row["page"], 0),
            console.number(row["start_ns"] / 1e9, 3),
            console.number(row["load_ns"] / 1e6, 1),
            console.number(row["requests"], 0),
            console.number(row["bytes"] / 1e3, 0),
            *(console.number(row[name], 0) for name in ("connections", "losses", "marks")),
            *(console.number(row[part] / 1e6, 1) for part in parts),
        )
    return table


def path(rows: Iterable[Mapping[str, Any]]) -> Table:
    """Return the path of a page as a table: the resources whose times add up to the page load time, one row each."""
    table = console.sheet(collapse_padding=True)
    rows = [row for row in rows if row["on_path"]]
    for title in ("resource", "over"):
        table.add_column(title, no_wrap=True)
    fixed_columns = ("connec-\ntion", "kB", "known\nms", "requested\nms", "complete\nms")
    parts = _add_columns(table, rows, fixed_columns)
    for row in rows:
        table.add_row(
            f"{row['resource']} {row['kind']}",
            row["version"],
            console.number(row["connection"], 0),
            console.number(row["bytes"] / 1e3, 1),
            *(console.number(row[f"{name}_ns"] / 1e6, 1) for name in ("known", "requested", "complete")),
            *(console.number(row[part] / 1e6, 1) for part in parts),
        )
    return table


def _add_columns(table: Table, rows: Iterable[Mapping[str, Any]], titles: Iterable[str]) -> list[str]:
    """Add columns of numbers: with these titles, and for each part that has any time. Return these parts."""
    rows = list(rows)
    parts = [part for part in PARTS if any(row[part] for row in rows)]
    for title in (*titles, *(PARTS[part].replace(" ", "\n", 1) for part in parts)):
        table.add_column(title, justify="right", no_wrap=True)
    return parts


def timeline(lines: Iterable[Line], *, connections: bool = False) -> Table:
    """Return lines of a timeline as a table; of a page with the numbers of its ``connections``."""
    table = console.sheet()
    for title in ("at ms", "until ms", *(("connection",) if connections else ())):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("place", no_wrap=True)
    table.add_column("event")
    for line in lines:
        until = "" if line.until_ms == line.at_ms else console.number(line.until_ms, 1)
        number = (console.number(line.connection, 0),) if connections else ()
        table.add_row(console.number(line.at_ms, 1), until, *number, line.place, Text(line.event))
    return table
