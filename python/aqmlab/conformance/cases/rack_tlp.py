"""RACK-TLP: RFC 8985."""

from __future__ import annotations

import numpy as np

from aqmlab.conformance.cases.standard import read_standard
from aqmlab.conformance.trace import NotSeen, Trace


def _repair(trace: Trace, since: str) -> tuple[int, float]:
    """Return the row before the first retransmission, and the time to it since a column last grew."""
    again = np.flatnonzero(trace.column("retransmitted_bytes") > 0)
    if not len(again):
        raise NotSeen("nothing is retransmitted")
    before = int(again[0]) - 1
    values = trace.column(since)[: before + 1]
    last = int(np.flatnonzero(values == values[-1])[0])
    return before, float(trace.time[before + 1] - trace.time[last])


def probe_timeout(trace: Trace) -> float:
    """Return the time from the last acknowledgement to the probe, in smoothed round-trip times."""
    row, waited_s = _repair(trace, "delivered_bytes")
    return float(1000 * waited_s / trace.column("srtt_ms")[row])


def timeouts(trace: Trace) -> float:
    """Return the number of retransmission timeouts."""
    return float(len(trace.timeouts))


def reordering_window(trace: Trace) -> float:
    """Return the time from the last data to the retransmission, in minimum round-trip times."""
    _, waited_s = _repair(trace, "sent_bytes")
    return waited_s / trace.rtt_s


STANDARD = read_standard(
    "rack-tlp",
    {
        "rack-tlp-probe": probe_timeout,
        "rack-tlp-last-segment": timeouts,
        "rack-tlp-tail": timeouts,
        "rack-tlp-reordering-window": reordering_window,
    },
)
