"""Consistency checks of a cell's numbers: operational laws and steadiness.

The laws are those of Denning and Buzen, "The operational analysis of queueing network models", ACM Computing Surveys
10 (1978). They need no model: if one fails, the measurement window is too short, or a number is wrong.
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
"""The columns of the table ``link``."""

_CYCLE_SHARE = 0.05
"""The tolerance of the closed-loop law, as a share of a user's cycle.

Cells of minutes are within a fifth of it; windows that are too short exceed it more than four times.
"""

_DRIFT = 0.1
"""The tolerance of steadiness, as a share of the throughput.

Under light load, heavy-tailed file sizes alone move the throughput of some minutes by nearly as much.
"""

_EXACT = 0.001
"""The tolerance of the utilisation law, whose two sides count the same packets."""

_OBSERVATIONS = 500
"""The number of intervals of the measurement window for the steadiness check: each has many packets."""

_LAWS = {
    "utilisation": "the utilization is not that of the bytes and packets sent (U = X S)",
    "closed_loop": "users' cycles and response times do not fit each other to 5 % (N = X (R + Z)):"
    " the measured window is short for such waits, or not steady",
    "steady": "the beginning of the measured window moves the throughput by more than 10 % (MSER-5):"
    " the warm-up or the window is too short",
}
"""The messages about failed checks, by law."""


@dataclass(frozen=True)
class Check:
    """The check of one law in one cell."""

    law: str
    label: str
    seed: int
    value: float
    low: float
    """The smallest value that passes."""
    high: float
    """The largest value that passes."""

    @property
    def is_met(self) -> bool:
        """True if the cell passes."""
        return self.low <= self.value <= self.high

    def record(self) -> dict[str, Any]:
        """Return the check as an object of ``aqmlab compare --json``."""
        return asdict(self) | {"met": self.is_met}


class CompletedRequests(NamedTuple):
    """The completed requests of web users on a network."""

    completed: int
    """The number of requests."""
    mean_ms: float
    """Their mean response time."""


def cell_checks(cell: Cell, summary: Mapping[str, Any], link: pl.DataFrame) -> dict[str, bool]:
    """Return for each law that concerns one cell alone whether the cell passes."""
    is_met: dict[str, bool] = {}
    for law_check in _cell_laws(cell, summary, link):
        is_met[law_check.law] = is_met.get(law_check.law, True) and law_check.is_met
    return is_met


def check(results: Sequence[Result]) -> list[Check]:
    """Check each cell of a comparison.

    Returns
    -------
    list
        ``utilisation`` for each direction: the value of the summary minus the value computed from the bytes and packets
        in the table ``link``. ``closed_loop``, if there are web users and a run on the uncongested network with the
        same seed: the seconds by which the cycle from request to request, N / X, is longer than there. It is at most
        the increase of the response times. ``steady``: the share by which the beginning of the window moves the mean
        throughput.
    """
    uncongested = {result.cell.seed: result for result in results if result.cell.signal == "none"}
    return [law_check for result in results for law_check in _check_cell(result, uncongested.get(result.cell.seed))]


def failures(checks: Iterable[Check]) -> Iterator[str]:
    """Yield a sentence for each law that cells fail, with these cells."""
    failed = sorted(
        (law_check for law_check in checks if not law_check.is_met),
        key=lambda law_check: list(_LAWS).index(law_check.law),
    )
    for law, group in groupby(failed, key=lambda law_check: law_check.law):
        cells: dict[str, list[int]] = {}
        for law_check in group:
            cells.setdefault(law_check.label, []).append(law_check.seed)
        cells_text = "; ".join(
            f"{label}: {', '.join(map(str, dict.fromkeys(seeds)))}" for label, seeds in cells.items()
        )
        yield f"Check: {_LAWS[law]} (seeds of {cells_text})."


def tally(laws: Iterable[str], *, total: int) -> list[str]:
    """Return a sentence for each law that cells fail, with the number of these cells out of ``total``."""
    counts = Counter(laws)
    return [f"Check: {_LAWS[law]} ({counts[law]:,} of {total:,} cells)." for law in _LAWS if counts[law]]


def _check_cell(result: Result, uncongested: Result | None) -> Iterator[Check]:
    cell = result.cell
    yield from _cell_laws(cell, result.summary, result.link)
    if uncongested is not None and uncongested is not result:
        yield from closed_loop(cell, _completed_requests(result), _completed_requests(uncongested))


def _rate_varies(cell: Cell) -> bool:
    """Return true if the capacity of a link varies: then utilisation and steadiness are undefined."""
    return any(link.varies for link in cell.links)


def _cell_laws(cell: Cell, summary: Mapping[str, Any], link: pl.DataFrame) -> Iterator[Check]:
    if _rate_varies(cell):
        return
    # Arrays take a tenth of the time of a query, and every cell of a sweep is checked.
    columns = {name: link[name].to_numpy() for name in link.columns}
    for direction in summary["directions"]:
        yield Check("utilisation", cell.label, cell.seed, *_utilisation(cell, columns, direction))
    yield from _steady(cell, columns)


def _utilisation(cell: Cell, link: Columns, direction: Mapping[str, Any]) -> tuple[float, float, float]:
    """Return the error of the utilisation and its bounds: U = X S, packets a second times seconds a packet."""
    link_spec = cell.links[direction["link"] - 1]
    is_direction = link["direction"] == direction["direction"]
    if "link" in link:
        is_direction &= link["link"] == direction["link"]
    rate_bps = link_spec.rate_bps if direction["direction"] == 0 else link_spec.rate_back_bps
    wire_bits = 8 * (
        int(link["bytes"][is_direction].sum()) + link_spec.overhead_bytes * int(link["packets"][is_direction].sum())
    )
    return direction["utilisation"] - wire_bits / rate_bps / cell.duration_s, -_EXACT, _EXACT


def closed_loop(cell: Cell, requests: CompletedRequests, baseline: CompletedRequests) -> Iterator[Check]:
    """Yield the check of the interactive response time law: with N = X (R + Z) and the same Z, N / X grows as R does.

    A user has parallel connections, so that a cycle may grow by less than the response times, but not by more.

    Parameters
    ----------
    cell
        The cell to check.
    requests, baseline
        The completed requests of the cell, and of the uncongested network under the same seed.
    """
    users = cell.users_per_side * cell.resolved["users"].get("sides", 2)
    if not users or not requests.completed or not baseline.completed or _rate_varies(cell):
        return
    cycle_s, baseline_s = (users * cell.duration_s / completed.completed for completed in (requests, baseline))
    longer_s = (requests.mean_ms - baseline.mean_ms) / 1000
    slack_s = _CYCLE_SHARE * cycle_s
    yield Check("closed_loop", cell.label, cell.seed, cycle_s - baseline_s, -slack_s, max(0.0, longer_s) + slack_s)


def _completed_requests(result: Result) -> CompletedRequests:
    return CompletedRequests(result.summary["completed_requests"], result.summary["response_time_ms"]["mean"] or 0.0)


def _steady(cell: Cell, link: Columns) -> Iterator[Check]:
    _, interval = np.unique(link["time_s"], return_inverse=True)
    sent = np.bincount(interval, weights=link["bytes"])
    group = max(1, len(sent) // _OBSERVATIONS)
    series = sent[: len(sent) // group * group].reshape(-1, group).mean(axis=1)
    steady = series[mser5(series) :].mean() if len(series) else 0.0
    if steady:
        yield Check("steady", cell.label, cell.seed, float(series.mean() / steady - 1), -_DRIFT, _DRIFT)
