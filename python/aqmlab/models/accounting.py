"""The books of a closed loop: what the packets that were lost cost the users who waited for them.

A fixed number of users, each of whom asks, waits, thinks and asks again, complete requests at a rate X that follows
from how long a request takes them: N = X (R + Z), Little's law for the whole loop. The same users on an uncongested
network tell R + Z without congestion. So two printed numbers of completed requests say how much longer each request
took, as the user felt it; what the queue itself can have added is taken off; and the rest, divided by the packets lost
for each request, is what a lost packet cost.

    extra = N T / n - N T / n0          T seconds, n requests completed, n0 of the same users without congestion
    lost  = packets p / (1 - p)         packets delivered for each request; p is the share dropped on arrival
    cost  = (extra - queue) / lost

Nothing but losses, marks and the queue is between the two experiments. So a cost beyond what TCP's timers can make of a
loss (:mod:`aqmlab.models.timers`) says that the table contradicts itself: its losses did not do that to its users.

All numbers are intervals: what printed digits leave open, and what is known as a bound alone, ends in the cost.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from aqmlab.models.intervals import Interval
from aqmlab.models.timers import ROUND_TRIPS, Drops, Hosts, RoundTrips, dearest_s


@dataclass(frozen=True, kw_only=True)
class Entry:
    """What a table says of one experiment, and the same users' experiment without congestion."""

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
    """What the queue may have added to each request, in seconds: see :func:`queue_share`."""
    drops: Drops | None
    """Which packets the discipline drops; ``None`` where it marks too, for marks slow users as well."""
    round_trips: RoundTrips


@dataclass(frozen=True, kw_only=True)
class Books:
    """What follows from an entry, for each request."""

    extra_s: Interval
    """How much longer a request took its user than without congestion, in seconds."""
    queue_s: Interval
    """What of it the queue can have been."""
    lost: Interval
    """Packets lost."""

    @classmethod
    def of(cls, entry: Entry) -> Books:
        """Keep the books of an entry."""
        time = Interval.exactly(entry.users * entry.seconds)
        arrivals = entry.loss.at_least(0)
        lost = entry.packets * Interval(*(share / (1 - share) for share in (arrivals.low, arrivals.high)))
        return cls(extra_s=time / entry.completed - time / entry.uncongested, queue_s=entry.queue_s, lost=lost)

    @property
    def cost_s(self) -> Interval:
        """What a lost packet cost its user, in seconds; without a bound where nothing may have been lost."""
        return (self.extra_s - self.queue_s) / self.lost


class Opinion(StrEnum):
    """What the books say of an entry."""

    CONSISTENT = "consistent"
    """Its losses can have cost its users what they lost."""
    INCONSISTENT = "not consistent with the paper's own table"
    """No losses of this number, by a discipline that drops such packets, can."""
    SILENT = "says nothing of losses"
    """A rule leaves it out."""


@dataclass(frozen=True, kw_only=True)
class Audit:
    """An opinion with what decided it."""

    opinion: Opinion
    why: str
    """In words; of one that says nothing, the rule."""
    books: Books
    dearest_s: float | None
    """What a lost packet can cost at most, on average, in seconds; ``None`` where a rule leaves the entry out."""

    @property
    def allowed_s(self) -> float | None:
        """The most extra time that losses and queue together can make of a request, in seconds."""
        if self.dearest_s is None:
            return None
        return self.books.lost.high * self.dearest_s + self.books.queue_s.high


def consistent(entry: Entry, hosts: Hosts | None = None) -> Audit:
    """Say whether the losses of an entry can have cost its users what they lost.

    Two rules say which entries tell nothing of losses: those whose discipline marks, because marks slow users as well;
    and those whose least extra time is no more than what the queue may have added.

    Parameters
    ----------
    entry
        Of a table.
    hosts
        The timers; by default the longest that the sources allow, so that what is inconsistent is so beyond doubt.
    """
    books = Books.of(entry)
    if entry.drops is None:
        return _silent("marks slow users as well", books)
    least = books.cost_s.low
    if least <= 0:
        return _silent("the queue may have been all", books)
    dearest = dearest_s(entry.drops, entry.round_trips, hosts=hosts)
    is_possible = least <= dearest
    return Audit(
        opinion=Opinion.CONSISTENT if is_possible else Opinion.INCONSISTENT,
        why=f"a lost packet cost {least:.2f} s or more and can cost {dearest:.2f} s",
        books=books,
        dearest_s=dearest,
    )


def _silent(rule: str, books: Books) -> Audit:
    return Audit(opinion=Opinion.SILENT, why=rule, books=books, dearest_s=None)


def queue_share(longest_packets: float, packets_per_second: float) -> Interval:
    """Return what a queue may add to a request: from nothing to its longest in each direction of each round trip.

    Parameters
    ----------
    longest_packets
        What may wait, on average at most: a limit, a target, twice ``max_th``; and what the device holds.
    packets_per_second
        What the link sends.

    Returns
    -------
    Interval
        Seconds.
    """
    return Interval(0.0, ROUND_TRIPS * 2 * longest_packets / packets_per_second)
