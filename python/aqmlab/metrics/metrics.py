"""The measures of a run, by their names in records and summaries."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from aqmlab._core import schemas

PARTS = ("classes", "directions", "users", "users_limited_by_percent", "pages", "sources")
"""The parts of a record: each class of packets that the queue treats separately, each direction of each link, the web
users next to other sources, the limits of their connections, the pages that they load, and each source."""

MEASURES = tuple(name for name in json.loads(schemas())["summary"]["properties"] if name not in (*PARTS, "counters"))
"""The measures of a run, in the order of reports. A measure without a packet or request is ``None``."""

LIMITS = {
    "application": "the application",
    "receive_window": "the receive window",
    "send_buffer": "the send buffer",
    "congestion_window": "the congestion window",
    "recovery": "loss recovery",
    "pacing": "pacing",
    "interface": "the network interface",
}
"""The limits of a connection in words, in the order of the columns of ``limited_by_percent``."""

COSTS = ("wall_s", "cpu_s", "x_real_time")
"""The cost of a run."""


def value_at(record: Any, path: Sequence[str | int]) -> Any:
    """Return what a record has at a path; ``None`` if there is nothing, as in cells of earlier versions."""
    for step in path:
        if isinstance(record, Mapping):
            # Cells that were stored before a number was added lack it.
            record = record.get(step)
        elif record is not None:
            record = record[step] if int(step) < len(record) else None
    return record


def lookup(record: Any, path: Sequence[str | int]) -> float | None:
    """Return the number at a path of a record; ``None`` if there is none.

    Examples
    --------
    >>> lookup({"queue_delay_ms": {"mean": 3}, "users": None}, ("queue_delay_ms", "mean"))
    3.0
    >>> lookup({"queue_delay_ms": {"mean": 3}, "users": None}, ("users", "loss_percent"))
    """
    value = value_at(record, path)
    return None if value is None else float(value)


def is_held_by_device(delay: Mapping[str, float | None]) -> bool:
    """Return true if the device FIFO causes at least a tenth of a queueing delay, and at least 1 ms.

    Examples
    --------
    >>> is_held_by_device({"mean": 137.0, "device_fifo_mean": 135.0})
    True
    >>> is_held_by_device({"mean": 0.2, "device_fifo_mean": 0.1})
    False
    """
    mean, device = delay.get("mean"), delay.get("device_fifo_mean")
    return mean is not None and device is not None and device >= max(1.0, 0.1 * mean)
