"""Pairs of a live run and a simulated one that were made up, for what is said of both worlds."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import polars as pl

from aqmlab.live.parity import MEASURES, Pair
from aqmlab.results.result import Result


def result(seed: int, value: float | None, *, within_ms: float, reasons: tuple[str, ...] = ()) -> Result:
    """Make up a result all of whose measures are ``value``, and whose requests all took as long."""
    summary: dict[str, Any] = {}
    # The page docs/studies/parity.md has a percentile that the command has not.
    for first, *rest in (*MEASURES.values(), ("response_time_ms", "p95")):
        if rest:
            summary.setdefault(first, {})[rest[0]] = value
        else:
            summary[first] = value
    bins = pl.DataFrame({"time_low_ms": [0.0], "time_high_ms": [within_ms], "count": [10]})
    made: Any = _Hashable(
        summary=summary,
        valid=not reasons,
        metadata={"live": {"valid": not reasons, "invalid_reasons": list(reasons)}},
        cell=SimpleNamespace(seed=seed),
        response_time_bins=bins,
        record=lambda: {"seed": seed},
    )
    return cast("Result", made)


class _Hashable(SimpleNamespace):
    def __hash__(self) -> int:  # type: ignore[override]
        return id(self)


def pair(seed: int, live: float | None, simulated: float | None, *reasons: str) -> Pair:
    """Make up a pair; reasons are why the live run is not valid."""
    return Pair(
        result(seed, live, within_ms=120.0, reasons=reasons),
        result(seed, simulated, within_ms=100.0),
    )
