"""What the words of Le, Aikat, Jeffay and Smith mean in numbers: one rule for both papers, written before any result.

Response times are compared as the papers' plots compare them, by the shares of requests that are answered within a
time, from 50 ms to the plots' 2 s unless the paper names another range.

* *alike* ("identical", "indistinguishable", "comparable", "no effect"): the shares are within 2 percentage points of
  each other at each of ten times in the range. That is what can be seen in a plot as large as a column.
* *near* ("competitive", "close to the uncongested network", "marginally worse"): the same within 5 points.
* *better*, after section 4.4 of the 2003 paper, clearly above in a substantial range and comparable in the rest: over
  the range the share is higher by 1 point on average, which is what can be seen over half of it, and nowhere lower by
  more than 2 points.
* *much better* ("significantly", "substantially", "far"): the same with 2.5 points on average: 5 over half of it.
* *not better*: on average higher by less than 1 point, or lower.

Numbers of the tables: more or less is any difference; "similar" is within 1 percentage point of loss, 2 % of requests,
1.5 Mbit/s, which are the aims of the tables; "substantially lower" is at most half; "modestly lower" is by
less than 5 %.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import polars as pl

from aqmlab import stats
from aqmlab.store.result import Result
from aqmlab.studies.kit.claims import All, Between, Claim, CloseTo, Dominates, Greater, Predicate, Raises
from aqmlab.studies.kit.findings import Measure
from aqmlab.studies.kit.measures import completed_requests, loss_percent, share_within, throughput_mbps


class Said(NamedTuple):
    """What a paper says in one place."""

    place: str
    gist: str
    predicate: Predicate


def numbered(paper: str, said: Iterable[Said]) -> tuple[Claim, ...]:
    """Return the claims of a paper, numbered in their order."""
    return tuple(Claim(id=f"{paper}-{n:02}", **each._asdict()) for n, each in enumerate(said, start=1))


VISIBLE, MARKED = 2.0, 5.0
"""Percentage points: the rule above."""
FROM_MS, TO_MS = 50.0, 2000.0

SIMILAR_LOSS_POINTS, SIMILAR_COMPLETED_PERCENT, SIMILAR_MBPS = 1.0, 2.0, 1.5


def alike(one: str, other: str, from_ms: float = FROM_MS, to_ms: float = TO_MS, *, points: float = VISIBLE) -> All:
    """Two runs' shares differ by no more than so many points anywhere in the range."""
    return All(
        parts=tuple(
            Dominates(scheme=a, over=b, from_ms=from_ms, to_ms=to_ms, margin=-points / 100)
            for a, b in ((one, other), (other, one))
        )
    )


def near(one: str, other: str, from_ms: float = FROM_MS, to_ms: float = TO_MS) -> All:
    """Two runs' shares differ by no more than 5 points anywhere in the range."""
    return alike(one, other, from_ms, to_ms, points=MARKED)


def better(one: str, other: str, from_ms: float = FROM_MS, to_ms: float = TO_MS, *, by: float = VISIBLE) -> All:
    """One run's share is higher by half of ``by`` points on average, and nowhere visibly lower."""
    return All(
        parts=(
            _average(one, other, from_ms, to_ms, margin=by / 2),
            no_worse(one, other, from_ms, to_ms),
        )
    )


def much_better(one: str, other: str, from_ms: float = FROM_MS, to_ms: float = TO_MS) -> All:
    """One run's share is higher by 2.5 points on average, and nowhere visibly lower."""
    return better(one, other, from_ms, to_ms, by=MARKED)


def not_better(one: str, than: str) -> Greater:
    """One run's share is not higher by 1 point on average."""
    return _average(than, one, FROM_MS, TO_MS, margin=-VISIBLE / 2)


def no_worse(one: str, other: str, from_ms: float = FROM_MS, to_ms: float = TO_MS) -> Dominates:
    """One run's share is nowhere in the range visibly lower."""
    return Dominates(scheme=one, over=other, from_ms=from_ms, to_ms=to_ms, margin=-VISIBLE / 100)


def every(*parts: Predicate | Iterable[Predicate]) -> All:
    """All of these at once."""
    flat: list[Predicate] = []
    for part in parts:
        flat.extend(part if isinstance(part, Iterable) else (part,))
    return All(parts=tuple(flat))


def answered(time_ms: float, run: str, *, low: float = 0.0, high: float = 100.0) -> Between:
    """One run's share of requests answered within a time, %, is in a range."""
    return Between(
        what=f"requests answered within {time_ms:,.0f} ms, %", measure=within(time_ms), scheme=run, low=low, high=high
    )


def answers_more(time_ms: float, one: str, other: str) -> Greater:
    """One run answers more requests within a time."""
    return Greater(
        what=f"requests answered within {time_ms:,.0f} ms, %", measure=within(time_ms), scheme=one, than=other
    )


def loses_less(one: str, other: str) -> Greater:
    """One run has the lower loss."""
    return Greater(what="loss, %", measure=loss_percent, scheme=other, than=one)


def completes_more(one: str, other: str) -> Greater:
    """One run completes more requests."""
    return Greater(what="completed requests", measure=completed_requests, scheme=one, than=other)


def carries_more(one: str, other: str) -> Greater:
    """One run has the higher throughput."""
    return Greater(what="throughput, Mbit/s", measure=throughput_mbps, scheme=one, than=other)


def similar_loss(one: str, other: str) -> CloseTo:
    """Two runs lose alike."""
    return CloseTo(what="loss, %", measure=loss_percent, scheme=one, to=other, margin=SIMILAR_LOSS_POINTS)


def similar_work(one: str, other: str) -> All:
    """Two runs complete and carry alike."""
    return every(
        Raises(
            what="completed requests",
            measure=completed_requests,
            scheme=one,
            over=other,
            low_percent=-SIMILAR_COMPLETED_PERCENT,
            high_percent=SIMILAR_COMPLETED_PERCENT,
        ),
        CloseTo(what="throughput, Mbit/s", measure=throughput_mbps, scheme=one, to=other, margin=SIMILAR_MBPS),
    )


def substantially_less(what: str, measure: Measure, one: str, other: str) -> Raises:
    """One run's measure is at most half of the other's."""
    return Raises(what=what, measure=measure, scheme=one, over=other, high_percent=-50)


def modestly_less(what: str, measure: Measure, one: str, other: str) -> Raises:
    """One run's measure is lower, but by less than 5 %."""
    return Raises(what=what, measure=measure, scheme=one, over=other, low_percent=-5, high_percent=0)


def within(time_ms: float) -> Measure:
    """Return the share of requests answered within a time, %."""
    share = share_within(time_ms)
    return lambda result: 100 * share(result)


def average_share(from_ms: float, to_ms: float) -> Measure:
    """Return the share answered within a time, %, averaged over the times of a range: the area under the plot."""
    times = np.linspace(from_ms, to_ms, 200).tolist()
    return lambda result: 100 * float(np.mean(stats.shares_within(result.response_time_bins, times)))


def rise(from_ms: float, to_ms: float, *, below_bytes: int | None = None) -> Measure:
    """Return the share answered between two times, %, of all requests or of those for small responses."""

    def measure(result: Result) -> float:
        bins = result.response_times
        if below_bytes is not None:
            bins = bins.filter(pl.col("size_high_bytes") <= below_bytes)
        first, last = stats.shares_within(bins, [from_ms, to_ms])
        return 100 * (last - first)

    return measure


def _average(one: str, other: str, from_ms: float, to_ms: float, *, margin: float) -> Greater:
    what = f"share answered, averaged over {from_ms:,.0f} to {to_ms:,.0f} ms, %"
    return Greater(what=what, measure=average_share(from_ms, to_ms), scheme=one, than=other, margin=margin)
