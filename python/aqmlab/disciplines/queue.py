"""A queue discipline without a network, driven packet by packet, for teaching and for checking implementations."""

from __future__ import annotations

import json
from typing import Any, Literal, NamedTuple, cast

from aqmlab._core import Packet, Qdisc, SpecError
from aqmlab.disciplines import catalogue
from aqmlab.disciplines.custom import registry
from aqmlab.disciplines.custom.entry import CustomLaw
from aqmlab.disciplines.custom.law import Law

Ecn = Literal["not_ect", "ect0", "ect1", "ce"]
"""The ECN field of the IP header."""


class Counters(NamedTuple):
    """The packets offered to a queue, by outcome.

    On arrival ``offered = queued + dropped_early + dropped_forced + dropped_by_limit``. Later ``queued = delivered +
    dropped_at_dequeue + evicted`` plus the packets still in the queue.
    """

    offered: int
    """Packets that arrived."""
    queued: int
    """Packets enqueued, marked ones included."""
    marked: int
    """Packets marked CE by the queue, at enqueue or dequeue."""
    dropped_early: int
    """Packets dropped on arrival as a signal to a sender without ECN."""
    dropped_forced: int
    """Packets dropped on arrival by the law's decision to drop every packet."""
    dropped_by_limit: int
    """Packets dropped on arrival because the queue was full."""
    dropped_at_dequeue: int
    """Packets enqueued, and dropped by the law at dequeue."""
    evicted: int
    """Packets enqueued, and dropped to make room for another packet."""
    delivered: int
    """Packets that ``dequeue`` returned."""


class Queue:
    """A queue discipline that you drive yourself: the simulator's object, without link and users.

    You decide which packets arrive, when the link fetches a packet, and what the time is. Times are in seconds from 0,
    to the nearest nanosecond, and never decrease. A timer of the law runs before an arrival at the same instant, and
    after a departure at the same instant.

    Parameters
    ----------
    discipline
        The name of a discipline (``aqmlab aqm list``) or of a custom law, ``"my_module:MyLaw"``, or a law's class.
    rate
        The rate of the link behind the queue, by default that of a spec. Some laws derive defaults or the length of
        idle periods from it.
    overhead
        The bytes by which a frame on that link is longer than its IP packet, by default those of a spec.
    seed
        The seed of all random draws, which are those of direction 0 of a run with this seed.
    **parameters
        The parameters other than defaults, as in a spec: ``q_ref=24``, ``limit="30 kB"``.

    Raises
    ------
    SpecError
        When a discipline or parameter does not exist, or a value is not accepted.
    LawError
        Here or later, when a custom law raises or returns an invalid value.

    Examples
    --------
    A queue of two full packets:

    >>> q = Queue("droptail", limit="3 kB")
    >>> [q.enqueue(size=1500, at=at) for at in (0.001, 0.002, 0.003)]
    ['queued', 'queued', 'dropped']
    >>> q.dequeue(at=0.004)
    Packet(size=1500, flow=0, ecn='not_ect', enqueued_at=0.001)
    >>> q
    <Queue droptail(limit='3 kB') at 0.004 s: 1 packet, 1500 B>
    >>> q.counters.dropped_by_limit
    1

    RED marks ECN-capable packets once its average exceeds ``min_th``:

    >>> q = Queue("red", rate="1.5 Mbit/s", limit="25 packets", min_th=5, max_th=15, w_q=0.1, seed=1)
    >>> answers = [q.enqueue(size=1000, flow=3, ecn="ect0", at=0.001 * n) for n in range(40)]
    >>> answers.index("marked")
    22
    >>> sorted(q.probe())
    ['avg', 'p_b']

    PI samples its queue 170 times a second; ``advance`` moves the time on:

    >>> q = Queue("pi", q_ref=0)
    >>> q.enqueue(size=1500, at=0)
    'queued'
    >>> q.advance(to=1)
    >>> 0 < q.probe()["p"] < 1
    True
    """

    def __init__(
        self,
        discipline: str | type[Law],
        *,
        rate: str | None = None,
        overhead: str | None = None,
        seed: int = 1,
        **parameters: Any,
    ) -> None:
        self._parameters = parameters
        try:
            law = _custom(discipline)
            entry = law.discipline if law else catalogue.discipline(cast(str, discipline))
            catalogue.check_parameters(entry, parameters)
            self._name = entry.name
            table = law.with_defaults(parameters) if law else parameters
            text = json.dumps({entry.name: table}, allow_nan=False)
        except SpecError:
            raise
        except (ValueError, TypeError) as error:
            raise SpecError(f"queue: {error}") from None
        factory = law.maker(parameters) if law else None
        self._qdisc = Qdisc(text, rate, overhead, seed, factory)

    def enqueue(
        self, *, size: int, flow: int = 0, ecn: Ecn = "not_ect", at: float
    ) -> Literal["queued", "marked", "dropped"]:
        """Offer a packet to the queue at the time ``at``, and return its outcome.

        Parameters
        ----------
        size
            Length of the IP packet in bytes, headers included.
        flow
            The number of its flow.
        ecn
            Its ECN field. A law that signals marks ECN-capable packets and drops others.
        at
            The time in seconds.

        Raises
        ------
        ValueError
            When the time is before that of the last call, or a value is invalid.
        """
        return self._qdisc.enqueue(size, flow, ecn, at)

    def dequeue(self, *, at: float) -> Packet | None:
        """Fetch the next packet at the time ``at``, like an idle link; ``None`` if the queue is empty."""
        return self._qdisc.dequeue(at)

    def advance(self, *, to: float) -> None:
        """Advance the time, and run the law's timers that are due until then."""
        self._qdisc.advance(to)

    @property
    def now(self) -> float:
        """The time of the last call, in seconds."""
        return self._qdisc.now

    @property
    def packets(self) -> int:
        """Packets waiting."""
        return self._qdisc.packets

    @property
    def bytes(self) -> int:
        """Bytes waiting."""
        return self._qdisc.bytes

    @property
    def counters(self) -> Counters:
        """The packets offered so far, by outcome."""
        return Counters(**self._qdisc.counters())

    def probe(self) -> dict[str, float]:
        """Return the law's variables by the names of its paper, at the time of the last call."""
        return self._qdisc.probe()

    def __repr__(self) -> str:
        parameters = ", ".join(f"{name}={value!r}" for name, value in self._parameters.items())
        waiting = "1 packet" if self.packets == 1 else f"{self.packets} packets"
        return f"<Queue {self._name}({parameters}) at {self.now:g} s: {waiting}, {self.bytes} B>"


def _custom(discipline: str | type[Law]) -> CustomLaw | None:
    if not isinstance(discipline, str):
        return registry.from_class(discipline)
    return registry.find(discipline) if registry.is_custom(discipline) else None
