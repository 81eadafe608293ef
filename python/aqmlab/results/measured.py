"""What a run measures, by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

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

PARTS = ("classes", "directions", "users", "sources")
"""What it measures of a part of the traffic: of each class of packets that the queue treats apart, of each direction of
each link, of the web users where there are others, of each source."""

COSTS = ("wall_s", "cpu_s", "x_real_time")
"""What a run took."""


class Number(NamedTuple):
    """A single number of a run."""

    path: tuple[str, ...]
    """Where it stands in a record or a summary."""
    unit: str


NUMBERS: Mapping[str, Number] = {
    **{name: Number(("response_time_ms", name), "ms") for name in ("mean", "p50", "p90", "p95", "p99")},
    "delay": Number(("queue_delay_ms", "mean"), "ms"),
    "delay p99": Number(("queue_delay_ms", "p99"), "ms"),
    "loss": Number(("loss_percent",), "%"),
    "throughput": Number(("throughput_mbps",), "Mbit/s"),
    "utilisation": Number(("utilisation",), "of 1"),
    "completed": Number(("completed_requests",), "requests"),
    "within 500 ms": Number(("fraction_within_500ms",), "of 1"),
}
"""What may be asked for by a short name. ``mean`` and those from ``p50`` to ``p99`` are of response times."""


def at(record: Any, path: Sequence[str | int]) -> float | None:
    """Return the number that stands at a place of a record; ``None`` where the way to it ends in nothing.

    Examples
    --------
    >>> at({"queue_delay_ms": {"mean": 3}, "users": None}, ("queue_delay_ms", "mean"))
    3.0
    >>> at({"queue_delay_ms": {"mean": 3}, "users": None}, ("users", "loss_percent"))
    """
    for step in path:
        if record is None or (isinstance(step, int) and step >= len(record)):
            return None
        record = record[step]
    return None if record is None else float(record)
