"""Comparisons in a notebook: one HTML table with escaped text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from aqmlab.results import table
from aqmlab.ui import html_table
from aqmlab.ui.html_table import NUMBER, TEXT


def comparison(schemes: Sequence[Mapping[str, Any]], notes: Iterable[str] = ()) -> str:
    """Return a comparison as HTML: its tables below each other, each with its own headings."""
    parts = table.parts(schemes)
    width = max((len(part.columns) for part in parts), default=0) + 2
    lines = []
    for part in parts:
        lines.append(f"<tbody><tr><th colspan={width}{TEXT}>{escape(part.title)}</th></tr>")
        titles = [f"{column.group} {column.name}".strip() for column in part.columns]
        heads = [f"<th{TEXT}>scheme</th><th></th>", *(f"<th{NUMBER}>{escape(title)}</th>" for title in titles)]
        lines.append(f"<tr>{''.join(heads)}</tr>")
        for row, cells in zip(part.rows, part.cells(), strict=True):
            names = f"<td{TEXT}>{escape(row.scheme)}</td><td{TEXT}>{escape(row.part)}</td>"
            numbers = (" ".join(filter(None, pair)) for pair in cells)
            lines.append(f"<tr>{names}{''.join(f'<td{NUMBER}>{escape(number)}</td>' for number in numbers)}</tr>")
        lines.append("</tbody>")
    return html_table.table(lines, " ".join(table.captions(schemes, notes)))
