"""Results and comparisons in a notebook: one table of HTML, everything of a user's escaped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from aqmlab.results import table

_TEXT, _NUMBER = (f' style="text-align: {side}"' for side in ("left", "right"))


def comparison(schemes: Sequence[Mapping[str, Any]], notes: Iterable[str] = ()) -> str:
    """Write a comparison: its parts below each other, each with headings of its own."""
    parts = table.parts(schemes)
    width = max((len(part.columns) for part in parts), default=0) + 2
    lines = []
    for part in parts:
        lines.append(f"<tbody><tr><th colspan={width}{_TEXT}>{escape(part.title)}</th></tr>")
        titles = [f"{column.group} {column.name}".strip() for column in part.columns]
        heads = [f"<th{_TEXT}>scheme</th><th></th>", *(f"<th{_NUMBER}>{escape(title)}</th>" for title in titles)]
        lines.append(f"<tr>{''.join(heads)}</tr>")
        for row, cells in zip(part.rows, part.cells(), strict=True):
            names = f"<td{_TEXT}>{escape(row.scheme)}</td><td{_TEXT}>{escape(row.what)}</td>"
            numbers = (" ".join(filter(None, pair)) for pair in cells)
            lines.append(f"<tr>{names}{''.join(f'<td{_NUMBER}>{escape(number)}</td>' for number in numbers)}</tr>")
        lines.append("</tbody>")
    return _table(lines, " ".join(table.captions(schemes, notes)))


def facts(title: str, rows: Iterable[tuple[str, str]]) -> str:
    """Write what is known of one thing, a row for each name with its value."""
    lines = (f"<tr><th{_TEXT}>{escape(name)}</th><td{_TEXT}>{escape(value)}</td></tr>" for name, value in rows)
    return _table(["<tbody>", *lines, "</tbody>"], title)


def _table(lines: Iterable[str], caption: str) -> str:
    head = f'<caption style="text-align: left">{escape(caption)}</caption>' if caption else ""
    return "\n".join(["<table>" + head, *lines, "</table>"])
