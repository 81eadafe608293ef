"""HyStart++: RFC 9406."""

from __future__ import annotations

import numpy as np

from aqmlab.conformance.cases.standard import read_standard
from aqmlab.conformance.trace import Measure, NotSeen, Trace

RISE_S, FALL_S = 0.45, 0.61
"""The times of the scenarios at which the path becomes longer, and shorter again."""


def growth_factor(after_s: float, rounds: int) -> Measure:
    """Return a measure: the growth factor of the window in each of some round trips, the first one after a time."""

    def measure(trace: Trace) -> float:
        # The first round trip after the change still has acknowledgements from before it.
        start = after_s + 1.5 * trace.rtt_s
        rtt_s = float(np.nanmedian(trace.column("srtt_ms")[trace.at(start) : trace.at(start + 0.1)])) / 1000
        first, last = trace.at(start), trace.at(start + rounds * rtt_s)
        if last >= trace.until(first):
            raise NotSeen("a loss ends slow start")
        return float((trace.cwnd[last] / trace.cwnd[first]) ** (1 / rounds))

    return measure


def _end(trace: Trace) -> int:
    """Return the first row with a threshold."""
    rows = np.flatnonzero(~np.isnan(trace.ssthresh))
    if not len(rows):
        raise NotSeen("slow start does not end in the run")
    return int(rows[0])


def slower_rounds(trace: Trace) -> float:
    """Return the time from the first slower growth to the end of slow start, in round trips."""
    end = _end(trace)
    # Doubling, a tenth of a round trip grows the window by 7 %; at a fourth of that, by 2 %.
    step = round(0.1 * trace.rtt_s / (trace.time[1] - trace.time[0]))
    from_rise = trace.at(RISE_S + trace.rtt_s)
    slow = np.flatnonzero(trace.cwnd[from_rise + step : end] < 1.04 * trace.cwnd[from_rise : end - step])
    if not len(slow):
        raise NotSeen("the window does not grow more slowly before slow start ends")
    rtt_s = float(np.nanmedian(trace.column("srtt_ms")[from_rise:end])) / 1000
    return float((trace.time[end] - trace.time[from_rise + int(slow[0])]) / rtt_s)


def threshold(trace: Trace) -> float:
    """Return the threshold at the end of slow start, divided by the window."""
    end = _end(trace)
    return float(trace.ssthresh[end] / trace.cwnd[end])


STANDARD = read_standard(
    "hystart++",
    {
        "hystart++-small-rise": growth_factor(RISE_S, 1),
        "hystart++-rise": growth_factor(RISE_S, 2),
        "hystart++-rounds": slower_rounds,
        "hystart++-threshold": threshold,
        "hystart++-resume": growth_factor(FALL_S, 2),
    },
)
