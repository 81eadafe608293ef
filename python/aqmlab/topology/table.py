"""Values that a spec does not write, as a table."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
from rich.table import Table

from aqmlab.topology.origins import DefaultValue
from aqmlab.ui import console


def defaults_frame(values: Sequence[DefaultValue]) -> pl.DataFrame:
    """Return values that a spec does not write, as text, and where each is from."""
    rows = [
        {"path": default_value.path, "value": _text(default_value.value), "origin": default_value.origin}
        for default_value in values
    ]
    return pl.DataFrame(rows, schema=dict.fromkeys(("path", "value", "origin"), pl.String))


def defaults_table(values: Sequence[DefaultValue]) -> Table:
    """Return the values that a spec does not write as a table with their origins."""
    table = console.sheet()
    table.add_column("not in the spec")
    table.add_column("value")
    table.add_column("origin")
    for default_value in values:
        table.add_row(default_value.path, _text(default_value.value), default_value.origin)
    return table


def _text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return ", ".join(map(_text, value)) if isinstance(value, list) else str(value)
