"""Quantities of the claims of Le et al.: columns of their tables, and points of their figures."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from types import MappingProxyType

import polars as pl

from aqmlab.store.result import Result
from aqmlab.studies.kit.claims.quantities import AREA, Column, PrintedTables, Quantity, difference, quantity
from aqmlab.studies.kit.claims.written import Vocabulary
from aqmlab.studies.kit.measures import loss_percent, throughput_mbps
from aqmlab.studies.le.measures import completed_percent, rise_percent
from aqmlab.studies.le.published import Published
from aqmlab.studies.le.schemes import PaperScheme, run_name
from aqmlab.studies.le.tables import per_90_minutes

LOSS = Column(what="loss, %", measure=loss_percent, name="loss_percent", digits=1)
COMPLETED = Column(
    what="completed in 90 minutes, millions",
    measure=lambda result: per_90_minutes(result) / 1e6,
    name="completed_millions",
    digits=1,
)
MBPS = Column(what="throughput, Mbit/s", measure=throughput_mbps, name="throughput_mbps", digits=1)


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


def gain(one: str, over: str) -> Quantity:
    """Return the mean distance of a run's curve above another's."""
    return difference(quantity(AREA, one), quantity(AREA, over))


_TIMES_MS = (125, 250, 300, 400, 500, 2_000, 3_500, 5_000, 7_000, 20_000, 60_000)
"""Times within which claims count completed requests. 3.5 and 7 s are near 5 s: within 5 % of the three decades above a
second in a figure of tails."""


def vocabulary(
    schemes: Iterable[PaperScheme],
    columns: Iterable[Column] = (),
    lists: Mapping[str, Iterable[PaperScheme]] = MappingProxyType({}),
) -> Vocabulary:
    """Return the words of a paper's claims: runs are a scheme's label at a load, such as ``PI 24 at 90 %``.

    Parameters
    ----------
    schemes
        The schemes of the paper.
    columns
        Columns of this paper alone.
    lists
        Schemes that have a name together.
    """
    of_both = (AREA, LOSS, COMPLETED, MBPS, LARGEST, *map(completed_within, _TIMES_MS), *map(beyond, (1, 5, 50)))
    return Vocabulary(
        columns=(*of_both, *columns),
        joint=" at ",
        names={scheme.label: scheme.text for scheme in schemes},
        lists={name: [scheme.label for scheme in several] for name, several in lists.items()},
    )
