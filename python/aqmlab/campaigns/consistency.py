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
    laws = [law for those in cells["unmet"].drop_nulls() if those for law in those.split(", ")]
    return checks.tally(laws, of=cells.filter(state="done").height)


def closed_loop_failures(planned: Sequence[tuple[Point, Cell]], cells: pl.DataFrame) -> pl.DataFrame:
    """Add the closed-loop law, which needs the uncongested network of the same seed, to the cells' failed checks."""
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
    """Return an identifier of a cell's users, which are the same for all disciplines at a point."""
    return json.dumps(without_queue(point)), cell.seed


def _completed_requests(row: Mapping[str, Any]) -> checks.CompletedRequests:
    return checks.CompletedRequests(row["completed_requests"], row["response_time_ms_mean"] or 0.0)
