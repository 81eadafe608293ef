"""Consistency of a cell's numbers: operational laws, which hold for all that is measured, and steadiness.

The laws are those of Denning and Buzen, "The operational analysis of queueing network models", ACM Computing Surveys
10 (1978). They need no model: where one fails, the window is too short for what happens in it, or a number is wrong.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from aqmlab.cells.cell import Cell
from aqmlab.stats.warmup import mser5
from aqmlab.store.result import Result

Columns = Mapping[str, NDArray[Any]]
"""The table of links."""

_CYCLE_SHARE = 0.05
"""Of a user's cycle: cells of minutes keep to a fifth of this, and windows that are too short are beyond four times."""

_DRIFT = 0.1
"""Of the throughput: by chance, files of heavy-tailed sizes move that of minutes of light load by nearly as much."""

_EXACT = 0.001
"""Of the utilisation: both sides of its law count the same packets."""

_OBSERVATIONS = 500
"""In which the measured window is looked at: intervals of seconds, in which many packets are sent."""

_LAWS = {
    "utilisation": "the utilisation is not that of the bytes and packets sent (U = X S)",
    "closed_loop": "users' cycles and response times do not fit each other to 5 % (N = X (R + Z)):"
    " the measured window is short for such waits, or not steady",
    "steady": "the beginning of the measured window moves the throughput by more than 10 % (MSER-5):"
    " the warm-up or the window is too short",
}
"""What is wrong where a law is not kept."""


@dataclass(frozen=True)
class Check:
    """One law in one cell."""

    law: str
    label: str
    seed: int
    value: float
    low: float
    """The least that fits."""
    high: float
    """The most."""

    @property
    def is_met(self) -> bool:
        """Whether the cell keeps it."""
        return self.low <= self.value <= self.high

    def record(self) -> dict[str, Any]:
        """Return it as an object of ``aqmlab compare --json``."""
        return asdict(self) | {"met": self.is_met}


class CompletedRequests(NamedTuple):
    """What web users had of a network."""

    completed: int
    """Requests."""
    mean_ms: float
    """Their mean response time."""


def cell_checks(cell: Cell, summary: Mapping[str, Any], link: pl.DataFrame) -> dict[str, bool]:
    """Say of each law that needs no other cell whether a cell with this summary and this table of links keeps it."""
    kept: dict[str, bool] = {}
    for each in _is_alone(cell, summary, link):
        kept[each.law] = kept.get(each.law, True) and each.is_met
    return kept


def check(results: Sequence[Result]) -> list[Check]:
    """Check each cell of a comparison.

    Returns
    -------
    list
        ``utilisation`` of each direction: what the summary says less what follows from the bytes and packets of the
        link's table. ``closed_loop`` where there are web users and the uncongested network of the same seed: by how
        many seconds the cycle from request to request, N / X, is longer than there, which is at most by how much
        response times are. ``steady``: the part of the throughput by which the beginning of the window moves its mean.
    """
    uncongested = {result.cell.seed: result for result in results if result.cell.signal == "none"}
    return [each for result in results for each in _check_cell(result, uncongested.get(result.cell.seed))]


def failures(checks: Iterable[Check]) -> Iterator[str]:
    """Say which cells do not keep a law, a sentence for each law."""
    failed = sorted((each for each in checks if not each.is_met), key=lambda each: list(_LAWS).index(each.law))
    for law, of_law in groupby(failed, key=lambda each: each.law):
        cells: dict[str, list[int]] = {}
        for each in of_law:
            cells.setdefault(each.label, []).append(each.seed)
        which = "; ".join(f"{label}: {', '.join(map(str, dict.fromkeys(seeds)))}" for label, seeds in cells.items())
        yield f"Check: {_LAWS[law]} (seeds of {which})."


def tally(laws: Iterable[str], *, of: int) -> list[str]:
    """Say how many of so many cells do not keep each law, where they are too many to be named."""
    counted = Counter(laws)
    return [f"Check: {_LAWS[law]} ({counted[law]:,} of {of:,} cells)." for law in _LAWS if counted[law]]


def _check_cell(result: Result, uncongested: Result | None) -> Iterator[Check]:
    cell = result.cell
    yield from _is_alone(cell, result.summary, result.link)
    if uncongested is not None and uncongested is not result:
        yield from closed_loop(cell, _completed_requests(result), _completed_requests(uncongested))


def _rate_varies(cell: Cell) -> bool:
    """Say whether a rate is: then no one rate is a link's, and a change that was asked for is no transient."""
    return any(each.rate_changes for each in cell.links)


def _is_alone(cell: Cell, summary: Mapping[str, Any], link: pl.DataFrame) -> Iterator[Check]:
    if _rate_varies(cell):
        return
    # Each of a sweep's cells is checked: a look at columns takes a tenth of what a query does.
    columns = {name: link[name].to_numpy() for name in link.columns}
    for measured in summary["directions"]:
        yield Check("utilisation", cell.label, cell.seed, *_utilisation(cell, columns, measured))
    yield from _steady(cell, columns)


def _utilisation(cell: Cell, link: Columns, measured: Mapping[str, Any]) -> tuple[float, float, float]:
    """Say by how much the utilisation is off: U = X S, packets a second times seconds a packet."""
    of = cell.links[measured["link"] - 1]
    here = link["direction"] == measured["direction"]
    if "link" in link:
        here &= link["link"] == measured["link"]
    rate_bps = of.rate_bps if measured["direction"] == 0 else of.rate_back_bps
    wire_bits = 8 * (int(link["bytes"][here].sum()) + of.overhead_bytes * int(link["packets"][here].sum()))
    return measured["utilisation"] - wire_bits / rate_bps / cell.duration_s, -_EXACT, _EXACT


def closed_loop(cell: Cell, ours: CompletedRequests, free: CompletedRequests) -> Iterator[Check]:
    """Yield the interactive response time law: with N = X (R + Z) and the same Z, N / X grows as R does.

    Connections of a user wait side by side, so that a cycle may grow by less than the response times, and not by more.

    Parameters
    ----------
    cell
        Whose numbers are checked.
    ours, free
        What the users had of the network, and what of the uncongested one under the same seed.
    """
    users = cell.users_per_side * cell.resolved["users"].get("sides", 2)
    if not users or not ours.completed or not free.completed or _rate_varies(cell):
        return
    cycle_s, free_s = (users * cell.duration_s / each.completed for each in (ours, free))
    longer_s = (ours.mean_ms - free.mean_ms) / 1000
    slack_s = _CYCLE_SHARE * cycle_s
    yield Check("closed_loop", cell.label, cell.seed, cycle_s - free_s, -slack_s, max(0.0, longer_s) + slack_s)


def _completed_requests(result: Result) -> CompletedRequests:
    return CompletedRequests(result.summary["completed_requests"], result.summary["response_time_ms"]["mean"] or 0.0)


def _steady(cell: Cell, link: Columns) -> Iterator[Check]:
    _, interval = np.unique(link["time_s"], return_inverse=True)
    sent = np.bincount(interval, weights=link["bytes"])
    together = max(1, len(sent) // _OBSERVATIONS)
    series = sent[: len(sent) // together * together].reshape(-1, together).mean(axis=1)
    steady = series[mser5(series) :].mean() if len(series) else 0.0
    if steady:
        yield Check("steady", cell.label, cell.seed, float(series.mean() / steady - 1), -_DRIFT, _DRIFT)
