"""Consistency of the numbers of a campaign's cells, see :mod:`aqmlab.running.checks`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from aqmlab.campaigns.grid import Point, without_queue
from aqmlab.cells.cell import Cell
from aqmlab.running import checks


def notes(cells: pl.DataFrame) -> list[str]:
    """Say how many cells do not keep a law, a sentence for each law."""
    laws = [law for those in cells["unmet"].drop_nulls() if those for law in those.split(", ")]
    return checks.tally(laws, of=cells.filter(state="done").height)


def closed_loop_failures(planned: Sequence[tuple[Point, Cell]], cells: pl.DataFrame) -> pl.DataFrame:
    """Add to what cells do not keep the law that is checked against the uncongested network of the same seed."""
    rows = {row["cell"]: row for row in cells.filter(state="done").iter_rows(named=True)}
    alone = {
        _users_of(point, cell): row for point, cell in planned if cell.signal == "none" and (row := rows.get(cell.key))
    }
    for point, cell in planned:
        row, free = rows.get(cell.key), alone.get(_users_of(point, cell))
        if row is None or free is None or row is free or "closed_loop" in (row["unmet"] or ""):
            continue
        for law in checks.closed_loop(cell, _completed_requests(row), _completed_requests(free)):
            if not law.is_met:
                row["unmet"] = ", ".join(filter(None, (row["unmet"], law.law)))
    unmet = {key: row["unmet"] for key, row in rows.items()}
    return cells.with_columns(unmet=pl.Series([unmet.get(key) for key in cells["cell"]], dtype=pl.String))


def _users_of(point: Point, cell: Cell) -> tuple[str, int]:
    """Name the users of a cell: those of all disciplines at a point are the same."""
    return json.dumps(without_queue(point)), cell.seed


def _completed_requests(row: Mapping[str, Any]) -> checks.CompletedRequests:
    return checks.CompletedRequests(row["completed_requests"], row["response_time_ms_mean"] or 0.0)
