"""Downsampled series for figures: few points, each of them a value of the results."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from aqmlab import stats
from aqmlab.flows import senders
from aqmlab.metrics.numbers import LINK_NUMBERS, Number
from aqmlab.reports.selection import Selection
from aqmlab.results.timeseries import BINS
from aqmlab.spec import directions
from aqmlab.store.result import Result, pooled_cdf

_PER_DECADE = 50
"""The number of points of a distribution per decade of times."""

_CELLS_PER_DECADE = 10
"""The number of cells of a density per decade of times."""

_MIN_REQUESTS = 10
"""The smallest number of requests of a size for which a median is shown."""


def distribution(results: Sequence[Result]) -> pl.DataFrame:
    """Return points of the distribution of response times over all seeds, as ``time_ms`` and ``fraction``.

    With several seeds, ``low`` and ``high`` bound its 95 % interval for each time separately.
    """
    steps = pooled_cdf(results).with_columns(step=(pl.col("time_ms").log10() * _PER_DECADE).floor())
    points = steps.group_by("step", maintain_order=True).last().select("time_ms", "fraction")
    return stats.share_intervals(points, [result.response_time_bins for result in results])


def difference(first: Result, other: Result) -> pl.DataFrame:
    """Return the difference of two distributions of one seed as ``time_ms`` and ``difference``, without a band."""
    times = np.geomspace(10, 10_000, 3 * _PER_DECADE + 1)
    first_shares, other_shares = (
        np.array(stats.shares_within(result.response_time_bins, times)) for result in (first, other)
    )
    rows = pl.DataFrame({"time_ms": times, "difference": other_shares - first_shares})
    return rows.filter(pl.col("difference").is_finite())


def by_size(results: Sequence[Result]) -> pl.DataFrame:
    """Return the median and the 90th percentile of response times by response size, over all seeds.

    The columns are ``bytes``, the middle of the sizes on a logarithmic axis, ``p50``, ``p90`` in ms, and ``requests``.
    """
    pooled = pl.concat([result.response_times for result in results])
    rows = []
    for (low, high), bins in sorted(pooled.group_by("size_low_bytes", "size_high_bytes")):
        requests = bins["count"].sum()
        if requests >= _MIN_REQUESTS:
            p50, p90 = stats.quantiles(bins, (0.5, 0.9))
            middle = (max(float(low), 1.0) * float(high)) ** 0.5
            rows.append({"bytes": middle, "p50": p50, "p90": p90, "requests": requests})
    return pl.DataFrame(rows, schema={"bytes": pl.Float64, "p50": pl.Float64, "p90": pl.Float64, "requests": pl.Int64})


def density(results: Sequence[Result]) -> pl.DataFrame:
    """Return the share of requests by response size and response time, over all seeds.

    The columns are ``bytes`` and ``bytes_to``, an octave; ``time_ms`` and ``time_ms_to``, a tenth of a decade; and
    ``percent`` of the requests.
    """
    bins = pl.concat([result.response_times for result in results])
    step = (pl.col("time_low_ms").log10() * _CELLS_PER_DECADE).floor()
    return (
        bins.filter(pl.col("count") > 0)
        .group_by(bytes=pl.col("size_low_bytes").clip(1), bytes_to="size_high_bytes", step=step)
        .agg(pl.col("count").sum())
        .sort("bytes", "step")
        .select(
            pl.col("bytes", "bytes_to").cast(pl.Float64),
            time_ms=10 ** (pl.col("step") / _CELLS_PER_DECADE),
            time_ms_to=10 ** ((pl.col("step") + 1) / _CELLS_PER_DECADE),
            percent=100 * pl.col("count") / pl.col("count").sum(),
        )
    )


def windows(result: Result) -> pl.DataFrame:
    """Return the congestion windows of a result's flows; without the table of flows a frame without rows.

    The columns are ``flow``, the name of its source with its number, ``time_s``, the middle of each of 160 periods, and
    the mean, minimum and maximum of a period: ``cwnd_kb``, ``low`` and ``high``.
    """
    if not result.cell.resolved["record"].get("flows"):
        return pl.DataFrame(schema={"flow": pl.String, "time_s": pl.Float64, "cwnd_kb": pl.Float64})
    start, width = result.cell.warmup_s, result.cell.duration_s / BINS
    step = ((pl.col("time_s") - start) / width).floor().clip(0, BINS - 1)
    names = {0: "user"} | {
        number: next(iter(source.values()))["name"] for number, source in enumerate(result.cell.resolved["sources"], 1)
    }
    window = pl.col("cwnd_bytes") / 1000
    bins = (
        senders(result.flows)
        .group_by("source", "flow", step=step)
        .agg(cwnd_kb=window.mean(), low=window.min(), high=window.max())
    )
    flow = pl.format("{} {}", pl.col("source").replace_strict(names), pl.col("flow") + 1)
    return bins.sort("source", "flow", "step").select(
        flow.alias("flow"), (start + (pl.col("step") + 0.5) * width).alias("time_s"), "cwnd_kb", "low", "high"
    )


def intervals(selection: Selection, number: Number) -> dict[str, dict[str, pl.DataFrame]]:
    """Return each scheme's mean of a number over its seeds with its 95 % interval, like ``Comparison.intervals``.

    The keys are the directions of each link if the number is one of links, otherwise ``""``.
    """
    if number.name not in LINK_NUMBERS:
        return {"": selection.comparison.intervals(number.name)}
    positions = directions.by_place(selection.valid[0].record()["directions"])
    return {
        position: {
            label: stats.interval((directed.read(result.summary) for result in results), upper_bound=number.upper_bound)
            for label, results in selection.by_label.items()
        }
        for position, directed in (
            (position, number._replace(direction=index)) for index, position in enumerate(positions)
        )
    }
