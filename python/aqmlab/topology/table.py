"""Values that a spec does not write, as a table."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
from rich.table import Table

from aqmlab.topology.origins import Unwritten
from aqmlab.ui import console


def defaults_frame(values: Sequence[Unwritten]) -> pl.DataFrame:
    """Return values that a spec does not write, as text, and where each is from."""
    rows = [{"path": each.path, "value": _text(each.value), "origin": each.origin} for each in values]
    return pl.DataFrame(rows, schema=dict.fromkeys(("path", "value", "origin"), pl.String))


def defaults_table(values: Sequence[Unwritten]) -> Table:
    """Return the values that a spec does not write as a table with their origins."""
    table = console.sheet()
    table.add_column("not in the spec")
    table.add_column("value")
    table.add_column("origin")
    for each in values:
        table.add_row(each.path, _text(each.value), each.origin)
    return table


def _text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return ", ".join(map(_text, value)) if isinstance(value, list) else str(value)
