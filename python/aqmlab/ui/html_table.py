"""HTML tables for a notebook, with escaped text."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

TEXT, NUMBER = (f' style="text-align: {side}"' for side in ("left", "right"))
"""The attributes of a cell with text, and of one with a number."""


def table(lines: Iterable[str], caption: str) -> str:
    """Return a table of rows in HTML, with a caption in plain text."""
    head = f'<caption style="text-align: left">{escape(caption)}</caption>' if caption else ""
    return "\n".join(["<table>" + head, *lines, "</table>"])


def facts(title: str, rows: Iterable[tuple[str, str]]) -> str:
    """Return a table with a row for each name and its value."""
    lines = (f"<tr><th{TEXT}>{escape(name)}</th><td{TEXT}>{escape(value)}</td></tr>" for name, value in rows)
    return table(["<tbody>", *lines, "</tbody>"], title)
