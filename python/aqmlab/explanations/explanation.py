"""Explanation of response times by cause: a cell is run again, and the engine attributes the time of each request.

A cell decides its run, so that the rerun is the same and nothing is stored for it. The parts of each response time add
up to it, to the nanosecond.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa

from aqmlab._core import RecordBatch, Resolved, Simulation, SpecError, results_number
from aqmlab.controls import registry as controls
from aqmlab.disciplines.custom import registry
from aqmlab.running.run import Watch
from aqmlab.storage.errors import Damaged
from aqmlab.storage.integrity import METADATA, check_all, files_of, read_metadata
from aqmlab.ui.counts import pluralize

PARTS = {
    "handshake": "handshake",
    "syn_timeouts": "SYN timeouts",
    "request_round_trip": "request's round trip",
    "further_round_trips": "further round trips",
    "recovery": "loss recovery",
    "data_timeouts": "data timeouts",
    "reordering": "reordering timers",
    "probes": "tail-loss probes",
    "pacing": "pacing",
    "delayed_acks": "delayed ACKs",
    "queueing": "queueing",
    "transmission": "transmission",
    "interface": "server's interface",
}
"""The parts of a response time: the engine's columns, with their names in output."""

QUANTILES = {"p50": 0.50, "p90": 0.90, "p99": 0.99}
"""The quantiles whose requests are explained, besides all requests."""

HALF_BAND = 0.005
"""Half of the width of the band of requests around a quantile."""

MAX_TIMELINES = 1000
"""The largest number of timelines."""

_STEP_S = 1.0
"""The simulated time between two callbacks, in seconds."""


@dataclass(frozen=True)
class Explanation:
    """The response times of a cell's requests by cause."""

    directory: Path
    """The directory of the cell."""
    title: str
    """A description of the cell."""
    requests: pl.DataFrame
    """Requests by number, ``request``: times and parts in whole nanoseconds, sizes, losses, marks, recovery."""
    timelines: pl.DataFrame
    """The events of the requests with timelines, one per row."""

    def timeline(self, request: int) -> pl.DataFrame:
        """Return the events of one request, in the order of time."""
        return self.timelines.filter(pl.col("request") == request)

    def record(self) -> dict[str, Any]:
        """Return requests and timelines as one object."""
        return {
            "cell": str(self.directory),
            "requests": [
                {**row, "timeline": self.timeline(row["request"]).drop("request").to_dicts()}
                for row in self.requests.iter_rows(named=True)
            ],
        }


def explain(
    directory: Path | str,
    *,
    request: int | None = None,
    slowest: int | None = None,
    watch: Watch = lambda now, end: None,
) -> Explanation:
    """Run a cell again and attribute the time of its requests to causes.

    Parameters
    ----------
    directory
        The directory of the cell, such as ``results/cells/0123456789abcdef``.
    request
        Explain only this request, with its timeline; the run ends when it is complete. Requests of web users are
        numbered from 0 in the order of their completion in the measurement window. This is their row in the table
        ``exchanges`` without other sources.
    slowest
        Explain only this number of slowest requests, with their timelines.
    watch
        A callback that gets the simulated time and its end, in seconds, after each step.

    Raises
    ------
    SpecError
        When the directory is not a cell, the cell is a live run or has another results number, or there is no such
        request.

    Examples
    --------
    >>> explanation = explain("results/cells/0123456789abcdef")  # doctest: +SKIP
    >>> by_band(explanation.requests)  # doctest: +SKIP
    """
    cell = _Rerun.read(Path(directory))
    if cell.users_per_side == 0:
        raise SpecError(f"cell: {directory} has no web users, whose requests are explained")
    if cell.completed == 0:
        raise SpecError(f"cell: no request was completed in {directory}: there is nothing to explain")
    if request is not None and not 0 <= request < cell.completed:
        raise SpecError(f"request: must be from 0 to {cell.completed - 1}, the requests of the cell, got {request}")
    if slowest is not None and not 1 <= slowest <= MAX_TIMELINES:
        raise SpecError(f"slowest: must be from 1 to {MAX_TIMELINES}, got {slowest}")
    requests: list[pl.DataFrame] = []
    timelines: list[pl.DataFrame] = []
    completed = 0
    for step_requests, events in _steps(cell, request, slowest, watch):
        rows = step_requests.with_row_index("request", offset=completed).cast({"request": pl.UInt64})
        completed += rows.height
        requests.append(rows)
        timelines.append(events)
        if request is not None:
            requests = [rows.filter(pl.col("request") == request)]
            if request < completed:
                break
        if slowest is not None:
            requests = [_slowest(pl.concat(requests), slowest)]
            timelines = [_timelines_of(requests[0], pl.concat(timelines))]
    selected = pl.concat(requests)
    assert request is not None or completed == cell.completed, "the same run has the same requests"
    return Explanation(cell.directory, cell.title, selected, _timelines_of(selected, pl.concat(timelines)))


def by_band(requests: pl.DataFrame) -> pl.DataFrame:
    """Return the mean response time by cause, over all requests and over those around each quantile.

    A band extends half a percentile point to either side of its quantile, and has at least one request.

    Returns
    -------
    polars.DataFrame
        ``band``, ``requests``, ``response_time_ms``, and the parts in milliseconds under their names.
    """
    ranked = requests.sort("response_time_ns", "request")
    bands = {"mean": ranked}
    for name, quantile in QUANTILES.items():
        low = min(math.floor((quantile - HALF_BAND) * ranked.height), ranked.height - 1)
        high = math.ceil((quantile + HALF_BAND) * ranked.height)
        bands[name] = ranked[low : max(high, low + 1)]
    mean_ms = [
        (pl.col(column).mean() * 1e-6).alias(name)
        for column, name in {"response_time_ns": "response_time_ms", **{part: part for part in PARTS}}.items()
    ]
    means = [
        band.select(pl.lit(name).alias("band"), pl.len().alias("requests"), *mean_ms) for name, band in bands.items()
    ]
    return pl.concat(means)


@dataclass(frozen=True)
class _Rerun:
    """A cell that is run again."""

    directory: Path
    spec: Resolved
    seed: int
    completed: int

    @cached_property
    def resolved(self) -> dict[str, Any]:
        """The resolved spec as tables."""
        tables: dict[str, Any] = json.loads(self.spec.json)
        return tables

    @property
    def queue(self) -> tuple[str, dict[str, Any]]:
        """The discipline and its parameters."""
        ((name, parameters),) = self.resolved["queue"].items()
        return name, parameters

    @property
    def title(self) -> str:
        name, _ = self.queue
        return f"{name}, {pluralize(self.users_per_side, 'user')} on each side, seed {self.seed}"

    @property
    def users_per_side(self) -> int:
        return int(self.resolved["users"]["per_side"])

    @classmethod
    def read(cls, directory: Path) -> _Rerun:
        if not any(os.path.lexists(directory / name) for name in (METADATA, "spec.json")):
            raise SpecError(
                f"cell: must be the directory of a cell, such as results/cells/0123456789abcdef, got {str(directory)!r}"
            )
        try:
            metadata = read_metadata(directory)
            check_all(directory, files_of(metadata))
        except Damaged as damage:
            raise SpecError(f"cell: {damage}; run its experiment again") from None
        if "live" in metadata:
            raise SpecError(f"cell: {directory} is a live run, which cannot be made again: simulate its experiment")
        if "kernel" in metadata:
            raise SpecError(f"cell: {directory} is a run in a kernel, which gives no reasons: simulate its experiment")
        results = metadata["results"]
        if results != results_number():
            raise SpecError(
                f"cell: {directory} has results of number {results} and this engine gives {results_number()}:"
                " run it again"
            )
        spec = Resolved((directory / "spec.json").read_text())
        summary = pl.read_parquet(directory / "summary.parquet").row(0, named=True)
        return cls(directory, spec, metadata["seed"], summary["completed_requests"])


def _steps(
    cell: _Rerun, request: int | None, slowest: int | None, watch: Watch
) -> Iterator[tuple[pl.DataFrame, pl.DataFrame]]:
    """Run the cell; yield the requests that each step explains, and the events of the requested timelines."""
    try:
        makers = registry.makers(cell.resolved), controls.makers(cell.resolved)
    except ValueError as error:
        raise SpecError(str(error)) from None
    simulation = Simulation.explained(cell.spec, cell.seed, *makers, request=request, slowest=slowest or 0)
    while simulation.now < simulation.end:
        simulation.advance(_STEP_S)
        watch(simulation.now, simulation.end)
        for table in ("queue", "link", "exchanges", "losses"):
            # Discard tables that the cell has stored already.
            simulation.take(table)
        explained = _frame(simulation.take("explanations"))
        if not explained.is_empty():
            yield explained, _without_values(_frame(simulation.take("timelines")))


def _frame(batch: RecordBatch) -> pl.DataFrame:
    frame = pl.from_arrow(pa.record_batch(batch))
    assert isinstance(frame, pl.DataFrame), "a batch has columns"
    return frame


def _without_values(timelines: pl.DataFrame) -> pl.DataFrame:
    """Replace missing numbers by null: offsets of handshakes and timers, and windows without a sender.

    The engine has 0 there; offsets before the first byte wrap around at 32 bits.
    """
    has_offset = (pl.col("segment") != "") & (pl.col("offset") < 2**31)
    return timelines.with_columns(
        offset=pl.when(has_offset).then("offset"), cwnd=pl.when(pl.col("cwnd") > 0).then("cwnd")
    )


def _slowest(requests: pl.DataFrame, count: int) -> pl.DataFrame:
    """Return the slowest requests; of equal ones the first to complete comes first."""
    return requests.sort("response_time_ns", "request", descending=[True, False]).head(count)


def _timelines_of(requests: pl.DataFrame, timelines: pl.DataFrame) -> pl.DataFrame:
    return timelines.filter(pl.col("request").is_in(requests["request"].to_list()))
