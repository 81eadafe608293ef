"""The settings of a live run: its device, and the bounds of a valid run.

All bounds are ours. Packets may leave the router late by a tenth (p99) or half (p99.9) of the shortest round-trip time
of the papers' users, and be read late by that tenth. Users may wake late by a thousandth of a think time. As many
connections may fail as on a congested link. Processors must have idle time, because the lateness of the kernel's own
work cannot be measured.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The device and the bounds of validity of a live run."""

    device: str | None = None
    """The device between hosts and router, ``tun`` or ``veth``; by default the one that the machine allows."""
    late_p99_ms: float = 1.0
    """The largest lateness of packets leaving the router, p99 in milliseconds."""
    late_p999_ms: float = 5.0
    """The largest lateness of packets leaving the router, p99.9 in milliseconds."""
    late_reads_ms: float = 1.0
    """The largest lateness of the router's reads, p99 of probe packets in milliseconds."""
    late_users_ms: float = 10.0
    """The largest lateness of the wake-ups of users and sources, p99 in milliseconds."""
    socket_errors_percent: float = 1.0
    """The largest share of ends of connections of users and sources that end by a socket error, in percent."""
    cpu_left_percent: float = 5.0
    """The smallest share of processor time that is idle or used by work of lower priority, in percent."""


DEFAULT = Settings()
"""The default settings."""
