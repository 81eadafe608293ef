"""Custom laws: the base class, and what it is told.

A law is a class derived from :class:`Law` in a module of yours. ``my_module:MyLaw`` then names it wherever a
discipline's name may stand. ``docs/guide/custom-law.md`` is the guide.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, ClassVar, Literal

from aqmlab._core import LinkContext, Packet, QueueState, Stream


class Verdict(StrEnum):
    """A law's answer about one packet; the plain texts will do as well."""

    PASS = "pass"
    """Let it through."""
    MARK = "mark"
    """Signal congestion: set CE when the packet is ECN-capable, drop it otherwise."""
    DROP = "drop"
    """Drop it, ECN-capable or not."""


Answer = Verdict | Literal["pass", "mark", "drop"]


class Time(float):
    """A point in time: seconds since the start, which also know their whole nanoseconds.

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


class Law:
    """A custom law: derive from it, and answer in ``on_enqueue`` or ``on_dequeue`` or both.

    Within one instant a timeout comes before an arrival, and ``on_empty`` before the arrival that ends the idle period.
    Every arrival is shown to ``on_enqueue``, even one that the queue's limit will then refuse.

    Parameters
    ----------
    config
        An instance of the class's ``Config``, a dataclass in which every field has a default.
    link
        The link behind the queue.
    rng
        The only source of random numbers that a law may use: one seed gives one result. It is the stream that a
        discipline of the catalogue would have had in this place.

    Examples
    --------
    >>> class Shy(Law):
    ...     def on_enqueue(self, packet, queue, now):
    ...         return "mark" if queue.packets >= 2 else "pass"
    """

    limit: ClassVar[str | int] = "10000 packets"
    """The most that may wait, unless the parameter ``limit`` says otherwise: packets, or bytes as in ``"30 kB"``."""

    next_timeout: float | None = None
    """When ``on_timeout`` is wanted next, in seconds, to the nearest nanosecond; ``None`` for never.

    It is read after every call. For periods without rounding count nanoseconds, and set it to ``ns / 1e9``.
    """

    def __init__(self, config: Any, link: LinkContext, rng: Stream) -> None:
        self.config = config
        self.link = link
        self.rng = rng

    def on_enqueue(self, packet: Packet, queue: QueueState, now: Time) -> Answer:
        """Judge an arriving packet; ``queue`` is what waits before it."""
        return Verdict.PASS

    def on_dequeue(self, packet: Packet, queue: QueueState, now: Time) -> Answer:
        """Judge a packet about to leave after waiting since ``packet.enqueued_at``; ``queue`` is what stays behind."""
        return Verdict.PASS

    def on_overflow(self, packet: Packet, queue: QueueState, now: Time) -> None:
        """Hear that the queue had no room for the packet that ``on_enqueue`` has just let through."""

    def on_empty(self, now: Time) -> None:
        """Hear that the last waiting packet left."""

    def on_timeout(self, queue: QueueState, now: Time) -> None:
        """Do what was to be done at ``next_timeout``; afterwards ``next_timeout`` must lie later, or be ``None``."""

    def probe(self) -> Mapping[str, float]:
        """Show the law's variables for the table ``queue``: a dict, always of the same names in the same order.

        A variable that has no value yet is NaN here and null in the table.
        """
        return {}
