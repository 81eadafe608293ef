"""Warm-up detection: the truncation point after which the mean of a series is that of the steady state."""

from __future__ import annotations

import numpy as np

from aqmlab.stats.intervals import Values

_BATCH = 5
"""The number of observations that are averaged to one batch."""


def mser5(series: Values) -> int:
    """Return the number of observations to discard from the beginning of a series, by the rule MSER-5.

    The rest minimizes the squared standard error of its mean, computed as if its batches of five were independent: an
    initial transient increases the error more than discarding it does. At most half is discarded, because a later
    minimum only shows that few batches agree by chance (White, "An effective truncation heuristic for bias reduction
    in simulation output", Simulation 69, 1997; White, Cobb and Spratt, "A comparison of five steady-state truncation
    heuristics for simulation", Winter Simulation Conference 2000).
    """
    batch_count = len(series) // _BATCH
    if batch_count < 2:
        return 0
    # Reversed, so that the k-th sum is over the last k batches.
    batches = series[: batch_count * _BATCH].reshape(batch_count, _BATCH).mean(axis=1)[::-1]
    counts = np.arange(1, batch_count + 1)
    squares = np.cumsum(batches**2) - np.cumsum(batches) ** 2 / counts
    error = (squares / counts**2)[::-1]
    return _BATCH * int(np.argmin(error[: batch_count // 2 + 1]))
