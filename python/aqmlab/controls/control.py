"""The base class of custom congestion controls.

A control is a class derived from :class:`CongestionControl` in a module of yours. ``my_module:MyControl`` is then
accepted as ``tcp.congestion``. ``docs/guide/custom-control.md`` is the guide.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from aqmlab._core import Ack, Connection
from aqmlab.disciplines.custom.base import CustomClass


class CongestionControl(CustomClass):
    """The base class of custom congestion controls. Derive from it, and write ``on_ack`` and ``on_loss`` at least.

    Each connection has an instance of its own. The engine reads ``cwnd``, ``ssthresh`` and ``pacing_rate_bps`` after
    every call. The stack, not the control, chooses the segments to retransmit and ends loss recovery.

    Parameters
    ----------
    config
        An instance of the class's ``Config``, a dataclass whose fields all have defaults.
    connection
        The connection's segment size and windows.

    Examples
    --------
    >>> class Fixed(CongestionControl):
    ...     def on_ack(self, ack):
    ...         self.cwnd = 20 * ack.mss
    ...
    ...     def on_loss(self, window, mss):
    ...         pass
    """

    marks: ClassVar[Literal["echoed", "counted", "l4s"]] = "echoed"
    """The response to congestion marks. ``"echoed"`` calls ``on_mark`` once a window (RFC 3168). With ``"counted"`` the
    control reads ``ack.marked``, which needs a form of ECN that counts marks. ``"l4s"`` sends ECT(1) as well.
    """

    cwnd: float
    """The congestion window in bytes, at least one segment."""
    ssthresh: float | None = None
    """The slow-start threshold in bytes, and the target of loss recovery; ``None`` while it does not bound."""
    pacing_rate_bps: float | None = None
    """The rate at which segments leave, in bits per second; ``None`` if only the window limits them."""

    def __init__(self, config: Any, connection: Connection) -> None:
        self.config = config
        self.connection = connection
        self.cwnd = connection.initial_window

    def on_delivery(self, ack: Ack) -> None:
        """React to every acknowledgement that delivers data, in loss recovery too; it comes before other calls."""

    def on_ack(self, ack: Ack) -> None:
        """React to an acknowledgement of new data outside loss recovery."""
        raise NotImplementedError

    def on_loss(self, window: int, mss: int) -> None:
        """React to the first loss of a window of data, of which ``window`` bytes were allowed in flight."""
        raise NotImplementedError

    def on_recovered(self, in_flight: int, mss: int) -> None:
        """React to the end of loss recovery; unless overridden, the window becomes the threshold."""
        if self.ssthresh is not None:
            self.cwnd = self.ssthresh

    def on_rto(self, window: int, mss: int) -> None:
        """React to a retransmission timeout; unless overridden, as RFC 5681 section 3.1 says."""
        if self.cwnd > mss:
            self.ssthresh = max(window // 2, 2 * mss)
        self.cwnd = mss

    def on_spurious(self) -> None:
        """React to the detection that the last loss or timeout was spurious; unless overridden, nothing happens."""

    def on_mark(self, window: int, mss: int) -> None:
        """React to the first echo of a congestion mark in a window of data; unless overridden, as to a loss."""
        self.on_loss(window, mss)

    def on_idle(self, initial_window: int) -> None:
        """React to a pause longer than the retransmission timeout; unless overridden, as RFC 5681 section 4.1 says."""
        self.cwnd = min(self.cwnd, initial_window)
