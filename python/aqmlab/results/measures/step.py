"""The step response of the queueing delay to a change of rate or load: peak, settling time and excess area.

A step is a change of a link's rate, or the start or stop of a source, in the measurement window. The response extends
to the next step, or to the end. The delay is the time that the link needs to send the queued packets, with its changes
of rate, from the samples of the table ``queue``. The device FIFO, which no discipline controls, is left out; in a queue
that schedules between flows, the delay of a packet may differ.

The peak is the longest delay. The settling time is that of control theory (Ogata, "Modern Control Engineering", 5th
edition, 2010, chapter 5): the time after which the delay stays within 5 % of its final value. The delay of a queue
never stays that close, so that two choices are ours. The delay is averaged over the last second. The final value is
that of the second half of the response: the band is 5 % around its mean, widened to the range of the delay in that
half. A delay that is outside of the band up to the second half has not settled. The excess area is the integral of the
delay above that mean until it has settled, or up to the second half.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import polars as pl

from aqmlab._core import seconds
from aqmlab.cells.cell import Cell
from aqmlab.results.measures.measure import ByScheme, Column, Measure, MeasuredRow, congested, over_seeds
from aqmlab.results.timeseries import link_delays_ms
from aqmlab.spec.directions import place
from aqmlab.store.result import Result

_BAND = 0.05
"""Half of the band's width as a share of the final value: Ogata has 2 or 5 %."""

_WINDOW_S = 1.0

_EXACT_MS = 1e-9
"""The rounding error of a sum."""


def steps(cell: Cell) -> dict[float, str]:
    """Return the steps in the measurement window: their times in seconds since the run's start, and their names."""
    texts: dict[float, list[str]] = {}
    for number, link in enumerate(cell.links, start=1):
        suffix = f" of link {number}" if len(cell.links) > 1 else ""
        for time_s, bps in link.rate_changes:
            rate = "/".join(f"{one / 1e6:g}" for one in dict.fromkeys(bps))
            texts.setdefault(time_s, []).append(f"rate {rate} Mbit/s{suffix}")
    for source in cell.resolved.get("sources", ()):
        ((kind, parameters),) = source.items()
        name = parameters.get("name") or kind
        for key, verb in (("start", "starts"), ("stop", "stops")):
            if parameters.get(key) is not None:
                texts.setdefault(seconds(parameters[key]), []).append(f"{name} {verb}")
    return {time_s: ", ".join(texts[time_s]) for time_s in sorted(texts) if cell.warmup_s <= time_s < cell.end_s}


def step_response(delay_ms: pl.Series, interval_s: float) -> dict[str, float | None]:
    """Return the response of a delay to a step.

    Parameters
    ----------
    delay_ms
        The samples from the step on, in milliseconds.
    interval_s
        The time between two samples, in seconds.

    Returns
    -------
    dict
        ``peak_ms``, the longest delay; ``settle_s``, the settling time, ``None`` if the delay has not settled in the
        first half; ``excess_ms_s``, the area above the final mean until then, in milliseconds times seconds.

    Examples
    --------
    >>> step_response(pl.Series([30.0] * 10 + [10.0] * 10), interval_s=1.0)["excess_ms_s"]
    200.0
    """
    half, window = len(delay_ms) // 2, max(1, round(_WINDOW_S / interval_s))
    last_second = delay_ms.rolling_mean(window)
    settled = delay_ms[half:].rolling_mean(window).drop_nulls()
    final = float(np.mean(delay_ms[half:].to_numpy()))
    low = min([(1 - _BAND) * final, *settled]) - _EXACT_MS
    high = max([(1 + _BAND) * final, *settled]) + _EXACT_MS
    outside = ((last_second < low) | (last_second > high)).arg_true()
    unsettled = 0 if outside.is_empty() else int(outside[-1]) + 1
    excess = np.maximum(delay_ms[: min(unsettled, half)].to_numpy() - final, 0)
    return {
        "peak_ms": float(np.max(delay_ms.to_numpy())),
        "settle_s": unsettled * interval_s if unsettled < half else None,
        "excess_ms_s": float(excess.sum()) * interval_s,
    }


def _rows(schemes: ByScheme) -> Iterator[MeasuredRow]:
    for label, results in congested(schemes).items():
        by_seed = [_measure_seed(result) for result in results]
        for name in by_seed[0]:
            yield {"label": label, "of": name, **over_seeds([responses[name] for responses in by_seed])}


def _measure_seed(result: Result) -> dict[str, dict[str, float | None]]:
    """Return the response of each queue to each step with samples, by name."""
    cell = result.cell
    interval_s = seconds(cell.resolved["record"]["queue_every"])
    texts = steps(cell)
    delays = {
        (number, direction): link_delays_ms(result, number, direction)
        for number in range(1, 1 + len(cell.links))
        for direction in (0, 1)
    }
    responses = {}
    for start, end in pairwise([*texts, cell.end_s]):
        for (number, direction), delay in delays.items():
            samples = delay.filter((pl.col("time_s") > start) & (pl.col("time_s") <= end))["delay_ms"]
            place_name = place(number, cell.direction_names[direction], in_chain=len(cell.links) > 1)
            if not samples.is_empty():
                responses[f"{texts[start]} at {start:g} s, {place_name}"] = step_response(samples, interval_s)
    return responses


def _missing_requirement(cell: Cell) -> str | None:
    return None if steps(cell) else "a change of a rate, or a source that starts or stops, in the measurement window"


STEP = Measure(
    "Step response of the queueing delay to a change of rate or load",
    {
        "peak_ms": Column("peak, ms", 1, "ms"),
        "settle_s": Column("settles in, s", 1, "s"),
        "excess_ms_s": Column("excess, ms s", 1, "ms s"),
    },
    _rows,
    missing_requirement=_missing_requirement,
)
