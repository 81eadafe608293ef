"""What is drawn, as frames small enough to send: few points, but each value that is kept is one of the results'."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from aqmlab import stats
from aqmlab.metrics.numbers import OF_LINK, Number
from aqmlab.report.gathered import Gathered
from aqmlab.spec import directions
from aqmlab.store.result import Result, pooled_cdf

_PER_DECADE = 50
"""Points of a distribution kept between a time and ten times that."""

_TENTHS = 10
"""Steps of a decade of times in a density."""

_FEWEST = 10
"""Requests of a size of which a median is shown."""


def distribution(results: Sequence[Result]) -> pl.DataFrame:
    """Return points of the distribution of response times over all seeds.

    Columns are ``time_ms``, and the per cents of requests ``within`` it and ``beyond``.
    """
    curve = pooled_cdf(results).with_columns(step=(pl.col("time_ms").log10() * _PER_DECADE).floor())
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


def density(results: Sequence[Result]) -> pl.DataFrame:
    """Return which share of the requests has which response size and response time, over all seeds.

    Columns are ``bytes`` and ``bytes_to``, two powers of two; ``time_ms`` and ``time_ms_to``, a tenth of a decade; and
    ``percent`` of the requests.
    """
    bins = pl.concat([result.response_times for result in results])
    step = (pl.col("time_low_ms").log10() * _TENTHS).floor()
    return (
        bins.filter(pl.col("count") > 0)
        .group_by(bytes=pl.col("size_low_bytes").clip(1), bytes_to="size_high_bytes", step=step)
        .agg(pl.col("count").sum())
        .sort("bytes", "step")
        .select(
            pl.col("bytes", "bytes_to").cast(pl.Float64),
            time_ms=10 ** (pl.col("step") / _TENTHS),
            time_ms_to=10 ** ((pl.col("step") + 1) / _TENTHS),
            percent=100 * pl.col("count") / pl.col("count").sum(),
        )
    )


def intervals(gathered: Gathered, number: Number) -> dict[str, dict[str, pl.DataFrame]]:
    """Return each scheme's mean of a number over its seeds with its 95 % interval, as ``Comparison.intervals`` does.

    They stand under the name of each direction of each link, where the number is one of links, else under ``""``.
    """
    if number.name not in OF_LINK:
        return {"": gathered.comparison.intervals(number.name)}
    places = directions.by_place(gathered.valid[0].record()["directions"])
    return {
        place: {
            label: stats.interval((each.read(result.summary) for result in results), most=number.most)
            for label, results in gathered.by_label.items()
        }
        for place, each in ((place, number._replace(direction=at)) for at, place in enumerate(places))
    }
