"""Confidence bands for the difference of two distributions, which hold at all times together.

The seeds are the replications: under common random numbers each gives one difference of the two distributions. At each
of k times Student's interval is taken at 1 - 0.05 / k, so that all k hold together with 95 %. This is true for any
dependence between the times (Dunn, "Multiple comparisons among means", Journal of the American Statistical Association
56, 1961) and, unlike a bootstrap over the seeds, also for five seeds; the price is a somewhat wide band.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from aqmlab._core import SpecError
from aqmlab.stats.distributions import quantiles, shares_within
from aqmlab.stats.intervals import Values, half_width

FRACTIONS = (*(percent / 100 for percent in range(5, 100, 5)), 0.99)
"""The default times of a band: these quantiles of all requests together."""

_BOUNDS = ("difference", "low", "high")


def difference_band(
    first: Sequence[pl.DataFrame],
    others: Sequence[pl.DataFrame],
    *,
    times_ms: Sequence[float] = (),
    confidence: float = 0.95,
) -> pl.DataFrame:
    """Return the difference of two distributions of response times, with a simultaneous confidence band.

    Parameters
    ----------
    first
        Histograms of response times, one for each seed, such as :attr:`Result.response_times
        <aqmlab.store.result.Result.response_times>`.
    others
        The histograms of the other scheme, with the same seeds in the same order.
    times_ms
        The times of the band; more times make a wider band. The default is 20 quantiles of all requests together,
        which the band treats as fixed.
    confidence
        The probability that the band contains the true differences at all of its times.

    Returns
    -------
    polars.DataFrame
        ``time_ms``; ``difference``, the share of requests answered within that time, the other scheme minus the first,
        the mean over the seeds; and the band, ``low`` to ``high``. No rows if a seed of either has no requests.

    Raises
    ------
    SpecError
        When there are fewer than two pairs of seeds.
    """
    histograms = _checked_pairs(first, others)
    if any(histogram["count"].sum() == 0 for histogram in histograms):
        return pl.DataFrame(schema=dict.fromkeys(("time_ms", *_BOUNDS), pl.Float64))
    times = np.unique(list(times_ms) or quantiles(_simultaneous_level(histograms), FRACTIONS))
    shares = np.array([shares_within(histogram, times) for histogram in histograms])
    differences = shares[len(first) :] - shares[: len(first)]
    mean, half = differences.mean(axis=0), band_half_width(differences, confidence=confidence)
    return pl.DataFrame({"time_ms": times, "difference": mean, "low": mean - half, "high": mean + half})


def quantile_differences(
    first: Sequence[pl.DataFrame],
    others: Sequence[pl.DataFrame],
    *,
    fractions: Sequence[float],
    confidence: float = 0.95,
) -> pl.DataFrame:
    """Return the differences of two schemes' quantiles of response times, with confidence intervals.

    Parameters
    ----------
    first, others
        Histograms as for :func:`difference_band`.
    fractions
        The quantiles, from 0 to 1 each: 0.975 is the time within which 97.5 % of the requests are answered.
    confidence
        The probability that an interval alone contains the true difference.

    Returns
    -------
    polars.DataFrame
        ``fraction``; ``difference``, that quantile in ms, the other scheme minus the first, the mean over the seeds;
        and its Student-t interval, ``low`` to ``high``. No rows if a seed of either has no requests.

    Raises
    ------
    SpecError
        When there are fewer than two pairs of seeds, or a fraction is outside of 0 to 1.

    Examples
    --------
    >>> histogram = pl.DataFrame({"time_low_ms": [10.0], "time_high_ms": [20.0], "count": [5]})
    >>> quantile_differences([histogram] * 2, [histogram] * 2, fractions=[0.975])["difference"].to_list()
    [0.0]
    """
    histograms = _checked_pairs(first, others)
    shares = list(fractions)
    values = np.array([quantiles(histogram, shares) for histogram in histograms])
    if not np.isfinite(values).all():
        return pl.DataFrame(schema=dict.fromkeys(("fraction", *_BOUNDS), pl.Float64))
    differences = values[len(first) :] - values[: len(first)]
    mean, half = differences.mean(axis=0), half_width(differences, confidence=confidence, axis=0)
    return pl.DataFrame({"fraction": shares, "difference": mean, "low": mean - half, "high": mean + half})


def share_intervals(pooled: pl.DataFrame, histograms: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Add the interval over the seeds to a distribution of all seeds together, for each time separately.

    Parameters
    ----------
    pooled
        ``time_ms`` and ``fraction``, as :func:`aqmlab.stats.cdf` returns them.
    histograms
        The histogram of each seed. With one seed, or a seed without requests, there is no interval.

    Returns
    -------
    polars.DataFrame
        With ``low`` and ``high``: the fraction minus and plus half of the 95 % interval of the seeds' shares (Student's
        t), limited to 0 and 1.

    Examples
    --------
    >>> seeds = [pl.DataFrame({"time_low_ms": [0, 10], "time_high_ms": [10, 20], "count": [n, 10 - n]}) for n in (4, 6)]
    >>> share_intervals(pl.DataFrame({"time_ms": [10.0], "fraction": [0.5]}), seeds)["low"].to_list()
    [0.0]
    """
    if len(histograms) < 2 or any(histogram["count"].sum() == 0 for histogram in histograms):
        return pooled
    shares = np.array([shares_within(histogram, pooled["time_ms"]) for histogram in histograms])
    half = pl.Series(half_width(shares, confidence=0.95, axis=0))
    return pooled.with_columns(low=(pl.col("fraction") - half).clip(0, 1), high=(pl.col("fraction") + half).clip(0, 1))


def band_half_width(differences: Values, *, confidence: float = 0.95) -> Values:
    """Return half of the band's width at each time, from differences by seed and time, the last two axes."""
    times = differences.shape[-1]
    return np.asarray(half_width(differences, confidence=1 - (1 - confidence) / times, axis=-2))


def _checked_pairs(first: Sequence[pl.DataFrame], others: Sequence[pl.DataFrame]) -> list[pl.DataFrame]:
    if len(first) != len(others) or len(first) < 2:
        raise SpecError(f"band: must have two pairs of seeds at least, got {len(first)} and {len(others)} seeds")
    return [*first, *others]


def _simultaneous_level(histograms: Sequence[pl.DataFrame]) -> pl.DataFrame:
    return pl.concat([histogram.select("time_low_ms", "time_high_ms", "count") for histogram in histograms])
