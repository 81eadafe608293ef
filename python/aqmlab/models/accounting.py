"""The ledger of a closed loop: the cost of lost packets to the users who waited for them.

N users request, wait, think and request again. They complete requests at a rate X that follows from the response time R
and the think time Z: N = X (R + Z), Little's law for the whole loop. The same users on an uncongested network give
R + Z without congestion. Two printed numbers of completed requests therefore give the extra time of each request. Less
the most that the queue can have added, and divided by the packets lost for each request, it is the cost of a loss.

    extra = N T / n - N T / n0          T seconds, n requests completed, n0 of the same users without congestion
    lost  = packets p / (1 - p)         packets delivered for each request; p is the share dropped on arrival
    cost  = (extra - queue) / lost

The two experiments differ in losses, marks and the queue alone. If the cost exceeds the bound by TCP's timers
(:mod:`aqmlab.models.timers`), the table contradicts itself: its losses cannot have slowed its users so much.

All numbers are intervals: rounding of printed digits and quantities known as bounds widen the interval of the cost.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from aqmlab.models.intervals import Interval
from aqmlab.models.timers import ROUND_TRIPS, Drops, Hosts, RoundTrips, max_cost_s


@dataclass(frozen=True, kw_only=True)
class Entry:
    """An experiment of a table, with the same users' experiment without congestion."""

    users: float
    """N, of all sides."""
    seconds: float
    """T, the time in which requests were counted."""
    completed: Interval
    """n, the requests completed."""
    uncongested: Interval
    """n0, those completed by the same users without congestion."""
    loss: Interval
    """p, the packets dropped of those that arrived at the queue, as a fraction."""
    packets: Interval
    """Packets delivered for each request, in both directions."""
    queue_s: Interval
    """Time that the queue may have added to each request, in seconds: see :func:`queue_share`."""
    drops: Drops | None
    """The kind of packets that the discipline drops; ``None`` where it also marks, because marks slow users as well."""
    round_trips: RoundTrips


@dataclass(frozen=True, kw_only=True)
class Ledger:
    """Extra time, queueing and losses of each request, derived from an entry."""

    extra_s: Interval
    """Time that a request took beyond that without congestion, in seconds."""
    queue_s: Interval
    """The part of it that the queue can explain."""
    lost: Interval
    """Packets lost."""

    @classmethod
    def from_entry(cls, entry: Entry) -> Ledger:
        """Derive the ledger of an entry."""
        time = Interval.exactly(entry.users * entry.seconds)
        arrivals = entry.loss.at_least(0)
        lost = entry.packets * Interval(*(share / (1 - share) for share in (arrivals.low, arrivals.high)))
        return cls(extra_s=time / entry.completed - time / entry.uncongested, queue_s=entry.queue_s, lost=lost)

    @property
    def cost_s(self) -> Interval:
        """The cost of a lost packet to its user, in seconds; unbounded where nothing may have been lost."""
        return (self.extra_s - self.queue_s) / self.lost


class Verdict(StrEnum):
    """Consistency of an entry with its losses."""

    CONSISTENT = "consistent"
    """The losses can explain the extra time."""
    INCONSISTENT = "not consistent with the paper's own table"
    """No losses of this number, by a discipline that drops such packets, can explain it."""
    INCONCLUSIVE = "inconclusive"
    """A rule excludes the entry."""


@dataclass(frozen=True, kw_only=True)
class Audit:
    """A verdict with its reason."""

    verdict: Verdict
    reason: str
    """In words; for an inconclusive entry, the rule that excludes it."""
    ledger: Ledger
    max_cost_s: float | None
    """Upper bound of the mean cost of a lost packet, in seconds; ``None`` for an inconclusive entry."""

    @property
    def bound_s(self) -> float | None:
        """Upper bound of the extra time of a request by losses and queue together, in seconds."""
        if self.max_cost_s is None:
            return None
        return self.ledger.lost.high * self.max_cost_s + self.ledger.queue_s.high


def audit_entry(entry: Entry, hosts: Hosts | None = None) -> Audit:
    """Decide whether the losses of an entry can explain the extra time of its users.

    Two rules make an entry inconclusive: its discipline marks, because marks slow users as well; or the queue alone may
    explain the extra time.

    Parameters
    ----------
    entry
        Of a table.
    hosts
        The timers; by default the longest that the sources allow, so that an inconsistency is beyond doubt.
    """
    ledger = Ledger.from_entry(entry)
    least = ledger.cost_s.low
    if entry.drops is None or least <= 0:
        rule = "marks slow users as well" if entry.drops is None else "the queue alone may explain it"
        return Audit(verdict=Verdict.INCONCLUSIVE, reason=rule, ledger=ledger, max_cost_s=None)
    bound = max_cost_s(entry.drops, entry.round_trips, hosts=hosts)
    return Audit(
        verdict=Verdict.CONSISTENT if least <= bound else Verdict.INCONSISTENT,
        reason=f"a lost packet cost {least:.2f} s or more and can cost {bound:.2f} s",
        ledger=ledger,
        max_cost_s=bound,
    )


def queue_share(max_packets: float, packets_per_second: float) -> Interval:
    """Return the time that a queue may add to a request: at most its longest in each direction of each round trip.

    Parameters
    ----------
    max_packets
        The longest mean queue: a limit, a target or twice ``max_th``, with the packets that the device holds.
    packets_per_second
        The rate of the link.

    Returns
    -------
    Interval
        Seconds.
    """
    return Interval(0.0, ROUND_TRIPS * 2 * max_packets / packets_per_second)
