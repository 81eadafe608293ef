"""The result of a design rule as a table."""

from __future__ import annotations

from rich.table import Table

from aqmlab.design.result import Design
from aqmlab.ui import console


def design(result: Design) -> Table:
    """Return a table of the parameters, the intermediate values, and the margins of the loop."""
    table = console.sheet()
    for title in ("name", "value", "unit", "meaning", "rule", "source"):
        table.add_column(title, no_wrap=title == "value", justify="right" if title == "value" else "left")
    for group, digits in ((result.parameters, 6), (result.follows_from, 6), (result.margin_values, 3)):
        for value in group:
            table.add_row(value.name, f"{value.value:.{digits}g}", value.unit, value.meaning, value.rule, value.source)
        table.add_section()
    return table
