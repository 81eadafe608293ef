"""Scenarios of conformance cases: one flow over a link that loses or marks the packets of a script."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

PERIOD_MS = 1.0
"""The sampling period of the flow's series: short enough for the window of each round trip."""

LINK_DELAY_MS = 1.0
"""The propagation delay of the link in each direction; the rest of the round trip is at the hosts."""

STACK: Mapping[str, Any] = {
    "profile": "linux-6",
    "ack_every": 1,
    "quick_acks": 0,
    "receive_window": 33_554_432,
    "receive_window_tuning": False,
    "send_buffer": 0,
    "segmentation_offload": False,
}
"""The stack of the hosts: every segment leaves as soon as the window has room and is acknowledged at once, and no
buffer limits the sender."""


def one_flow(
    *,
    rtt_ms: float = 100,
    rate: str = "200 Mbit/s",
    duration: str = "20 s",
    period_ms: float = PERIOD_MS,
    drop: Iterable[int | str] = (),
    mark: Iterable[int | str] = (),
    tcp: Mapping[str, Any] | None = None,
    link: Mapping[str, Any] | None = None,
    queue: Mapping[str, Any] | None = None,
    source: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the spec of one upload, which starts at time 0; packets to drop and mark are numbered from 1.

    The link is fast enough for the window of each case, so that no queue forms unless the case has one.
    """
    script = {"drop": " ".join(map(str, drop)), "mark": " ".join(map(str, mark))}
    flow = {"flows": 1, "direction": "upload", "spread": "0 s", "rtt": {"fixed": f"{rtt_ms - 2 * LINK_DELAY_MS:g} ms"}}
    return {
        "link": {"rate": rate, "delay": f"{LINK_DELAY_MS:g} ms", "device_fifo": 0, **(link or {})},
        "queue": dict(queue or {"scripted": {name: numbers for name, numbers in script.items() if numbers}}),
        "queue_back": {"scripted": {}},
        "tcp": {**STACK, **(tcp or {})},
        "users": {"per_side": 0},
        "sources": [dict(source) if source else {"bulk": flow}],
        "protocol": {"warmup": "0 s", "duration": duration},
        "record": {"flows": f"{period_ms:g} ms"},
    }


def every(distance: int, last: int) -> range:
    """Return the numbers of packets at equal distances."""
    return range(distance, last + 1, distance)
