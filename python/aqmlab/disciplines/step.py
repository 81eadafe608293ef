"""The step response of a discipline: a few responsive sources in front of one queue, without the simulator.

A source has a fixed peak rate, paces its packets, and backs off like TCP in congestion avoidance. Its window grows by
one packet per round trip. A mark or a loss halves it one round trip later, at most once per round trip. Its packets
are ECN-capable, and lost packets are not retransmitted. There is no slow start, no timeout and no burst, so that the
figure shows the discipline's own behaviour. Only the discipline's draws are random.
"""

from __future__ import annotations

import heapq
from collections import deque
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from aqmlab.disciplines.custom.law import Law
from aqmlab.disciplines.queue import Queue

PACKET_BYTES = 500
"""The default ``mean_packet`` of the laws, so that a packet counts as one."""
PACKETS_PER_SEC = 3750
"""C: 15 Mbit/s, the link for which Hollot et al. (2001) designed PI."""
SHARE = 1 / 40
"""The peak rate of a source as a share of the link: 32 sources load it by 80 %, 52 by 130 %."""
RTT_S = (0.1, 0.3)
"""The range of base round-trip times, spread evenly over the sources by number."""

_GOLDEN = 0.6180339887498949


@dataclass(frozen=True, kw_only=True)
class Load:
    """The offered load over time, as a fraction of the link: a step up and back."""

    low: float = 0.8
    high: float = 1.3
    up_s: float = 15.0
    """The time of the step up."""
    down_s: float = 45.0
    """The time of the step back."""
    end_s: float = 60.0


@dataclass(kw_only=True)
class _Source:
    base_rtt: float
    window: float
    outstanding: deque[float] = field(default_factory=deque)
    """The enqueue times of its packets in the queue."""
    queue_delay: float = 0.0
    """The sojourn time of its last packet that left the queue."""
    recovers_until: float = 0.0
    """The end of the round trip in which further signals are ignored."""

    @property
    def rtt(self) -> float:
        return self.base_rtt + self.queue_delay

    def gap(self) -> float:
        """Grow the window as if this packet were acknowledged, and return the time to the next packet."""
        target = SHARE * PACKETS_PER_SEC * self.rtt
        self.window = min(self.window + 1 / self.window, max(target, 1.0))
        return self.rtt / self.window

    def on_ack(self, now: float) -> None:
        if now >= self.recovers_until:
            self.window = max(1.0, self.window / 2)
            self.recovers_until = now + self.rtt


def step_response(
    discipline: str | type[Law], *, load: Load | None = None, seed: int = 1, **parameters: Any
) -> pl.DataFrame:
    """Drive a discipline through a step of load and back.

    Parameters
    ----------
    discipline
        The name of a discipline, or a custom law, as for :class:`aqmlab.Queue`.
    load
        The load over time.
    seed
        The seed of the discipline's random draws.
    **parameters
        The parameters other than defaults.

    Returns
    -------
    polars.DataFrame
        A row for each tenth of a second: ``time_s``, its end; ``delay_ms``, the mean sojourn time of the packets that
        left, ``None`` without any; ``arrived``, ``dropped`` and ``marked`` packets, the marked ones at dequeue; and
        each of the law's variables at its end.

    Examples
    --------
    >>> pi = step_response("pi", load=Load(up_s=1, down_s=5, end_s=6))
    >>> pi.filter(pi["time_s"] <= 1)["marked"].sum(), pi["marked"].sum() > 0
    (0, True)
    """
    load = load or Load()
    queue = Queue(discipline, rate=rate(), overhead="0 B", seed=seed, **parameters)
    return StepRun(queue, load).rows()


class StepRun:
    """The sources, the queue and the link during a step of load."""

    def __init__(self, queue: Queue, load: Load) -> None:
        self.queue, self.load = queue, load
        first, all_sources = round(load.low / SHARE), round(load.high / SHARE)
        self.sources = [_source(index, all_sources) for index in range(all_sources)]
        # The sources of the step are interleaved with the others; first packets are spread over one packet interval.
        order = sorted(range(all_sources), key=lambda index: (index * _GOLDEN) % 1)
        self.step_sources = set(order[first:])
        gap = 1 / (SHARE * PACKETS_PER_SEC)
        self.sends = [
            (_nanoseconds(start + gap * position / len(group)), index)
            for start, group in ((0.0, order[:first]), (load.up_s, order[first:]))
            for position, index in enumerate(group)
        ]
        heapq.heapify(self.sends)
        self.signals: list[tuple[float, int]] = []
        self.idle_at = 0.0
        self.delays: list[float] = []
        self.arrived = self.dropped = self.marked = 0

    def rows(self) -> pl.DataFrame:
        """Run to the end and return the rows of :func:`step_response`."""
        rows = []
        for tenth in range(1, round(10 * self.load.end_s) + 1):
            until = tenth / 10
            self._run(until)
            delay = 1000 * sum(self.delays) / len(self.delays) if self.delays else None
            counts = {"arrived": self.arrived, "dropped": self.dropped, "marked": self.marked}
            rows.append({"time_s": until, "delay_ms": delay, **counts, **self.queue.probe()})
            self.delays, self.arrived, self.dropped, self.marked = [], 0, 0, 0
        return pl.DataFrame(rows)

    def _run(self, until: float) -> None:
        while self.sends[0][0] < until:
            now, index = self.sends[0]
            self._serve(now)
            while self.signals and self.signals[0][0] <= now:
                signal_s, source_index = heapq.heappop(self.signals)
                self.sources[source_index].on_ack(signal_s)
            if index in self.step_sources and now >= self.load.down_s:
                heapq.heappop(self.sends)
                continue
            source = self.sources[index]
            heapq.heapreplace(self.sends, (_nanoseconds(now + source.gap()), index))
            self._send(now, index)
        self._serve(until)
        self.queue.advance(to=until)

    def _send(self, now: float, index: int) -> None:
        self.arrived += 1
        source = self.sources[index]
        if self.queue.enqueue(size=PACKET_BYTES, flow=index, ecn="ect0", at=now) == "dropped":
            self._drop(now + source.rtt, index)
        else:
            source.outstanding.append(now)
        self.idle_at = max(self.idle_at, now)

    def _serve(self, until: float) -> None:
        """Let the link fetch packets until this time."""
        while self.idle_at <= until and self.queue.packets:
            packet = self.queue.dequeue(at=self.idle_at)
            if packet is None:
                # The law dropped all queued packets at dequeue.
                break
            self.delays.append(self.idle_at - packet.enqueued_at)
            source = self.sources[packet.flow]
            source.queue_delay = self.idle_at - packet.enqueued_at
            # Packets of a flow leave in order: earlier ones that are still outstanding were dropped inside the queue.
            while source.outstanding[0] < packet.enqueued_at:
                source.outstanding.popleft()
                self._drop(self.idle_at + source.base_rtt, packet.flow)
            source.outstanding.popleft()
            if packet.ecn == "ce":
                self.marked += 1
                heapq.heappush(self.signals, (self.idle_at + source.base_rtt, packet.flow))
            self.idle_at = _nanoseconds(self.idle_at + 1 / PACKETS_PER_SEC)

    def _drop(self, signal_s: float, index: int) -> None:
        self.dropped += 1
        heapq.heappush(self.signals, (signal_s, index))


def _source(index: int, count: int) -> _Source:
    low, high = RTT_S
    rtt = low + (high - low) * index / max(1, count - 1)
    return _Source(base_rtt=rtt, window=max(1.0, SHARE * PACKETS_PER_SEC * rtt))


def rate() -> str:
    """Return the link's bit rate as text."""
    return f"{8 * PACKET_BYTES * PACKETS_PER_SEC // 1000} kbit/s"


def _nanoseconds(seconds: float) -> float:
    """Round a time like the queue, so that arrival times compare equal."""
    return round(seconds * 1e9) / 1e9
