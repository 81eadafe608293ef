"""What the machine is to do about a live run, and what makes a run valid.

All bounds are ours: of how late packets may leave the router a tenth of the shortest round trip of the papers' users,
and half of it; of how late it may read them that tenth too; of users a thousandth of a think time; as many broken
connections as a congested link may leave of its own; and processors that are not always busy, for how late the
kernel's own work is nobody measures.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What the machine is to do about a run."""

    device: str | None = None
    """What joins the hosts to the router, ``tun`` or ``veth``; by default what the machine allows."""
    late_p99_ms: float = 1.0
    """A run is valid where 99 % of the packets left the router at most so late, in milliseconds."""
    late_p999_ms: float = 5.0
    """The same for 99.9 %."""
    late_reads_ms: float = 1.0
    """A run is valid where the router read 99 % of the probes at most so late after they were sent, in milliseconds."""
    late_users_ms: float = 10.0
    """A run is valid where users and sources were woken at most so late in 99 % of the cases, in milliseconds."""
    socket_errors_percent: float = 1.0
    """A run is valid where at most so many ends of connections of users and sources broke, in percent of all."""
    cpu_left_percent: float = 5.0
    """A run is valid where the processors had at least so much of their time left for it, in percent: what was idle, or
    had by work that yields to it."""


DEFAULT = Settings()
"""What it does unless it is told otherwise."""
