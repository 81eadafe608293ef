"""Quantities of the claims of Le et al.: columns of their tables, and points of their figures."""

from __future__ import annotations

import math
from collections.abc import Iterable

import polars as pl

from aqmlab.store.result import Result
from aqmlab.studies.kit.claims.predicates import CLOSE, SAME, Part, approximately
from aqmlab.studies.kit.claims.quantities import AREA, Column, PrintedTables, Quantity, difference, quantity
from aqmlab.studies.kit.measures import loss_percent, throughput_mbps
from aqmlab.studies.le.measures import completed_percent, rise_percent
from aqmlab.studies.le.published import Published
from aqmlab.studies.le.schemes import run_name
from aqmlab.studies.le.tables import per_90_minutes

_LOSS_AXIS = 10.0
"""Length of an axis of losses, in percent."""

_TAIL_AXIS = 5.0
"""Length of the axis of the papers' figures of tails, in decades."""

LOSS = Column(what="loss, %", measure=loss_percent, name="loss_percent", digits=1)
COMPLETED = Column(
    what="completed in 90 minutes, millions",
    measure=lambda result: per_90_minutes(result) / 1e6,
    name="completed_millions",
    digits=1,
)
MBPS = Column(what="throughput, Mbit/s", measure=throughput_mbps, name="throughput_mbps", digits=1)

CROSSING_MS = (3_500, 7_000)
"""approximately 5 s: within 5 % of the three decades above a second in a figure of tails."""


def printed_tables(*names: str) -> PrintedTables:
    """Return printed tables by the names of our runs."""
    rows = (row for row in Published.read().rows if row.table in names)
    return {
        run_name(row.scheme, row.load_percent, row.rtt): {
            column.name: getattr(row, column.name) for column in (LOSS, COMPLETED, MBPS)
        }
        for row in rows
    }


def completed_within(time_ms: float) -> Column:
    """Return the share of the requests completed within a time."""
    return Column(what=f"completed within {time_ms:,.0f} ms, %", measure=completed_percent(time_ms))


def rises(from_ms: float, to_ms: float, *, below_bytes: int | None = None) -> Column:
    """Return the share completed between two times, of all requests or of those for small responses."""
    sizes = "" if below_bytes is None else f" of responses below {below_bytes:,} B"
    what = f"completed between {from_ms:,.0f} and {to_ms:,.0f} ms{sizes}, %"
    return Column(what=what, measure=rise_percent(from_ms, to_ms, below_bytes=below_bytes))


def beyond(time_s: float) -> Column:
    """Return the decimal logarithm of the percent of requests that take longer, as on the axis of tails."""
    longer = completed_percent(1000 * time_s)

    def measure(result: Result) -> float:
        share = 100 - longer(result)
        return math.log10(share) if share > 0 else -math.inf

    return Column(what=f"logarithm of the percent completed after {time_s:g} s", measure=measure)


def _largest(result: Result) -> float:
    """Return the logarithm of the size of the largest completed response, a lower bound in bytes."""
    completed_sizes = result.response_times.filter(pl.col("count") > 0)["size_low_bytes"]
    return math.log10(max(1, *completed_sizes.to_list()))


LARGEST = Column(what="logarithm of the largest response's bytes", measure=_largest)


def about_percent(time_ms: float, percent: float, *runs: str) -> Iterable[Part]:
    """Claim that approximately this percentage of the requests completes within a time."""
    return (approximately(quantity(completed_within(time_ms), run), percent) for run in runs)


def about_beyond(time_s: float, percent: float, *runs: str) -> Iterable[Part]:
    """Claim that approximately this percentage of the requests takes longer."""
    return (approximately(quantity(beyond(time_s), run), math.log10(percent), axis=_TAIL_AXIS) for run in runs)


def same_tail(time_s: float, run: str, other: str) -> Part:
    """Claim that equal shares of requests take longer: within 2 % of the axis of tails."""
    gap = difference(quantity(beyond(time_s), run), quantity(beyond(time_s), other))
    return approximately(gap, 0, limit=SAME, axis=_TAIL_AXIS)


def little_loss(run: str, other: str) -> Part:
    """Claim that two losses differ little: by at most 5 % of their axis."""
    return approximately(difference(quantity(LOSS, run), quantity(LOSS, other)), 0, limit=CLOSE, axis=_LOSS_AXIS)


def gain(one: str, over: str) -> Quantity:
    """Return the mean distance of a run's curve above another's."""
    return difference(quantity(AREA, one), quantity(AREA, over))
