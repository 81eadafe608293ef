"""One queue discipline alone, driven packet by packet: to teach it, or to compare other implementations with it."""

from __future__ import annotations

import json
from typing import Any, Literal, NamedTuple, cast

from aqmlab._core import Packet, Qdisc, SpecError
from aqmlab.disciplines import catalogue
from aqmlab.disciplines.custom import registry
from aqmlab.disciplines.custom.law import Law
from aqmlab.disciplines.custom.parameters import CustomLaw

Ecn = Literal["not_ect", "ect0", "ect1", "ce"]
"""The ECN field of the IP header."""


class Counters(NamedTuple):
    """What became of the packets offered to a queue, by cause.

    ``offered = queued + dropped_early + dropped_forced + dropped_by_limit`` at the entrance, and
    ``queued = delivered + dropped_at_dequeue + evicted`` and what still waits behind it.
    """

    offered: int
    """Packets that arrived."""
    queued: int
    """Packets let in, marked ones included."""
    marked: int
    """Packets that got CE here, on arrival or when they left."""
    dropped_early: int
    """Packets dropped on arrival as a signal to a sender without ECN."""
    dropped_forced: int
    """Packets dropped on arrival because the law would have dropped any."""
    dropped_by_limit: int
    """Packets dropped on arrival for want of room."""
    dropped_at_dequeue: int
    """Packets let in and dropped by the law when they were to leave."""
    evicted: int
    """Packets let in and pushed out by another one's arrival."""
    delivered: int
    """Packets that left by ``dequeue``."""


class Queue:
    """A queue discipline that you drive yourself: the same object as in the simulator, without link and users.

    You say what arrives, when the link fetches a packet, and what time it is. Times are in seconds from 0, to the
    nearest nanosecond, and never run backwards. A timer of the law runs before an arrival of the same instant and
    after a departure of the same instant.

    Parameters
    ----------
    discipline
        Its name (``aqmlab aqm list``), or a custom law: ``"my_module:MyLaw"``, or the class.
    rate
        What the link behind the queue carries, by default as in a spec: some laws take their defaults from it, or the
        length of idle periods.
    overhead
        What a frame is longer on that link than its IP packet, by default as in a spec.
    seed
        It decides all random draws: they are those of direction 0 of a run with this seed.
    **parameters
        What is to differ from the discipline's defaults, as in a spec: ``q_ref=24``, ``limit="30 kB"``.

    Raises
    ------
    SpecError
        When there is no such discipline or parameter, or no such value of it.
    LawError
        Here or later, when a custom law raises or answers nonsense.

    Examples
    --------
    A queue with room for two full packets:

    >>> q = Queue("droptail", limit="3 kB")
    >>> [q.enqueue(size=1500, at=at) for at in (0.001, 0.002, 0.003)]
    ['queued', 'queued', 'dropped']
    >>> q.dequeue(at=0.004)
    Packet(size=1500, flow=0, ecn='not_ect', enqueued_at=0.001)
    >>> q
    <Queue droptail(limit='3 kB') at 0.004 s: 1 packet, 1500 B>
    >>> q.counters.dropped_by_limit
    1

    RED marks ECN-capable packets once its average has passed ``min_th``:

    >>> q = Queue("red", rate="1.5 Mbit/s", limit="25 packets", min_th=5, max_th=15, w_q=0.1, seed=1)
    >>> answers = [q.enqueue(size=1000, flow=3, ecn="ect0", at=0.001 * n) for n in range(40)]
    >>> answers.index("marked")
    22
    >>> sorted(q.probe())
    ['avg', 'p_b']

    PI samples its queue 170 times a second; ``advance`` lets that time pass:

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
        self._given = parameters
        try:
            law = _custom(discipline)
            known = law.discipline if law else catalogue.discipline(cast(str, discipline))
            catalogue.check_parameters(known, parameters)
            self._name = known.name
            table = law.with_defaults(parameters) if law else parameters
            text = json.dumps({known.name: table}, allow_nan=False)
        except SpecError:
            raise
        except (ValueError, TypeError) as error:
            raise SpecError(f"queue: {error}") from None
        make = law.maker(parameters) if law else None
        self._qdisc = Qdisc(text, rate, overhead, seed, make)

    def enqueue(
        self, *, size: int, flow: int = 0, ecn: Ecn = "not_ect", at: float
    ) -> Literal["queued", "marked", "dropped"]:
        """Offer a packet to the queue at the time ``at``, and hear what became of it.

        Parameters
        ----------
        size
            Length of the IP packet in bytes, headers included.
        flow
            Which flow it belongs to.
        ecn
            Its ECN field. Where a law signals, it marks what is ECN-capable and drops what is not.
        at
            The time in seconds.

        Raises
        ------
        ValueError
            When the time lies before that of the last call, or a value is not possible.
        """
        return self._qdisc.enqueue(size, flow, ecn, at)

    def dequeue(self, *, at: float) -> Packet | None:
        """Fetch the next packet at the time ``at``, as a link that is free would; ``None`` when nothing is left."""
        return self._qdisc.dequeue(at)

    def advance(self, *, to: float) -> None:
        """Let time pass: run what timers of the law are due until then."""
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
        """What became of the packets so far."""
        return Counters(**self._qdisc.counters())

    def probe(self) -> dict[str, float]:
        """Show the law's variables under the names of its paper, as of the last call."""
        return self._qdisc.probe()

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in self._given.items())
        waiting = "1 packet" if self.packets == 1 else f"{self.packets} packets"
        return f"<Queue {self._name}({given}) at {self.now:g} s: {waiting}, {self.bytes} B>"


def _custom(discipline: str | type[Law]) -> CustomLaw | None:
    if not isinstance(discipline, str):
        return registry.from_class(discipline)
    return registry.find(discipline) if registry.is_custom(discipline) else None
