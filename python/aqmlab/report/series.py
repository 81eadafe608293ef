"""What is drawn, as frames small enough to send: few points, but each value that is kept is one of the results'."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from aqmlab.results import stats
from aqmlab.results.result import Result

_PER_DECADE = 50
"""Points of a distribution kept between a time and ten times that."""

BINS = 160
"""Of the time over which a queue is shown: a phone has about two points for each."""

_FEWEST = 10
"""Requests of a size of which a median is shown."""


def distribution(results: Sequence[Result]) -> pl.DataFrame:
    """Return points of the distribution of response times over all seeds.

    Columns are ``time_ms``, and the per cents of requests ``within`` it and ``beyond``.
    """
    curve = stats.pooled_cdf(results).with_columns(step=(pl.col("time_ms").log10() * _PER_DECADE).floor())
    return (
        curve.group_by("step", maintain_order=True)
        .last()
        .select("time_ms", within=100 * pl.col("fraction"), beyond=100 * (1 - pl.col("fraction")).round(12))
    )


def band(differences: pl.DataFrame) -> pl.DataFrame:
    """Return a difference of distributions with its band in percentage points, as ``more``, ``low`` and ``high``.

    No difference can be larger than all requests, whatever a band over few seeds says.
    """
    return differences.select("time_ms", pl.col("low", "high").clip(-1, 1) * 100, more=pl.col("difference") * 100)


def difference(first: Result, other: Result) -> pl.DataFrame:
    """Return how many more requests, in percentage points, are answered within a time under another scheme.

    It is of one seed, and so has no band.
    """
    times = np.geomspace(10, 10_000, 3 * _PER_DECADE + 1)
    theirs, mine = (np.array(stats.shares_within(each.response_time_bins, times)) for each in (first, other))
    return pl.DataFrame({"time_ms": times, "more": 100 * (mine - theirs)}).filter(pl.col("more").is_finite())


def by_size(results: Sequence[Result]) -> pl.DataFrame:
    """Return the median and the 90th percentile of response times by response size, over all seeds.

    Columns are ``bytes``, the middle of the sizes on a logarithmic axis, ``p50``, ``p90`` in ms, and ``requests``.
    """
    pooled = pl.concat([result.response_times for result in results])
    rows = []
    for (low, high), bins in sorted(pooled.group_by("size_low_bytes", "size_high_bytes")):
        requests = bins["count"].sum()
        if requests >= _FEWEST:
            p50, p90 = stats.quantiles(bins, (0.5, 0.9))
            middle = (max(float(low), 1.0) * float(high)) ** 0.5
            rows.append({"bytes": middle, "p50": p50, "p90": p90, "requests": requests})
    return pl.DataFrame(rows, schema={"bytes": pl.Float64, "p50": pl.Float64, "p90": pl.Float64, "requests": pl.Int64})


def over_time(result: Result) -> pl.DataFrame:
    """Return a cell's queueing delay and, where the law has one, its probability: least, mean and most of each bin.

    The delay is the time that what waits takes at the link's rate. ``where`` names link and direction. What is highest
    and lowest in the run is so in the bins as well.
    """
    queue = result.queue
    if "link" not in queue.columns:
        queue = queue.with_columns(link=pl.lit(1))
    values = {"delay_ms": _delay_ms(result)}
    if law := _probability(queue.columns):
        values["probability"] = pl.col(law)
    start, width = result.cell.warmup_s, result.cell.duration_s / BINS
    bins = queue.with_columns(**values).group_by(
        "link", "direction", step=((pl.col("time_s") - start) / width).floor().clip(0, BINS - 1)
    )
    return (
        bins.agg(
            each
            for name in values
            for each in (
                pl.col(name).min().alias(f"{name}_low"),
                pl.col(name).mean().alias(f"{name}_mean"),
                pl.col(name).max().alias(f"{name}_high"),
            )
        )
        .sort("link", "direction", "step")
        .with_columns(time_s=start + (pl.col("step") + 0.5) * width)
        .drop("step")
    )


def _delay_ms(result: Result) -> pl.Expr:
    """Write how long what waits takes at the rate that the link has at the time."""
    bits = pl.lit(0.0)
    for number, link in enumerate(result.cell.links, start=1):
        wire = 8 * (pl.col("bytes") + pl.col("packets") * link.overhead_bytes)
        for direction, start in enumerate((link.rate_bps, link.rate_back_bps)):
            rate = pl.lit(start)
            for since, then in link.rate_changes:
                rate = pl.when(pl.col("time_s") >= since).then(then).otherwise(rate)
            is_here = (pl.col("link") == number) & (pl.col("direction") == direction)
            bits = pl.when(is_here).then(1e3 * wire / rate).otherwise(bits)
    return bits


def _probability(columns: Sequence[str]) -> str | None:
    """Name the law's probability of a drop or a mark, if it has one."""
    return next((name for name in columns if name.split("_")[0] == "p"), None)
