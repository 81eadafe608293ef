"""Measures that several standards share: numbers of windows, reductions and throughput of a flow's series."""

from __future__ import annotations

import math

import numpy as np

from aqmlab.conformance.trace import Measure, NotSeen, Reduction, Trace


def first_flight_bytes(trace: Trace) -> float:
    """Return the data bytes sent before the first acknowledgement of data."""
    sent = trace.column("sent_bytes")[trace.column("delivered_bytes") == 0]
    if not len(sent):
        raise NotSeen("no row before the first acknowledgement")
    return float(sent.max())


def slow_start_factor(rounds: int) -> Measure:
    """Return a measure: the factor by which the window grows in each of the first round trips."""

    def measure(trace: Trace) -> float:
        # Between the acknowledgements of two round trips, which come in bursts.
        start = float(trace.time[0]) + trace.rtt_s / 2
        first, last = (trace.at(start + number * trace.rtt_s) for number in (0, rounds))
        if last >= trace.until(first):
            raise NotSeen(f"a loss ends slow start before {rounds} round trips")
        return float((trace.cwnd[last] / trace.cwnd[first]) ** (1 / rounds))

    return measure


def growth_per_round(number: int) -> Measure:
    """Return a measure: the segments a round trip by which the window grows after a fast recovery."""

    def measure(trace: Trace) -> float:
        first = trace.end_of(trace.recovery(number))
        return trace.growth(trace.at(trace.time[first] + 2 * trace.rtt_s), trace.until(first))

    return measure


def threshold_factor(number: int) -> Measure:
    """Return a measure: the threshold after a loss, divided by the window before it."""

    def measure(trace: Trace) -> float:
        return factor(trace.recovery(number))

    return measure


def factor(reduction: Reduction) -> float:
    """Return the threshold after a reduction, divided by the window before it."""
    if math.isnan(reduction.ssthresh):
        raise NotSeen("there is no slow-start threshold after the loss")
    return reduction.ssthresh / reduction.before


def window_after_recovery(number: int) -> Measure:
    """Return a measure: the window after a fast recovery, divided by the threshold."""

    def measure(trace: Trace) -> float:
        end = trace.end_of(trace.recovery(number))
        return float(trace.cwnd[end] / trace.ssthresh[end])

    return measure


def window_at_timeout(trace: Trace) -> float:
    """Return the window after a retransmission timeout, in segments."""
    return trace.timeout().cwnd


def threshold_factor_at_timeout(trace: Trace) -> float:
    """Return the threshold after a retransmission timeout, divided by the window before it."""
    return factor(trace.timeout())


def window_where_slow_start_ends(trace: Trace) -> float:
    """Return the window where it grows slowly again after a timeout, divided by the threshold."""
    timeout = trace.timeout()
    threshold = timeout.ssthresh
    start = trace.end_of(timeout)
    # Slow start doubles the window in a round trip; half of that growth is slow start no longer.
    step = trace.at(trace.time[start] + trace.rtt_s) - start
    window = trace.cwnd[start:]
    slow = np.flatnonzero(window[step:] < 1.5 * window[:-step])
    if not len(slow) or trace.until(start) <= start + int(slow[0]) + step:
        raise NotSeen("slow start does not end before a loss or the end of the run")
    return float(window[slow[0] : slow[0] + step].max() / threshold)


def mean_window(first: int, last: int) -> Measure:
    """Return a measure: the segments delivered in a round trip, between two fast recoveries of a periodic loss."""

    def measure(trace: Trace) -> float:
        start, end = trace.recovery(first).at, trace.recovery(last).at
        delivered = trace.column("delivered_bytes")[end] - trace.column("delivered_bytes")[start]
        return float(delivered / trace.mss * trace.rtt_s / (trace.time[end] - trace.time[start]))

    return measure
