"""Inputs of a run and the values drawn from them: response sizes and round-trip times, as in the papers' figures.

Quantiles define a table of the workload; between them ln(value) is linear in -ln(1 - u).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from aqmlab.store.result import Result

_Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Quantiles:
    """A distribution defined by nodes ``[u, value]``."""

    nodes: Sequence[Sequence[float]]

    def share_above(self, values: _Floats) -> _Floats:
        """Return the share of draws above each value."""
        u, at = np.array(self.nodes).T
        # ln(1 - u) falls linearly in ln(value); draws beyond the last node have the last value.
        log_above = np.interp(np.log(values), np.log(at), np.log1p(-u), left=0.0)
        return np.where(values >= at[-1], 0.0, np.exp(log_above))


@dataclass(frozen=True)
class ResponseSizes:
    """The response sizes of the workload's tables and of a run."""

    top_level: Quantiles
    embedded: Quantiles
    embedded_per_page: float
    """Mean number of embedded objects."""
    cap: int
    """Size in bytes above which a persistent connection redraws."""
    generated: _Floats
    """Generated sizes in bytes, ascending."""

    @classmethod
    def of(cls, result: Result) -> Self:
        """Read the tables of a run's spec and the sizes of its exchanges."""
        workload: dict[str, Any] = result.cell.resolved["users"]["workload"]
        per_page = workload["embedded_per_page"]
        probabilities = np.array(per_page["probabilities"])
        numbers = per_page["min"] + np.arange(len(probabilities))
        return cls(
            top_level=Quantiles(workload["top_level_bytes"]["nodes"]),
            embedded=Quantiles(workload["embedded_bytes"]["nodes"]),
            embedded_per_page=float(numbers @ probabilities / probabilities.sum()),
            cap=workload["persistent_response_cap_bytes"],
            generated=result.exchanges["response_bytes"].sort().to_numpy().astype(np.float64),
        )

    def share_above(self, sizes: _Floats) -> _Floats:
        """Return the share of the tables' responses above each size: a page has one top-level and its embedded ones."""
        m = self.embedded_per_page
        return (self.top_level.share_above(sizes) + m * self.embedded.share_above(sizes)) / (1 + m)

    def input_quantile(self, fraction: float) -> float:
        """Return a quantile of the tables' response sizes."""
        sizes = np.geomspace(10, self.largest_possible, 20_000)
        return float(np.interp(fraction, 1 - self.share_above(sizes), sizes))

    def generated_quantile(self, fraction: float) -> float:
        """Return a quantile of the generated response sizes."""
        return float(np.quantile(self.generated, fraction))

    @property
    def count(self) -> int:
        """Number of generated responses."""
        return len(self.generated)

    @property
    def largest(self) -> int:
        """The largest generated response, in bytes."""
        return int(self.generated[-1])

    @property
    def largest_possible(self) -> float:
        """The largest response of the tables, in bytes."""
        return max(float(table.nodes[-1][1]) for table in (self.top_level, self.embedded))


def drawn_round_trips(result: Result) -> _Floats:
    """Return the minimum round-trip times that connections had, in ms, ascending, from a run without congestion.

    They are not recorded. But a response of a single segment to the only request of a connection takes two round trips,
    one of them the handshake's. Half the response time is therefore the round-trip time, with about a millisecond of
    delays of the link and the hosts.
    """
    once = pl.col("first_on_connection") & ~pl.col("persistent") & (pl.col("response_bytes") <= 1400)
    times = result.exchanges.filter(once)["response_time_ms"].sort()
    return np.asarray(times.to_numpy() / 2, dtype=np.float64)


def input_round_trips(result: Result) -> Quantiles:
    """Return the quantile table of round-trip times in a run's spec."""
    return Quantiles(result.cell.resolved["users"]["rtt"]["distribution"]["quantiles_ms"])


def share_above(ascending: _Floats, values: _Floats) -> _Floats:
    """Return the share of some numbers above each value."""
    return np.asarray(1 - np.searchsorted(ascending, values, side="right") / len(ascending))
