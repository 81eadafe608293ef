"""What a run reads off itself while it runs, told to whoever watches: its queues, signals, throughput, response times.

Who watches starts the command with a pipe, whose number stands in the environment. Elsewhere nothing is read.
"""

from __future__ import annotations

import json
import math
import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from aqmlab._core import RecordBatch, SpecError, seconds
from aqmlab.results.stats.distributions import quantiles
from aqmlab.running.cell import Cell

if TYPE_CHECKING:
    from aqmlab.running.run import Laboratory

PIPE = "AQMLAB_WATCHED_BY"
"""The environment's variable with the number of the pipe."""

Tell = Callable[[Mapping[str, Any]], None]

Columns = Mapping[str, NDArray[Any]]

_READ = {"link", "direction", "packets", "arrived", "bytes", "drops", "marks"}
"""Columns of the tables ``queue`` and ``link`` that are looked at."""

_BETWEEN_S = 0.8
"""Of wall time between two readings, each of which takes some milliseconds; less than a live run's second. Ours."""

_FRACTIONS = {"median": 0.5, "90 %": 0.9, "99 %": 0.99}


def is_watched() -> bool:
    """Say whether somebody watches what this process runs."""
    return _pipe() is not None


def watched(cell: Cell, laboratory: Laboratory) -> Laboratory:
    """Return what runs a cell, so that it tells its readings to whoever watches, if anybody does."""
    pipe = _pipe()
    return laboratory if pipe is None else Watched(cell, laboratory, pipe.tell)


class Watched:
    """A laboratory that says what it reads while it runs; what is taken from it is the same."""

    def __init__(self, cell: Cell, laboratory: Laboratory, tell: Tell) -> None:
        self._cell = cell
        self._laboratory = laboratory
        self._tell = tell
        self._told = -math.inf
        self._held: dict[str, list[pa.RecordBatch]] = {}
        self._interval_s = seconds(cell.resolved["record"]["link_every"])
        self._times = pl.DataFrame()

    @property
    def now(self) -> float:
        """Seconds since the start."""
        return self._laboratory.now

    @property
    def end(self) -> float:
        """When it ends."""
        return self._laboratory.end

    def advance(self, seconds: float) -> None:
        """Go on for so long, or to the end if that is nearer, and say now and then what is read."""
        self._laboratory.advance(seconds)
        if time.monotonic() - self._told >= _BETWEEN_S or self.now >= self.end:
            self._tell(self._reading())
            self._told = time.monotonic()

    def take(self, table: str) -> pa.RecordBatch:
        """Return the rows of a table that are new, those that have been read among them."""
        return together([*self._held.pop(table, []), pa.record_batch(self._laboratory.take(table))])

    def response_times(self) -> RecordBatch | pa.RecordBatch:
        """Return the histogram of response times."""
        return self._laboratory.response_times()

    def summary(self) -> str:
        """Return the run in one row, as JSON."""
        return self._laboratory.summary()

    def _reading(self) -> Mapping[str, Any]:
        queue, link = self._new_rows("queue"), self._new_rows("link")
        return {
            "cell": self._cell.key,
            "name": str(self._cell),
            "now_s": self.now,
            "end_s": self.end,
            "queue": _by_direction(queue, lambda of: of["packets"].mean()),
            "signals": _by_direction(
                link, lambda of: _share(of["drops"].sum() + of["marks"].sum(), of["arrived"].sum())
            ),
            "throughput": _by_direction(link, lambda of: 8e-6 * of["bytes"].mean() / self._interval_s),
            "response": self._quantiles(),
        }

    def _new_rows(self, table: str) -> pa.RecordBatch:
        rows = pa.record_batch(self._laboratory.take(table))
        self._held.setdefault(table, []).append(rows)
        return rows

    def _quantiles(self) -> Mapping[str, float | None]:
        """Quantiles of the response times since the last reading: the histogram counts from the window's start."""
        times = pl.DataFrame(pl.from_arrow(pa.record_batch(self._laboratory.response_times())))
        if times.is_empty():
            return {}
        times = times.select("time_low_ms", "time_high_ms", pl.col("count").cast(pl.Int64))
        since = pl.concat([times, self._times]) if self._times.height else times
        self._times = times.with_columns(-pl.col("count"))
        return {
            name: _number(time) for name, time in zip(_FRACTIONS, quantiles(since, _FRACTIONS.values()), strict=True)
        }


def together(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """Return the rows of all; only those that have any are known to have all columns."""
    filled = [batch for batch in batches if batch.num_rows]
    if not filled:
        return batches[-1] if batches else pa.RecordBatch.from_pydict({})
    (rows,) = pa.Table.from_batches(filled).combine_chunks().to_batches()
    return rows


def _by_direction(rows: pa.RecordBatch, value: Callable[[Columns], float]) -> Mapping[str, float | None]:
    """Work a value out for each direction of each link."""
    if not rows.num_rows:
        return {}
    columns = {name: rows.column(name).to_numpy(zero_copy_only=False) for name in rows.schema.names if name in _READ}
    links = columns.get("link", np.zeros(rows.num_rows))
    values = {}
    for link, direction in sorted({*zip(links.tolist(), columns["direction"].tolist(), strict=True)}):
        here = (links == link) & (columns["direction"] == direction)
        name = f"link {link} direction {direction}" if "link" in columns else f"direction {direction}"
        values[name] = _number(value({column: numbers[here] for column, numbers in columns.items()}))
    return values


def _share(signalled: float, arrived: float) -> float:
    """Return a share in percent; not a number where nothing arrived."""
    return 100 * signalled / arrived if arrived else math.nan


def _number(value: float | None) -> float | None:
    """Return what JSON has a form for."""
    return None if value is None or not math.isfinite(value) else round(value, 4)


class _Pipe:
    """To whoever watches, for as long as he does; several threads write to it."""

    def __init__(self, descriptor: int) -> None:
        self._file = os.fdopen(descriptor, "w", encoding="utf-8")
        self._lock = threading.Lock()
        self._is_read = True

    def tell(self, reading: Mapping[str, Any]) -> None:
        with self._lock:
            try:
                if self._is_read:
                    print(json.dumps(reading), file=self._file, flush=True)
            except BrokenPipeError:
                # Nobody watches any more; the run goes on.
                self._is_read = False


@cache
def _pipe() -> _Pipe | None:
    # What this process starts is not watched: the number would mean another file there.
    number = os.environ.pop(PIPE, None)
    if number is None:
        return None
    try:
        return _Pipe(int(number))
    except (ValueError, OSError):
        raise SpecError(f"{PIPE}: is set by what watches a run, to the number of a pipe, got {number!r}") from None
