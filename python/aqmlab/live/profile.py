"""The TCP profile of this machine: the settings of its kernel in the form of a spec's ``tcp`` table."""

from __future__ import annotations

import json
import platform
import socket
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

from aqmlab.running.errors import LiveError

Read = Callable[[str], str | None]
"""Reads a setting below ``/proc/sys/net/ipv4``; returns ``None`` if the kernel does not have it."""

BASE = "linux-6"
"""The profile for values without a kernel setting: delayed acknowledgements, HyStart, pacing and similar."""

_TCP_INFO_BYTES = 256
_RTO, _SND_CWND = 8, 8 + 4 * 18
"""The offsets in ``struct tcp_info`` of the timeout in microseconds, and the window in segments (``linux/tcp.h``)."""


def kernel_profile() -> dict[str, Any]:
    """Return the ``tcp`` table of this machine, from the settings of its kernel and a new socket.

    Raises
    ------
    LiveError
        When the kernel is not Linux.
    """
    if not hasattr(socket, "TCP_INFO"):
        raise LiveError("live: only Linux says what its TCP is")
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as connection:
        info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _TCP_INFO_BYTES)
    return table(_setting, info)


def table(read: Read, info: bytes) -> dict[str, Any]:
    """Return a spec's ``tcp`` table from kernel settings and ``struct tcp_info`` of a new socket."""
    initial_rto_s = struct.unpack_from("=I", info, _RTO)[0] * 1e-6
    settings: dict[str, Any] = {
        "profile": BASE,
        # The last number is the limit of automatic tuning.
        "receive_window": _number(read("tcp_rmem"), last=True),
        "receive_window_tuning": _is_enabled(read("tcp_moderate_rcvbuf")),
        "send_buffer": _number(read("tcp_wmem"), last=True),
        "window_scaling": _is_enabled(read("tcp_window_scaling")),
        "timestamps": _is_enabled(read("tcp_timestamps")),
        "sack": _is_enabled(read("tcp_sack")),
        "rack": _is_enabled(read("tcp_recovery")),
        "frto": _is_enabled(read("tcp_frto")),
        "initial_window": struct.unpack_from("=I", info, _SND_CWND)[0],
        "initial_rto": _seconds(initial_rto_s),
        "min_rto": _with_unit(read("tcp_rto_min_us"), "us"),
        "max_rto": _with_unit(read("tcp_rto_max_ms"), "ms"),
        **_connect_settings(read, initial_rto_s),
        "syn_ack_retransmits": _number(read("tcp_synack_retries")),
        "data_retransmits": _number(read("tcp_retries2")),
        "restart_after_idle": _is_enabled(read("tcp_slow_start_after_idle")),
        "ecn": _ECN.get(read("tcp_ecn") or ""),
        "ecn_fallback": _is_enabled(read("tcp_ecn_fallback")),
        "congestion": read("tcp_congestion_control"),
    }
    return {name: value for name, value in settings.items() if value is not None}


_ECN: dict[str, bool | str] = {"0": False, "1": True, "2": False, "3": "accurate", "4": True, "5": False}
"""The ECN that two equal hosts negotiate, by ``tcp_ecn``: with 2 and 5 a host accepts ECN but never requests it."""


def as_toml(settings: dict[str, Any]) -> str:
    """Return the table as TOML to paste into a spec."""
    lines = [
        f"# Linux {platform.release()}, settings of this machine; all other values are those of {BASE}.",
        "[tcp]",
        *(f"{name} = {json.dumps(value)}" for name, value in settings.items()),
    ]
    return "\n".join(lines)


def _connect_settings(read: Read, initial_rto_s: float) -> dict[str, Any]:
    """Return the timeouts of SYN retransmissions: first some equal ones, then doubling ones."""
    retries = _number(read("tcp_syn_retries"))
    if retries is None:
        return {}
    linear_count = 1 + (_number(read("tcp_syn_linear_timeouts")) or 0)
    backoff = [1] * linear_count + [2**k for k in range(1, retries + 1)]
    longest_s = (_number(read("tcp_rto_max_ms")) or 120_000) * 1e-3
    total_s = sum(min(units * initial_rto_s, longest_s) for units in backoff)
    return {"syn_backoff": backoff, "connect_timeout": _seconds(total_s)}


def _setting(name: str) -> str | None:
    try:
        return Path("/proc/sys/net/ipv4", name).read_text().strip()
    except FileNotFoundError:
        return None


def _number(text: str | None, *, last: bool = False) -> int | None:
    return None if text is None else int(text.split()[-1 if last else 0])


def _is_enabled(text: str | None) -> bool | None:
    return None if text is None else int(text) != 0


def _with_unit(text: str | None, unit: str) -> str | None:
    return None if text is None else f"{text} {unit}"


def _seconds(time_s: float) -> str:
    return f"{time_s:g} s"
