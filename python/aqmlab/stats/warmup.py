"""How much of a series' beginning is to be left out so that its mean is that of the steady state."""

from __future__ import annotations

import numpy as np

from aqmlab.stats.intervals import Values

_BATCH = 5
"""Observations whose means are looked at instead of them."""


def mser5(series: Values) -> int:
    """Return how many observations at its beginning are to be left out, by the rule MSER-5.

    What is left has the least squared standard error of its mean, as if its batches of five were independent: an
    initial transient makes it larger than its loss of data does. At most half is left out, for a least value beyond
    says nothing but that few batches agree by chance (White, "An effective truncation heuristic for bias reduction in
    simulation output", Simulation 69, 1997; White, Cobb and Spratt, "A comparison of five steady-state truncation
    heuristics for simulation", Winter Simulation Conference 2000).
    """
    number = len(series) // _BATCH
    if number < 2:
        return 0
    # From the last batch on, so that the k-th sum is over the last k batches.
    batches = series[: number * _BATCH].reshape(number, _BATCH).mean(axis=1)[::-1]
    kept = np.arange(1, number + 1)
    squares = np.cumsum(batches**2) - np.cumsum(batches) ** 2 / kept
    error = (squares / kept**2)[::-1]
    return _BATCH * int(np.argmin(error[: number // 2 + 1]))
