"""Prague: draft-briscoe-iccrg-prague-congestion-control-00."""

from __future__ import annotations

import numpy as np

from aqmlab.conformance.cases import dctcp, measures
from aqmlab.conformance.cases.standard import read_standard
from aqmlab.conformance.trace import Measure, NotSeen, Trace

REFERENCE_ROUNDS = 500
"""The round trips in which a flow depends on its own round-trip time."""


def decrease(trace: Trace) -> float:
    """Return the reduction at the first mark, divided by half of alpha before it."""
    response = trace.mark_response(1)
    alpha = trace.variable("alpha_fraction")[response.at - 1]
    return float((1 - response.cwnd / response.before) / (alpha / 2))


def growth_after_mark(trace: Trace) -> float:
    """Return the growth in the round trip after the second mark, in segments."""
    response = trace.mark_response(2)
    return trace.growth(response.at, trace.at(response.time_s + trace.rtt_s))


def growth_after_slow_start(trace: Trace) -> float:
    """Return the growth after the first mark, in segments a round trip."""
    start = trace.mark_response(1).time_s + 2 * trace.rtt_s
    return trace.growth(trace.at(start), trace.at(start + 10 * trace.rtt_s))


def growth_after(number: int, first_round: int) -> Measure:
    """Return a measure: the growth after a recovery and a number of round trips of the connection."""

    def measure(trace: Trace) -> float:
        begin = max(trace.end_of(trace.recovery(number)), trace.at(trace.time[0] + first_round * trace.rtt_s))
        first = trace.at(trace.time[begin] + 2 * trace.rtt_s)
        last = trace.until(first)
        if last - first < 50:
            raise NotSeen(f"no growth without losses after {first_round} round trips")
        return trace.growth(first, last)

    return measure


def pacing(trace: Trace) -> float:
    """Return the mean pacing rate in congestion avoidance, divided by the window over the smoothed round-trip time."""
    rows = slice(trace.end_of(trace.recovery(1)), None)
    rate = trace.variable("pacing_rate_mbps")[rows] * 1e6 / 8
    window = np.maximum(trace.column("cwnd_bytes"), trace.column("in_flight_bytes"))[rows]
    return float(np.nanmean(rate * trace.column("srtt_ms")[rows] / 1e3 / window))


STANDARD = read_standard(
    "prague",
    {
        "prague-gain": dctcp.gain,
        "prague-decrease": decrease,
        "prague-once-a-round": dctcp.responses_to_window,
        "prague-increase": growth_after_mark,
        "prague-loss": measures.threshold_factor(2),
        "prague-slow-start-end": growth_after_slow_start,
        "prague-first-rounds": growth_after(1, 0),
        "prague-reference": growth_after(7, REFERENCE_ROUNDS + 50),
        "prague-pacing": pacing,
    },
    values={"g": dctcp.G},
)
