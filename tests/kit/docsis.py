"""Transcriptions of the pseudocode of RFC 8034 (DOCSIS-PIE) and RFC 9957 (queue protection), for the tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any


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
