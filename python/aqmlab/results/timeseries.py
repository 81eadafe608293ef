"""Time series of a queue: its queueing delay and the probability of its law."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from aqmlab._core import seconds
from aqmlab.cells.cell import Cell
from aqmlab.flows import jain_index, window_rates
from aqmlab.store.result import Result
from aqmlab.traces.capacity import differ, mean_mbps

_Floats = NDArray[np.float64]

BINS = 160
"""The number of periods of a downsampled time series: a phone has about two pixels for each. Ours."""


def link_delays_ms(result: Result, link: int, direction: int) -> pl.DataFrame:
    """Return the queueing delay at one link, numbered from 1 in a chain: ``time_s`` and ``delay_ms``.

    It is the time that the link needs to send the queued packets, with its changes of rate.
    """
    queue = _select_direction(result.queue, link, direction)
    return queue.select("time_s", delay_ms=_delays_ms(result.cell, link - 1, direction, queue))


def delays_ms(result: Result, direction: int) -> pl.DataFrame:
    """Return the sum of the queueing delays of all links: ``time_s`` and ``delay_ms``."""
    by_link = pl.concat(link_delays_ms(result, link, direction) for link in range(1, 1 + len(result.cell.links)))
    return by_link.group_by("time_s").agg(pl.col("delay_ms").sum()).sort("time_s")


def windows(result: Result, direction: int, window_s: float = 1.0) -> pl.DataFrame:
    """Return mean queueing delay and throughput in each window of the measurement window.

    Returns
    -------
    polars.DataFrame
        ``slice``, numbered from 0, ``delay_ms``, and ``throughput_mbps`` of IP packets that leave the queue.
    """
    # A row with a time describes the period before it.
    index = ((pl.col("time_s") - result.cell.warmup_s - 1e-6) / window_s).floor().cast(pl.Int64)
    delays = delays_ms(result, direction).group_by(slice=index).agg(pl.col("delay_ms").mean())
    link = result.link.filter(pl.col("direction") == direction)
    throughput = link.group_by(slice=index).agg(throughput_mbps=8e-6 / window_s * pl.col("bytes").sum())
    return delays.join(throughput, on="slice").sort("slice")


def downsample(result: Result) -> pl.DataFrame:
    """Return a cell's queueing delay and its law's probability, if any, downsampled with all extremes.

    Returns
    -------
    polars.DataFrame
        ``link``, ``direction`` and ``time_s``, the middle of each of 160 periods of the measurement window; minimum,
        mean and maximum of each period: ``delay_ms_low``, ``delay_ms_mean``, ``delay_ms_high``, and the same of
        ``probability``.
    """
    start, width = result.cell.warmup_s, result.cell.duration_s / BINS
    step = ((pl.col("time_s") - start) / width).floor().clip(0, BINS - 1)
    queue_rows, frames = result.queue, []
    law = _probability(queue_rows.columns)
    for number in range(1, 1 + len(result.cell.links)):
        for direction in (0, 1):
            queue = _select_direction(queue_rows, number, direction)
            rows = queue.with_columns(delay_ms=_delays_ms(result.cell, number - 1, direction, queue))
            values = {"delay_ms": pl.col("delay_ms")} | ({"probability": pl.col(law)} if law else {})
            bins = rows.group_by(step=step).agg(
                expression
                for name, value in values.items()
                for expression in (
                    value.min().alias(f"{name}_low"),
                    value.mean().alias(f"{name}_mean"),
                    value.max().alias(f"{name}_high"),
                )
            )
            frames.append(
                bins.sort("step").select(
                    pl.lit(number).alias("link"),
                    pl.lit(direction).alias("direction"),
                    (start + (pl.col("step") + 0.5) * width).alias("time_s"),
                    pl.exclude("step"),
                )
            )
    return pl.concat(frames)


def capacity(result: Result) -> pl.DataFrame:
    """Return the rates of links whose rate changes, as means of the periods of :func:`downsample`.

    Returns
    -------
    polars.DataFrame
        ``link``, ``direction``, ``time_s``, the beginning of each period and the end of the last one, and ``mbps`` from
        then on, frames' overhead included. A link with one rate has no rows.
    """
    cell = result.cell
    edges = np.linspace(cell.warmup_s, cell.warmup_s + cell.duration_s, BINS + 1)
    frames = [pl.DataFrame(schema={"link": pl.Int64, "direction": pl.Int64, "time_s": pl.Float64, "mbps": pl.Float64})]
    for number, link in enumerate(cell.links, start=1):
        for direction in (0, 1):
            mbps = mean_mbps(link, direction, cell.seed, edges)
            if differ(mbps):
                rows = {"time_s": edges, "mbps": np.append(mbps, mbps[-1])}
                frames.append(pl.DataFrame({"link": number, "direction": direction, **rows}, schema=frames[0].schema))
    return pl.concat(frames)


def throughput(result: Result) -> pl.DataFrame:
    """Return the rates at which links send over time, frames' overhead included.

    Returns
    -------
    polars.DataFrame
        ``link``, ``direction``, ``time_s``, the middle of each of at most 160 periods, and ``mbps``.
    """
    overheads = {number: link.overhead_bytes for number, link in enumerate(result.cell.links, start=1)}
    overhead = pl.col("link").cast(pl.Int64).replace_strict(overheads)
    return _link_rates(result, mbps=8e-6 * (pl.col("bytes") + overhead * pl.col("packets")))


def signals(result: Result) -> pl.DataFrame:
    """Return the drops and marks of queues over time.

    Returns
    -------
    polars.DataFrame
        ``link``, ``direction``, ``time_s``, the middle of each of at most 160 periods, ``signal``, which is
        ``dropped`` or ``marked``, and ``per_s``, the packets a second with it.
    """
    rates = _link_rates(result, dropped=pl.col("drops"), marked=pl.col("marks"))
    return rates.unpivot(["dropped", "marked"], index=["link", "direction", "time_s"], variable_name="signal").rename(
        {"value": "per_s"}
    )


def _link_rates(result: Result, **quantities: pl.Expr) -> pl.DataFrame:
    """Return quantities of the table ``link`` a second, in at most 160 periods of the measurement window."""
    cell = result.cell
    periods = max(1, min(BINS, round(cell.duration_s / seconds(cell.resolved["record"]["link_every"]))))
    width = cell.duration_s / periods
    # A row with a time describes the period before it.
    step = ((pl.col("time_s") - cell.warmup_s - 1e-6) / width).floor()
    table = result.link if "link" in result.link.columns else result.link.with_columns(link=pl.lit(1))
    return (
        table.with_columns(step=step)
        .filter(pl.col("step").is_between(0, periods - 1))
        .group_by("link", "direction", "step")
        .agg((value.sum() / width).alias(name) for name, value in quantities.items())
        .sort("link", "direction", "step")
        .select("link", "direction", (cell.warmup_s + (pl.col("step") + 0.5) * width).alias("time_s"), *quantities)
    )


def flow_rates(result: Result) -> pl.DataFrame:
    """Return the rates of the flows of sources over time, from the table ``flows``, and how equal they are.

    Returns
    -------
    polars.DataFrame
        ``direction`` and ``time_s``, the middle of each of at most 160 periods of a second or longer; over the flows
        that have a connection then, in a direction with data, the median of their rates ``rate``, the smallest ``low``
        and the largest ``high``, all in Mbit/s of delivered data, and Jain's index ``fairness``, null if nothing is
        delivered.
    """
    start, duration = result.cell.warmup_s, result.cell.duration_s
    periods = max(1, min(BINS, int(duration)))
    width = duration / periods
    by_flow = window_rates(result.flows.filter(pl.col("source") > 0), start, width)
    rate = pl.col("rate_mbps")
    return (
        by_flow.filter(pl.col("window").is_between(0, periods - 1))
        .group_by("direction", "window")
        .agg(rate=rate.median(), low=rate.min(), high=rate.max(), fairness=jain_index(rate))
        # Requests and acknowledgements alone make no row.
        .filter(pl.col("fairness").is_not_null().any().over("direction"))
        .sort("direction", "window")
        .select(
            "direction",
            (start + (pl.col("window") + 0.5) * width).alias("time_s"),
            *("rate", "low", "high", "fairness"),
        )
    )


def _select_direction(queue: pl.DataFrame, link: int, direction: int) -> pl.DataFrame:
    queue = queue.filter(pl.col("direction") == direction)
    return queue.filter(pl.col("link") == link) if "link" in queue.columns else queue


def _delays_ms(cell: Cell, number: int, direction: int, queue: pl.DataFrame) -> pl.Series:
    link = cell.links[number]
    extra_bytes = link.overhead_bytes - link.header_bytes
    bits = queue.select(8 * (pl.col("bytes") + extra_bytes * pl.col("packets"))).to_series().to_numpy()
    now = queue["time_s"].to_numpy()
    changes = link.drain_rates(direction, float(now.max(initial=0)), cell.seed)
    return pl.Series(1e3 * _time_to_send(changes, now, bits))


def _time_to_send(changes: list[tuple[float, float]], now: _Floats, bits: _Floats) -> _Floats:
    """Return the seconds that a link with these rates over time needs to send ``bits`` from each time on."""
    starts, rates = (np.array(column, dtype=float) for column in zip(*changes, strict=True))
    # Without samples there is nothing to send.
    times = np.append(starts, now.max(initial=starts[-1]) + bits.max(initial=0) / rates[-1])
    sent = np.append(0.0, np.cumsum(rates * np.diff(times)))
    done: _Floats = np.interp(np.interp(now, times, sent) + bits, sent, times)
    # Rounding would make the delay of an empty queue slightly negative.
    return np.where(bits > 0, done - now, 0.0)


def _probability(columns: Sequence[str]) -> str | None:
    """Return the column with the law's probability of a drop or a mark, if any."""
    return next((name for name in columns if name.split("_")[0] == "p"), None)
