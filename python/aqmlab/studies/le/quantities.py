"""The numbers that the second reading of Le et al. is about: their tables' columns, and what figures are read for."""

from __future__ import annotations

import math
from collections.abc import Iterable

import polars as pl

from aqmlab.store.result import Result
from aqmlab.studies.kit.claims.predicates import CLOSE, SAME, Approximately, Part
from aqmlab.studies.kit.claims.quantities import AREA, Column, PrintedTables, Quantity, difference, quantity
from aqmlab.studies.kit.measures import loss_percent, throughput_mbps
from aqmlab.studies.le.measures import answered_percent, rise_percent
from aqmlab.studies.le.published import Published
from aqmlab.studies.le.schemes import run_name
from aqmlab.studies.le.tables import per_90_minutes

_LOSS_AXIS = 10.0
"""Percent: what a figure of the tables' losses would show."""

_TAIL_AXIS = 5.0
"""Decades of the percent that take longer, in the papers' figures of tails."""

LOSS = Column(what="loss, %", measure=loss_percent, name="loss_percent", digits=1)
COMPLETED = Column(
    what="completed in 90 minutes, millions",
    measure=lambda result: per_90_minutes(result) / 1e6,
    name="completed_millions",
    digits=1,
)
MBPS = Column(what="throughput, Mbit/s", measure=throughput_mbps, name="throughput_mbps", digits=1)

CROSSING_MS = (3_500, 7_000)
"""Approximately 5 s: within 5 % of the three decades that a figure of tails has above a second."""


def printed_tables(*names: str) -> PrintedTables:
    """Return printed tables by the names of our runs."""
    rows = (row for row in Published.read().rows if row.table in names)
    return {
        run_name(row.scheme, row.load_percent, row.rtt): {
            column.name: getattr(row, column.name) for column in (LOSS, COMPLETED, MBPS)
        }
        for row in rows
    }


def answered(time_ms: float) -> Column:
    """Return the share of the requests answered within a time."""
    return Column(what=f"answered within {time_ms:,.0f} ms, %", measure=answered_percent(time_ms))


def rises(from_ms: float, to_ms: float, *, below_bytes: int | None = None) -> Column:
    """Return the share answered between two times, of all requests or of those for small responses."""
    of_whom = "" if below_bytes is None else f" of responses below {below_bytes:,} B"
    what = f"answered between {from_ms:,.0f} and {to_ms:,.0f} ms{of_whom}, %"
    return Column(what=what, measure=rise_percent(from_ms, to_ms, below_bytes=below_bytes))


def beyond(time_s: float) -> Column:
    """Return the decimal logarithm of the percent of the requests that take longer, as an axis of tails has it."""
    longer = answered_percent(1000 * time_s)

    def measure(result: Result) -> float:
        share = 100 - longer(result)
        return math.log10(share) if share > 0 else -math.inf

    return Column(what=f"logarithm of the percent answered after {time_s:g} s", measure=measure)


def _largest(result: Result) -> float:
    """Return the logarithm of the bytes that the largest response completed had at least."""
    answered_sizes = result.response_times.filter(pl.col("count") > 0)["size_low_bytes"]
    return math.log10(max(1, *answered_sizes.to_list()))


LARGEST = Column(what="logarithm of the largest response's bytes", measure=_largest)


def about_percent(time_ms: float, percent: float, *runs: str) -> Iterable[Part]:
    """Say that approximately so many percent of the requests are answered within a time."""
    return (Approximately(value=quantity(answered(time_ms), run), number=percent) for run in runs)


def about_beyond(time_s: float, percent: float, *runs: str) -> Iterable[Part]:
    """Say that approximately so many percent of the requests take longer."""
    return (
        Approximately(value=quantity(beyond(time_s), run), number=math.log10(percent), axis=_TAIL_AXIS) for run in runs
    )


def same_tail(time_s: float, run: str, other: str) -> Part:
    """Say that as many requests take longer: within 2 % of the tails' axis."""
    gap = difference(quantity(beyond(time_s), run), quantity(beyond(time_s), other))
    return Approximately(value=gap, number=0, limit=SAME, axis=_TAIL_AXIS)


def little_loss(run: str, other: str) -> Part:
    """Say that two losses differ little: by 5 % of their axis at most."""
    return Approximately(
        value=difference(quantity(LOSS, run), quantity(LOSS, other)), number=0, limit=CLOSE, axis=_LOSS_AXIS
    )


def gain(one: str, over: str) -> Quantity:
    """Return by how much a run's curve is above another's on average."""
    return difference(quantity(AREA, one), quantity(AREA, over))
