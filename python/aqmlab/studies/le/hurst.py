"""The Hurst parameter of the traffic on the uncongested network, as Le et al. (2003) estimate it in section 3.2.

The series are the packets and the IP bytes that the link carries in one direction in each millisecond. The papers do
not name the scales of their fits. The claim uses the default ones of :mod:`aqmlab.models.lrd`; the table has others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import polars as pl

from aqmlab.models import lrd
from aqmlab.store.result import Result
from aqmlab.studies.kit.claims.quantities import PrintedTables
from aqmlab.studies.kit.findings import Finding, Outcome, Results, worst
from aqmlab.studies.kit.study import Table, Value

Scales = tuple[int, int]

_ESTIMATORS: tuple[Callable[..., lrd.Hurst], ...] = (lrd.aggregated_variance, lrd.local_whittle, lrd.wavelet)
_RANGES: tuple[Scales | None, ...] = (None, (200, 10_000), (1_000, 50_000))
"""Ranges of scales in milliseconds; ``None`` is the default. The others begin above the longest common round trip and
above a timeout."""


def estimates(result: Result, scales: Scales | None = None) -> list[tuple[str, lrd.Hurst]]:
    """Return the estimates of each series by each estimator; none where the run is too short for the scales.

    The run must record its link every millisecond.
    """
    return _estimates(result.file("link"), scales)


@cache
def _estimates(link_table: Path, scales: Scales | None) -> list[tuple[str, lrd.Hurst]]:
    link = pl.read_parquet(link_table).filter(pl.col("direction") == 0)
    found = []
    for series in ("packets", "bytes"):
        for estimator in _ESTIMATORS:
            try:
                found.append((series, estimator(link[series].to_numpy(), scales=scales)))
            except ValueError:
                continue
    return found


def hurst_table(result: Result) -> Table:
    """Return all estimates of a run over all ranges of scales."""
    rows: list[list[Value]] = [
        [
            series,
            hurst.method,
            f"{hurst.scales[0]:,} to {hurst.scales[1]:,}" + (" (default)" if scales is None else ""),
            round(hurst.h, 3),
            round(hurst.low, 3),
            round(hurst.high, 3),
        ]
        for scales in _RANGES
        for series, hurst in estimates(result, scales)
    ]
    return Table(
        name="hurst",
        title="Hurst parameter of the traffic on the uncongested network",
        columns=("per millisecond", "estimator", "scales, ms", "H", "95 % from", "to"),
        rows=rows,
        about=f"One run at {result.cell.load_percent:g} % load has {result.cell.rtt} round-trip times; one direction"
        " is measured. The papers report intervals between 0.8 and 0.9, but not the scales that they used.",
    )


@dataclass(frozen=True, kw_only=True)
class HurstWithin:
    """The 95 % intervals of all estimates over the default scales are in a range.

    It fails where an interval is wholly outside. The intervals are the estimators' own, for the first seed.
    """

    run: str
    low: float
    high: float

    @property
    def runs(self) -> tuple[str, ...]:
        """The run that it is about."""
        return (self.run,)

    def __call__(self, results: Results, scale: float = 1.0) -> Finding:
        """Decide from the worst estimate; the paper states the limits, so that they are not scaled."""
        first = min(results[self.run], key=lambda result: result.cell.seed)
        found = [self._of(series, hurst) for series, hurst in estimates(first)]
        return worst(found).of_all(found)

    def on_paper(self, printed: PrintedTables) -> None:
        """Return ``None``: the paper's tables have no estimates."""

    def _of(self, series: str, hurst: lrd.Hurst) -> Finding:
        what = f"Hurst parameter of {series} by {hurst.method}"
        finding = Finding(
            outcome=Outcome.UNDECIDED, what=what, estimate=hurst.h, low=hurst.low, high=hurst.high, pairs=1
        )
        return finding.decided(
            holds=self.low <= hurst.low and hurst.high <= self.high,
            fails=hurst.high < self.low or self.high < hurst.low,
        )

    def __str__(self) -> str:
        return (
            f"Hurst parameter: the 95 % intervals of all estimates of {self.run} lie in {self.low:g} to {self.high:g}"
        )
