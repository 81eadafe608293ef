"""A calibration as a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.table import Table

from aqmlab.ui import console


def users(report: Mapping[str, Any]) -> Table:
    """Return the users for several loads as a table, with the published number."""
    table = console.sheet()
    table.add_column("load of 100 Mbit/s")
    table.add_column("users on each side" if report["sides"] == 2 else "users on one side", justify="right")
    for load, users in report["users"].items():
        table.add_row(f"{load} %", f"{users:,}")
    if report["published"] is not None:
        table.add_row("100 %, published", f"{report['published']:,} (ours {report['difference_percent']:+.1f} %)")
    return table
