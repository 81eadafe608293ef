"""Tables of HTML for a notebook, all text of a user escaped."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

TEXT, NUMBER = (f' style="text-align: {side}"' for side in ("left", "right"))
"""Attributes of a cell of text, and of one of a number."""


def table(lines: Iterable[str], caption: str) -> str:
    """Return a table of these rows, which are HTML, below its caption, which is text."""
    head = f'<caption style="text-align: left">{escape(caption)}</caption>' if caption else ""
    return "\n".join(["<table>" + head, *lines, "</table>"])


def facts(title: str, rows: Iterable[tuple[str, str]]) -> str:
    """Write what is known of one thing, a row for each name with its value."""
    lines = (f"<tr><th{TEXT}>{escape(name)}</th><td{TEXT}>{escape(value)}</td></tr>" for name, value in rows)
    return table(["<tbody>", *lines, "</tbody>"], title)
