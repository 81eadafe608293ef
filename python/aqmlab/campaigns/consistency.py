"""Consistency checks of a campaign's cells, see :mod:`aqmlab.running.checks`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from aqmlab.campaigns.grid import Point, without_queue
from aqmlab.cells.cell import Cell
from aqmlab.running import checks


def notes(cells: pl.DataFrame) -> list[str]:
    """Return a sentence for each law that cells fail, with their number."""
    laws = [law for texts in cells["unmet"].drop_nulls() if texts for law in texts.split(", ")]
    return checks.tally(laws, total=cells.filter(state="done").height)


def closed_loop_failures(planned: Sequence[tuple[Point, Cell]], cells: pl.DataFrame) -> pl.DataFrame:
    """Add the closed-loop law, which needs the uncongested network of the same seed, to the cells' failed checks."""
    rows = {row["cell"]: row for row in cells.filter(state="done").iter_rows(named=True)}
    uncongested = {
        _users_of(point, cell): row for point, cell in planned if cell.signal == "none" and (row := rows.get(cell.key))
    }
    for point, cell in planned:
        row, baseline = rows.get(cell.key), uncongested.get(_users_of(point, cell))
        if row is None or baseline is None or row is baseline or "closed_loop" in (row["unmet"] or ""):
            continue
        for check in checks.closed_loop(cell, _completed_requests(row), _completed_requests(baseline)):
            if not check.is_met:
                row["unmet"] = ", ".join(filter(None, (row["unmet"], check.law)))
    unmet = {key: row["unmet"] for key, row in rows.items()}
    return cells.with_columns(unmet=pl.Series([unmet.get(key) for key in cells["cell"]], dtype=pl.String))


def _users_of(point: Point, cell: Cell) -> tuple[str, int]:
    """Return an identifier of a cell's users, which are the same for all disciplines at a point."""
    return json.dumps(without_queue(point)), cell.seed


def _completed_requests(row: Mapping[str, Any]) -> checks.CompletedRequests:
    return checks.CompletedRequests(row["completed_requests"], row["response_time_ms_mean"] or 0.0)
