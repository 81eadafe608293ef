"""Proportional rate reduction: RFC 9937."""

from __future__ import annotations

import numpy as np

from aqmlab.conformance.cases import measures
from aqmlab.conformance.cases.standard import read_standard
from aqmlab.conformance.trace import NotSeen, Trace


def proportion(trace: Trace) -> float:
    """Return the data sent for the data delivered in recovery, divided by the threshold over the window."""
    recovery = trace.recovery(2)
    start, end = recovery.at - 1, trace.end_of(recovery) - 1
    sent, delivered = (np.diff(trace.column(name)[[start, end]])[0] for name in ("sent_bytes", "delivered_bytes"))
    return float(sent / delivered / measures.factor(recovery))


def delay_of_retransmission(trace: Trace) -> float:
    """Return the time from the start of recovery to the first retransmission, in ms."""
    recovery = trace.recovery(2)
    again = trace.column("retransmitted_bytes")
    later = np.flatnonzero(again[recovery.at :] > again[recovery.at - 1])
    if not len(later):
        raise NotSeen("nothing is retransmitted")
    return float(1000 * (trace.time[recovery.at + int(later[0])] - recovery.time_s))


def flight_after_minimum(trace: Trace) -> float:
    """Return the largest flight after the smallest one in recovery, divided by the threshold."""
    recovery = trace.recovery(2)
    flight = trace.in_flight[recovery.at : trace.end_of(recovery)]
    if flight.min() >= recovery.ssthresh:
        raise NotSeen("the losses do not take the flight below the threshold")
    return float(flight[int(flight.argmin()) :].max() / recovery.ssthresh)


STANDARD = read_standard(
    "prr",
    {
        "prr-proportional": proportion,
        "prr-fast-retransmit": delay_of_retransmission,
        "prr-completion": measures.window_after_recovery(2),
        "prr-bound": flight_after_minimum,
    },
)
