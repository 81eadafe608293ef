"""Reno, CUBIC and DCTCP as custom controls, whose parameters break one clause of their standard each."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Literal

import aqmlab as lab


class Reno(lab.CongestionControl):
    """Reno, with the factors that conformance cases measure."""

    @dataclass
    class Config:
        """The parameters; the defaults are those of the RFCs."""

        loss_factor: Annotated[float, "fraction", "The threshold after a loss."] = 0.5
        timeout_factor: Annotated[float, "fraction", "The threshold after a timeout."] = 0.5
        timeout_window: Annotated[float, "segments", "The window after a timeout."] = 1.0
        growth: Annotated[float, "segments", "The growth in a round trip."] = 1.0
        slow_start: Annotated[float, "fraction", "The bytes added for each byte acknowledged in slow start."] = 1.0

    def on_ack(self, ack: lab.Ack) -> None:
        """Grow, if the window is used."""
        if not ack.window_limited:
            return
        if self.ssthresh is None or self.cwnd < self.ssthresh:
            self.cwnd += self.config.slow_start * ack.bytes
        else:
            self.cwnd += self.config.growth * ack.mss * ack.bytes / self.cwnd

    def on_loss(self, window: int, mss: int) -> None:
        """Reduce for a loss."""
        self.ssthresh = self.cwnd = max(self.config.loss_factor * window, 2 * mss)

    def on_rto(self, window: int, mss: int) -> None:
        """Reduce for a timeout."""
        if self.cwnd > mss:
            self.ssthresh = max(self.config.timeout_factor * window, 2 * mss)
        self.cwnd = self.config.timeout_window * mss


class Cubic(lab.CongestionControl):
    """CUBIC of RFC 9438, section 4, in bytes."""

    @dataclass
    class Config:
        """The parameters; the defaults are those of the RFC."""

        beta: Annotated[float, "fraction", "The threshold after a loss."] = 0.7
        c: Annotated[float, "segments/s^3", "C of the curve."] = 0.4
        fast_convergence: bool = True
        alpha: Annotated[float, "segments", "The growth in a round trip of the Reno-friendly window."] = 0.9 / 1.7
        alpha_above: Annotated[float, "segments", "That from the window of the last reduction on."] = 1.0
        shape: Literal["cubic", "line"] = "cubic"

    def __init__(self, config: Config, connection: lab.Connection) -> None:
        super().__init__(config, connection)
        self.w_max: float | None = None
        self.prior = 0.0
        self.epoch: float | None = None
        self.k = self.origin = self.w_est = 0.0
        self.srtt = 0.0

    def on_delivery(self, ack: lab.Ack) -> None:
        """Measure the smoothed round-trip time."""
        if ack.rtt_s is not None:
            self.srtt = ack.rtt_s if not self.srtt else self.srtt + (ack.rtt_s - self.srtt) / 8

    def on_ack(self, ack: lab.Ack) -> None:
        """Grow by slow start, by the curve, or as Reno."""
        if not ack.window_limited:
            return
        if self.ssthresh is None or self.cwnd < self.ssthresh:
            self.cwnd += ack.bytes
            return
        if self.epoch is None:
            self._begin(float(ack.now), ack.mss)
        assert self.epoch is not None, "begun"
        t = float(ack.now) - self.epoch
        alpha = self.config.alpha_above if self.w_est >= self.prior else self.config.alpha
        self.w_est += alpha * ack.mss * ack.bytes / self.cwnd
        if self._curve(t, ack.mss) < self.w_est:
            self.cwnd = max(self.cwnd, self.w_est)
        else:
            target = min(max(self._curve(t + self.srtt, ack.mss), self.cwnd), 1.5 * self.cwnd)
            self.cwnd += (target - self.cwnd) * ack.bytes / self.cwnd

    def _begin(self, now: float, mss: int) -> None:
        self.epoch, self.w_est = now, self.cwnd
        self.origin = max(self.w_max or 0.0, self.cwnd)
        self.k = math.cbrt((self.origin - self.cwnd) / (self.config.c * mss))

    def _curve(self, t: float, mss: int) -> float:
        if self.config.shape == "line":
            return float(self.origin + self.config.c * mss * self.k**2 * (t - self.k))
        return float(self.config.c * mss * (t - self.k) ** 3 + self.origin)

    def on_loss(self, window: int, mss: int) -> None:
        """Reduce for a loss, with fast convergence."""
        is_falling = self.w_max is not None and self.cwnd < self.w_max
        factor = (1 + self.config.beta) / 2 if is_falling and self.config.fast_convergence else 1.0
        self.w_max, self.prior, self.epoch = factor * self.cwnd, self.cwnd, None
        self.ssthresh = self.cwnd = max(self.config.beta * window, 2 * mss)

    def on_rto(self, window: int, mss: int) -> None:
        """Reduce to one segment."""
        if self.cwnd > mss:
            self.ssthresh = max(self.config.beta * window, 2 * mss)
            self.prior = self.cwnd
        self.w_max, self.epoch, self.cwnd = None, None, mss


class Dctcp(Reno):
    """DCTCP of RFC 8257, which reduces at the first mark of a window of data."""

    marks = "counted"

    @dataclass
    class Config(Reno.Config):
        """The parameters; the defaults are those of the RFC."""

        gain: Annotated[float, "fraction", "The gain g of the estimate."] = 1 / 16
        initial_alpha: Annotated[float, "fraction", "The estimate at the start."] = 1.0
        each_mark: bool = False

    def __init__(self, config: Config, connection: lab.Connection) -> None:
        super().__init__(config, connection)
        self.alpha = config.initial_alpha
        self.acked = self.marked = 0
        self.to_next = 0

    def on_delivery(self, ack: lab.Ack) -> None:
        """Count marks, and update the estimate once a round trip."""
        if ack.new_round and self.acked:
            self.alpha += self.config.gain * (self.marked / self.acked - self.alpha)
            self.acked = self.marked = 0
        self.acked += ack.bytes
        self.marked += ack.marked
        self.to_next = max(0, self.to_next - ack.bytes)

    def on_ack(self, ack: lab.Ack) -> None:
        """Reduce by half of the estimate, once a window of data, or grow as Reno."""
        if ack.marked and (not self.to_next or self.config.each_mark):
            self.to_next = ack.in_flight + 1
            self.ssthresh = self.cwnd = max((1 - self.alpha / 2) * self.cwnd, 2 * ack.mss)
        elif not ack.marked:
            super().on_ack(ack)
