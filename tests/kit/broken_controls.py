"""Congestion controls that break a clause of RFC 9743 on purpose."""

from __future__ import annotations

import aqmlab as lab
from textbook_controls import Reno


class WithoutBackoff(lab.CongestionControl):
    """Never reduces its window: not for losses, not for marks, and not for timeouts."""

    def on_ack(self, ack: lab.Ack) -> None:
        """Grow by a segment for each round trip."""
        self.cwnd += ack.mss * ack.bytes / self.cwnd

    def on_loss(self, window: int, mss: int) -> None:
        """Keep the window."""
        self.ssthresh = self.cwnd = max(window, self.cwnd)

    def on_rto(self, window: int, mss: int) -> None:
        """Keep the window."""
        self.ssthresh = self.cwnd = max(window, self.cwnd)


class DeafToMarks(Reno):
    """Reno that reacts to losses, and never to marks."""

    def on_mark(self, window: int, mss: int) -> None:
        """Keep the window."""
