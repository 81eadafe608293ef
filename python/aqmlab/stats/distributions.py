"""Distributions of response times, from their histograms."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import polars as pl
from numpy.typing import NDArray

from aqmlab._core import SpecError


def cdf(response_times: pl.DataFrame) -> pl.DataFrame:
    """Return the distribution of response times over all sizes.

    Parameters
    ----------
    response_times
        A histogram with the columns ``time_high_ms`` and ``count``; several may be concatenated.

    Returns
    -------
    polars.DataFrame
        ``time_ms``, and ``fraction``: the share of requests answered within that time. No rows without requests.
    """
    return (
        response_times.group_by(time_ms="time_high_ms")
        .agg(pl.col("count").sum())
        .sort("time_ms")
        .select("time_ms", fraction=pl.col("count").cum_sum() / pl.col("count").sum())
    )


def quantiles(response_times: pl.DataFrame, fractions: Iterable[float]) -> list[float]:
    """Return the response times in ms within which these fractions of the requests were answered.

    Requests are assumed to be spread evenly within a bin, so that the error is at most the bin's width. A summary has
    the same quantiles.

    Parameters
    ----------
    response_times
        A histogram, such as :attr:`Result.response_times <aqmlab.store.result.Result.response_times>`.
    fractions
        From 0 to 1 each.

    Returns
    -------
    list
        A time for each fraction; NaN without requests.

    Raises
    ------
    SpecError
        When a fraction is outside of 0 to 1.

    Examples
    --------
    >>> quantiles(pl.DataFrame({"time_low_ms": [10.0, 20.0], "time_high_ms": [20.0, 30.0], "count": [3, 1]}), [0.5, 1])
    [16.666666666666668, 30.0]
    """
    fractions = list(fractions)
    for fraction in fractions:
        if not 0 <= fraction <= 1:
            raise SpecError(f"quantile: must be from 0 to 1, got {fraction}")
    edges, share = _curve(response_times)
    return [float(np.interp(fraction, share, edges)) if len(edges) else math.nan for fraction in fractions]


def shares_within(response_times: pl.DataFrame, times_ms: Iterable[float]) -> list[float]:
    """Return the shares of the requests that were answered within these times in ms: the inverse of :func:`quantiles`.

    They are NaN without requests.
    """
    edges, share = _curve(response_times)
    return [float(np.interp(time, edges, share)) if len(edges) else math.nan for time in times_ms]


def _curve(response_times: pl.DataFrame) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the edges of a histogram's bins, and the share of requests below each; gaps between bins are empty."""
    bins = response_times.group_by("time_low_ms", "time_high_ms").agg(pl.col("count").sum()).sort("time_low_ms")
    bins = bins.filter(pl.col("count") > 0)
    if bins.is_empty():
        return np.empty(0), np.empty(0)
    edges = bins.select("time_low_ms", "time_high_ms").to_numpy().ravel()
    cumulative = bins["count"].cum_sum().to_numpy() / bins["count"].sum()
    return edges, np.column_stack((np.concatenate(([0.0], cumulative[:-1])), cumulative)).ravel()
