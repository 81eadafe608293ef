"""The comparison of conversations as a table and as text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import polars as pl
from rich.table import Table

from aqmlab.conversations.comparison import WORLDS, Comparison
from aqmlab.conversations.differences import Difference
from aqmlab.conversations.segments import Conversation
from aqmlab.ui import console

KINDS = ("content", "time", "window")
"""The kinds of differences, in the order of the table."""


def table(comparisons: Iterable[Comparison]) -> Table:
    """Return a table with a row for each connection."""
    sheet = console.sheet()
    for heading in ("connection", "segments", "compared", *KINDS, "largest lag, us"):
        sheet.add_column(heading)
    for number, comparison in enumerate(comparisons):
        found = comparison.differences
        sheet.add_row(
            str(number),
            " / ".join(f"{total:,}" for total in found.totals),
            f"{found.compared:,}",
            *(describe(getattr(found, kind)) for kind in KINDS),
            f"{found.greatest_lag_ns / 1e3:,.3f}",
        )
    return sheet


def frame(comparisons: Iterable[Comparison]) -> pl.DataFrame:
    """Return the table as a frame, with a row for each connection."""
    rows = [
        {
            "connection": number,
            **{f"segments_{world}": total for world, total in zip(WORLDS, comparison.differences.totals, strict=True)},
            "compared": comparison.differences.compared,
            **{kind: describe(getattr(comparison.differences, kind)) for kind in KINDS},
            "largest_lag_us": comparison.differences.greatest_lag_ns / 1e3,
        }
        for number, comparison in enumerate(comparisons)
    ]
    return pl.DataFrame(rows)


def describe(difference: Difference | None) -> str:
    """Return the place of a difference and the fields that differ, in a few words."""
    if difference is None:
        return "none"
    return f"{', '.join(difference.fields)} at {difference.time_ns / 1e6:,.3f} ms"


def excerpt(comparison: Comparison, kind: str, context: int) -> Iterator[str]:
    """Yield the segments of both worlds around the first difference of a kind, in lines; a star marks it."""
    difference: Difference | None = getattr(comparison.differences, kind)
    if difference is None:
        return
    marked = (difference.first, difference.second)
    for world, conversation, segment in zip(WORLDS, comparison.conversations, marked, strict=True):
        yield f"{world}:"
        place = _place(conversation, difference.time_ns) if segment is None else conversation.segments.index(segment)
        start = max(0, place - context)
        for near in conversation.segments[start : place + context + 1]:
            yield f"{'*' if near is segment else ' '} {near}"
        if segment is None:
            yield "* (no such segment)"


def _place(conversation: Conversation, time_ns: int) -> int:
    return sum(segment.time_ns < time_ns for segment in conversation.segments)


def record(comparison: Comparison) -> dict[str, Any]:
    """Return a comparison as values for JSON."""
    found = comparison.differences
    differences = {kind: _difference_record(getattr(found, kind)) for kind in KINDS}
    segments = dict(zip(WORLDS, found.totals, strict=True))
    return {
        "segments": segments,
        "compared": found.compared,
        **differences,
        "largest_lag_us": found.greatest_lag_ns / 1e3,
    }


def _difference_record(difference: Difference | None) -> dict[str, Any] | None:
    if difference is None:
        return None
    segments = (difference.first, difference.second)
    texts = {world: segment and str(segment).strip() for world, segment in zip(WORLDS, segments, strict=True)}
    return {"time_ms": difference.time_ns / 1e6, "fields": list(difference.fields), **texts}
