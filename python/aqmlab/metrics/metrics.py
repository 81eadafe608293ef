"""What a run measures, by the names that it has in records and summaries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

MEASURES = (
    "loss_percent",
    "mark_percent",
    "retransmit_percent",
    "completed_requests",
    "aborted_requests",
    "throughput_mbps",
    "utilisation",
    "queue_packets_mean",
    "queue_packets_p99",
    "queue_delay_ms",
    "packet_bytes_mean",
    "response_time_ms",
    "fraction_within_500ms",
    "bottleneck_packets",
)
"""What a run measures, in the order it is reported. None where there was nothing to measure: no packet, no request."""

PARTS = ("classes", "directions", "users", "users_limited_by_percent", "sources")
"""What it measures of a part of the traffic: of each class of packets that the queue treats apart, of each direction of
each link, of the web users where there are others, of what limits their connections, of each source."""

LIMITS = {
    "application": "the application",
    "receive_window": "the receive window",
    "congestion_window": "the congestion window",
    "recovery": "loss recovery",
    "pacing": "pacing",
    "interface": "the network interface",
}
"""What limits a connection, in words, in the order of the columns of ``limited_by_percent``."""

COSTS = ("wall_s", "cpu_s", "x_real_time")
"""What a run took."""


def lookup(record: Any, path: Sequence[str | int]) -> float | None:
    """Return the number at a place of a record; ``None`` where there is nothing, as in cells of earlier versions.

    Examples
    --------
    >>> lookup({"queue_delay_ms": {"mean": 3}, "users": None}, ("queue_delay_ms", "mean"))
    3.0
    >>> lookup({"queue_delay_ms": {"mean": 3}, "users": None}, ("users", "loss_percent"))
    """
    for step in path:
        if isinstance(record, Mapping):
            # A cell that was stored before a number was added does not have it.
            record = record.get(step)
        elif record is not None:
            record = record[step] if int(step) < len(record) else None
    return None if record is None else float(record)


def is_held_by_device(delay: Mapping[str, float | None]) -> bool:
    """Say whether the device FIFO below the discipline holds a tenth of a queueing delay or more, and 1 ms.

    Examples
    --------
    >>> is_held_by_device({"mean": 137.0, "device_fifo_mean": 135.0})
    True
    >>> is_held_by_device({"mean": 0.2, "device_fifo_mean": 0.1})
    False
    """
    mean, device = delay.get("mean"), delay.get("device_fifo_mean")
    return mean is not None and device is not None and device >= max(1.0, 0.1 * mean)
