"""Measures of response times for both studies of Le et al.: shares of requests, in percent."""

from __future__ import annotations

import numpy as np
import polars as pl

from aqmlab import stats
from aqmlab.store.result import Result
from aqmlab.studies.kit.findings import Measure
from aqmlab.studies.kit.measures import share_within


def completed_percent(time_ms: float) -> Measure:
    """Return the share of requests completed within a time, %."""
    share = share_within(time_ms)
    return lambda result: 100 * share(result)


def average_percent(from_ms: float, to_ms: float) -> Measure:
    """Return the share completed within a time, %, averaged over a range of times: the area under the curve."""
    times = np.linspace(from_ms, to_ms, 200).tolist()
    return lambda result: 100 * float(np.mean(stats.shares_within(result.response_time_bins, times)))


def rise_percent(from_ms: float, to_ms: float, *, below_bytes: int | None = None) -> Measure:
    """Return the share completed between two times, %, of all requests or of those for small responses."""

    def measure(result: Result) -> float:
        bins = result.response_times
        if below_bytes is not None:
            bins = bins.filter(pl.col("size_high_bytes") <= below_bytes)
        first, last = stats.shares_within(bins, [from_ms, to_ms])
        return 100 * (last - first)

    return measure
