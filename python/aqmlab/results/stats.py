"""Statistics: over seeds, and of response times. Pure functions from plain data or frames to the same."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from aqmlab._core import SpecError
from aqmlab.results.result import COSTS, MEASURES, PARTS, Result

SETTINGS = ("label", "scheme", "parameters", "load_percent", "users_per_side", "rtt", "signal")
"""What the cells of one scheme have in common."""

_NAMES = ("name", "kind", "link", "direction")
"""What says which part it is."""


def over_seeds(records: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Combine the records of one scheme's cells.

    Returns
    -------
    dict
        The settings, ``seeds`` and ``cells``; measures and costs as their means over the seeds that have a value,
        ``None`` where none has; ``sd``, their standard deviations as of a sample (n - 1), ``None`` for a single value;
        and ``n``, how many seeds have a value.
    """
    first = records[0]
    measured = [{name: record[name] for name in (*MEASURES, *PARTS, *COSTS)} for record in records]
    return {
        **{name: first[name] for name in SETTINGS},
        "seeds": [record["seed"] for record in records],
        **_each_number(_of_known(lambda values: statistics.fmean(values) if values else None), measured),
        "sd": _each_number(_of_known(lambda values: statistics.stdev(values) if len(values) > 1 else None), measured),
        "n": _each_number(_of_known(len), measured),
        "cells": [record["cell"] for record in records],
    }


def _of_known(combine: Callable[[list[float]], float | None]) -> Callable[[list[Any]], float | None]:
    """Combine the numbers that there are."""
    return lambda values: combine([value for value in values if value is not None])


def paired(first: Sequence[Mapping[str, Any]], records: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Compare one scheme's records with those of the first scheme seed by seed: the same users under both.

    Returns
    -------
    dict
        For each measure the mean of the pairs' ``difference``, and the bounds of its 95 % interval, ``low`` and
        ``high``; ``None`` where a seed of either has nothing.
    """

    def bound(which: int) -> dict[str, Any]:
        def combine(values: list[Any]) -> float | None:
            firsts, others = values[: len(first)], values[len(first) :]
            if None in values:
                return None
            return mean_interval(np.subtract(others, firsts))[which]

        measured = [{name: each[name] for name in (*MEASURES, *PARTS)} for each in (*first, *records)]
        return dict(_each_number(combine, measured))

    return {"difference": bound(0), "low": bound(1), "high": bound(2)}


def mean_interval(values: NDArray[np.float64], *, confidence: float = 0.95) -> tuple[float, float, float]:
    """Estimate the mean of independent normal values with its Student-t interval: estimate, lower and upper bound.

    Examples
    --------
    >>> print("{:.4g} [{:.4g}, {:.4g}]".format(*mean_interval(np.array([1.0, 2.0, 3.0]))))
    2 [-0.4841, 4.484]
    """
    # It takes a while to import, and most tables do without.
    from scipy import special

    n = len(values)
    mean = float(values.mean()) if n > 0 else math.nan
    half = math.inf
    if n > 1:
        half = float(special.stdtrit(n - 1, (1 + confidence) / 2) * values.std(ddof=1) / math.sqrt(n))
    return (mean, mean - half, mean + half) if n > 0 else (mean, -math.inf, math.inf)


def cdf(response_times: pl.DataFrame) -> pl.DataFrame:
    """Return the distribution of response times over all sizes.

    Parameters
    ----------
    response_times
        A histogram with the columns ``time_high_ms`` and ``count``; several may be concatenated.

    Returns
    -------
    polars.DataFrame
        ``time_ms``, and ``fraction``: the share of requests answered within that time. Without requests it has no rows.
    """
    return (
        response_times.group_by(time_ms="time_high_ms")
        .agg(pl.col("count").sum())
        .sort("time_ms")
        .select("time_ms", fraction=pl.col("count").cum_sum() / pl.col("count").sum())
    )


def pooled_cdf(results: Iterable[Result]) -> pl.DataFrame:
    """Return the distribution of response times of several cells together, as :func:`cdf` gives it."""
    return cdf(pl.concat([result.response_time_bins for result in results]))


def quantiles(response_times: pl.DataFrame, fractions: Iterable[float]) -> list[float]:
    """Return the response times in ms within which these fractions of the requests were answered.

    Within a bin of the histogram requests are taken as spread evenly, so the error is at most the bin's width. The
    quantiles of a summary are the same.

    Parameters
    ----------
    response_times
        A histogram, such as :attr:`Result.response_times <aqmlab.results.result.Result.response_times>`.
    fractions
        From 0 to 1 each.

    Returns
    -------
    list
        A time for each fraction; not a number where there are no requests.

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
    edges, share = _walk(response_times)
    return [float(np.interp(fraction, share, edges)) if len(edges) else math.nan for fraction in fractions]


def shares_within(response_times: pl.DataFrame, times_ms: Iterable[float]) -> list[float]:
    """Return the shares of the requests that were answered within these times in ms; inverts :func:`quantiles`.

    Not numbers where there are no requests.
    """
    edges, share = _walk(response_times)
    return [float(np.interp(time, edges, share)) if len(edges) else math.nan for time in times_ms]


def _walk(response_times: pl.DataFrame) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Walk along the edges of a histogram's bins: times, and the share below each; nothing is answered in a gap."""
    bins = response_times.group_by("time_low_ms", "time_high_ms").agg(pl.col("count").sum()).sort("time_low_ms")
    bins = bins.filter(pl.col("count") > 0)
    if bins.is_empty():
        return np.empty(0), np.empty(0)
    edges = bins.select("time_low_ms", "time_high_ms").to_numpy().ravel()
    after = bins["count"].cum_sum().to_numpy() / bins["count"].sum()
    return edges, np.column_stack((np.concatenate(([0.0], after[:-1])), after)).ravel()


def _each_number(combine: Callable[[list[Any]], float | None], values: Sequence[Any]) -> Any:
    """Combine numbers that stand in the same place of several records, into the same objects and lists.

    Lists of different things, such as the classes of two disciplines, have nothing in common.
    """
    first = values[0]
    if isinstance(first, Mapping):
        return {
            name: value if name in _NAMES else _each_number(combine, [each[name] for each in values])
            for name, value in first.items()
        }
    if isinstance(first, Sequence):
        alike = len({len(each) for each in values}) == 1
        return [_each_number(combine, each) for each in zip(*values, strict=True)] if alike else []
    return combine(list(values))
