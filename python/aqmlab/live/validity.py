"""Validity of a live run: its measures must describe the network, not the limits of the machine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any

from aqmlab.live.settings import Settings

_LATENESS = (
    ("router's lateness p99", "router_lateness_ms_p99", "late_p99_ms"),
    ("router's lateness p99.9", "router_lateness_ms_p999", "late_p999_ms"),
    ("lateness of the router's reads p99", "read_lag_ms_p99", "late_reads_ms"),
    ("users' lateness p99", "wake_lateness_ms_p99", "late_users_ms"),
)
"""The kinds of lateness, with their key in the measured facts and their bound in the settings."""

NUMBERS = {
    *(number for _, number, _ in _LATENESS),
    *("cpu_left_percent", "lost_outside", "strays", "tcp_counters", "socket_errors", "ends_by_congestion"),
    "exit_codes",
}
"""The measured facts of a run that decide its validity."""


def verdict(measured: Mapping[str, Any], settings: Settings) -> dict[str, Any]:
    """Return the validity of a run, the reasons if it is invalid, and the bounds."""
    bounds = asdict(settings)
    del bounds["device"]
    reasons = list(_reasons(measured, settings))
    return {"valid": not reasons, "invalid_reasons": reasons, "bounds": bounds}


def is_still_valid(live: Mapping[str, Any], settings: Settings) -> bool:
    """Return true if a stored valid run is also valid by these bounds.

    Parameters
    ----------
    live
        The live part of its metadata.
    settings
        The bounds.
    """
    # A run that was stored by an older version may lack facts.
    return live["valid"] and live.keys() >= NUMBERS and not any(_reasons(live, settings))


def _reasons(measured: Mapping[str, Any], settings: Settings) -> Iterator[str]:
    for quantity, number, bound in _LATENESS:
        value, maximum = measured[number], getattr(settings, bound)
        if value > maximum:
            yield f"the {quantity} is {value:.3f} ms, more than {maximum:g} ms"
    for quantity, count in (
        ("packets lost outside the queues", measured["lost_outside"]),
        ("packets of no connection", measured["strays"]),
        ("connections that servers had no room for", measured["tcp_counters"]["ListenDrops"]),
    ):
        if count:
            yield f"{quantity}: {count}"
    _, server_code = measured["exit_codes"]
    # A server of a single client ends by itself, with code 0.
    if server_code:
        yield f"the server ended before the command, with exit code {server_code}"
    errors, ends = (sum(measured[name].values()) for name in ("socket_errors", "ends_by_congestion"))
    maximum = settings.socket_errors_percent
    if 100 * errors > maximum * ends:
        yield f"errors of sockets: {errors}, more than {maximum:g} % of {ends} ends of connections"
    cpu_left, minimum = measured["cpu_left_percent"], settings.cpu_left_percent
    if cpu_left < minimum:
        yield f"the processors had {cpu_left:.1f} % of their time left, less than {minimum:g} %"
