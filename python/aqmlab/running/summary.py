"""The columns of a summary, the same in every cell: a number that there is nothing to measure for is null.

What each of them means is said by the engine, where they are filled in (``crates/sim/src/summary.rs``).
"""

from __future__ import annotations

import json
from collections.abc import Mapping

import pyarrow as pa


def _numbers(*names: str) -> dict[str, pa.DataType]:
    return dict.fromkeys(names, pa.float64())


def _counts(*names: str) -> dict[str, pa.DataType]:
    return dict.fromkeys(names, pa.int64())


def _object(fields: Mapping[str, pa.DataType]) -> pa.DataType:
    return pa.struct(list(fields.items()))


_RESPONSE_TIME = _object(_numbers("p10", "p25", "p50", "p75", "p90", "p95", "p99", "mean"))
_QUEUE_DELAY = _object(_numbers("mean", "p50", "p99", "p999"))
_QUEUE_PACKETS = _numbers("queue_packets_mean") | _counts("queue_packets_p99")
_CLASSES = pa.list_(_object({"name": pa.string(), **_counts("packets"), "queue_delay_ms": _QUEUE_DELAY}))
_DIRECTION = {
    **_counts("link", "direction", "arrived", "dropped", "marked"),
    **_numbers("loss_percent", "mark_percent", "throughput_mbps", "utilisation"),
    **_QUEUE_PACKETS,
    "queue_delay_ms": _QUEUE_DELAY,
    "classes": _CLASSES,
}
_DROPS = ("dropped_early", "dropped_forced", "dropped_by_limit", "dropped_at_dequeue", "evicted")
_PACKETS = {
    **_counts("packets_sent", "packets_lost"),
    **_numbers("loss_percent"),
    "queue_delay_ms": _QUEUE_DELAY,
    "queue_delay_ms_each_way": pa.list_(_QUEUE_DELAY),
}
_DATAGRAMS = _counts("sent") | _numbers("loss_percent", *(f"delay_ms_{name}" for name in ("mean", "p99", "max", "sd")))
_SOURCE = {
    **dict.fromkeys(("name", "kind"), pa.string()),
    **_numbers("goodput_mbps"),
    **_counts("completed", "aborted"),
    "response_time_ms": _RESPONSE_TIME,
    **_numbers("response_time_ms_max"),
    **_PACKETS,
    "datagrams": _object(_DATAGRAMS),
}

SCHEMA = pa.schema(
    {
        **_numbers("loss_percent", "mark_percent"),
        **_counts("completed_requests", "aborted_requests"),
        **_numbers("throughput_mbps", "utilisation"),
        **_QUEUE_PACKETS,
        "queue_delay_ms": _QUEUE_DELAY,
        **_numbers("packet_bytes_mean"),
        "response_time_ms": _RESPONSE_TIME,
        **_numbers("fraction_within_500ms"),
        **_counts("bottleneck_packets"),
        "classes": _CLASSES,
        "directions": pa.list_(_object(_DIRECTION)),
        "counters": pa.list_(_object(_counts("link", "direction", "arrived", "sent", *_DROPS, "marked", "held"))),
        "users": _object(_PACKETS),
        "sources": pa.list_(_object(_SOURCE)),
    }
)
"""Names and types, in their order."""


def as_row(summary: str) -> pa.RecordBatch:
    """Return the summary that the engine wrote as JSON as a table of one row."""
    return pa.RecordBatch.from_pylist([json.loads(summary)], schema=SCHEMA)
