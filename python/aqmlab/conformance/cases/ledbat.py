"""LEDBAT: RFC 6817."""

from __future__ import annotations

import numpy as np

from aqmlab.conformance.cases import measures
from aqmlab.conformance.cases.standard import read_standard
from aqmlab.conformance.trace import Trace

RATE_MBPS = 10
"""The rate of the link with a queue."""


def first_flight(trace: Trace) -> float:
    """Return the data sent before the first acknowledgement, in segments."""
    return measures.first_flight_bytes(trace) / trace.mss


def window_after_loss(trace: Trace) -> float:
    """Return the window after the second loss, divided by that before it."""
    reduction = trace.recovery(2)
    return reduction.cwnd / reduction.before


def queueing_delay_ms(trace: Trace) -> float:
    """Return the mean of the smoothed round-trip time above the minimum in the second half of the run."""
    half = len(trace.time) // 2
    return float(np.nanmean(trace.column("srtt_ms")[half:]) - 1e3 * trace.rtt_s)


def utilization(trace: Trace) -> float:
    """Return the data delivered in the second half of the run, with their headers, relative to the link's capacity."""
    half = len(trace.time) // 2
    delivered = np.diff(trace.column("delivered_bytes")[[half, -1]])[0]
    # A frame has 1538 bytes on the wire.
    bits = 8 * delivered * 1538 / trace.mss
    return float(bits / (trace.time[-1] - trace.time[half]) / (RATE_MBPS * 1e6))


STANDARD = read_standard(
    "ledbat",
    {
        "ledbat-initial-window": first_flight,
        "ledbat-gain": measures.growth_per_round(1),
        "ledbat-loss": window_after_loss,
        "ledbat-timeout": measures.window_at_timeout,
        "ledbat-target": queueing_delay_ms,
        "ledbat-full-link": utilization,
    },
)
