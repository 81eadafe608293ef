"""The matrix: queues, links, round trips, buffers and traffic, and the part of it that the default length has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from aqmlab.spec.experiment import Experiment, Hosts, Link, Protocol, Tcp, Users

_CODEL = {"target": "5 ms", "interval": "100 ms"}
_L4S_THRESHOLD = {"ce_threshold": "1 ms", "ce_threshold_selector": "ect1"}
_NEVER = {"target": "10 s", "interval": "100 s"}
"""CoDel that signals nothing, so that its threshold alone marks, as in a single queue of Linux's ``sch_fq``."""

_PACKET = 1500
_FULL = "full"


@dataclass(frozen=True, kw_only=True)
class Queue:
    """A queue of the bottleneck, with the ECN of Classic hosts."""

    name: str
    law: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    ecn: bool = False
    """CUBIC and Reno negotiate ECN (RFC 3168). BBR does not use it."""
    limit: str | None = "packets"
    """The unit of the buffer; ``None``: the discipline's default at every point."""

    def table(self, buffer_bytes: float) -> dict[str, dict[str, Any]]:
        """Return the queue of a spec with this buffer."""
        sizes = {"bytes": f"{buffer_bytes:.0f} B", "packets": f"{int(buffer_bytes // _PACKET) + 1} packets"}
        limit = {"limit": sizes[self.limit]} if self.limit else {}
        return {self.law: {**self.parameters, **limit}}


FQ = Queue(name="FQ", law="fq", parameters={"ce_threshold": "5 ms"})
"""Linux's ``sch_fq`` with its many queues. No claim is about it: the claims are older."""

QUEUES = (
    Queue(name="FIFO", law="droptail", limit="bytes"),
    Queue(name="threshold", law="codel", parameters={**_NEVER, "ce_threshold": "5 ms"}),
    Queue(name="threshold, ECN", law="codel", parameters={**_NEVER, "ce_threshold": "5 ms"}, ecn=True),
    Queue(name="CoDel", law="codel", parameters={**_CODEL, "noecn": True}),
    Queue(name="CoDel, ECN", law="codel", parameters=_CODEL, ecn=True),
    Queue(name="PIE", law="pie", parameters={"qdelay_ref": "5 ms", "noecn": True}),
    Queue(name="PIE, ECN", law="pie", parameters={"qdelay_ref": "5 ms"}, ecn=True),
    FQ,
    Queue(name="FQ-CoDel", law="fq_codel", parameters=_CODEL),
    Queue(name="FQ-CoDel, L4S", law="fq_codel", parameters={**_CODEL, **_L4S_THRESHOLD}),
    Queue(name="DualPI2", law="dualpi2", limit=None),
    Queue(name="DualPI2, 5 ms", law="dualpi2", parameters={"target": "5 ms"}, limit=None),
    Queue(name="CAKE", law="cake"),
)
"""The queues of the published matrices; Linux's default target of DualPI2 is added."""

FLOOR = Queue(name="DualPI2, min_left 2", law="dualpi2", parameters={"min_left": 2}, limit=None)
"""DualPI2 whose step marks nothing while fewer than two packets stay behind, as RFC 9332 has it."""

PRAGUE, CUBIC, RENO, BBR = "Prague", "CUBIC", "Reno", "BBR"
DEPENDENT = "RTT-dependent Prague"
"""Prague without a reference round-trip time, as in its earlier kernels."""

CLASSIC = (CUBIC, RENO, BBR)

_STACKS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        PRAGUE: {"congestion": "prague", "ecn": "accurate"},
        DEPENDENT: {"congestion": "prague", "ecn": "accurate", "prague_reference_rtt": "0 s"},
        CUBIC: {"congestion": "cubic"},
        RENO: {"congestion": "reno"},
        BBR: {"congestion": "bbr"},
    }
)


@dataclass(frozen=True, kw_only=True)
class Traffic:
    """One or two kinds of flows, each with its congestion control."""

    controls: tuple[str, ...]
    flows: tuple[int, ...] = (1, 1)

    @property
    def name(self) -> str:
        """The traffic in the name of a run."""
        if len(self.controls) == 1:
            return f"{self.controls[0]} alone"
        return " + ".join(
            control if number == 1 else f"{number} {control}"
            for control, number in zip(self.controls, self.flows, strict=True)
        )

    @property
    def sources(self) -> tuple[tuple[str, str, int], ...]:
        """The name, the congestion control and the number of flows of each source."""
        names = [*self.controls[:1], *(name if name != self.controls[0] else f"{name} 2" for name in self.controls[1:])]
        return tuple(zip(names, self.controls, self.flows, strict=False))


def alone(control: str) -> Traffic:
    """Return one flow alone."""
    return Traffic(controls=(control,))


def pair(one: str, other: str, flows: tuple[int, int] = (1, 1)) -> Traffic:
    """Return flows of two controls."""
    return Traffic(controls=(one, other), flows=flows)


BESIDE_PRAGUE = tuple(pair(PRAGUE, control) for control in CLASSIC)
ALIKE = tuple(pair(control, control) for control in (PRAGUE, *CLASSIC))
TRAFFIC = (*(alone(control) for control in (PRAGUE, *CLASSIC)), *BESIDE_PRAGUE, *ALIKE)
"""Each flow alone, beside Prague, and beside another of its kind."""

MIXES = ((1, 10), (10, 1), (10, 10))
"""Numbers of Prague and CUBIC flows."""

_FULL_MIXES = tuple((l4s, classic) for l4s in (1, 2, 5, 10, 25) for classic in (1, 2, 5, 10, 25) if l4s * classic > 1)


@dataclass(frozen=True, kw_only=True)
class Point:
    """A link with the round trips of both sources and a buffer."""

    rate_mbps: int = 100
    rtts_ms: tuple[int, int] = (10, 10)
    buffer_bdp: float = 2

    @property
    def name(self) -> str:
        """The point in the name of a run."""
        rtts = " and ".join(str(rtt) for rtt in dict.fromkeys(self.rtts_ms))
        return f"{self.rate_mbps} Mbit/s, {rtts} ms, {self.buffer_bdp:g} BDP"

    @property
    def buffer_bytes(self) -> float:
        """The buffer; the delay of the bandwidth-delay product is the longer round trip."""
        return self.buffer_bdp * self.rate_mbps * max(self.rtts_ms) * 1e3 / 8


BASE = Point()
"""The point that the others differ from in one respect."""

SLOW = Point(rate_mbps=10)
BUFFERS = tuple(Point(buffer_bdp=buffer) for buffer in (0.5, 1, 4, 8))
ROUND_TRIPS = tuple(Point(rtts_ms=rtts) for rtts in ((20, 20), (80, 80), (10, 80), (80, 10)))

_FULL_POINTS = tuple(
    Point(rate_mbps=rate, rtts_ms=rtts, buffer_bdp=buffer)
    for rate in (100, 10)
    for rtts in (BASE.rtts_ms, *(point.rtts_ms for point in ROUND_TRIPS))
    for buffer in (0.5, 1, 2, 4, 8)
)


@dataclass(frozen=True, kw_only=True)
class Case:
    """Traffic over a queue at a point."""

    traffic: Traffic
    queue: Queue
    point: Point

    @property
    def name(self) -> str:
        """The name of its run."""
        return f"{self.traffic.name}/{self.queue.name}/{self.point.name}"

    def experiment(self, protocol: Protocol) -> Experiment:
        """Return its experiment."""
        sources = [
            {"bulk": {"name": name, "flows": flows, "rtt": {"fixed": f"{rtt} ms"}}}
            for (name, _, flows), rtt in zip(self.traffic.sources, self.point.rtts_ms, strict=False)
        ]
        mix = [
            {"source": name, "share": 1.0, **self._ecn(control), **_STACKS[control]}
            for name, control, _ in self.traffic.sources
        ]
        return Experiment(
            link=Link.model_validate({"rate": f"{self.point.rate_mbps} Mbit/s", "device_fifo": 0}),
            hosts=Hosts(rate="10 Gbit/s"),
            queue=self.queue.table(self.point.buffer_bytes),
            tcp=Tcp.model_validate({"profile": "linux-6", "mix": mix}),
            users=Users(per_side=0),
            sources=sources,
            protocol=protocol,
            record={"queue_every": "1 s", "link_every": "1 s"},
        )

    def _ecn(self, control: str) -> dict[str, Any]:
        return {"ecn": True} if self.queue.ecn and control in (CUBIC, RENO) else {}


def cases(length: str) -> list[Case]:
    """Return the cases of a length: one respect at a time, then for ``full`` the rest of the matrix."""
    found = {case.name: case for case in [*_one_at_a_time(), *(_matrix() if length == _FULL else ())]}
    return list(found.values())


def _one_at_a_time() -> Iterable[Case]:
    beside = [pair(PRAGUE, CUBIC)]
    dual = next(queue for queue in QUEUES if queue.name == "DualPI2")
    for point in (BASE, SLOW):
        yield from _product(TRAFFIC, QUEUES, [point])
    yield from _product(beside, [queue for queue in QUEUES if queue.limit], BUFFERS)
    yield from _product(beside, QUEUES, ROUND_TRIPS)
    yield from _product([pair(PRAGUE, CUBIC, flows) for flows in MIXES], QUEUES, [BASE])
    slow = (SLOW, Point(rate_mbps=10, rtts_ms=(80, 80)))
    yield from _product(beside, [dual, FLOOR], slow)
    yield from _product([pair(DEPENDENT, CUBIC)], [dual], [BASE, Point(rtts_ms=(20, 20))])
    yield from _product([pair(PRAGUE, PRAGUE), pair(DEPENDENT, DEPENDENT)], [dual], [Point(rtts_ms=(10, 80))])


def _matrix() -> Iterable[Case]:
    for queue in QUEUES:
        yield from _product(TRAFFIC, [queue], [it for it in _FULL_POINTS if queue.limit or it.buffer_bdp == 2])
    yield from _product([pair(PRAGUE, CUBIC, flows) for flows in _FULL_MIXES], QUEUES, [BASE])


def _product(traffic: Sequence[Traffic], queues: Sequence[Queue], points: Sequence[Point]) -> Iterable[Case]:
    return (Case(traffic=it, queue=queue, point=point) for point in points for queue in queues for it in traffic)
