"""Reno with the slow start of Linux: a test of the cause of differences between the model and Linux."""

from __future__ import annotations

from dataclasses import dataclass

import aqmlab as lab


class LinuxReno(lab.CongestionControl):
    """Reno whose slow start grows while the window is below twice the most bytes in flight (`tcp_is_cwnd_limited`)."""

    @dataclass
    class Config:
        """There are no parameters."""

    def __init__(self, config: Config, connection: lab.Connection) -> None:
        super().__init__(config, connection)
        # The most bytes in flight in the last round trip and in this one.
        self.in_flight = (0, 0)

    def on_delivery(self, ack: lab.Ack) -> None:
        """Note the bytes that were in flight."""
        before, now = (self.in_flight[1], 0) if ack.new_round else self.in_flight
        self.in_flight = (before, max(now, ack.in_flight + ack.bytes))

    def on_ack(self, ack: lab.Ack) -> None:
        """Grow."""
        if self.ssthresh is None or self.cwnd < self.ssthresh:
            if ack.window_limited or self.cwnd < 2 * max(self.in_flight):
                self.cwnd += min(ack.bytes, 2 * ack.mss)
        elif ack.window_limited:
            self.cwnd += ack.mss * ack.bytes / self.cwnd

    def on_loss(self, window: int, mss: int) -> None:
        """Halve the window."""
        self.cwnd = self.ssthresh = max(window / 2, 2 * mss)
