"""Tables of searches."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl
from rich.table import Table
from rich.text import Text

from aqmlab.campaigns.search.objectives import Objective
from aqmlab.ui import console

Difference = tuple[float, tuple[float, float, float]]
"""The difference from the given scheme in one objective: when found, and on fresh seeds with its 95 % interval."""


def differences_table(
    title: str, objectives: Sequence[Objective], candidates: Iterable[tuple[str, Sequence[Difference]]]
) -> Table:
    """Return the differences of settings from the given scheme in each objective, as a table."""
    table = console.sheet(collapse_padding=True, title=title, title_justify="left")
    table.add_column("scheme", overflow="fold")
    for objective in objectives:
        table.add_column(f"{objective}, as found", justify="right")
        table.add_column("on fresh seeds, 95 %", justify="right")
    for scheme, differences in candidates:
        cells = []
        for value, (mean, low, high) in differences:
            interval = f" [{low:+.4g}, {high:+.4g}]" if math.isfinite(high) else ""
            cells += [f"{value:+.4g}", f"{mean:+.4g}{interval}"]
        table.add_row(Text(scheme), *cells)
    return table


def indices_table(title: str, indices: pl.DataFrame, *, have_units: bool) -> Table:
    """Return the indices of each parameter by measure, as a table; some have the measure's unit."""
    table = console.sheet(collapse_padding=True, title=title, title_justify="left")
    table.add_column("measure")
    table.add_column("parameter")
    columns = [name for name in indices.columns[3:] if not name.endswith("_half")]
    for name in columns:
        table.add_column(name, justify="right")
    for row in indices.iter_rows(named=True):
        unit = f", {row['unit']}" if have_units else ""
        table.add_row(f"{row['measure']}{unit}", row["parameter"], *(_index(row, name) for name in columns))
    return table


def _index(row: Mapping[str, Any], name: str) -> str:
    half = row.get(f"{name}_half")
    return f"{row[name]:.3g}" if half is None else f"{row[name]:.3g} ±{half:.2g}"
