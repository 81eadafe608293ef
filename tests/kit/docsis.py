"""Transcriptions for the tests: the pseudocode of RFC 8034 (DOCSIS-PIE), and the queues of low-latency DOCSIS."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple


@dataclass(frozen=True)
class Rates:
    """The configuration of a service flow: rates in bytes a second, sizes in bytes."""

    msr: float
    peak_rate: float
    burst: int
    buffer: int


class DocsisPie:
    """RFC 8034, appendix A, with its names."""

    LATENCY_TARGET = 0.010
    A = 0.25
    B = 2.5
    INTERVAL = 0.016
    BURST_RESET_TIMEOUT = 1.0
    MAX_BURST = 0.142
    MEAN_PKTSIZE = 1024
    MIN_PKTSIZE = 64
    PROB_LOW = 0.85
    PROB_HIGH = 8.5
    LATENCY_LOW = 0.005
    LATENCY_HIGH = 0.200

    def __init__(self, rates: Rates, constants: Mapping[str, Any], uniform: Callable[[], float]) -> None:
        vars(self).update(constants)
        self.rates = rates
        self.random = uniform
        self.drop_prob_ = 0.0
        self.accu_prob_ = 0.0
        self.qdelay_old_ = 0.0
        self.burst_allowance_ = 0.0
        self.burst_reset_ = 0.0
        self.aqm_state_ = "INACTIVE"

    def delay(self, byte_length: float, msrtokens: float) -> float:
        """Return the delay of a queue of this length."""
        if byte_length <= msrtokens:
            return byte_length / self.rates.peak_rate
        return (byte_length - msrtokens) / self.rates.msr + msrtokens / self.rates.peak_rate

    def calculate_drop_prob(self, qdelay: float) -> None:
        """Update the probability; every INTERVAL."""
        if self.burst_allowance_ > 1e-9:
            self.drop_prob_ = 0.0
            self.burst_allowance_ = max(0.0, self.burst_allowance_ - self.INTERVAL)
        else:
            p = self.A * (qdelay - self.LATENCY_TARGET) + self.B * (qdelay - self.qdelay_old_)
            if self.drop_prob_ < 0.000001:
                p /= 2048
            elif self.drop_prob_ < 0.00001:
                p /= 512
            elif self.drop_prob_ < 0.0001:
                p /= 128
            elif self.drop_prob_ < 0.001:
                p /= 32
            elif self.drop_prob_ < 0.01:
                p /= 8
            elif self.drop_prob_ < 0.1:
                p /= 2
            elif self.drop_prob_ < 1:
                p /= 0.5
            elif self.drop_prob_ < 10:
                p /= 0.125
            else:
                p /= 0.03125
            if self.drop_prob_ >= 0.1 and p > 0.02:
                p = 0.02
            self.drop_prob_ += p
            if qdelay < self.LATENCY_LOW and self.qdelay_old_ < self.LATENCY_LOW:
                self.drop_prob_ *= 0.98
            elif qdelay > self.LATENCY_HIGH:
                self.drop_prob_ += 0.02
            self.drop_prob_ = max(0.0, self.drop_prob_)
            self.drop_prob_ = min(self.drop_prob_, self.PROB_LOW * self.MEAN_PKTSIZE / self.MIN_PKTSIZE)
        quiet = (
            qdelay < 0.5 * self.LATENCY_TARGET
            and self.qdelay_old_ < 0.5 * self.LATENCY_TARGET
            and self.drop_prob_ == 0
            and self.burst_allowance_ < 1e-9
        )
        if self.aqm_state_ == "ACTIVE" and quiet:
            self.aqm_state_ = "QUIESCENT"
            self.burst_reset_ = 0.0
        elif self.aqm_state_ == "QUIESCENT":
            if quiet:
                self.burst_reset_ += self.INTERVAL
                # A difference of less than a nanosecond is a rounding error.
                if self.burst_reset_ > self.BURST_RESET_TIMEOUT + 1e-9:
                    self.burst_reset_ = 0.0
                    self.aqm_state_ = "INACTIVE"
            else:
                self.burst_reset_ = 0.0
        self.qdelay_old_ = qdelay

    def drop_early(self, size: int, queue_length: int) -> bool:
        """Decide whether to drop an arriving packet, for which there is room."""
        if self.burst_allowance_ > 1e-9:
            return False
        if self.drop_prob_ == 0:
            self.accu_prob_ = 0.0
        if self.aqm_state_ == "INACTIVE":
            if queue_length < self.rates.buffer / 3:
                return False
            self.aqm_state_ = "QUIESCENT"
        p1 = min(self.drop_prob_ * size / self.MEAN_PKTSIZE, self.PROB_LOW)
        self.accu_prob_ += p1
        if (self.qdelay_old_ < 0.5 * self.LATENCY_TARGET and self.drop_prob_ < 0.2) or (
            queue_length <= 2 * self.MEAN_PKTSIZE
        ):
            return False
        if self.accu_prob_ < self.PROB_LOW:
            return False
        # The engine draws no number for a certain drop.
        if self.accu_prob_ < self.PROB_HIGH and p1 < 1 and self.random() > p1:
            return False
        self.accu_prob_ = 0.0
        if self.aqm_state_ == "QUIESCENT":
            self.aqm_state_ = "ACTIVE"
            self.burst_allowance_ = self.MAX_BURST
        return True


class Item(NamedTuple):
    """A packet in a queue of :class:`LowLatency`."""

    size: int
    ecn: str
    enqueued_at: float


class LowLatency:
    """The dual queue of low-latency DOCSIS without queue protection.

    Sources: RFC 9332, sections 2.1 (coupling), 2.3 (classification) and appendix A.1 (``laqm``, ``recur``); annexes M
    to O of CM-SP-MULPIv3.1 as ``docsis-ns3`` has them (floor of the ramp, delay of the Classic queue, weights).
    """

    K = 2.0
    MAXTH_US = 1000
    LG_RANGE = 19
    MAX_FRAME_SIZE = 2000
    SCHEDULER_WEIGHT = 230
    QUANTUM = 1500
    MAX_LATENCY_S = 0.010

    def __init__(self, amsr: int, overhead: int, constants: Mapping[str, Any], uniform: Callable[[], float]) -> None:
        vars(self).update(constants)
        self.amsr = amsr
        self.overhead = overhead
        self.buffer = max(amsr // 10, 3044)
        self.ll_buffer = max(round(amsr * self.MAX_LATENCY_S), 20 * self.MAX_FRAME_SIZE)
        self.pie = DocsisPie(Rates(msr=amsr, peak_rate=amsr, burst=0, buffer=self.buffer), {}, uniform)
        aqm_range = 1 << self.LG_RANGE
        floor = self.ns(2 * self.MAX_FRAME_SIZE)
        self.minth = max(self.MAXTH_US * 1000 - aqm_range, floor)
        self.maxth = self.minth + aqm_range
        self.lq, self.cq = deque[Item](), deque[Item]()
        self.count = 0.0
        self.prob_native = 0.0
        self.l_bytes_of_interval = 0
        self.deficits = [0.0, 0.0]
        self.turn = 0

    def ns(self, size: int) -> int:
        """Return the time that bytes take on the link, in whole nanoseconds."""
        return round(size * 10**9 / self.amsr)

    def wire(self, queue: deque[Item]) -> int:
        """Return the bytes of a queue with the overhead of frames."""
        return sum(item.size + self.overhead for item in queue)

    def prob_cl(self) -> float:
        """Return the coupled probability: p_CL = K p', where the Classic queue drops with p' squared."""
        return min(self.K * math.sqrt(self.pie.drop_prob_), 1.0)

    def laqm(self, qdelay: int) -> float:
        """Return the native probability of the low-latency queue."""
        if qdelay >= self.maxth:
            return 1.0
        if qdelay > self.minth:
            return (qdelay - self.minth) / (self.maxth - self.minth)
        return 0.0

    def recur(self, likelihood: float) -> bool:
        """Mark one packet for each whole sum of probabilities."""
        self.count += likelihood
        if self.count > 1:
            self.count -= 1
            return True
        return False

    def enqueue(self, item: Item) -> str:
        """Sort an arriving packet by its ECN field, and decide about it."""
        if item.ecn in ("ect1", "ce"):
            return self.enqueue_l(item)
        length = sum(waiting.size for waiting in self.cq)
        if length + item.size > self.buffer:
            self.pie.accu_prob_ = 0.0
            return "dropped"
        if self.pie.drop_early(item.size, length):
            return "dropped"
        self.cq.append(item)
        return "queued"

    def enqueue_l(self, item: Item) -> str:
        """Decide about a packet of the low-latency queue."""
        self.prob_native = self.laqm(self.ns(self.wire(self.lq) + item.size + self.overhead))
        marked = self.recur(max(self.prob_native, self.prob_cl()))
        if self.wire(self.lq) + self.MAX_FRAME_SIZE >= self.ll_buffer:
            return "dropped"
        self.lq.append(item._replace(ecn="ce") if marked else item)
        return "marked" if marked else "queued"

    def dequeue(self) -> Item | None:
        """Serve the queues by their weights."""
        queues = (self.lq, self.cq)
        for number, queue in enumerate(queues):
            if not queue:
                self.deficits[number] = 0.0
        if self.lq and self.cq:
            weights = (self.SCHEDULER_WEIGHT / 256, 1 - self.SCHEDULER_WEIGHT / 256)
            while self.deficits[self.turn] < queues[self.turn][0].size + self.overhead:
                self.turn = 1 - self.turn
                self.deficits[self.turn] += weights[self.turn] * self.QUANTUM
            self.deficits[self.turn] -= queues[self.turn][0].size + self.overhead
            number = self.turn
        elif self.lq or self.cq:
            number = 0 if self.lq else 1
        else:
            return None
        head = queues[number].popleft()
        if number == 0:
            self.l_bytes_of_interval += head.size + self.overhead
        return head

    def update(self) -> None:
        """Update the Classic queue; every INTERVAL.

        The low-latency queue takes its share of the rate, or less if it has sent less in the last interval.
        """
        share = self.SCHEDULER_WEIGHT / 256 * self.amsr
        used = self.l_bytes_of_interval / self.pie.INTERVAL
        self.pie.calculate_drop_prob(self.wire(self.cq) / (self.amsr - min(share, used)))
        self.l_bytes_of_interval = 0
