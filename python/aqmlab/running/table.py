"""The cells of a store as a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rich.table import Table
from rich.text import Text

from aqmlab.show import console


def cells(rows: Iterable[Mapping[str, Any]]) -> Table:
    """List the cells of a store, one a row."""
    table = console.sheet(collapse_padding=True)
    table.add_column("cell", no_wrap=True)
    table.add_column("scheme", overflow="fold")
    for title in ("load %", "users", "rtt", "seed", "MB", "created"):
        table.add_column(title, no_wrap=True, justify="left" if title in ("rtt", "created") else "right")
    for row in rows:
        table.add_row(
            row["cell"],
            Text(row["label"] + _world(row)),
            "" if row["load_percent"] is None else f"{row['load_percent']:.3g}",
            f"{row['users_per_side']:,}",
            row["rtt"],
            f"{row['seed']}",
            f"{row['bytes'] / 1e6:.1f}",
            f"{row['created'].astimezone():%Y-%m-%d %H:%M}",
        )
    return table


def _world(row: Mapping[str, Any]) -> str:
    """Say of a cell that it ran live, and whether it can be relied on."""
    if row["world"] != "live":
        return ""
    return f" (live, Linux {row['kernel']})" if row["valid"] else f" (live, Linux {row['kernel']}, INVALID)"
