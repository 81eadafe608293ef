"""Confidence intervals and tests for the mean over seeds: Student's t, for independent normal values."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

Values = NDArray[np.float64]

LEVEL = 0.05
"""The significance level: intervals have a coverage of 95 %."""


def mean_interval(values: Values, *, confidence: float = 0.95) -> tuple[float, float, float]:
    """Estimate the mean of independent normal values with its Student-t interval: estimate, lower and upper bound.

    Examples
    --------
    >>> print("{:.4g} [{:.4g}, {:.4g}]".format(*mean_interval(np.array([1.0, 2.0, 3.0]))))
    2 [-0.4841, 4.484]
    """
    if len(values) == 0:
        return math.nan, -math.inf, math.inf
    mean, half = float(values.mean()), float(half_width(values, confidence=confidence))
    return mean, mean - half, mean + half


def interval(values: Iterable[float | None], *, upper_bound: float = math.inf) -> pl.DataFrame:
    """Return the ``mean`` of the values other than ``None``, and the bounds of its 95 % interval, ``low`` and ``high``.

    The bounds are null for one value; without a value there is no row. The interval is limited to the possible values
    of a measure, from 0 to ``upper_bound``.
    """
    present = np.array([value for value in values if value is not None], dtype=float)
    mean, low, high = mean_interval(present)
    bounds = (max(low, 0.0), min(high, upper_bound)) if len(present) > 1 else (None, None)
    row = {"mean": [mean], "low": [bounds[0]], "high": [bounds[1]]} if len(present) else {}
    return pl.DataFrame(row, schema=dict.fromkeys(("mean", "low", "high"), pl.Float64))


def half_width(values: Values, *, confidence: float, axis: int = -1) -> Any:
    """Return half of the width of the Student-t interval of the mean along an axis; infinite for a single value."""
    n = values.shape[axis]
    if n < 2:
        return np.full(values.mean(axis=axis).shape, math.inf)
    return half_width_of(n, values.std(axis=axis, ddof=1), confidence=confidence)


def half_width_of(n: Any, deviation: Any, *, confidence: float = 0.95) -> Any:
    """Return half of the width of Student-t intervals of means of ``n`` values, two at least, by their deviations."""
    # scipy is slow to import, and most tables need no interval.
    from scipy import special

    return special.stdtrit(n - 1, (1 + confidence) / 2) * deviation / np.sqrt(n)


def p_value(values: Values) -> float | None:
    """Return the two-sided p value of Student's test that the mean is zero.

    ``None`` if the values do not vary, because the test statistic is undefined.
    """
    from scipy import special

    n = len(values)
    spread = float(values.std(ddof=1)) if n > 1 else 0.0
    if spread == 0:
        return None
    return float(2 * special.stdtr(n - 1, -abs(values.mean()) * math.sqrt(n) / spread))
