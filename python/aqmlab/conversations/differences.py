"""The first difference between two conversations, by kind: content, time and window.

Segments are matched by their number in their direction. After the first difference in content the numbers mean
different segments, so that times and windows are compared before it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from aqmlab.conversations.segments import Conversation, Segment

CONTENT = ("seq", "length", "ack", "flags", "sack", "options", "ecn", "outcome")
"""The fields of a segment that are its content."""


@dataclass(frozen=True)
class Difference:
    """A segment that differs between two conversations; ``None`` for a segment that one of them lacks."""

    number: int
    """The number of the segment in its direction, from 0."""
    fields: tuple[str, ...]
    """The fields that differ."""
    first: Segment | None
    second: Segment | None

    @property
    def time_ns(self) -> int:
        """The time since the first SYN, by the earlier of the two segments."""
        return min(segment.time_ns for segment in (self.first, self.second) if segment is not None)


@dataclass(frozen=True)
class Differences:
    """The comparison of two conversations."""

    content: Difference | None
    """The first segment with another content, or that one of the conversations lacks."""
    time: Difference | None
    """The first segment before that with another time."""
    window: Difference | None
    """The first segment before that with another receive window."""
    compared: int
    """The segments before the first difference in content."""
    totals: tuple[int, int]
    """The segments of both conversations."""
    greatest_lag_ns: int
    """The greatest difference in time among the compared segments."""


def find_differences(first: Conversation, second: Conversation, *, tolerance_ns: int = 0) -> Differences:
    """Return the first differences between two conversations.

    Parameters
    ----------
    first, second : Conversation
        The conversations.
    tolerance_ns : int
        Times that differ by no more than this are equal; 0 ns by default.
    """
    pairs = sorted(_pairs(first, second), key=lambda pair: (_earliest(pair), pair[0]))
    content = next(filter(None, (_difference(pair, CONTENT) for pair in pairs)), None)
    time = window = None
    compared = greatest = 0
    for pair in pairs:
        number, a, b = pair
        if content is not None and (number, a, b) == (content.number, content.first, content.second):
            break
        assert a is not None, "a missing segment is a difference in content"
        assert b is not None, "a missing segment is a difference in content"
        compared += 1
        greatest = max(greatest, abs(a.time_ns - b.time_ns))
        if time is None and abs(a.time_ns - b.time_ns) > tolerance_ns:
            time = Difference(number, ("time",), a, b)
        window = window or _difference(pair, ("window",))
    totals = (len(first.segments), len(second.segments))
    return Differences(content, time, window, compared, totals, greatest)


_Pair = tuple[int, Segment | None, Segment | None]


def _pairs(first: Conversation, second: Conversation) -> Iterator[_Pair]:
    for direction in "><":
        a, b = ([s for s in side.segments if s.direction == direction] for side in (first, second))
        for number in range(max(len(a), len(b))):
            yield (
                number,
                a[number] if number < len(a) else None,
                b[number] if number < len(b) else None,
            )


def _earliest(pair: _Pair) -> int:
    return min(segment.time_ns for segment in pair[1:] if segment is not None)


def _difference(pair: _Pair, fields: tuple[str, ...]) -> Difference | None:
    number, a, b = pair
    if a is None or b is None:
        return Difference(number, ("presence",), a, b)
    unequal = tuple(name for name in fields if getattr(a, name) != getattr(b, name))
    return Difference(number, unequal, a, b) if unequal else None
