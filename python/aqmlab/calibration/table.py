"""A calibration as a table."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl
from rich.table import Table

from aqmlab.ui import console


def frame(report: Mapping[str, Any]) -> pl.DataFrame:
    """Return the users a calibration gives, a row for each load of 100 Mbit/s, with the published number."""
    return pl.DataFrame(
        [
            {
                **{name: report[name] for name in ("workload", "rtt", "sides")},
                "load_percent": float(load),
                "users_per_side": users,
                "published_users_per_side": report["published"] if load == "100" else None,
            }
            for load, users in report["users"].items()
        ],
        schema_overrides={"published_users_per_side": pl.Int64},
    )


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
