"""Reno as a custom congestion control. Here: aqmlab run flows.toml --set tcp.congestion=my_control:Reno."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

import aqmlab as lab


class Reno(lab.CongestionControl):
    """Reduces the window for a loss, and adds a segment for each round trip without one, as aqmlab's own ``reno``."""

    @dataclass
    class Config:
        """The parameters: type, unit and meaning, default."""

        beta: Annotated[float, Field(gt=0, lt=1), "fraction", "The factor of the window at a loss or mark."] = 0.5

    def __init__(self, config: Config, connection: lab.Connection) -> None:
        super().__init__(config, connection)
        # Bytes acknowledged in congestion avoidance since the window last grew.
        self.bytes_acked = 0
        # The segments that one acknowledgement counts for in slow start (RFC 3465).
        self.limit = 2
        self.before_reduction: tuple[float, float | None] | None = None

    def on_ack(self, ack: lab.Ack) -> None:
        """Grow: slow start below the threshold, from it on a segment for each window acknowledged."""
        if not ack.window_limited:
            return
        if self.ssthresh is None or self.cwnd < self.ssthresh:
            self.cwnd += min(ack.bytes, self.limit * ack.mss)
            return
        self.bytes_acked += ack.bytes
        if self.bytes_acked >= self.cwnd:
            self.bytes_acked -= int(self.cwnd)
            self.cwnd += ack.mss

    def on_loss(self, window: int, mss: int) -> None:
        """Halve the window (RFC 5681 section 3.2)."""
        self.ssthresh = self._reduced(window, mss)
        self.cwnd = self.ssthresh
        self.limit = 2

    def on_rto(self, window: int, mss: int) -> None:
        """Begin again with one segment; a second timeout of the same data keeps the threshold (section 3.1)."""
        if self.cwnd > mss:
            self.ssthresh = self._reduced(window, mss)
        self.cwnd = mss
        self.limit = 1

    def on_mark(self, window: int, mss: int) -> None:
        """Halve the window, which may fall to one segment (RFC 3168 section 6.1.2)."""
        self.cwnd = max(int(window * self.config.beta), mss)
        self.ssthresh = max(self.cwnd, 2 * mss)
        self.bytes_acked = 0
        self.limit = 2
        self.before_reduction = None

    def on_spurious(self) -> None:
        """Restore the window from before the loss or timeout."""
        if self.before_reduction is not None:
            cwnd, ssthresh = self.before_reduction
            self.cwnd = max(self.cwnd, cwnd)
            self.ssthresh = None if ssthresh is None else max(self.ssthresh or 0, ssthresh)
            self.before_reduction = None

    def _reduced(self, window: int, mss: int) -> float:
        self.before_reduction = (self.cwnd, self.ssthresh)
        self.bytes_acked = 0
        # A mark may have reduced the window for the same data.
        return max(min(int(window * self.config.beta), self.cwnd), 2 * mss)
