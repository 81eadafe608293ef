"""Monitoring of a run: periodic readings of its queues, signals, throughput and response times.

The monitoring process starts the command with a pipe, whose descriptor is in the environment. In the same process
:func:`observed` registers a callback. Without either nothing is read.
"""

from __future__ import annotations

import json
import math
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import polars as pl
import pyarrow as pa

from aqmlab._core import RecordBatch, SpecError
from aqmlab.cells.cell import Cell
from aqmlab.spec import directions
from aqmlab.stats.distributions import quantiles
from aqmlab.storage.memoize import memoize
from aqmlab.traces.capacity import SendableBits

PIPE = "AQMLAB_WATCHED_BY"
"""The environment variable with the descriptor of the pipe."""

ReadingCallback = Callable[[Mapping[str, Any]], None]

_INTERVAL_S = 0.8
"""Wall time between two readings, each of which takes some milliseconds; less than a live run's second. Ours."""

_SHARE = 0.03
"""The share of a run's time after which a reading is due too: a short run has some thirty. Ours."""

_FRACTIONS = {"median": 0.5, "p90": 0.9, "p99": 0.99}


class RunningSimulation(Protocol):
    """The interface of a running cell: :class:`aqmlab._core.Simulation` or a live run."""

    @property
    def now(self) -> float:
        """The virtual time in seconds."""

    @property
    def end(self) -> float:
        """The end of the run in seconds."""

    def advance(self, seconds: float) -> None:
        """Advance by ``seconds``, but not past the end."""

    def take(self, table: str) -> RecordBatch | pa.RecordBatch:
        """Return the new rows of a table."""

    def gauges(self) -> RecordBatch | pa.RecordBatch:
        """Return the present state of the links."""

    def response_times(self) -> RecordBatch | pa.RecordBatch:
        """Return the histogram of response times."""

    def summary(self) -> str:
        """Return the results of the measurement window as JSON."""


def is_monitored() -> bool:
    """Return true if another process monitors this one."""
    return _pipe() is not None


_observers: list[ReadingCallback] = []
"""The callbacks of this process."""


@contextmanager
def observed(callback: ReadingCallback) -> Iterator[None]:
    """Pass the readings of all runs that start in this context to a callback, from the threads of the runs."""
    _observers.append(callback)
    try:
        yield
    finally:
        _observers.remove(callback)


def with_monitoring(cell: Cell, simulation: RunningSimulation) -> RunningSimulation:
    """Return the running cell, wrapped in :class:`Monitored` if another process or a callback receives its readings."""
    pipe = _pipe()
    receivers = [*_observers, *([] if pipe is None else [pipe.send])]

    def send(reading: Mapping[str, Any]) -> None:
        for receiver in receivers:
            receiver(reading)

    # Figures need more readings of a short run than a line on a terminal does.
    share = math.inf if pipe is None else _SHARE
    return Monitored(cell, simulation, send, share) if receivers else simulation


class Monitored:
    """A running cell that reports readings; its results are unchanged."""

    def __init__(
        self, cell: Cell, simulation: RunningSimulation, send: ReadingCallback, share: float = math.inf
    ) -> None:
        self._cell = cell
        self._simulation = simulation
        self._send = send
        self._share = share
        self._sent_at = -math.inf
        self._read_at = 0.0
        self._counters: dict[str, Mapping[str, int]] = {}
        self._queue_batches: list[pa.RecordBatch] = []
        self._unread: list[pa.RecordBatch] = []
        self._previous_times = pl.DataFrame()
        self._capacities = {
            self._place(number, direction): SendableBits(link, direction, cell.seed)
            for number, link in enumerate(cell.links, start=1)
            if link.varies
            for direction in (0, 1)
        }

    @property
    def now(self) -> float:
        """The virtual time in seconds."""
        return self._simulation.now

    @property
    def end(self) -> float:
        """The end of the run in seconds."""
        return self._simulation.end

    def advance(self, seconds: float) -> None:
        """Advance by ``seconds``, but not past the end, and report a reading if one is due."""
        self._simulation.advance(seconds)
        is_late = time.monotonic() - self._sent_at >= _INTERVAL_S or self.now - self._read_at >= self._share * self.end
        if is_late or self.now >= self.end:
            self._send(self._reading())
            self._sent_at = time.monotonic()

    def take(self, table: str) -> pa.RecordBatch:
        """Return the new rows of a table, with those that a reading has already taken."""
        if table != "queue":
            return pa.record_batch(self._simulation.take(table))
        self._take_queue()
        batches, self._queue_batches = self._queue_batches, []
        return _merged(batches)

    def gauges(self) -> RecordBatch | pa.RecordBatch:
        """Return the present state of the links."""
        return self._simulation.gauges()

    def response_times(self) -> RecordBatch | pa.RecordBatch:
        """Return the histogram of response times."""
        return self._simulation.response_times()

    def summary(self) -> str:
        """Return the results of the measurement window as JSON."""
        return self._simulation.summary()

    def _reading(self) -> Mapping[str, Any]:
        links = {
            self._place(link.get("link", 1), link["direction"]): link
            for link in pa.record_batch(self.gauges()).to_pylist()
        }
        changes = {name: self._changes(name, link) for name, link in links.items()}
        span_s = self.now - self._read_at
        lengths = {**{name: link["waiting"] for name, link in links.items()}, **self._mean_lengths()}
        reading = {
            "cell": self._cell.key,
            "name": str(self._cell),
            "scheme": self._cell.label,
            "now_s": self.now,
            "warmup_s": self._cell.spec.warmup_s,
            "end_s": self.end,
            "queue": lengths,
            # Little's law: the mean number of packets in the queue over the rate at which they pass it.
            "delay": {
                name: _ratio(1e3 * (lengths[name] or 0.0) * span_s, change["arrived"] - change["drops"])
                for name, change in changes.items()
            },
            "loss": {name: _ratio(100 * change["drops"], change["arrived"]) for name, change in changes.items()},
            "signals": {
                name: _ratio(100 * (change["drops"] + change["marks"]), change["arrived"])
                for name, change in changes.items()
            },
            "throughput": {name: _ratio(8e-6 * change["bytes"], span_s) for name, change in changes.items()},
            "capacity": {
                name: _ratio(1e-6 * capacity.between(self._read_at, self.now), span_s)
                for name, capacity in self._capacities.items()
            },
            "response": self._quantiles(),
        }
        self._read_at, self._counters = self.now, links
        return reading

    def _changes(self, name: str, link: Mapping[str, int]) -> Mapping[str, int]:
        """Return the increase of a direction's counters since the last reading."""
        previous = self._counters.get(name, {})
        return {column: link[column] - previous.get(column, 0) for column in ("arrived", "bytes", "drops", "marks")}

    def _take_queue(self) -> None:
        rows = pa.record_batch(self._simulation.take("queue"))
        self._queue_batches.append(rows)
        self._unread.append(rows)

    def _mean_lengths(self) -> Mapping[str, float | None]:
        """Return the mean queue lengths since the last reading; samples exist only in the measurement window."""
        self._take_queue()
        rows = _merged(self._unread)
        self._unread.clear()
        if not rows.num_rows:
            return {}
        keys = [name for name in ("link", "direction") if name in rows.schema.names]
        means = pa.Table.from_batches([rows]).group_by(keys, use_threads=False).aggregate([("packets", "mean")])
        return {
            self._place(row.get("link", 1), row["direction"]): _number(row["packets_mean"]) for row in means.to_pylist()
        }

    def _place(self, link: int, direction: int) -> str:
        cell = self._cell
        return directions.place(link, cell.direction_names[direction], in_chain=len(cell.links) > 1)

    def _quantiles(self) -> Mapping[str, float | None]:
        """Return quantiles of the response times since the last reading."""
        times = pl.DataFrame(pl.from_arrow(pa.record_batch(self._simulation.response_times())))
        if times.is_empty():
            return {}
        times = times.select("time_low_ms", "time_high_ms", pl.col("count").cast(pl.Int64))
        new = pl.concat([times, self._previous_times]) if self._previous_times.height else times
        self._previous_times = times.with_columns(-pl.col("count"))
        return {name: _number(time) for name, time in zip(_FRACTIONS, quantiles(new, _FRACTIONS.values()), strict=True)}


def _merged(batches: Sequence[pa.RecordBatch]) -> pa.RecordBatch:
    """Concatenate batches; a batch without rows may lack columns and is skipped."""
    filled = [batch for batch in batches if batch.num_rows]
    if not filled:
        return batches[-1] if batches else pa.RecordBatch.from_pydict({})
    (rows,) = pa.Table.from_batches(filled).combine_chunks().to_batches()
    return rows


def _ratio(part: float, whole: float) -> float | None:
    return _number(part / whole) if whole else None


def _number(value: float | None) -> float | None:
    """Round a number; return ``None`` for infinity and NaN, which JSON lacks."""
    return None if value is None or not math.isfinite(value) else round(value, 4)


class _Pipe:
    """The pipe to the monitoring process. Several threads write to it."""

    def __init__(self, descriptor: int) -> None:
        self._file = os.fdopen(descriptor, "w", encoding="utf-8")
        self._lock = threading.Lock()
        self._is_read = True

    def send(self, reading: Mapping[str, Any]) -> None:
        with self._lock:
            try:
                if self._is_read:
                    print(json.dumps(reading), file=self._file, flush=True)
            except BrokenPipeError:
                # The monitoring process has ended; the run continues.
                self._is_read = False


@memoize
def _pipe() -> _Pipe | None:
    # Child processes must not inherit the variable: the descriptor means another file there.
    number = os.environ.pop(PIPE, None)
    if number is None:
        return None
    try:
        return _Pipe(int(number))
    except (ValueError, OSError):
        raise SpecError(f"{PIPE}: is set by what watches a run, to the number of a pipe, got {number!r}") from None
