"""Custom laws: the base class and the types of its methods.

A law is a class derived from :class:`Law` in a module of yours. ``my_module:MyLaw`` is then accepted as the name of a
discipline. ``docs/guide/custom-law.md`` is the guide.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, ClassVar, Literal

from aqmlab._core import LinkContext, Packet, QueueState, Stream
from aqmlab.disciplines.custom.base import CustomClass


class Verdict(StrEnum):
    """A law's decision about one packet. A law may also return the plain texts."""

    PASS = "pass"
    """Accept the packet."""
    MARK = "mark"
    """Signal congestion: set CE when the packet is ECN-capable, drop it otherwise."""
    DROP = "drop"
    """Drop the packet, ECN-capable or not."""


Answer = Verdict | Literal["pass", "mark", "drop"]


class Time(float):
    """A point in time in seconds since the start, with its whole nanoseconds.

    The nanoseconds are exact for the first 26 days.

    Examples
    --------
    >>> now = Time(0.010000001)
    >>> now + 0.5, now.ns
    (0.510000001, 10000001)
    """

    __slots__ = ()

    @property
    def ns(self) -> int:
        """The same time in whole nanoseconds."""
        return round(self * 1e9)


class Law(CustomClass):
    """The base class of custom laws. Derive from it, and decide in ``on_enqueue`` or ``on_dequeue`` or both.

    At the same instant a timeout comes before an arrival, and ``on_empty`` before the arrival that ends the idle
    period. ``on_enqueue`` is called for every arrival, also if the queue's limit then drops the packet.

    Parameters
    ----------
    config
        An instance of the class's ``Config``, a dataclass whose fields all have defaults.
    link
        The link behind the queue.
    rng
        The only source of random numbers that a law may use, so that one seed gives one result. A discipline of the
        catalogue in this place would have the same stream.

    Examples
    --------
    >>> class Shy(Law):
    ...     def on_enqueue(self, packet, queue, now):
    ...         return "mark" if queue.packets >= 2 else "pass"
    """

    limit: ClassVar[str | int] = "10000 packets"
    """The default of the parameter ``limit``, the capacity of the queue: packets, or bytes as in ``"30 kB"``."""

    next_timeout: float | None = None
    """The time of the next ``on_timeout`` in seconds, to the nearest nanosecond; ``None`` for no timeout.

    The engine reads it after every call. For exact periods count nanoseconds, and set it to ``ns / 1e9``.
    """

    def __init__(self, config: Any, link: LinkContext, rng: Stream) -> None:
        self.config = config
        self.link = link
        self.rng = rng

    def on_enqueue(self, packet: Packet, queue: QueueState, now: Time) -> Answer:
        """Decide on an arriving packet; ``queue`` has the packets before it."""
        return Verdict.PASS

    def on_dequeue(self, packet: Packet, queue: QueueState, now: Time) -> Answer:
        """Decide on a packet at dequeue, enqueued at ``packet.enqueued_at``; ``queue`` has the packets behind it."""
        return Verdict.PASS

    def on_overflow(self, packet: Packet, queue: QueueState, now: Time) -> None:
        """React to a tail drop of the packet that ``on_enqueue`` has just accepted."""

    def on_empty(self, now: Time) -> None:
        """React to the departure of the last packet in the queue."""

    def on_timeout(self, queue: QueueState, now: Time) -> None:
        """React to the timeout; afterwards ``next_timeout`` must be later than ``now``, or ``None``."""

    def probe(self) -> Mapping[str, float]:
        """Return the law's variables for the table ``queue``: a dict, always with the same names in the same order.

        A variable without a value yet is NaN here and null in the table.
        """
        return {}
